package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// leaseTerm is how long a session's lease lasts without a renewal. The box renews
// it for as long as the session is in touch.
const leaseTerm = 10 * time.Minute

// Next says what is due without any input. The caller records it, folds it and
// asks again, until nothing is due.
func (r *Run) Next(m Moment) (Write, bool) {
	if !r.Live() || !r.Planned() && r.Stopping == "" {
		return Write{}, false
	}
	steps := []func(Moment) (Write, bool){r.nextRelease, r.nextFinish, r.nextBudget, r.nextLogin, r.nextTask, r.nextRemediation, r.nextRequest, r.nextStart}
	if r.Stopping != "" {
		steps = steps[:2]
	}
	for _, step := range steps {
		if w, ok := step(m); ok {
			return w, true
		}
	}
	return Write{}, false
}

// nextRelease gives back an item whose session has gone.
func (r *Run) nextRelease(Moment) (Write, bool) {
	for _, t := range r.Tasks {
		if l := t.Item.Lease; l != nil && l.Agent != "" && !l.ByPerson() && r.Sessions[t.Item.Session()] == nil {
			return t.do(work.Release{Token: l.Token}), true
		}
	}
	return Write{}, false
}

// nextFinish ends the run when nothing more can come of it.
func (r *Run) nextFinish(Moment) (Write, bool) {
	f, dropped := Finished{Outcome: Completed}, 0
	for _, t := range r.Tasks {
		switch {
		case t.Item.Phase == agentsig.PhaseCompleted:
			f.Completed++
			if t.Item.Unchanged() {
				f.Unchanged++
			}
		case r.Stopping == "" && !r.dead(t):
			return Write{}, false
		case t.Dropped:
			dropped++
		default:
			f.Outcome = Partial
			if r.dead(t) {
				f.GivenUp++
			}
		}
	}
	f.Left = r.Started.Tasks - f.Completed - dropped // also those that were never added
	if len(r.Sessions) > 0 {
		return Write{}, false
	}
	if r.publishes() {
		return Write{}, false
	}
	if r.Stopping != "" {
		f.Outcome = r.Stopping
	}
	return r.event(RunFinished, "", f), true
}

// publishes reports whether a pull request is still to be opened for what was merged.
func (r *Run) publishes() bool {
	return r.Settings.Publish && r.Publication == nil && r.Stopping == "" &&
		slices.ContainsFunc(r.Tasks, func(t *Task) bool {
			return t.Item.Phase == agentsig.PhaseCompleted && (!t.Item.Unchanged() || len(r.Repairs) > 0)
		})
}

// over reports whether every task is completed, or never will be.
func (r *Run) over() bool {
	return !slices.ContainsFunc(r.Tasks, func(t *Task) bool { return t.Item.Phase != agentsig.PhaseCompleted && !r.dead(t) })
}

// nextTask blocks, asks about or unblocks a task, completes it without a change, or has it merged without an audit.
func (r *Run) nextTask(Moment) (Write, bool) {
	for _, t := range r.Tasks {
		if r.dead(t) || t.Item.Lease != nil && !t.overtaken() || r.SessionOf(t.ID) != nil || t.Item.Phase == agentsig.PhaseCompleted {
			continue
		}
		block, unpaid := r.unpaid(t)
		switch blocked := t.Item.Phase == agentsig.PhaseBlocked; {
		case t.Anew != "":
			return t.do(work.Override{Actor: orSome(r.By, work.OperatorActor), Phase: t.Anew, Reason: "the plan was amended"}), true
		case !blocked && t.Need != nil:
			return t.do(work.Block{Cause: string(t.Need.Cause), Reason: cut(t.Need.Text)}), true
		case !blocked && t.Question != "":
			return t.do(work.Block{Cause: string(r.question(t.Question).Cause), Reason: "it waits for " + t.Question}), true
		case !blocked && t.Trouble:
			return t.do(work.Block{Cause: causeTrouble, Reason: "the environment has to be repaired"}), true
		case t.Missing != "" && t.Item.Phase == agentsig.PhaseCIPending:
			return t.do(work.Report{Commit: r.Base, Output: "The runner " + t.Missing + " has not handed in what was called ready: do again what is not there."}), true
		case t.Item.Agreed():
			return t.do(work.Leave{}), true
		case r.reviewSuffices(t):
			return t.do(work.Waive{Start: r.First}), true
		case !blocked && r.blocker(t) == "" && r.unplayed(t) != "":
			return t.do(work.Block{Cause: string(CauseRole), Reason: "nobody plays the role " + r.unplayed(t) + ", which is next: what now?"}), true
		case !blocked && unpaid:
			return t.do(block), true
		case blocked && t.Need != nil:
			return r.event(QuestionAsked, "", Question{
				ID: r.questionID(), Task: t.ID, Cause: t.Need.Cause, Text: cut(t.Need.Text), Context: cut(t.Need.Context), Choices: choices(t.Need.Cause),
			}), true
		case blocked && t.Question == "" && !t.Trouble:
			return t.do(work.Unblock{Reason: "what blocked it is out of the way"}), true
		}
	}
	return Write{}, false
}

