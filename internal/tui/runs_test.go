package tui_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

var (
	start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	now   = start.Add(12*time.Minute + 4*time.Second)
)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// runs are what the golden files show.
func runs() map[string]api.Run {
	return map[string]api.Run{
		"starting":  starting(),
		"stopped":   stopped(),
		"states":    states(),
		"questions": questions(),
		"finished":  ended(delivery.Completed),
		"nochange":  unchanged(1),
		"nothing":   unchanged(5),
		"partial":   ended(delivery.Partial),
		"large":     large(200),
		"trouble":   trouble(),
		"tolerated": tolerated(),
		"hostile":   hostile(),
	}
}

func starting() api.Run {
	return api.Run{
		ID: "R1", Title: "Rate limits for the public API", State: api.RunRunning, AtOnce: 5, Checks: 3, Unprotected: []string{"agents and checks run without a sandbox and could forge verdicts"}, StartedAt: ago(2 * time.Second),
		Branch: "signalbox/r1", Base: "main",
		Tasks: []api.Task{
			{ID: "T-1", Title: "Settings for limits", Phase: agentsig.PhaseImplementation, Why: "baseline", Waits: api.Waiting{Text: "for the first checks"}},
			{ID: "T-2", Title: "Token bucket in the gateway", Phase: agentsig.PhaseImplementation, Why: "blocker", Waits: api.Waiting{Text: "for T-1"}, BlockedBy: []string{"T-1"}},
		},
		Notices: []api.Notice{{Sequence: 1, At: ago(2 * time.Second), Text: "the run is started"}},
	}
}

func stopped() api.Run {
	r := starting()
	r.State, r.Agents = api.RunStopped, 0
	return r
}

func states() api.Run {
	r := api.Run{
		ID: "R1", Title: "Rate limits for the public API", State: api.RunRunning, Agents: 3, AtOnce: 5, Checks: 3, StartedAt: start,
		Branch: "signalbox/r1", Base: "6f1d1b0c2f6b4a55a3de1c0e9a3d4f5b6c7d8e9f",
		Usage: delivery.Usage{InputTokens: 1_204_000, OutputTokens: 88_000, CostUSD: 1.82},
		Tasks: []api.Task{
			{ID: "T-1", Title: "Settings for limits", Phase: agentsig.PhaseCompleted, Why: "completed", Usage: delivery.Usage{CostUSD: 0.41}},
			{
				ID: "T-2", Title: "Token bucket in the gateway", Phase: agentsig.PhaseImplementation, Why: "session", Rework: 1,
				Agent: &api.Agent{Role: agentsig.RoleDeveloper, Name: "claude", StartedAt: ago(250 * time.Second), Says: "Running go test ./gateway/... to see whether the new limits hold under load"},
			},
			{
				ID: "T-3", Title: "Headers that tell clients how much is left of their limit", Phase: agentsig.PhaseReview, Why: "session",
				Agent: &api.Agent{Role: agentsig.RoleCritic, Name: "codex", StartedAt: ago(50 * time.Second), Asked: "progress"},
			},
			{ID: "T-4", Title: "Which clients are exempt", Phase: agentsig.PhaseBlocked, Why: "question", Waits: api.Waiting{Text: "for R1-Q1"}, Since: ago(3 * time.Minute)},
			{ID: "T-5", Title: "Metrics", Phase: agentsig.PhaseCIPending, Why: "gate", Waits: api.Waiting{Text: "for the gate"}, Since: ago(31 * time.Second)},
			{ID: "T-6", Title: "Audit log", Phase: agentsig.PhaseReadyForMerge, Why: "merge", Waits: api.Waiting{Text: "for the merge"}, Since: ago(2 * time.Second)},
			{
				ID: "T-7", Title: "Load test", Phase: agentsig.PhaseImplementation, Why: "session",
				Agent: &api.Agent{Role: agentsig.RoleDeveloper, Name: "gemini", StartedAt: ago(8 * time.Minute), Waiting: "R1-E1", Away: true},
			},
			{ID: "T-8", Title: "Guide for operators", Phase: agentsig.PhaseImplementation},
			{ID: "T-9", Title: "Limits in the admin pages", Phase: agentsig.PhaseReadyForReview, Why: "agents", Waits: api.Waiting{Text: "for a free agent"}},
			{ID: "T-10", Title: "Examples", Phase: agentsig.PhaseImplementation, Why: "blocker", Waits: api.Waiting{Text: "for T-2, T-3"}, BlockedBy: []string{"T-2", "T-3"}},
			{ID: "T-11", Title: "Old limiter removed", Phase: agentsig.PhaseImplementation, Why: "cancelled"},
			{ID: "T-12", Title: "Its settings removed", Phase: agentsig.PhaseImplementation, Why: "cancelled", BlockedBy: []string{"T-11"}},
		},
		Questions: []api.Question{{
			ID: "R1-Q1", Run: "R1", Task: "T-4", Cause: delivery.CauseClarification, AskedAt: ago(3 * time.Minute),
			Text: "Should the health checks of partners be exempt, or only those of our own monitoring?",
		}},
		Notices: []api.Notice{
			{Sequence: 40, At: ago(4 * time.Minute), Text: "T-1 is merged"},
			{Sequence: 44, At: ago(3 * time.Minute), Text: "T-4: asks: Should the health checks of partners be exempt? (R1-Q1)", Grave: true},
			{Sequence: 47, At: ago(50 * time.Second), Text: "T-3 goes to a critic (codex)"},
			{Sequence: 51, At: ago(2 * time.Second), Text: "T-6 passed its audit"},
		},
	}
	return r
}

