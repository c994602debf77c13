package boxtools

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/mcpserver"

	"github.com/signalbox-dev/signalbox/agentformat"
)

// watched is a host and a box with one run, which the test moves on.
type watched struct {
	Host
	Box
	run     api.Run
	moves   chan api.Run
	stopped bool
	asked   int // how often somebody followed the run
}

func (w *watched) With(_ context.Context, _ bool, do func(Box) error) error { return do(w) }
func (w *watched) Running() bool                                            { return !w.stopped }
func (w *watched) Replies() string                                          { return "" }

func (w *watched) Run(context.Context, string) (api.Run, error) { return w.run, nil }

func (w *watched) FollowRun(ctx context.Context, _ string, see func(api.Run) error) error {
	w.asked++
	for {
		if err := see(w.run); err != nil {
			return err
		}
		if w.run.State == api.RunFinished {
			return nil
		}
		select {
		case w.run = <-w.moves:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// goesOn is a run that needs nobody.
func goesOn() api.Run {
	return api.Run{ID: "R1", State: api.RunRunning, Branch: "b", Sequence: 10, Checks: 1, StartedAt: time.Now(), Tasks: []api.Task{{
		ID: "T-1", Work: "R1.T-1", Title: "t", Phase: agentsig.PhaseImplementation, Since: time.Now(), Protection: "held",
		Agent: &api.Agent{Session: "S", Role: agentsig.RoleDeveloper, Name: "a", Task: "T-1", StartedAt: time.Now()},
	}}}
}

func asking(r api.Run, id string) api.Run {
	r.Questions = append(r.Questions[:len(r.Questions):len(r.Questions)], api.Question{ID: id, Kind: api.KindQuestion, Run: "R1", Text: "?", AskedAt: time.Now()})
	r.Sequence++
	return r
}

func newWatched(r api.Run) (*watched, *tools) {
	w := &watched{run: r, moves: make(chan api.Run)}
	return w, &tools{host: w, scopes: []access.Scope{access.Operate}, told: map[string][]told{}}
}

// waited calls wait_run, and returns the reply and how long it took.
func waited(ctx context.Context, t *testing.T, on *tools, arguments string) (agentformat.Response[agentreply.RunSnapshot], time.Duration, error) {
	t.Helper()
	for _, d := range definitions() {
		if d.tool.Name != "wait_run" {
			continue
		}
		a := mcpserver.ReadArguments(json.RawMessage(arguments), d.tool.Input)
		run := d.read(on, a)
		if err := a.Problem(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		result, err := run(ctx)
		if err != nil {
			return agentformat.Response[agentreply.RunSnapshot]{}, time.Since(began), err
		}
		return result.Body.(agentformat.Response[agentreply.RunSnapshot]), time.Since(began), nil
	}
	t.Fatal("there is no wait_run")
	panic("unreachable")
}

func mustWait(t *testing.T, on *tools, arguments string, least, most time.Duration) agentformat.Response[agentreply.RunSnapshot] {
	t.Helper()
	r, took, err := waited(t.Context(), t, on, arguments)
	if err != nil || took < least || took > most {
		t.Errorf("%s was answered after %v, want %v to %v: %v", arguments, took, least, most, err)
	}
	return r
}

// While nothing happens, a call in a loop is answered every 50 seconds, and not before 40, whatever it gives as since.
func TestWaitHoldsOpen(t *testing.T) {
	for name, r := range map[string]func() api.Run{
		"undisturbed":      goesOn,
		"with a question":  func() api.Run { return asking(goesOn(), "R1-Q1") },
		"paused":           func() api.Run { r := goesOn(); r.State = api.RunPaused; return r },
		"waits for people": func() api.Run { r := asking(goesOn(), "R1-Q1"); r.State = api.RunWaiting; return r },
		"not protected":    func() api.Run { r := goesOn(); r.Unprotected = []string{"x"}; return r },
	} {
		for _, since := range []string{"", "last"} {
			t.Run(name+" since "+since, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, on := newWatched(r())
					on.remember(w.run) // it was told by get_run or start_run
					for range 5 {
						arguments := `{"run":"R1"}`
						if since != "" {
							data, err := json.Marshal(map[string]any{"since": w.run.Sequence})
							if err != nil {
								t.Fatal(err)
							}
							arguments = string(data)
						}
						mustWait(t, on, arguments, 40*time.Second, 50*time.Second)
					}
					if w.asked != 5 {
						t.Errorf("the box was asked %d times", w.asked)
					}
				})
			})
		}
	}
}

// What goes on without the caller does not wake it, also between two of its calls.
func TestWaitIsNotWokenByWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, on := newWatched(asking(goesOn(), "R1-Q1"))
		first := mustWait(t, on, `{}`, 0, 0)
		if first.Snapshot.Sequence != 11 {
			t.Errorf("%+v", first)
		}
		w.run.Sequence++ // before it calls again
		next := w.run
		go func() {
			for range 20 {
				time.Sleep(2 * time.Second)
				next.Sequence++
				w.moves <- next
			}
		}()
		r := mustWait(t, on, `{"since":11}`, 50*time.Second, 50*time.Second)
		if r.Snapshot.Sequence != 32 {
			t.Errorf("the reply is of event %d", r.Snapshot.Sequence)
		}
	})
}

