package box

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// ErrCannotWrite says that the box's log failed: nothing is recorded any more, and the box stops.
var ErrCannotWrite = errors.New("the box can't write, and stops")

// Writable returns nil while the box records what it is asked to, and otherwise why it does not.
func (b *Box) Writable() error {
	b.failure.Lock()
	defer b.failure.Unlock()
	switch {
	case b.failure.err != nil:
		return fmt.Errorf("%w: %w", ErrCannotWrite, b.failure.err)
	case b.group.Context().Err() != nil:
		return ErrStopping
	}
	return nil
}

// cutOff says of a request that the end of the box has cut off that the box stops, and why if it failed.
func (b *Box) cutOff(err error) error {
	if b.group.Context().Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	b.failure.Lock()
	defer b.failure.Unlock()
	if b.failure.err != nil {
		return fmt.Errorf("%w (it can't write: %w)", ErrStopping, b.failure.err)
	}
	return ErrStopping
}

// Status says how the box is.
func (b *Box) Status() api.Status {
	items, leases, waiting := b.state.counts()
	s := api.Status{
		Version: b.version, Events: b.state.upTo(), Items: items, Leases: leases, Waiting: waiting,
		Exit: b.exitEnabled, Verifier: b.keys.Verifier, Settings: b.settings,
	}
	if b.checks {
		s.ToCheck = b.state.toCheck()
	}
	s.Ledger.Events, s.Ledger.Signed = s.Events, uint64(b.archive.Sealed())
	s.Ledger.Scrubbed, s.Ledger.ScrubbedSince = b.scrubbed()
	err := b.Writable()
	if s.Box.Writable = err == nil; err != nil {
		s.Box.Reason = err.Error()
	}
	return s
}

// scrubbed returns how many events were verified since the latest round began, and when that was.
func (b *Box) scrubbed() (events uint64, since time.Time) {
	at := b.scrub.now()
	if at.Next == 0 {
		return uint64(at.Events), at.Begun
	}
	return uint64(at.Next), at.Begun
}
