package command

import (
	"context"
	"os"
	"os/signal"
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

// WithSignals returns a context that ends with the first of these signals; a second one ends the program as it is. After hold,
// and until it is released, an interrupt is for another program on the terminal, and ends nothing here.
func WithSignals(ctx context.Context, signals ...os.Signal) (_ context.Context, hold func() (release func()), stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	got := make(chan os.Signal, 1+len(signals)) // one that is held must not keep another out
	signal.Notify(got, signals...)
	var held atomic.Int32
	go func() {
		defer cancel()
		defer signal.Stop(got)
		for {
			select {
			case s := <-got:
				if s != os.Interrupt || held.Load() == 0 {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() func() {
		held.Add(1)
		return func() { held.Add(-1) }
	}, cancel
}
