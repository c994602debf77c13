package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/safetext"
)

// enrolmentCommands are those by which runners get in and are let go.
func (a *app) enrolmentCommands() []*cobra.Command {
	return []*cobra.Command{a.runnerInviteCommand(), a.runnerJoinCommand(), a.runnerListCommand(), a.runnerDoctorCommand(), a.runnerDrainCommand(), a.runnerRemoveCommand()}
}

// runnerDir has a command take the directory of a runner, and returns what it is by then.
func (a *app) runnerDir(cmd *cobra.Command) func() (string, error) {
	var dir string
	cmd.Flags().StringVar(&dir, "dir", "", "the runner's `DIRECTORY` (default ~/"+enrolment.DirName+")")
	return func() (string, error) {
		if dir != "" {
			return filepath.Abs(dir)
		}
		return runnerHome()
	}
}

// runnerHome is the directory of a runner if no other is given.
func runnerHome() (string, error) {
	home, err := os.UserHomeDir()
	return filepath.Join(home, enrolment.DirName), err
}

func (a *app) runnerInviteCommand() *cobra.Command {
	var q api.NewRunner
	var ttl time.Duration
	cmd := &cobra.Command{
		Use:   "invite --name NAME",
		Short: "Let another machine in: print a line for it, this once",
		Long: `Invite prints a line with which another machine joins as a runner (signalbox runner join), once. It has the box's
addresses, the hash of its key, and a secret, of which the ledger keeps the SHA-256: whoever has the line first is the runner.
The box has to be running, and to listen beyond its machine (signalbox up --listen).

With --json it prints name, line and expires_at.`,
		Example: `  signalbox runner invite --name gpu1 --label linux --label gpu
  signalbox runner invite --name ci --ttl 1h --address box.example.org:7443`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if ttl < access.MinTTL || ttl > access.MaxInvitationTTL {
				return a.UsageError("--ttl %v: %w", ttl, access.ErrBadInviteTTL)
			}
			q.TTLMS = ttl.Milliseconds()
			made, err := ask(cmd.Context(), a, a.token, func(c *api.Client) (api.Invitation, error) { return c.InviteRunner(cmd.Context(), q) })
			if _, none := errors.AsType[noBoxError](err); none {
				return fmt.Errorf("no box is running in %s: start one that a runner can reach, with `signalbox up --listen ADDRESS:PORT`", safetext.Escape(a.dir))
			}
			if err != nil {
				return a.badValue(err)
			}
			if a.JSON {
				return command.WriteJSON(a.Out, made)
			}
			fmt.Fprintln(a.Out, made.Line)
			fmt.Fprintf(a.Err, "%s may join %s, once. On its machine: signalbox runner join LINE\n", made.Name, until(&made.ExpiresAt))
			return nil
		},
	}
	cmd.Flags().StringVar(&q.Name, "name", "", "the runner's `NAME`: a-z, 0-9, '.', '_' and '-'")
	cmd.Flags().StringSliceVar(&q.Labels, "label", nil, "what work can ask for (`LABEL`), such as linux or gpu; more than once, or with commas")
	cmd.Flags().DurationVar(&ttl, "ttl", access.InvitationTTL, fmt.Sprintf("how long the line is good, up to %v (`DURATION`)", access.MaxInvitationTTL))
	cmd.Flags().StringSliceVar(&q.Address, "address", nil, "where the runner finds the box (`HOST[:PORT]`), if not where it listens; more than once, or with commas")
	require(cmd, "name")
	return cmd
}

func (a *app) runnerJoinCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "join LINE",
		Short: "Make this machine a runner, with the line from the box",
		Long: `Join makes a key in the runner's directory, holds the box's key against the line that signalbox runner invite printed
at the box, and redeems the line's secret. From then on each knows the other by its key. - reads the line from standard
input, where other users of this machine do not see it.

With --json it prints name, box, box_key and labels, as runner.json in the directory has them.`,
		Example: `  signalbox runner join 'sbr1_…'
  ssh box signalbox runner invite --name gpu1 | signalbox runner join -`,
		Args: one("the line that `signalbox runner invite` printed"),
	}
	dir := a.runnerDir(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := dir()
		if err != nil {
			return err
		}
		line, err := a.lineOf(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		e, err := enrolment.Join(cmd.Context(), at, line)
		if err != nil {
			return a.badValue(err)
		}
		if a.JSON {
			return command.WriteJSON(a.Out, e)
		}
		fmt.Fprintf(a.Out, "%s has joined the box at %s, by a key in %s\n", safetext.Escape(e.Name), safetext.Escape(strings.Join(e.Box, ", ")), safetext.Escape(at))
		where := ""
		if cmd.Flags().Changed("dir") {
			where = " --dir " + safetext.ShellWord(at)
		}
		fmt.Fprintf(a.Err, "next: `signalbox runner doctor%s` says what this machine still needs, and `signalbox runner%s` is the runner\n", where, where)
		return nil
	}
	return cmd
}

