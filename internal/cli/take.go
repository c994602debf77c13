package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) takeCommand() *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use:   "take TASK",
		Short: "Take a task over, and work on it yourself",
		Long: `Take makes you the developer of a task, wherever it stands, until it is merged: whoever works on it or reviews it is
told to end, its work stays, questions about it are taken back, and everything is judged anew. It prints the worktree to
work in. Commit there or not, as you like; signalbox give hands the task in.

Take runs nothing of what is in the worktree. With --open it opens your editor there (VISUAL, EDITOR), or a shell if
none is set: files, settings and hooks in it are an agent's, and your programs may heed them.

With --json it prints task, work, worktree and session. It does not need a box to be running.`,
		Example: `  signalbox take T-5
  cd "$(signalbox take T-5 --json | jq -r .worktree)"
  signalbox give T-5 -m "the lock is taken in one order now"`,
		Args: one("a task"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.take(cmd.Context(), args[0], open) },
	}
	cmd.Flags().BoolVar(&open, "open", false, "open your editor there, or a shell")
	return cmd
}

func (a *app) take(ctx context.Context, name string, open bool) error {
	v, err := a.takeOver(ctx, name)
	if err != nil {
		return err
	}
	if a.JSON {
		return command.WriteJSON(a.Out, v)
	}
	if !open {
		fmt.Fprintf(a.Out, "%s is yours, in\n  %s\nhand it in with signalbox give %s, or return it with --back\n", safetext.Escape(v.Work), safetext.Escape(v.Worktree), safetext.ShellWord(v.Work))
		return nil
	}
	a.Served = true // an interrupt is for what is opened
	if program := editor(); program != "" {
		return worktree.Edit(ctx, program, v.Worktree, ".")
	}
	return worktree.Shell(ctx, v.Worktree)
}

// takeOver makes the user the developer of a task, when nobody else works on it any more, and says what they have to know of it.
func (a *app) takeOver(ctx context.Context, name string) (api.Taken, error) {
	running := a.running()
	type result struct {
		api.Taken
		ending string // a session that has not ended yet
		why    string // it was sent back
	}
	v, err := operate(ctx, a, func(c *api.Client) (v result, err error) {
		if v.Taken, err = c.Take(ctx, name); err == nil {
			v.ending, err = agentGone(ctx, c, v.Taken, running)
		}
		if err == nil && !a.JSON {
			v.why, err = sentBack(ctx, c, v.Work)
		}
		return v, err
	})
	if err != nil {
		return v.Taken, err
	}
	if v.ending != "" {
		fmt.Fprintf(a.Err, "%s: the agent on it (session %s) has not ended yet: `signalbox run` or `signalbox up` ends it\n", a.PaintErr(command.Yellow, "note"), v.ending)
	}
	if v.why != "" {
		fmt.Fprintf(a.Out, "it was %s\n", v.why)
	}
	return v.Taken, nil
}

// errGone ends the watching of a run when nobody else works on a task.
var errGone = errors.New("nobody else works on it")

// agentGone returns when no agent works on a task any more that was taken; without a box that ends it, it returns the
// session that is left.
func agentGone(ctx context.Context, c *api.Client, t api.Taken, running bool) (left string, err error) {
	err = c.FollowRun(ctx, runOf(t.Work), func(r api.Run) error {
		left = ""
		for _, task := range r.Tasks {
			if task.Work == t.Work && task.Agent != nil && task.Agent.Session != t.Session {
				left = task.Agent.Session
			}
		}
		if left == "" || !running {
			return errGone
		}
		return nil
	})
	if errors.Is(err, errGone) {
		err = nil
	}
	return left, err
}

func (a *app) giveCommand() *cobra.Command {
	var g api.Give
	cmd := &cobra.Command{
		Use:   "give TASK",
		Short: "Hand in a task that you have taken",
		Long: `Give hands a task in that you have taken, as a developer's READY_FOR_REVIEW does: what is in the
worktree is committed, and that commit is what is judged, whatever you change there afterwards: the gate runs the checks, critic and auditor judge it, and it is merged. What is sent back goes to agents, unless
you take it again. With --back it goes to an agent as it is, who is told the message. With --no-change and a reason
you say that nothing has to be changed: if the critic agrees, the task is completed without a merge. Without either, a task in which
nothing is changed is not handed in.

With --json it prints the run. It does not need a box to be running.`,
		Example: `  signalbox give T-5 -m "the lock is taken in one order now"
  signalbox give T-5 --back -m "the test is there, make it pass"
  signalbox give T-5 --no-change "the limit was raised in T-3"`,
		Args: one("a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch flagged := cmd.Flags().Changed("no-change"); {
			case flagged && g.Back:
				return a.UsageError("--no-change goes without --back")
			case flagged && strings.TrimSpace(g.NoChange) == "":
				return a.UsageError("--no-change needs a reason, which the critic judges")
			}
			running := a.running()
			r, err := operate(cmd.Context(), a, func(c *api.Client) (api.Run, error) { return c.Give(cmd.Context(), args[0], g) })
			state := "handed in"
			if g.Back {
				state = "given back to agents"
			}
			return a.saidRun(r, taskIn(r, args[0]).Work, state+goesOn(running), err)
		},
	}
	cmd.Flags().StringVarP(&g.Text, "message", "m", "", "what you did; with --back, what the next agent has to know")
	cmd.Flags().StringVar(&g.NoChange, "no-change", "", "hand it in with nothing changed, and say why: `REASON`")
	cmd.Flags().BoolVar(&g.Back, "back", false, "return it to agents, without handing it in")
	return cmd
}