// unplayed returns the role that is next on a task, if nobody plays it.
func (r *Run) unplayed(t *Task) string {
	role, ok := roleFor(t.Item.Phase)
	if !ok || t.Item.Judged() || r.Settings.Roles[role].Agent != "" {
		return ""
	}
	return string(role)
}

// causeTrouble marks a block that follows from trouble that is counted already.
const causeTrouble = "trouble"

func (r *Run) nextRemediation(at Moment) (Write, bool) {
	m := r.Remediation
	switch m.Stage {
	case "":
		task, cause := "", m.Cause
		for _, t := range r.Tasks {
			if t.Trouble && !r.dead(t) && t.Item.Phase == agentsig.PhaseBlocked && cause == "" {
				task, cause = t.ID, "the environment blocks "+t.ID+": "+t.trouble()
			}
		}
		if cause == "" {
			return Write{}, false
		}
		return r.event(RemediationStarted, "", Round{Round: 1, Task: task, Detail: cut(cause)}), true
	case StageVerify:
		if r.Baseline != nil {
			return r.event(RemediationEnded, "", Round{Round: m.Round, Healthy: true, Detail: m.leftOut(), Unchecked: r.declared()}), true
		}
	case StageAsked:
		if m.Question == "" {
			text := fmt.Sprintf("the environment is not healthy after %d rounds of remediation", m.Round)
			if m.Crashes >= r.Settings.Limits.Crashes {
				text = fmt.Sprintf("the environment is broken, and agents that should repair it crash (%d times)", m.Crashes)
			}
			return r.event(QuestionAsked, "", Question{
				ID: r.questionID(), Cause: CauseRemediation, Context: m.context(), Choices: remediationChoices,
				Text: text + ": retry, declare it healthy, or halt? " + r.healthyMeans(),
			}), true
		}
	case StageMerge:
		if !r.repairApproved() {
			return r.askAboutRepair("the critic accepts it, and you approve merges"), true
		}
	case StageRepair, StageAudit, StageReview:
		return r.nextRepairer(at)
	}
	return Write{}, false
}

// nextRepairer starts the agent that the stage of remediation is for.
func (r *Run) nextRepairer(at Moment) (Write, bool) {
	m, role := r.Remediation, stageRoles[r.Remediation.Stage]
	if r.Settings.Roles[role].Agent == "" {
		return r.event(QuestionAsked, "", Question{
			ID: r.questionID(), Cause: CauseRemediation, Context: m.context(), Choices: remediationChoices,
			Text: fmt.Sprintf("the environment is broken, and nobody plays the role %s: repair it and retry, declare it healthy, or halt? %s", role, r.healthyMeans()),
		}), true
	}
	if r.Settings.Roles[role].Agent == Person {
		return r.personReviewsRepair(), true
	}
	for _, s := range r.Sessions {
		if s.Round != 0 && (s.Role == role || m.Stage == StageReview) {
			return Write{}, false // nobody that can write is beside a critic
		}
	}
	switch place := r.place(role, at.Now); {
	case r.Paused, at.homeAway():
		return Write{}, false
	case place == WaitBudget:
		return r.askBudget()
	case place != "":
		return Write{}, false
	}
	g := Granted{Role: role, Agent: r.Settings.Roles[role].Agent, Round: m.Round}
	if m.Stage == StageReview {
		g.Commit = m.Repair.Commit
	}
	return r.grant(g), true
}

// context is what a person should know: what is broken, and how the last repair went.
func (m *Remediation) context() string {
	if m.Last == "" {
		return cut(m.Trouble())
	}
	return cutTo(m.Trouble(), maxText/2) + "\nThe last agent: " + cutTo(m.Last, maxText/3)
}

