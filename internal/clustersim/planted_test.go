package clustersim_test

import (
	"strings"
	"testing"
)

// Each error that a host makes on purpose is found, in a world that goes well without it.
func TestPlanted(t *testing.T) {
	const worlds = 400
	for p, first := range map[plant]uint64{ // the seed to begin with, as some errors show in few worlds
		acknowledgesEarly: 1,
		forgetsVote:       14,
		appliesEarly:      1,
		cutsCommitted:     1,
		logsWithoutBlob:   1,
		rejoinsUnderOldID: 71,
		countsLearners:    15,
		takesUncommitted:  35,
	} {
		t.Run(string(p), func(t *testing.T) {
			for seed := first; seed < first+worlds; seed++ {
				broken := play(seed, worldSteps, p)
				if broken.failed == nil {
					continue
				}
				found, _, _ := strings.Cut(broken.failed.Error(), "\n")
				t.Logf("seed %d, %s", seed, found)
				if whole := play(seed, worldSteps, noPlant); whole.failed != nil {
					t.Errorf("seed %d fails without the error too: %v", seed, whole.failed)
				}
				return
			}
			t.Errorf("nobody noticed in %d worlds", worlds)
		})
	}
}
