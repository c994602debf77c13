package clustersim_test

import (
	"crypto/sha256"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/member"
)

// judge holds what happened against what has to hold.
type judge struct {
	w *world

	history []member.Applied // the events in order, as they were applied first
	roots   [][32]byte       // the root of each prefix
	last    map[string]uint64

	proposals []outcome

	// Of the log of now; a single box's log that becomes a member's begins anew.
	stored  map[place]holders // which members have ever synced an entry
	first   map[uint64]place  // which entry was applied at an index
	leaders map[uint64]uint64 // who led in a term
	votes   map[vote]uint64
	acked   []ack
}

// place is an entry's index and term: no two entries share it.
type place struct{ index, term uint64 }

type holders []uint64

func (h holders) has(id uint64) bool { return slices.Contains(h, id) }

type vote struct{ id, term uint64 }

type ack struct {
	place
	seq uint64
}

// outcome is what became of a proposal.
type outcome struct {
	seq     uint64 // where it was applied; 0 if it was not
	refused bool   // its client was told that nothing was stored
}

func newJudge(w *world) *judge {
	j := &judge{w: w, last: map[string]uint64{}, proposals: make([]outcome, 1)}
	j.anew()
	return j
}

// anew forgets what was said of a log that is not gone on with.
func (j *judge) anew() {
	j.stored, j.first, j.leaders, j.votes, j.acked = map[place]holders{}, map[uint64]place{}, map[uint64]uint64{}, map[vote]uint64{}, nil
}

// proposes gives a proposal its number.
func (j *judge) proposes() int {
	j.proposals = append(j.proposals, outcome{})
	return len(j.proposals) - 1
}

// refused says that the client of a proposal was told that nothing was stored, and never will be.
func (j *judge) refused(n int) {
	j.proposals[n].refused = true
	if seq := j.proposals[n].seq; seq > 0 {
		j.w.failf("proposal %d was said not to be stored, and is event %d", n, seq)
	}
}

// synced looks at a batch that a box has synced.
func (j *judge) synced(b *box, w member.Write) {
	id := b.id
	if v := (vote{id, w.State.Term}); w.State.Vote != 0 && w.State.Vote != id {
		if before, ok := j.votes[v]; ok && before != w.State.Vote {
			j.w.failf("%s votes for %d in term %d, and has voted for %d there", b, w.State.Vote, w.State.Term, before)
		}
		j.votes[v] = w.State.Vote
	}
	for _, e := range w.Entries {
		at := place{e.Index, e.Term}
		if e.Term != w.Entries[0].Term {
			j.w.failf("%s syncs a batch with entries of terms %d and %d", b, w.Entries[0].Term, e.Term)
		}
		if !j.stored[at].has(id) {
			j.stored[at] = append(j.stored[at], id)
		}
		for _, sum := range e.Blobs {
			if !b.disk.blobs[sum] && !b.run.gone[sum] {
				j.w.failf("%s syncs entry %d before a blob that it names", b, e.Index)
			}
		}
	}
	if w.Base != nil && len(b.disk.segments) > 1 {
		j.w.seen["a member far behind goes on from a base"]++
	}
}

// cuts looks at a batch that is about to be durable.
func (j *judge) cuts(b *box, w member.Write) {
	if w.Cut == nil {
		return
	}
	j.w.seen["an end is cut back"]++
	for _, a := range j.acked {
		if a.index > w.Cut.Index && b.disk.terms[a.index] == a.term {
			j.w.failf("%s cuts back entry %d of term %d, which was acknowledged", b, a.index, a.term)
		}
	}
}

// looks looks at a running member.
func (j *judge) looks(b *box) {
	s := b.run.m.Status()
	if s.Leader == 0 {
		return
	}
	if before, ok := j.leaders[s.Term]; ok && before != s.Leader {
		j.w.failf("members %d and %d both led in term %d", before, s.Leader, s.Term)
	}
	if j.leaders[s.Term] == 0 {
		j.w.tracef("member %d leads in term %d", s.Leader, s.Term)
		j.w.seen["an election"]++
	}
	j.leaders[s.Term] = s.Leader
}

// applied looks at an event that a box applies.
func (j *judge) applied(b *box, a member.Applied) {
	if a.Seq != uint64(len(b.run.events))+1 {
		j.w.failf("%s applies event %d after event %d", b, a.Seq, len(b.run.events))
		return
	}
	at := place{a.Entry.Index, a.Entry.Term}
	if was, ok := j.first[at.index]; ok && was != at {
		j.w.failf("%s applies entry %d of term %d, and term %d was applied there", b, at.index, at.term, was.term)
	}
	if a.Seq <= uint64(len(j.history)) {
		if string(j.history[a.Seq-1].Entry.Data) != string(a.Entry.Data) {
			j.w.failf("%s applies %q as event %d, which is %q: equal prefixes have other roots", b, a.Entry.Data, a.Seq, j.history[a.Seq-1].Entry.Data)
		}
		return
	}
	j.first[at.index] = at
	// A change of the members is in force when it is applied: entries after it may have been committed before, by those before.
	p := b.run
	if now := p.m.Status().Members; !decided(p.before, j.stored[at]) && !decided(p.now, j.stored[at]) && !decided(now, j.stored[at]) {
		j.w.failf("%s applies event %d, entry %d of term %d, which is not committed: of the voters %v %v only %v have it", b, a.Seq, at.index, at.term, now.Voters, now.Outgoing, j.stored[at])
	}
	if last := j.last[a.Entry.Subject]; last != a.Entry.Last {
		j.w.failf("event %d was decided after event %d on %q, and comes after event %d", a.Seq, a.Entry.Last, a.Entry.Subject, last)
	}
	n := number(string(a.Entry.Data))
	if o := j.proposals[n]; o.seq > 0 || o.refused {
		j.w.failf("proposal %d is event %d, and was event %d before, refused %t", n, a.Seq, o.seq, o.refused)
	}
	j.proposals[n].seq = a.Seq
	j.last[a.Entry.Subject] = a.Seq
	j.history = append(j.history, a)
	root := j.root()
	j.roots = append(j.roots, sha256.Sum256(append(root[:], a.Entry.Data...)))
}

