package agentreply

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
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
	now        time.Time
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
	nowhere    []string // tasks that no machine which is there can go on with
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
		now: now, run: id(r.ID), total: len(r.Tasks), trouble: r.Trouble != "", spent: share(r.Budget, r.Usage), branch: plain(r.Branch, inBranch, maxBranch),
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
	is := workOf(t)
	over := t.Phase == agentsig.PhaseCompleted || t.Why == delivery.WaitCompleted
	switch {
	case over:
		f.done++
	case t.Why == delivery.WaitCancelled:
		f.cancelled++
		f.phases[phaseCancelled]++
	case t.Why != "" && t.Why != delivery.WaitSession:
		f.waitsByWhy[known(string(t.Why), waits)]++
	}
	if over || t.Why != delivery.WaitCancelled {
		f.phases[known(string(t.Phase), phases)]++
	}
	if !over {
		f.left = append(f.left, is)
	}
	if t.Waits.Nowhere {
		f.nowhere = append(f.nowhere, is)
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
	if len(f.nowhere) > 0 {
		to.add(FlagRunnerMissing, "%s", f.missing())
	}
	if n := len(f.unchanged); n > 0 {
		to.add(FlagNothingChanged, "%s completed without a change: %s", english.Count(n, "task"), named(f.unchanged))
	}
	switch {
	case f.unheld > 0 && r.State != api.RunDry:
		to.add(FlagUnprotected, "verdicts on %d of %s could be forged", f.unheld, english.Count(f.total, "task"))
	case len(r.Unprotected) > 0:
		to.add(FlagUnprotected, "verdicts of the run could be forged")
	}
	f.flagUnchecked(r, to)
	if r.Unpublished != "" {
		to.add(FlagNotPublished, "the pull request could not be opened")
	}
	switch n := len(f.paused); {
	case n == 1:
		to.add(FlagProviderPaused, "%s is paused by its usage limit until %s", f.provider(), f.until())
	case n > 1:
		to.add(FlagProviderPaused, "%d providers are paused by their usage limits; %s goes on first, at %s", n, f.provider(), f.until())
	}
}

func (f *facts) flagGate(round int, to *flags) {
	var about []string
	if len(f.failing) > 0 {
		about = append(about, f.sentBack())
	}
	if f.trouble {
		about = append(about, fmt.Sprintf("the checks fail because of the environment, not of a task: remediation repairs it, round %d", round))
	}
	if len(about) > 0 {
		to.add(FlagGateFailing, "%s; at a limit the box asks a person", strings.Join(about, "; "))
	}
}

// sentBack says what the gate sent back.
func (f *facts) sentBack() string {
	if len(f.failing) == 1 {
		return fmt.Sprintf("the gate sent %s back %s in a row", named([]string{workOf(f.failing[0])}), times(f.failing[0].GateFailed))
	}
	var ids []string
	for _, t := range f.failing {
		ids = append(ids, workOf(t))
	}
	return fmt.Sprintf("the gate sent %s back: %s", english.Count(len(ids), "task"), named(ids))
}

// provider is the first that goes on, of those that are paused. Its name is the person's own, from the settings.
func (f *facts) provider() string {
	if len(f.paused) == 0 {
		return ""
	}
	return cmp.Or(plain(f.paused[0].Name, inID, maxNamed), "a provider")
}

// until is when that one goes on.
func (f *facts) until() string {
	return fmt.Sprintf("%s (in %d min)", clock(f.paused[0].Until), f.pausedMinutes())
}

func (f *facts) pausedMinutes() int { return int(math.Ceil(f.paused[0].Until.Sub(f.now).Minutes())) }

func (f *facts) flagBudget(to *flags) {
	if b := f.budget(); b != "" {
		to.add(FlagOverBudget, "%s", b)
	}
}

