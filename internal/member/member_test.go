package member

import (
	"errors"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// alone starts a member that is the only one, and returns what brings it on.
func alone(t *testing.T, last func(string) uint64) (m *Member, goOn func() (applied []Applied)) {
	t.Helper()
	s := memberlog.Founding(1, 0)
	m, err := Start(Config{ElectionTicks: 4, Keep: 1000, Last: last, Has: func(ledger.Hash) bool { return true }}, Kept{State: s, Before: s.At})
	if err != nil {
		t.Fatal(err)
	}
	goOn = func() (applied []Applied) {
		for {
			out := m.Next()
			if out.Stop != nil {
				t.Fatal(out.Stop)
			}
			if out.Empty() {
				return applied
			}
			m.Written()
			applied = append(applied, out.Apply...)
		}
	}
	for range 10 {
		m.Tick()
		goOn()
	}
	return m, goOn
}

// What a member holds is bounded, however large events are.
func TestMemory(t *testing.T) {
	last := uint64(0)
	m, goOn := alone(t, func(string) uint64 { return last })
	for range 100 {
		if _, err := m.Propose(Proposal{Subject: "a", Last: last, Data: make([]byte, 1<<20)}); err != nil {
			t.Fatal(err)
		}
		for _, a := range goOn() {
			last = a.Seq
		}
		if size := sizeOf(m.log.entries); size != m.log.size || size > 2*maxKept+1<<21 {
			t.Fatalf("after event %d it holds %d bytes, and counts %d", last, size, m.log.size)
		}
	}
	if last != 100 {
		t.Errorf("%d events were applied", last)
	}
}

// What waits to be committed is bounded, too.
func TestFull(t *testing.T) {
	m, goOn := alone(t, func(string) uint64 { return 0 })
	for n := 0; ; n++ {
		_, err := m.Propose(Proposal{Subject: string(rune('a' + n)), Data: make([]byte, 1<<20)})
		if err == nil && n <= maxUncommitted>>20 {
			continue
		}
		if !errors.Is(err, ErrFull) {
			t.Errorf("proposal %d ends in %v", n, err)
		}
		break
	}
	goOn()
	if _, err := m.Propose(Proposal{Subject: "z"}); err != nil {
		t.Errorf("when all is committed: %v", err)
	}
}
