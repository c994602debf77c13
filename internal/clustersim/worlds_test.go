package clustersim_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

var (
	totalSteps = flag.Int("steps", 150_000, "how many steps TestWorlds plays")
	firstSeed  = flag.Uint64("seed", 1, "the seed of its first world")
)

// worldSteps is how many steps of chaos a world has.
const worldSteps = 6000

// Worlds of chaos break nothing.
func TestWorlds(t *testing.T) {
	steps, seed, seen := 0, *firstSeed, map[string]int{}
	began := time.Now()
	for ; steps < *totalSteps; seed++ {
		w := play(seed, worldSteps, noPlant)
		if w.failed != nil {
			t.Fatalf("seed %d: %v", seed, w.failed)
		}
		steps += w.steps
		for what, n := range w.seen {
			seen[what] += n
		}
	}
	t.Logf("seeds %d to %d: %d steps in %v", *firstSeed, seed-1, steps, time.Since(began).Round(time.Second))
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d times %s", seen[what], what)
	}
	for _, what := range reached {
		if seen[what] == 0 && steps >= 1_000_000 { // fewer do not reach what is rare
			t.Errorf("it never happened that %s", what)
		}
	}
}

// reached is what has to happen, or the worlds prove little.
var reached = []string{
	"a blob comes late", "a box joins", "a cluster becomes a single box", "a conflict", "a disk that was put back or emptied is refused", "a member far behind goes on from a base",
	"a read is answered", "a removed member is told", "an election", "an end is cut back", "an event is acknowledged",
}

// The same seed is the same steps.
func TestSameSeed(t *testing.T) {
	told := func() string {
		w := play(*firstSeed, worldSteps, noPlant)
		return fmt.Sprint(w.steps, w.seen, w.traced, w.told(), w.judge.root())
	}
	if a, b := told(), told(); a != b {
		t.Errorf("seed %d went two ways:\n%s\n%s", *firstSeed, a, b)
	}
}
