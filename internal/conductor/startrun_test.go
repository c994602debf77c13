package conductor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A plan whose events have no room in the ledger is refused, and leaves nothing: the next run is the first.
func TestPlanTooLargeForTheLedger(t *testing.T) {
	var blockers, checks strings.Builder
	var ids []string
	for n := range 900 {
		ids = append(ids, fmt.Sprintf("T-%030d", n))
		fmt.Fprintf(&blockers, "#### Task %s: t\n\n**Work**: w\n\n", ids[n])
	}
	for n := range 250 {
		fmt.Fprintf(&checks, "| lint of package number %04d | local | `true` | 0 |\n", n)
	}
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		for want, plan := range map[string]string{
			"title is too long":              strings.Replace(onePlan, "A plan", strings.Repeat("<", 20_000), 1),
			"task LAST is blocked by 900":    blockers.String() + "#### Task LAST: t\n\n**Work**: w\n\n**Blocked By**: " + strings.Join(ids, ", ") + "\n",
			"the settings have 250 checks, ": onePlan + "\n### Verification\n\n| Check | Environment | Command | Expected exit code |\n|---|---|---|---|\n" + checks.String(),
		} {
			_, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: plan}, "")
			if form := (box.BadRequest{}); !errors.As(err, &form) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
		if r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, ""); err != nil || r.ID != "R1" {
			t.Errorf("%s, %v", r.ID, err)
		}
	})
}

// A run gets the first number after those of all others that leaves the names of its items and branches to those who
// have them: an item of a version before, a branch of a task, the branch that work is merged to.
func TestTakenNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		if err := s.ledger.AddItem(work.Add{ID: "R1.T-1", Title: "a title", Phase: agentsig.PhaseDraft, Actor: work.OperatorActor}); err != nil {
			t.Fatal(err)
		}
		deliver := func(want string) {
			t.Helper()
			plan := strings.Replace(onePlan, "A plan", "A plan for "+want, 1)
			if r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: plan}, ""); err != nil || r.ID != want || r.Branch != "signalbox/"+want {
				t.Errorf("%s on %s, %v; want %s", r.ID, r.Branch, err, want)
			}
		}
		deliver("R2")
		s.set(func() { s.taken["R3"], s.taken["signalbox/R4"] = true, true })
		deliver("R5")
		deliver("R6")
	})
}

// A branch without the run's number can be taken once.
func TestBranchTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{Config: settings(t, "branch: delivered")})
		defer s.Stop()
		if r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, ""); err != nil || r.Branch != "delivered" {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: strings.Replace(onePlan, "A plan", "Another", 1)}, ""); !errors.Is(err, errBranchTaken) {
			t.Errorf("%s on %s, %v", r.ID, r.Branch, err)
		}
	})
}

// A run whose beginning fails is not recorded.
func TestNoBeginning(t *testing.T) {
	for _, method := range []string{"Ready", "Head", "Free", "MakeBranch", "Begin"} {
		synctest.Test(t, func(t *testing.T) {
			s := started(t, Options{})
			defer s.Stop()
			s.fails[method] = errBroken
			if r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, ""); !errors.Is(err, errBroken) {
				t.Errorf("%s fails: %s, %v", method, r.ID, err)
			}
			synctest.Wait()
			if events := s.ledger.Events(0); len(events) > 0 || len(s.deciders) > 0 {
				t.Errorf("%s fails: %v", method, events)
			}
		})
	}
}

// A dry run begins nothing. A plan that is delivered is that run to who asks for it again, by the plan or by the key,
// also at the same time; when it has ended, by the key alone. Secrets in it are not recorded, and not seen by agents.
func TestDeliverOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		if r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan, DryRun: true}, ""); err != nil || r.State != api.RunDry || len(s.ledger.Events(0)) > 0 {
			t.Errorf("dry: %+v, %v", r, err)
		}
		text := strings.Replace(onePlan, "Do it.", "The password is "+conductortest.Secret, 1)
		runs := make(chan api.Run, 10)
		for n := range cap(runs) {
			go func() {
				r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: text}, fmt.Sprintf("key %d", n))
				if err != nil {
					t.Error(err)
				}
				runs <- r
			}()
		}
		synctest.Wait()
		for range cap(runs) {
			if r := <-runs; r.ID != "R1" {
				t.Errorf("one of many is %s", r.ID)
			}
		}
		if got := s.given[0].Plan.Tasks[0].Work; strings.Contains(got, conductortest.Secret) || !strings.Contains(got, "[secret]") {
			t.Errorf("the task: %q", got)
		}
		var key string
		s.ledger.WithRun("S000001", func(r *delivery.Run) { key = r.Key })
		if _, err := s.OnRun(t.Context(), work.OperatorActor, "R1", "cancel", api.Message{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: text}, key); err != nil || r.ID != "R1" || len(s.deciders) > 0 {
			t.Errorf("by its key: %s, %v", r.ID, err)
		}
		if r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: text}, ""); err != nil || r.ID != "R2" {
			t.Errorf("by the plan: %s, %v", r.ID, err)
		}
	})
}

// Who waits for another's start can give up.
func TestDeliverGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		unlock, err := s.starting.Lock(t.Context(), struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Deliver(ctx, work.OperatorActor, api.StartRun{Plan: onePlan}, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	})
}

// A start of which nobody knows whether it was recorded is answered as that, and not as a fault of the box's. Asked again, it
// is the run that was recorded after all, which goes on then, or a new one.
func TestUnknownStart(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := started(t, Options{})
			defer s.Stop()
			var recordLate func() error
			s.ledger.Append = func(_ ledger.Event, record func() error) error {
				recordLate = record
				return conductortest.ErrUnknown
			}
			_, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, "key")
			if code(err) != api.CodeUnknown || !strings.Contains(err.Error(), "ask again with the same key") {
				t.Fatalf("%s: %v", code(err), err)
			}
			s.ledger.Append = nil
			want := "R2" // the branch of the first is there
			if late {
				want = "R1"
				if err := s.ledger.Meanwhile(recordLate); err != nil {
					t.Fatal(err)
				}
			}
			r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, "key")
			if err != nil || r.ID != want {
				t.Fatalf("asked again: %s, %v; want %s", r.ID, err, want)
			}
			synctest.Wait()
			if notes := s.take(); !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, "order: ") }) {
				t.Errorf("%s does not go on: %q", want, notes)
			}
		})
	}
}

// A run is not alone while one that has ended is yet to be looked at: what its agents changed would be taken for the user's.
func TestNotAloneBeforeTheLastLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer s.Stop()
		s.deliver(t)
		synctest.Wait()
		s.slow = time.Minute // that the order takes to end
		if _, err := s.OnRun(t.Context(), work.OperatorActor, "R1", "cancel", api.Message{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // it has ended, and waits for the order
		s.take()
		if r, err := s.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, ""); err != nil || r.ID != "R2" {
			t.Fatalf("%s, %v", r.ID, err)
		}
		if notes := s.take(); slices.Contains(notes, "left: what programs of R1 follow") ||
			!slices.ContainsFunc(notes, func(n string) bool { return strings.HasSuffix(n, " on signalbox/R2, alone: false") }) {
			t.Errorf("%q", notes)
		}
		synctest.Wait()
	})
}
