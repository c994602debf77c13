package tui

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// The view has a kind for whatever a task waits for, and says something about it.
func TestKnowsWhatTasksWaitFor(t *testing.T) {
	for _, w := range delivery.Waits() {
		if _, known := kinds[w]; !known {
			t.Errorf("what is a task taken for that waits for %q?", w)
		}
	}
	trouble, finished := api.Run{Trouble: "no disk"}, api.Run{State: api.RunFinished}
	for _, c := range []struct {
		run  api.Run
		task api.Task
		want kind
		says string
	}{
		{api.Run{}, api.Task{}, ready, "ready"},
		{api.Run{}, api.Task{Why: delivery.WaitNobody, Waits: "for somebody in the role critic"}, waiting, "waits for somebody in the role critic"},
		{api.Run{}, api.Task{Why: "of a newer box", Waits: "for the moon"}, waiting, "waits for the moon"},
		{api.Run{}, api.Task{Why: delivery.WaitEnvironment, Waits: "for the environment"}, waiting, "waits for the environment"},
		{trouble, api.Task{Why: delivery.WaitEnvironment, Waits: "for the environment"}, troubled, "waits for the environment"},
		{api.Run{}, api.Task{Why: delivery.WaitBlocked, Phase: agentsig.PhaseBlocked, Waits: "blocked"}, troubled, "blocked"},
		{api.Run{}, api.Task{Why: delivery.WaitBlocker, Agent: &api.Agent{Role: agentsig.RoleCritic}}, working, "critic"},
		{finished, api.Task{Why: delivery.WaitGate}, cancelled, "left"},
		{finished, api.Task{Why: delivery.WaitCompleted, Phase: agentsig.PhaseCompleted}, done, "done"},
	} {
		if w := rowOf(c.run, c.task, time.Time{}); w.kind != c.want || w.status != c.says {
			t.Errorf("%q in %q is %s, %q; want %s, %q", c.task.Why, c.run.State, kindWords[w.kind], w.status, kindWords[c.want], c.says)
		}
	}
}
