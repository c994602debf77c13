package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/membership"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

func (a *app) doctorCommand() *cobra.Command {
	deep := false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "See whether everything is there to deliver a plan",
		Example: `  signalbox doctor
  signalbox runner doctor   # on a runner's machine
  signalbox doctor --deep   # are the programs logged in? costs a few tokens`,
		Long: `Doctor looks at what a delivery needs: git and the checkout, the settings, the agents'
programs and their versions, what each role may do, whether what critic and auditor run
could speak for them, the sandboxes, room on the disk, the box; and at its runners, if it runs: which are
there, why one gets no work, and for which role there is no machine.
It changes nothing. Exit code 1 if something is missing.

With --deep it asks each agent that plays a role for one word, as a run would start it: with its
settings and permissions, in its sandbox, as the first of its roles. THAT COSTS TOKENS: a program
sends its own instructions with the question, often 10,000 tokens and more. An agent has 2 minutes; Ctrl-C ends
all of them. It says who answered, who is not logged in, who did not answer, and who failed, with its last words.

With --json it prints a list of name, state (ok, warning, missing) and text; what --deep finds
has agent, role, outcome (answered, not_logged_in, limited, no_answer, failed), seconds and usage too.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, answers := a.diagnose(cmd.Context()), []answered(nil)
			if !a.JSON { // the answers take a while
				a.sayDiagnosis(found)
			}
			if deep {
				var err error
				if answers, err = a.askAgents(cmd.Context()); err != nil {
					return err
				}
			}
			bad, all := false, []any{}
			for _, d := range found {
				bad, all = bad || d.State == command.Missing, append(all, d)
			}
			for _, d := range answers {
				bad, all = bad || d.State == command.Missing, append(all, d)
			}
			if a.JSON {
				if err := command.WriteJSON(a.Out, all); err != nil {
					return err
				}
			}
			if bad {
				return errQuiet
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "ask each agent for one word, which costs tokens")
	return cmd
}

func (a *app) sayDiagnosis(found []command.Finding) {
	if a.OutTTY {
		found = together(found)
	}
	a.SayFindings(found)
}

// together says what was found of several things alike once, at the first.
func together(found []command.Finding) []command.Finding {
	var all []command.Finding
	more := map[int][]string{} // what is alike, by where it is said
	for _, d := range found {
		at := slices.IndexFunc(all, func(o command.Finding) bool { return o.State == d.State && o.Text == d.Text && o.Name != d.Name })
		if at < 0 {
			all = append(all, d)
			continue
		}
		more[at] = append(more[at], d.Name)
	}
	for at, names := range more {
		all[at].Text += "\nthe same for " + strings.Join(names, ", ")
	}
	return all
}

// uncommitted counts the changes in the checkout that are not committed.
func (a *app) uncommitted(ctx context.Context) (int, error) {
	repo, err := worktree.Open(ctx, a.home)
	if err != nil {
		return 0, err
	}
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return 0, err
	}
	found, err := repo.Fingerprint(ctx, repo.Top(dir))
	return len(found.Files) + found.Unseen, err
}

func (a *app) diagnose(ctx context.Context) []command.Finding {
	var all []command.Finding
	say := func(name, state, format string, args ...any) {
		all = append(all, command.Finding{Name: name, State: state, Text: fmt.Sprintf(format, args...)})
	}
	repo, err := worktree.Open(ctx, a.home)
	if err != nil {
		say("git", command.Missing, "%v", err)
	} else {
		a.diagnoseCheckout(ctx, repo, say)
	}
	runners := a.runnersNow(ctx)
	c, err := a.settings("")
	if err != nil {
		say("settings", command.Missing, "%v", err)
	} else {
		a.diagnoseSettings(ctx, c, runners, say)
	}
	a.diagnoseDisks(c.Archive, say)
	a.diagnoseBox(ctx, say)
	if err == nil && runners != nil {
		diagnoseRunners(runners, c, runner.Home(c), say)
	}
	return all
}

// runnersNow are the runners of the box as it knows them; none if it does not run, or does not answer, which is said elsewhere.
func (a *app) runnersNow(ctx context.Context) []api.Runner {
	if !a.running() {
		return nil
	}
	all, err := ask(ctx, a, a.token, func(c *api.Client) ([]api.Runner, error) {
		if s, err := c.Status(ctx); err != nil || s.Cluster != nil && s.Cluster.Leader == "" { // who leads knows them
			return nil, err
		}
		return c.Runners(ctx)
	})
	if err != nil {
		return nil
	}
	return all
}

// lowSpace is how much free space on a disk is worth a warning, in bytes.
const lowSpace = 1 << 30

// diagnoseDisks looks at each disk that the box writes to, once.
func (a *app) diagnoseDisks(c config.Archive, say func(name, state, format string, args ...any)) {
	b := box.Dir(a.dir)
	archive := b.Archive(c.Dir)
	var seen []uint64
	for i, dir := range []string{a.dir, archive, b.Segments(archive, c.Segments), c.Mirror} {
		if dir == "" {
			continue
		}
		free, disk, err := freeSpace(dir)
		if err != nil || slices.Contains(seen, disk) {
			continue
		}
		seen = append(seen, disk)
		state, where := command.Fine, ""
		if free < lowSpace {
			state = command.Warning
		}
		if i > 0 {
			where = " for " + dir
		}
		say("disk", state, "%.1f GB free%s", float64(free)/1e9, where)
	}
}

func (a *app) diagnoseCheckout(ctx context.Context, repo *worktree.Repo, say func(name, state, format string, args ...any)) {
	branch, commit, err := repo.Head(ctx)
	if err != nil {
		say("git", command.Missing, "%v", err)
		return
	}
	if branch == "" {
		branch = "no branch"
	}
	say("git", command.Fine, "%s at %.7s", branch, commit)
	switch n, err := a.uncommitted(ctx); {
	case err != nil:
		say("checkout", command.Warning, "%v", err)
	case n > 0:
		say("checkout", command.Warning, "%s not committed: agents start from the last commit", english.Count(n, "change"))
	default:
		say("checkout", command.Fine, "clean")
	}
}

func (a *app) diagnoseSettings(ctx context.Context, c config.Config, runners []api.Runner, say func(name, state, format string, args ...any)) {
	if len(c.Agents) == 0 {
		say("settings", command.Missing, "there are no agents: name some in %s (`signalbox init` writes one)", filepath.Join(a.home, config.File))
		return
	}
	say("settings", command.Fine, "%s, %s", english.Count(len(c.Agents), "agent"), english.Count(len(c.Checks), "check"))
	if len(c.Checks) == 0 {
		say("checks", command.Warning, "the gate runs nothing: add checks to %s, or a Verification section to the plan", config.File)
	}
	diagnoseAgents(ctx, c, runners, say)
	for _, role := range agentsig.Roles() {
		state, text := command.Fine, played(c, role)
		if c.Role(role).Agent == config.Person {
			say(string(role), state, "%s", text)
			continue
		}
		if err := runner.Protect(c, role); err != nil {
			state, text = unprotected(c), text+"\n"+err.Error()
		} else if role == agentsig.RoleCritic || role == agentsig.RoleAuditor {
			text += "; what it runs can't speak for it"
		}
		say(string(role), state, "%s", text)
	}
	if c.Merge.Approve == config.Person {
		say("merge", command.Fine, "%s", approves)
	}
	if runner.ChecksConfined(c) {
		say("gate", command.Fine, "checks run in %s", c.Sandbox.Kind)
	} else {
		say("gate", unprotected(c), "checks run without a sandbox, with what agents wrote")
	}
	diagnoseSandboxes(c, say)
	if c.Sandbox.Kind == sandbox.None {
		adviseSandbox(c, say)
	}
}

// unprotected is the state of what could be spoken for by what it judges: a run is refused
// for it in a sandbox, unless the settings permit it.
func unprotected(c config.Config) string {
	if c.Sandbox.Kind == sandbox.None || c.Review == config.ReviewUnprotected {
		return command.Warning
	}
	return command.Missing
}

// adviseSandbox says which sandbox would do where none is set.
func adviseSandbox(c config.Config, say func(name, state, format string, args ...any)) {
	kind, err := runner.Fitting(c)
	if err != nil {
		say("sandbox", command.Warning, "none is set: agents can do whatever you can, and forge verdicts; %v", err)
		return
	}
	say("sandbox", command.Warning, "none is set: agents can do whatever you can, and forge verdicts; %s works here: set sandbox: {kind: %s} in %s",
		kind, kind, config.File)
}

// whoHas are the names of the runners that have an agent's program.
func whoHas(agent string, runners []api.Runner) (names []string) {
	for _, r := range runners {
		if r.State != api.RunnerLost && slices.Contains(r.Agents, agent) {
			names = append(names, r.Name)
		}
	}
	return names
}

// diagnoseAgents examines those that play a role, all at once: some take seconds to
// tell their version. What is not here can be on a runner.
func diagnoseAgents(ctx context.Context, c config.Config, runners []api.Runner, say func(name, state, format string, args ...any)) {
	var names []string
	for _, role := range agentsig.Roles() {
		if name := c.Role(role).Agent; name != config.Person {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	programs, errs := make([]config.Program, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { programs[i], errs[i] = c.Agents[name].Examine(ctx, c.Dir) })
	}
	all.Wait()
	for i, name := range names {
		if errs[i] != nil {
			state, elsewhere := command.Missing, ""
			if there := whoHas(name, runners); len(there) > 0 {
				state, elsewhere = command.Warning, "\nit is at "+strings.Join(there, ", ")
			}
			say("agent", state, "%s: %v%s", name, errs[i], elsewhere)
			continue
		}
		p, state := programs[i], command.Fine
		text := name + ": "
		if p.Version != "" {
			text += p.Version + ", "
		}
		text += drivenBy(c.Agents[name].Adapter)
		if len(p.Warnings) > 0 {
			state = command.Warning
		}
		say("agent", state, "%s", strings.Join(append([]string{text, p.Path}, p.Warnings...), "\n"))
	}
}

// personDoes is what a person does in a role, and approves what one does who approves merges.
var personDoes = map[agentsig.Role]string{agentsig.RoleDeveloper: "you work on each task", agentsig.RoleCritic: "you review each task", agentsig.RoleAuditor: "you audit each task"}

const approves = "you approve each merge"

// yourParts says what a run needs the user for; nothing if it needs them for questions alone.
func yourParts(c config.Config, audited bool) string {
	var all []string
	for _, role := range []agentsig.Role{agentsig.RoleDeveloper, agentsig.RoleCritic, agentsig.RoleAuditor} {
		if c.Role(role).Agent == config.Person && (audited || role != agentsig.RoleAuditor) {
			all = append(all, personDoes[role])
		}
	}
	if c.Merge.Approve == config.Person {
		all = append(all, approves)
	}
	return strings.Join(all, "; ")
}

// played says who plays a role, and what that may do.
func played(c config.Config, role agentsig.Role) string {
	r := c.Role(role)
	if r.Agent == config.Person {
		return cmp.Or(personDoes[role], "you") + ": `signalbox inbox` says when"
	}
	may := "read only"
	if agent := c.Agents[r.Agent]; agent.Adapter == config.AdapterPlain {
		may = "do what its program permits"
	} else if agent.Adapter == config.AdapterAsk {
		may = strings.Join(append([]string{"call tools that change nothing"}, agent.Allow...), ", ")
	} else if len(r.Allow) > 0 {
		var words []string
		for _, p := range r.Allow {
			words = append(words, string(p))
		}
		may = strings.Join(words, ", ")
	}
	in := "no sandbox"
	if r.Sandbox != sandbox.None {
		in = string(r.Sandbox)
		if r.Network == config.Off {
			in += ", offline"
		}
	}
	return fmt.Sprintf("%s: may %s; %s", r.Agent, may, in)
}

// diagnoseSandboxes tries those that a role has, and looks for what may be written in
// them: without it no agent is started there.
func diagnoseSandboxes(c config.Config, say func(name, state, format string, args ...any)) {
	used := map[sandbox.Kind]bool{}
	for _, role := range agentsig.Roles() {
		used[c.Role(role).Sandbox] = true
	}
	delete(used, sandbox.None)
	for _, kind := range slices.Sorted(maps.Keys(used)) {
		if err := sandbox.Available(kind); err != nil {
			say("sandbox", command.Missing, "%s: %v", kind, err)
		} else {
			say("sandbox", command.Fine, "%s works here", kind)
		}
	}
	for _, path := range c.Sandbox.Write {
		if _, err := os.Stat(path); err != nil && len(used) > 0 {
			say("sandbox", command.Missing, "%s may be written and is not there: make it, or take it out of sandbox.write", path)
		}
	}
}

func (a *app) diagnoseBox(ctx context.Context, say func(name, state, format string, args ...any)) {
	if _, err := os.Stat(a.dir); errors.Is(err, os.ErrNotExist) {
		say("box", command.Fine, "none yet; `signalbox run` makes one in %s", a.dir)
		return
	}
	if m, err := membership.Read(a.dir); err == nil && !a.running() {
		say("cluster", command.Warning, "%s is a box of a cluster, and not running: start it with `signalbox up`", safetext.Escape(m.Name))
		return
	} else if err != nil && !errors.Is(err, membership.ErrNone) {
		say("cluster", command.Missing, "%v", err)
	}
	if !a.running() {
		say("box", command.Fine, "not running; `signalbox run` or `signalbox up` starts it")
		return
	}
	status, err := ask(ctx, a, a.token, func(c *api.Client) (api.Status, error) { return c.Status(ctx) })
	if err != nil {
		say("box", command.Missing, "%v", err)
		return
	}
	if !status.Box.Writable {
		say("box", command.Missing, "running; %s", status.Box.Reason)
		return
	}
	say("box", command.Fine, "running; %s", english.Count(int(status.Events), "event"))
	diagnoseCluster(status.Cluster, say)
	if changed := a.changedSettings(status.Settings); changed != "" {
		say("box", command.Warning, "%s", changed)
	}
}

// diagnoseCluster says whether the boxes of the cluster that the box is in answer, if it is in one.
func diagnoseCluster(c *api.InCluster, say func(name, state, format string, args ...any)) {
	switch {
	case c == nil:
	case c.Leader == "":
		say("cluster", command.Missing, "a box that leads; %s; %s", safetext.Escape(c.Words()), safetext.Escape(c.Problem))
	case c.Problem != "":
		say("cluster", command.Missing, "%s; %s", safetext.Escape(c.Words()), safetext.Escape(c.Problem))
	case c.Answer < c.Boxes:
		say("cluster", command.Warning, "%s: `signalbox cluster status` has which", safetext.Escape(c.Words()))
	default:
		say("cluster", command.Fine, "%s", safetext.Escape(c.Words()))
	}
}
