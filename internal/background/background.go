// Package background is how what runs beside its caller is started and stopped, everywhere the same: a [Group] is made by
// its owner, starts functions that end with the group's context, and is stopped once by the same owner, who then knows that
// nothing of it runs any more. What a function has to make durable, it has made durable before it does anything else:
// nothing is left to the stop.
package background

import (
	"context"
	"sync"
)

// Group is what an owner runs in the background.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	stopped bool
	running sync.WaitGroup
}

// New makes a group whose context ends with parent. Whoever makes one stops it.
func New(parent context.Context) *Group {
	g := &Group{}
	g.ctx, g.cancel = context.WithCancel(parent)
	return g
}

// Context ends when the group does.
func (g *Group) Context() context.Context { return g.ctx }

// Go runs f beside its caller, and reports whether it does: not if the group was stopped. f returns soon after its context has
// ended.
func (g *Group) Go(f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stopped {
		g.running.Go(func() { f(g.ctx) })
	}
	return !g.stopped
}

// End ends the group's context, and waits for nothing.
func (g *Group) End() { g.cancel() }

// Stop ends the group's context, lets nothing more begin, and returns when all that was begun has returned. It may be called
// again.
func (g *Group) Stop() {
	g.cancel()
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.running.Wait()
}
