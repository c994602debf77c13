package background_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// A stop returns when all that was begun has returned, and nothing begins after it.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := background.New(t.Context())
		last := make(chan struct{})
		for range 3 {
			g.Go(func(ctx context.Context) {
				<-ctx.Done()
				<-last
			})
		}
		stopped := false
		go func() {
			g.Stop()
			stopped = true
		}()
		synctest.Wait()
		if stopped || g.Context().Err() == nil {
			t.Errorf("stopped: %v, before all had returned; the context: %v", stopped, g.Context().Err())
		}
		close(last)
		synctest.Wait()
		if !stopped {
			t.Error("not stopped, and all have returned")
		}
		g.Go(func(context.Context) { t.Error("begun after the stop") })
		g.Stop()
	})
}

// A group ends with its parent, and by itself; nobody has to wait then.
func TestEnd(t *testing.T) {
	for what, end := range map[string]func(*background.Group, context.CancelFunc){
		"its parent": func(_ *background.Group, parent context.CancelFunc) { parent() },
		"itself":     func(g *background.Group, _ context.CancelFunc) { g.End() },
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			g := background.New(ctx)
			returned := false
			g.Go(func(ctx context.Context) {
				<-ctx.Done()
				returned = true
			})
			end(g, cancel)
			synctest.Wait()
			if !returned || g.Context().Err() == nil {
				t.Errorf("ended by %s, and it goes on", what)
			}
			g.Stop()
		})
	}
}

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestStop", Mutant: mutant.Mutant{Name: "a stop does not wait", File: "background.go", Old: "\tg.running.Wait()\n", New: ""}},
		{By: "TestStop", Mutant: mutant.Mutant{Name: "something begins after the stop", File: "background.go", Old: "if !g.stopped {", New: "if true {"}},
		{By: "TestStop", Mutant: mutant.Mutant{Name: "a stop ends nothing", File: "background.go", Old: "Stop() {\n\tg.cancel()", New: "Stop() {"}},
		{By: "TestEnd", Mutant: mutant.Mutant{Name: "a group outlives its parent", File: "background.go", Old: "context.WithCancel(parent)", New: "context.WithCancel(context.WithoutCancel(parent))"}},
	})
}