// trouble is what the last agent on a task said about the environment.
func (t *Task) trouble() string {
	for _, b := range slices.Backward(t.Briefs) {
		if b.From == fromTrouble || b.From == fromIncomplete {
			_, said, _ := strings.Cut(b.Text, "\n")
			return said
		}
	}
	return "nobody says how"
}

func (r *Run) grant(g Granted) Write {
	token := work.Token{Epoch: r.Epoch, Counter: r.Granted + 1}
	return r.event(SessionGranted, token.Session(r.Subject), g)
}

// nextRequest goes on with requests for experts.
func (r *Run) nextRequest(m Moment) (Write, bool) {
	for _, q := range r.Requests {
		asked := slices.ContainsFunc(r.Open(), func(a *Asked) bool { return a.Request == q.Request })
		s := r.Sessions[q.Session]
		switch {
		case s == nil || s.Over != "" || asked:
		case q.Advised:
			switch r.place(s.Role, m.Now) {
			case "":
				return r.event(RequesterResumed, s.ID, ExpertCall{Request: q.Request, Task: q.Task}), true
			case WaitBudget:
				if w, ok := r.askBudget(); ok {
					return w, true
				}
			}
		case q.Failed != "" || q.Attempts >= r.Settings.Limits.ExpertAttempts:
			cause, why := CauseExpert, "the expert "+q.Target+" can't help: what should the agent know?"
			if q.Failed == "" {
				cause, why = CauseExpertAttempts, fmt.Sprintf("the expert %s came to nothing %d times: what should the agent know?", q.Target, q.Attempts)
			}
			return r.event(QuestionAsked, "", Question{
				ID: r.questionID(), Task: q.Task, Request: q.Request, Cause: cause, Text: why,
				Context: cut(strings.TrimSpace(q.Failed + "\n" + q.Text)),
			}), true
		case r.Settings.Roles[agentsig.RoleExpert].Agent == Person:
			return r.event(QuestionAsked, "", Question{
				ID: r.questionID(), Task: q.Task, Request: q.Request, Cause: CauseExpert,
				Text: "the agent asks for the expert " + q.Target + ", which you are: what should it know?", Context: q.Text,
			}), true
		case q.Expert == "" && r.mayStart() && !m.homeAway() && r.expertFree(q.Target) && !r.lingers(q):
			switch r.place(agentsig.RoleExpert, m.Now) {
			case "":
				can, never := r.expertOn(s.Runner, m)
				switch {
				case never != "":
					return r.event(ExpertFailed, "", ExpertCall{Request: q.Request, Task: q.Task, Text: never}), true
				case can:
					return r.grant(Granted{Role: agentsig.RoleExpert, Agent: r.Settings.Roles[agentsig.RoleExpert].Agent, Task: q.Task, Request: q.Request, Runner: s.Runner}), true
				}
			case WaitBudget:
				if w, ok := r.askBudget(); ok {
					return w, true
				}
			}
		}
	}
	return Write{}, false
}

// lingers reports whether an expert that was given up is still to end.
func (r *Run) lingers(q *Request) bool {
	for _, s := range r.Sessions {
		if s.Request == q.Request {
			return true
		}
	}
	return false
}

func (r *Run) expertFree(target string) bool {
	n := 0
	for _, q := range r.Requests {
		if q.Target == target && q.Expert != "" {
			n++
		}
	}
	return n < r.Settings.Limits.ExpertAtOnce
}

// mayStart reports whether agents may be started at all.
func (r *Run) mayStart() bool {
	return !r.Paused && r.Stopping == "" && r.Baseline != nil && r.Remediation.Stage == "" && r.Remediation.Cause == ""
}

// place says what keeps an agent in a role from being started now: nothing, if it
// is empty.
func (r *Run) place(role agentsig.Role, now time.Time) Wait {
	all, same := 0, 0
	for _, s := range r.Sessions {
		if s.Working() {
			all++
			if s.Role == role {
				same++
			}
		}
	}
	p := r.Settings.Roles[role]
	switch {
	case r.Logins[p.Provider].Refused:
		return WaitLogin
	case r.Waits[p.Provider].After(now):
		return WaitProvider
	case all >= r.Settings.Limits.Agents:
		return WaitAgents
	case p.AtOnce > 0 && same >= p.AtOnce:
		return WaitRole
	case r.overBudget():
		return WaitBudget
	}
	return ""
}

