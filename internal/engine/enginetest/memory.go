// Package enginetest helps to test what stands on the engine: a log in memory
// that fails on command, and the suite that every log has to pass.
package enginetest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/engine"
)

// Fault is what happens to an append.
type Fault int

// The faults of an append that would otherwise be decided by its subject alone.
const (
	None          Fault = iota
	Conflict            // refused, as if someone had been first
	NotReady            // refused, to be tried again
	UnknownStored       // decided as usual, but the answer is lost
	UnknownLost         // lost before it is decided
	UnknownLate         // decided just before the append that follows, after the answer was given up
)

// Memory is a log in memory. The zero value is empty and ready to use.
type Memory struct {
	// Faults says what happens to the n-th append, from 1. Nil means no faults.
	Faults func(n int, subject string) Fault

	// BeforeDelivery is called before Watch hands over a batch, and may hold it
	// back. It returns at the latest when ctx ends. Nil holds back nothing.
	BeforeDelivery func(ctx context.Context, batch []engine.Record)

	mu      sync.Mutex
	records []engine.Record
	last    map[string]uint64
	appends int
	late    []engine.Record // Seq is the expected last sequence
	closed  bool
	changed chan struct{} // closed when there is more, or the end
}

var _ engine.Log = (*Memory)(nil)

// RandomFaults returns faults that hit one append in oneIn, always the same for a
// seed.
func RandomFaults(seed uint64, oneIn int) func(n int, subject string) Fault {
	return func(n int, _ string) Fault {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		if r.IntN(oneIn) != 0 {
			return None
		}
		return Conflict + Fault(r.IntN(int(UnknownLate)))
	}
}

// Append implements [engine.Log], with faults.
func (m *Memory) Append(ctx context.Context, subject string, last uint64, data []byte) (uint64, error) {
	if err := engine.CheckRecord(subject, data); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	for _, r := range m.late {
		_, _ = m.store(r.Subject, r.Seq, r.Data) // nobody waits for the answer
	}
	m.late = nil
	m.appends++
	fault := None
	if m.Faults != nil {
		fault = m.Faults(m.appends, subject)
	}
	switch fault {
	case None:
		return m.store(subject, last, data)
	case Conflict:
		return 0, engine.ErrConflict
	case NotReady:
		return 0, engine.ErrNotReady
	case UnknownStored:
		_, _ = m.store(subject, last, data)
	case UnknownLate:
		m.late = append(m.late, engine.Record{Seq: last, Subject: subject, Data: bytes.Clone(data)})
	case UnknownLost:
	default:
		panic(fmt.Sprintf("enginetest: there is no fault %d", fault))
	}
	return 0, engine.ErrUnknown
}

func (m *Memory) store(subject string, last uint64, data []byte) (uint64, error) {
	if m.last[subject] != last {
		return 0, engine.ErrConflict
	}
	if m.last == nil {
		m.last = map[string]uint64{}
	}
	seq := uint64(len(m.records)) + 1
	m.records = append(m.records, engine.Record{Seq: seq, Subject: subject, Data: bytes.Clone(data)})
	m.last[subject] = seq
	m.wake()
	return seq, nil
}

// Read implements [engine.Log].
func (m *Memory) Read(ctx context.Context, from uint64, f func(engine.Record) error) error {
	if err := engine.CheckFrom(from); err != nil {
		return err
	}
	there, _, err := m.look(ctx, from)
	if err != nil {
		return err
	}
	for _, r := range there {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// Watch implements [engine.Log].
func (m *Memory) Watch(ctx context.Context, from uint64, f func([]engine.Record) error) error {
	if err := engine.CheckFrom(from); err != nil {
		return err
	}
	for {
		there, changed, err := m.look(ctx, from)
		if err != nil {
			return err
		}
		if len(there) == 0 {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		batch := slices.Clone(there[:min(len(there), engine.MaxBatch)])
		if m.BeforeDelivery != nil {
			m.BeforeDelivery(ctx, batch)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := f(batch); err != nil {
			return err
		}
		from += uint64(len(batch))
	}
}

// Tip implements [engine.Log].
func (m *Memory) Tip(ctx context.Context) (uint64, error) {
	there, _, err := m.look(ctx, 1)
	return uint64(len(there)), err
}

// Restore implements [engine.Log].
func (m *Memory) Restore(ctx context.Context, records iter.Seq2[engine.Record, error]) error {
	tip, err := m.Tip(ctx)
	if err != nil {
		return err
	}
	for r, err := range records {
		if err != nil {
			return err
		}
		if r.Seq != tip+1 {
			return &engine.GapError{Want: tip + 1, Got: r.Seq}
		}
		if err := m.restore(ctx, r); err != nil {
			return fmt.Errorf("record %d: %w", r.Seq, err)
		}
		tip++
	}
	return nil
}

func (m *Memory) restore(ctx context.Context, r engine.Record) error {
	if err := engine.CheckRecord(r.Subject, r.Data); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return err
	}
	if uint64(len(m.records)) != r.Seq-1 {
		return engine.ErrConflict
	}
	_, err := m.store(r.Subject, m.last[r.Subject], r.Data)
	return err
}

// Close implements [engine.Log].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.wake()
	return nil
}

// look returns the records from a sequence on, and what is closed when there are
// more.
func (m *Memory) look(ctx context.Context, from uint64) ([]engine.Record, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, nil, err
	}
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	n := uint64(len(m.records))
	return m.records[min(from-1, n):n:n], m.changed, nil
}

func (m *Memory) usable(ctx context.Context) error {
	if m.closed {
		return engine.ErrClosed
	}
	return ctx.Err()
}

func (m *Memory) wake() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}
