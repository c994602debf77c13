package session

import (
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// At which share of a budget an agent is asked to wrap up, and in which steps the box is told what was used.
const (
	wrapUpAt = 0.9
	tellStep = 0.05
)

// bound is a budget, and what was used of it.
type bound struct {
	scope delivery.Scope
	most  delivery.Spend
	used  delivery.Usage
}

func (b bound) share() float64 { return b.most.Share(b.used) }

// bounds returns what the session is bound to. What the turn uses and nobody has told for good counts too.
func (r *runner) bounds() []bound {
	all, turn, may := r.used, delivery.Usage{}, r.spec.Budget
	if r.turn != nil {
		turn = r.turn.usage
		turn.Add(r.using)
	}
	all.Add(r.using)
	return []bound{{delivery.ScopeTurn, may.Turn, turn}, {delivery.ScopeTask, may.Task, all}, {delivery.ScopeRun, may.Run, all}}
}

// left returns what the next turn may cost in US dollars; 0 for no bound.
func (r *runner) left() float64 {
	least := 0.0
	for _, b := range r.bounds() {
		if b.most.CostUSD == 0 {
			continue
		}
		used := b.used.CostUSD
		if b.scope == delivery.ScopeTurn {
			used = 0
		}
		if left := max(b.most.CostUSD-used, delivery.LeastUSD); least == 0 || left < least {
			least = left
		}
	}
	return least
}

// spend takes what was used and holds it against the budget: the turn is ended at its limit, by the session alone. Before
// that the agent is asked to wrap up.
func (r *runner) spend() {
	if r.turn == nil || r.turn.closed || r.ending != nil {
		return
	}
	for _, b := range r.bounds() {
		if b.share() >= 1 {
			r.overBudget(b)
			return
		}
	}
	r.tellUsed()                                    // after that: a signal that the agent has said is reported first
	for _, b := range slices.Backward(r.bounds()) { // the widest first
		if b.share() >= wrapUpAt && !r.turn.warned {
			r.turn.warned = true
			r.wrapUp(b)
		}
	}
}

// overBudget ends the session for a budget.
func (r *runner) overBudget(b bound) {
	r.flush()
	r.end(api.HowOverBudget, fmt.Sprintf("the %s has used up what it may use: %s", b.scope, b.used.Words()))
	r.ending.Budget = b.scope
}

// keptTo ends the session because its program has kept to what it may cost. It may have stopped a little before.
func (r *runner) keptTo(detail string) {
	nearest := bound{scope: delivery.ScopeTurn}
	for _, b := range r.bounds() {
		if b.most.CostUSD > 0 && (nearest.most.CostUSD == 0 || b.share() > nearest.share()) {
			nearest = b
		}
	}
	r.end(api.HowOverBudget, detail)
	r.ending.Budget = nearest.scope
}

// wrapUp asks the agent to come to an end: now, if it can be told, or with its next prompt.
func (r *runner) wrapUp(b bound) {
	text := fmt.Sprintf("You have used %.0f %% of what this %s may use, and are ended when it is used up. "+
		"Wrap up now: finish or leave out what is open, commit, and end with your signal.", 100*wrapUpAt, b.scope)
	err := agent.ErrCantBeTold
	if r.agent.Traits().CanBeTold {
		err = r.agent.Tell(agent.MessageTell, text)
	}
	if err != nil && b.scope != delivery.ScopeTurn { // the next turn has a budget of its own
		r.remind = text
	}
}

// tellUsed tells the box what was used, every now and then: others may use up the same budget.
func (r *runner) tellUsed() {
	all, may := r.used, r.spec.Budget
	all.Add(r.using)
	since := all.Since(r.toldUsed)
	if max(may.Run.Share(since), may.Task.Share(since)) < tellStep {
		return
	}
	r.toldUsed = all
	r.report(api.SessionReport{Kind: api.ReportNote, Turn: r.turns, Usage: all})
}
