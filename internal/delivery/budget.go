package delivery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Budget bounds what a run may use, each of its tasks and each turn of an agent; 0 is no bound.
type Budget struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
	Task    Spend   `json:"task,omitzero"`
	Turn    Spend   `json:"turn,omitzero"`
}

// Spend is how much may be used; what is 0 has no bound.
type Spend struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// Share returns how much of it is used: 1 if it is used up, 0 if there is no bound.
func (s Spend) Share(u Usage) float64 {
	share := 0.0
	if s.Tokens > 0 {
		share = float64(u.Tokens()) / float64(s.Tokens)
	}
	if s.CostUSD > 0 {
		share = max(share, u.CostUSD/s.CostUSD)
	}
	return share
}

func (s Spend) times(n int) Spend { return Spend{s.Tokens * int64(n), s.CostUSD * float64(n)} }

// left returns what is left of it. It is asked about what is not used up: 0 would be no bound.
func (s Spend) left(u Usage) Spend {
	if s.Tokens > 0 {
		s.Tokens = max(s.Tokens-u.Tokens(), 1)
	}
	if s.CostUSD > 0 {
		s.CostUSD = max(s.CostUSD-u.CostUSD, LeastUSD)
	}
	return s
}

// LeastUSD is what is left of a budget that is used up, for programs that are bound to an amount: 0 would be no bound.
const LeastUSD = 1e-6

// Scope is what a budget is for.
type Scope string

// The scopes.
const (
	ScopeRun  Scope = "run"
	ScopeTask Scope = "task"
	ScopeTurn Scope = "turn"
)

// Leave is how far a person lets a task go beyond a budget.
type Leave struct {
	Raised int  // how often it may use as much again
	Lifted bool // the budget does not count for it
}

func (l Leave) of(s Spend) Spend {
	if l.Lifted {
		return Spend{}
	}
	return s.times(1 + l.Raised)
}

// Allowance is what a session may use: in all of its turns of what is left of its run's and its task's
// budget, and in each turn.
type Allowance struct {
	Run  Spend `json:"run,omitzero"`
	Task Spend `json:"task,omitzero"`
	Turn Spend `json:"turn,omitzero"`
}

// Allowance returns what a session may use that is started now. Who advises on a task or repairs the environment is
// not bound by a task's budget.
func (r *Run) Allowance(s *Session) Allowance {
	a := Allowance{Run: r.RunBudget().left(r.Used), Turn: r.Settings.Budget.Turn}
	if t := r.Task(s.Task); t != nil && s.Holds() {
		a.Task, a.Turn = r.TaskBudget(t).left(t.Used), t.TurnLeave.of(a.Turn)
	}
	return a
}

// run is what a run may use before a person is asked.
func (b Budget) run() Spend { return Spend{b.Tokens, b.CostUSD} }

// RunBudget is what the run may use before a person is asked, with what they have added to it.
func (r *Run) RunBudget() Spend { return r.Settings.Budget.run().times(1 + r.Raised) }

// TaskBudget is what a task may use before a person is asked.
func (r *Run) TaskBudget(t *Task) Spend { return t.TaskLeave.of(r.Settings.Budget.Task) }

func (r *Run) overBudget() bool { return r.RunBudget().Share(r.Used) >= 1 }

// spent reports whether a task's budget is used up.
func (r *Run) spent(t *Task) bool { return r.TaskBudget(t).Share(t.Used) >= 1 }

// nextBudget ends agents whose budget is used up, also if that is what others have used.
func (r *Run) nextBudget(Moment) (Write, bool) {
	working := func(s *Session) bool { return s != nil && s.Working() }
	if r.overBudget() {
		for _, s := range r.Sessions {
			if working(s) {
				return r.event(BudgetReached, "", Reached{Scope: ScopeRun, Usage: r.Used}), true
			}
		}
	}
	for _, t := range r.Tasks {
		if working(r.SessionOf(t.ID)) && r.spent(t) {
			return r.event(BudgetReached, "", Reached{Scope: ScopeTask, Task: t.ID, Usage: t.Used}), true
		}
	}
	return Write{}, false
}

func (r *Run) budgetReached(_ ledger.Event, p Reached) {
	for _, s := range r.Sessions {
		if !s.Working() || p.Scope == ScopeTask && (s.Task != p.Task || !s.Holds()) {
			continue
		}
		s.Over = "the budget of the " + string(p.Scope) + " is used up"
		if q := r.request(s.Request); q != nil && q.Expert == s.ID {
			q.Expert = ""
		}
		if t := r.Task(s.Task); t != nil && s.Holds() {
			r.stopped(t, p.Scope)
		}
	}
}

// stopped notes that a task's agent was ended for a budget. The run's is asked about by itself.
func (r *Run) stopped(t *Task, scope Scope) {
	t.Briefs = append(t.Briefs, Brief{"budget", "The agent before you was ended, because what it may use was used up. What it left is in the worktree."})
	if scope != ScopeRun && t.Need == nil && t.Question == "" {
		r.needBudget(t, scope)
	}
}

