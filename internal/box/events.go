package box

import (
	"context"

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
