//go:build linux

package chaos

import (
	"cmp"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var (
	length = flag.Duration("chaos", 45*time.Second, "for how long TestChaos goes on at least: each kind of fault comes once, and three times from 5m on")
	only   = flag.String("only", "", "the one kind of fault that TestChaos has; all if empty")
	logs   = flag.String("logs", "", "a directory that keeps what the boxes say")
	seed   = flag.Uint64("seed", 0, "the seed of TestChaos; 0 for another one each time")
)

// round is one fault.
type round struct {
	*world
	l      *load
	random *rand.Rand
	about  string // what was drawn
}

func (r *round) hold(d time.Duration) { time.Sleep(d) } // it lasts

// victim draws a box: more often that which leads.
func (r *round) victim() *machine {
	if leader := r.leader(); leader != nil && r.random.IntN(10) < 6 {
		r.about = "the one that leads"
		return leader
	}
	r.about = "one that follows"
	return r.follower(r.random.IntN(2))
}

// other draws another box.
func (r *round) other(than *machine) *machine {
	for {
		if m := r.boxes[r.random.IntN(len(r.boxes))]; m != than {
			return m
		}
	}
}

// TestChaos has 64 clients work while machines and links between them fail, one after the other, and judges all that they were told.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	number := cmp.Or(*seed, uint64(time.Now().UnixNano()))
	t.Logf("-seed %d", number)
	random := rand.New(rand.NewPCG(number, 0))
	times := 1
	if *length >= 5*time.Minute {
		times = 3
	}
	w := newCluster(t, diskSize)
	begun := time.Now()
	l := newLoad(w, number, thinking(*length))
	defer l.end()
	if err := l.progress(t.Context(), 200); err != nil {
		t.Fatal(err)
	}
	tally := map[string][]time.Duration{}
	for n := 0; n < times || time.Since(begun) < *length; n++ {
		for _, at := range random.Perm(len(faults)) {
			f := faults[at]
			if *only != "" && f.kind != *only {
				continue
			}
			if n >= times && time.Since(begun) >= *length {
				break
			}
			r := &round{world: w, l: l, random: random}
			from := l.now()
			f.do(r)
			if err := cmp.Or(l.progress(t.Context(), 50), w.becomesHealthy(patience)); err != nil {
				t.Fatalf("after %s (%s): %v", f.kind, r.about, err)
			}
			silent := l.silence(from, l.now())
			t.Logf("%6.1f s: %s (%s): silent for %.2f s, well after %.1f s", time.Since(begun).Seconds(), f.kind, r.about, silent.Seconds(), time.Duration(l.now()-from).Seconds())
			tally[f.kind] = append(tally[f.kind], silent)
			if t.Failed() {
				break
			}
		}
		if t.Failed() {
			break
		}
	}
	l.end()
	ran := time.Since(begun)
	events := w.close()
	judging := time.Now()
	sum := l.judge(events)
	t.Logf("-seed %d: %.0f s, %d items, %d events in three archives that are equal; judged in %.1f s", number, ran.Seconds(), len(l.items), len(events), time.Since(judging).Seconds())
	t.Logf("%v", sum)
	for _, f := range faults {
		all := tally[f.kind]
		if len(all) == 0 && *only != "" {
			continue
		}
		if len(all) == 0 {
			t.Errorf("%s did not come", f.kind)
			continue
		}
		slices.Sort(all)
		t.Logf("%-18s %3d times; silent for %.2f s at most, %.2f s in the middle", f.kind, len(all), all[len(all)-1].Seconds(), all[len(all)/2].Seconds())
	}
}

// thinking is how long clients think at most, so that what they have seen of a long run can be kept.
func thinking(d time.Duration) time.Duration {
	most := 2_000_000 / max(1, d.Seconds()) // calls a second
	return max(50*time.Millisecond, time.Duration(2*groups*atOnce/most*float64(time.Second)))
}