// What needs the caller wakes it at once, and once.
func TestWaitIsWoken(t *testing.T) {
	for name, move := range map[string]func(api.Run) api.Run{
		"a question": func(r api.Run) api.Run { return asking(r, "R1-Q2") },
		"a review": func(r api.Run) api.Run {
			r = asking(r, "R1.T-1/review")
			r.Questions[len(r.Questions)-1].Kind = "review"
			return r
		},
		"it is paused":     func(r api.Run) api.Run { r.State, r.Sequence = api.RunPaused, r.Sequence+1; return r },
		"it is distrusted": func(r api.Run) api.Run { r.Distrust, r.Sequence = "changed", r.Sequence+1; return r },
		"it has ended": func(r api.Run) api.Run {
			r.State, r.Outcome, r.Sequence = api.RunFinished, "completed", r.Sequence+1
			return r
		},
		"the gate fails": func(r api.Run) api.Run { r.Trouble, r.Round, r.Sequence = "checks fail", 1, r.Sequence+1; return r },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, on := newWatched(asking(goesOn(), "R1-Q1"))
				on.remember(w.run)
				moved := move(w.run)
				go func() {
					time.Sleep(7 * time.Second)
					w.moves <- moved
				}()
				mustWait(t, on, `{"since":11}`, 7*time.Second, 7*time.Second)
				if w.run.State == api.RunFinished { // there is nothing more to wait for
					mustWait(t, on, `{"since":12}`, 0, 0)
					return
				}
				mustWait(t, on, `{"since":12}`, 50*time.Second, 50*time.Second)
				mustWait(t, on, `{"seconds":3}`, 3*time.Second, 3*time.Second)
			})
		})
	}
}

// Who comes with a sequence that nobody remembers is told at once what waits, if anything has happened since.
func TestWaitAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, on := newWatched(asking(goesOn(), "R1-Q1"))
		mustWait(t, on, `{"since":9}`, 0, 0)
		_, on = newWatched(asking(goesOn(), "R1-Q1"))
		mustWait(t, on, `{"since":11}`, 50*time.Second, 50*time.Second)
		_, on = newWatched(asking(goesOn(), "R1-Q1"))
		mustWait(t, on, `{}`, 0, 0)
	})
}

// Two agents with one token do not wake each other.
func TestWaitOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, on := newWatched(asking(goesOn(), "R1-Q1"))
		on.remember(w.run)
		w.run.Sequence++
		on.remember(w.run)
		mustWait(t, on, `{"since":11}`, 50*time.Second, 50*time.Second)
		mustWait(t, on, `{"since":12}`, 50*time.Second, 50*time.Second)
	})
}

// Without a box that brings a run on, nobody waits: the reply says what to do.
func TestWaitWithoutABox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, on := newWatched(goesOn())
		w.stopped = true
		for range 2 {
			got := mustWait(t, on, `{}`, 0, 0)
			if len(got.Flags) == 0 || got.Flags[0].Name != agentreply.FlagRunStopped {
				t.Errorf("%+v", got.Flags)
			}
		}
	})
}

// A wait ends with its caller.
func TestWaitEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, on := newWatched(goesOn())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, took, err := waited(ctx, t, on, `{}`); !errors.Is(err, context.Canceled) || took != time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestLittleIsRemembered(t *testing.T) {
	_, on := newWatched(goesOn())
	for i := range 3 * maxToldRuns {
		r := goesOn()
		r.ID = string(rune('a' + i%26))
		r.Sequence = uint64(i)
		on.remember(r)
	}
	if n := len(on.told["a"]); n > maxTold {
		t.Errorf("%d replies about one run", n)
	}
	for i := range 3 * maxToldRuns {
		r := goesOn()
		r.ID = time.Duration(i).String()
		on.remember(r)
	}
	if n := len(on.told); n > maxToldRuns {
		t.Errorf("%d runs", n)
	}
}