// Why says what keeps a task from being worked on now; empty if nothing does.
func (r *Run) Why(t *Task, m Moment) Wait {
	role, ok := roleFor(t.Item.Phase)
	switch {
	case t.Item.Phase == agentsig.PhaseCompleted:
		return WaitCompleted
	case r.dead(t) || !r.Live():
		return WaitCancelled
	case t.Question != "" || t.Need != nil:
		return WaitQuestion
	case t.Trouble:
		return WaitEnvironment
	case r.proposed(t):
		return WaitPerson
	case m.homeAway() && (t.Item.Judged() || r.reviewSuffices(t) || t.Item.Phase == agentsig.PhaseCIPending):
		return WaitHome
	case t.Item.Judged() || r.reviewSuffices(t):
		return WaitMerge
	case t.Item.Phase == agentsig.PhaseCIPending:
		return WaitGate
	case !ok:
		return WaitBlocked
	case r.awaitsPerson(t):
		return WaitPerson
	case m.homeAway() && r.SessionOf(t.ID) != nil && r.SessionOf(t.ID).Runner == "": // its agent is there
		return WaitHome
	case t.Item.Lease != nil, r.SessionOf(t.ID) != nil:
		return WaitSession
	case r.blocker(t) != "":
		return WaitBlocker
	case r.unplayed(t) != "":
		return WaitNobody
	case t.Awaits != "" && r.Task(t.Awaits).Item.Phase != agentsig.PhaseCompleted && !r.dead(r.Task(t.Awaits)):
		return WaitDependency
	case t.Conflict != nil && t.Conflict.Until.After(m.Now) && !r.settled(t.Conflict.Holder):
		return WaitConflict
	case r.Paused:
		return WaitPaused
	case m.homeAway():
		return WaitHome
	case r.Baseline == nil && r.Remediation.Stage == "":
		return WaitBaseline
	case !r.mayStart():
		return WaitEnvironment
	}
	if w := r.place(role, m.Now); w != "" {
		return w
	}
	if _, held := r.Place(t, role, m); held != "" {
		return WaitRunner
	}
	return ""
}

// settled reports whether a task is known and will not change files any more.
func (r *Run) settled(task string) bool {
	t := r.Task(task)
	return t != nil && (t.Item.Phase == agentsig.PhaseCompleted || r.dead(t))
}

// nextStart chooses who is started: critics before auditors before developers,
// then what most other tasks depend on, then the plan's order.
func (r *Run) nextStart(m Moment) (Write, bool) {
	var ready []*Task
	budget := false
	for _, t := range r.Tasks {
		switch r.Why(t, m) {
		case "":
			ready = append(ready, t)
		case WaitBudget:
			budget = true
		}
	}
	if len(ready) == 0 {
		if budget {
			return r.askBudget()
		}
		return Write{}, false
	}
	t := slices.MinFunc(ready, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Dependents, a.Dependents))
	})
	role, _ := roleFor(t.Item.Phase)
	agent := r.Settings.Roles[role].Agent
	runner, _ := r.Place(t, role, m)
	grant := work.Grant{Epoch: r.Epoch, Actor: agent, Role: role, Agent: agent, TTL: leaseTerm, Runner: runner}
	if role == agentsig.RoleDeveloper {
		grant.Resumes, grant.Fresh = r.resumesOn(t, agent, runner, m)
	}
	return t.do(grant), true
}

// rank orders the phases by who is started first.
func rank(t *Task) int {
	switch t.Item.Phase {
	case agentsig.PhaseReadyForReview, agentsig.PhaseReview:
		return 0
	case agentsig.PhaseReadyForMerge:
		return 1
	}
	return 2
}

// ancestors finds all that a task waits for.
func (r *Run) ancestors(t *Task, seen map[string]bool) {
	for _, id := range t.BlockedBy {
		if b := r.Task(id); b != nil && !seen[id] {
			seen[id] = true
			r.ancestors(b, seen)
		}
	}
}

// Wake returns when Next may have something due because of the time alone; zero
// if only an input can bring it about.
func (r *Run) Wake(now time.Time) time.Time {
	var first time.Time
	sooner := func(t time.Time) {
		if t.After(now) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if !r.Live() {
		return first
	}
	for _, until := range r.Waits {
		sooner(until)
	}
	for _, t := range r.Tasks {
		if t.Conflict != nil && t.Question == "" && !r.dead(t) {
			sooner(t.Conflict.Until)
		}
	}
	return first
}
