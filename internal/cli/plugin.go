package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/plugin"
	"github.com/signalbox-dev/signalbox/safetext"
)

// pluginFlags are the flags of the commands below plugin.
type pluginFlags struct {
	program      string
	user, dryRun bool
	scopes       []string
}

const pluginExample = `  signalbox plugin install --for claude
  signalbox plugin install --for codex --user --scope read
  signalbox plugin remove --for claude
  signalbox plugin list`

func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Give Claude Code, Codex or Gemini CLI the box as a tool",
		Long: `Plugin puts the box's tool server (signalbox mcp) and four skills where Claude Code, Codex or Gemini
CLI look for them, so that you can have a plan written, delivered and watched without leaving the program
that you talk to. docs/tools.md goes through it.`,
		Example: pluginExample,
		Args:    none,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.pluginInstallCommand(), a.pluginRemoveCommand(), a.pluginListCommand())
	return cmd
}

func (a *app) pluginInstallCommand() *cobra.Command {
	var f pluginFlags
	cmd := &cobra.Command{
		Use:   "install --for PROGRAM",
		Short: "Install the tool server and the skills for an agent's program",
		Long: `Install writes the tool server's entry and the skills (write-plan, run-and-watch, answer-inbox,
signal) for one program: into the repository that you are in, or with --user for all that you do with it.

  claude   .claude/skills/signalbox, a plugin; nothing else is changed
  codex    .codex/skills, and an entry in .codex/config.toml
  gemini   .gemini/skills, and an entry in .gemini/settings.json; with --user an extension

Nothing of yours is written over. A file that is there and was not installed by this command, or a server that
was changed since, is named, and nothing is written; a skill that was changed is named and kept, and the rest is
installed. In a file of yours all other entries stay as they are. What was installed, with hashes, stands in
signalbox-plugin.json in the program's directory. To install again changes nothing, or what has to be: another
--scope, another path, a newer version's texts.

The server is started as signalbox if your PATH leads to this program, and by its path if not; a path is that of
this machine, so do not commit it for others.

--scope says what the program may do with the box:

  read      see runs, tasks, diffs, logs and questions, and check plans
  operate   start runs, wait for them, tell agents something, retry, pause, cancel
  answer    answer questions and review tasks. This is what you are asked as a person: with it the model
            can approve work in its own name, whatever you told it. It is recorded as client:PROGRAM

With --json it prints program, place, directory, command, scopes, dry_run, changed, steps (path, action, why), next,
and a warning, if the other place (the repository, or your home directory) has the server with other scopes.`,
		Example: `  signalbox plugin install --for claude
  signalbox plugin install --for codex --user
  signalbox plugin install --for gemini --scope read,operate,answer --dry-run`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.changePlugin(cmd.Context(), f, plugin.Install)
		},
	}
	a.pluginFlags(cmd, &f)
	cmd.Flags().StringSliceVar(&f.scopes, "scope", []string{string(access.Read), string(access.Operate)}, "what the program may do, `SCOPES` of read, operate and answer")
	return cmd
}

func (a *app) pluginRemoveCommand() *cobra.Command {
	var f pluginFlags
	cmd := &cobra.Command{
		Use:   "remove --for PROGRAM",
		Short: "Take away what plugin install wrote",
		Long: `Remove takes away the files and the entry that plugin install wrote, and directories that it made and that
are empty then. Other entries stay as they are. What was changed since is left, and named, and the exit code is
1 then; signalbox-plugin.json stays with it, so that plugin list tells of it and remove can be done again.

With --json it prints program, place, directory, dry_run, changed, steps (path, action, why).`,
		Example: `  signalbox plugin remove --for claude
  signalbox plugin remove --for codex --user --dry-run`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.changePlugin(cmd.Context(), f, plugin.Remove)
		},
	}
	a.pluginFlags(cmd, &f)
	return cmd
}

func (a *app) pluginFlags(cmd *cobra.Command, f *pluginFlags) {
	cmd.Flags().StringVar(&f.program, "for", "", "the `PROGRAM`: "+list(plugin.Programs()))
	cmd.Flags().BoolVar(&f.user, "user", false, "for all that you do with the program, in your home directory")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and change nothing")
	_ = cmd.MarkFlagRequired("for") // it is there
}

// pluginChange is what was done, or would be, for programs.
type pluginChange struct {
	Program   plugin.Program `json:"program"`
	Place     string         `json:"place"` // project or user
	Directory string         `json:"directory"`
	Command   []string       `json:"command,omitempty"`
	Scopes    []access.Scope `json:"scopes,omitempty"`
	DryRun    bool           `json:"dry_run"`
	Changed   bool           `json:"changed"`
	Steps     []plugin.Step  `json:"steps"`
	Next      string         `json:"next,omitempty"`
	Warning   string         `json:"warning,omitempty"`
}

