package conductor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// examined is a plan that can be delivered.
type examined struct {
	plan       plan.Plan
	settings   delivery.Settings
	onto, base string // the user's branch, and its commit
	path       string // of its file; empty if it has none
}

// Preview says what a run of a plan would be like, or why there would be none. Nothing is recorded or begun.
func Preview(ctx context.Context, s order.Site, c config.Config, q api.StartRun) (api.Run, error) {
	e, err := examine(ctx, s, c, q)
	if err != nil {
		return api.Run{}, err
	}
	if q.Amend {
		return api.Run{}, errNothingToAmend
	}
	return e.preview(c), nil
}

// examine reads a plan, and finds out whether it could be delivered.
func examine(ctx context.Context, s order.Site, c config.Config, q api.StartRun) (e examined, err error) {
	if e.plan, err = plan.Parse([]byte(q.Plan)); err == nil {
		err = delivery.CheckSize(len(e.plan.Tasks))
	}
	if err == nil {
		err = checkEvents(e.plan, checkNames(c, e.plan))
	}
	var without delivery.Unaudited
	if err == nil {
		without, err = unaudited(c.Audit, q, e.plan)
	}
	if err != nil {
		return e, box.BadRequest{Err: err}
	}
	if e.settings, err = settingsOf(s, c, without); err != nil {
		return e, err
	}
	e.onto, e.base, err = s.Head(ctx)
	return e, err
}

// checkNames returns the names of the checks that the gate runs for a plan.
func checkNames(c config.Config, p plan.Plan) (names []string) {
	for _, own := range c.Checks {
		names = append(names, own.Name)
	}
	for _, its := range p.Checks {
		names = append(names, its.Name)
	}
	return names
}

// titleOf returns what a plan is called.
func titleOf(p plan.Plan) string { return cmp.Or(p.Title, p.Tasks[0].Title) }

// The most of a plan that one event has, in bytes of JSON: the ledger's limit leaves room for what stands beside it.
const (
	mostTitle    = 6 << 10
	mostBlockers = 8 << 10
	mostChecks   = 8 << 10
)

// checkEvents refuses a plan if something of it has no room in the event that records it: its run would begin, and
// never go on.
func checkEvents(p plan.Plan, checks []string) error {
	var results []work.Check
	for _, name := range checks {
		results = append(results, work.Check{Name: name, Flaky: true, Exit: 255})
	}
	err := fits(mostTitle, titleOf(p), "the plan's title is too long: shorten it")
	err = errors.Join(err, fits(mostChecks, results, fmt.Sprintf("the plan and the settings have %d checks, and their names are too long together: shorten the names, or let one command run several", len(checks))))
	for _, t := range p.Tasks {
		err = errors.Join(err, fits(mostBlockers, t.BlockedBy, fmt.Sprintf("task %s is blocked by %d tasks, and their ids are too long together: shorten the ids, or put a task between", t.ID, len(t.BlockedBy))))
	}
	return err
}

// fits refuses a value that takes more bytes of JSON than it may.
func fits(most int, v any, refusal string) error {
	data, err := json.Marshal(v)
	if err == nil && len(data) > most {
		err = fmt.Errorf("%s (%d bytes in the ledger, of at most %d)", refusal, len(data), most)
	}
	return err
}

// settings are what a run is recorded with.
func settingsOf(site order.Site, c config.Config, without delivery.Unaudited) (delivery.Settings, error) {
	s := delivery.Settings{
		Roles: map[agentsig.Role]delivery.Role{}, Experts: c.Experts,
		Budget: delivery.Budget{
			Tokens: c.Budget.Tokens, CostUSD: c.Budget.CostUSD, Task: delivery.Spend(c.Budget.Task), Turn: delivery.Spend(c.Budget.Turn),
		},
		Limits:  delivery.DefaultLimits(),
		Publish: c.Merge.Into == config.IntoPR,
		Approve: c.Merge.Approve,
		Rework:  delivery.Rework(c.Rework),

		Unaudited: without,
	}
	if c.Gate.Runner != config.GateOther {
		s.Gate = string(c.Gate.Runner)
	}
	l := &s.Limits
	l.Agents, l.Answer = c.Limits.Agents, c.Limits.Answer
	l.Reviews, l.Audits, l.Gates, l.Crashes, l.Timeouts = c.Limits.Reviews, c.Limits.Audits, c.Limits.Gates, c.Limits.Crashes, c.Limits.Timeouts
	l.ExpertRequests, l.ExpertAttempts, l.ExpertAtOnce = c.Limits.ExpertRequests, c.Limits.ExpertAttempts, c.Limits.ExpertAtOnce
	l.RemediationRounds, l.ConflictWait, l.ConflictRetries = c.Limits.RemediationRounds, c.Limits.ConflictWait, c.Limits.ConflictRetries
	l.ContextPercent = c.Limits.ContextPercent
	if err := site.Ready(); err != nil {
		return s, err
	}
	s.Protect(site.Unprotected())
	for _, role := range agentsig.Roles() {
		set := c.Role(role)
		agent, ok := c.Agents[set.Agent]
		needed := role == agentsig.RoleDeveloper || role == agentsig.RoleCritic || role == agentsig.RoleAuditor && without == "" || role == agentsig.RoleAnalyst && c.Analyst
		switch {
		case set.Agent == config.Person:
			s.Roles[role] = delivery.Role{Agent: delivery.Person}
		case ok:
			s.Roles[role] = delivery.Role{Agent: set.Agent, Provider: cmp.Or(agent.Provider, set.Agent), AtOnce: set.AtOnce, Labels: set.Labels}
		case needed:
			return s, fmt.Errorf("%w: %s", errNoAgent, role)
		}
	}
	return s, nil
}

// first returns the phase that tasks begin in, and who works on them then.
func first(c config.Config) (agentsig.Phase, agentsig.Role) {
	if c.Analyst {
		return agentsig.PhaseDraft, agentsig.RoleAnalyst
	}
	return agentsig.PhaseImplementation, agentsig.RoleDeveloper
}

// preview says what the run would be like.
func (e examined) preview(c config.Config) api.Run {
	p, s := e.plan, e.settings
	v := api.Run{
		Title: titleOf(p), State: api.RunDry, AtOnce: s.Limits.Agents, Checks: len(checkNames(c, p)), Branch: c.Branch, Budget: delivery.Spend{Tokens: s.Budget.Tokens, CostUSD: s.Budget.CostUSD},
		Unprotected: append([]string{}, s.Unprotected...), Unaudited: s.Unaudited.Words(), Tasks: []api.Task{}, Others: []api.Agent{}, Questions: []api.Question{}, Notices: []api.Notice{},
	}
	phase, role := first(c)
	for _, t := range p.Tasks {
		task := api.Task{ID: t.ID, Title: t.Title, Phase: phase, BlockedBy: t.BlockedBy, Protection: s.Protection}
		switch {
		case len(t.BlockedBy) > 0:
			task.Why = "blocker"
		case s.Roles[role].Agent == delivery.Person:
			task.Why = delivery.WaitPerson
		case v.Agents >= s.Limits.Agents:
			task.Why = "agents"
		default:
			v.Agents++
			task.Agent = &api.Agent{Role: role, Name: s.Roles[role].Agent, Task: t.ID}
		}
		v.Tasks = append(v.Tasks, task)
	}
	return v
}
