package box

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Deliver starts the delivery of a plan. The same plan again is the same run, for as
// long as that has not ended.
func (b *Box) Deliver(ctx context.Context, q api.StartRun, key string) (api.Run, error) {
	if b.runner == nil {
		return api.Run{}, errNoDelivery
	}
	text := b.redact.Bytes([]byte(q.Plan))
	p, err := plan.Parse(text)
	if err == nil {
		err = delivery.CheckSize(len(p.Tasks))
	}
	if err == nil {
		err = checkEvents(p, runner.CheckNames(b.config, p))
	}
	if err != nil {
		return api.Run{}, badRequest{err}
	}
	settings, err := b.settings()
	if err != nil {
		return api.Run{}, err
	}
	onto, base, err := b.runner.Head(ctx)
	if err != nil || q.DryRun {
		return b.dryRun(p, settings), err
	}
	unlock, err := b.requests.Lock(ctx, keyOfKind{startPlanRun, ""})
	if err != nil {
		return api.Run{}, err
	}
	defer unlock()
	subject, err := b.state.delivering(digest(text), key)
	if err != nil {
		return api.Run{}, err
	}
	if subject != "" {
		return b.showRun(subject)
	}
	subject, err = b.startRun(ctx, text, p, delivery.Started{Settings: settings, Base: base, Onto: onto, Key: key})
	if err != nil {
		return api.Run{}, err
	}
	b.conductRun(subject)
	return b.showRun(subject)
}

// delivering returns the run that delivers a plan and has not ended, or that was
// started by the request with this key, which is for one plan.
func (s *state) delivering(digest, key string) (string, error) {
	subject, err := s.addedBy(startPlanRun, key)
	if err == nil {
		err = s.bring(subject)
	}
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	same := ""
	for subject, r := range s.runs {
		switch keyed := r.Key == key && key != ""; {
		case keyed && r.Digest != digest:
			return "", errKeyReused
		case keyed || r.Digest == digest && r.Live():
			same = subject
		}
	}
	return same, nil
}

// startRun records a run of a plan, with a branch that work is merged to.
func (b *Box) startRun(ctx context.Context, text []byte, p plan.Plan, started delivery.Started) (string, error) {
	blob, err := b.archive.PutBlob(text)
	if err != nil {
		return "", err
	}
	started.Title, started.Plan, started.Digest, started.Tasks = titleOf(p), blob, digest(text), len(p.Tasks)
	started.Repo, started.Checks = b.runner.Root(), len(runner.CheckNames(b.config, p))
	if err := b.takeBranch(ctx, p, &started); err != nil {
		return "", err
	}
	subject := b.newSubject()
	if err := b.runner.Begin(ctx, subject, started.Branch, len(b.state.liveRuns()) == 0); err != nil {
		return "", err
	}
	return subject, b.recordRun(ctx, subject, delivery.Event{Type: delivery.RunStarted, Actor: work.OperatorActor, Payload: started})
}

// digest identifies a plan by its text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
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
		results = append(results, work.Check{Name: name, Flaky: true})
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

// takeBranch gives a run its number and the branch that work is merged to. Branches and items of
// an earlier box are not taken for ours.
func (b *Box) takeBranch(ctx context.Context, p plan.Plan, s *delivery.Started) error {
	for n := b.state.lastRun() + 1; ; n++ {
		s.ID = fmt.Sprintf("R%d", n)
		s.Branch = b.config.BranchOf(s.ID)
		free, err := b.runner.Free(ctx, s.ID)
		if err != nil {
			return err
		}
		if !free || slices.ContainsFunc(p.Tasks, func(t plan.Task) bool {
			_, err := b.state.exact(runner.ItemID(s.ID, t.ID))
			return err == nil
		}) {
			continue
		}
		made, err := b.runner.MakeBranch(ctx, s.Branch, s.Base)
		switch {
		case err != nil || made:
			return err
		case b.config.BranchOf("") == s.Branch:
			return fmt.Errorf("%w: %s", errBranchTaken, s.Branch)
		}
	}
}

// settings are what a run is recorded with.
func (b *Box) settings() (delivery.Settings, error) {
	c := b.config
	s := delivery.Settings{
		Roles: map[agentsig.Role]delivery.Role{}, Experts: c.Experts,
		Budget: delivery.Budget{Tokens: c.Budget.Tokens, CostUSD: c.Budget.CostUSD}, Limits: delivery.DefaultLimits(),
		Publish: c.Merge == config.MergePR,
	}
	l := &s.Limits
	l.Agents, l.Answer = c.Limits.Agents, c.Limits.Answer
	l.Reviews, l.Audits, l.Gates, l.Crashes, l.Timeouts = c.Limits.Reviews, c.Limits.Audits, c.Limits.Gates, c.Limits.Crashes, c.Limits.Timeouts
	l.ExpertRequests, l.ExpertAttempts, l.ExpertAtOnce = c.Limits.ExpertRequests, c.Limits.ExpertAttempts, c.Limits.ExpertAtOnce
	l.RemediationRounds, l.ConflictWait, l.ConflictRetries = c.Limits.RemediationRounds, c.Limits.ConflictWait, c.Limits.ConflictRetries
	if err := b.runner.Ready(); err != nil {
		return s, err
	}
	s.Protect(runner.Unprotected(c))
	for _, role := range agentsig.Roles() {
		set := c.Role(role)
		agent, ok := c.Agents[set.Agent]
		needed := role == agentsig.RoleDeveloper || role == agentsig.RoleCritic || role == agentsig.RoleAuditor || role == agentsig.RoleAnalyst && c.Analyst
		if ok {
			if _, err := agent.Find(c.Dir); err != nil {
				return s, fmt.Errorf("%w (%s, which plays %s: %w)", errNoProgram, safetext.Escape(set.Agent), role, err)
			}
		}
		switch {
		case ok:
			s.Roles[role] = delivery.Role{Agent: set.Agent, Provider: cmp.Or(agent.Provider, set.Agent), AtOnce: set.AtOnce}
		case needed:
			return s, fmt.Errorf("%w: %s", errNoAgent, role)
		}
	}
	return s, nil
}

// first returns the phase that tasks begin in, and who works on them then.
func (b *Box) first() (agentsig.Phase, agentsig.Role) {
	if b.config.Analyst {
		return agentsig.PhaseDraft, agentsig.RoleAnalyst
	}
	return agentsig.PhaseImplementation, agentsig.RoleDeveloper
}

// dryRun says what a run would be like.
func (b *Box) dryRun(p plan.Plan, s delivery.Settings) api.Run {
	v := api.Run{
		Title: titleOf(p), State: api.RunDry, AtOnce: s.Limits.Agents, Checks: len(runner.CheckNames(b.config, p)), Branch: b.config.Branch,
		Unprotected: append([]string{}, s.Unprotected...), Tasks: []api.Task{}, Others: []api.Agent{}, Questions: []api.Question{}, Notices: []api.Notice{},
	}
	phase, role := b.first()
	for _, t := range p.Tasks {
		task := api.Task{ID: t.ID, Title: t.Title, Phase: phase, BlockedBy: t.BlockedBy, Protection: s.Protection}
		switch {
		case len(t.BlockedBy) > 0:
			task.Why = "blocker"
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
