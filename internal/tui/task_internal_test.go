package tui

import (
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// An agent of which nothing is heard for two minutes does not answer, unless it need not: it waits for a tool or an expert,
// or has to end.
func TestNoAnswer(t *testing.T) {
	now := time.Date(2026, 11, 17, 10, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		agent api.Agent
		want  string
	}{
		{api.Agent{QuietFrom: ago(2 * time.Minute)}, "no answer for 2 min"},
		{api.Agent{QuietFrom: ago(61*time.Minute + 59*time.Second), Says: "I look."}, "no answer for 61 min · I look."},
		{api.Agent{QuietFrom: ago(2*time.Minute - time.Second), Says: "I look."}, "I look."},
		{api.Agent{QuietFrom: ago(-time.Hour)}, ""},
		{api.Agent{StartedAt: ago(time.Hour)}, ""},
		{api.Agent{QuietFrom: ago(time.Hour), Away: true}, "no answer"},
		{api.Agent{QuietFrom: ago(time.Hour), Waiting: "R1-E1"}, "waits for expert request R1-E1"},
		{api.Agent{QuietFrom: ago(time.Hour), Ending: "it is cancelled"}, "ending: it is cancelled"},
	} {
		var got string
		for _, part := range noteOf(c.agent, now) {
			got += part.text
		}
		if got != c.want {
			t.Errorf("%+v: %q; want %q", c.agent, got, c.want)
		}
	}
}

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
		{api.Run{}, api.Task{Why: delivery.WaitNobody, Waits: api.Waiting{Text: "for somebody in the role critic"}}, waiting, "waits for somebody in the role critic"},
		{api.Run{}, api.Task{Why: "of a newer box", Waits: api.Waiting{Text: "for the moon"}}, waiting, "waits for the moon"},
		{api.Run{}, api.Task{Why: delivery.WaitEnvironment, Waits: api.Waiting{Text: "for the environment"}}, waiting, "waits for the environment"},
		{trouble, api.Task{Why: delivery.WaitEnvironment, Waits: api.Waiting{Text: "for the environment"}}, troubled, "waits for the environment"},
		{api.Run{}, api.Task{Why: delivery.WaitBlocked, Phase: agentsig.PhaseBlocked, Waits: api.Waiting{Text: "blocked"}}, troubled, "blocked"},
		{api.Run{}, api.Task{Why: delivery.WaitBlocker, Agent: &api.Agent{Role: agentsig.RoleCritic}}, working, "critic"},
		{finished, api.Task{Why: delivery.WaitGate}, cancelled, "left"},
		{finished, api.Task{Why: delivery.WaitCompleted, Phase: agentsig.PhaseCompleted}, done, "done"},
	} {
		if w := rowOf(c.run, c.task, time.Time{}); w.kind != c.want || w.status != c.says {
			t.Errorf("%q in %q is %s, %q; want %s, %q", c.task.Why, c.run.State, kindWords[w.kind], w.status, kindWords[c.want], c.says)
		}
	}
}

// Of an agent at a box that is not reached is said which box that is, and not that it starts or gives no answer.
func TestAgentAtLostHome(t *testing.T) {
	now := time.Now()
	for _, from := range []time.Time{now.Add(-time.Second), now.Add(-time.Hour)} {
		task := api.Task{ID: "T-1", Phase: agentsig.PhaseReview, Why: delivery.WaitHome, Agent: &api.Agent{Role: agentsig.RoleCritic, Name: "claude", Away: true, StartedAt: from},
			Waits: api.Waiting{Reason: delivery.WaitHome, Text: "box c, whose directory the run was started in, is not reached"}}
		w := rowOf(api.Run{Tasks: []api.Task{task}}, task, now)
		if len(w.note) != 1 || w.note[0].text != task.Waits.Text || w.status != "critic" {
			t.Errorf("%q: %+v", w.status, w.note)
		}
	}
}
