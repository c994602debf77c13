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
	Question, Class, Model   string
	Continues, User, Project string // as the question's [Talk] has them
}

// Signalled is a signal as the ledger gets it.
type Signalled struct {
	Turn   int
	Signal agentsig.Reflection
}

// CallDecided is a decision about a call that changes something, as the ledger gets it before the
// call is made.
type CallDecided struct {
	Call, Turn              int // Call counts the decisions of a question, from 1
	Tool, Server, Arguments string
	Decision
}

// CallEnded is what came of a call that was allowed, as the ledger gets it.
type CallEnded struct {
	Call            int
	Failed, Unknown bool // Unknown: it may have been carried out
	Bytes           int  // of its result
}

// A Ledger keeps what happened to a question. Its methods are called one at a time, in
// order.
type Ledger interface {
	Asked(context.Context, Asked) error
	Signalled(context.Context, Signalled) error
	CallDecided(context.Context, CallDecided) error
	CallEnded(context.Context, CallEnded) error
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
			} else if e, ok := entry.(awaitedEntry); ok {
				e.written <- r.err
			}
		}
	})
	return r
}

func (r *recording) write(ctx context.Context, entry any) error {
	ctx, cancel := context.WithTimeout(ctx, recordPatience)
	defer cancel()
	switch e := entry.(type) {
	case awaitedEntry:
		err := r.write(ctx, e.entry)
		e.written <- err
		return err
	case Asked:
		return r.ledger.Asked(ctx, e)
	case Signalled:
		return r.ledger.Signalled(ctx, e)
	case CallDecided:
		return r.ledger.CallDecided(ctx, e)
	case CallEnded:
		return r.ledger.CallEnded(ctx, e)
	case Answer:
		return r.ledger.Answered(ctx, e)
	}
	return fmt.Errorf("the ledger has no place for a %T", entry)
}

// awaitedEntry is something that is waited for until it is written.
type awaitedEntry struct {
	entry   any
	written chan error // has room for one
}

// recordNow has something written, and returns when it is. Without a ledger there is nothing to
// wait for.
func (q *query) recordNow(entry any) error {
	if q.ledger.ledger == nil {
		return nil
	}
	written := make(chan error, 1)
	q.record(awaitedEntry{entry, written})
	return <-written
}

// record has something written, in the order of the calls: what a Ledger keeps.
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
