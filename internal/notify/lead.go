package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/engine"
)

// What a box that does not lead keeps: for how long, which is longer than others need to notice that the one that leads is gone; and of what happened how long
// ago, by clocks that differ: a box that was away for longer, or has just joined, reads much that was told before.
const (
	keepsFor = time.Minute
	longAgo  = time.Hour
)

// catchUp returns when the box has folded as much as the teller had read before. A member that was killed may not know at once that what it had is
// committed, and what waits by the events before is not what waits.
func (t *Teller) catchUp(ctx context.Context, upTo uint64) error {
	err := t.box.Watch(ctx, upTo, func([]engine.Record) error { return errThere })
	if errors.Is(err, errThere) {
		err = nil
	}
	return err
}

var errThere = errors.New("it is there")

// followLead tells for as long as the box leads.
func (t *Teller) followLead(ctx context.Context) {
	for {
		leads, term, changed := t.o.Leads()
		t.turn(leads, term)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// turn takes over what is left, to tell it, or keeps it for another box that leads from now on: that one may not live to tell.
func (t *Teller) turn(leads bool, term uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if leads == t.leads && term == t.term {
		return
	}
	t.forget()
	for _, p := range t.untold {
		switch {
		case leads:
			p.Kept = time.Time{}
		case !p.Kept.IsZero():
			p.Kept = t.o.Now()
		}
	}
	t.leads, t.term = leads, term
	t.moved()
}

// forget drops what was kept while one box led, for long enough; while none does, nobody tells it. The caller holds the mutex.
func (t *Teller) forget() {
	now := t.o.Now()
	t.untold = slices.DeleteFunc(t.untold, func(p *pending) bool { return t.term != 0 && !p.Kept.IsZero() && now.Sub(p.Kept) > keepsFor })
}

// keepForLeader makes room for a message that the box that leads tells, and reports whether it is to be kept. The caller holds the mutex.
func (t *Teller) keepForLeader(p *pending) bool {
	t.forget()
	if p.About == "" && t.o.Now().Sub(p.At) > longAgo {
		return false
	}
	if len(t.untold) >= maxUntold {
		i := slices.IndexFunc(t.untold, func(p *pending) bool { return !p.Kept.IsZero() })
		if i < 0 {
			return false // all are its own, which it could not tell
		}
		t.untold = slices.Delete(t.untold, i, i+1)
	}
	p.Kept = t.o.Now()
	return true
}