func (a *app) runnerListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the runners that there are",
		Long: `List shows the runners that have joined, and those that may still join: how many sessions each has, of how many it takes,
which of the agents' programs are there, and why it gets no work. A runner is present, joined (and not started yet), draining
(it takes nothing new), left (it was told to), lost (the box has no contact to it) or invited.

With --json it prints an array of name, labels, state (present, draining, lost or invited), protocol, version, sessions,
places, agents, problem, last_contact_s, not_started, left_at, and expires_at of an invitation, drain_by of one that is drained;
what is not known is left out.`,
		Example: `  signalbox runner list
  signalbox runner list --json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			running := a.running()
			all, err := look(cmd.Context(), a, func(c *api.Client) ([]api.Runner, error) { return c.Runners(cmd.Context()) })
			if err != nil {
				return a.isRunner(err)
			}
			if a.JSON {
				return command.WriteJSON(a.Out, all)
			}
			if len(all) == 0 {
				fmt.Fprintln(a.Err, "no runners but the box's own: `signalbox runner invite` lets another machine in")
				return nil
			}
			t := command.NewTable("NAME", "STATE", "SESSIONS", "LABELS", "AGENTS", "")
			for _, r := range all {
				t.Add(safetext.Escape(r.Name), r.Words(), load(r), words(r.Labels), words(r.Agents), aboutRunner(r, running))
			}
			t.Write(a.Out, a.Columns())
			if !running {
				fmt.Fprintln(a.Err, "no box is running, so none of them is in contact: `signalbox up` starts one")
			}
			return nil
		},
	}
}

// isRunner says where to ask if there is no box here, as this machine has joined another one's.
func (a *app) isRunner(err error) error {
	home, noHome := runnerHome()
	if e, none := enrolment.Look(home); noHome == nil && none == nil && absent(a.dir, "") {
		return fmt.Errorf("there is no box in %s: this machine is the runner %s of the box at %s, which knows its runners", safetext.Escape(a.dir), safetext.Escape(e.Name), safetext.Escape(strings.Join(e.Box, ", ")))
	}
	return err
}

// load says how many sessions a runner has, and of how many if that is known.
func load(r api.Runner) string {
	if r.Places == 0 {
		return strconv.Itoa(r.Sessions)
	}
	return fmt.Sprintf("%d/%d", r.Sessions, r.Places)
}

// words are a cell of a table.
func words(all []string) string { return cmp.Or(safetext.Escape(strings.Join(all, " ")), "-") }

// aboutRunner says what there is to know of a runner in its state. Where no box runs, nothing is known of the moment.
func aboutRunner(r api.Runner, running bool) string {
	var all []string
	if r.ExpiresAt != nil {
		all = append(all, "may join "+until(r.ExpiresAt))
	}
	if silent := r.Silence(); silent != "" && running {
		all = append(all, silent)
	}
	if r.DrainBy != nil && r.State == api.RunnerDraining && r.LeftAt == nil {
		all = append(all, "what it does may go on "+until(r.DrainBy))
	}
	if why := r.Remark(); why != "" && running {
		all = append(all, safetext.Escape(why))
	}
	return strings.Join(all, "; ")
}

func (a *app) runnerDrainCommand() *cobra.Command {
	var deadline time.Duration
	var q api.DrainRunner
	cmd := &cobra.Command{
		Use:   "drain NAME",
		Short: "Have a runner take nothing new",
		Long: `Drain has a runner take nothing new. What is under way there may go on until the deadline, and then it is ended and goes on
elsewhere, from what was handed in. --back has it take work again.

With --json it prints what runner list has of it.`,
		Example: `  signalbox runner drain gpu1 --deadline 2h
  signalbox runner drain gpu1 --back`,
		Args: one("the name of a runner"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if deadline < 0 {
				return a.UsageError("--deadline %v: %w", deadline, access.ErrBadDeadline)
			}
			running := a.running()
			if q.DeadlineMS = deadline.Milliseconds(); q.Back {
				q.DeadlineMS = 0
			}
			r, err := operate(cmd.Context(), a, func(c *api.Client) (api.Runner, error) { return c.DrainRunner(cmd.Context(), args[0], q) })
			if err != nil {
				return a.badValue(err)
			}
			switch {
			case a.JSON:
				return command.WriteJSON(a.Out, r)
			case q.Back:
				fmt.Fprintf(a.Out, "%s takes work again\n", safetext.Escape(r.Name))
			default:
				fmt.Fprintf(a.Out, "%s takes nothing new; %s\n", safetext.Escape(r.Name), aboutRunner(r, running))
			}
			return nil
		},
	}
	cmd.Flags().DurationVar(&deadline, "deadline", 30*time.Minute, "how long what is under way may go on (`DURATION`)")
	cmd.Flags().BoolVar(&q.Back, "back", false, "take work again")
	cmd.MarkFlagsMutuallyExclusive("deadline", "back")
	return cmd
}

func (a *app) runnerRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "End a runner at once, or withdraw its invitation",
		Long: `Remove ends a runner: from then on its key is nobody's, and what was under way there goes on elsewhere. Its name can be given to
another one. To let it finish first, drain it. Of a runner that has not joined it withdraws the invitation.

With --json it prints what runner list had of it.`,
		Example: `  signalbox runner remove gpu1`,
		Args:    one("the name of a runner"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := operate(cmd.Context(), a, func(c *api.Client) (api.Runner, error) { return c.RemoveRunner(cmd.Context(), args[0]) })
			if err != nil {
				return err
			}
			switch {
			case a.JSON:
				return command.WriteJSON(a.Out, r)
			case r.State == api.RunnerInvited:
				fmt.Fprintf(a.Out, "the invitation of %s is withdrawn\n", safetext.Escape(r.Name))
			default:
				fmt.Fprintf(a.Out, "%s is removed\n", safetext.Escape(r.Name))
			}
			return nil
		},
	}
}

// lineOf returns the line that was given to join with, read from standard input if it is -.
func (a *app) lineOf(ctx context.Context, given string) (string, error) {
	if given != "-" {
		return given, nil
	}
	data, err := readAll(ctx, a.In, maxKeyFile)
	return string(data), err
}
