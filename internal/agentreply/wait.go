package agentreply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/safetext"
)

// meanings say why nobody is started on a task.
var meanings = map[delivery.Wait]string{
	delivery.WaitCompleted:   "it is completed",
	delivery.WaitCancelled:   "it was cancelled, or depends on a task that was",
	delivery.WaitQuestion:    "a person has to answer a question",
	delivery.WaitEnvironment: "the environment has to be repaired first",
	delivery.WaitMerge:       "it is about to be merged",
	delivery.WaitGate:        "the gate runs its checks",
	delivery.WaitBlocked:     "it is blocked",
	delivery.WaitSession:     "somebody works on it",
	delivery.WaitBlocker:     "a task that the plan puts before it is not completed",
	delivery.WaitNobody:      "nobody plays the role that is next",
	delivery.WaitPerson:      "a person plays the role that is next, or has taken it",
	delivery.WaitDependency:  "it turned out to depend on another task that is not completed",
	delivery.WaitConflict:    "another task changes the same files",
	delivery.WaitPaused:      "the run is paused",
	delivery.WaitHome:        "the box in whose directory the run was started is not reached",
	delivery.WaitBaseline:    "the first checks of the run are not over",
	delivery.WaitProvider:    "the provider's usage limit is reached",
	delivery.WaitLogin:       "the provider refuses the login of its agents",
	delivery.WaitAgents:      "as many agents are at work as may be",
	delivery.WaitRole:        "as many agents are at work in the role as may be",
	delivery.WaitBudget:      "the budget is used up",
	delivery.WaitRunner:      "no runner that fits has a free place",
}

// meaning says why nobody is started on a task.
func meaning(w delivery.Wait) string {
	if m, ok := meanings[w]; ok {
		return m
	}
	return "it waits for something that this version does not know"
}

// WaitSnapshot says why a task waits.
type WaitSnapshot struct {
	Head
	Run    string       `json:"run"` // empty of work by hand
	Task   string       `json:"task"`
	Why    string       `json:"why"` // empty if nothing is in the way
	Means  string       `json:"means"`
	Chain  List[Waiter] `json:"chain"` // the task, what it waits for, what that waits for, up to the cause
	Until  string       `json:"until,omitempty"`
	Need   *Need        `json:"needs_you"`              // what the cause waits for, if that is a person; otherwise null
	Quoted string       `json:"quoted_waits,omitempty"` // what a person is shown
}

// Waiter is a task of such a chain.
type Waiter struct {
	Task  string `json:"task"`
	Phase string `json:"phase"`
	Why   string `json:"why"`
}

// maxChain is how many tasks of a chain a reply has.
const maxChain = 8

// Wait is the reply to the question why a task waits. It follows what the task waits for to the cause.
func (who Reader) Wait(v TaskView, now time.Time) agentformat.Response[WaitSnapshot] {
	w := who.words(agentformat.File{})
	chain := chainOf(v.Run, v.Task)
	last := chain[len(chain)-1]
	root := TaskView{Run: v.Run, Task: last}
	if len(chain) == 1 {
		root.Work = v.Work
	}
	f := taskFacts(root, now)
	s := WaitSnapshot{
		Task: id(cmp.Or(v.Task.Work, v.Task.ID, v.Work.ID)), Means: "nothing is in its way", Chain: List[Waiter]{len(chain), []Waiter{}}, Quoted: w.quote(v.Task.Waits.Text, maxTitle),
	}
	if v.Run.ID != "" {
		s.Run = id(v.Run.ID)
	}
	if v.Task.Why != "" {
		s.Why, s.Means = known(string(v.Task.Why), waits), meaning(v.Task.Why)
	}
	for _, t := range chain {
		one := Waiter{Task: id(cmp.Or(t.Work, t.ID, v.Work.ID)), Phase: known(cmp.Or(string(t.Phase), string(v.Work.Phase)), phases)}
		if t.Why != "" {
			one.Why = known(string(t.Why), waits)
		}
		s.Chain.First = append(s.Chain.First, one)
	}
	s.Need = f.need(&w)
	all := factsOf(v.Run, now)
	if last.Why == delivery.WaitProvider && len(all.paused) > 0 {
		s.Until = all.until()
		s.flags.add(FlagProviderPaused, "%s is paused by its usage limit until %s", all.provider(), s.Until)
	}
	f.flagWaits(&s.flags)
	f.flagStalled(&s.flags)
	if f.trouble = v.Run.Trouble != "" && last.Why == delivery.WaitEnvironment; f.trouble || len(f.failing) > 0 {
		f.flagGate(v.Run.Round, &s.flags)
	}
	f.flagTaskBudget(root, &s.flags)
	f.flagTask(v, &s.flags)
	s.Verdict = s.Task + ": " + s.Means
	if len(chain) > 1 {
		s.Verdict = fmt.Sprintf("%s: %s; the cause is %s: %s", s.Task, s.Means, workOf(last), causeOf(last))
	}
	s.Verdict, s.Next = jsontext.Shorten(s.Verdict, maxVerdict), jsontext.Shorten(who.task(root, f), maxNext)
	s.Cut = w.cut
	return respond(agentformat.StatusSuccess, s, agentformat.File{})
}

func causeOf(t api.Task) string {
	switch {
	case t.Agent != nil:
		return word(string(t.Agent.Role)) + " works on it"
	case t.Why == "":
		return "nothing is in its way, an agent is started next"
	}
	return meaning(t.Why)
}

