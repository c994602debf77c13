package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults of names, put in on purpose, is noticed by the test beside it.
func TestNameMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestNamesOfTasks", Mutant: mutant.Mutant{Name: "anybody gets the name of a task", File: "requests.go",
			Old: "if ofRun.MatchString(a.ID) {", New: "if false {"}},
		{By: "TestTaskByItsID", Mutant: mutant.Mutant{Name: "whoever changes a task of several runs changes the latest", File: "runs.go",
			Old: "if why == toChange && len(live) > 1 {", New: "if false {"}},
		{By: "TestTaskByItsID", Mutant: mutant.Mutant{Name: "a run that has ended hides one that goes on", File: "runs.go",
			Old: "case r.Live():\n\t\t\tlive =", New: "case false:\n\t\t\tlive ="}},
		{By: "TestLargestNumber", Mutant: mutant.Mutant{Name: "numbers are counted on from the largest there is", File: "state.go",
			Old: "n <= mostMadeUp && ", New: ""}},
		{By: "TestNewsLeave", Mutant: mutant.Mutant{Name: "whoever shows a run that left memory brings its news back", File: "follow.go",
			Old: "if n := s.news[subject]; n != nil {", New: "if n := s.newsOf(subject); n != nil {"}},
	})
}
