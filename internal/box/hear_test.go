package box

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/mutant"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A session passes an exit record on as it was said, with the line before it or without: the
// session has checked the nonce, and the box hears the record.
func TestHearExitRecord(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	b := inDir(t, dir)
	defer closeBox(t, b)
	record := agentsig.NewExitSignal(agentsig.PhaseReview, agentsig.ExitCompleted)
	for _, run := range []string{"", "n0nce"} {
		signal := record.Signal()
		signal.Run = run
		wire, err := signal.Wire()
		if err != nil {
			t.Fatal(err)
		}
		heard, about, err := b.Ledger().Hear(api.SaidSignal{Wire: wire})
		if x, ok := heard.Exit(); err != nil || !ok || x != record || about.Signal != agentsig.KindExit {
			t.Errorf("with %q: heard %+v, %+v, %v", wire, heard, about, err)
		}
	}
}

// A long text is recorded whole where the fields beside it leave room, without its secrets; it takes nothing from them, and all of
// it has the room that there is.
func TestLongFields(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	secret := "sk-ant-" + strings.Repeat("a1B2", 10)
	long := func(n int) string { return strings.Repeat("\"why\"\n", n/6) + "end" }
	for _, c := range []struct {
		name         string
		said         []string
		whole, parts int // how many of them are whole, and there
	}{
		{"one", []string{long(3000)}, 1, 1},
		{"one, and little beside it", []string{"first", long(3000), "last"}, 3, 3},
		{"too long", []string{"first", long(60000), "last"}, 2, 3},
		{"many", []string{long(9000), long(9000), long(9000)}, 0, 3},
		{"a secret after the cut", []string{long(1500) + " " + secret}, 0, 1},
	} {
		var said []work.Field
		for _, text := range c.said {
			said = append(said, work.Field{Name: "Text", Value: text})
		}
		kept := b.fields(said)
		data, err := json.Marshal(kept)
		if err != nil || len(data) > maxFields || len(kept) != c.parts || strings.Contains(string(data), secret) {
			t.Errorf("%s: %d fields in %d bytes, %v", c.name, len(kept), len(data), err)
		}
		whole := 0
		for i, f := range kept {
			text, _ := f.Value.(string)
			if text == c.said[i] {
				whole++
			} else if len(text) < min(maxText, len(c.said[i])) {
				t.Errorf("%s: of field %d are %d bytes left", c.name, i, len(text))
			}
		}
		if whole != c.whole {
			t.Errorf("%s: %d are whole, want %d", c.name, whole, c.whole)
		}
	}
}

// Of a long list the first entries are recorded, with a mark, and what was said before it; a list that fits is whole.
func TestLongLists(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	for _, n := range []int{0, 1, 100, 250, 300, 313, 1000, 10000} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("a.go:%d: \"why?\"", i))
		}
		kept := b.fields([]work.Field{{Name: "Summary", Value: "not yet"}, {Name: "Issues Found", Value: list}})
		data, err := json.Marshal(kept)
		if err != nil || len(data) > maxFields || len(kept) != 2 {
			t.Fatalf("%d entries: %d fields in %d bytes, %v", n, len(kept), len(data), err)
		}
		got := kept[1].Value.([]string)
		if whole, _ := json.Marshal(list); len(whole) < maxFields-200 {
			if !slices.Equal(got, list) {
				t.Errorf("of %d entries, which fit, there are %d", n, len(got))
			}
			continue
		}
		if last := len(got) - 1; len(data) < maxFields-200 || got[last] != "…" || !slices.Equal(got[:last], list[:last]) {
			t.Errorf("of %d entries there are %d in %d bytes, the last %q", n, len(got), len(data), got[last])
		}
	}
}

func TestLongFieldsMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestLongFields$|^TestLongLists$", []mutant.Mutant{
		{Name: "a long list is lost", File: "emit.go", Old: "return append(slices.Clone(list[:fit]), more)", New: "return append(list[fit:fit], more)"},
		{Name: "nobody says that a list was longer", File: "emit.go", Old: "return append(slices.Clone(list[:fit]), more)", New: "return list[:fit]"},
		{Name: "a list takes more room than there is", File: "emit.go", Old: "err != nil || size > room {", New: "err != nil {"},
		{Name: "a long text is cut where there is room", File: "emit.go", Old: "size += b.lengthen(&kept[i], said[i].Value, maxFields-size)", New: "size += b.lengthen(&kept[i], said[i].Value, 0)"},
		{Name: "a long text takes more room than there is", File: "emit.go", Old: "size += b.lengthen(&kept[i], said[i].Value, maxFields-size)", New: "size += b.lengthen(&kept[i], said[i].Value, maxFields)"},
		{Name: "the rest of a long text keeps its secrets", File: "emit.go", Old: "if text = b.redact.Text(text); !isText", New: "if !isText"},
	}))
}
