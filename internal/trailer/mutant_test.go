package trailer_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each step from the commit to the key, left out, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^Test(Check|Faults|OtherEvents|Against|Repair|With|ParseCommit)$", []mutant.Mutant{
		{Name: "the second parent is not looked at", File: "check.go", Old: "case c.Parents[1] != a.Commit:", New: "case false:"},
		{Name: "the first parent is not looked at", File: "check.go", Old: "case c.Parents[0] != a.Onto:", New: "case false:"},
		{Name: "the tree is not looked at", File: "check.go", Old: "case c.Tree != a.Tree:", New: "case false:"},
		{Name: "a third parent is let pass", File: "check.go", Old: "len(c.Parents) != 2", New: "len(c.Parents) < 2"},
		{Name: "the commit is not held against the event", File: "check.go", Old: "return p, holds(p.Allowed, c)", New: "return p, nil"},
		{Name: "task and run are not held against the event", File: "check.go", Old: "if said.trailer != said.event {", New: "if false {"},
		{Name: "another ledger's key is told as an edit", File: "check.go", Old: "if origin != t.Origin() {", New: "if false {"},
		{Name: "any event allows", File: "trailer.go", Old: "if e.Type != work.MergeAllowed || e.Actor != work.BoxActor {", New: "if false {"},
		{Name: "an agent's event allows", File: "trailer.go", Old: " || e.Actor != work.BoxActor", New: ""},
		{Name: "a title makes lines", File: "trailer.go", Old: "b.WriteString(safetext.Escape(title) +", New: "b.WriteString(title +"},
		{Name: "a trailer may come twice", File: "trailer.go", Old: " || values[name] != \"\"", New: ""},
		{Name: "trailers may stand anywhere", File: "trailer.go", Old: "_, last, ok := cutLast(message, \"\\n\\n\")", New: "_, last, ok := strings.Cut(message, \"\\n\\n\")"},
		{Name: "an older ledger is let pass", File: "check.go", Old: "case latest.Size < earlier.Size:", New: "case false:"},
		{Name: "another history is let pass", File: "check.go", Old: "if was != earlier.Root {", New: "if was != earlier.Root && false {"},
		{Name: "another result is let pass", File: "check.go", Old: " || result != p.Commit.Name", New: ""},
		{Name: "an audit that failed is let pass", File: "check.go", Old: "passed = said.Audited", New: "passed = true"},
		{Name: "a review that failed is let pass", File: "check.go", Old: "passed = said.Passed && ", New: "passed = "},
		{Name: "a review of another repair is let pass", File: "check.go", Old: "passed = said.Passed && said.Commit == p.Allowed.Commit", New: "passed = said.Passed"},
		{Name: "two histories of a size are let pass", File: "check.go", Old: "c.Root != p.Checkpoint.Root", New: "false"},
		{Name: "an object is not held against its name", File: "commit.go", Old: "if sum == \"\" || sum != name {", New: "if sum == name && false {"},
	}))
}
