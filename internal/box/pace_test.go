package box

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/mutant"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A burst lasts until quietAfter has passed since many events came, whatever else comes.
func TestPace(t *testing.T) {
	t.Parallel()
	start := time.Unix(1e9, 0)
	p := beginPace(7, start)
	for _, step := range []struct {
		after  time.Duration // the start
		events uint64
		want   time.Duration
	}{
		{time.Second, 8, quietAfter - time.Second}, // begun with a burst
		{2 * time.Second, 8 + manyEvents - 1, quietAfter - 2*time.Second},
		{3 * time.Second, 8 + 2*manyEvents - 1, quietAfter}, // many
		{12 * time.Second, 8 + 2*manyEvents, time.Second},   // a few put nothing off
		{13 * time.Second, 9 + 2*manyEvents, 0},
		{time.Minute, 10 + 2*manyEvents, 0},
		{2 * time.Minute, 10 + 4*manyEvents, quietAfter},
		{time.Minute, 10 + 4*manyEvents, quietAfter}, // the clock was set back
	} {
		if got := p.look(step.events, start.Add(step.after)); got != step.want {
			t.Errorf("%d events after %v: the burst lasts for %v, want %v", step.events, step.after, got, step.want)
		}
	}
}

// A box begins with a burst, and says when one is over and when the next begins, although a few events come
// all the time; and when none comes any more.
func TestBusy(t *testing.T) {
	t.Parallel()
	dir := Dir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		type said struct {
			busy bool
			at   time.Duration
		}
		var all []said
		began := time.Now()
		b, _, err := Open(t.Context(), Options{Dir: dir, Busy: func(busy bool) { all = append(all, said{busy, time.Since(began)}) }})
		if err != nil {
			t.Fatal(err)
		}
		add := func(n int) {
			for range n {
				if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{Title: "a title"}, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 20 {
			add(1)
			time.Sleep(2 * sealAfter)
		}
		add(manyEvents)
		time.Sleep(time.Minute)
		add(1)
		time.Sleep(time.Minute)
		closeBox(t, b)
		second, last := 41*sealAfter, 40*sealAfter+time.Minute+sealAfter
		if got, want := all[len(all)-1], (said{false, last + quietAfter}); got != want {
			t.Errorf("at last it said %v, want %v", got, want)
		}
		all = slices.CompactFunc(all, func(a, b said) bool { return a.busy == b.busy })
		if want := []said{{true, 0}, {false, quietAfter}, {true, second}, {false, second + quietAfter}}; !slices.Equal(all, want) {
			t.Errorf("it said %v, want %v", all, want)
		}
	})
}

// Each of these faults, by which memory would stay after a burst, is noticed by the test beside it.
func TestPaceMutants(t *testing.T) {
	for _, m := range []struct {
		mutant.Mutant
		test string
	}{
		{mutant.Mutant{Name: "any event puts the end of a burst off", File: "pace.go", Old: "if events >= p.events+manyEvents {", New: "if events > p.events {"}, "TestPace$"},
		{mutant.Mutant{Name: "events of long ago are a burst", File: "pace.go", Old: "\tp.events = events\n", New: ""}, "TestPace$"},
		{mutant.Mutant{Name: "a clock that is set back prolongs a burst", File: "pace.go", Old: "return min(max(0, p.many.Add(quietAfter).Sub(now)), quietAfter)", New: "return max(0, p.many.Add(quietAfter).Sub(now))"}, "TestPace$"},
		{mutant.Mutant{Name: "each seal puts the end of a burst off", File: "box.go", Old: "over = time.After(left)", New: "over = time.After(quietAfter)"}, "TestBusy$"},
		{mutant.Mutant{Name: "what a few events took is kept", File: "box.go", Old: "\t\tidle = time.After(quietAfter)\n", New: "\t\tidle = nil\n"}, "TestBusy$"},
		{mutant.Mutant{Name: "the second burst is not told of", File: "box.go", Old: "if over == nil {\n\t\t\t\ts.say(true)", New: "if over != nil {\n\t\t\t\ts.say(true)"}, "TestBusy$"},
	} {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			m.Check(t, ".", m.test)
		})
	}
}
