package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/ledger"
)

// errNoEvent is returned for an event that there is not.
var errNoEvent = errors.New("there is no event")

// UpTo returns the sequence of the last event.
func (b *Box) UpTo() uint64 { return b.state.upTo() }

// SubjectNamed returns the subject of the item, the conversation or the run with this name.
func (b *Box) SubjectNamed(id string) (string, error) { return b.state.subjectNamed(id) }

// NameOf returns how people call a subject.
func (b *Box) NameOf(subject string) string { return b.state.nameOf(subject) }

// Watch calls f with the events from a sequence on, and with those that come, some at a time. It ends when f
// returns an error, ctx ends or the box stops.
func (b *Box) Watch(ctx context.Context, from uint64, f func([]engine.Record) error) error {
	return b.log.Watch(ctx, from, f)
}

// WhenRecorded has f called with every event that is recorded from now on, in their order, when it is durable and folded, and before
// who recorded it knows. The box has read the event anyway, so this costs less than [Box.Watch]; but all that is recorded waits for f,
// which therefore takes no time and asks nothing of the box. There is one such f at most.
func (b *Box) WhenRecorded(f func(ledger.Event)) { b.recorded.Store(&f) }

// SubjectsOfRun returns the subject of a run, and those of its tasks.
func (b *Box) SubjectsOfRun(id string) ([]string, error) {
	subject, err := b.state.runNamed(id)
	if err == nil {
		err = b.state.bring(subject)
	}
	if err != nil {
		return nil, err
	}
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	r := b.state.runs[subject]
	if r == nil {
		return nil, errNoRun // it has just left
	}
	return append(subjectsOf(r), subject), nil
}

// EventsOf calls f with the events of subjects after a sequence, up to another one, some at a time. Those of others are not read.
func (b *Box) EventsOf(subjects []string, after, upto uint64, f func([]engine.Record) error) error {
	type place struct {
		seq     uint64
		subject string
	}
	var all []place
	for _, subject := range subjects {
		seqs, err := b.state.sequences(subject)
		if err != nil {
			return err
		}
		from, _ := slices.BinarySearch(seqs, after+1)
		to, _ := slices.BinarySearch(seqs, upto+1)
		for _, seq := range seqs[from:max(from, to)] {
			all = append(all, place{seq, subject})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.seq, b.seq) })
	for some := range slices.Chunk(all, 100) {
		records := make([]engine.Record, len(some))
		for i, at := range some {
			stored, err := b.archive.Event(int64(at.seq) - 1)
			if err != nil {
				return err
			}
			records[i] = engine.Record{Seq: at.seq, Subject: at.subject, Data: stored}
		}
		if err := f(records); err != nil {
			return err
		}
	}
	return nil
}

// EventsBefore returns the last events of subjects, or of all if there are none, before a sequence: so many at most, the latest first.
// It reports whether there are more.
func (b *Box) EventsBefore(subjects []string, before uint64, limit int) (last []engine.Record, more bool, err error) {
	before = min(before, b.UpTo()+1)
	var seqs []uint64 // the latest last
	if len(subjects) == 0 {
		for seq := before - min(before, uint64(limit)+1); seq < before; seq++ {
			seqs = append(seqs, seq)
		}
		seqs = slices.DeleteFunc(seqs, func(seq uint64) bool { return seq == 0 })
	}
	for _, subject := range subjects {
		own, err := b.state.sequences(subject)
		if err != nil {
			return nil, false, err
		}
		to, _ := slices.BinarySearch(own, before)
		seqs = append(seqs, own[max(0, to-limit-1):to]...)
	}
	slices.Sort(seqs)
	more = len(seqs) > limit
	for _, seq := range slices.Backward(seqs[max(0, len(seqs)-limit):]) {
		stored, err := b.archive.Event(int64(seq) - 1)
		if err != nil {
			return nil, false, err
		}
		e, err := ledger.Decode(stored)
		if err != nil {
			return nil, false, err
		}
		last = append(last, engine.Record{Seq: seq, Subject: e.Subject, Data: stored})
	}
	return last, more, nil
}

// Prove proves that an event is in the ledger as the latest checkpoint has it.
func (b *Box) Prove(seq uint64) (ledger.Proof, error) {
	if seq == 0 || seq > b.UpTo() {
		return ledger.Proof{}, fmt.Errorf("%w %d", errNoEvent, seq)
	}
	return b.archive.Prove(int64(seq) - 1)
}

// sequences returns those of a subject's events.
func (s *state) sequences(subject string) ([]uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.trails[subject]; t != nil {
		return slices.Clone(t.Seqs), nil
	}
	if s.past == nil {
		return nil, nil
	}
	r, _, err := s.past.index.Get(subject)
	if err != nil {
		return nil, s.past.trouble(err)
	}
	return r.Seqs, nil
}
