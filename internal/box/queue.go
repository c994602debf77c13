package box

import (
	"container/list"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// queue is what is claimable, and who waits for it: first come, first served, on
// both sides. It proposes; only the grant's append decides.
type queue struct {
	ready   map[agentsig.Phase]*list.List // of readyItem, the one that is ready for longest first
	place   map[string]*list.Element      // subject -> its place
	waiters *list.List                    // of *waiter
}

type readyItem struct {
	subject string
	phase   agentsig.Phase
	since   uint64 // the sequence from which it is ready
}

// wish is what a claim asks for.
type wish struct {
	subject string // one item, or any
	phase   agentsig.Phase
	role    agentsig.Role
}

// waiter is a claim that waits. It gets one subject at most.
type waiter struct {
	wish
	offer chan string
	place *list.Element
}

func newQueue() queue {
	return queue{ready: map[agentsig.Phase]*list.List{}, place: map[string]*list.Element{}, waiters: list.New()}
}

// accepts reports whether an item in this phase is what is asked for. CI_PENDING
// waits for the gate, and is given only to who names it, or the item.
func (w wish) accepts(subject string, phase agentsig.Phase) bool {
	switch {
	case w.subject != "" && w.subject != subject, w.phase != "" && w.phase != phase:
		return false
	case phase == agentsig.PhaseCIPending && w.phase == "" && w.subject == "":
		return false
	}
	return work.MayHold(w.role, phase)
}

// update puts an item into its place after something happened to it.
func (q *queue) update(i work.Item) {
	q.remove(i.Subject)
	if !i.Claimable() {
		return
	}
	l := q.ready[i.Phase]
	if l == nil {
		l = list.New()
		q.ready[i.Phase] = l
	}
	before := l.Back()
	for before != nil && before.Value.(readyItem).since > i.Seq {
		before = before.Prev() // it was offered, and comes back
	}
	item := readyItem{i.Subject, i.Phase, i.Seq}
	if before == nil {
		q.place[i.Subject] = l.PushFront(item)
		return
	}
	q.place[i.Subject] = l.InsertAfter(item, before)
}

func (q *queue) remove(subject string) {
	if e := q.place[subject]; e != nil {
		q.ready[e.Value.(readyItem).phase].Remove(e)
		delete(q.place, subject)
	}
}

// take removes and returns the item that fits and is ready for longest.
func (q *queue) take(w wish) (string, bool) {
	if w.subject != "" {
		e := q.place[w.subject]
		if e == nil || !w.accepts(w.subject, e.Value.(readyItem).phase) {
			return "", false
		}
		q.remove(w.subject)
		return w.subject, true
	}
	var best *readyItem
	for phase, l := range q.ready {
		if e := l.Front(); e != nil && w.accepts("", phase) {
			if r := e.Value.(readyItem); best == nil || r.since < best.since {
				best = &r
			}
		}
	}
	if best == nil {
		return "", false
	}
	q.remove(best.subject)
	return best.subject, true
}

// wait puts a claim in line.
func (q *queue) wait(w wish) *waiter {
	x := &waiter{wish: w, offer: make(chan string, 1)}
	x.place = q.waiters.PushBack(x)
	return x
}

// leave takes a claim out of the line. It returns what it was offered already.
func (q *queue) leave(w *waiter) (string, bool) {
	if w.place != nil {
		q.waiters.Remove(w.place)
		w.place = nil
		return "", false
	}
	return <-w.offer, true
}

// match offers what is ready to who waits.
func (q *queue) match() {
	if len(q.place) == 0 {
		return
	}
	for e := q.waiters.Front(); e != nil; {
		w, next := e.Value.(*waiter), e.Next()
		if subject, ok := q.take(w.wish); ok {
			q.waiters.Remove(e)
			w.place = nil
			w.offer <- subject
		}
		e = next
	}
}