// changePlugin plans with a function of package plugin, carries the plan out, and says what it did.
func (a *app) changePlugin(ctx context.Context, f pluginFlags, planned func(plugin.Wanted, plugin.Found) (plugin.Plan, error)) error {
	w, err := a.wantedPlugin(f)
	if err != nil {
		return err
	}
	at, err := pluginPlace(ctx, w.Program, w.User)
	if err != nil {
		return err
	}
	found, err := plugin.Look(w, at)
	if err != nil {
		return err
	}
	plan, err := planned(w, found)
	if errors.Is(err, plugin.ErrNotInstalled) {
		return fmt.Errorf("%s: %w; `signalbox plugin list` shows what is where", at.Dir(), err)
	}
	if err != nil {
		return fmt.Errorf("in %s %w", at.Dir(), err)
	}
	if !f.dryRun {
		if err := plan.Do(at); err != nil {
			return fmt.Errorf("it was begun and not finished, and can be done again: %w", err)
		}
	}
	c := pluginChange{Program: w.Program, Place: placeName(w.User), Directory: at.Dir(), DryRun: f.dryRun, Changed: plan.Changed(), Steps: plan.Steps}
	if f.scopes != nil {
		c.Command, c.Scopes, c.Next = w.Server(), w.Scopes, w.Program.Next(w.User)
		c.Warning = otherPlugin(ctx, w)
	}
	if a.JSON {
		c.Steps = append([]plugin.Step{}, c.Steps...)
		if err := command.WriteJSON(a.Out, c); err != nil {
			return err
		}
	} else {
		a.sayPlugin(c)
	}
	if c.removal() && plan.Leaves() && !f.dryRun {
		return command.Exit(command.ExitFailure)
	}
	return nil
}

// removal reports whether it was taken away, and not installed.
func (c pluginChange) removal() bool { return c.Scopes == nil }

// otherPlugin warns if the other place, the repository or the user's directory, has the server with other scopes.
func otherPlugin(ctx context.Context, w plugin.Wanted) string {
	at, err := pluginPlace(ctx, w.Program, !w.User)
	if err != nil {
		return "" // there is no other place
	}
	i := inspectPlugin(w.Program, !w.User, at)
	if i.State == string(plugin.NotInstalled) || slices.Equal(i.Scopes, w.Scopes) {
		return ""
	}
	scopes := "scopes that can't be told"
	if i.Scopes != nil {
		scopes = "--scope " + i.scope()
	}
	prevails := "that of the repository, once you trust it"
	if w.Program.Prevails() {
		prevails = "yours"
	}
	return fmt.Sprintf("%s has the server in %s too, with %s; of the two it starts %s", w.Program.Title(), safetext.Escape(i.Directory), scopes, prevails)
}

// wantedPlugin is what the flags ask for.
func (a *app) wantedPlugin(f pluginFlags) (plugin.Wanted, error) {
	w := plugin.Wanted{Program: plugin.Program(f.program), User: f.user}
	if !slices.Contains(plugin.Programs(), w.Program) {
		return w, a.UsageError("--for %s: give one of %s", safetext.Escape(f.program), list(plugin.Programs()))
	}
	if f.scopes != nil {
		scopes, err := toolScopes(f.scopes)
		if err != nil {
			return w, a.UsageError("%v", err)
		}
		w.Scopes = scopes
	}
	self, err := os.Executable()
	if err != nil {
		return w, fmt.Errorf("where this program is can't be found out: %w", err)
	}
	w.Command = config.Callable(self)
	return w, nil
}

// pluginPlace is the program's directory, in the repository that the command was started in or the user's own.
func pluginPlace(ctx context.Context, p plugin.Program, user bool) (plugin.Place, error) {
	if user {
		home, err := os.UserHomeDir()
		if err != nil {
			return plugin.Place{}, err
		}
		return plugin.OfUser(p, home, os.Getenv)
	}
	root, err := config.Root(ctx, ".")
	if errors.Is(err, config.ErrNoRepository) {
		err = fmt.Errorf("%w; in a repository it is installed there, and with --user in your home directory", err)
	}
	return plugin.InProject(root, p), err
}

func placeName(user bool) string {
	if user {
		return "user"
	}
	return "project"
}

