package sim_test

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	schedules = flag.Int("schedules", 2_000, "how many schedules TestSchedules runs; their seeds are 1 and up")
	oneSeed   = flag.Uint64("seed", 0, "the one schedule to run; with -v its story is told")
)

// enough is how many schedules have to reach everything.
const enough = 20_000

// TestSchedules plays deliveries in a world that misbehaves, and holds what was
// recorded against the rules. With -v it prints how often everything was reached.
func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		reached := counts{}
		story, err := tell(*oneSeed, reached)
		t.Logf("seed %d:\n%s", *oneSeed, story)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	n := *schedules
	if testing.Short() {
		n = min(n, 500)
	}
	reached, failed := playAll(n)
	if failed != 0 {
		story, err := tell(failed, counts{})
		t.Fatalf("seed %d (run it again with -seed %d): %v\n%s", failed, failed, err, story)
	}
	table, missing := coverage(reached)
	t.Logf("%d schedules reached:\n%s", n, table)
	if n >= enough {
		for _, what := range missing {
			t.Errorf("%s, want 100 times", what)
		}
	}
}

// playAll plays schedules on all processors. It returns what they reached, and the
// first seed that failed.
func playAll(n int) (counts, uint64) {
	var next, failed atomic.Uint64
	var mu sync.Mutex
	var all sync.WaitGroup
	reached := counts{}
	for range runtime.NumCPU() {
		all.Go(func() {
			mine := counts{}
			for failed.Load() == 0 {
				seed := next.Add(1)
				if seed > uint64(n) {
					break
				}
				if err := newWorld(seed, mine, nil).play(); err != nil {
					failed.CompareAndSwap(0, seed)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			reached.merge(mine)
		})
	}
	all.Wait()
	return reached, failed.Load()
}

// tell plays a schedule and returns its story in words.
func tell(seed uint64, reached counts) (string, error) {
	var story []string
	w := newWorld(seed, reached, &story)
	err := w.play()
	return strings.Join(story, "\n"), err
}
