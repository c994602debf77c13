package box

import (
	"cmp"
	"container/list"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// queue is what is claimable, and who waits for it: first come, first served, on
// both sides. It proposes; only the grant's append decides.
//
// Claims that wish the same wait in one line. An item is offered to the first of the lines that accept it:
// those behind it, and those in other lines, are not looked at, however many they are. After a match
// no item that is ready fits a claim that waits; so the next match looks only at items that were
// updated since.
type queue struct {
	ready   map[post]*list.List            // of readyItem, the one that is ready for longest first
	place   map[string]*list.Element       // subject -> its place
	lines   map[string]map[wish]*list.List // of *waiter, by the subject that is wished for; none is empty
	waiting int                            // how many wait, in all lines
	came    uint64                         // how many ever waited
	updated []string                       // subjects that became ready since the last match, if anybody waits
}

type readyItem struct {
	subject string
	post
	since uint64 // the sequence from which it is ready
}

// post is where an item waits: in a phase; if that is BLOCKED, for this role to help.
type post struct {
	phase  agentsig.Phase
	helper agentsig.Role
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
	number uint64        // the lower came first
	offer  chan string   // closed if there will be nothing to offer
	place  *list.Element // nil once it was offered something, or will never be
}

func newQueue() queue {
	return queue{ready: map[post]*list.List{}, place: map[string]*list.Element{}, lines: map[string]map[wish]*list.List{}}
}

// accepts reports whether an item in this phase is what is asked for. CI_PENDING
// waits for the gate, and is given only to who names it, or the item.
func (w wish) accepts(subject string, p post) bool {
	switch {
	case w.subject != "" && w.subject != subject, w.phase != "" && w.phase != p.phase:
		return false
	case p.phase == agentsig.PhaseCIPending && w.phase == "" && w.subject == "":
		return false
	case p.phase == agentsig.PhaseBlocked:
		return w.role == p.helper
	}
	return work.MayHold(w.role, p.phase)
}

// update puts an item into its place after something happened to it.
func (q *queue) update(i work.Item) {
	q.remove(i.Subject)
	if i.Phase == agentsig.PhaseCompleted {
		q.disappoint(i.Subject)
	}
	if !i.Claimable() {
		return
	}
	if q.waiting > 0 {
		q.updated = append(q.updated, i.Subject)
	}
	at := post{i.Phase, i.Helper()}
	l := q.ready[at]
	if l == nil {
		l = list.New()
		q.ready[at] = l
	}
	before := l.Back()
	for before != nil && before.Value.(readyItem).since > i.Seq {
		before = before.Prev() // it was offered, and comes back
	}
	item := readyItem{i.Subject, at, i.Seq}
	if before == nil {
		q.place[i.Subject] = l.PushFront(item)
		return
	}
	q.place[i.Subject] = l.InsertAfter(item, before)
}

func (q *queue) remove(subject string) {
	if e := q.place[subject]; e != nil {
		q.ready[e.Value.(readyItem).post].Remove(e)
		delete(q.place, subject)
	}
}

// take removes and returns the item that fits and is ready for longest.
func (q *queue) take(w wish) (string, bool) {
	if w.subject != "" {
		e := q.place[w.subject]
		if e == nil || !w.accepts(w.subject, e.Value.(readyItem).post) {
			return "", false
		}
		q.remove(w.subject)
		return w.subject, true
	}
	var best *readyItem
	for at, l := range q.ready {
		if e := l.Front(); e != nil && w.accepts("", at) {
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

// wait puts a claim in line. Nothing that is ready fits it: the caller has matched, and tried to take.
func (q *queue) wait(w wish) *waiter {
	line := q.lines[w.subject][w]
	if line == nil {
		if q.lines[w.subject] == nil {
			q.lines[w.subject] = map[wish]*list.List{}
		}
		line = list.New()
		q.lines[w.subject][w] = line
	}
	q.waiting++
	q.came++
	x := &waiter{wish: w, number: q.came, offer: make(chan string, 1)}
	x.place = line.PushBack(x)
	return x
}

// leave takes a claim out of the line. It returns what it was offered already.
func (q *queue) leave(w *waiter) (string, bool) {
	if w.place != nil {
		q.quit(w)
		return "", false
	}
	subject, offered := <-w.offer
	return subject, offered
}

// disappoint ends the claims that wait for this item and no other.
func (q *queue) disappoint(subject string) {
	for _, line := range q.lines[subject] {
		for line.Len() > 0 {
			w := line.Front().Value.(*waiter)
			q.quit(w)
			close(w.offer)
		}
	}
}

// quit takes a claim out of its line.
func (q *queue) quit(w *waiter) {
	line := q.lines[w.subject][w.wish]
	line.Remove(w.place)
	w.place = nil
	q.waiting--
	if line.Len() == 0 {
		delete(q.lines[w.subject], w.wish)
	}
	if len(q.lines[w.subject]) == 0 {
		delete(q.lines, w.subject)
	}
}

// match offers what became ready to who waits. The item that is ready for longest goes first, to the claim
// that waits for longest of those that accept it. That is the same as if each claim in turn took the
// item that fits it and is ready for longest.
func (q *queue) match() {
	var items []readyItem
	for _, subject := range q.updated {
		if e := q.place[subject]; e != nil {
			items = append(items, e.Value.(readyItem))
		}
	}
	q.updated = nil
	slices.SortFunc(items, func(a, b readyItem) int { return cmp.Compare(a.since, b.since) })
	for _, i := range slices.Compact(items) {
		if w := q.first(i); w != nil {
			q.remove(i.subject)
			q.quit(w)
			w.offer <- i.subject
		}
	}
}

// first returns the claim that waits for longest of those that accept an item, or nil.
func (q *queue) first(i readyItem) (first *waiter) {
	for _, subject := range []string{"", i.subject} {
		for wish, line := range q.lines[subject] {
			if !wish.accepts(i.subject, i.post) {
				continue
			}
			if w := line.Front().Value.(*waiter); first == nil || w.number < first.number {
				first = w
			}
		}
	}
	return first
}
