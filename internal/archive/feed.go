package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/engine"
)

// Feed is what callers read of a log, up to its tip: the part of an [engine.Log] that appends nothing.
type Feed struct {
	archive *Archive

	mu      sync.Mutex
	tip     uint64        // of what is folded
	changed chan struct{} // closed when the tip has risen
	ended   error         // why nothing is read any more
}

// NewFeed returns the feed of a log whose events are all folded.
func NewFeed(a *Archive) *Feed {
	return &Feed{archive: a, tip: uint64(a.Size()), changed: make(chan struct{})}
}

// Rise says that the records up to a sequence are folded.
func (f *Feed) Rise(tip uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tip = tip
	close(f.changed)
	f.changed = make(chan struct{})
}

// End ends every call that waits, and all that come, with an error. It is called once, after the last Rise.
func (f *Feed) End(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = why
	close(f.changed)
}

// usable says why nothing can be read. The caller holds the mutex.
func (f *Feed) usable(ctx context.Context) error {
	if f.ended != nil {
		return f.ended
	}
	return ctx.Err()
}

// Tip returns the last sequence, 0 for none.
func (f *Feed) Tip(ctx context.Context) (uint64, error) {
	tip, _, err := f.look(ctx)
	return tip, err
}

// look returns the tip, and what is closed when it has risen.
func (f *Feed) look(ctx context.Context) (uint64, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tip, f.changed, f.usable(ctx)
}

// Read calls do for every record from a sequence to the tip; see [engine.Log].
func (f *Feed) Read(ctx context.Context, from uint64, do func(engine.Record) error) error {
	if err := engine.CheckFrom(from); err != nil {
		return err
	}
	tip, _, err := f.look(ctx)
	if err != nil || from > tip {
		return err
	}
	return f.archive.Records(ctx, from, tip, do)
}

// errReadEnough ends a walk over the archive.
var errReadEnough = errors.New("enough")

// Watch calls do with every record from a sequence on; see [engine.Log].
func (f *Feed) Watch(ctx context.Context, from uint64, do func([]engine.Record) error) error {
	if err := engine.CheckFrom(from); err != nil {
		return err
	}
	for {
		tip, changed, err := f.look(ctx)
		if err != nil {
			return err
		}
		if from > tip {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		batch, size := make([]engine.Record, 0, min(tip-from+1, engine.MaxBatch)), 0
		err = f.archive.Records(ctx, from, min(tip, from+engine.MaxBatch-1), func(r engine.Record) error {
			if size += len(r.Data); size > engine.MaxBatchBytes && len(batch) > 0 {
				return errReadEnough
			}
			r.Data = bytes.Clone(r.Data) // it lies in a whole bundle, or batch of the log
			batch = append(batch, r)
			return nil
		})
		if err != nil {
			return err
		}
		if err := do(batch); err != nil {
			return err
		}
		from += uint64(len(batch))
	}
}

// Records calls do for the events from one sequence to another, as far as they are there.
func (a *Archive) Records(ctx context.Context, from, to uint64, do func(engine.Record) error) error {
	err := a.Entries(int64(from)-1, func(index int64, stored []byte) error {
		seq := uint64(index) + 1
		if seq > to {
			return errReadEnough
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		about, err := subjectOf(stored)
		if err != nil {
			return fmt.Errorf("event %d: %w", seq, err)
		}
		return do(engine.Record{Seq: seq, Subject: string(about), Data: stored})
	})
	if errors.Is(err, errReadEnough) {
		return nil
	}
	return err
}