func questions() api.Run {
	r := states()
	r.State, r.Agents = api.RunWaiting, 0
	r.Tasks = []api.Task{r.Tasks[0], r.Tasks[3], {ID: "T-13", Title: "Database", Phase: agentsig.PhaseBlocked, Why: "question", Waits: api.Waiting{Text: "for R1-Q2"}, Since: ago(time.Minute)}}
	r.Questions = append(r.Questions, api.Question{
		ID: "R1-Q2", Run: "R1", Task: "T-13", Cause: delivery.CauseRemediation, AskedAt: ago(time.Minute),
		Text:    "The environment is still broken after 10 rounds of repair. Try again, declare it healthy, or halt?",
		Context: "check \"unit\" fails:\n\tdial tcp 127.0.0.1:5432: connect: connection refused\n\n" + strings.Repeat("FAIL gateway ", 200),
		Choices: []string{"retry", "healthy", "halt"},
	})
	return r
}

func ended(o delivery.Outcome) api.Run {
	r := states()
	r.State, r.Outcome, r.Agents, r.Questions, r.FinishedAt = api.RunFinished, o, 0, nil, start.Add(41*time.Minute+12*time.Second)
	r.Tasks = r.Tasks[:5]
	for i := range r.Tasks {
		t := &r.Tasks[i]
		t.Agent, t.Phase, t.Why, t.Usage.CostUSD = nil, agentsig.PhaseCompleted, "completed", float64(i)/3
	}
	if o != delivery.Completed {
		r.Tasks[3].Phase, r.Tasks[3].Why = agentsig.PhaseImplementation, "cancelled"
		r.Tasks[4].Phase, r.Tasks[4].Why = agentsig.PhaseImplementation, "session"
		r.Tasks[4].Agent = &api.Agent{Role: agentsig.RoleDeveloper, Name: "claude", StartedAt: ago(time.Minute)}
		r.Questions, r.Others = states().Questions, trouble().Others
		r.Checks = 0
		r.Usage.CostUSD = 0
		for i := range 6 {
			r.Notices = append(r.Notices, api.Notice{At: ago(time.Second), Text: fmt.Sprintf("T-2: in your checkout, file%d.go was changed while it was worked on: by you, or by its agent", i), Grave: true})
		}
		for i := range r.Tasks {
			r.Tasks[i].Usage = delivery.Usage{InputTokens: 99_950 * int64(i)}
		}
	}
	return r
}

// unchanged is a run in which nothing was changed for some of the tasks.
func unchanged(n int) api.Run {
	r := ended(delivery.Completed)
	for i := range r.Tasks[:n] {
		r.Tasks[i].NoChange = "the gateway has it since 1.2 (" + r.Tasks[i].ID + ")\nSee gateway/limits.go and the tests beside it, which cover all that the task asks for."
	}
	return r
}

func large(n int) api.Run {
	r := states()
	r.Tasks = nil
	for i := range n {
		t := api.Task{ID: fmt.Sprintf("P%d-T%d", i/50+1, i+1), Title: fmt.Sprintf("Part %d of a long plan", i+1), Phase: agentsig.PhaseImplementation}
		switch {
		case i < 40:
			t.Phase, t.Why = agentsig.PhaseCompleted, "completed"
		case i%40 == 3:
			t.Why, t.Agent = "session", &api.Agent{Role: agentsig.RoleDeveloper, Name: "claude", StartedAt: ago(time.Minute), Says: "Reading the code"}
		case i%40 == 4:
			t.Why, t.Waits.Text = "agents", "for a free agent"
		case i%100 == 90:
			t.Phase, t.Why, t.Since = agentsig.PhaseCIPending, "gate", ago(time.Second)
		default:
			t.Why, t.Waits.Text = "blocker", fmt.Sprintf("for P%d-T%d", i/50+1, i)
		}
		r.Tasks = append(r.Tasks, t)
	}
	return r
}

func trouble() api.Run {
	r := starting()
	r.Tasks[0].Why, r.Tasks[0].Waits.Text = "environment", "for the environment"
	r.Trouble, r.Round = "check \"unit\" fails at the start: connection refused", 2
	r.Agents = 2
	r.Others = []api.Agent{
		{Role: agentsig.RoleRemediation, Name: "claude", StartedAt: ago(62 * time.Second), Says: "Starting the database container"},
		{Role: agentsig.RoleExpert, Name: "dba", Task: "T-1", StartedAt: ago(5 * time.Second)},
	}
	r.Providers = []api.Provider{{Name: "anthropic", Until: now.Add(18 * time.Minute)}, {Name: "openai", Until: now.Add(5*24*time.Hour + time.Minute)}}
	r.Repairs = []api.Repair{{Commit: "1a2b3c4d5e", Merge: "5d6e7f8a9b", Files: 2, Names: []string{"go.mod", "Dockerfile"}, MergedAt: ago(time.Hour)}}
	return r
}

