package sim_test

import (
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// seeItem takes an event on a task's item.
func (j *judge) seeItem(t *taskFacts, e ledger.Event, payload any) error {
	if t != nil && t.phase == agentsig.PhaseCompleted && e.Type != work.WorkOverridden && e.Type != work.LateResultRecorded {
		return breaks("%s is completed", t.id)
	}
	if t != nil {
		if err := t.seeAnew(e); err != nil {
			return err
		}
	}
	switch p := payload.(type) {
	case work.Added:
		t = &taskFacts{id: p.Task, blockedBy: p.BlockedBy, phase: p.Phase}
		t.looked()
		j.tasks[e.Subject], j.byID[p.Task] = t, t
	case work.Taken:
		return j.taken(t, e)
	case work.Granted:
		return j.granted(t, e, p)
	case work.Result:
		if e.Type == work.LateResultRecorded {
			if t.holder == e.Session || p.Signal == agentsig.KindExpertRequest {
				return breaks("the result of %s is no late one", e.Session)
			}
			return nil
		}
		return j.completed(t, e, p)
	case work.Ended:
		if t.holder != e.Session {
			return breaks("takes the lease of %s, and %q has it", e.Session, t.holder)
		}
		if t.person != "" && e.Type == work.LeaseExpired {
			return breaks("a person's time is up")
		}
		t.holder, t.person = "", ""
		if s := j.live[e.Session]; s != nil && e.Type == work.LeaseExpired && !s.over {
			j.wrong(t, delivery.CauseTimeouts)
			j.over(s)
			s.givenUp = true
		}
	case work.Gate:
		if t.phase != agentsig.PhaseCIPending || t.holder != "" {
			return breaks("the gate speaks of %s in %s", t.id, t.phase)
		}
		return j.gated(t, e, p)
	case work.Shown:
		if t.holder != e.Session {
			return breaks("%s is shown to %s, and %q has it", t.id, e.Session, t.holder)
		}
		if t.seen == nil {
			t.seen = map[agentsig.Role]string{}
		}
		t.seen[p.Role], t.shown = p.Tree+" from "+p.Base, p.Commit
		if p.Role == agentsig.RoleCritic {
			t.passed, t.shownAt = 0, j.seen
		}
	case work.Blocked:
		t.from, t.phase, t.audited, t.allowed = t.phase, p.NextPhase, false, ""
		switch delivery.Cause(p.Cause) {
		case delivery.CauseInfrastructure:
			j.wrong(t, delivery.CauseObstacles)
		case delivery.CauseRole:
			t.asked = true
		}
	case work.Unblocked:
		if len(j.openOn(t.id)) > 0 || t.asked {
			return breaks("%s goes on without an answer", t.id)
		}
		t.phase = p.NextPhase
	case work.Allowed:
		if !t.audited || p.Task != t.id || p.Verdict != t.verdict || !t.byHand && p.Commit != t.gated || p.Unaudited != t.waived {
			return breaks("the merge of %s at %s is allowed by event %d; it is audited: %v, by event %d at %s", p.Task, p.Commit, p.Verdict, t.audited, t.verdict, t.gated)
		}
		for role, saw := range t.seen {
			if !strings.HasSuffix(saw, " from "+p.Base) {
				return breaks("the merge of %s from %s is allowed, and the %s saw %s", t.id, p.Base, role, saw)
			}
		}
		if err := j.approved(t, p); err != nil {
			return err
		}
		t.allowed = p.Commit
	case work.Waived:
		return j.auditWaived(t, e, p)
	case work.Proposed:
		return j.merge(t, e, p)
	case work.Approved:
		return j.approval(t, e, p)
	case work.Merge:
		return j.mergeRan(t, e, p)
	case work.Unchanged:
		if t.phase != agentsig.PhaseReadyForMerge || t.holder != "" || !t.same || !t.reviewed || p.Commit != t.gated || t.seen[agentsig.RoleCritic] == "" {
			return breaks("%s is completed without a change at %s: %+v", t.id, p.Commit, *t)
		}
		t.phase, t.unchanged = p.NextPhase, true
	case work.Overridden:
		if t.phase == agentsig.PhaseCompleted {
			t.merges = 0
		}
		j.over(j.live[t.holder])
		for _, q := range j.openOn(t.id) {
			q.answered = true // taken back
		}
		t.looked()
		if t.phase != agentsig.PhaseBlocked {
			t.from = t.phase
		}
		t.phase, t.holder, t.person, t.byHand, t.audited, t.allowed, t.seen = p.NextPhase, "", "", true, false, "", nil
		t.claim, t.same, t.unchanged, t.passed = false, false, false, 0
		t.asked = p.NextPhase == agentsig.PhaseBlocked
	case work.Signalled:
		j.created(p.Said)
	}
	return nil
}

// repeated are the causes that a hand-in of the same commit counts for.
var repeated = map[work.Since]delivery.Cause{
	work.SinceStart: delivery.CauseUnchanged, work.SinceGate: delivery.CauseGates, work.SinceReview: delivery.CauseReviews,
	work.SinceAudit: delivery.CauseAudits, work.SinceMerge: delivery.CauseMerges, work.SincePerson: notApproved,
}

// gated is the gate's word. It does not look at what did not pass before, nor at nothing.
func (j *judge) gated(t *taskFacts, e ledger.Event, p work.Gate) error {
	nothing, cause := p.Files != nil && *p.Files == 0, delivery.Cause("")
	switch {
	case t.refused.commit == p.Commit:
		cause = t.refused.cause
	case nothing && !t.claim:
		cause = delivery.CauseUnchanged
	}
	passed := e.Type == work.GatePassed
	switch {
	case repeated[p.Since] != cause, passed && cause != "", cause != "" && len(p.Checks) > 0:
		return breaks("the gate says %q of %s at %s, and it is wrong for %q", p.Since, t.id, p.Commit, cause)
	case (p.NoChange != "") != (passed && nothing):
		return breaks("%s passes: %v, with nothing changed: %v, and the claim is %q", t.id, passed, nothing, p.NoChange)
	}
	t.phase, t.gated, t.allowed, t.seen, t.same, t.passed = p.NextPhase, "", "", map[agentsig.Role]string{}, passed && nothing, 0
	if cause != delivery.CauseUnchanged {
		t.count[delivery.CauseUnchanged] = 0
	}
	switch {
	case cause == notApproved:
		j.wrong(t, delivery.CauseMerges)
	case cause != "":
		j.wrong(t, cause)
	case !passed:
		j.wrong(t, delivery.CauseGates)
		t.refused = refusal{p.Commit, delivery.CauseGates}
	default:
		t.gated, t.written, t.count[delivery.CauseGates], t.refused = p.Commit, false, 0, refusal{}
	}
	return nil
}

func (j *judge) granted(t *taskFacts, e ledger.Event, p work.Granted) error {
	if t.holder != "" {
		return breaks("%s is held by %s", t.id, t.holder)
	}
	wants := map[agentsig.Phase]agentsig.Role{
		agentsig.PhaseDraft: agentsig.RoleAnalyst, agentsig.PhaseImplementation: agentsig.RoleDeveloper, agentsig.PhaseReadyForReview: agentsig.RoleCritic,
		agentsig.PhaseReview: agentsig.RoleCritic, agentsig.PhaseReadyForMerge: agentsig.RoleAuditor,
	}
	if p.Role == "" || wants[t.phase] != p.Role || t.audited || p.Role == agentsig.RoleAuditor && (t.same || j.light() && t.passed != 0) {
		return breaks("%s is started on %s", p.Role, t.phase)
	}
	if p.Agent == delivery.Person {
		return j.personGranted(t, e, p)
	}
	if err := j.startOn(t, e); err != nil {
		return err
	}
	s := &sessionFacts{id: e.Session, task: t.id, role: p.Role}
	if err := j.talkGranted(t, s, p); err != nil {
		return err
	}
	if err := j.start(e, s, p.Agent); err != nil {
		return err
	}
	t.phase, t.holder, t.conflict = p.Phase, e.Session, nil
	if p.Role == agentsig.RoleDeveloper {
		t.writers = append(t.writers, e.Session)
		t.written, t.reviewed, t.audited, t.byHand = true, false, false, false
	}
	return nil
}

// completed is the end of a session by its signal.
func (j *judge) completed(t *taskFacts, e ledger.Event, p work.Result) error {
	s := j.live[e.Session]
	if t.holder != e.Session || t.person == "" && (s == nil || s.over) || (t.person != "") != work.ByOperator(e.Actor) {
		return breaks("%s completes what %q holds", e.Session, t.holder)
	}
	before, byPerson := t.phase, t.person != ""
	if byPerson {
		s = &sessionFacts{task: t.id, role: t.person}
	}
	j.over(s)
	delete(j.unknown, j.unknownKey(s))
	t.holder, t.person, t.phase = "", "", p.NextPhase
	exit := p.Signal == agentsig.KindExit
	if t.phase == agentsig.PhaseBlocked {
		t.from = before
	}
	switch done := exit && p.ExitReason == agentsig.ExitCompleted; {
	case p.Signal == agentsig.KindReadyForReview, done && before == agentsig.PhaseImplementation:
		t.count[delivery.CauseCrashes], t.count[delivery.CauseTimeouts] = 0, 0
		claim := p.Field(agentsig.KeyNoChange)
		t.claim = claim != "" && claim != "none"
	case p.Signal == agentsig.KindReviewPassed, done && before == agentsig.PhaseReview:
		t.reviewed, t.count[delivery.CauseReviews] = !slices.Contains(t.writers, e.Session), 0
		t.passed = j.seen
	case p.Signal == agentsig.KindAuditPassed, done && before == agentsig.PhaseReadyForMerge:
		if !p.Audited || p.NextPhase == agentsig.PhaseCompleted {
			return breaks("%s is completed by an auditor's word", t.id)
		}
		t.waived = false
		t.audited, t.verdict, t.proposed, t.approved = !slices.Contains(t.writers, e.Session), j.seen, nil, 0
	case p.Signal == agentsig.KindReviewFailed:
		j.sentBackBy(t, byPerson, delivery.CauseReviews, p.Said)
	case p.Signal == agentsig.KindAuditFailed:
		j.sentBackBy(t, byPerson, delivery.CauseAudits, p.Said)
	case p.Signal == agentsig.KindInfraBlocked, p.Signal == agentsig.KindAuditBlocked, p.Signal == agentsig.KindTaskIncomplete:
		j.wrong(t, delivery.CauseObstacles)
		if strings.Contains(p.Field("Blocker"), "information") {
			t.asked = true
		}
	case p.Signal == agentsig.KindDivineClarification, exit && p.ExitReason != agentsig.ExitCompleted:
		t.asked = true
	case p.Signal == agentsig.KindExpandedSpec && p.Field("Confidence") == "LOW":
		t.asked = true
	}
	return nil
}

// sentBackBy notes that a reviewer sent a task back. If it is a person, that is no failure: a person has looked.
func (j *judge) sentBackBy(t *taskFacts, person bool, cause delivery.Cause, said work.Said) {
	if person {
		t.looked()
	} else {
		j.wrong(t, cause)
		j.found(t, said)
	}
	t.refused = refusal{t.shown, cause}
}

// found notes what a review or an audit found.
func (j *judge) found(t *taskFacts, said work.Said) {
	finding := said.Field("Issues Found") + said.Field("Failed Criteria")
	if t.findings[finding] {
		t.count[delivery.CauseFinding]++
	}
	t.findings[finding] = true
}

func (j *judge) mergeRan(t *taskFacts, e ledger.Event, p work.Merge) error {
	t.phase = p.NextPhase
	if e.Type == work.MergeFailed && work.ByOperator(e.Actor) {
		return j.notApproved(t, p)
	}
	if e.Type == work.MergeFailed {
		t.audited = false
		j.wrong(t, delivery.CauseMerges)
		t.refused = refusal{p.Commit, delivery.CauseMerges}
		return nil
	}
	t.merges++
	j.outdate()
	switch {
	case t.merges > 1:
		return breaks("%s is merged twice", t.id)
	case t.allowed != p.Commit:
		return breaks("%s is merged at %s, and the merge of %q was allowed", t.id, p.Commit, t.allowed)
	case p.Unaudited != t.waived:
		return breaks("%s is merged, audited: %v; nobody looked at it as an auditor: %v", t.id, !p.Unaudited, t.waived)
	case t.waived && (!j.light() || t.passed == 0 || p.Commit != t.shown || t.seen[agentsig.RoleCritic] != p.Tree+" from "+p.Base):
		return breaks("%s is merged at %s without an audit: %+v", t.id, p.Commit, *t)
	case t.byHand:
	case t.same:
		return breaks("%s is merged, and nothing is changed in it", t.id)
	case t.gated == "" || t.written:
		return breaks("%s is completed without its gate", t.id)
	case t.gated != p.Commit:
		return breaks("%s passed the gate at %s, and is merged at %s", t.id, t.gated, p.Commit)
	case !t.reviewed:
		return breaks("%s is completed without a review", t.id)
	case !t.audited:
		return breaks("%s is completed without an audit", t.id)
	case t.seen[agentsig.RoleCritic] != p.Tree+" from "+p.Base || !t.waived && t.seen[agentsig.RoleAuditor] != p.Tree+" from "+p.Base:
		return breaks("%s is merged with the tree %s from %s, and reviewers saw %v", t.id, p.Tree, p.Base, t.seen)
	}
	return nil
}
