package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/safetext"
)

// draftFlags are the flags of plan draft.
type draftFlags struct{ file, agent, config string }

func (a *app) planDraftCommand() *cobra.Command {
	var f draftFlags
	cmd := &cobra.Command{
		Use:   "draft GOAL",
		Short: "Have an agent write a plan for you to look at",
		Example: `  signalbox plan draft "count words, and not only lines"
  signalbox plan draft "count words" --agent claude -o words.md`,
		Long: `Draft has an agent read the repository and write a plan for a goal. The agent is the one that plays
analyst in the settings, or the one that --agent names. It looks at the last commit in a worktree of
its own, in the analyst's sandbox and with what an analyst may do, less the changing of files; without
a sandbox it can do whatever you can, and draft says if something in your checkout was changed.
A plan that can't be read goes back to the agent once, with what is wrong with it.

The plan goes to plan.md, or to the file that -o names; it must not be there yet (-o - prints the plan).
Its first line says that an agent wrote it and nobody has looked. Draft starts no run: read the plan,
change what is not right, take the line out, and run it.

A draft is no run: it needs no box, and nothing of it is recorded in the ledger. The budget of the
settings holds for it. Ctrl-C ends the agent, and leaves nothing behind.
With --json it prints file, plan, agent, tasks, checks (commands that the plan adds to the gate),
tokens, cost_usd and changed.`,
		Args: one("a goal, in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return a.UsageError("the goal is empty: say in quotes what the plan is for")
			}
			return a.planDraft(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVarP(&f.file, "output", "o", "plan.md", "the `FILE` to write, which must not be there yet; - prints the plan")
	cmd.Flags().StringVar(&f.agent, "agent", "", "the `NAME` of the agent that writes it (default: the one that plays analyst)")
	cmd.Flags().StringVar(&f.config, "config", "", "the `FILE` with the settings (default: signalbox.yaml beside the box, if it is there)")
	return cmd
}

func (a *app) planDraft(ctx context.Context, goal string, f draftFlags) error {
	if f.file == "-" {
		f.file = ""
	}
	if err := freePlan(f.file); err != nil {
		return err
	}
	c, err := a.settings(f.config)
	if err != nil {
		return err
	}
	if err := a.haveAgents(c); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	hidden, err := a.hiddenHere(c)
	if err != nil {
		return err
	}
	role := c.Role(agentsig.RoleAnalyst)
	if f.agent == "" {
		f.agent = role.Agent
	}
	if !a.JSON {
		a.noteDirty(ctx)
		fmt.Fprintf(a.Err, "%s reads the repository and writes a plan, for %s at most; Ctrl-C ends it\n", safetext.Escape(f.agent), evidence.Length(role.WallClock))
	}
	if err := process.AdoptOrphans(); err != nil { // they are still found by their marker
		a.logger().Warn("what an agent leaves can't be adopted", "error", err)
	}
	made, err := runner.Draft(ctx, runner.Drafting{Repo: c.Dir, Program: program, Config: c, Agent: f.agent, Goal: goal, Hidden: hidden})
	for _, what := range made.Changed {
		fmt.Fprintf(a.Err, "%s: your checkout was changed while the agent was at work: %s\n", a.PaintErr(command.Yellow, "note"), what)
	}
	if err != nil {
		return err
	}
	return a.keepDraft(ctx, f.file, made)
}

// hiddenHere returns what agents and checks must not see of the box that is here, if there is one: what a run hides.
func (a *app) hiddenHere(c config.Config) ([]string, error) {
	if _, err := os.Stat(a.dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return box.Dir(a.dir).Hidden(c.Archive)
}

// keepDraft writes a draft to its file, or prints it, and says what comes next.
func (a *app) keepDraft(ctx context.Context, file string, made runner.Drafted) error {
	text := fmt.Sprintf("<!-- An agent (%s) wrote this plan, and nobody has looked at it yet. Take this line out when you have. -->\n\n%s",
		strings.ReplaceAll(safetext.Escape(made.Agent), "--", ""), made.Plan.Markdown())
	if file != "" {
		if err := writePlan(ctx, file, text); err != nil {
			_, werr := io.WriteString(a.Err, text) // it is not lost
			return errors.Join(err, werr)
		}
	}
	checks := []string{}
	for _, c := range made.Plan.Checks {
		checks = append(checks, c.Command)
	}
	switch {
	case a.JSON:
		return command.WriteJSON(a.Out, map[string]any{
			"file": file, "plan": text, "agent": made.Agent, "tasks": len(made.Plan.Tasks), "checks": checks,
			"tokens": made.Usage.Tokens(), "cost_usd": made.Usage.CostUSD, "changed": append([]string{}, made.Changed...),
		})
	case file == "":
		if _, err := io.WriteString(a.Out, text); err != nil {
			return err
		}
	default:
		a.sayPlan(file, made.Plan)
	}
	if made.Usage.Tokens() > 0 {
		fmt.Fprintf(a.Err, "%s used %s\n", safetext.Escape(made.Agent), made.Usage.Words())
	}
	for _, c := range checks {
		fmt.Fprintf(a.Err, "%s: the plan adds a check, which the gate would run: %s\n", a.PaintErr(command.Yellow, "note"), safetext.Escape(c))
	}
	return nil
}
