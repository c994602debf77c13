package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestExecute(t *testing.T) {
	fails := errors.New("it \x1b[31mfailed")
	for _, c := range []struct {
		name          string
		run           func(p *command.Program) error
		json, broken  bool
		cancelled     bool
		code          int
		out, complain string
	}{
		{name: "fine", run: func(p *command.Program) error { fmt.Fprint(p.Out, "done"); return nil }, out: "done"},
		{name: "fails", run: func(*command.Program) error { return fails }, code: 1, complain: "tool: it \\x1b[31mfailed\n"},
		{name: "fails, for programs", run: func(*command.Program) error { return fails }, json: true, code: 1, out: `{"error":"it \u001b[31mfailed"}` + "\n"},
		{name: "all is said", run: func(*command.Program) error { return command.Exit(2) }, code: 2},
		{name: "wrong usage", run: func(p *command.Program) error { return p.UsageError("not %d", 3) }, code: 2,
			complain: "tool: not 3\nRun 'tool do --help' for how to use it.\n"},
		{name: "nobody got it", run: func(p *command.Program) error { fmt.Fprint(p.Out, "done"); return nil }, broken: true, code: 1, complain: "tool: no space left\n"},
		{name: "interrupted", run: func(*command.Program) error { return context.Canceled }, cancelled: true, code: 130},
		{name: "served until then", run: func(p *command.Program) error { p.Served = true; return nil }, cancelled: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, complain bytes.Buffer
			p := &command.Program{Env: command.Env{Out: &out, Err: &complain}, JSON: c.json}
			if c.broken {
				p.Out = full{}
			}
			root := &cobra.Command{Use: "tool", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(&cobra.Command{Use: "do", RunE: func(*cobra.Command, []string) error {
				p.Started = true
				return c.run(p)
			}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.cancelled {
				cancel()
			}
			code := p.Execute(ctx, root, []string{"do"}, func(err error) any { return map[string]string{"error": err.Error()} })
			if code != c.code || out.String() != c.out || complain.String() != c.complain {
				t.Errorf("code %d, out %q, err %q", code, out.String(), complain.String())
			}
		})
	}
}
