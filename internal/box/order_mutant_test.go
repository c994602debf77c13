package box

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestOrderMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestClockSetBack", Mutant: mutant.Mutant{Name: "a subject is the clock's", File: "requests.go",
			Old: "if err != nil || made.Compare(next) > 0 {", New: "if err != nil || made.Compare(next) != 0 {"}},
		{By: "TestClockSetBack", Mutant: mutant.Mutant{Name: "the greatest subject is forgotten at a restart", File: "snapshot.go",
			Old: "s.lastSubject = snap.LastSubject", New: "s.lastSubject = \"\""}},
		{By: "TestLiveOrder", Mutant: mutant.Mutant{Name: "runs have the order of their subjects", File: "runs.go",
			Old: "cmp.Compare(s.runs[a].First, s.runs[b].First)", New: "cmp.Compare(a, b)"}},
		{By: "TestLiveOrder", Mutant: mutant.Mutant{Name: "questions have the order of their times", File: "runs.go",
			Old: "cmp.Compare(a.seq, b.seq)", New: "a.shown.AskedAt.Compare(b.shown.AskedAt)"}},
	})
}
