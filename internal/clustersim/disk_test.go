package clustersim_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/member"
	"github.com/signalbox-dev/signalbox/ledger"
)

// disk is what a box keeps: a journal of batches in segments, bundles with the events under a checkpoint, and blobs.
type disk struct {
	segments []segment
	state    member.State      // of the last batch that is synced
	end      member.Mark       // of what is synced
	terms    map[uint64]uint64 // of the entries that are synced

	unsynced []member.Write

	sealed []member.Applied // the events under a checkpoint
	beside []member.Applied // fetched from another box, until a base is written
	blobs  map[ledger.Hash]bool
}

// segment is a file of the journal. Its head repeats the state and says what is before it.
type segment struct {
	state  member.State
	before member.Mark
	writes []member.Write
}

// segmentWrites is how many batches a segment holds.
const segmentWrites = 5

func newDisk() *disk { return &disk{terms: map[uint64]uint64{}, blobs: map[ledger.Hash]bool{}} }

// copied returns the disk as it would be put back later.
func (d *disk) copied() *disk {
	c := *d
	c.segments = slices.Clone(d.segments)
	for i := range c.segments {
		c.segments[i].writes = slices.Clip(c.segments[i].writes)
	}
	c.sealed, c.unsynced, c.beside, c.blobs = slices.Clip(d.sealed), nil, nil, maps.Clone(d.blobs)
	c.terms = maps.Clone(d.terms)
	return &c
}

// keep makes one batch durable.
func (d *disk) keep(w member.Write) {
	if n := len(d.segments); n == 0 || len(d.segments[n-1].writes) >= segmentWrites {
		d.segments = append(d.segments, segment{state: d.state, before: d.end})
	}
	last := &d.segments[len(d.segments)-1]
	last.writes = append(slices.Clip(last.writes), w)
	switch {
	case w.Base != nil:
		d.end = *w.Base
		clear(d.terms)
		if len(d.beside) > len(d.sealed) {
			d.sealed = d.beside
		}
		d.beside = nil
	case w.Cut != nil:
		for i := w.Cut.Index + 1; i <= d.end.Index; i++ {
			delete(d.terms, i)
		}
		d.end = *w.Cut
	}
	for _, e := range w.Entries {
		d.terms[e.Index] = e.Term
		d.end.Index, d.end.Term = e.Index, e.Term
		if e.Kind == member.Event {
			d.end.Seq++
		}
	}
	d.state = w.State
}

// read returns what a start finds: it reads the latest segments only, from one whose beginning is applied and under a checkpoint.
func (d *disk) read(p plant) (member.Kept, error) {
	covered := uint64(len(d.sealed))
	from := len(d.segments) - 1
	for from > 0 && (d.segments[from].before.Seq > covered || d.segments[from].before.Index > d.state.At.Index) {
		from--
	}
	k := member.Kept{State: d.segments[from].state, Before: d.segments[from].before, Covered: covered}
	var writes []member.Write
	for _, s := range d.segments[from:] {
		writes = append(writes, s.writes...)
	}
	if p == cutsCommitted && len(writes) > 1 {
		writes = writes[:len(writes)-1]
	}
	voted := false
	for _, w := range writes {
		voted = voted || w.State.Term != k.State.Term || w.State.Vote != k.State.Vote
		if err := k.Add(w); err != nil {
			return k, fmt.Errorf("the log that was read back: %w", err)
		}
	}
	if p == forgetsVote && !voted {
		k.State.Term, k.State.Vote = max(1, k.End().Term), 0
	}
	if p == countsLearners {
		k.State.Members.Voters = slices.Sorted(slices.Values(slices.Concat(k.State.Members.Voters, k.State.Members.Learners)))
		k.State.Members.Learners = nil
	}
	return k, nil
}

// entries returns the entries that are synced and readable, by index.
func (d *disk) entries() map[uint64]member.Entry {
	all := map[uint64]member.Entry{}
	for _, s := range d.segments {
		for _, w := range s.writes {
			if w.Base != nil {
				clear(all)
			}
			if w.Cut != nil {
				maps.DeleteFunc(all, func(i uint64, _ member.Entry) bool { return i > w.Cut.Index })
			}
			for _, e := range w.Entries {
				all[e.Index] = e
			}
		}
	}
	return all
}
