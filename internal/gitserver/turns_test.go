package gitserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A machine that never leaves its places keeps nobody else from being served, and what is left free is for whoever comes.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(8)
		begun := map[string]chan func(){"greedy": make(chan func(), 100), "other": make(chan func(), 100)}
		waiting, cancel := context.WithCancel(t.Context())
		ask := func(who string, count int) {
			for range count {
				go func() {
					if leave, err := turns.take(waiting, who); err == nil {
						begun[who] <- leave
					} else if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}()
			}
			synctest.Wait()
		}
		ask("greedy", 20)
		ask("other", 3)
		if g, o := len(begun["greedy"]), len(begun["other"]); g != 6 || o != 2 {
			t.Fatalf("%d of one machine are served and %d of another", g, o)
		}
		(<-begun["greedy"])()
		synctest.Wait()
		if g, o := len(begun["greedy"]), len(begun["other"]); g+o != 8 || g > 6 {
			t.Errorf("when one has left, %d of the one are served and %d of the other", g, o)
		}
		cancel()
		synctest.Wait()
		for _, leaves := range begun {
			for len(leaves) > 0 {
				(<-leaves)()
			}
		}
		if len(turns.own) != 0 || len(turns.all) != 0 {
			t.Errorf("when all have left, %d machines are remembered and %d places taken", len(turns.own), len(turns.all))
		}
		if leave, err := newTurns(1).take(t.Context(), "one"); err != nil {
			t.Error("of one place nobody has any")
		} else {
			leave()
		}
	})
}