// sayPlugin tells a person what was done.
func (a *app) sayPlugin(c pluginChange) {
	where := safetext.Escape(c.Directory)
	left := c.removal() && slices.ContainsFunc(c.Steps, func(s plugin.Step) bool { return s.Action == plugin.Leave })
	switch {
	case !c.Changed && left:
		fmt.Fprintf(a.Out, "%s, in %s: nothing was removed\n", c.Program.Title(), where)
	case !c.Changed:
		fmt.Fprintf(a.Out, "%s, in %s: nothing has to be changed\n", c.Program.Title(), where)
	case c.DryRun:
		fmt.Fprintf(a.Out, "%s, in %s: nothing was changed; this would be done\n", c.Program.Title(), where)
	default:
		fmt.Fprintf(a.Out, "%s, in %s\n", c.Program.Title(), where)
	}
	said := map[string]bool{}
	for _, s := range c.Steps {
		line := fmt.Sprintf("  %-13s  %s", s.Action, safetext.Escape(filepath.FromSlash(s.Path)))
		if s.Why != "" {
			line += ": " + safetext.Escape(s.Why)
		}
		if !said[line] { // the list of what was installed is written before and after
			fmt.Fprintln(a.Out, line)
		}
		said[line] = true
	}
	if left && !c.DryRun {
		fmt.Fprintln(a.Out, a.Hang(fmt.Sprintf("Not all is gone, and %s may use what is left: take it out, or put it back as it was, and remove again", c.Program.Title()), 0))
	}
	if c.removal() {
		return
	}
	fmt.Fprintf(a.Out, "The tool server is %s\n", a.Paint(command.Bold, safetext.Escape(strings.Join(c.Command, " "))))
	if slices.Contains(c.Scopes, access.Answer) {
		fmt.Fprintln(a.Out, a.Hang(fmt.Sprintf("It may answer questions and review work, which is recorded as client:%s; without answer in --scope it may not", c.Program), 0))
	}
	if c.Warning != "" {
		fmt.Fprintln(a.Out, a.Hang("Warning: "+c.Warning, 0))
	}
	if !c.DryRun {
		fmt.Fprintln(a.Out, a.Hang("Next: "+c.Next, 0))
	}
}

func (a *app) pluginListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show for which programs the tool server is installed",
		Long: `List shows for each program whether plugin install has put something into this repository, and into your
home directory: installed; changed, if some of it was changed since; left over, if it was removed, but for what was
changed; not ours, if a server of this name is there that plugin install did not write; unclear, if it can't be told; or
not installed. SCOPE is what the server that is there may do, by its entry.

With --json it prints a list of program, place, directory, state, scopes and why.`,
		Example: `  signalbox plugin list
  signalbox plugin list --json`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listPlugins(cmd.Context()) },
	}
}

// installedPlugin is what is known of one place.
type installedPlugin struct {
	Program   plugin.Program `json:"program"`
	Place     string         `json:"place"`
	Directory string         `json:"directory"`
	State     string         `json:"state"`
	Scopes    []access.Scope `json:"scopes,omitempty"`
	Why       string         `json:"why,omitempty"`
}

func (a *app) listPlugins(ctx context.Context) error {
	all := []installedPlugin{}
	for _, p := range plugin.Programs() {
		for _, user := range []bool{false, true} {
			at, err := pluginPlace(ctx, p, user)
			if errors.Is(err, config.ErrNoRepository) {
				continue
			}
			if err != nil {
				return err
			}
			all = append(all, inspectPlugin(p, user, at))
		}
	}
	if a.JSON {
		return command.WriteJSON(a.Out, all)
	}
	t := command.NewTable("PROGRAM", "PLACE", "STATE", "SCOPE", "DIRECTORY")
	for _, i := range all {
		t.Add(string(i.Program), i.Place, i.State, i.scope(), safetext.Escape(i.Directory))
		if i.Why != "" {
			t.Remark(safetext.Escape(i.Why))
		}
	}
	t.Write(a.Out, a.Columns())
	return nil
}

// inspectPlugin looks at a place.
func inspectPlugin(p plugin.Program, user bool, at plugin.Place) installedPlugin {
	i := installedPlugin{Program: p, Place: placeName(user), Directory: at.Dir()}
	w := plugin.Wanted{Program: p, User: user}
	found, err := plugin.Look(w, at)
	var s plugin.Status
	if err == nil {
		s, err = plugin.Inspect(w, found)
	}
	if err != nil {
		i.State, i.Why = "unclear", err.Error()
		return i
	}
	i.State, i.Why, i.Scopes = string(s.State), s.Why, s.Scopes
	return i
}

// scope is what a person is shown of the scopes.
func (i installedPlugin) scope() string {
	switch {
	case i.State == string(plugin.NotInstalled):
		return "-"
	case i.Scopes == nil:
		return "unclear"
	}
	return strings.ReplaceAll(list(i.Scopes), ", ", ",")
}
