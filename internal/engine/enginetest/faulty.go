package enginetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
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

// Faulty is a log whose appends fail on command, as those of a log that several boxes share can.
type Faulty struct {
	engine.Log

	// Faults says what happens to the n-th append, from 1.
	Faults func(n int, subject string) Fault

	mu      sync.Mutex
	appends int
	late    []engine.Record // Seq is the expected last sequence
}

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
func (f *Faulty) Append(ctx context.Context, subject string, last uint64, data []byte) (uint64, error) {
	fault, late := f.next(subject)
	for _, r := range late {
		_, _ = f.Log.Append(ctx, r.Subject, r.Seq, r.Data) // nobody waits for the answer
	}
	switch fault {
	case None:
		return f.Log.Append(ctx, subject, last, data)
	case Conflict:
		return 0, engine.ErrConflict
	case NotReady:
		return 0, engine.ErrNotReady
	case UnknownStored:
		_, _ = f.Log.Append(ctx, subject, last, data)
	case UnknownLate:
		f.mu.Lock()
		f.late = append(f.late, engine.Record{Seq: last, Subject: subject, Data: bytes.Clone(data)})
		f.mu.Unlock()
	case UnknownLost:
	default:
		panic(fmt.Sprintf("enginetest: there is no fault %d", fault))
	}
	return 0, engine.ErrUnknown
}

// next returns what happens to the next append, and what is appended before it.
func (f *Faulty) next(subject string) (Fault, []engine.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	late := f.late
	f.late = nil
	f.appends++
	return f.Faults(f.appends, subject), late
}
