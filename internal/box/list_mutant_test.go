package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults in lists is noticed by the test beside it.
func TestListMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestListIsLeft", Mutant: mutant.Mutant{Name: "who leaves while a list is read stops the box", File: "list.go",
			Old: "case err != nil && ctx.Err() != nil:", New: "case err != nil && ctx == nil:"}},
		{By: "TestRunPages", Mutant: mutant.Mutant{Name: "a page begins with the item that was seen", File: "list.go",
			Old: "if subject > q.After {", New: "if subject >= q.After {"}},
		{By: "TestRunPages", Mutant: mutant.Mutant{Name: "a page of runs begins with the one that was seen", File: "list.go",
			Old: "if s.firstOf(subject) > first {", New: "if s.firstOf(subject) >= first {"}},
		{By: "TestLeast", Mutant: mutant.Mutant{Name: "a full page at the end says that there is more", File: "list.go",
			Old: "len(l.kept) > l.limit; more", New: "len(l.kept) >= l.limit; more"}},
		{By: "TestLeast", Mutant: mutant.Mutant{Name: "what is larger keeps out what is smaller", File: "list.go",
			Old: "text >= l.bound {", New: "text < l.bound {"}},
		{By: "TestLeast", Mutant: mutant.Mutant{Name: "a page is not of the smallest", File: "list.go",
			Old: "slices.Sort(l.kept)\n", New: "_ = slices.Sort[[]string]\n"}},
		{By: "TestRunPages", Mutant: mutant.Mutant{Name: "a run that has ended goes before one that has not", File: "list.go",
			Old: "len(live) > 0 {", New: "false {"}},
	})
}