// root is that of a box's events, made anew.
func root(events []member.Applied) (sum [32]byte) {
	for _, a := range events {
		sum = sha256.Sum256(append(sum[:], a.Entry.Data...))
	}
	return sum
}

func (j *judge) root() (sum [32]byte) {
	if len(j.roots) > 0 {
		sum = j.roots[len(j.roots)-1]
	}
	return sum
}

// majority says whether more than half of the voters are among those who have something; of no voters, always.
func majority(voters []uint64, have holders) bool {
	n := 0
	for _, id := range voters {
		if have.has(id) {
			n++
		}
	}
	return n > len(voters)/2 || len(voters) == 0
}

func decided(m member.Members, have holders) bool {
	return len(m.Voters) > 0 && majority(m.Voters, have) && majority(m.Outgoing, have)
}

// acknowledged looks at an event whose client is told that it is stored.
func (j *judge) acknowledged(b *box, t ticket, a member.Applied) {
	j.w.seen["an event is acknowledged"]++
	if t.Seq != a.Seq || number(string(a.Entry.Data)) != uint64(t.proposal) {
		j.w.failf("%s acknowledges proposal %d as event %d, and it is event %d", b, t.proposal, t.Seq, a.Seq)
	}
	j.acked = append(j.acked, ack{place{a.Entry.Index, a.Entry.Term}, a.Seq})
	if len(j.acked) > 24 { // older ones are under checkpoints, or were looked at often
		j.acked = j.acked[1:]
	}
	j.kept()
}

// kept looks whether each acknowledged event is where it has to be: no majority of the voters can be had of members whose synced
// files lack it. Who lost a disk has no vote.
func (j *judge) kept() {
	members, ok := j.w.inForce()
	if !ok {
		return
	}
	for _, a := range j.acked {
		lack := func(voters []uint64) bool { // whether those who lack it can decide
			without := 0
			for _, id := range voters {
				if b := j.w.boxOf(id); b != nil && !b.lost && b.disk.terms[a.index] != a.term && uint64(len(b.disk.sealed)) < a.seq {
					without++
				}
			}
			return without > len(voters)/2
		}
		if lack(members.Voters) && (len(members.Outgoing) == 0 || lack(members.Outgoing)) {
			j.w.failf("event %d (entry %d of term %d) was acknowledged, and a majority of the voters %v %v lacks it", a.seq, a.index, a.term, members.Voters, members.Outgoing)
		}
	}
}

// read looks at a read that is answered; known is what was applied somewhere when it was asked.
func (j *judge) read(b *box, known uint64) {
	j.w.seen["a read is answered"]++
	if uint64(len(b.run.events)) < known {
		j.w.failf("%s answers a read with %d events, and %d were applied when it was asked", b, len(b.run.events), known)
	}
}

// toldRemoved looks at a member that stops as it was removed: a majority of the voters, as one of those who know sees them, have to know. If
// these were removed meanwhile, they in turn stay until others know that.
func (j *judge) toldRemoved(b *box) {
	j.w.seen["a removed member is told"]++
	knows := func(o *box) bool { return o.disk.state.At.Index >= b.id && !votes(o.disk.state.Members, b.id) }
	enough := false
	for _, o := range j.w.boxes {
		if o.id == 0 || o == b || !knows(o) {
			continue
		}
		voters, known := o.disk.state.Members.Voters, holders(nil)
		for _, id := range voters {
			if other := j.w.boxOf(id); other == nil || other.lost || knows(other) { // or did, on a disk that was lost
				known = append(known, id)
			}
		}
		enough = enough || majority(voters, known)
	}
	if members, _ := j.w.inForce(); votes(members, b.id) || !enough {
		j.w.failf("%s stops as removed, and not enough of the voters %v know", b, members.Voters)
	}
	for _, o := range j.w.up() {
		if uint64(len(o.run.events)) == uint64(len(j.history)) && slices.Contains(o.run.wanted, b.id) {
			j.w.failf("%s stops as removed, and is wanted", b)
		}
	}
}

func votes(m member.Members, id uint64) bool {
	return slices.Contains(slices.Concat(m.Voters, m.Outgoing), id)
}

// single looks at a log that becomes that of a single box.
func (j *judge) single(b *box, events []member.Applied) {
	j.w.seen["a cluster becomes a single box"]++
	if len(events) != len(j.history) {
		j.w.failf("%s becomes a single box with %d events, and %d were committed", b, len(events), len(j.history))
		return
	}
	if len(events) > 0 && root(events) != j.root() {
		j.w.failf("%s becomes a single box with other events than those that were committed", b)
	}
}
