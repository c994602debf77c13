package archive

import (
	"errors"
	"fmt"
	"math"

	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
)

// Journal is the log of a cluster's member: what it keeps of entries, votes and members. [OpenMember] opens it with its
// archive, whose Start makes it ready to be written. Its files lie where those of a single box's log do, and have
// names of their own, by a running number. They stay when what they hold is in bundles.
//
// Nothing is ever changed in them. Entries that are void are cut off by a record; a write that a power cut tore is the
// last one, and is cut off at a start, and nowhere else. What else is broken is [Damage], and can't be made again: bundles
// have no terms, votes and members. What can't be told from a write that was never finished is an end that
// was cut off later; that is what the others are asked for before a member says anything.
type Journal struct {
	files  *store
	found  *memberLog // by the start, until it is taken
	file   File       // the last segment; nil before the start and after the end
	bytes  int        // its size
	number uint64     // its number
	end    memberlog.Mark
	state  memberlog.State
}

// ID returns which member's log it is, before what it held is taken.
func (j *Journal) ID() uint64 { return j.found.kept.State.ID }

// Kept returns what the log held when it was opened. It can be taken once.
func (j *Journal) Kept() memberlog.Kept {
	kept := j.found.kept
	j.found = nil
	return kept
}

// End returns the place of the last entry that was written.
func (j *Journal) End() memberlog.Mark { return j.end }

// Write writes what a member has to keep, in order, and returns when all of it is durable: with one sync, unless there is very much.
// After a crash a beginning is there. A base is written by [Archive.Rebase]. After an error nothing can be written
// any more.
func (j *Journal) Write(writes []memberlog.Write) error {
	if err := j.usable(); err != nil {
		return err
	}
	if err := j.write(writes); err != nil {
		return j.files.fail(fmt.Errorf("write the member's log: %w", err))
	}
	return nil
}

func (j *Journal) usable() error {
	if j.file == nil {
		return ErrNotStarted
	}
	return j.files.usable()
}

func (j *Journal) write(writes []memberlog.Write) error {
	var records []*record
	end, entries := j.end, 0
	for _, w := range writes {
		r := &record{Write: w}
		r.seq = r.begin(end).Seq
		if err := j.follows(r, end); err != nil {
			return err
		}
		if entries += len(w.Entries); entries > mostEntries && len(records) > 0 {
			if err := j.flush(records); err != nil {
				return err
			}
			records, entries = nil, len(w.Entries)
		}
		records = append(records, r)
		end = r.after(end)
	}
	return j.flush(records)
}

// follows refuses a batch that no start would read back.
func (j *Journal) follows(r *record, end memberlog.Mark) error {
	if r.Base != nil {
		return errors.New("a base comes with its checkpoint")
	}
	if cut := r.Cut; cut != nil && (cut.Index < j.state.Commit || cut.Index > end.Index) {
		return damagedMember(memberName(j.number), "the log is to be cut back to entry %d, and ends with entry %d, of which %d are committed", cut.Index, end.Index, j.state.Commit)
	}
	if len(r.Entries) > mostEntries {
		return fmt.Errorf("at most %d entries are written at once, not %d", mostEntries, len(r.Entries))
	}
	at := r.begin(end)
	for _, e := range r.Entries {
		if at.Index++; e.Index != at.Index || e.Term != r.Entries[0].Term {
			return fmt.Errorf("entry %d of term %d comes where entry %d of term %d should be", e.Index, e.Term, at.Index, r.Entries[0].Term)
		}
		if err := readsBack(e); err != nil {
			return fmt.Errorf("entry %d: %w", e.Index, err)
		}
	}
	return nil
}

