//go:build linux

package e2e_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults lets an agent's settings speak for a reviewer; the test beside it notices.
func TestFollowedMutants(t *testing.T) {
	for _, m := range []struct{ name, file, before, after, test string }{
		{"a reviewer is started all the same", "../runner/supervise.go",
			"if err := x.trust(ctx, o); err != nil {", "if err := error(nil); err != nil {", "TestPlantedSettings"},
		{"its word is taken all the same", "../conductor/reports.go",
			"err = d.trustWord(ctx, name)", "err = nil", "TestPlantedBesideReviewer"},
		{"nobody looks at the end of a run", "../conductor/decider.go",
			"d.runner.LeaveFollowed(r.ID)", "", "TestPlantedForNextRun"},
		{"an agent may write what all programs keep", "../sandbox/state.go",
			"s.Others = append(s.Others, dir)", "s.Own = append(s.Own, dir)", "TestSettingsOfOthers"},
	} {
		t.Run(m.name, func(t *testing.T) {
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
