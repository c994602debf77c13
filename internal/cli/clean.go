package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) cleanCommand() *cobra.Command {
	var q api.Clean
	var yes bool
	cmd := &cobra.Command{
		Use:   "clean [RUN…]",
		Short: "Remove what runs that have ended left behind",
		Long: `Clean shows what is left of runs: worktrees, branches, what agents said (transcripts), what checks printed, and
how large it is. Of runs that have ended it removes what is merged, and what is older or more than the settings keep
(keep in signalbox.yaml, by which a box removes things by itself too). A run's own branch is merged when a branch of
yours, or a remote's, has all its commits.

With names of runs, only these are looked at. Work that is nowhere else is named and stays; with --unmerged it goes too. Nothing goes of a run that goes on,
and no branch that you have checked out or have given its name in the settings.

On a terminal it asks first. Without one it only shows, unless there is --yes. What goes is recorded: the ledger keeps
the hashes of transcripts, and the commit that each branch was at, by which git can bring it back for some weeks
(git branch NAME COMMIT). It does not need a box to be running. Exit code 1 if something could not be removed.

With --json it prints removed (whether it was carried out), bytes, and left: an array of run, task, kind (worktree,
branch, transcripts, gate_logs, homes), name, count, bytes, commit, unmerged (commits that no other branch has),
uncommitted (files), goes (it is to go, or was), removed (it has gone), why, and error.`,
		Example: `  signalbox clean
  signalbox clean --yes
  signalbox clean R3 --unmerged`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Runs = args
			return a.clean(cmd.Context(), q, yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove it without being asked")
	cmd.Flags().BoolVar(&q.Unmerged, "unmerged", false, "also work that is nowhere else")
	return cmd
}

func (a *app) clean(ctx context.Context, q api.Clean, yes bool) error {
	ask := func(q api.Clean) (api.Cleaned, error) {
		return operate(ctx, a, func(c *api.Client) (api.Cleaned, error) {
			if !q.Remove {
				for _, run := range q.Runs {
					if _, err := c.Run(ctx, run); err != nil {
						return api.Cleaned{}, err
					}
				}
			}
			return c.Clean(ctx, q)
		})
	}
	found, err := ask(q)
	if err != nil {
		return err
	}
	if !a.JSON {
		a.sayLeft(found, yes)
	}
	goes := slices.ContainsFunc(found.Left, func(l api.Leftover) bool { return l.Goes })
	switch {
	case yes:
	case a.JSON:
		return command.WriteJSON(a.Out, found)
	case !goes:
		fmt.Fprintln(a.Out, "there is nothing to remove")
		return nil
	case !a.InTTY || !a.OutTTY:
		fmt.Fprintf(a.Out, "nothing was removed: with --yes %s would be\n", bytesWords(found.Bytes))
		return nil
	case !a.agreed(ctx, fmt.Sprintf("remove %s?", bytesWords(found.Bytes))):
		fmt.Fprintln(a.Out, "nothing was removed")
		return nil
	}
	q.Remove, q.Runs = true, namedRuns(found) // what was not shown stays
	done := found
	if goes {
		if done, err = ask(q); err != nil {
			return err
		}
	}
	return a.sayCleaned(done)
}

// namedRuns returns the runs that were shown.
func namedRuns(c api.Cleaned) (runs []string) {
	for _, l := range c.Left {
		runs = append(runs, l.Run)
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

// agreed asks a question on the terminal. Only yes is yes.
func (a *app) agreed(ctx context.Context, question string) bool {
	answer, err := a.typed(ctx, question+" [y/N]")
	return err == nil && (answer == "y" || answer == "yes")
}

// sayCleaned says what became of it.
func (a *app) sayCleaned(c api.Cleaned) error {
	failed := false
	for _, l := range c.Left {
		if l.Error != "" {
			failed = true
			if !a.JSON {
				fmt.Fprintf(a.Err, "%s: %s could not be removed: %s\n", a.PaintErr(command.Red, "error"), safetext.Escape(aboutLeft(l)), l.Error)
			}
		}
	}
	if a.JSON {
		if err := command.WriteJSON(a.Out, c); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.Out, "removed %s\n", bytesWords(c.Bytes))
	}
	if failed {
		return errQuiet
	}
	return nil
}

// sayLeft shows what is left: what stays and why, and then what goes, or would go if it is not settled yet.
func (a *app) sayLeft(c api.Cleaned, settled bool) {
	goes := "would go"
	if settled {
		goes = "goes"
	}
	for _, part := range []struct {
		heading string
		goes    bool
	}{{"stays", false}, {goes, true}} {
		all := slices.Clone(c.Left)
		all = slices.DeleteFunc(all, func(l api.Leftover) bool { return l.Goes != part.goes })
		if len(all) == 0 {
			continue
		}
		fmt.Fprintln(a.Out, a.Paint(command.Bold, part.heading))
		for _, l := range all {
			text := leftWords(l)
			if l.Why != "" {
				text += ": " + safetext.Escape(l.Why)
			}
			fmt.Fprintf(a.Out, "  %-12s %s\n", safetext.Escape(aboutLeft(l)), a.Hang(text, 15))
		}
	}
}

// aboutLeft names whose something is.
func aboutLeft(l api.Leftover) string {
	name := cmp.Or(l.Run, "all runs")
	if l.Task != "" {
		name += "." + l.Task
	}
	return name
}

// leftWords says what something is, and what is only there.
func leftWords(l api.Leftover) string {
	var text string
	switch l.Kind {
	case api.LeftWorktree:
		text = "worktree, " + bytesWords(l.Bytes)
	case api.LeftBranch:
		text = "branch " + safetext.Escape(l.Name)
		if l.Commit != "" {
			text += fmt.Sprintf(" at %.7s", l.Commit)
		}
	case api.LeftTranscripts:
		text = english.Count(l.Count, "transcript") + ", " + bytesWords(l.Bytes)
	case api.LeftGateLogs:
		text = english.Count(l.Count, "log") + " of checks, " + bytesWords(l.Bytes)
	default:
		text = "caches of checks, " + bytesWords(l.Bytes)
	}
	if l.Unmerged > 0 {
		text += ", " + english.Count(l.Unmerged, "commit") + " that no other branch has"
	}
	if l.Uncommitted > 0 {
		text += ", " + english.Count(l.Uncommitted, "file") + " not committed"
	}
	return text
}

// bytesWords writes a size.
func bytesWords(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
