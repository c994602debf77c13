package box

import (
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

// EventsOf calls f with the events of a subject after a sequence, up to another one, some at a time. Those of others are not read.
func (b *Box) EventsOf(subject string, after, upto uint64, f func([]engine.Record) error) error {
	seqs, err := b.state.sequences(subject)
	if err != nil {
		return err
	}
	from, _ := slices.BinarySearch(seqs, after+1)
	to, _ := slices.BinarySearch(seqs, upto+1)
	for some := range slices.Chunk(seqs[from:to], 100) {
		records := make([]engine.Record, len(some))
		for i, seq := range some {
			stored, err := b.archive.Event(int64(seq) - 1)
			if err != nil {
				return err
			}
			records[i] = engine.Record{Seq: seq, Subject: subject, Data: stored}
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
