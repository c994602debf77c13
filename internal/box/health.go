package box

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// errCannotWrite says that the box's log failed: nothing is recorded any more, and the box stops.
var errCannotWrite = errors.New("the box can't write, and stops")

// failedListen is for how long a box that failed goes on answering before it stops, so that whoever
// asks /readyz or for its status is told why.
const failedListen = 2 * time.Second

// writable returns nil while the box records what it is asked to, and otherwise why it does not.
func (b *Box) writable() error {
	b.failure.Lock()
	defer b.failure.Unlock()
	switch {
	case b.failure.err != nil:
		return fmt.Errorf("%w: %w", errCannotWrite, b.failure.err)
	case b.ctx.Err() != nil:
		return ErrStopping
	}
	return nil
}

// tellFailure waits while a box that failed is asked how it is; no longer than ctx.
func (b *Box) tellFailure(ctx context.Context) {
	if !errors.Is(b.writable(), errCannotWrite) {
		return
	}
	select {
	case <-time.After(failedListen):
	case <-ctx.Done():
	}
}

// ready answers whether the box takes requests.
func (b *Box) ready(w http.ResponseWriter, _ *http.Request) {
	if err := b.writable(); err != nil {
		problem(w, err)
		return
	}
	fmt.Fprintln(w, "ok")
}

// Status says how the box is.
func (b *Box) Status() api.Status {
	items, leases, waiting := b.state.counts()
	s := api.Status{
		Version: b.version, Events: b.state.upTo(), Items: items, Leases: leases, Waiting: waiting,
		Exit: b.exitEnabled, Verifier: b.keys.Verifier,
	}
	s.Ledger.Events = s.Events
	s.Ledger.Scrubbed, s.Ledger.ScrubbedSince = b.scrubbed()
	err := b.writable()
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