// chainOf follows what a task waits for: the first open task before it, and so on. No task is in it twice.
func chainOf(r api.Run, t api.Task) []api.Task {
	chain := []api.Task{t}
	for {
		last := chain[len(chain)-1]
		if last.Why != delivery.WaitBlocker && last.Why != delivery.WaitDependency {
			return chain
		}
		ids := openBlockers(TaskView{Run: r, Task: last})
		if last.Why == delivery.WaitDependency {
			ids = []string{strings.TrimPrefix(last.Waits.Text, "for ")}
		}
		var next *api.Task
		for _, one := range ids {
			o := taskOf(r, one)
			if o == nil || slices.ContainsFunc(chain, func(t api.Task) bool { return t.ID == o.ID }) {
				continue
			}
			if next == nil || next.Agent != nil && o.Agent == nil { // one that nobody works on is the worse news
				next = o
			}
		}
		if next == nil {
			return chain
		}
		chain = append(chain, *next)
	}
}

// task says in one line what to do about a task.
func (who Reader) task(v TaskView, f facts) string {
	is := id(cmp.Or(v.Task.Work, v.Work.ID))
	login := ""
	if v.Task.Why == delivery.WaitLogin {
		login = "tell the person that the provider refuses the login of its agents: they log in first, and no agent is started before the question is answered; "
	}
	switch {
	case phaseOf(v) == string(agentsig.PhaseCompleted) && v.Task.NoChange != "":
		return "tell the person that it is completed without a change, and why; nothing was merged for it"
	case phaseOf(v) == string(agentsig.PhaseCompleted):
		return "nothing: it is completed; get_diff shows its change"
	case len(f.waiting) > 0 && v.Run.State == api.RunStopped && v.Run.Distrust == "":
		return who.stopped() + "; then " + who.need(f.waiting, " (list_questions has all of them)")
	case len(f.waiting) > 0:
		return login + who.need(f.waiting, " (list_questions has all of them)") + "; then " + who.wait()
	case v.Run.State == api.RunFinished:
		return "nothing: its run has ended without it; tell the person"
	case v.Task.Why == delivery.WaitCancelled:
		return "nothing, unless the person wants it done: then " + who.retry(is)
	case len(f.stalled) > 0:
		return who.stalled(is)
	case v.Run.Distrust != "":
		return nextDistrusted(v.Run, "get_run has it")
	case v.Run.State == api.RunStopped:
		return who.stopped() + "; then " + who.wait()
	case v.Run.State == api.RunPaused || v.Task.Why == delivery.WaitPaused:
		return who.paused(id(v.Run.ID))
	case v.Run.ID == "" && workerOf(v) != nil:
		return "nothing to decide: somebody holds it; look again later with get_task"
	case v.Run.ID == "" && v.Work.BoxChecks:
		return "nothing to decide: the box runs the checks; look again later with get_task"
	case v.Run.ID == "" && phaseOf(v) != string(agentsig.PhaseBlocked):
		return "it is work by hand, and waits for somebody who claims it: signalbox claim " + safetext.ShellWord(is)
	case workerOf(v) != nil:
		return "nothing to decide: somebody works on it; " + who.wait()
	}
	switch v.Task.Why {
	case delivery.WaitBlocked, delivery.WaitNobody:
		return "tell the person that it is stuck, and show them the flags; once the cause is mended, " + who.retry(is)
	case delivery.WaitLogin:
		return "tell the person that the provider refuses the login of its agents: they log in; call list_questions, where they are asked whether to go on"
	case delivery.WaitBudget:
		return "tell the person that the budget is used up; call list_questions, where they are asked whether to go on"
	case delivery.WaitProvider:
		if all := factsOf(v.Run, f.now); len(all.paused) > 0 {
			return "nothing can be done before " + all.until() + ": it goes on by itself; " + who.wait()
		}
	case delivery.WaitBlocker, delivery.WaitDependency:
		return "nothing to decide about it: call explain_wait to see what holds up the tasks before it, or " + strings.TrimPrefix(who.wait(), "call ")
	}
	if phaseOf(v) == string(agentsig.PhaseBlocked) {
		return "tell the person that it is blocked; once the cause is mended, " + who.retry(is)
	}
	return "nothing to decide, it goes on by itself: " + who.wait()
}

func (s WaitSnapshot) inRoom(bytes int) WaitSnapshot { s.room = bytes; return s }

// Capped is the snapshot as it is sent. Of a long chain it has the beginning, and the cause last.
func (s WaitSnapshot) Capped() WaitSnapshot {
	cut := false
	if n := len(s.Chain.First); n > maxChain {
		s.Chain.First = append(slices.Clone(s.Chain.First[:maxChain-1]), s.Chain.First[n-1])
		cut = true
	}
	drop := func() bool { // the last but one
		n := len(s.Chain.First)
		if n < 2 {
			return s.Chain.keep(0)
		}
		s.Chain.First = append(slices.Clone(s.Chain.First[:n-2]), s.Chain.First[n-1])
		return true
	}
	steps := []step{shorter(&s.Quoted, 0)}
	if s.Need != nil {
		need := *s.Need
		s.Need = &need
		steps = append(steps, need.steps()...)
	}
	if s.fit(func() int { return jsontext.Length(s) }, append(steps, drop)...) || cut {
		s.Cut = true
	}
	return s
}
