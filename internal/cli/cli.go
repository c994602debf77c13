// Package cli is the signalbox command line: it reads flags, calls one function
// for each command, and shows the result to a person or, with --json, to a
// program.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// Env is what a command talks to.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	InTTY    bool // In is a terminal
	OutTTY   bool // Out is a terminal
	Color    bool // Out shows colours
}

// Terminal returns the process's own environment.
func Terminal() Env {
	out := isTerminal(os.Stdout)
	return Env{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: isTerminal(os.Stdin), OutTTY: out,
		Color: out && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// errQuiet ends a command with exit code 1 when all has been said.
var errQuiet = errors.New("")

// app is one run of the program.
type app struct {
	Env
	json    bool
	started bool // a command has begun: what fails now is not a matter of usage
}

// Run runs the command line and returns its exit code.
func Run(ctx context.Context, args []string, env Env) int {
	a := &app{Env: env}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	err := root.ExecuteContext(ctx)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case err == nil:
		return exitOK
	case errors.Is(err, errQuiet):
		return exitFailure
	}
	fmt.Fprintf(env.Err, "signalbox: %v\n", err)
	if a.started {
		return exitFailure
	}
	fmt.Fprintln(env.Err, "Run 'signalbox --help' or 'signalbox COMMAND --help' for how to use it.")
	return exitUsage
}

// usageError is an error in what the user typed that only the command can see.
func (a *app) usageError(format string, args ...any) error {
	a.started = false
	return fmt.Errorf(format, args...)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "signalbox",
		Short: "Reads what AI agents say",
		Long: `Signalbox reads what AI agents say.

Agents end their work with signals: a line such as READY_FOR_REVIEW: T-1, an XML
tag at the end of a model's reply, or a JSON exit record. Signalbox finds them in
whatever an agent prints, tells a signal that is used from one that is only
mentioned, says why a near miss is one, and gives a verdict on the whole output.`,
		Example: `  my-agent | signalbox scan --role developer --task T-1
  signalbox signals --role critic
  signalbox signals --instructions --role developer --task T-1 >> prompt.md`,
		Version:          buildVersion().Version,
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { a.started = true },
	}
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON for programs instead of text for people")
	root.AddCommand(a.scanCommand(), a.signalsCommand(), a.versionCommand())
	root.SetUsageTemplate(usage)
	return root
}

const usage = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND [flags]{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}}  {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of every command:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`
