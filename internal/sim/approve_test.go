package sim_test

import (
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// notApproved stands for the cause of work that a person sent back before its merge. It is no failure.
const notApproved delivery.Cause = "not approved"

// approves reports whether a person has to approve merges.
func (j *judge) approves() bool { return j.set.Settings.Approve == delivery.Person }

// outdate notes that what was proposed, or approved, is about a branch that has moved, or another plan.
func (j *judge) outdate() {
	for _, t := range j.tasks {
		t.proposed, t.approved = nil, 0
	}
}

// merge is a merge that is proposed to a person. One that waits for their word is not proposed again, and no other is beside it.
func (j *judge) merge(t *taskFacts, e ledger.Event, p work.Proposed) error {
	switch {
	case !j.approves() || e.Actor != work.BoxActor:
		return breaks("the merge of %s is proposed by %s, and nobody has to approve merges", t.id, e.Actor)
	case j.stopping || j.dead(t):
		return breaks("the merge of %s is proposed, and nobody goes on with it", t.id)
	case !t.audited || p.Task != t.id || p.Verdict != t.verdict || !t.byHand && p.Commit != t.gated || p.Approval != 0 || p.Unaudited != t.waived:
		return breaks("the merge of %s is proposed: %+v; it is audited: %v, by event %d at %s", t.id, p, t.audited, t.verdict, t.gated)
	case t.approved != 0 && p.Allowed == t.proposed.Allowed:
		return breaks("the merge of %s is approved, and proposed again", t.id)
	}
	for _, other := range j.tasks {
		if other.audited && other.proposed != nil && other.approved == 0 && !j.dead(other) && !other.anew {
			return breaks("the merge of %s is proposed while that of %s waits", t.id, other.id)
		}
	}
	t.proposed, t.approved = &p, 0
	return nil
}

// approval is a person's word for a merge.
func (j *judge) approval(t *taskFacts, e ledger.Event, p work.Approved) error {
	switch asked := t.proposed; {
	case !work.ByOperator(e.Actor):
		return breaks("the merge of %s is approved by %s", t.id, e.Actor)
	case !t.audited || asked == nil || t.approved != 0 || j.stopping || j.dead(t):
		return breaks("the merge of %s is approved, and nobody was asked: %+v", t.id, *t)
	case p.Commit != asked.Commit || p.Onto != asked.Onto || p.Tree != asked.Tree:
		return breaks("the merge of %s is approved as %+v, and proposed as %+v", t.id, p, asked)
	}
	t.approved = j.seen
	return nil
}

// approved holds a merge that is allowed against what a person has approved.
func (j *judge) approved(t *taskFacts, p work.Allowed) error {
	if !j.approves() {
		return nil
	}
	was := p
	was.Approval = 0
	if t.proposed == nil || t.approved == 0 || p.Approval != t.approved || was != t.proposed.Allowed {
		return breaks("the merge of %s is allowed as %+v; proposed is %+v, approved by event %d", t.id, p, t.proposed, t.approved)
	}
	return nil
}

// notApproved is work that a person sends back before its merge. They have looked at it.
func (j *judge) notApproved(t *taskFacts, p work.Merge) error {
	if !t.audited || t.proposed == nil || t.approved != 0 || p.Commit != t.proposed.Commit {
		return breaks("the merge of %s at %s is sent back, and nobody was asked", t.id, p.Commit)
	}
	t.audited, t.proposed = false, nil
	t.looked()
	t.refused = refusal{p.Commit, notApproved}
	return nil
}
