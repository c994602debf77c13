package clustersim_test

import (
	"fmt"
	"slices"
	"strings"
)

func (w *world) round(n int) {
	for _, b := range w.boxes {
		if b.id != 0 && b.run == nil && !b.lost && !b.left && !b.waits {
			b.start()
		}
	}
	for n := len(w.packets); n > 0 && len(w.packets) > 0 && w.failed == nil; n-- {
		w.steps++
		w.deliver(0)
	}
	for _, b := range w.up() {
		w.steps++
		if b.run != nil && b.run.writing != nil {
			b.synced()
		}
		if b.run != nil && n%3 == 0 {
			b.run.m.Tick()
			b.pump()
		}
		for _, from := range w.boxes {
			if b.run != nil {
				w.carry(b, from)
			}
		}
		if b.run != nil && n%10 == 0 {
			w.seal(b)
		}
	}
	w.admit()
	if n%10 == 9 {
		w.operate()
	}
	if l := w.leader(); l != nil && n%50 == 49 {
		_, _ = l.propose("round", "goes on") // so that it is known what became of proposals before
	}
}

func (w *world) rests() {
	w.calm = true
	clear(w.cut)
	for n := range 600 {
		if w.round(n); w.failed != nil || w.rested() {
			return
		}
	}
	w.failf("the cluster does not come to rest: %s", w.describe())
}

func (w *world) forms() {
	w.calm = true
	for n := range 600 {
		if w.round(n); w.failed != nil {
			return
		}
		l := w.leader()
		if l == nil || len(w.waiting) > 0 || len(l.run.m.Status().Members.Voters) == 3 && len(l.run.m.Status().Members.Outgoing) == 0 {
			if l != nil && len(w.waiting) == 0 {
				w.calm = false
				return
			}
			continue
		}
		if free := slices.IndexFunc(w.boxes, func(b *box) bool { return b.id == 0 }); len(l.run.wanted) < 3 {
			w.joins(l, w.boxes[free], "joins")
		}
	}
	w.failf("three boxes do not become a cluster: %s", w.describe())
}

func (w *world) rested() bool {
	l := w.leader()
	if l == nil || len(w.waiting) > 0 || len(w.packets) > 40 {
		return false
	}
	now := l.run.m.Status().Members
	if len(now.Outgoing)+len(now.Learners) > 0 || !slices.Equal(now.Voters, l.run.wanted) {
		return false
	}
	for _, b := range w.boxes {
		wanted := slices.Contains(now.Voters, b.id)
		if wanted != (b.run != nil) || wanted && len(b.run.events) != len(w.judge.history) {
			return false
		}
	}
	if w.final == 0 || w.judge.proposals[w.final].refused {
		w.final = len(w.judge.proposals)
		_, _ = l.propose("final", "is the last")
		return false
	}
	if w.judge.proposals[w.final].seq == 0 {
		return false
	}
	if w.asks == 0 {
		w.reads++
		w.asks = w.reads
		l.run.m.Read(w.asks)
		l.run.reads[w.asks] = uint64(len(w.judge.history))
		l.pump()
	}
	if _, unanswered := l.run.reads[w.asks]; unanswered {
		return false
	}
	for _, b := range w.up() {
		if root(b.run.events) != w.judge.root() {
			w.failf("%s has other events than those that were committed", b)
		}
	}
	return true
}

func (w *world) describe() string {
	var b strings.Builder
	for _, x := range w.boxes {
		fmt.Fprintf(&b, "\n  %s lost %t, left %t, waits %t", x, x.lost, x.left, x.waits)
		if x.run != nil {
			s := x.run.m.Status()
			fmt.Fprintf(&b, ": term %d, leader %d, leads %t, applied %d, %d events of %d, members %+v, wanted %v, writing %t, fetching %d, behind %v", s.Term, s.Leader, s.Leads, s.Applied.Index, len(x.run.events), len(w.judge.history),
				s.Members, x.run.wanted, x.run.writing != nil, len(x.run.fetching), x.run.behind)
		}
	}
	return b.String()
}

func play(seed uint64, steps int, p plant) *world {
	w, restore := newWorld(seed, p)
	defer restore()
	if w.rng.IntN(4) > 0 {
		w.forms()
	}
	for w.steps < steps && w.failed == nil {
		w.step()
		w.admit()
	}
	if w.failed == nil {
		w.rests()
	}
	return w
}
