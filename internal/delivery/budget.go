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
	a := Allowance{Run: r.runBudget().left(r.Used), Turn: r.Settings.Budget.Turn}
	if t := r.Task(s.Task); t != nil && s.Holds() {
		a.Task, a.Turn = r.taskBudget(t).left(t.Used), t.TurnLeave.of(a.Turn)
	}
	return a
}

func (r *Run) runBudget() Spend {
	b := r.Settings.Budget
	return Spend{b.Tokens, b.CostUSD}.times(1 + r.Raised)
}

func (r *Run) taskBudget(t *Task) Spend { return t.TaskLeave.of(r.Settings.Budget.Task) }

func (r *Run) overBudget() bool { return r.runBudget().Share(r.Used) >= 1 }

// spent reports whether a task's budget is used up.
func (r *Run) spent(t *Task) bool { return r.taskBudget(t).Share(t.Used) >= 1 }

// nextBudget ends agents whose budget is used up, also if that is what others have used.
func (r *Run) nextBudget(time.Time) (Write, bool) {
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
		t.needBudget(scope)
	}
}

// needBudget has a person asked about a budget of a task.
func (t *Task) needBudget(scope Scope) {
	text := "the budget of the task is used up"
	if scope == ScopeTurn {
		text = "a turn of its agent has used up its budget"
	}
	t.Reached = scope
	t.Need = &Need{
		Cause: CauseBudget, Text: text + ": raise it by as much again, continue without it, or cancel the task?",
		Context: "used on the task so far: " + t.Used.Words(),
	}
}

// leave lets a task go on as a person has answered.
func (r *Run) leave(t *Task, choice string) {
	l, over := &t.TaskLeave, func() bool { return r.spent(t) }
	if t.Reached == ScopeTurn {
		l, over = &t.TurnLeave, func() bool { return false }
	}
	t.Question, t.Need, t.Reached = "", nil, ""
	if choice == ChooseContinue {
		l.Lifted = true
		return
	}
	l.Raised++
	for over() { // what was used may be more than that
		l.Raised++
	}
}

// askBudget asks whether to go on, if that is not asked already.
func (r *Run) askBudget() (Write, bool) {
	if slices.ContainsFunc(r.Open(), func(q *Asked) bool { return q.Cause == CauseBudget && q.Task == "" }) {
		return Write{}, false
	}
	return r.event(QuestionAsked, "", Question{
		ID: r.questionID(), Cause: CauseBudget, Choices: budgetChoices,
		Text: fmt.Sprintf("the budget is used up (%s): continue with as much again, or halt?", r.Used.Words()),
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