// budget says which budget is used up, or nearly; nothing if none is.
func (f *facts) budget() string {
	asked := slices.ContainsFunc(f.waiting, func(q api.Question) bool { return q.Cause == delivery.CauseBudget })
	held := f.waitsByWhy[string(delivery.WaitBudget)]
	switch n := len(f.overspent); {
	case f.spent >= nearly:
		return usedUp("run", f.spent)
	case n > 0:
		return fmt.Sprintf("%s used %d %% of its budget or more: %s", verb(n, "task", "has", "have"), percent(nearly), named(f.overspent))
	case asked || held > 0:
		return fmt.Sprintf("a budget is used up: %s for it", verb(max(held, 1), "task", "waits", "wait"))
	}
	return ""
}

// usedUp says how much of a budget is used, and how much is left.
func usedUp(whose string, share float64) string {
	if share < 1 {
		p := min(percent(share), 99)
		return fmt.Sprintf("%d %% of the %s's budget is used, %d %% is left", p, whose, 100-p)
	}
	return fmt.Sprintf("the %s's budget is used up (%d %%)", whose, percent(share))
}

func (f *facts) flagStalled(to *flags) {
	if len(f.stalled) > 0 {
		to.add(FlagStalled, "%s", f.silence())
	}
}

// silence says of which agents nothing is heard.
func (f *facts) silence() string {
	var on []string
	quiet := 0
	for _, a := range f.stalled {
		on = append(on, cmp.Or(plain(a.Task, inID, maxID), word(string(a.Role))))
		if !a.Away {
			quiet++
		}
	}
	switch n := len(on); {
	case n > 1:
		return fmt.Sprintf("%d agents are quiet for %d min or more, %d out of touch with the box: %s", quiet, int(quietTime.Minutes()), n-quiet, named(on))
	case quiet == 1:
		return fmt.Sprintf("the agent on %s is quiet for %d min", named(on), minutes(f.stalled[0].QuietFrom, f.now))
	}
	return fmt.Sprintf("the agent on %s is out of touch with the box", named(on))
}

// missing says which tasks no machine that is there can go on with.
func (f *facts) missing() string {
	return fmt.Sprintf("%s for a runner that is not there: %s", verb(len(f.nowhere), "task", "waits", "wait"), named(f.nowhere))
}

func (f *facts) flagUnchecked(r api.Run, to *flags) {
	if about := f.unchecked(r); len(about) > 0 {
		to.add(FlagUnchecked, "%s", strings.Join(about, "; "))
	}
}

// unchecked says what does not judge the work, though it usually does.
func (f *facts) unchecked(r api.Run) (about []string) {
	if r.Checks == 0 {
		about = append(about, "no checks are configured")
	}
	if r.Unchecked != "" {
		about = append(about, "failing checks are let pass")
	}
	if f.unaudited > 0 || r.Unaudited != "" {
		about = append(about, "no auditor looks at the tasks")
	}
	return about
}

// buts are what takes from the worth of tasks that are closed: a person has to know it before they use the work.
func (f *facts) buts(r api.Run) (about []string) {
	switch n := len(f.unchanged); {
	case n > 0 && n == f.done:
		about = append(about, "nothing was changed and nothing was merged")
	case n > 0:
		about = append(about, fmt.Sprintf("%d of them changed nothing", n))
	}
	if f.unheld > 0 || len(r.Unprotected) > 0 {
		about = append(about, "verdicts on the work could be forged")
	}
	about = append(about, f.unchecked(r)...)
	if r.Unpublished != "" {
		about = append(about, "the pull request could not be opened")
	}
	return about
}

// news are what a person should be told of a run that goes on, besides what waits for them.
func (f *facts) news() (all []string) {
	if len(f.stalled) > 0 {
		all = append(all, f.silence())
	}
	if len(f.nowhere) > 0 {
		all = append(all, f.missing())
	}
	if len(f.failing) > 0 {
		all = append(all, f.sentBack())
	}
	if b := f.budget(); b != "" {
		all = append(all, b)
	}
	return all
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

// phaseCancelled stands, among phases, for tasks that were given up, whatever phase they were in.
const phaseCancelled = "CANCELLED"

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

// verb is a number and what it counts with a verb behind it, for one or for many.
func verb(n int, what, one, many string) string {
	return english.Count(n, what) + " " + english.Word(n, one, many)
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
