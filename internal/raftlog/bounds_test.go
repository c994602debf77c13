package raftlog

import (
	"context"
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

// While too few members answer, who has given up waiting for what is committed is not kept.
func TestWhoGivesUpIsForgotten(t *testing.T) {
	signer, verifier, err := ledger.NewKey(ledger.Origin("example.com/ledger", 1))
	if err != nil {
		t.Fatal(err)
	}
	files, keys := archivetest.NewLossy(), archive.Keys{Signer: signer, Verifier: verifier}
	s := memberlog.Founding(1, 0)
	s.Members.Voters = []uint64{1, 2, 3}
	if err := archive.Found(files, keys, s); err != nil {
		t.Fatal(err)
	}
	a, j, err := archive.OpenMember(files, keys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	const elect = 3
	l, err := New(a, j, Config{
		Follower: archive.Follower{
			Last: func(string) (uint64, error) { return 0, nil }, Fold: func([]engine.Record) error { return nil }, Ended: func(error) {},
		},
		Transport: nowhere{}, Tick: time.Millisecond, Elect: elect, Keep: 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Start()
	for range 500 {
		asking, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if l.CatchUp(asking) == nil {
			t.Fatal("it is known what is committed, and nobody answers")
		}
		cancel()
	}
	time.Sleep(10 * elect * time.Millisecond)
	counted := make(chan int)
	if err := l.give(t.Context(), func() {
		l.done = append(l.done, func() {
			n := 0
			for _, r := range l.reads {
				n += len(r.waits)
			}
			counted <- n
		})
	}); err != nil {
		t.Fatal(err)
	}
	if n := <-counted; n > 0 {
		t.Errorf("%d are waited for that have given up", n)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
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
