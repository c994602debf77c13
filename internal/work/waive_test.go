package work_test

import (
	"errors"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// reviewedTask is a task that the critic has passed, of a run with an auditor or without.
func reviewedTask(t *testing.T, unaudited bool) work.Item {
	t.Helper()
	i := do(t, work.Item{}, work.Add{
		ID: "R1.T-1", Title: "t", Phase: agentsig.PhaseCIPending, Actor: "operator", Run: "01JD0000000000000000000002", Task: "T-1", Unaudited: unaudited,
	})
	i = do(t, i, work.Report{Commit: "0123abc", Passed: true})
	i = do(t, i, grant(agentsig.RoleCritic))
	i = do(t, i, work.Show{Token: i.Lease.Token, Commit: "0123abc", Tree: "7ee0123", Base: "0123000"})
	return do(t, i, work.End{Token: i.Lease.Token, Signal: line(agentsig.KindReviewPassed)})
}

// allowUnaudited allows the merge of a task that nobody audits.
func allowUnaudited(i work.Item) work.Allow {
	a := allow("0123abc", "0123000")
	a.Verdict, a.Unaudited = i.Waived.Seq, true
	return a
}

// otherVerdict allows it on the word of another event.
func otherVerdict(i work.Item) work.Allow {
	a := allowUnaudited(i)
	a.Verdict--
	return a
}

// In a run without an auditor, what the critic has passed is merged on its word; the merge says so.
func TestWaive(t *testing.T) {
	i := reviewedTask(t, true)
	if !i.ReviewSuffices() || i.Judged() {
		t.Fatalf("%+v", i)
	}
	shown, review := i.Reviewed.Shown, i.Reviewed.Passed
	i = do(t, i, work.Waive{Start: 7})
	want := work.Waived{Commit: "0123abc", Tree: "7ee0123", Start: 7, Shown: shown, Review: review}
	if !i.Judged() || i.Audited || i.ReviewSuffices() || i.Waived.Waived != want || review == 0 || shown >= review {
		t.Errorf("%+v, %+v", i, i.Waived)
	}
	for name, c := range map[string]work.Command{
		"an auditor": grant(agentsig.RoleAuditor), "a person": work.Take{Epoch: 1, Actor: "operator"}, "twice": work.Waive{Start: 7},
		"a merge that hides it": allow("0123abc", "0123000"), "another verdict": otherVerdict(i),
	} {
		if e, err := work.Decide(i, c); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
	e, err := work.Decide(do(t, i, allowUnaudited(i)), work.Merged{Commit: "0123abc", Tree: "7ee0123", Result: "0123abd"})
	if m, ok := e.Payload.(work.Merge); err != nil || !ok || !m.Unaudited || len(m.Unseen) > 0 {
		t.Errorf("%+v, %v", e.Payload, err)
	}
	blocked := do(t, i, work.Block{Cause: "c", Reason: "r"})
	if back := do(t, blocked, work.Unblock{Reason: "r"}); back.Judged() || !back.ReviewSuffices() {
		t.Errorf("unblocked: %+v", back)
	}
}

// Nothing else does without an auditor: not a run that has one, and not what the critic has not passed as it is.
func TestWaiveRefused(t *testing.T) {
	light := reviewedTask(t, true)
	past := do(t, light, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReview, Reason: "r"})
	past = do(t, past, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReadyForMerge, Reason: "r"})
	unseen := do(t, do(t, light, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReview, Reason: "r"}), grant(agentsig.RoleCritic))
	unseen = do(t, unseen, work.End{Token: unseen.Lease.Token, Signal: line(agentsig.KindReviewPassed)})
	another := do(t, do(t, light, work.Override{Actor: work.OperatorActor, Phase: agentsig.PhaseReview, Reason: "r"}), grant(agentsig.RoleCritic))
	another = do(t, another, work.Show{Token: another.Lease.Token, Commit: "0123abc", Tree: "7ee0123", Base: "0123000"})
	another = do(t, do(t, another, work.Expire{Token: another.Lease.Token}), grant(agentsig.RoleCritic))
	another = do(t, another, work.End{Token: another.Lease.Token, Signal: line(agentsig.KindReviewPassed)})
	elsewhere := light
	elsewhere.Commit = "fffffff"
	taken := do(t, light, work.Take{Epoch: 1, Actor: "operator"})
	if taken.Commit != "" || taken.Review != (work.Seen{}) || taken.Reviewed != (work.Reviewed{}) {
		t.Errorf("what is taken stays judged: %+v", taken)
	}
	unchanged := light
	unchanged.NoChange = "it is there"
	for name, c := range map[string]struct {
		item work.Item
		want error
	}{
		"a run with an auditor": {reviewedTask(t, false), work.ErrAuditNeeded},
		"another commit":        {elsewhere, work.ErrNotReviewed},
		"past the critic":       {past, work.ErrNotReviewed}, "a critic who was shown nothing": {unseen, work.ErrNotReviewed},
		"what another critic was shown": {another, work.ErrNotReviewed}, "nothing changed": {unchanged, work.ErrNotReviewed},
		"in the middle of it": {do(t, light, work.Block{Cause: "c", Reason: "r"}), work.ErrNotReviewed},
	} {
		if e, err := work.Decide(c.item, work.Waive{Start: 1}); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
		if c.item.ReviewSuffices() {
			t.Errorf("%s: the review suffices", name)
		}
	}
	if held := do(t, past, grant(agentsig.RoleAuditor)); held.Lease == nil {
		t.Error("what the operator took past the critic goes to nobody")
	}
}

// An event that says that nobody audits the work, and that the rules would not have let be written, has nothing merged.
func TestForgedWaiver(t *testing.T) {
	merged := work.Merged{Commit: "0123abc", Tree: "7ee0123", Result: "0123abd"}
	for name, c := range map[string]struct {
		forge func(*work.Item)
		want  error
	}{
		"a run with an auditor": {func(i *work.Item) { i.Unaudited = false }, work.ErrAuditNeeded},
		"no critic's pass":      {func(i *work.Item) { i.Reviewed.Passed = 0 }, work.ErrNotSeen},
		"another commit":        {func(i *work.Item) { i.Review.Commit = "fffffff" }, work.ErrNotSeen},
		"another tree":          {func(i *work.Item) { i.Review.Tree = "7eeffff" }, work.ErrNotSeen},
		"a waiver of another": {func(i *work.Item) {
			i.Waived = &work.Waiver{Seq: 9, Waived: work.Waived{Commit: "0123abc", Tree: "7eeffff"}}
		}, work.ErrNotSeen},
		"past the critic": {func(i *work.Item) { i.Review, i.ByHand = work.Seen{}, true }, work.ErrNotSeen},
	} {
		i := do(t, reviewedTask(t, true), work.Waive{Start: 1})
		allowed := do(t, i, allowUnaudited(i))
		c.forge(&i)
		c.forge(&allowed)
		if _, err := i.CheckMerge("0123abc", "7ee0123"); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if e, err := work.Decide(allowed, merged); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	i := do(t, reviewedTask(t, true), work.Waive{Start: 1})
	i.Unaudited = false
	if e, err := work.Decide(i, allowUnaudited(i)); !errors.Is(err, work.ErrAuditNeeded) {
		t.Errorf("allowed: %+v, %v", e, err)
	}
	audited := auditedTask(t)
	claims := allow("0123abc", "0123000")
	claims.Unaudited = true
	if e, err := work.Decide(audited, claims); !errors.Is(err, work.ErrAuditNeeded) {
		t.Errorf("audited work is merged as not audited: %+v, %v", e, err)
	}
}
