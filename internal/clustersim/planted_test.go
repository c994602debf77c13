package clustersim_test

import (
	"strings"
	"testing"
)

// Each error that a host makes on purpose is found, in a world that goes well without it.
func TestPlanted(t *testing.T) {
	const worlds = 400
	for _, p := range []plant{
		acknowledgesEarly, forgetsVote, appliesEarly, cutsCommitted, logsWithoutBlob, rejoinsUnderOldID, countsLearners, takesUncommitted,
	} {
		t.Run(string(p), func(t *testing.T) {
			for seed := uint64(1); seed <= worlds; seed++ {
				broken := play(seed, worldSteps, p)
				if broken.failed == nil {
					continue
				}
				first, _, _ := strings.Cut(broken.failed.Error(), "\n")
				t.Logf("seed %d, %s", seed, first)
				if whole := play(seed, worldSteps, noPlant); whole.failed != nil {
					t.Errorf("seed %d fails without the error too: %v", seed, whole.failed)
				}
				return
			}
			t.Errorf("nobody noticed in %d worlds", worlds)
		})
	}
}