// readsBack refuses an entry that a member has sent and no start would read back. Others have it too: a log that held it could be fetched from nobody.
func readsBack(e memberlog.Entry) error {
	if max(e.Index, e.Term, e.Last) > math.MaxInt64 {
		return errors.New("its numbers are those of no log")
	}
	if e.Kind != memberlog.Event {
		return nil
	}
	about, err := subjectOf(e.Data)
	if err == nil && string(about) != e.Subject {
		err = fmt.Errorf("its subject is %q, and its event's %q", e.Subject, about)
	}
	return err
}

// flush writes records as one batch, to another segment if the last one is large.
func (j *Journal) flush(records []*record) error {
	if len(records) == 0 {
		return nil
	}
	data, err := appendRecords(nil, records...)
	if err == nil && j.bytes > segmentLimit {
		err = j.roll()
	}
	if err != nil {
		return err
	}
	for _, r := range records {
		j.end, j.state = r.after(j.end), r.State
	}
	j.bytes += len(data)
	return writeSync(j.file, data)
}

// roll goes on in another segment, whose head repeats what a start needs to know of those before it. The one before it is
// durable to its end.
func (j *Journal) roll() error {
	before := j.end
	data, err := appendRecords([]byte(memberMagic), &record{segment: j.number + 1, before: &before, Write: memberlog.Write{State: j.state}})
	if err != nil {
		return err
	}
	next, err := j.files.Create(memberName(j.number + 1))
	if err != nil {
		return err
	}
	last := j.file
	j.file, j.bytes = next, len(data)
	j.number++
	return errors.Join(last.Stands(), last.Close(), writeSync(next, data), j.files.syncDir(logDir))
}

// rebase begins the log anew, in a segment that is there as a whole or not at all.
func (j *Journal) rebase(w memberlog.Write, checkpoint []byte) error {
	if err := j.usable(); err != nil {
		return err
	}
	if w.Base.Index < j.state.Commit {
		return damagedMember(memberName(j.number), "the log is to begin anew after entry %d, and entry %d is committed", w.Base.Index, j.state.Commit)
	}
	size, err := writeBase(j.files, j.number+1, w, checkpoint)
	if err != nil {
		return j.files.fail(err)
	}
	last := j.file
	j.number, j.bytes, j.state = j.number+1, size, w.State
	j.end = (&record{Write: w}).after(j.end)
	j.file, err = j.files.Extend(memberName(j.number))
	return errors.Join(err, last.Close())
}

// writeBase writes a segment with which a log begins, and returns its size.
func writeBase(files *store, number uint64, w memberlog.Write, checkpoint []byte) (int, error) {
	data, err := appendRecords([]byte(memberMagic), &record{segment: number, checkpoint: checkpoint, Write: w, seq: w.Base.Seq})
	if err != nil {
		return 0, err
	}
	return len(data), files.write(memberName(number), data)
}

// secure makes the log's end durable, and opens it to be written. Its bytes may be in the machine's memory only, and
// a sync of the old file proves nothing: one may have failed before. The segments before the last one were durable
// before it was begun.
func (j *Journal) secure() error {
	l := j.found
	last := l.segments[len(l.segments)-1]
	if len(last.records) == 0 { // its head was never finished
		before := l.end
		data, err := appendRecords([]byte(memberMagic), &record{segment: last.number, before: &before, Write: memberlog.Write{State: l.kept.State}})
		if err != nil {
			return err
		}
		last.data = data
	}
	if err := j.files.write(last.name, last.data); err != nil {
		return err
	}
	l.segments = nil
	j.number, j.bytes, j.end, j.state = last.number, len(last.data), l.end, l.kept.State
	var err error
	j.file, err = j.files.Extend(last.name)
	return err
}

// leave says that the log is a single box's again. Nothing is written after that.
func (j *Journal) leave() error {
	state := j.state
	state.Commit = j.end.Index
	err := j.flush([]*record{{Write: memberlog.Write{State: state}, single: true}})
	if err == nil {
		err = ErrClosed
	}
	if failed := j.files.fail(err); !errors.Is(failed, ErrClosed) {
		return failed
	}
	return nil
}

func (j *Journal) close() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}
