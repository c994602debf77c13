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

	noted  bool   // it was said that the settings can't be read
	secret string // that signs messages to people, once the settings have said where it is
	inBox  bool   // it is asked by others, in the box's own process: what the environment has is not theirs

	less   string          // options of the pager, for a live view that comes back after it; empty elsewhere
	typist typist          // at the terminal, once the live view takes keys
	linger <-chan struct{} // closed when a program that the live view has started gives the terminal back; nil if there is none
}

// Run runs the command line and returns its exit code.
func Run(ctx context.Context, args []string, env command.Env) int {
	a := &app{Program: command.Program{Env: env, Hint: hint}}
	return a.Execute(ctx, a.root(), args, func(err error) any {
		p := &api.Problem{Code: api.CodeFailed, Message: err.Error()}
		if !a.Started {
			p.Code = api.CodeUsage
		}
		errors.As(err, &p)
		return p
	})
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "signalbox",
		Short: "Delivers plans with AI agents, checks their work, and records what happened",
		Long: `Signalbox delivers plans with AI agents, checks their work, and records what happened. A plan goes in (run); agents
work in git worktrees of their own; your checks, a critic and an auditor judge what they did; work that they pass is
merged to a branch of its own; and you are asked only what only you can answer (inbox, answer).

Everything is recorded in a ledger that can't be changed quietly (show, ledger, verify).`,
		Example: `  signalbox init
  signalbox run "fix the flaky login test"
  signalbox inbox`,
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
	command.Group(root, "The first day", a.initCommand(), a.doctorCommand(), a.runCommand(), a.statusCommand(), a.inboxCommand(),
		a.answerCommand(), a.tellCommand(), a.diffCommand(), a.logsCommand(), a.cancelCommand())
	command.Group(root, "Deliver a plan", a.planCommand(), a.pageCommand(), a.runsCommand(), a.showCommand(), a.reviewCommand(), a.takeCommand(), a.giveCommand(),
		a.pauseCommand(), a.retryCommand(), a.cleanCommand())
	command.Group(root, "Hand work over by hand", a.upCommand(), a.workCommand(), a.claimCommand(), a.renewCommand(), a.releaseCommand(),
		a.emitCommand(), a.gateCommand(), a.eventsCommand())
	command.Group(root, "From inside an agent", a.pluginCommand(), a.mcpCommand())
	command.Group(root, "Ask a model", a.askCommand(), a.treeCommand())
	command.Group(root, "Read and teach signals", a.scanCommand(), a.signalsCommand(), a.execCommand())
	command.Group(root, "Prove, keep, measure", a.verifyCommitCommand(), a.ledgerCommand(), a.backupCommand(), a.restoreCommand(), a.statsCommand(), a.reportCommand(), a.benchCommand(), a.tokenCommand(), a.runnerCommand(), a.clusterCommand(), a.VersionCommand("signalbox"), a.ManualCommand("signalbox"))
	root.AddCommand(a.sessionCommand(), a.adviseCommand(), confineCommand(), nestedCommand(), tendCommand())
	command.Dress(root)
	command.Brief(root, about)
	return root
}

// about is what "help all" says besides the commands.
const about = `Agents say in signals what they did and need: a line such as READY_FOR_REVIEW: T-1, an XML tag
at the end of a model's reply, or a JSON exit record. Signalbox finds them in whatever an agent
prints, and tells a signal that is used from one that is only mentioned (scan, signals). Agents
that you start yourself take part by hand (up, work, claim, emit).

Exit codes: 0 ok, 1 failure or refusal, 2 wrong usage or a person is needed, 130 interrupted.
With --json a failure is an object with code and error on standard output (of emit, verify and ledger
verify, as their help says).`
