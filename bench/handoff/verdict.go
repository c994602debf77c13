package handoff

import (
	"fmt"
	"strings"
)

// Verdict says whether each item was handed over once. All numbers but Items are 0 if so.
type Verdict struct {
	Items   int `json:"items"`
	Lost    int `json:"lost"`     // items that did not end
	Doubled int `json:"doubled"`  // items that ended more than once
	Unknown int `json:"unknown"`  // items that ended and were never added
	Skipped int `json:"skipped"`  // tasks that no worker was given
	Again   int `json:"repeated"` // tasks that workers were given more than once
}

// Judge compares what was added with what workers were given and with what the system says has ended.
func Judge(added []string, begun map[Task]int, ended map[string]int) Verdict {
	v := Verdict{Items: len(added)}
	known := make(map[string]bool, len(added))
	for _, item := range added {
		known[item] = true
		switch n := ended[item]; {
		case n == 0:
			v.Lost++
		case n > 1:
			v.Doubled++
		}
		for phase := 1; phase <= Phases; phase++ {
			switch n := begun[Task{item, phase}]; {
			case n == 0:
				v.Skipped++
			case n > 1:
				v.Again++
			}
		}
	}
	for item := range ended {
		if !known[item] {
			v.Unknown++
		}
	}
	return v
}

// Once reports whether each item ended once, and each of its phases was given to one worker.
func (v Verdict) Once() bool { return v == Verdict{Items: v.Items} && v.Items > 0 }

// Add returns what two turns came to.
func (v Verdict) Add(w Verdict) Verdict {
	return Verdict{v.Items + w.Items, v.Lost + w.Lost, v.Doubled + w.Doubled, v.Unknown + w.Unknown, v.Skipped + w.Skipped, v.Again + w.Again}
}

func (v Verdict) String() string {
	if v.Once() {
		return "yes"
	}
	var all []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{v.Lost, "not ended"}, {v.Doubled, "ended twice"}, {v.Unknown, "ended and never added"},
		{v.Skipped, "phases given to nobody"}, {v.Again, "phases given to two workers"},
	} {
		if c.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return fmt.Sprintf("NO: of %d items %s", v.Items, strings.Join(all, ", "))
}
