package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/safetext"
)

// initFlags are the flags of init.
type initFlags struct{ force, show, all, commit bool }

func (a *app) initCommand() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Propose settings for a repository",
		Long: `Init looks at the git repository that you are in and writes signalbox.yaml to its
top directory: which agent programs are installed, how its tests are run, what a fresh
worktree needs, a budget. Where there are two programs, one writes and another one reviews.
Where a sandbox can be had that protects the proposed reviewers, it tries
it: setup and checks are run on the last commit, in the sandbox, as a run would, for five
minutes at most. If they pass, the settings name it; if not, they say none, and it says why.
The file is short; with --all it has every setting there is. Read it and change what is not
right. With --print nothing is tried or written.

A file that is there is left alone, unless --force is given. The box's directory,
.signalbox/, is added to .git/info/exclude, so that git does not see it. At a terminal you are
asked whether to commit the file; --commit does it without asking.

With --json it says what it wrote: file, written, agents (name, adapter, command), roles (writer,
reviewer), checks, setup, copy, sandbox (kind, why), budget_usd, excluded, committed.`,
		Example: `  signalbox init
  signalbox init --all --print`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.initialize(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "write over a file that is there")
	cmd.Flags().BoolVar(&f.all, "all", false, "every setting there is, with comments and defaults")
	cmd.Flags().BoolVar(&f.commit, "commit", false, "commit the file")
	cmd.Flags().BoolVar(&f.show, "print", false, "print the settings, and write nothing")
	return cmd
}

func (a *app) initialize(ctx context.Context, f initFlags) error {
	found, err := config.Look(ctx, ".")
	if err != nil {
		return err
	}
	cast(&found)
	propose := config.Found.Propose
	if f.all {
		propose = config.Found.ProposeAll
	}
	file := filepath.Join(found.Root, config.File)
	if f.show {
		found.Tried = "no sandbox was tried; `signalbox init` tries one, and names it if the checks pass in it"
	}
	switch {
	case f.show && f.commit:
		return a.UsageError("--print writes nothing, so there is nothing to commit")
	case f.show && a.JSON:
		return command.WriteJSON(a.Out, made(file, found))
	case f.show:
		_, err := a.Out.Write(propose(found))
		return err
	}
	if err := mayWrite(file, f.force); err != nil {
		return err
	}
	if err := a.trySandbox(ctx, &found); err != nil {
		return err
	}
	if err := writeProposal(ctx, file, propose(found), f.force); err != nil {
		return err
	}
	p := made(file, found)
	p.Written = true
	if p.Excluded, err = found.Exclude(ctx, ".signalbox/"); err != nil {
		return err
	}
	if !a.JSON {
		a.sayProposal(p)
	}
	if f.commit || !a.JSON && a.InTTY && a.OutTTY && a.agrees(ctx, "Commit "+config.File+" now?") {
		if err := found.Commit(ctx, config.File, "Add the settings of Signalbox"); err != nil {
			return fmt.Errorf("%s is written, and could not be committed: %w", safetext.Escape(file), err)
		}
		p.Committed = true
	}
	if a.JSON {
		return command.WriteJSON(a.Out, p)
	}
	next := ""
	if found.Empty(ctx) {
		next = a.Paint(command.Bold, "git add . && git commit") + ", which agents begin from; then "
	}
	if len(p.Agents) == 0 {
		next += fmt.Sprintf("put an agent into %s, and see with %s that it can work; then ", config.File, a.Paint(command.Bold, "signalbox doctor"))
	}
	fmt.Fprintf(a.Out, "Next: %s%s\n", next, a.Paint(command.Bold, `signalbox run "what is to be done"`))
	return nil
}

// agrees asks a person at a terminal; Enter means yes.
func (a *app) agrees(ctx context.Context, question string) bool {
	answer, err := a.typed(ctx, question+" [Y/n]")
	return err == nil && (answer == "" || answer == "y" || answer == "yes")
}

// made is the proposal that follows from what was found.
func made(file string, found config.Found) proposal {
	p := proposal{
		File: file, Agents: []offered{}, Roles: casting{found.Writer, found.Reviewer}, Checks: []string{}, Setup: found.Setup,
		Copy: append([]string{}, found.Copy...), Sandbox: tried{cmp.Or(found.Sandbox, sandbox.None), found.Tried}, Budget: config.ProposedBudget,
	}
	for _, o := range found.Agents {
		p.Agents = append(p.Agents, offered{o.Name, o.Adapter, o.Command})
	}
	for _, c := range found.Checks {
		p.Checks = append(p.Checks, c.Command)
	}
	return p
}

// proposal is what init found and did.
type proposal struct {
	File      string    `json:"file"`
	Written   bool      `json:"written"`
	Agents    []offered `json:"agents"`
	Roles     casting   `json:"roles"`
	Checks    []string  `json:"checks"`
	Setup     string    `json:"setup,omitempty"`
	Copy      []string  `json:"copy"`
	Sandbox   tried     `json:"sandbox"`
	Budget    int       `json:"budget_usd"`
	Excluded  bool      `json:"excluded"`
	Committed bool      `json:"committed"`
}

// casting says which agents are proposed for what.
type casting struct {
	Writer   string `json:"writer,omitempty"`   // of developer, analyst, remediation, expert
	Reviewer string `json:"reviewer,omitempty"` // of critic, auditor, health auditor
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
	return writeText(ctx, file, how, text, errThere(file))
}

func (a *app) sayProposal(p proposal) {
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
	if p.Roles.Writer != p.Roles.Reviewer {
		say("roles", fmt.Sprintf("%s writes, %s reviews", p.Roles.Writer, p.Roles.Reviewer))
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
	say("budget", fmt.Sprintf("$%d a run, as far as the programs say what they cost; then you are asked", p.Budget))
	if p.Excluded {
		fmt.Fprintln(a.Out, ".signalbox/ added to .git/info/exclude")
	}
	fmt.Fprintln(a.Out, "Read it before you use it: it says what agents may do here.")
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
	case config.AdapterAsk:
		return "a model that Signalbox asks itself"
	}
	return "by its input and output"
}
