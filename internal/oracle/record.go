package oracle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// Asked is a question as the ledger gets it.
type Asked struct {
	Question, Class, Model string
}

// Signalled is a signal as the ledger gets it.
type Signalled struct {
	Turn   int
	Signal agentsig.Reflection
}

// A Ledger keeps what happened to a question. Its methods are called one at a time, in
// order.
type Ledger interface {
	Asked(context.Context, Asked) error
	Signalled(context.Context, Signalled) error
	Answered(context.Context, Answer) error
}

// recording writes to a ledger beside the question, so that no turn waits for a disk.
type recording struct {
	ledger Ledger
	queue  chan any
	done   sync.WaitGroup
	err    error // the first; read it after done
}

// How long the ledger may take for what is left when a question has ended.
const recordPatience = 30 * time.Second

// record begins to write to a ledger. The writes do not end with the question's context:
// what was said is recorded also if nobody waits for the answer any more.
func record(ctx context.Context, ledger Ledger) *recording {
	r := &recording{ledger: ledger, queue: make(chan any, 64)}
	if ledger == nil {
		return r
	}
	ctx = context.WithoutCancel(ctx)
	r.done.Go(func() {
		for entry := range r.queue {
			if r.err == nil {
				r.err = r.write(ctx, entry)
			}
		}
	})
	return r
}

func (r *recording) write(ctx context.Context, entry any) error {
	ctx, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	switch e := entry.(type) {
	case Asked:
		return r.ledger.Asked(ctx, e)
	case Signalled:
		return r.ledger.Signalled(ctx, e)
	case Answer:
		return r.ledger.Answered(ctx, e)
	}
	return fmt.Errorf("the ledger has no place for a %T", entry)
}

// record has something written: Asked, Signalled or an Answer.
func (q *query) record(entry any) {
	if q.ledger.ledger != nil {
		q.ledger.queue <- entry
	}
}

// close returns when everything is written.
func (r *recording) close() error {
	close(r.queue)
	r.done.Wait()
	return r.err
}
