package conductor

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Without a run of the plan that goes on there is nothing to amend, and nothing is started.
func TestNothingToAmend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		defer func() { s.Stop() }()
		q := api.StartRun{Plan: onePlan, Path: "/the/checkout/plan.md", Amend: true}
		dry := q
		dry.DryRun = true
		for _, q := range []api.StartRun{q, dry} {
			if r, err := s.Deliver(t.Context(), work.OperatorActor, q, ""); !errors.Is(err, errNothingToAmend) {
				t.Errorf("%+v: %+v, %v", q, r, err)
			}
		}
		if n := len(s.ledger.Events(0)); n > 0 {
			t.Errorf("%d events were recorded", n)
		}
		begin := q
		begin.Amend = false
		first, err := s.Deliver(t.Context(), work.OperatorActor, begin, "")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Deliver(t.Context(), work.OperatorActor, q, ""); err != nil || r.ID != first.ID { // it goes on with the same plan
			t.Errorf("%+v, %v", r, err)
		}
	})
}
