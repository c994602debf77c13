package box

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A task is shown with why nobody is started on it, whatever that is, and with the words for it.
func TestShowsWhatTasksWaitFor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Minute)
	unseen := map[delivery.Wait]bool{}
	for _, w := range delivery.Waits() {
		unseen[w] = true
	}
	for _, c := range []struct {
		why   delivery.Wait
		words string
		make  func(r *delivery.Run, t *delivery.Task)
	}{
		{"", "", func(*delivery.Run, *delivery.Task) {}},
		{delivery.WaitCompleted, "", func(_ *delivery.Run, t *delivery.Task) { t.Item.Phase = agentsig.PhaseCompleted }},
		{delivery.WaitCancelled, "", func(_ *delivery.Run, t *delivery.Task) { t.Dead = true }},
		{delivery.WaitQuestion, "for R1-Q1", func(_ *delivery.Run, t *delivery.Task) { t.Question = "R1-Q1" }},
		{delivery.WaitQuestion, "for a person", func(_ *delivery.Run, t *delivery.Task) { t.Need = &delivery.Need{} }},
		{delivery.WaitEnvironment, "for the environment", func(r *delivery.Run, _ *delivery.Task) { r.Remediation.Stage = delivery.StageRepair }},
		{delivery.WaitMerge, "for its merge", func(_ *delivery.Run, t *delivery.Task) { t.Item.Audited = true }},
		{delivery.WaitGate, "for the gate", func(_ *delivery.Run, t *delivery.Task) { t.Item.Phase = agentsig.PhaseCIPending }},
		{delivery.WaitBlocked, "blocked", func(_ *delivery.Run, t *delivery.Task) { t.Item.Phase = agentsig.PhaseBlocked }},
		{delivery.WaitSession, "", func(_ *delivery.Run, t *delivery.Task) { t.Item.Lease = &work.Lease{Actor: "ada"} }},
		{delivery.WaitBlocker, "for T-2, T-4", func(_ *delivery.Run, t *delivery.Task) { t.BlockedBy = []string{"T-2", "T-3", "T-4"} }},
		{delivery.WaitNobody, "for somebody in the role critic", func(_ *delivery.Run, t *delivery.Task) { t.Item.Phase = agentsig.PhaseReview }},
		{delivery.WaitPerson, "for your review", func(r *delivery.Run, t *delivery.Task) {
			r.Settings.Roles[agentsig.RoleCritic], t.Item.Phase = delivery.Role{Agent: delivery.Person}, agentsig.PhaseReadyForReview
		}},
		{delivery.WaitPerson, "for you to take it", func(r *delivery.Run, _ *delivery.Task) {
			r.Settings.Roles[agentsig.RoleDeveloper] = delivery.Role{Agent: delivery.Person}
		}},
		{delivery.WaitPerson, "for you to give it", func(_ *delivery.Run, t *delivery.Task) {
			t.Item.Lease = &work.Lease{Agent: work.PersonAgent, Role: agentsig.RoleDeveloper}
		}},
		{delivery.WaitDependency, "for T-2", func(_ *delivery.Run, t *delivery.Task) { t.Awaits = "T-2" }},
		{delivery.WaitConflict, "for go.mod", func(_ *delivery.Run, t *delivery.Task) {
			t.Conflict = &delivery.FileConflict{Path: "go.mod", Until: later}
		}},
		{delivery.WaitPaused, "while paused", func(r *delivery.Run, _ *delivery.Task) { r.Paused = true }},
		{delivery.WaitHome, "box c, whose directory the run was started in, is not reached", func(r *delivery.Run, _ *delivery.Task) { r.Home = "c" }},
		{delivery.WaitBaseline, "for the first checks", func(r *delivery.Run, _ *delivery.Task) { r.Baseline = nil }},
		{delivery.WaitProvider, "for the provider's limit", func(r *delivery.Run, _ *delivery.Task) { r.Waits = map[string]time.Time{"P": later} }},
		{delivery.WaitLogin, "for a login of its provider", func(r *delivery.Run, _ *delivery.Task) {
			r.Logins = map[string]delivery.Login{"P": {Refused: true}}
		}},
		{delivery.WaitAgents, "for a free agent", func(r *delivery.Run, _ *delivery.Task) { r.Settings.Limits.Agents = 1 }},
		{delivery.WaitAgents, "for a free agent", func(_ *delivery.Run, t *delivery.Task) { t.Item.Lease = &work.Lease{Agent: "stopped"} }},
		{delivery.WaitRole, "for a free agent", func(r *delivery.Run, _ *delivery.Task) {
			r.Settings.Roles[agentsig.RoleDeveloper] = delivery.Role{Agent: "claude", AtOnce: 1}
		}},
		{delivery.WaitBudget, "for the budget", func(r *delivery.Run, _ *delivery.Task) { r.Settings.Budget.Tokens, r.Used.InputTokens = 1, 1 }},
		{delivery.WaitRunner, "no runner has claude", func(*delivery.Run, *delivery.Task) {}},
	} {
		task := func(id string, phase agentsig.Phase) *delivery.Task {
			return &delivery.Task{ID: id, Item: work.Item{Phase: phase}}
		}
		r := &delivery.Run{
			Started: delivery.Started{ID: "R1", Settings: delivery.Settings{
				Roles:  map[agentsig.Role]delivery.Role{agentsig.RoleDeveloper: {Agent: "claude", Provider: "P"}},
				Limits: delivery.Limits{Agents: 2},
			}},
			Baseline: &delivery.Baseline{},
			Sessions: map[string]*delivery.Session{"S": {ID: "S", Role: agentsig.RoleDeveloper, Task: "T-2"}},
			Tasks: []*delivery.Task{
				task("T-1", agentsig.PhaseImplementation), task("T-2", agentsig.PhaseImplementation),
				task("T-3", agentsig.PhaseCompleted), task("T-4", agentsig.PhaseDraft),
			},
		}
		c.make(r, r.Tasks[0])
		r.Restored()
		at := delivery.Moment{Now: now}
		if c.why == delivery.WaitRunner {
			at.Machines = []delivery.Machine{{Agents: []string{"codex"}}}
		}
		if c.why == delivery.WaitHome {
			at.Machines = []delivery.Machine{{Away: true}}
		}
		if v := (&Box{}).showTask(r, r.Tasks[0], at); v.Why != c.why || v.Waits.Text != c.words || v.Waits.Reason != c.why && c.words != "" || v.Waits.Nowhere != (c.why == delivery.WaitRunner) {
			t.Errorf("shown with %q, %+v; want %q, %q", v.Why, v.Waits, c.why, c.words)
		}
		delete(unseen, c.why)
	}
	if len(unseen) > 0 {
		t.Errorf("no task here waits for %v", unseen)
	}
}
