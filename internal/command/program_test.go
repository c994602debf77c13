package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
)

// Who asks for JSON gets it, wherever the arguments are wrong.
func TestWrongUsageAsJSON(t *testing.T) {
	for _, c := range []struct {
		args string
		json bool
	}{
		{"do --foo --json", true},
		{"do --json --foo", true},
		{"do --foo --json=true", true},
		{"do --json extra", true},
		{"do extra --json", true},
		{"--foo --json do", true},
		{"nope --json", true},
		{"--json nope", true},
		{"--json=true nope", true},
		{"nope --json -- x", true},
		{"do --foo", false},
		{"nope", false},
		{"nope json", false},
		{"nope -- --json", false},
		{"do --foo -- --json", false},
		{"nope --json=false", false},
		{"do --jsonx", false},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, complain bytes.Buffer
			p := &command.Program{Env: command.Env{Out: &out, Err: &complain}}
			root := &cobra.Command{Use: "tool", SilenceErrors: true, SilenceUsage: true}
			root.PersistentFlags().BoolVar(&p.JSON, "json", false, "")
			root.AddCommand(&cobra.Command{Use: "do", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return nil }})
			code := p.Execute(t.Context(), root, strings.Fields(c.args), func(err error) any { return map[string]string{"error": err.Error()} })
			if code != command.ExitUsage {
				t.Errorf("code %d", code)
			}
			var said map[string]string
			switch {
			case !c.json && (out.Len() > 0 || !strings.Contains(complain.String(), "--help' for how to use it.\n")):
				t.Errorf("out %q, err %q", out.String(), complain.String())
			case c.json && (json.Unmarshal(out.Bytes(), &said) != nil || said["error"] == "" || complain.Len() > 0):
				t.Errorf("out %q, err %q", out.String(), complain.String())
			}
		})
	}
}

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
