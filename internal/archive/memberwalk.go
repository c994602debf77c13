package archive

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

// holdMemberLog holds a member's log against the events from one index to another, one segment in memory at a time; same
// says, for indexes in rising order, whether an event is the right one. Where the log begins anew, the events
// before it are in bundles only, and in the segments of the single box that the member was. It returns how many events are
// in bundles only from the first one on.
func holdMemberLog(ctx context.Context, fs FS, from, to, sealed int64, same func(index int64, stored []byte) (bool, error)) (single int64, err error) {
	numbers, err := memberNumbers(fs)
	if err != nil {
		return 0, err
	}
	first, err := headOf(fs, numbers[0])
	if err != nil {
		return 0, err
	}
	founded := int64(first.begin(memberlog.Mark{}).Seq)
	_, firsts, err := segmentNames(fs)
	switch {
	case err != nil:
		return 0, err
	case len(firsts) == 0:
		single = founded
	case from < founded:
		if single, err = holdLog(ctx, fs, from, min(to, founded), same); err != nil {
			return 0, err
		}
	default:
		single = firsts[0]
	}
	err = walkMember(ctx, fs, from, sealed, func(name string, index int64, stored []byte) error {
		if index >= to {
			return errEnough
		}
		ok, err := same(index, stored)
		if err == nil && !ok {
			err = damagedMember(name, "its event %d is not the one that was signed", index+1)
		}
		return err
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return single, err
}

// headOf returns the head of a segment, with all of it in memory for as long.
func headOf(fs FS, number uint64) (*record, error) {
	name := memberName(number)
	data, err := fs.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the member's log: %w", err)
	}
	s := readMemberSegment(number, data)
	if len(s.records) == 0 {
		return nil, damagedMember(name, "it is damaged at byte %d", s.fault.at)
	}
	return s.records[0], nil
}

// walkMember calls f for the settled events of a member's log from an index on, with one segment in memory at a time: those
// up to what is committed by the state at the log's end, or by the checkpoint over sealed events. The bytes are not to be
// kept. What is not whole but at the log's end is damage, and so is what does not follow.
func walkMember(ctx context.Context, fs FS, from, sealed int64, f func(name string, index int64, stored []byte) error) error {
	numbers, err := memberNumbers(fs)
	if err != nil || len(numbers) == 0 {
		return err
	}
	at, err := memberSegmentOf(fs, numbers, from)
	if err != nil {
		return err
	}
	w := memberWalk{from: from, f: f}
	for i := at; i < len(numbers); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > at && numbers[i] != numbers[i-1]+1 {
			return damagedMember(memberName(numbers[i]-1), "it is missing")
		}
		data, err := fs.ReadFile(memberName(numbers[i]))
		if err != nil {
			return fmt.Errorf("read the member's log: %w", err)
		}
		s := readMemberSegment(numbers[i], data)
		if err := w.settle(&s, i == len(numbers)-1); err != nil {
			return err
		}
		w.segments = []memberSegment{s}
		if err := w.walk(s); err != nil {
			return err
		}
	}
	return w.emit(w.segments[0].name, func(after memberlog.Mark) bool { return after.Seq <= uint64(sealed) })
}

// memberSegmentOf returns the place of a segment before which an event, as it was settled, is not to be found: what comes
// before it ends before the event.
func memberSegmentOf(fs FS, numbers []uint64, index int64) (int, error) {
	var err error
	n := sort.Search(len(numbers), func(i int) bool {
		head, headErr := headOf(fs, numbers[i])
		if headErr != nil {
			if i < len(numbers)-1 { // the last one may be a write that was never finished
				err = headErr
			}
			return true
		}
		before := head.begin(memberlog.Mark{})
		if head.before != nil {
			before = *head.before
		}
		return before.Seq > uint64(index)
	})
	return max(n-1, 0), err
}

// memberWalk goes through a log, and holds what is not settled yet.
type memberWalk struct {
	memberLog
	from int64
	f    func(name string, index int64, stored []byte) error
}

func (w *memberWalk) walk(s memberSegment) error {
	at := len(memberMagic)
	for i, r := range s.records {
		if err := w.take(r); err != nil {
			return damagedMember(s.name, "at byte %d: %v", at, err)
		}
		if err := w.emit(s.name, func(after memberlog.Mark) bool { return after.Index <= w.kept.State.Commit }); err != nil {
			return err
		}
		at = s.ends[i]
	}
	return nil
}

// emit hands on the entries at the beginning that are settled.
func (w *memberWalk) emit(name string, settled func(after memberlog.Mark) bool) error {
	before, rest := w.kept.Before, w.kept.Entries
	for len(rest) > 0 {
		after := (&record{Write: memberlog.Write{Entries: rest[:1]}}).after(before)
		if !settled(after) {
			break
		}
		e := rest[0]
		before, rest = after, rest[1:]
		if e.Kind == memberlog.Event && int64(after.Seq) > w.from {
			if err := w.f(name, int64(after.Seq)-1, e.Data); err != nil {
				return err
			}
		}
	}
	w.kept = memberlog.Kept{State: w.kept.State, Before: before, Entries: rest}
	return nil
}

// verifyMemberLog does what verifyLog does for a single box.
func (v *Verified) verifyMemberLog(ctx context.Context, fs FS, a *Archive) error {
	l, err := readMemberLog(fs, a.full)
	switch {
	case err != nil:
		return err
	case l.torn:
		return damagedMember(l.segments[len(l.segments)-1].name, "its last batch was never finished")
	}
	next := a.sealed.Size
	err = walkMember(ctx, fs, a.full, a.sealed.Size, func(name string, index int64, stored []byte) error {
		if _, err := ledger.Decode(stored); err != nil {
			return &ledger.VerifyError{Path: name, Event: index, Problem: err}
		}
		next = max(next, index+1)
		return nil
	})
	if err == nil && max(l.end.Seq, l.kept.State.Taken) < uint64(a.sealed.Size) {
		err = damagedMember(logDir, "it ends after event %d, and the checkpoint covers %s", l.end.Seq, english.Count(a.sealed.Size, "event"))
	}
	if err != nil {
		return err
	}
	if v.Single, err = holdMemberLog(ctx, fs, 0, a.sealed.Size, a.sealed.Size, a.tiles().same); err != nil {
		return err
	}
	v.Log, v.Unsealed = true, next-a.sealed.Size
	return nil
}

// verifyCopiedMemberLog does what verifyCopiedLog does for a single box.
func (v *Verified) verifyCopiedMemberLog(ctx context.Context, a *Archive, uncovered *ledger.UncoveredError) (err error) {
	size := v.Checkpoint.Size
	if v.Single, err = holdMemberLog(ctx, a.files, 0, size, size, a.tiles().same); err != nil {
		return err
	}
	return walkMember(ctx, a.files, size, size, func(name string, _ int64, _ []byte) error {
		uncovered.Add(uncoveredEvent, name)
		return nil
	})
}
