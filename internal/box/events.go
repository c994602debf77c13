package box

import (
	"cmp"
	"context"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/engine"
)

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
