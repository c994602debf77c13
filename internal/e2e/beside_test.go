//go:build linux || darwin

package e2e_test

import (
	"context"
	"strings"
	"sync"
	"testing"
)

// A delivery starts, and every question is answered, while others ask in a loop and no box runs.
func TestRunBesideStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	if r := w.signalbox("run", "the first"); r.code != 0 {
		t.Fatalf("the first run: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 3 {
		asking.Go(func() {
			for ctx.Err() == nil {
				if out, err := w.command(context.WithoutCancel(ctx), "status").CombinedOutput(); err != nil {
					t.Errorf("status: %v\n%s", err, out)
				}
			}
		})
	}
	defer asking.Wait()
	defer cancel()
	for n := range 2 {
		plan := strings.Repeat("again ", n+1) + "and again"
		// Two at once: one is the box, the other asks it; or each is it in turn.
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if out, err := w.command(t.Context(), "run", plan).CombinedOutput(); err != nil {
					t.Errorf("run %d: %v\n%s", n, err, out)
				}
			})
		}
		both.Wait()
	}
}
