package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) planCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Make a plan, check it, and see its dependencies",
		Example: `  signalbox plan draft "count words, and not only lines"
  signalbox plan from-issues 12 15 -o plan.md
  signalbox plan show plan.md`,
		Long: `A plan is a file in Markdown:

  # A title

  ### Phase 1: Groundwork

  #### Task T-1: What is to be done

  **Work**: what, in as many words as it takes.

  **Acceptance Criteria**:
  - [ ] how one sees that it is done

  **Blocked By**: none

A task is started when all that it is blocked by is completed. Required Reading and
Environment are optional. A section "### Verification" with a table of check,
environment, command and expected exit code adds to the checks of signalbox.yaml.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.planCheckCommand(), a.planShowCommand(), a.planIssuesCommand(), a.planDraftCommand())
	return cmd
}

const namePlan = "name a plan, such as `signalbox plan --help` shows"

func (a *app) planCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check PLAN",
		Short:   "Say whether a plan can be delivered, and what is wrong with it",
		Example: `  signalbox plan check plan.md`,
		Long: `Check reads a plan and names everything that is wrong with it, by line. Exit code 1 if
anything is. With --json it prints ok, tasks, checks and errors (line, text).`,
		Args: one("a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := readFile(cmd.Context(), args[0], namePlan)
			if err != nil {
				return err
			}
			p, err := plan.Parse(data)
			if err == nil {
				err = delivery.CheckSize(len(p.Tasks))
			}
			if a.JSON {
				return a.sayChecked(p, err)
			}
			if err != nil {
				return fmt.Errorf("%s is refused:\n%w", safetext.Escape(args[0]), err)
			}
			fmt.Fprintf(a.Out, "%s: %s in %s, %s\n", a.Paint(command.Green, "ok"), english.Count(len(p.Tasks), "task"), english.Count(len(p.Waves()), "step"), ownChecks(p))
			return nil
		},
	}
}

// ownChecks says how many checks a plan adds to those of the settings.
func ownChecks(p plan.Plan) string {
	if len(p.Checks) == 0 {
		return "no checks of its own"
	}
	return english.Count(len(p.Checks), "check") + " of its own"
}

func (a *app) sayChecked(p plan.Plan, err error) error {
	type wrong struct {
		Line int    `json:"line"`
		Text string `json:"text"`
	}
	list := []wrong{}
	var all *plan.Errors
	switch {
	case errors.As(err, &all):
		for _, e := range all.List {
			list = append(list, wrong{e.Line, e.Text})
		}
	case err != nil:
		list = append(list, wrong{0, err.Error()})
	}
	if werr := command.WriteJSON(a.Out, map[string]any{"ok": err == nil, "tasks": len(p.Tasks), "checks": len(p.Checks), "errors": list}); werr != nil {
		return werr
	}
	if err != nil {
		return errQuiet
	}
	return nil
}

func (a *app) planShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show PLAN",
		Short:   "Draw a plan's tasks and what they wait for",
		Example: `  signalbox plan show plan.md`,
		Long: `Show draws a plan by the steps in which its tasks can be started. With --json it prints
title, tasks (id, title, phase, blocked_by, step) and checks.`,
		Args: one("a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := readFile(cmd.Context(), args[0], namePlan)
			if err != nil {
				return err
			}
			p, err := plan.Parse(data)
			if err != nil {
				return fmt.Errorf("%s is refused:\n%w", safetext.Escape(args[0]), err)
			}
			if a.JSON {
				return a.showPlan(p)
			}
			fmt.Fprint(a.Out, p.Draw(a.frame().Width))
			return nil
		},
	}
}

func (a *app) showPlan(p plan.Plan) error {
	type task struct {
		ID        string   `json:"id"`
		Title     string   `json:"title"`
		Phase     string   `json:"phase,omitempty"`
		BlockedBy []string `json:"blocked_by"`
		Step      int      `json:"step"`
	}
	tasks := []task{}
	for n, wave := range p.Waves() {
		for _, t := range wave {
			tasks = append(tasks, task{t.ID, t.Title, t.Phase, append([]string{}, t.BlockedBy...), n + 1})
		}
	}
	checks := []string{}
	for _, c := range p.Checks {
		checks = append(checks, strings.TrimSpace(c.Name+": "+c.Command))
	}
	return command.WriteJSON(a.Out, map[string]any{"title": p.Title, "tasks": tasks, "checks": checks})
}
