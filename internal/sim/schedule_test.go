package sim_test

import (
	"flag"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/ledger"
)

var (
	schedules = flag.Int("schedules", 1_000, "how many schedules TestSchedules runs; their seeds are 1 and up")
	oneSeed   = flag.Uint64("seed", 0, "the one schedule to run; with -v its story is told")
)

// enough is how many schedules have to reach everything.
const enough = 20_000

// TestSchedules plays deliveries in a world that misbehaves, and holds what was
// recorded against the rules. With -v it prints how often everything was reached.
func TestSchedules(t *testing.T) {
	if *oneSeed != 0 {
		reached := counts{}
		story, err := tell(t, *oneSeed, reached)
		t.Logf("seed %d:\n%s", *oneSeed, story)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	n := *schedules
	if testing.Short() {
		n = min(n, 150)
	}
	reached, failed := playAll(t, n)
	if failed != 0 {
		story, err := tell(t, failed, counts{})
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
func playAll(t *testing.T, n int) (counts, uint64) {
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
				if err := play(t, newWorld(seed, mine, nil)); err != nil {
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

// play plays a schedule in a bubble of its own, in which nothing may be left running, or wait for ever.
func play(t *testing.T, w *world) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = breaks("%v", r)
		}
	}()
	synctest.Test(t, func(*testing.T) { err = w.play() })
	return err
}

// tell plays a schedule and returns its story in words.
func tell(t *testing.T, seed uint64, reached counts) (string, error) {
	var story []string
	err := play(t, newWorld(seed, reached, &story))
	return strings.Join(story, "\n"), err
}

// The same seed is the same schedule: what is recorded is the same to the last byte, whatever order goroutines run in.
func TestSameSeed(t *testing.T) {
	seeds := 100
	if testing.Short() {
		seeds = 10
	}
	for seed := range uint64(seeds) {
		var first []ledger.Event
		for n := range 3 {
			w := newWorld(seed, counts{}, nil)
			if err := play(t, w); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			events := w.ledger.Events(0)
			if n == 0 {
				first = events
			}
			if !reflect.DeepEqual(events, first) {
				t.Errorf("seed %d: %d events, and then %d others", seed, len(first), len(events))
			}
		}
	}
}
