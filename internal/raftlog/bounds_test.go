package raftlog

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// nowhere is a way to nobody.
type nowhere struct{}

func (nowhere) Send(context.Context, uint64, ...[]byte) error { return nil }
func (nowhere) Fetch(context.Context, string) ([]byte, error) { return nil, context.Canceled }

// alone makes a log on its own files, of a member whose log begins with a state.
func alone(t *testing.T, files archive.FS, keys archive.Keys, tick time.Duration) (*Log, *archive.Archive) {
	t.Helper()
	a, j, err := archive.OpenMember(files, keys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	l, err := New(a, j, Config{
		Follower: archive.Follower{
			Last: func(string) (uint64, error) { return 0, nil }, Fold: func([]engine.Record) error { return nil }, Ended: func(error) {},
		},
		Transport: nowhere{}, Tick: tick, Elect: elect, Keep: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, a
}

const elect = 3

// found makes files that have the log of a member of so many, and its keys.
func found(t *testing.T, voters ...uint64) (archive.FS, archive.Keys) {
	t.Helper()
	signer, verifier, err := ledger.NewKey(ledger.Origin("example.com/ledger", 1))
	if err != nil {
		t.Fatal(err)
	}
	files, keys := archivetest.NewLossy(), archive.Keys{Signer: signer, Verifier: verifier}
	s := memberlog.Founding(1, 0)
	s.Members.Voters = voters
	if err := archive.Found(files, keys, s); err != nil {
		t.Fatal(err)
	}
	return files, keys
}

// While too few members answer, who has given up waiting for what is committed is not kept.
func TestWhoGivesUpIsForgotten(t *testing.T) {
	files, keys := found(t, 1, 2, 3)
	l, a := alone(t, files, keys, time.Millisecond)
	l.Start()
	for range 500 {
		asking, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if l.CatchUp(asking) == nil {
			t.Fatal("it is known what is committed, and nobody answers")
		}
		cancel()
	}
	type look struct{ ticks, waits int }
	looks := make(chan look)
	now := func() look {
		if err := l.give(t.Context(), func() {
			l.done = append(l.done, func() {
				n := 0
				for _, r := range l.reads {
					n += len(r.waits)
				}
				looks <- look{l.tickCount, n}
			})
		}); err != nil {
			t.Fatal(err)
		}
		return <-looks
	}
	began := now()
	is := began
	for is.ticks <= began.ticks+2*elect {
		is = now()
	}
	if is.waits > 0 {
		t.Errorf("%d are waited for that have given up", is.waits)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A log that begins anew at what its archive has already needs nothing fetched for that.
func TestBeginsAnewWithWhatItHas(t *testing.T) {
	files, keys := found(t, 1)
	l, a := alone(t, files, keys, time.Millisecond)
	l.Start()
	for _, subject := range []string{"A", "B", "C"} {
		if _, err := l.Append(t.Context(), subject, 0, fmt.Appendf(nil, `{"subject":%q}`, subject)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Seal(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Close(), a.Close()); err != nil {
		t.Fatal(err)
	}
	l, a = alone(t, files, keys, time.Hour)
	base := memberlog.Mark{Index: 20, Term: 7, Seq: 3}
	state := memberlog.Founding(1, 0)
	state.Term, state.Commit, state.At, state.Taken = 7, base.Index, base, base.Seq
	state.Members.Voters = []uint64{1, 2, 3}
	if err := l.write([]memberlog.Write{{Base: &base, State: state}}); err != nil {
		t.Fatal(err)
	}
	if a.Size() != 3 || l.journal.End() != base {
		t.Errorf("there are %d events, and the log ends at %+v", a.Size(), l.journal.End())
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// What waits to be taken, and to be sent, is bounded by its bytes.
func TestBounds(t *testing.T) {
	l := &Log{more: make(chan struct{}, 1)}
	p := &peer{more: make(chan struct{}, 1)}
	message := make([]byte, 1<<20)
	for range 100 {
		l.Receive(message)
		p.put(message)
	}
	if inbox, _, _ := l.gathered(); len(inbox) != maxRound>>20 {
		t.Errorf("a round takes %d MiB", len(inbox))
	}
	if n := len(l.inbox); n != (maxInbox-maxRound)>>20 {
		t.Errorf("%d MiB are left", n)
	}
	l.Receive(message)
	if n := len(l.inbox); n != (maxInbox-maxRound)>>20+1 {
		t.Errorf("what was taken makes room for %d MiB", n)
	}
	if n := len(p.taken()); n != maxOutbox>>20 {
		t.Errorf("%d MiB wait to be sent", n)
	}
	p.put(message)
	if n := len(p.taken()); n != 1 {
		t.Errorf("%d messages wait to be sent", n)
	}
}
