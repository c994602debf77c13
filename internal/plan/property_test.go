package plan_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/signalbox-dev/signalbox/internal/plan"
)

// FuzzParse: no text makes Parse panic, and a plan that is accepted comes back
// when it is written out, and is drawn within its width.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("testdata/example.md")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, pattern := range []string{"testdata/good/*.txtar", "testdata/bad/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			a, err := txtar.ParseFile(name)
			if err != nil {
				f.Fatal(err)
			}
			for _, file := range a.Files {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := plan.Parse(text)
		if err != nil {
			printable(t, strings.ReplaceAll(err.Error(), "\n", ""))
			return
		}
		if len(p.Markdown()) <= plan.MaxText {
			roundTrip(t, p)
		}
		checkDrawing(t, p)
	})
}

// TestRandomPlans puts plans together from pieces that are hard to tell apart,
// and checks all that holds for every plan that is accepted.
func TestRandomPlans(t *testing.T) {
	accepted, plans := 0, 1000
	if testing.Short() {
		plans = 200
	}
	for seed := range uint64(plans) {
		text := randomPlan(rand.New(rand.NewPCG(seed, 1)))
		p, err := plan.Parse([]byte(text))
		if err != nil {
			continue
		}
		accepted++
		roundTrip(t, p)
		checkDrawing(t, p)
		checkOrder(t, p)
	}
	t.Logf("%d plans were accepted", accepted)
	if accepted < plans/2 {
		t.Errorf("only %d plans were accepted", accepted)
	}
}

// pieces of text, some of which would be structure elsewhere.
var pieces = []string{
	"do it", "- a list\n- of two", "  - nested\n    - deeper", "```\n#### Task X: y\n```", "- ~~~\n  Work: z\n  ~~~", "---", "\n\n",
	"##### Notes", "#### Notes", "**Estimate**: 2h", "`code`", "`` `ticks` ``", "[ ] box", "- [ ] box", "* [x] done", "1. first", "a, b",
	"<!-- #### Task C: d -->", "<!--\nBlocked By: x\n-->", "語 é\u0301 \u202e\x1b[2J", "C#", "C #", "a | b", `\|`, "    indented", "\ttab", "none", "-", "\u00a0", "\r",
}

func randomPlan(r *rand.Rand) string {
	var b strings.Builder
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	text := func(most int) string {
		s := make([]string, 1+r.IntN(most))
		for i := range s {
			s[i] = pick(pieces...)
		}
		return strings.Join(s, pick("\n", "\n\n", "\r\n"))
	}
	label := func(name string) {
		b.WriteString(pick("", "\n", " ") + fmt.Sprintf(pick("**%s**:", "**%s:**", "%s:", "##### %s\n", "**%s**\n", "#### %s:"), name) + pick("\n", " ", "\n\n"))
	}
	fmt.Fprintf(&b, pick("", "# %s\n", "# %s ##\n"), pick("A plan", "C#", "語"))
	n := 1 + r.IntN(8)
	for i := range n {
		b.WriteString(pick("", "", "", "\n### Phase 1: a\n", "\n### Phase 2: b ###\n", "\n### Notes\nfor people\n"))
		fmt.Fprintf(&b, "\n#### Task T-%d: %s\n", i, pick("a title", "C#", "it: has # marks", "語 \x1b[2J", "long "+strings.Repeat("words ", 30)+"."))
		label("Work")
		b.WriteString("it\n" + text(4) + "\n")
		if r.IntN(2) == 0 {
			label("Acceptance Criteria")
			b.WriteString(text(4) + "\n")
		}
		if i > 0 && r.IntN(4) > 0 {
			label("Blocked By")
			for range 1 + r.IntN(3) {
				fmt.Fprintf(&b, pick("T-%d,", "\n- T-%d\n", "`T-%d`, "), r.IntN(i))
			}
			b.WriteString("\n")
		}
		if r.IntN(3) == 0 {
			label("Required Reading")
			b.WriteString(text(3) + "\n")
		}
		if r.IntN(3) == 0 {
			label("Environment")
			b.WriteString(text(2) + "\n")
		}
	}
	if r.IntN(2) == 0 {
		b.WriteString("\n### Verification\n| Check | Environment | Command | Expected exit code |\n|---|---|---|---|\n")
		for i := range 1 + r.IntN(3) {
			fmt.Fprintf(&b, "| c%d | %s | %s | %d |\n", i, pick("", "linux", `a\|b`), pick("`x`", "x", "`` `x` ``", "`a` `b`", `x \| y`, `x \\| y`, "```"), i)
		}
	}
	return b.String()
}

// checkOrder compares waves and dependents with what follows from their words.
func checkOrder(t *testing.T, p plan.Plan) {
	t.Helper()
	step := map[string]int{}
	for w, wave := range p.Waves() {
		for _, task := range wave {
			step[task.ID] = w + 1
		}
	}
	if len(step) != len(p.Tasks) {
		t.Fatalf("%d tasks of %d are in waves", len(step), len(p.Tasks))
	}
	blocked := map[string]map[string]bool{} // by whom, directly or not
	for _, task := range p.Tasks {          // blockers come first in these plans
		blocked[task.ID] = map[string]bool{}
		want := 1
		for _, b := range task.BlockedBy {
			want = max(want, step[b]+1)
			blocked[task.ID][b] = true
			for id := range blocked[b] {
				blocked[task.ID][id] = true
			}
		}
		if step[task.ID] != want {
			t.Fatalf("%s is in step %d and could be in %d", task.ID, step[task.ID], want)
		}
	}
	want := map[string]int{}
	for _, task := range p.Tasks {
		want[task.ID] += 0
		for id := range blocked[task.ID] {
			want[id]++
		}
	}
	if diff := cmp.Diff(want, p.Dependents()); diff != "" {
		t.Fatalf("dependents (-want +got):\n%s", diff)
	}
}

// checkDrawing checks that each line is printable and no wider than it may be.
// It counts columns generously, by its own measure: two for all but the scripts
// that are narrow for certain.
func checkDrawing(t *testing.T, p plan.Plan) {
	t.Helper()
	for _, width := range []int{-1, 0, 1, 2, 7, 20, 40, 80, 200} {
		drawing := p.Draw(width)
		for line := range strings.SplitSeq(strings.TrimSuffix(drawing, "\n"), "\n") {
			printable(t, line)
			columns := 0
			for _, r := range line {
				switch {
				case unicode.In(r, unicode.Mn, unicode.Me):
				case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana):
					columns += 2
				default:
					columns++
				}
			}
			if columns > max(width, 0) {
				t.Fatalf("%d columns of %d: %q", columns, width, line)
			}
		}
	}
}

func printable(t *testing.T, s string) {
	t.Helper()
	for _, r := range s {
		if !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
			t.Fatalf("%q has the character %U", s, r)
		}
	}
}
