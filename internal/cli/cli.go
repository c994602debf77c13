// Package cli is the signalbox command line: it reads flags, calls one function
// for each command, and shows the result to a person or, with --json, to a
// program.
package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
)

// errQuiet ends a command with exit code 1 when all has been said.
const errQuiet = command.Exit(command.ExitFailure)

// app is one run of the program.
type app struct {
	command.Program
	dir  string // the box's
	home string // where its settings are
}

// Run runs the command line and returns its exit code.
func Run(ctx context.Context, args []string, env command.Env) int {
	a := &app{Program: command.Program{Env: env}}
	return a.Execute(ctx, a.root(), args, func(err error) any {
		p := &api.Problem{Code: api.CodeFailed, Message: err.Error()}
		errors.As(err, &p)
		return p
	})
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "signalbox",
		Short: "Delivers plans with AI agents, and proves what happened",
		Long: `Signalbox delivers plans with AI agents, and proves what happened.

A plan goes in (run). Agents, which can be any programs, are started in git worktrees of
their own; each task goes from developer to critic to auditor; your checks are run by a gate
and not by the agent that claims they pass; work is merged to a branch when it is proven; and
you are asked only what only you can answer (inbox, answer).

Agents say in signals what they did and need: a line such as READY_FOR_REVIEW: T-1, an XML tag
at the end of a model's reply, or a JSON exit record. Signalbox finds them in whatever an agent
prints, and tells a signal that is used from one that is only mentioned (scan, signals). Agents
that you start yourself take part by hand (up, work, claim, emit).

Everything is recorded in a ledger that can't be changed quietly: anyone can prove afterwards
what happened (ledger), and every merge commit proves itself (verify).

Exit codes: 0 ok, 1 failure or refusal, 2 wrong usage or a person is needed, 130 interrupted.
With --json a failure is an object with code and error on standard output (of emit, verify and ledger
verify, as their help says).`,
		Example: `  signalbox init
  signalbox run plan.md
  signalbox inbox
  signalbox ledger verify`,
		Version:       command.BuildVersion().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.ValidateRequiredFlags(); err != nil {
				return err
			}
			a.locate(cmd.Flags().Changed("dir"))
			a.Started = true
			return nil
		},
	}
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print JSON for programs instead of text for people")
	root.PersistentFlags().StringVar(&a.dir, "dir", "", "the box's `DIRECTORY` (default .signalbox, here or in a directory above)")
	command.Group(root, "Deliver a plan", a.initCommand(), a.doctorCommand(), a.planCommand(), a.runCommand(), a.runsCommand(), a.statusCommand(),
		a.inboxCommand(), a.answerCommand(), a.tellCommand(), a.diffCommand(), a.logsCommand(), a.pauseCommand(), a.cancelCommand(), a.retryCommand())
	command.Group(root, "Hand work over by hand", a.upCommand(), a.workCommand(), a.claimCommand(), a.renewCommand(), a.releaseCommand(),
		a.emitCommand(), a.gateCommand(), a.eventsCommand())
	command.Group(root, "Ask a model", a.askCommand(), a.treeCommand())
	command.Group(root, "Read and teach signals", a.scanCommand(), a.signalsCommand(), a.execCommand())
	command.Group(root, "Prove, keep, measure", a.verifyCommitCommand(), a.ledgerCommand(), a.backupCommand(), a.restoreCommand(), a.benchCommand(), a.VersionCommand("signalbox"))
	root.AddCommand(a.sessionCommand(), confineCommand(), nestedCommand(), tendCommand())
	command.Dress(root)
	return root
}