// needBudget has a person asked about a budget of a task.
func (r *Run) needBudget(t *Task, scope Scope) {
	b := r.Settings.Budget.Task
	text, raise := "the budget of the task is used up ("+r.TaskBudget(t).used(t.Used)+")", enough(b, t.TaskLeave.Raised+1, t.Used)
	if scope == ScopeTurn {
		b = r.Settings.Budget.Turn
		text, raise = "a turn of its agent has used up its budget ("+t.TurnLeave.of(b).words()+")", t.TurnLeave.Raised+1
	}
	t.Reached = scope
	t.Need = &Need{
		Cause: CauseBudget, Text: fmt.Sprintf("%s: raise it, continue without it, or cancel the task? raise makes it %s", text, b.times(1+raise).words()),
		Context: "used on the task so far: " + t.Used.Words(),
	}
}

// leave lets a task go on as a person has answered.
func (r *Run) leave(t *Task, choice string) {
	l, used := &t.TaskLeave, t.Used
	if t.Reached == ScopeTurn {
		l, used = &t.TurnLeave, Usage{}
	}
	t.Question, t.Need, t.Reached = "", nil, ""
	if choice == ChooseContinue {
		l.Lifted = true
		return
	}
	l.Raised = enough(r.Settings.Budget.Task, l.Raised+1, used)
}

// enough returns how often a budget has to be raised, this often at least, so that what was used is less.
func enough(b Spend, raised int, used Usage) int {
	for b.times(1+raised).Share(used) >= 1 {
		raised++
	}
	return raised
}

// words says how much it is.
func (s Spend) words() string {
	var parts []string
	if s.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", s.Tokens))
	}
	if s.CostUSD > 0 {
		parts = append(parts, dollars(s.CostUSD)+" USD")
	}
	return strings.Join(parts, ", ")
}

// used says how much of it is.
func (s Spend) used(u Usage) string {
	var parts []string
	if s.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens", u.Tokens(), s.Tokens))
	}
	if s.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s USD", dollars(u.CostUSD), dollars(s.CostUSD)))
	}
	return strings.Join(parts, ", ")
}

// dollars writes an amount in cents, and a smaller one in as many digits as it takes to tell it from nothing.
func dollars(usd float64) string {
	if usd > 0 && usd < 0.01 {
		return fmt.Sprintf("%.2g", usd)
	}
	return fmt.Sprintf("%.2f", usd)
}

// askBudget asks whether to go on, if that is not asked already.
func (r *Run) askBudget() (Write, bool) {
	if slices.ContainsFunc(r.Open(), func(q *Asked) bool { return q.Cause == CauseBudget && q.Task == "" }) {
		return Write{}, false
	}
	budget := r.Settings.Budget.run()
	more := budget.times(1 + enough(budget, r.Raised+1, r.Used))
	return r.event(QuestionAsked, "", Question{
		ID: r.questionID(), Cause: CauseBudget, Choices: budgetChoices,
		Text: fmt.Sprintf("the budget of the run is used up (%s): continue, or halt? continue makes it %s", r.RunBudget().used(r.Used), more.words()),
	}), true
}

// unpaid returns why no further agent is started on a task that one would be started on: its budget is used up.
func (r *Run) unpaid(t *Task) (work.Block, bool) {
	if _, ok := roleFor(t.Item.Phase); !ok || t.Item.Judged() || r.blocker(t) != "" || !r.spent(t) {
		return work.Block{}, false
	}
	return work.Block{Cause: string(CauseBudget), Reason: "the budget of the task is used up (" + t.Used.Words() + ")"}, true
}

// Spent says what a session has used so far, in the middle of its work.
type Spent struct {
	Session string
	Report  int
	Usage   Usage
}

func (in Spent) decide(r *Run, _ time.Time) ([]Write, error) {
	s := r.Sessions[in.Session]
	if s == nil || in.Report <= s.Noted {
		return nil, nil
	}
	return []Write{r.event(UsageReported, s.ID, Spending{in.Report, s.Task, in.Usage})}, nil
}

// spends counts what a session has used since it was last heard of.
func (r *Run) spends(s *Session, all Usage) {
	since := all.Since(s.Used)
	s.Used = all
	r.Used.Add(since)
	if t := r.Task(s.Task); t != nil {
		t.Used.Add(since)
	}
}

// Since returns what was used since another sum.
func (u Usage) Since(before Usage) Usage {
	return Usage{max(u.InputTokens-before.InputTokens, 0), max(u.OutputTokens-before.OutputTokens, 0), max(u.CostUSD-before.CostUSD, 0)}
}

// Words are for people.
func (u Usage) Words() string {
	return strings.TrimSuffix(fmt.Sprintf("%d tokens, %.2f USD", u.Tokens(), u.CostUSD), ", 0.00 USD")
}

// choices are what a question about a task can be answered with that has a meaning.
func choices(c Cause) []string {
	if c == CauseBudget {
		return taskBudgetChoices
	}
	return taskChoices
}
