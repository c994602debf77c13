package agentreply

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// quietTime is how long nothing may be heard of an agent before it counts as stalled: twice as long as the box waits, by
// default, before it asks the agent for progress. An agent that is thinking has been asked by then, and has answered.
const quietTime = 10 * time.Minute

// startTime is how long an agent may take until it is in touch with the box.
const startTime = time.Minute

// nearly is which share of a budget is told before it is used up.
const nearly = 0.8

// facts are what flags, verdict and next step are made of: all of a run.
type facts struct {
	run        string
	done       int
	total      int
	cancelled  int
	left       []string       // tasks that are not done
	waiting    []api.Question // oldest first
	questions  []string       // ids of those that are to be answered
	reviews    []string       // work that a person has a part in
	failing    []api.Task     // sent back by the gate
	trouble    bool           // remediation is on
	stalled    []api.Agent
	unchanged  []string // tasks that were completed without a change
	unaudited  int
	unheld     int     // tasks whose verdicts could be forged
	spent      float64 // share of the run's budget
	overspent  []string
	paused     []api.Provider
	working    []api.Agent
	branch     string
	pr         string
	waitsByWhy map[string]int
	phases     map[string]int
}

func factsOf(r api.Run, now time.Time) facts {
	f := facts{
		run: id(r.ID), total: len(r.Tasks), trouble: r.Trouble != "", spent: share(r.Budget, r.Usage), branch: plain(r.Branch, inBranch, maxBranch),
		waitsByWhy: map[string]int{}, phases: map[string]int{},
	}
	if a := plain(r.PullRequest, inAddress, maxAddress); strings.HasPrefix(a, "https://") || strings.HasPrefix(a, "http://") {
		f.pr = a
	}
	f.wait(r.Questions)
	for _, t := range r.Tasks {
		f.task(t)
	}
	for _, a := range r.Others {
		if a.Task != "" {
			a.Task = id(r.ID + "." + a.Task)
		}
		f.working = append(f.working, a)
	}
	for _, a := range f.working {
		if r.State != api.RunStopped && r.State != api.RunFinished && stalled(a, now) {
			f.stalled = append(f.stalled, a)
		}
	}
	for _, p := range r.Providers {
		if p.Until.After(now) {
			f.paused = append(f.paused, p)
		}
	}
	slices.SortStableFunc(f.paused, func(a, b api.Provider) int { return a.Until.Compare(b.Until) })
	return f
}

// wait takes what waits for a person.
func (f *facts) wait(questions []api.Question) {
	f.waiting = slices.Clone(questions)
	slices.SortStableFunc(f.waiting, func(a, b api.Question) int { return a.AskedAt.Compare(b.AskedAt) })
	for _, q := range f.waiting {
		if q.Asks() {
			f.questions = append(f.questions, id(q.ID))
		} else {
			f.reviews = append(f.reviews, id(q.Work))
		}
	}
}

// task takes a task.
func (f *facts) task(t api.Task) {
	f.phases[known(string(t.Phase), phases)]++
	is := workOf(t)
	over := t.Phase == agentsig.PhaseCompleted || t.Why == delivery.WaitCompleted
	switch {
	case over:
		f.done++
	case t.Why == delivery.WaitCancelled:
		f.cancelled++
	case t.Why != "" && t.Why != delivery.WaitSession:
		f.waitsByWhy[known(string(t.Why), waits)]++
	}
	if !over {
		f.left = append(f.left, is)
	}
	if over && t.NoChange != "" {
		f.unchanged = append(f.unchanged, is)
	}
	if !over && t.GateFailed > 0 && t.Why != delivery.WaitCancelled {
		f.failing = append(f.failing, t)
	}
	if t.Unaudited {
		f.unaudited++
	}
	if t.Protection == delivery.Unheld {
		f.unheld++
	}
	if !over && share(t.Budget, t.Usage) >= nearly {
		f.overspent = append(f.overspent, is)
	}
	if t.Agent != nil {
		a := *t.Agent
		a.Task = is
		f.working = append(f.working, a)
	}
}

// workOf is the id of a task that tools and commands take: it has its run's before it.
func workOf(t api.Task) string { return id(cmp.Or(t.Work, t.ID)) }

// share is how much of a budget is used.
func share(b delivery.Spend, u delivery.Usage) float64 {
	s := b.Share(u)
	if math.IsNaN(s) || s < 0 {
		return 0
	}
	return min(s, 1000)
}

// stalled reports whether an agent was not heard of for long, or is out of touch with the box. One that waits for an expert
// need not be heard of, and neither need one that ends.
func stalled(a api.Agent, now time.Time) bool {
	if a.Ending != "" || a.Waiting != "" {
		return false
	}
	if a.Away {
		return now.Sub(a.StartedAt) >= startTime
	}
	return !a.QuietFrom.IsZero() && now.Sub(a.QuietFrom) >= quietTime
}

// flagWaits flags what waits for a person.
func (f *facts) flagWaits(to *flags) {
	if n := len(f.questions); n > 0 {
		to.add(FlagQuestionWaiting, "%s for a person: %s", verb(n, "question", "waits", "wait"), named(f.questions))
	}
	if n := len(f.reviews); n > 0 {
		to.add(FlagReviewWaiting, "%s for a person: %s", verb(n, "task", "waits", "wait"), named(f.reviews))
	}
}

