package conductor

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A person approves the merge that was proposed to them and no other, once; a word on what was proposed before the branch
// moved does not count. Nothing is allowed before.
func TestApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, Options{})
		s.config.Merge.Approve = config.Person
		run := s.deliver(t)
		synctest.Wait()
		s.bringToMerge(t)
		var item work.Item
		checked := func(onto string) work.Permit {
			t.Helper()
			m := delivery.MergeChecked{Command: s.given[len(s.given)-1].ID, Onto: onto, Tree: "7ee0002", Base: "0000000", Checked: "c0ec4ed"}
			s.ledger.WithRun(run, func(r *delivery.Run) { m.Commit = r.Task("T-1").Item.Commit })
			permit, _, err := s.Permit(t.Context(), run, m)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			s.ledger.WithRun(run, func(r *delivery.Run) { item = r.Task("T-1").Item })
			return permit
		}
		shown := func() api.Verdict {
			t.Helper()
			v, err := s.Conductor.Sight(t.Context(), "R1.T-1")
			if err != nil || v.Role != delivery.RoleMerge || v.Base != item.Proposal.Onto || v.Merge != "c0ec4ed" {
				t.Fatalf("shown is %+v: %v", v, err)
			}
			return api.Verdict{Accept: true, Role: v.Role, Commit: v.Commit, Tree: v.Tree, Base: v.Base}
		}
		if permit := checked("0000002"); permit.Seq != 0 || item.Proposal == nil || item.Allowed != nil {
			t.Fatalf("nobody has approved it, and allowed is %+v", permit)
		}
		first := shown()
		before := len(s.ledger.Events(0))
		for _, change := range []func(*api.Verdict){
			func(v *api.Verdict) { v.Commit = "fffffff" }, func(v *api.Verdict) { v.Tree = "fffffff" }, func(v *api.Verdict) { v.Base = "fffffff" },
			func(v *api.Verdict) { v.Role = agentsig.RoleAuditor }, func(v *api.Verdict) { v.Role = "" },
		} {
			v := first
			change(&v)
			if _, err := s.Review(t.Context(), work.OperatorActor, "R1.T-1", v, ""); !errors.Is(err, delivery.ErrOtherNow) {
				t.Errorf("%+v is taken: %v", v, err)
			}
		}
		for _, v := range []api.Verdict{{Comments: []string{" "}}, {Accept: true, Comments: []string{"x"}}} {
			v.Role, v.Commit, v.Tree, v.Base = first.Role, first.Commit, first.Tree, first.Base
			if _, err := s.Review(t.Context(), work.OperatorActor, "R1.T-1", v, ""); err == nil {
				t.Errorf("%+v is taken", v)
			}
		}
		if n := len(s.ledger.Events(0)); n != before {
			t.Errorf("%d events are recorded of what was refused", n-before)
		}
		for range 2 {
			if _, err := s.Review(t.Context(), work.OperatorActor, "R1.T-1", first, "once"); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if n := len(s.ledger.Events(0)); n != before+1 {
			t.Errorf("a word that comes twice is recorded %d times", n-before)
		}

		// The branch has moved meanwhile.
		if permit := checked("0000003"); permit.Seq != 0 || item.Proposal.Onto != "0000003" || item.Proposal.Approved != 0 {
			t.Fatalf("the branch has moved, and allowed is %+v", permit)
		}
		if _, err := s.Review(t.Context(), work.OperatorActor, "R1.T-1", first, ""); !errors.Is(err, delivery.ErrOtherNow) {
			t.Errorf("a word on what was proposed before counts: %v", err)
		}
		if _, err := s.Review(t.Context(), work.OperatorActor, "R1.T-1", shown(), ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if permit := checked("0000003"); permit.Seq == 0 || permit.Onto != "0000003" || permit.Approval != item.Proposal.Approved {
			t.Errorf("allowed is %+v, approved %+v", permit, item.Proposal)
		}
		s.Stop()
	})
}
