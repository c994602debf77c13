package clustersim_test

import (
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/member"
)

func (w *world) operate() {
	l := w.leader()
	if l == nil || l.run.writing != nil && w.calm {
		return
	}
	now := l.run.m.Status().Members
	settled := len(now.Outgoing)+len(now.Learners) == 0 && slices.Equal(now.Voters, l.run.wanted)
	for _, b := range w.boxes {
		switch {
		case b.waits:
		case b.lost && b.run == nil && slices.Contains(l.run.wanted, b.id):
			w.joins(l, b, fmt.Sprintf("replaces %d", b.id))
			return
		case b.left || b.lost && !slices.Contains(slices.Concat(now.Voters, now.Outgoing), b.id) && !slices.Contains(l.run.wanted, b.id) && b.run == nil:
			*b = box{w: w, place: b.place, disk: newDisk()}
		case b.run != nil && b.forsaken() && !slices.Contains(l.run.wanted, b.id):
			w.seen["a removed box finds nobody that it knows"]++
			w.tracef("an operator empties %s, which knows nobody who is left", b)
			*b = box{w: w, place: b.place, disk: newDisk()}
		}
	}
	if !settled || w.calm {
		return
	}
	switch n := w.rng.IntN(10); {
	case len(now.Voters) == 1 && (n == 0 || n < 9 && w.plant == takesUncommitted):
		w.alone(l)
	case len(now.Voters) < 3 || n == 1 && len(now.Voters) < 4:
		for _, b := range w.boxes {
			if b.id == 0 && !b.waits {
				w.joins(l, b, "joins")
				return
			}
		}
	case n == 0:
		at := now.Voters[w.rng.IntN(len(now.Voters))]
		w.tracef("an operator removes all but member %d", at)
		_, _ = l.propose(operators, fmt.Sprintf("leaves %d", at))
	case n < 4:
		for _, b := range w.boxes {
			if b.id == 0 && !b.waits {
				w.joins(l, b, fmt.Sprintf("replaces %d", now.Voters[w.rng.IntN(len(now.Voters))]))
				return
			}
		}
	case n < 5:
		l.run.m.HandOver(now.Voters[w.rng.IntN(len(now.Voters))])
		l.pump()
	}
}

func (w *world) joins(l, b *box, what string) {
	if b.waits {
		return
	}
	t, err := l.propose(operators, what)
	if err != nil {
		return
	}
	b.waits = true
	w.tracef("an operator: %s, as box %c", what, 'A'+b.place)
	w.waiting = append(w.waiting, join{b, t, slices.Clone(l.run.m.Status().Members.Voters)})
}

// join is a box that waits until the event that it joins with is committed.
type join struct {
	b      *box
	ticket member.Ticket
	peers  []uint64
}

func (w *world) admit() {
	w.waiting = slices.DeleteFunc(w.waiting, func(j join) bool {
		at, ok := w.judge.first[j.ticket.Index]
		switch {
		case !ok && w.passed(j.ticket.Index) || ok && at.term != j.ticket.Term:
			j.b.waits = false
			return true
		case !ok:
			return false
		}
		b := j.b
		b.run, b.waits = nil, false
		*b = box{w: w, place: b.place, disk: newDisk(), id: j.ticket.Index, peers: j.peers}
		w.seen["a box joins"]++
		b.start()
		return true
	})
}

func (w *world) passed(index uint64) bool {
	for _, b := range w.up() {
		if b.run.m.Status().Applied.Index >= index {
			return true
		}
	}
	return false
}

func (w *world) alone(b *box) {
	events := b.run.events
	if w.plant == takesUncommitted {
		for _, e := range w.ending(b) {
			events = append(slices.Clip(events), member.Applied{Seq: uint64(len(events)) + 1, Entry: e})
		}
	} else if _, ok := b.run.m.Alone(); !ok {
		return
	}
	w.judge.single(b, events)
	w.tracef("%s is a single box, and founds a cluster", b)
	for _, other := range w.boxes {
		if other != b {
			*other = box{w: w, place: other.place, disk: newDisk()}
		}
	}
	w.packets, w.waiting = nil, nil
	w.judge.anew()
	b.disk.unsynced, b.run = nil, nil
	w.found(b, events)
}

func (w *world) ending(b *box) (all []member.Entry) {
	entries := b.disk.entries()
	for i := b.run.m.Status().Applied.Index + 1; entries[i].Index == i; i++ {
		if entries[i].Kind == member.Event {
			all = append(all, entries[i])
		}
	}
	return all
}
