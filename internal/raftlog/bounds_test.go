package raftlog

import "testing"

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