func tolerated() api.Run {
	r := ended(delivery.Completed)
	r.Unchecked = "nothing is checked: make-test fails on the base, tolerated"
	return r
}

const nasty = "\x1b[2J\x1b]0;owned\a\u202egnp.exe\r\n\tnext\x00 日本語のとても長いタイトル e\u0301\u0301\u0301\u0301\u0301\u0301\u0301 👩\u200d💻 \xff\xfe \u009b31m"

func hostile() api.Run {
	r := states()
	long := strings.Repeat("long ", 2000)
	r.Title, r.ID = nasty, "R\x1b1"
	r.Unchecked = "nothing is checked: " + nasty
	r.Trouble, r.Branch = nasty, "signalbox/$(reboot)'s"
	r.Providers = []api.Provider{{Name: nasty, Until: now}}
	r.Repairs = []api.Repair{{Commit: "1a2b3c4d5e", Merge: "5d6e7f8a9b", Files: 300, Names: []string{nasty, long}}}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		t.Title = []string{nasty, "日本語のとても長いタイトルです、どこで切れるでしょうか、見てみましょう", long, "\u0301\u0302combining first"}[i%4]
		t.Waits.Text, t.NoChange = nasty, nasty
		if t.Agent != nil {
			t.Agent.Says, t.Agent.Name = nasty+long, nasty
		}
	}
	r.Tasks[9].ID = nasty
	r.Questions[0].Text, r.Questions[0].Choices = nasty, []string{`"; reboot; "`, nasty}
	r.Questions[0].Context = strings.Repeat("日本", 5000)
	r.Notices[0].Text, r.Notices[1].Text = nasty, long
	return r
}

// random makes a run of anything.
func random(g *rand.Rand) api.Run {
	texts := []string{"", "a", "word word", nasty, "日本語", strings.Repeat("x", 200), strings.Repeat("日本語 ", 40), "e\u0301", "\u0301", "🎉🎉🎉", "T-1"}
	text := func() string { return texts[g.IntN(len(texts))] }
	when := func() time.Time {
		return []time.Time{{}, now, ago(time.Duration(g.Int64N(int64(200 * time.Hour)))), now.Add(time.Hour)}[g.IntN(4)]
	}
	whys := append(delivery.Waits(), "", "what")
	agent := func() api.Agent {
		return api.Agent{
			Role: agentsig.Roles()[g.IntN(7)], Name: text(), Task: text(), StartedAt: when(), Says: text(), Asked: text(),
			Waiting: text(), Away: g.IntN(2) == 0, Ending: text(),
		}
	}
	usage := func() delivery.Usage {
		return delivery.Usage{InputTokens: g.Int64N(1 << (1 + g.IntN(50))), CostUSD: float64(g.IntN(3)) * g.Float64() * 100}
	}
	r := api.Run{
		ID: text(), Title: text(), State: []api.RunState{api.RunRunning, api.RunWaiting, api.RunPaused, api.RunStopped, api.RunFinished, api.RunDry, "x"}[g.IntN(7)],
		Outcome: []delivery.Outcome{"", delivery.Completed, delivery.Partial, delivery.Halted}[g.IntN(4)], Branch: text(), Base: text(),
		StartedAt: when(), FinishedAt: when(), Agents: g.IntN(9), AtOnce: g.IntN(9), Checks: g.IntN(3), Trouble: text(), Unchecked: text(), Round: g.IntN(3), Usage: usage(),
	}
	for range g.IntN(1 << g.IntN(6)) {
		t := api.Task{
			ID: text(), Title: text(), Phase: agentsig.Phases()[g.IntN(8)], Why: whys[g.IntN(len(whys))], Waits: api.Waiting{Text: text()},
			BlockedBy: []string{text()}, Since: when(), Rework: g.IntN(3), Usage: usage(), NoChange: text(),
		}
		if g.IntN(3) == 0 {
			a := agent()
			t.Agent = &a
		}
		r.Tasks = append(r.Tasks, t)
	}
	for range g.IntN(3) {
		r.Others = append(r.Others, agent())
		r.Providers = append(r.Providers, api.Provider{Name: text(), Until: when()})
		r.Repairs = append(r.Repairs, api.Repair{Commit: text(), Merge: text(), Files: g.IntN(3), Names: []string{text(), text()}})
	}
	for range g.IntN(6) {
		r.Questions = append(r.Questions, api.Question{ID: text(), Task: text(), Text: text(), Context: text(), Choices: []string{text(), text()}})
		r.Notices = append(r.Notices, api.Notice{At: when(), Text: text(), Grave: g.IntN(2) == 0})
	}
	return r
}
