package command

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"

	"golang.org/x/term"
)

// Keys has the terminal that In is send each key as it is pressed, and show none of them, until restore is called. Ctrl-C and
// Ctrl-Z are keys then.
func (e Env) Keys() (restore func(), err error) {
	fd := int(os.Stdin.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(fd, before) }, nil // a terminal that is gone needs nothing
}

// Signals is what a program can ask of those that end it.
type Signals struct {
	// Hold has interrupts be another program's, until release is called.
	Hold func() (release func())
	// Catch has the next interrupt do something in place of ending the program, until release is called.
	Catch func(do func()) (release func())
	// Guard has no second signal end the program, until release is called: the terminal is given back first.
	Guard func() (release func())
}

// noSignals is for a program that none of them reaches.
var noSignals = Signals{
	Hold: func() func() { return func() {} }, Catch: func(func()) func() { return func() {} }, Guard: func() func() { return func() {} },
}

// WithSignals returns a context that ends with the first of these signals; a second one ends the program as it is.
func WithSignals(ctx context.Context, signals ...os.Signal) (_ context.Context, ask Signals, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	got := make(chan os.Signal, 1+len(signals)) // one that is held must not keep another out
	signal.Notify(got, signals...)
	var held atomic.Int32
	var caught atomic.Pointer[func()]
	var g guards
	go func() {
		defer g.open(func() { signal.Stop(got) })
		defer cancel()
		for {
			select {
			case s := <-got:
				if s != os.Interrupt {
					return
				}
				if do := caught.Swap(nil); do != nil {
					(*do)()
				} else if held.Load() == 0 {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	hold := func() func() {
		held.Add(1)
		return func() { held.Add(-1) }
	}
	catch := func(do func()) func() {
		caught.Store(&do)
		return func() { caught.CompareAndSwap(&do, nil) }
	}
	return ctx, Signals{hold, catch, g.take}, cancel
}

// guards put something off until nobody guards it.
type guards struct {
	mu    sync.Mutex
	taken int
	then  func()
}

func (g *guards) take() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.taken--; g.taken == 0 && g.then != nil {
			g.then()
		}
	}
}

func (g *guards) open(then func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.then = then; g.taken == 0 {
		then()
	}
}
