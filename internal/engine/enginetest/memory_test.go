package enginetest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
)

func TestMemory(t *testing.T) {
	enginetest.Conformance(t, func(*testing.T, string) engine.Log { return &enginetest.Memory{} })
}

// Each fault: what the caller is told, and what is stored then and after one more
// append on another subject.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault       enginetest.Fault
		want        error
		then, later uint64
	}{
		{enginetest.None, nil, 1, 2},
		{enginetest.Conflict, engine.ErrConflict, 0, 1},
		{enginetest.NotReady, engine.ErrNotReady, 0, 1},
		{enginetest.UnknownStored, engine.ErrUnknown, 1, 2},
		{enginetest.UnknownLost, engine.ErrUnknown, 0, 1},
		{enginetest.UnknownLate, engine.ErrUnknown, 0, 2},
	} {
		m := &enginetest.Memory{Faults: func(n int, subject string) enginetest.Fault {
			if n == 1 && subject == "A" {
				return c.fault
			}
			return enginetest.None
		}}
		if _, err := m.Append(t.Context(), "A", 0, []byte("x")); !errors.Is(err, c.want) {
			t.Errorf("fault %d: %v", c.fault, err)
		}
		then := tip(t, m)
		if _, err := m.Append(t.Context(), "B", 0, []byte("y")); err != nil {
			t.Errorf("fault %d, the next append: %v", c.fault, err)
		}
		if later := tip(t, m); then != c.then || later != c.later {
			t.Errorf("fault %d: %d stored, then %d; want %d and %d", c.fault, then, later, c.then, c.later)
		}
	}
}

// A late append comes before the one that tries again: that one is refused.
func TestLateWins(t *testing.T) {
	m := &enginetest.Memory{Faults: func(n int, _ string) enginetest.Fault {
		if n == 1 {
			return enginetest.UnknownLate
		}
		return enginetest.None
	}}
	if _, err := m.Append(t.Context(), "A", 0, []byte("first")); !errors.Is(err, engine.ErrUnknown) {
		t.Error(err)
	}
	if _, err := m.Append(t.Context(), "A", 0, []byte("again")); !errors.Is(err, engine.ErrConflict) {
		t.Error(err)
	}
	if got := tip(t, m); got != 1 {
		t.Errorf("%d stored", got)
	}
}

func TestRandomFaults(t *testing.T) {
	draw := func(seed uint64) []enginetest.Fault {
		var all []enginetest.Fault
		faults := enginetest.RandomFaults(seed, 3)
		for n := range 200 {
			all = append(all, faults(n, "A"))
		}
		return all
	}
	if diff := cmp.Diff(draw(1), draw(1)); diff != "" {
		t.Error("the same seed:", diff)
	}
	if cmp.Equal(draw(1), draw(2)) {
		t.Error("two seeds give the same faults")
	}
	count := map[enginetest.Fault]int{}
	for _, f := range draw(1) {
		count[f]++
	}
	for f := enginetest.None; f <= enginetest.UnknownLate; f++ {
		if count[f] == 0 {
			t.Errorf("fault %d never happens", f)
		}
	}
	if len(count) != int(enginetest.UnknownLate)+1 || count[enginetest.None] < 100 {
		t.Errorf("faults: %v", count)
	}
}

func TestBeforeDelivery(t *testing.T) {
	held, release, got := make(chan struct{}), make(chan struct{}), make(chan int, 1)
	m := &enginetest.Memory{BeforeDelivery: func(ctx context.Context, _ []engine.Record) {
		held <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end := make(chan error)
	go func() {
		end <- m.Watch(ctx, 1, func(batch []engine.Record) error {
			got <- len(batch)
			return nil
		})
	}()
	for _, subject := range []string{"A", "B"} {
		if _, err := m.Append(ctx, subject, 0, []byte("x")); err != nil {
			t.Fatal(err)
		}
		<-held
		if len(got) != 0 {
			t.Fatal("delivered while it was held")
		}
		if subject == "B" {
			cancel()
			break
		}
		release <- struct{}{}
		if n := <-got; n != 1 {
			t.Fatalf("delivered %d", n)
		}
	}
	if err := <-end; !errors.Is(err, context.Canceled) || len(got) != 0 {
		t.Errorf("cancelled while it was held: %v", err)
	}
}

func tip(t *testing.T, l engine.Log) uint64 {
	t.Helper()
	n, err := l.Tip(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}
