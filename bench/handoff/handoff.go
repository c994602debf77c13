// Package handoff measures the same handoff on different systems: an item of work is in a phase, a
// worker that waits is given it, ends the phase, and the item is ready for the next worker. Both
// steps are durable when they are answered, and each phase of an item ends once.
package handoff

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Phases is how often each item is handed over.
const Phases = 3

// Task is a phase of an item, counted from 1 to [Phases].
type Task struct {
	Item  string
	Phase int
}

// Agent is what a worker does with a task. It is called when the worker has been given the task,
// and returns when the task is to be ended. The task is not ended if it fails.
type Agent func(context.Context, Task) error

// Workers says how many wait, and how much they hold.
type Workers struct {
	Waiting int // at once, for a task
	Held    int // tasks at once, at most; never below Waiting
}

// System is what can be measured.
type System interface {
	Name() string
	// Start starts it with nothing in it, in processes of its own. The error is [Missing] if the
	// machine does not have what it takes.
	Start(ctx context.Context) (Instance, error)
}

// Instance is a system that runs. Its methods may be called at once, except for Stop, which is
// the last.
type Instance interface {
	Version() string
	Settings() string
	// Add makes an item ready for its first phase.
	Add(ctx context.Context, item string) error
	// Work has workers wait for tasks until ctx ends: then it returns nil. Each task goes through the
	// agent; what it ended is durable, and the next phase ready, before ended is called. A system that
	// can't tell is an [Awaiter], and calls it never. Ready is called once, when items may be added.
	// It is not called again before it has returned, and no worker of a call is given a task after it has.
	Work(ctx context.Context, w Workers, agent Agent, ended func(Task), ready func()) error
	// Ended returns how often each item has ended its last phase, by the system's own record.
	Ended(ctx context.Context) (map[string]int, error)
	// Processes returns the ids of the processes that were started. They may have children.
	Processes() []int
	// Stop ends its processes and removes its files.
	Stop() error
}

// Awaiter is an instance that does not tell its workers when what they ended is durable.
type Awaiter interface {
	// Await returns when all of these items have ended.
	Await(ctx context.Context, items []string) error
}

// Missing says what the machine lacks.
type Missing struct{ What string }

func (m Missing) Error() string { return "not run: " + m.What }

// Pull runs workers for a system in which they ask for tasks: as many as Waiting ask at once, and a
// worker that holds a task does not keep another from asking as long as less than Held are held.
// Claim waits for a task; what it returns with it ends the task.
func Pull(ctx context.Context, w Workers, agent Agent, ended func(Task), claim func(context.Context) (Task, func(context.Context) error, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	free := make(chan struct{}, w.Held)
	for range w.Held {
		free <- struct{}{}
	}
	work := func(t Task, end func(context.Context) error) {
		err := agent(ctx, t)
		if err == nil {
			err = end(ctx)
		}
		if err != nil {
			cancel(fmt.Errorf("item %s, phase %d: %w", t.Item, t.Phase, err))
			return
		}
		ended(t)
		free <- struct{}{}
	}
	var workers sync.WaitGroup
	for range w.Waiting {
		workers.Go(func() {
			for {
				select {
				case <-free:
				case <-ctx.Done():
					return
				}
				t, end, err := claim(ctx)
				if err != nil {
					cancel(fmt.Errorf("a worker asked for a task: %w", err))
					return
				}
				if w.Held > w.Waiting {
					workers.Go(func() { work(t, end) })
				} else {
					work(t, end)
				}
			}
		})
	}
	workers.Wait()
	return ignoreEnd(context.Cause(ctx))
}

// ErrEnough is the cause with which a measurement ends the workers' context.
var ErrEnough = errors.New("measured")

// ignoreEnd returns nil for the error with which workers end when they are told to.
func ignoreEnd(err error) error {
	if errors.Is(err, ErrEnough) {
		return nil
	}
	return err
}
