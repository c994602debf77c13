package cli

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// execGrace is how long a command may take to end once it is told to.
const execGrace = 5 * time.Second

// execCommand is for agents that run what they judge.
func (a *app) execCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "exec -- COMMAND [ARGUMENT...]",
		Short:   "Run a command for an agent, so that it can't speak for the agent",
		Example: `  signalbox exec -- go test ./...`,
		Long: `Exec runs a command for an agent, such as the tests of a change that it reviews.

The command has no input, and its output comes back as a block quote, in which no signal
counts. In a sandbox of Signalbox's it can't look into the agent's processes, signal them or
read what programs keep of their prompts either. The exit code is the command's.

An agent that runs commands in no other way than this one may be a reviewer: say so with
"commands: exec" in its settings.`,
		DisableFlagParsing: true, // what follows is the command's
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			if len(args) > 0 && args[0] == "--" {
				args = args[1:]
			}
			if len(args) == 0 {
				return a.UsageError("a command is needed: signalbox exec -- ./test")
			}
			return a.exec(cmd, args)
		},
	}
}

// exec runs a command to its end. If it is interrupted, so is the command.
func (a *app) exec(cmd *cobra.Command, words []string) error {
	words, err := nested(words, os.Getenv(sandbox.NestVariable))
	if err != nil {
		return err
	}
	var one sync.Mutex
	out, errs := &blockQuote{to: a.Out, one: &one}, &blockQuote{to: a.Err, one: &one}
	group, err := process.Start(process.Command{
		Path: words[0], Args: words[1:], Env: os.Environ(), Stdout: out, Stderr: errs,
	})
	if err != nil {
		return err
	}
	select {
	case <-group.Done():
	case <-cmd.Context().Done():
	}
	group.End(execGrace)
	exit, err := group.Wait()
	if err := errors.Join(err, out.end(), errs.end(), cmd.Context().Err()); err != nil {
		return err
	}
	if exit != 0 {
		return command.Exit(exit)
	}
	return nil
}

// nested returns how a command is run in the nest of a session, if there is one.
func nested(command []string, nest string) ([]string, error) {
	if nest == "" {
		return command, nil
	}
	self, err := os.Executable()
	return append([]string{self, "nested", nest, "--"}, command...), err
}

// nestedCommand is what exec starts in a session that is confined.
func nestedCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "nested NEST -- COMMAND...",
		Short:              "Run a command in a nested sandbox (exec starts it)",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 3 || args[1] != "--" {
				return errors.New("a nest, -- and a command are needed: `signalbox exec` starts this, not you")
			}
			return sandbox.EnterNest(args[0], args[2:])
		},
	}
}

// blockQuote writes text as a block quote: every line begins with "> ", and the last one is
// ended. Two that share a mutex do not write into each other's lines.
type blockQuote struct {
	to   io.Writer
	one  *sync.Mutex
	line []byte // that has no end yet
}

// maxQuoted is how much of a line is held back for its end.
const maxQuoted = 64 << 10

func (q *blockQuote) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := strings.IndexByte(string(p), '\n') + 1
		if end == 0 {
			end = len(p)
		}
		q.line, p = append(q.line, p[:end]...), p[end:]
		if q.line[len(q.line)-1] == '\n' || len(q.line) > maxQuoted {
			if err := q.end(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// end writes what is held, as a line.
func (q *blockQuote) end() error {
	if len(q.line) == 0 {
		return nil
	}
	line := "> " + strings.TrimSuffix(string(q.line), "\n") + "\n"
	q.line = q.line[:0]
	q.one.Lock()
	defer q.one.Unlock()
	_, err := io.WriteString(q.to, line)
	return err
}