// flagAll flags all that is out of the ordinary in a run, but for its state.
func (f *facts) flagAll(r api.Run, to *flags) {
	f.flagWaits(to)
	if r.Distrust != "" {
		to.add(FlagDistrusted, "what agents follow was changed by somebody, so the box paused the run")
	}
	f.flagGate(r.Round, to)
	f.flagBudget(to)
	f.flagStalled(to)
	if n := len(f.unchanged); n > 0 {
		to.add(FlagNothingChanged, "%s completed without a change: %s", counted(n, "task"), named(f.unchanged))
	}
	switch {
	case f.unheld > 0 && r.State != api.RunDry:
		to.add(FlagUnprotected, "verdicts on %d of %s could be forged", f.unheld, counted(f.total, "task"))
	case len(r.Unprotected) > 0:
		to.add(FlagUnprotected, "verdicts of the run could be forged")
	}
	f.flagUnchecked(r, to)
	if r.Unpublished != "" {
		to.add(FlagNotPublished, "the pull request could not be opened")
	}
	if n := len(f.paused); n > 0 {
		to.add(FlagProviderPaused, "%s paused by a usage limit, the first until %s", verb(n, "provider", "is", "are"), clock(f.paused[0].Until))
	}
}

func (f *facts) flagGate(round int, to *flags) {
	var about []string
	if n := len(f.failing); n > 0 {
		var ids []string
		for _, t := range f.failing {
			ids = append(ids, workOf(t))
		}
		about = append(about, fmt.Sprintf("%s sent back by the gate: %s", counted(n, "task"), named(ids)))
	}
	if f.trouble {
		about = append(about, fmt.Sprintf("remediation is at work on the environment, round %d", round))
	}
	if len(about) > 0 {
		to.add(FlagGateFailing, "%s", strings.Join(about, "; "))
	}
}

func (f *facts) flagBudget(to *flags) {
	asked := slices.ContainsFunc(f.waiting, func(q api.Question) bool { return q.Cause == delivery.CauseBudget })
	held := f.waitsByWhy[string(delivery.WaitBudget)]
	switch n := len(f.overspent); {
	case f.spent >= 1:
		to.add(FlagOverBudget, "the run's budget is used up (%d %%)", percent(f.spent))
	case f.spent >= nearly:
		to.add(FlagOverBudget, "%d %% of the run's budget are used", percent(f.spent))
	case n > 0:
		to.add(FlagOverBudget, "%s used most of its budget, or all: %s", verb(n, "task", "has", "have"), named(f.overspent))
	case asked || held > 0:
		to.add(FlagOverBudget, "a budget is used up: %s for it", verb(max(held, 1), "task", "waits", "wait"))
	}
}

func (f *facts) flagStalled(to *flags) {
	if n := len(f.stalled); n > 0 {
		var on []string
		for _, a := range f.stalled {
			on = append(on, cmp.Or(plain(a.Task, inID, maxID), word(string(a.Role))))
		}
		to.add(FlagStalled, "%s quiet for %d min or more, or out of touch: %s", verb(n, "agent", "is", "are"), int(quietTime.Minutes()), named(on))
	}
}

func (f *facts) flagUnchecked(r api.Run, to *flags) {
	var about []string
	if r.Checks == 0 {
		about = append(about, "no checks are configured")
	}
	if r.Unchecked != "" {
		about = append(about, "failing checks are let pass")
	}
	if f.unaudited > 0 || r.Unaudited != "" {
		about = append(about, "no auditor looks at the tasks")
	}
	if len(about) > 0 {
		to.add(FlagUnchecked, "%s", strings.Join(about, "; "))
	}
}

// phases and waits are the words that a reply knows.
var (
	phases = func() (all []string) {
		for _, p := range agentsig.Phases() {
			all = append(all, string(p))
		}
		return all
	}()
	waits = func() (all []string) {
		for _, w := range delivery.Waits() {
			all = append(all, string(w))
		}
		return all
	}()
)

// known returns a word if it is one of these.
func known(s string, all []string) string {
	if slices.Contains(all, s) {
		return s
	}
	return "other"
}

// word returns a role, a cause or the like.
func word(s string) string { return cmp.Or(plain(s, "_", 24), noID) }

// named lists ids, as many as there is room for in a flag, and the number of the others.
func named(ids []string) string {
	shown := ""
	for i, one := range ids {
		if len(shown)+len(one) > maxNamed {
			if shown == "" {
				return "ids in the snapshot"
			}
			return fmt.Sprintf("%s and %d more", shown, len(ids)-i)
		}
		if i > 0 {
			shown += ", "
		}
		shown += one
	}
	return shown
}

// counted writes a number and what it counts: 1 task, 2 tasks.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// verb is counted with a verb behind it, for one or for many.
func verb(n int, what, one, many string) string {
	if n == 1 {
		return counted(n, what) + " " + one
	}
	return counted(n, what) + " " + many
}

func percent(share float64) int { return int(math.Round(share * 100)) }

// clock writes a time as every reply does.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// minutes is how long ago a time is; 0 if it is not known.
func minutes(since, now time.Time) int {
	if since.IsZero() {
		return 0
	}
	return max(0, int(now.Sub(since).Minutes()))
}

// Used is what was used, and of how much.
type Used struct {
	Tokens       int64   `json:"tokens"`
	CostUSD      float64 `json:"cost_usd"`
	BudgetTokens int64   `json:"budget_tokens,omitempty"` // not there if there is no bound
	BudgetUSD    float64 `json:"budget_usd,omitempty"`
	Percent      int     `json:"budget_percent,omitempty"` // of the budget of which more is used
}

func usedOf(u delivery.Usage, b delivery.Spend) Used {
	return Used{u.Tokens(), agentformat.Round(u.CostUSD, 4), b.Tokens, agentformat.Round(b.CostUSD, 4), percent(share(b, u))}
}
