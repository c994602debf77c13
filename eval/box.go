package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/process"
)

// settings are those of a delivery by Signalbox, as JSON, which is YAML too. What is not here has its default: gate, critic and auditor.
func (e evaluation) settings(env map[string]string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"agents": map[string]any{"default": map[string]any{"adapter": e.program.adapter, "command": e.program.command, "env": env}},
		"budget": map[string]any{"cost_usd": e.may.CostUSD, "tokens": e.may.Tokens},
	})
}

// box has Signalbox deliver a task: `signalbox run` of its plan, with the same program in all roles, and the same budget for all of
// them together as one agent alone has.
func (e evaluation) box(ctx context.Context, at room) (d delivered, err error) {
	settings, err := e.settings(at.env)
	if err != nil {
		return d, err
	}
	text, err := os.ReadFile(filepath.Join(at.task.dir, "task.md"))
	if err != nil {
		return d, err
	}
	for name, data := range map[string][]byte{
		"signalbox.yaml": settings, "task.md": text,
		filepath.Join(".git", "info", "exclude"): []byte("/signalbox.yaml\n/task.md\n/.signalbox\n"),
	} {
		if err := os.WriteFile(filepath.Join(at.repo, name), data, 0o600); err != nil {
			return d, err
		}
	}
	env := process.CleanEnv(os.Environ())
	ran, err := execute(ctx, at.repo, env, e.signalbox, "run", "task.md")
	if late := os.WriteFile(filepath.Join(at.dir, "log"), []byte(ran.out+ran.errs), 0o600); late != nil {
		return d, late
	}
	if err != nil && ctx.Err() == nil {
		return d, err
	}
	after := context.WithoutCancel(ctx) // what was merged by the end of its time is its result
	asked, err := execute(after, at.repo, env, e.signalbox, "status", "--json")
	if err != nil {
		return d, err
	}
	var run api.Run
	if err := json.Unmarshal([]byte(asked.out), &run); err != nil || run.ID == "" {
		return d, fmt.Errorf("signalbox run ended with %d, and no run is there: %s", ran.exit, ran.text())
	}
	d.usage = run.Usage
	d.state, d.detail = ending(ran.exit, ctx.Err() != nil, run)
	d.commit, err = git(after, at.repo, "rev-parse", "--verify", "--end-of-options", run.Branch)
	return d, err
}

// ending is how a run ended.
func ending(exit int, late bool, run api.Run) (s state, detail string) {
	switch {
	case exit == 0:
		return stateDone, ""
	case late:
		return stateTime, ""
	case len(run.Questions) == 0:
		return stateOpen, ""
	}
	q := run.Questions[0]
	switch q.Cause {
	case delivery.CauseBudget:
		return stateBudget, q.Text
	case delivery.CauseLogin:
		return stateFailed, q.Text
	}
	return stateAsks, q.Text
}
