package box_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults at the start of a run, put in on purpose, is noticed by the test beside it.
func TestStartRunMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestPlanTooLargeForTheLedger", Mutant: mutant.Mutant{Name: "what has no room in an event is taken", File: "startrun.go",
			Old: "if err == nil && len(data) > most {", New: "if false {"}},
		{By: "TestNamesOfTasks", Mutant: mutant.Mutant{Name: "anybody gets the name of a task", File: "requests.go",
			Old: "if ofRun.MatchString(a.ID) {", New: "if false {"}},
		{By: "TestNamesOfTasks", Mutant: mutant.Mutant{Name: "a run gets a number whose names are taken", File: "startrun.go",
			Old: "return err == nil\n\t\t}) {", New: "return false && err == nil\n\t\t}) {"}},
		{By: "TestLargestNumber", Mutant: mutant.Mutant{Name: "numbers are counted on from the largest there is", File: "state.go",
			Old: "n <= mostMadeUp && ", New: ""}},
	})
}
