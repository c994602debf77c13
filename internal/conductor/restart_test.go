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

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conductor/conductortest"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// diligent carries out an order at once, and all goes well.
func diligent(ctx context.Context, c *Conductor, o order.Order) error {
	const commit, tree, base = "1a2b3c4", "7ee0000", "0000000"
	run := o.Run.Subject
	switch o.Do {
	case delivery.DoBaseline:
		return c.HandIn(ctx, run, delivery.BaselineRan{Command: o.ID, Baseline: delivery.Baseline{Commit: base}})
	case delivery.DoGate:
		return c.HandIn(ctx, run, delivery.GateRan{Command: o.ID, Commit: commit, Passed: true})
	case delivery.DoMerge:
		allowed, _, err := c.Permit(ctx, run, delivery.MergeChecked{Command: o.ID, Commit: commit, Onto: "0000002", Tree: "7ee0002", Base: base})
		if err != nil || allowed.Seq == 0 {
			return err
		}
		return c.HandIn(ctx, run, delivery.MergeRan{Command: o.ID, Commit: commit, Tree: tree, Result: "5d6e7f8"})
	case delivery.DoEnd:
		return c.SessionReport(ctx, o.Session.ID, api.SessionReport{Kind: api.ReportEnded, How: api.HowDone})
	case delivery.DoStart:
		if o.Reviews {
			if err := c.HandIn(ctx, run, delivery.Shown{Session: o.Session.ID, Commit: commit, Tree: tree, Base: base}); err != nil {
				return err
			}
		}
		word := map[agentsig.Role]agentsig.Kind{
			agentsig.RoleDeveloper: agentsig.KindReadyForReview, agentsig.RoleCritic: agentsig.KindReviewPassed, agentsig.RoleAuditor: agentsig.KindAuditPassed,
		}[o.Session.Role]
		r := api.SessionReport{Kind: api.ReportTurn, Turn: 1, Verdict: word, Signals: []api.SaidSignal{{Wire: strings.ToUpper(string(word)) + ": " + o.Session.Task}}}
		return c.SessionReport(ctx, o.Session.ID, r)
	}
	return fmt.Errorf("what is %s?", o.ID)
}

// outcome is what a delivery came to: what was recorded, and the ids of all orders. Subjects and numbers of runs have
// names of their own, as a run that was not recorded is another one when it is started again.
type outcome struct{ events, orders []string }

// throughout delivers a plan with one task by conductors one after the other, until one is not killed. When the event n
// of all is to be recorded, trouble says what becomes of it.
func throughout(t *testing.T, n int, trouble func(record func() error, kill func()) error) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHands()
		l := conductortest.New(t.Context(), time.Now)
		appended := 0
		l.Append = func(_ ledger.Event, record func() error) error {
			if appended++; appended == n {
				return trouble(record, func() { l.Kill() })
			}
			return record()
		}
		for lives := 0; ; lives++ {
			c := New(l, Options{Config: settings(t, "")})
			h.carryOut = func(ctx context.Context, o order.Order) error { return diligent(ctx, c, o) }
			if err := c.Start(t.Context(), h, time.Minute); err != nil {
				t.Fatal(err)
			}
			for again := true; again && l.Context().Err() == nil; time.Sleep(time.Minute) {
				_, err := c.Deliver(t.Context(), work.OperatorActor, api.StartRun{Plan: onePlan}, "key")
				again = err != nil
			}
			killed := l.Context().Err() != nil
			c.Stop()
			if left := c.Mail().Len(); left > 0 && !killed {
				t.Errorf("%d mailboxes are left", left)
			}
			if !killed {
				break
			}
			next, err := l.Again(t.Context())
			if err != nil || lives > 0 {
				t.Fatalf("killed %d times, %v", lives+1, err)
			}
			l = next
		}
		o = outcomeOf(l.Events(0), h.given)
	})
	return o
}

func outcomeOf(events []ledger.Event, orders []order.Order) (o outcome) {
	names := []string{"R2", "R1"}
	for _, e := range events {
		switch e.Type {
		case delivery.RunStarted:
			names = append(names, e.Subject, "RUN")
		case work.WorkAdded:
			names = append(names, e.Subject, "ITEM")
		}
	}
	named := strings.NewReplacer(names...)
	for _, e := range events {
		o.events = append(o.events, named.Replace(fmt.Sprintln(e.Type, e.Subject, e.Session, e.Lease, e.Key, string(e.Payload))))
	}
	for _, given := range orders {
		o.orders = append(o.orders, named.Replace(given.ID))
	}
	slices.Sort(o.orders)
	o.orders = slices.Compact(o.orders)
	return o
}

// Whatever becomes of any one write of a delivery, the same is recorded in the end, once, and the same orders are given.
func TestRestartAnywhere(t *testing.T) {
	whole := throughout(t, 0, nil)
	if n := len(whole.events); n < 16 || !strings.Contains(whole.events[n-1], `"outcome":"completed"`) {
		t.Fatalf("undisturbed: %s", whole.events)
	}
	for what, trouble := range map[string]func(record func() error, kill func()) error{
		"killed before": func(_ func() error, kill func()) error {
			kill()
			return context.Canceled
		},
		"killed after": func(record func() error, kill func()) error {
			kill()
			return record()
		},
		"killed after, not answered": func(record func() error, kill func()) error {
			kill()
			return errors.Join(record(), context.Canceled)
		},
		"unknown":           func(func() error, func()) error { return conductortest.ErrUnknown },
		"unknown, recorded": func(record func() error, _ func()) error { return errors.Join(record(), conductortest.ErrUnknown) },
		"broken":            func(func() error, func()) error { return errBroken },
	} {
		t.Run(what, func(t *testing.T) {
			for n := range len(whole.events) {
				got := throughout(t, n+1, trouble)
				if diff := cmp.Diff(whole.events, got.events); diff != "" {
					t.Errorf("at event %d, recorded:\n%s", n+1, diff)
				}
				if diff := cmp.Diff(whole.orders, got.orders); diff != "" {
					t.Errorf("at event %d, ordered:\n%s", n+1, diff)
				}
			}
		})
	}
}
