package agentreply

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
)

// TaskView is a task, its run, and its work item. Work by hand has no run and no task: both are zero.
type TaskView struct {
	Run  api.Run
	Task api.Task
	Work api.Work
}

// TaskSnapshot is a task, or work by hand.
type TaskSnapshot struct {
	Head
	Run       string       `json:"run"`  // empty of work by hand
	Task      string       `json:"task"` // the same
	Work      string       `json:"work"` // the id that tools take
	Title     string       `json:"quoted_title"`
	Phase     string       `json:"phase"`
	Why       string       `json:"why"` // nobody is started on it; empty if nothing is in the way
	BlockedBy List[string] `json:"blocked_by"`
	Minutes   int          `json:"minutes"` // since its phase or holder changed
	AtWork    *Working     `json:"at_work"` // null if nobody is
	NeedsYou  *Need        `json:"needs_you"`
	Rework    int          `json:"sent_back"`   // how often, since a person looked at it
	Gates     int          `json:"gate_failed"` // how often in a row
	Claim     string       `json:"quoted_claim,omitempty"`
	Findings  string       `json:"quoted_findings,omitempty"`
	NoChange  string       `json:"quoted_no_change,omitempty"`
	Usage     Used         `json:"usage"`
	Branch    string       `json:"branch,omitempty"`
	Commit    string       `json:"commit,omitempty"` // that the gate spoke of last
}

// How much of a task a reply has, in bytes of JSON.
const (
	maxClaim    = 400
	maxFindings = 600
	maxCommit   = 64
)

// Task is the reply about a task.
func (who Reader) Task(v TaskView, now time.Time, file agentformat.File) agentformat.Response[TaskSnapshot] {
	return respond(agentformat.StatusSuccess, taskSnapshot(v, now, who.words(file)), file)
}

// WholeTask is what the file of a reply about a task has: the same keys, with nothing cut.
func (who Reader) WholeTask(v TaskView, now time.Time) TaskSnapshot {
	return taskSnapshot(v, now, who.whole())
}

func taskSnapshot(v TaskView, now time.Time, w words) TaskSnapshot {
	f := taskFacts(v, now)
	s := TaskSnapshot{
		Work: id(cmp.Or(v.Task.Work, v.Work.ID)), Title: w.quote(cmp.Or(v.Task.Title, v.Work.Title), maxTitle), Phase: known(phaseOf(v), phases),
		BlockedBy: List[string]{First: []string{}}, Minutes: minutes(v.Task.Since, now), Rework: v.Task.Rework, Gates: v.Task.GateFailed,
		NoChange: w.quote(cmp.Or(v.Task.NoChange, v.Work.NoChange), maxClaim), Usage: usedOf(v.Task.Usage, v.Task.Budget),
		Branch: plain(v.Work.Branch, inBranch, maxBranch), Commit: plain(v.Work.Commit, "", maxCommit),
	}
	if v.Run.ID != "" {
		s.Run = id(v.Run.ID)
	}
	if v.Task.ID != "" {
		s.Task = id(v.Task.ID)
	}
	if v.Task.Why != "" {
		s.Why = known(string(v.Task.Why), waits)
	}
	for _, b := range openBlockers(v) {
		is := id(b)
		if t := taskOf(v.Run, b); t != nil {
			is = workOf(*t)
		}
		s.BlockedBy.First = append(s.BlockedBy.First, is)
	}
	s.BlockedBy.Total = len(s.BlockedBy.First)
	if a := workerOf(v); a != nil {
		at := workingOf(&w, *a, now)
		at.Task = s.Work
		s.AtWork = &at
	}
	s.NeedsYou = f.need(&w)
	if c := v.Work.Claim; c != nil {
		s.Claim = w.quote(c.Text, maxClaim)
	}
	if c := v.Work.Findings; c != nil {
		s.Findings = w.quote(c.Text, maxFindings)
	}
	f.flagWaits(&s.flags)
	if v.Task.GateFailed > 0 && len(f.failing) > 0 {
		s.flags.add(FlagGateFailing, "the gate sent it back %s in a row; at its limit the box asks a person", times(v.Task.GateFailed))
	}
	f.flagTaskBudget(v, &s.flags)
	f.flagStalled(&s.flags)
	if len(f.unchanged) > 0 {
		s.flags.add(FlagNothingChanged, "it was completed without a change")
	}
	if f.unheld > 0 {
		s.flags.add(FlagUnprotected, "verdicts on it could be forged")
	}
	if f.unaudited > 0 {
		s.flags.add(FlagUnchecked, "no auditor has looked at it")
	}
	f.flagTask(v, &s.flags)
	s.Verdict = jsontext.Shorten(taskVerdict(v, f), maxVerdict)
	s.Next = jsontext.Shorten(w.who.task(v, f), maxNext)
	s.Cut = w.cut
	return s
}

