package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/safetext"
)

// A Program is one run of a command line.
type Program struct {
	Env
	JSON    bool // print for programs instead of people
	Started bool // a command has begun: what fails now is not a matter of usage
	Served  bool // it ran until it was told to stop: an interrupt is no failure

	// Hint is what a person can do next about an error, or nothing; nil if there are no hints.
	Hint func(error) string
}

// Exit is the error of a command that has said all there is to say, and ends with this code.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// UsageError is an error in what the user typed that only the command can see.
func (p *Program) UsageError(format string, args ...any) error {
	p.Started = false
	return fmt.Errorf(format, args...)
}

// Execute runs the command that the arguments name, tells of its failure and returns the exit code.
// With JSON, a failure is told as what problem makes of it.
func (p *Program) Execute(ctx context.Context, root *cobra.Command, args []string, problem func(error) any) int {
	out := &checked{to: p.Out}
	p.Out = out
	root.SetArgs(args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err
	}
	var exit Exit
	switch {
	case err == nil && (ctx.Err() == nil || p.Served):
		return ExitOK
	case ctx.Err() != nil && !p.Served:
		return ExitInterrupted
	case errors.As(err, &exit):
		return int(exit)
	}
	if !p.Started && asksForJSON(args) {
		p.JSON = true
	}
	if p.JSON {
		_ = WriteJSON(p.Out, problem(err)) // there is nobody left to tell
	} else {
		p.complain(root.Name(), err)
	}
	if p.Started {
		return ExitFailure
	}
	if !p.JSON {
		fmt.Fprintf(p.Err, "Run '%s --help' for how to use it.\n", cmd.CommandPath())
	}
	return ExitUsage
}

// complain tells a person what failed, and what can be done about it.
func (p *Program) complain(name string, err error) {
	text := safetext.EscapeLines(err.Error())
	if !strings.HasPrefix(text, name+" ") { // which is how messages about usage begin
		text = name + ": " + text
	}
	fmt.Fprintln(p.Err, text)
	if p.Hint == nil {
		return
	}
	if next := p.Hint(err); next != "" {
		fmt.Fprintln(p.Err, next)
	}
}

// asksForJSON says whether JSON is asked for, also where the command is unknown or a flag before it is wrong: nobody has
// read it then.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// checked remembers that something could not be written: an answer that nobody got is none.
type checked struct {
	to  io.Writer
	err error
}

func (c *checked) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.err = cmp.Or(c.err, err)
	return n, err
}

// VersionCommand prints the program's version.
func (p *Program) VersionCommand(name string) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  " + name + " version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := BuildVersion()
			if p.JSON {
				return WriteJSON(p.Out, v)
			}
			_, err := fmt.Fprintf(p.Out, "%s %s\n%s, %s\n", name, v.Version, v.Go, v.System)
			return err
		},
	}
}
