package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/signalbox-dev/signalbox/internal/engine"
)

// Stream is the engine's copy of the events. Event i is the record with the
// sequence i+1. See [engine.Log] for what the methods promise.
type Stream interface {
	Read(ctx context.Context, from uint64, f func(engine.Record) error) error
	Tip(ctx context.Context) (uint64, error)
	Restore(ctx context.Context, records iter.Seq2[engine.Record, error]) error
}

// cursor goes through the stream while something else is being done.
type cursor struct {
	records chan []engine.Record
	ready   []engine.Record
	failed  chan error
	err     error
}

// read begins to read the stream and goes on past holes, so that whoever looks at
// the sequences sees them. It ends with ctx; wait for done before going on.
func read(ctx context.Context, stream Stream) (c *cursor, done <-chan struct{}) {
	c = &cursor{records: make(chan []engine.Record, 4), failed: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(c.records)
		c.failed <- c.fill(ctx, stream)
	}()
	return c, ended
}

func (c *cursor) fill(ctx context.Context, stream Stream) error {
	const size = 512
	var batch []engine.Record
	give := func() error {
		if len(batch) == 0 {
			return nil
		}
		select {
		case c.records <- batch:
			batch = make([]engine.Record, 0, size)
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for from := uint64(1); ; {
		err := stream.Read(ctx, from, func(r engine.Record) error {
			batch = append(batch, r)
			if len(batch) < size {
				return nil
			}
			return give()
		})
		if err := errors.Join(give(), ctx.Err()); err != nil {
			return err
		}
		var gap *engine.GapError
		if !errors.As(err, &gap) || gap.Got <= from {
			return err
		}
		from = gap.Got
	}
}

// peek returns the next record; ok is false at the end, and after an error.
func (c *cursor) peek() (r engine.Record, ok bool) {
	for len(c.ready) == 0 {
		batch, more := <-c.records
		if !more {
			if c.failed != nil {
				c.err, c.failed = <-c.failed, nil
			}
			return engine.Record{}, false
		}
		c.ready = batch
	}
	return c.ready[0], true
}

func (c *cursor) advance() { c.ready = c.ready[1:] }

// subject returns what an event is about. In an event it comes after two numbers,
// so that nothing but the member's own name can be found first.
func subject(stored []byte) ([]byte, error) {
	if _, rest, ok := bytes.Cut(stored, []byte(`"subject":"`)); ok {
		if end := bytes.IndexByte(rest, '"'); end >= 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
			return rest[:end], nil
		}
	}
	var e struct {
		Subject string `json:"subject"`
	}
	if err := json.Unmarshal(stored, &e); err != nil {
		return nil, fmt.Errorf("not an event: %w", err)
	}
	return []byte(e.Subject), nil
}

// records returns events from index from on as records.
func records(from int64, entries func(int64, func(int64, []byte) error) error) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		stopped := errors.New("stopped")
		err := entries(from, func(index int64, stored []byte) error {
			about, err := subject(stored)
			if !yield(engine.Record{Seq: uint64(index) + 1, Subject: string(about), Data: stored}, err) || err != nil {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(engine.Record{}, err)
		}
	}
}