// taskFacts are what is known of a task alone.
func taskFacts(v TaskView, now time.Time) facts {
	t := v.Task
	if t.ID == "" { // work by hand
		t = api.Task{ID: v.Work.ID, Work: v.Work.ID, Phase: v.Work.Phase, NoChange: v.Work.NoChange, Protection: delivery.Held}
	}
	one := api.Run{ID: v.Run.ID, State: v.Run.State, Tasks: []api.Task{t}}
	if t.Phase == agentsig.PhaseBlocked && t.Why == "" {
		one.State = api.RunWaiting
	}
	for _, q := range v.Run.Questions {
		if q.Task == t.ID && q.Task != "" || q.Work == t.Work && q.Work != "" {
			one.Questions = append(one.Questions, q)
		}
	}
	if t.Why == delivery.WaitLogin { // it is asked once, for all tasks
		for _, q := range v.Run.Questions {
			if q.Cause == delivery.CauseLogin && q.Task == "" && q.Asks() {
				one.Questions = append(one.Questions, q)
			}
		}
	}
	if len(one.Questions) == 0 && v.Work.Waits != nil {
		one.Questions = []api.Question{*v.Work.Waits}
	}
	return factsOf(one, now)
}

// need is the first of what waits for a person; nil if nothing does.
func (f *facts) need(w *words) *Need {
	if len(f.waiting) == 0 {
		return nil
	}
	n := needOf(w, f.waiting[0], f.now)
	return &n
}

func phaseOf(v TaskView) string { return cmp.Or(string(v.Task.Phase), string(v.Work.Phase)) }

// workerOf returns who works on a task.
func workerOf(v TaskView) *api.Agent {
	if a := v.Task.Agent; a != nil {
		return a
	}
	if h := v.Work.Holder; h != nil {
		return &api.Agent{Session: h.Session, Role: h.Role, Name: h.Actor}
	}
	return nil
}

// openBlockers are the tasks before this one that are not completed.
func openBlockers(v TaskView) []string {
	return slices.DeleteFunc(slices.Clone(v.Task.BlockedBy), func(id string) bool {
		t := taskOf(v.Run, id)
		return t != nil && t.Phase == agentsig.PhaseCompleted
	})
}

func taskOf(r api.Run, id string) *api.Task {
	i := slices.IndexFunc(r.Tasks, func(t api.Task) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return &r.Tasks[i]
}

func (f *facts) flagTaskBudget(v TaskView, to *flags) {
	switch s := share(v.Task.Budget, v.Task.Usage); {
	case s >= nearly:
		to.add(FlagOverBudget, "%s", usedUp("task", s))
	case v.Task.Why == delivery.WaitBudget:
		to.add(FlagOverBudget, "it waits because a budget is used up")
	}
}

// flagTask flags the state of a task: none goes without.
func (f *facts) flagTask(v TaskView, to *flags) {
	phase := known(phaseOf(v), phases)
	switch {
	case phaseOf(v) == string(agentsig.PhaseCompleted):
		to.add(FlagTaskCompleted, "it is completed")
	case v.Task.Why == delivery.WaitCancelled:
		to.add(FlagTaskCancelled, "it was given up in phase %s", phase)
	case phaseOf(v) == string(agentsig.PhaseBlocked):
		to.add(FlagTaskBlocked, "it is blocked")
	case phase == "other":
		to.add(FlagUnknownState, "it is in a phase that this version does not know")
	case workerOf(v) != nil:
		to.add(FlagTaskWorking, "%s works on it in phase %s", word(string(workerOf(v).Role)), phase)
	case v.Task.Why != "":
		to.add(FlagTaskWaiting, "it waits in phase %s: %s", phase, meaning(v.Task.Why))
	case v.Run.ID == "" && v.Work.BoxChecks:
		to.add(FlagTaskWaiting, "the box runs the checks on its branch")
	case v.Run.ID == "":
		to.add(FlagTaskReady, "nobody has claimed it, in phase %s", phase)
	default:
		to.add(FlagTaskReady, "nothing is in its way, in phase %s", phase)
	}
}

func taskVerdict(v TaskView, f facts) string {
	s := fmt.Sprintf("%s is in phase %s", id(cmp.Or(v.Task.Work, v.Work.ID)), known(phaseOf(v), phases))
	switch a := workerOf(v); {
	case a != nil:
		s += ", " + word(string(a.Role)) + " works on it"
	case v.Task.Why != "" && phaseOf(v) != string(agentsig.PhaseCompleted):
		s += ", " + meaning(v.Task.Why)
	}
	if len(f.waiting) > 0 {
		s += "; a person is awaited"
	}
	if n := v.Task.GateFailed; n > 0 && len(f.failing) > 0 {
		s += fmt.Sprintf("; sent back by the gate %s in a row", times(n))
	}
	return s
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (s TaskSnapshot) inRoom(bytes int) TaskSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent.
func (s TaskSnapshot) Capped() TaskSnapshot {
	cut := s.BlockedBy.keep(maxEntries)
	steps := []step{shorter(&s.Claim, 200), shorter(&s.Findings, 300), down(&s.BlockedBy, 1), shorter(&s.NoChange, 150)}
	if s.AtWork != nil {
		at := *s.AtWork
		s.AtWork = &at
		steps = append(steps, shorter(&at.Says, 0))
	}
	steps = append(steps, shorter(&s.Claim, 0), shorter(&s.Findings, 100))
	if s.NeedsYou != nil {
		need := *s.NeedsYou
		s.NeedsYou = &need
		steps = append(steps, need.steps()...)
	}
	steps = append(steps, shorter(&s.Findings, 0), shorter(&s.NoChange, 0), down(&s.BlockedBy, 0), shorter(&s.Title, 0), shorter(&s.Branch, 0))
	if s.fit(func() int { return jsontext.Length(s) }, steps...) || cut {
		s.Cut = true
	}
	return s
}
