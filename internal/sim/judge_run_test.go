package sim_test

import (
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// seeRun takes an event on the run.
func (j *judge) seeRun(e ledger.Event, payload any) error {
	s := j.live[e.Session]
	switch p := payload.(type) {
	case delivery.Started:
		j.set, j.known = p, slices.Clone(p.Settings.Experts)
	case delivery.Reason:
		switch e.Type {
		case delivery.RunPaused:
			j.paused = true
		case delivery.RunResumed:
			j.paused = false
		case delivery.RunCancelled:
			j.overAll()
		}
	case delivery.Finished:
		return j.runFinished(p)
	case delivery.Baseline:
		j.baselineChecked(p)
	case delivery.Granted:
		return j.sessionGranted(e, p)
	case delivery.Ended:
		return j.sessionEnded(e, s, p)
	case delivery.Spending:
		j.spent(s, p.Usage)
	case delivery.Reached:
		if !j.overBudget() {
			return breaks("agents are ended for a budget that is not used up")
		}
		for _, s := range j.live {
			s.over = s.over || !s.waiting
		}
	case delivery.Unknown:
		return j.ladder(e, s, p)
	case delivery.Turned:
		if e.Type == delivery.AnswerMissed {
			j.gaveUp(s)
		}
	case delivery.Question:
		return j.asked(s, p)
	case delivery.Answered:
		return j.answered(p)
	case delivery.Round:
		return j.round(e, s, p)
	case delivery.Repair:
		return j.repairChecked(p)
	case delivery.RepairReview:
		return j.repairReviewed(e, s, p)
	case work.Allowed:
		if j.approves() && !j.remediation.approved && j.set.Settings.Roles[agentsig.RoleCritic].Agent != delivery.Person {
			return breaks("the merge of the repair %s is allowed, and nobody has approved it", p.Commit)
		}
		if p.Commit != j.remediation.reviewed || p.Verdict != j.remediation.verdict || p.Task != delivery.RepairTask || p.Base != repairBase {
			return breaks("the merge of the repair %s is allowed by event %d, and event %d passed %q", p.Commit, p.Verdict, j.remediation.verdict, j.remediation.reviewed)
		}
	case delivery.RepairMerge:
		return j.repairMerged(e, p)
	case delivery.ExpertCall:
		return j.expert(e, s, p)
	case delivery.FileConflict:
		if s == nil || s.over {
			return breaks("a conflict of a session that is over")
		}
		j.over(s)
		delete(j.unknown, j.unknownKey(s))
		t := j.byID[p.Task]
		j.wrong(t, delivery.CauseConflict)
		t.conflict = &p
		if p.Attempt != t.count[delivery.CauseConflict] {
			return breaks("conflict %d is called %d", t.count[delivery.CauseConflict], p.Attempt)
		}
		t.asked = t.asked || !p.CanWait
	case delivery.Pause:
		if p.Until.After(j.waits[p.Provider]) {
			j.waits[p.Provider] = p.Until
		}
	case delivery.PullRequest:
		for _, t := range j.tasks {
			if t.phase == agentsig.PhaseCompleted && (!t.unchanged || j.repaired) {
				return nil
			}
		}
		return breaks("a pull request is opened, and nothing was merged")
	case delivery.OnTask:
		return j.onTaskEvent(e, s, p)
	case delivery.Amended:
		return j.amended(p)
	case delivery.Noted:
		j.created(p.Said)
	}
	return nil
}

func (j *judge) created(said work.Said) {
	if said.Signal == agentsig.KindExpertCreated && len(said.Subject) <= 64 && safetext.Escape(said.Subject) == said.Subject && !slices.Contains(j.known, said.Subject) {
		j.known = append(j.known, said.Subject)
	}
}

func (j *judge) onTaskEvent(e ledger.Event, s *sessionFacts, p delivery.OnTask) error {
	t := j.byID[p.Task]
	switch e.Type {
	case delivery.ConversationLost:
		if s == nil || s.resumes == "" {
			return breaks("%s loses a conversation, and went on with none", e.Session)
		}
		s.resumes, t.talk = "", talkFacts{spoilt: t.talk.spoilt}
	case delivery.TaskCancelled:
		j.cancel(t)
	case delivery.TaskRetried:
		j.takeBack(t)
		t.looked()
		t.cancelled, t.dropped = false, false
		j.overTask(t.id)
	}
	return nil
}

func (j *judge) cancel(t *taskFacts) {
	t.cancelled = true
	j.takeBack(t)
	j.overTask(t.id)
}

func (j *judge) takeBack(t *taskFacts) {
	for _, q := range j.openOn(t.id) {
		q.answered = true
	}
}

func (j *judge) runFinished(p delivery.Finished) error {
	j.finished = true
	done, unchanged, dropped := 0, 0, 0
	for _, t := range j.tasks {
		if t.unchanged {
			unchanged++
		}
		switch {
		case t.phase == agentsig.PhaseCompleted:
			done++
		case !j.stopping && !j.dead(t):
			return breaks("the run ends, and %s is in %s", t.id, t.phase)
		case t.dropped:
			dropped++
		}
	}
	switch {
	case len(j.live) > 0:
		return breaks("the run ends with %d sessions", len(j.live))
	case done != p.Completed || j.set.Tasks-done-dropped != p.Left || len(j.tasks) != j.set.Tasks && !j.stopping:
		return breaks("%d of %d tasks are completed, and it says %d, %d left", done, j.set.Tasks, p.Completed, p.Left)
	case unchanged != p.Unchanged:
		return breaks("%d tasks are completed without a change, and it says %d", unchanged, p.Unchanged)
	case (p.Outcome == delivery.Completed) != (p.Left == 0) && !j.stopping:
		return breaks("%s with %d left", p.Outcome, p.Left)
	case (p.Outcome == delivery.Cancelled || p.Outcome == delivery.Halted) != j.stopping:
		return breaks("%s, and ended by the operator: %v", p.Outcome, j.stopping)
	}
	return nil
}

func (j *judge) sessionGranted(e ledger.Event, p delivery.Granted) error {
	s := &sessionFacts{id: e.Session, task: p.Task, request: p.Request, role: p.Role, round: p.Round, commit: p.Commit}
	m := &j.remediation
	switch p.Role {
	case agentsig.RoleRemediation:
		switch {
		case !m.on || m.repaired:
			return breaks("remediation is started, and the last round waits for its audit")
		case p.Round > j.limits().RemediationRounds:
			return breaks("round %d of %d", p.Round, j.limits().RemediationRounds)
		}
		m.round = p.Round
	case agentsig.RoleHealthAuditor:
		if !m.on || !m.repaired || p.Round != m.round {
			return breaks("an audit of round %d without a repair", p.Round)
		}
	case agentsig.RoleCritic:
		if !m.on || m.gated == "" || p.Commit != m.gated || p.Round == 0 || p.Task != "" {
			return breaks("a critic is started on %q, and %q waits for one", p.Commit, m.gated)
		}
		if j.repairing() != "" {
			return breaks("a critic is started beside %s", j.repairing())
		}
	case agentsig.RoleExpert:
		c := j.calls[p.Request]
		if c == nil || c.done || c.failed || j.live[c.expert] != nil || c.attempts >= j.limits().ExpertAttempts {
			return breaks("an expert is started on %s, which is not open: %+v", p.Request, c)
		}
		c.expert = e.Session
	default:
		return breaks("%s holds items", p.Role)
	}
	for _, other := range j.live {
		if s.round != 0 && other.round != 0 && other.role == s.role {
			return breaks("two agents as %s", s.role)
		}
	}
	return j.start(e, s, p.Agent)
}

func (j *judge) sessionEnded(e ledger.Event, s *sessionFacts, p delivery.Ended) error {
	if s == nil {
		return breaks("the session %s ends, and is not there", e.Session)
	}
	delete(j.live, e.Session)
	j.spent(s, p.Usage)
	j.talkEnded(s, s.over, p)
	for _, c := range j.calls {
		if c.session == s.id && !c.done {
			c.done = true
			j.over(j.live[c.expert])
		}
	}
	if s.over {
		return nil
	}
	s.over = true
	switch p.How {
	case delivery.Limited, delivery.Stopped, delivery.Orphaned, delivery.Lost:
		return nil
	case delivery.TimedOut, delivery.Stalled:
		j.cameToNothing(s, delivery.CauseTimeouts)
	case delivery.Broken:
		j.cameToNothing(s, delivery.CauseObstacles)
	default:
		j.cameToNothing(s, delivery.CauseCrashes)
	}
	return nil
}

// spent counts what a session has used that was not told before.
func (j *judge) spent(s *sessionFacts, all delivery.Usage) {
	j.tokens += max(all.InputTokens-s.used.InputTokens, 0) + max(all.OutputTokens-s.used.OutputTokens, 0)
	j.cost += max(all.CostUSD-s.used.CostUSD, 0)
	s.used = all
}

func (j *judge) cameToNothing(s *sessionFacts, cause delivery.Cause) {
	switch {
	case s.request != "":
		j.calls[s.request].attempts++
	case s.round != 0:
		j.remediation.repaired = false
		j.sentBack()
	default:
		j.wrong(j.byID[s.task], cause)
	}
}

func (j *judge) gaveUp(s *sessionFacts) {
	if s != nil && !s.over {
		s.over, s.givenUp = true, true
		j.cameToNothing(s, delivery.CauseTimeouts)
	}
}

func (j *judge) unknownKey(s *sessionFacts) string {
	return s.task + "/" + s.request + "/" + string(s.role)
}

// ladder holds what is recorded of unknown output against the seed.
func (j *judge) ladder(e ledger.Event, s *sessionFacts, p delivery.Unknown) error {
	if s == nil || s.over {
		return breaks("output of a session that is over")
	}
	key := j.unknownKey(s)
	if p.TaskID == "" || s.task != "" && p.TaskID != s.task || p.AgentID != s.id {
		return breaks("it is about %s of %s", p.AgentID, p.TaskID)
	}
	j.unknown[key]++
	switch n := j.unknown[key]; {
	case e.Type == "agent_signal_failure":
		if n != 3 || p.Reason != "3_consecutive_unknown_signals" {
			return breaks("given up after %d, for %q", n, p.Reason)
		}
		j.unknown[key] = 0
		j.gaveUp(s)
	case e.Type != "unknown_signal_recovery" || n > 2 || p.Attempt != n || p.Level != []string{"warning", "error"}[n-1]:
		return breaks("output %d without a signal is called %d, %s", n, p.Attempt, p.Level)
	}
	return nil
}

func (j *judge) asked(s *sessionFacts, p delivery.Question) error {
	if j.questions[p.ID] != nil || p.Text == "" {
		return breaks("the question %s is there already, or says nothing", p.ID)
	}
	for _, q := range j.questions {
		if !q.answered && q.Task == p.Task && (q.Cause == p.Cause || p.Task != "") {
			return breaks("%s is asked while %s is open", p.ID, q.ID)
		}
	}
	j.questions[p.ID] = &questionFacts{Question: p}
	if s != nil {
		if s.over {
			return breaks("a question of a session that is over")
		}
		delete(j.unknown, j.unknownKey(s))
		j.over(s)
	}
	t := j.byID[p.Task]
	switch c := j.calls[p.Request]; {
	case p.Cause == delivery.CauseBudget && !j.overBudget():
		return breaks("asks about a budget that is not used up")
	case p.Cause == delivery.CauseExpertAttempts && c.attempts != j.limits().ExpertAttempts, p.Cause == delivery.CauseExpert && !c.failed && j.set.Settings.Roles[agentsig.RoleExpert].Agent != delivery.Person:
		return breaks("%s is asked for %s: %+v", p.ID, p.Cause, c)
	case p.Cause == delivery.CauseExpertRequests && s.asks != j.limits().ExpertRequests:
		return breaks("%s asked for an expert %d times of %d", s.id, s.asks, j.limits().ExpertRequests)
	case t != nil && p.Request == "":
		cannotWait := p.Cause == delivery.CauseConflict && t.asked
		if most := j.limitOf(p.Cause); most > 0 && t.count[p.Cause] < most && !cannotWait {
			return breaks("asked after %s went wrong %d of %d times", p.Cause, t.count[p.Cause], most)
		}
		t.asked = false
	case slices.Contains(p.Choices, delivery.ChooseAccept):
		if j.approves() && j.remediation.reviewed != "" && j.set.Settings.Roles[agentsig.RoleCritic].Agent != delivery.Person {
			break
		}
		if j.remediation.gated == "" || j.set.Settings.Roles[agentsig.RoleCritic].Agent != delivery.Person {
			return breaks("%s asks a person about the repair %q", p.ID, j.remediation.gated)
		}
	case p.Task == "" && p.Cause != delivery.CauseBudget:
		j.remediation.repaired, j.remediation.gated = false, ""
	}
	return nil
}

func (j *judge) answered(p delivery.Answered) error {
	q := j.questions[p.ID]
	if q == nil || q.answered {
		return breaks("%s is not open", p.ID)
	}
	q.answered = true
	m := &j.remediation
	switch t := j.byID[q.Task]; {
	case p.Choice == delivery.ChooseHalt:
		j.overAll()
	case q.Cause == delivery.CauseBudget:
		for j.raised++; j.overBudget(); j.raised++ {
		}
	case p.Choice == delivery.ChooseHealthy:
		m.healthy, m.verified, m.verify, m.declared = true, false, true, true
	case p.Choice == delivery.ChooseAccept && m.reviewed != "":
		m.approved = true
	case p.Choice == delivery.ChooseAccept:
		m.accepted = true
	case t == nil:
		m.repaired, m.gated, m.reviewed, m.accepted = false, "", "", false
		m.round, m.declared = 0, false
	case q.Request != "" && j.calls[q.Request].session != "" && j.live[j.calls[q.Request].session] != nil:
		j.calls[q.Request].failed = false
		j.calls[q.Request].expert = "advised"
	case p.Choice == delivery.ChooseCancel:
		j.cancel(t)
	default:
		t.looked()
	}
	return nil
}

func (j *judge) baselineChecked(p delivery.Baseline) {
	j.baseline = &p
	m := &j.remediation
	ok := p.Trouble == "" || m.declared
	for _, c := range p.Checks {
		if !c.Passed && m.declared {
			j.tolerated = append(j.tolerated, c.Name)
		}
		ok = ok && (c.Passed || slices.Contains(j.tolerated, c.Name))
	}
	if m.verify {
		m.verify, m.verified = false, ok
		if !ok {
			m.healthy = false
		}
		return
	}
	m.on = m.on || !ok
}

// round is a step of remediation.
func (j *judge) round(e ledger.Event, s *sessionFacts, p delivery.Round) error {
	m := &j.remediation
	switch e.Type {
	case delivery.RemediationStarted:
		*m = remediationFacts{on: true, round: p.Round}
		if p.Round != 1 {
			return breaks("it begins with round %d", p.Round)
		}
	case delivery.RemediationCompleted:
		if s == nil || s.over || s.role != agentsig.RoleRemediation || s.round != m.round {
			return breaks("round %d is completed by %s", m.round, e.Session)
		}
		m.repaired = true
		delete(j.unknown, j.unknownKey(s))
		j.over(s)
	case delivery.HealthAudited:
		if s == nil || s.over || s.role != agentsig.RoleHealthAuditor || !m.repaired {
			return breaks("round %d is audited by %s", m.round, e.Session)
		}
		m.repaired, m.healthy, m.verify = false, p.Healthy, p.Healthy
		delete(j.unknown, j.unknownKey(s))
		j.over(s)
	case delivery.RemediationEnded:
		if !m.healthy || !m.verified {
			return breaks("it ends, and nobody has seen a healthy environment: %+v", *m)
		}
		*m = remediationFacts{}
		for _, t := range j.tasks {
			if c := t.refused.cause; c == delivery.CauseGates || c == delivery.CauseMerges {
				t.refused = refusal{} // what failed may pass now
			}
		}
	}
	return nil
}

// expert is a step of a request for an expert.
func (j *judge) expert(e ledger.Event, s *sessionFacts, p delivery.ExpertCall) error {
	if c := j.calls[p.Request]; e.Type == delivery.ExpertFailed && e.Session == "" { // there is none where it is asked for
		if c == nil || c.done || c.failed || c.expert != "" && j.live[c.expert] != nil || j.sessions[c.session].runner == "" && p.Text == "" {
			return breaks("no expert comes for %s: %+v", p.Request, c)
		}
		c.failed, c.expert = true, "advised"
		return nil
	}
	if s == nil || s.over {
		return breaks("%s of a session that is over", e.Type)
	}
	delete(j.unknown, j.unknownKey(s))
	c := j.calls[p.Request]
	switch e.Type {
	case delivery.ExpertRequested:
		if s.asks++; c != nil || s.waiting || s.asks > j.limits().ExpertRequests || !slices.Contains(j.known, p.Target) {
			return breaks("the request %s for %q is number %d of %s", p.Request, p.Target, s.asks, s.id)
		}
		s.waiting = true
		j.calls[p.Request] = &callFacts{session: s.id, target: p.Target, task: p.Task}
	case delivery.ExpertRefused:
		s.asks++
		if slices.Contains(j.known, p.Target) && j.set.Settings.Roles[agentsig.RoleExpert].Agent != "" {
			return breaks("%s is refused, and known", p.Target)
		}
	case delivery.ExpertAdvised, delivery.ExpertFailed:
		if s.request != p.Request || c.done {
			return breaks("%s speaks of %s", s.id, p.Request)
		}
		c.failed = e.Type == delivery.ExpertFailed
		c.expert = "advised"
		j.over(s)
	case delivery.RequesterResumed:
		if !s.waiting || c.session != s.id || c.done || c.failed || c.expert != "advised" {
			return breaks("%s is resumed: %+v", s.id, c)
		}
		c.done, s.waiting = true, false
		return j.atOnce()
	}
	return nil
}
