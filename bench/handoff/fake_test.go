package handoff

import (
	"context"
	"sync"
	"time"
)

// fake is a system in memory that takes endTime to end a task. Faults is what it does wrong.
type fake struct {
	ready  chan Task
	faults faults
	one    chan struct{} // room for one, if tasks are ended one at a time

	mu    sync.Mutex
	ended map[string]int
}

type faults struct {
	again Task   // given to two workers
	twice string // an item that ends twice
	lost  string // an item whose end is not kept
	fails Task   // can't be ended
}

func newFake(f faults) *fake {
	return &fake{ready: make(chan Task, 10_000), faults: f, ended: map[string]int{}}
}

func (*fake) Version() string  { return "1" }
func (*fake) Settings() string { return "in memory" }
func (*fake) Processes() []int { return []int{7} }
func (*fake) Stop() error      { return nil }

func (f *fake) Add(_ context.Context, item string) error {
	f.ready <- Task{item, 1}
	return nil
}

func (f *fake) Work(ctx context.Context, w Workers, agent Agent, ended func(Task), ready func()) error {
	ready()
	return Pull(ctx, w, agent, ended, func(ctx context.Context) (Task, func(context.Context) error, error) {
		select {
		case t := <-f.ready:
			if t == f.faults.again {
				_ = agent(ctx, t) // by another worker, who does not say so
			}
			return t, func(context.Context) error { return f.end(t) }, nil
		case <-ctx.Done():
			return Task{}, nil, context.Cause(ctx)
		}
	})
}

const endTime = 2 * time.Millisecond

func (f *fake) end(t Task) error {
	if f.one != nil {
		f.one <- struct{}{}
		defer func() { <-f.one }()
	}
	time.Sleep(endTime)
	if t == f.faults.fails {
		return errBroken
	}
	if t.Phase < Phases {
		f.ready <- Task{t.Item, t.Phase + 1}
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch t.Item {
	case f.faults.twice:
		f.ended[t.Item] += 2
	case f.faults.lost:
	default:
		f.ended[t.Item]++
	}
	return nil
}

func (f *fake) Ended(context.Context) (map[string]int, error) { return f.ended, nil }

// awaited is a fake whose workers are not told that what they ended is kept.
type awaited struct {
	*fake
	all chan Task

	mu     sync.Mutex
	awaits []int // how many items each call was for
}

func (a *awaited) Work(ctx context.Context, w Workers, agent Agent, _ func(Task), ready func()) error {
	return a.fake.Work(ctx, w, agent, func(t Task) {
		if t.Phase == Phases {
			a.all <- t
		}
	}, ready)
}

func (a *awaited) Await(ctx context.Context, items []string) error {
	a.mu.Lock()
	a.awaits = append(a.awaits, len(items))
	a.mu.Unlock()
	want := map[string]bool{}
	for _, item := range items {
		want[item] = true
	}
	for len(want) > 0 {
		select {
		case t := <-a.all:
			delete(want, t.Item)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
