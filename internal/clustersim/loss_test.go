package clustersim_test

import "github.com/signalbox-dev/signalbox/internal/member"

func (w *world) losesDisk() {
	members, ok := w.inForce()
	if !ok || len(members.Outgoing) > 0 || len(members.Voters) < 3 {
		return
	}
	b := w.boxOf(members.Voters[w.rng.IntN(len(members.Voters))])
	if b == nil || b.lost {
		return
	}
	if w.rng.IntN(2) > 0 {
		b.copies = append(b.copies, b.disk.copied()) // a backup, for later
		return
	}
	for _, id := range members.Voters {
		if o := w.boxOf(id); o == nil || o.lost || o.changing() || o != b && o.run == nil {
			return
		}
	}
	old := newDisk()
	if n := len(b.copies); n > 0 && w.plant != rejoinsUnderOldID && w.rng.IntN(3) > 0 {
		old = b.copies[w.rng.IntN(n)].copied()
	}
	if w.knowsMore(members, b, old) {
		w.putBack(b, old)
	}
}

func (w *world) knowsMore(members member.Members, b *box, old *disk) bool {
	for _, id := range members.Voters {
		if o := w.boxOf(id); o != b && o.run != nil {
			for _, h := range o.disk.state.Heard {
				if h.ID == b.id && (old.state.Term < h.Term || old.state.Term == h.Term && old.end.Index < h.Index) {
					return true
				}
			}
		}
	}
	return false
}

func (w *world) putBack(b *box, old *disk) {
	b.crash()
	w.tracef("the disk of %s is put back as it was at entry %d", b, old.end.Index)
	term := b.disk.state.Term
	b.disk, b.lost = old, true
	b.peers = nil
	for _, o := range w.boxes {
		if o != b && o.run != nil {
			b.peers = append(b.peers, o.id)
		}
	}
	if w.plant == rejoinsUnderOldID {
		b.lost = false
		b.startFrom(member.Kept{State: member.State{ID: b.id, Term: term + 1}})
		return
	}
	b.start()
	w.asked(b)
	if b.run != nil && w.failed == nil {
		w.failf("%s takes part with a disk that went back", b)
	}
}

func (w *world) asked(b *box) {
	calm := w.calm
	w.calm = true
	defer func() { w.calm = calm }()
	for range 12 { // as some may not answer: a while
		if b.run == nil {
			return
		}
		before := len(w.packets)
		b.run.m.Tick()
		b.pump()
		for len(w.packets) > before && w.failed == nil {
			if to := w.boxOf(w.packets[before].To); to != nil && to.run != nil && to.run.writing != nil {
				to.synced()
			}
			w.carryOver(before)
		}
	}
}
