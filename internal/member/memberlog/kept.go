package memberlog

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/ledger"
)

// Kind says what an entry of the log is.
type Kind uint8

// The kinds of entries.
const (
	Empty  Kind = iota // a leader's first entry: it says that a term began
	Event              // an event of the ledger
	Change             // a change of the members
)

// Entry is one entry of the log. Indexes begin at 1 and count every entry; sequences count events only.
type Entry struct {
	Index, Term uint64
	Kind        Kind

	// Of an event: what it is about, the sequence of the event before it on that subject (0 for none), which is the
	// condition it was taken under, and the blobs that it names.
	Subject string
	Last    uint64
	Blobs   []ledger.Hash

	Data []byte // an event as the ledger has it; a change as the library has it; nothing for a leader's first entry
}

// Mark is a place in the log: the entry there, and the last event up to it. The zero Mark is the place before the first entry.
type Mark struct{ Index, Term, Seq uint64 }

// After returns the mark of an entry that follows m.
func (m Mark) After(e Entry) Mark {
	next := Mark{Index: e.Index, Term: e.Term, Seq: m.Seq}
	if e.Kind == Event {
		next.Seq++
	}
	return next
}

// Write is what a member writes as one batch: after a crash all of it is there, or nothing of it. In it come, in this order,
// a base or a cut, entries, and the state.
type Write struct {
	// Base, if not nil, is where the log begins anew: everything before it is given up, as bundles that
	// were taken from the leader hold it. It is written when those are synced.
	Base *Mark

	// Cut, if not nil, is where the log ends from now on: the entries after it are given up, by this record and never
	// by truncating a file. It is never before what is committed.
	Cut *Mark

	Entries []Entry // they follow each other and the log's end, and have one term
	State   State   // never zero: each batch repeats it whole
}

// Kept is what a member finds in its log at a start.
type Kept struct {
	// State is that of the last batch. Before.Index <= State.At.Index.
	State State

	// Before is the place before the first of the entries, and Entries are all after it, up to the log's end.
	Before  Mark
	Entries []Entry

	// Covered is the last event that the archive's bundles hold under a signed checkpoint. Before.Seq <= Covered.
	Covered uint64

	end  Mark // after the last of counted entries
	read int  // how many entries are counted in end
}

// End is the place of the last entry.
func (k *Kept) End() Mark {
	if k.read == 0 {
		k.end = k.Before
	}
	for ; k.read < len(k.Entries); k.read++ {
		k.end = k.end.After(k.Entries[k.read])
	}
	return k.end
}

// endAt makes the entries those up to an index.
func (k *Kept) endAt(index uint64) {
	k.Entries, k.read = k.Entries[:index-k.Before.Index], 0
}

// begin makes the log begin anew.
func (k *Kept) begin(at Mark) { k.Before, k.Entries, k.read = at, nil, 0 }

// Damage is the error for a log that no member wrote: it can't be gone on with.
type Damage struct{ What string }

func (d *Damage) Error() string {
	return "the member's log is damaged: " + d.What + "; this member rejoins under a new id (signalbox cluster rejoin)"
}

func damaged(format string, args ...any) *Damage { return &Damage{What: fmt.Sprintf(format, args...)} }

// Add adds a batch that was read back, and refuses one that can't follow. The first batches read may begin behind a
// head that repeats State and the place before them: these are given in k.
func (k *Kept) Add(w Write) error {
	end := k.End()
	switch {
	case w.Base != nil && w.Base.Index < k.State.Commit:
		return damaged("it begins anew at entry %d, and %d was committed", w.Base.Index, k.State.Commit)
	case w.Base != nil:
		k.begin(*w.Base)
		end = *w.Base
	case w.Cut != nil && w.Cut.Index < k.State.Commit:
		return damaged("it is cut back to entry %d, and %d was committed", w.Cut.Index, k.State.Commit)
	case w.Cut != nil && w.Cut.Index > end.Index:
		return damaged("it is cut back to entry %d and ends at %d", w.Cut.Index, end.Index)
	case w.Cut != nil && w.Cut.Index < k.Before.Index: // what is read begins after the place that it was cut back to
		k.begin(*w.Cut)
		end = *w.Cut
	case w.Cut != nil:
		k.endAt(w.Cut.Index)
		if end = k.End(); end != *w.Cut {
			return damaged("it is cut back to entry %d of term %d after event %d, and has term %d and event %d there", w.Cut.Index, w.Cut.Term, w.Cut.Seq, end.Term, end.Seq)
		}
	}
	for _, e := range w.Entries {
		if e.Index != end.Index+1 || e.Term < end.Term || e.Term == 0 {
			return damaged("entry %d of term %d follows entry %d of term %d", e.Index, e.Term, end.Index, end.Term)
		}
		end = end.After(e)
		k.Entries = append(k.Entries, e)
	}
	if err := w.State.follows(k.State, end); err != nil {
		return err
	}
	k.State = w.State
	return nil
}

// Check says what no log has at a start.
func (k *Kept) Check() error {
	switch {
	case k.State.ID == 0:
		return damaged("it does not say whose it is")
	case k.Before.Index > k.State.At.Index:
		return damaged("it begins after entry %d, and entry %d was the last that is applied", k.Before.Index, k.State.At.Index)
	case k.Before.Seq > k.Covered:
		return damaged("it begins after event %d, and the bundles hold %d events", k.Before.Seq, k.Covered)
	}
	end := k.Before
	for _, e := range k.Entries {
		if e.Index != end.Index+1 || e.Term < end.Term || e.Term == 0 {
			return damaged("entry %d of term %d follows entry %d of term %d", e.Index, e.Term, end.Index, end.Term)
		}
		end = end.After(e)
		if e.Index == k.State.At.Index && end != k.State.At {
			return damaged("entry %d is not the one that was applied", e.Index)
		}
	}
	if k.Covered > max(end.Seq, k.State.Taken) {
		return damaged("the bundles hold %d events, and it ends at event %d", k.Covered, end.Seq)
	}
	return k.State.follows(State{}, end)
}
