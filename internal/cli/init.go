package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) initCommand() *cobra.Command {
	var force, show bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Propose settings for a repository",
		Long: `Init looks at the git repository that you are in and writes signalbox.yaml to its
top directory: which agent programs are installed, how its tests are run, what a fresh
worktree needs. Where a sandbox can be had that protects the proposed reviewers, it tries
it: setup and checks are run on the last commit, in the sandbox, as a run would, for five
minutes at most. If they pass, the settings name it; if not, they say none, and it says why.
Read the file and change what is not right. With --print nothing is tried.

A file that is there is left alone, unless --force is given. The box's directory,
.signalbox/, is added to .git/info/exclude, so that git does not see it.

With --json it says what it wrote: file, written, agents (name, adapter, command), checks,
setup, copy, sandbox (kind, why), excluded.`,
		Example: `  signalbox init --print
  signalbox init`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := config.Look(cmd.Context(), ".")
			if err != nil {
				return err
			}
			if show && !a.JSON {
				_, err := a.Out.Write(found.Propose())
				return err
			}
			file := filepath.Join(found.Root, config.File)
			if !show {
				if err := mayWrite(file, force); err != nil {
					return err
				}
				if err := a.trySandbox(cmd.Context(), &found); err != nil {
					return err
				}
			}
			made := proposal{
				File: file, Agents: []offered{},
				Checks: []string{}, Setup: found.Setup, Copy: append([]string{}, found.Copy...),
				Sandbox: tried{cmp.Or(found.Sandbox, sandbox.None), found.Tried},
			}
			for _, o := range found.Agents {
				made.Agents = append(made.Agents, offered{o.Name, o.Adapter, o.Command})
			}
			for _, c := range found.Checks {
				made.Checks = append(made.Checks, c.Command)
			}
			if !show {
				if err := writeProposal(cmd.Context(), made.File, found.Propose(), force); err != nil {
					return err
				}
				made.Written = true
				if made.Excluded, err = found.Exclude(cmd.Context(), ".signalbox/"); err != nil {
					return err
				}
			}
			return a.sayProposal(made)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	cmd.Flags().BoolVar(&show, "print", false, "print the settings, and write nothing")
	return cmd
}

// proposal is what init found and did.
type proposal struct {
	File     string    `json:"file"`
	Written  bool      `json:"written"`
	Agents   []offered `json:"agents"`
	Checks   []string  `json:"checks"`
	Setup    string    `json:"setup,omitempty"`
	Copy     []string  `json:"copy"`
	Sandbox  tried     `json:"sandbox"`
	Excluded bool      `json:"excluded"`
}

// tried is the sandbox that is proposed.
type tried struct {
	Kind sandbox.Kind `json:"kind"`
	Why  string       `json:"why,omitempty"`
}

// offered is an agent that is proposed.
type offered struct {
	Name    string         `json:"name"`
	Adapter config.Adapter `json:"adapter"`
	Command []string       `json:"command"`
}

// mayWrite refuses a file that is there, before anything is tried for it.
func mayWrite(file string, force bool) error {
	if _, err := os.Lstat(file); err == nil && !force {
		return errThere(file)
	}
	return nil
}

func errThere(file string) error {
	return fmt.Errorf("%s is there already: change it, see what would be written with --print, or write over it with --force", file)
}

func writeProposal(ctx context.Context, file string, text []byte, force bool) error {
	how := os.O_EXCL
	if force {
		how = os.O_TRUNC
	}
	err := writeNamed(ctx, file, how, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return errThere(file)
	}
	return err
}

func (a *app) sayProposal(p proposal) error {
	if a.JSON {
		return command.WriteJSON(a.Out, p)
	}
	say := func(what, text string) { fmt.Fprintf(a.Out, "  %-7s %s\n", what, text) }
	fmt.Fprintf(a.Out, "%s written\n", a.Paint(command.Bold, safetext.Escape(p.File)))
	what := "agents"
	for _, o := range p.Agents {
		say(what, fmt.Sprintf("%-8s  %s, %s", o.Name, strings.Join(o.Command, " "), drivenBy(o.Adapter)))
		what = ""
	}
	if len(p.Agents) == 0 {
		say(what, a.Paint(command.Yellow, "none found of "+strings.Join(config.KnownAgents(), ", ")+": fill in yours"))
	}
	if len(p.Checks) == 0 {
		say("checks", a.Paint(command.Yellow, "none found: without any, the gate lets everything pass"))
	} else {
		say("checks", strings.Join(p.Checks, ", "))
	}
	if p.Setup != "" {
		say("setup", p.Setup)
	}
	if len(p.Copy) > 0 {
		say("copy", strings.Join(p.Copy, ", "))
	}
	if p.Sandbox.Kind == sandbox.None {
		say("sandbox", a.Paint(command.Yellow, "none")+": "+p.Sandbox.Why)
	} else {
		say("sandbox", fmt.Sprintf("%s: sandbox.kind is %s", p.Sandbox.Why, a.Paint(command.Green, string(p.Sandbox.Kind))))
	}
	if p.Excluded {
		fmt.Fprintln(a.Out, ".signalbox/ added to .git/info/exclude")
	}
	fmt.Fprintln(a.Out, "Read it before you use it: it says what agents may do here.")
	return nil
}

// drivenBy says in words how an agent is driven.
func drivenBy(adapter config.Adapter) string {
	switch adapter {
	case config.AdapterACP:
		return "by the Agent Client Protocol"
	case config.AdapterClaude:
		return "by Claude Code's stream"
	case config.AdapterCodex:
		return "by Codex's stream"
	}
	return "by its input and output"
}
