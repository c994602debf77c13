package web

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults in the pictures of a run and in the ledger's view is noticed by the test beside it.
func TestMutantsOfPictures(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestStats", Mutant: mutant.Mutant{Name: "what was counted is counted again", File: "stats.go",
			Old: "			c.upTo = stored.Sequence\n", New: ""}},
		{By: "TestStats", Mutant: mutant.Mutant{Name: "one request reads the whole ledger", File: "stats.go",
			Old: "for range maxCounted / api.PageSize {", New: "for range 100 {"}},
		{By: "TestStats", Mutant: mutant.Mutant{Name: "the most that was sent back looks like all", File: "stats.go",
			Old: "picture.Share(rework, 1)", New: "picture.Measure(rework)"}},
		{By: "TestHistoryIsHeld", Mutant: mutant.Mutant{Name: "a run's events are read again", File: "pictures.go",
			Old: "one.upTo = stored.Sequence", New: "one.upTo = 0"}},
		{By: "TestUnproven", Mutant: mutant.Mutant{Name: "a proof that does not hold is shown as one", File: "ledger.go",
			Old: "	_, head, err := proof.Verify(key)\n", New: "	_, head, err := proof.Verify(key)\n	err = nil\n	stored = proof.Event\n"}},
		{By: "TestRareEvents", Mutant: mutant.Mutant{Name: "the whole ledger is looked through", File: "ledger.go",
			Old: "for range maxLooked / lookedAt {", New: "for range 1000 {"}},
		{By: "TestLedger", Mutant: mutant.Mutant{Name: "an actor's filter shows others", File: "ledger.go",
			Old: "f.Actor == \"\" || f.Actor == e.Actor", New: "true || f.Actor == e.Actor"}},
	})
}
