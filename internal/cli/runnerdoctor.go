package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/enrolment"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/pin"
	"github.com/signalbox-dev/signalbox/internal/remote"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

func (a *app) runnerDoctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "See whether this machine can work as a runner",
		Long: `Doctor looks, on a runner's machine, at what it needs: that it has joined a box, reaches it, and finds the key there that it
knows; that both speak the same protocol; git; a directory in which something can be written; the agents' programs and
their versions, and the variables that they take from this machine (env_from), by name alone; the sandboxes; the files that
worktrees are given (worktree.copy). How far the two clocks are apart is told, and nothing depends on it.

Programs and variables are those of the environment that doctor is started in: a service can have another one.

It changes nothing, and a runner that works here goes on. Exit code 1 if something is missing. With --json it prints a list of
name, state (ok, warning, missing) and text.`,
		Example: `  signalbox runner doctor
  signalbox runner doctor --dir /srv/runner --json`,
		Args: none,
	}
	dir := a.runnerDir(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		at, err := dir()
		if err != nil {
			return err
		}
		var found []command.Finding
		diagnoseRunner(cmd.Context(), at, time.Now, func(name, state, format string, args ...any) {
			found = append(found, command.Finding{Name: name, State: state, Text: fmt.Sprintf(format, args...)})
		})
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if a.JSON {
			err = command.WriteJSON(a.Out, found)
		} else {
			a.sayDiagnosis(found)
		}
		if err == nil && slices.ContainsFunc(found, func(d command.Finding) bool { return d.State == command.Missing }) {
			err = errQuiet
		}
		return err
	}
	return cmd
}

type sayFinding = func(name, state, format string, args ...any)

// diagnoseRunner looks at the runner in a directory, and at what its box wants of it.
func diagnoseRunner(ctx context.Context, dir string, now func() time.Time, say sayFinding) {
	diagnoseRunnerHere(ctx, dir, say)
	box, ok := diagnoseItsBox(ctx, dir, now, say)
	if !ok {
		return
	}
	c, err := remote.Settings(dir, box.Settings)
	if err != nil {
		say("settings", command.Missing, "the box's settings can't be gone by here: %v", err)
		return
	}
	diagnoseRunnersAgents(ctx, c, say)
	diagnoseSandboxes(c, say)
	if err := remote.Checks(c); err != nil {
		say("gate", command.Warning, "it gets no checks: they need the sandbox %s, and %v", c.Sandbox.Kind, err)
	}
	for _, name := range c.Worktree.Copy {
		path := filepath.Join(remote.Files(dir), filepath.FromSlash(name))
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			say("files", command.Missing, "%s is not there, and worktrees need it (worktree.copy): no agent is started without, unless it is in the repository", path)
		} else {
			say("files", command.Fine, "%s is there", path)
		}
	}
}

// diagnoseRunnerHere looks at what a runner needs whatever its box wants.
func diagnoseRunnerHere(ctx context.Context, dir string, say sayFinding) {
	if version, err := worktree.GitVersion(ctx); err != nil {
		say("git", command.Missing, "%v", err)
	} else {
		say("git", command.Fine, "%s", strings.TrimPrefix(version, "git version "))
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return // which is said of what has to be in it
	}
	if err := remote.CheckDir(dir); err != nil {
		say("directory", command.Missing, "%v", err)
	} else if used, err := remote.InUse(dir); err == nil && used {
		say("directory", command.Fine, "%s, in which a runner works", dir)
	} else {
		say("directory", command.Fine, "%s, in which no runner works now: `signalbox runner` is one", dir)
	}
	if free, _, err := freeSpace(dir); err == nil {
		state := command.Fine
		if free < lowSpace {
			state = command.Warning
		}
		say("disk", state, "%.1f GB free", float64(free)/1e9)
	}
}

// askPatience is for how long a box may take to answer.
const askPatience = 30 * time.Second

// diagnoseItsBox looks whether a runner has joined a box and reaches it, and returns what the box says of itself.
func diagnoseItsBox(ctx context.Context, dir string, now func() time.Time, say sayFinding) (box order.Box, ok bool) {
	if absent(dir, pin.File) && !absent(dir, enrolment.File) { // to read it would make another one
		say("joined", command.Missing, "%s: the key (%s) is gone: remove the runner at the box and this directory, invite it again, and join", dir, pin.File)
		return box, false
	}
	e, key, err := enrolment.Read(dir)
	if err != nil {
		say("joined", command.Missing, "%v", err)
		return box, false
	}
	labels := "no labels"
	if len(e.Labels) > 0 {
		labels = "labels " + strings.Join(e.Labels, ", ")
	}
	say("joined", command.Fine, "as %s, %s", e.Name, labels)
	at := strings.Join(e.Box, ", ")
	carrier := e.Carrier(key)
	defer carrier.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	before := now()
	box, err = remote.Ask(ctx, api.ClientOver(carrier, ""))
	after := now()
	var answered *api.Problem
	err = api.Cause(err)
	switch {
	case errors.Is(err, pin.ErrOtherBox):
		say("box", command.Missing, "%s: %v\n%s", at, pin.ErrOtherBox, hint(err))
	case errors.As(err, &answered):
		say("box", command.Missing, "%s: %v", at, err)
	case err != nil:
		say("box", command.Missing, "%s: %v\n%s", at, err, notReached)
	}
	if err != nil {
		return box, false
	}
	say("box", command.Fine, "%s answers, with the key that is known here", at)
	diagnoseProtocol(box, say)
	if box.Draining {
		say("work", command.Warning, "the box gives it nothing new, it is drained: `signalbox runner drain %s --back` at the box ends that", e.Name)
	}
	say("clock", command.Fine, "%s; no decision depends on it", apart(box.Time, before, after))
	return box, true
}

func absent(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return errors.Is(err, fs.ErrNotExist)
}

// diagnoseProtocol says whether box and runner understand each other.
func diagnoseProtocol(box order.Box, say sayFinding) {
	version := cmp.Or(box.Version, "an unknown version")
	update, err := order.Meet(box.Protocol, order.Protocol())
	switch {
	case err != nil:
		say("protocol", command.Missing, "%v", err)
	case update != "":
		say("protocol", command.Missing, "%s; the box has %s, and here is %s", update, version, command.BuildVersion().Version)
	case order.Protocol() < box.Protocol:
		say("protocol", command.Warning, "%d here, %d at the box, which takes both: install %s here before the box is updated again", order.Protocol(), box.Protocol, version)
	default:
		say("protocol", command.Fine, "%d, as the box's; the box has %s", box.Protocol, version)
	}
}

// apart says how far a box's clock is from this machine's, as far as an answer tells that was waited for from before to after.
func apart(box, before, after time.Time) string {
	switch ahead, behind := box.Sub(after), before.Sub(box); {
	case ahead >= time.Second:
		return fmt.Sprintf("the box's is %v ahead of this machine's", ahead.Round(time.Second))
	case behind >= time.Second:
		return fmt.Sprintf("the box's is %v behind this machine's", behind.Round(time.Second))
	}
	return "as the box's"
}

// diagnoseRunnersAgents looks for the programs of those that play a role, and for the variables that they take from this machine.
func diagnoseRunnersAgents(ctx context.Context, c config.Config, say sayFinding) {
	here := 0
	diagnoseAgents(ctx, c, nil, func(name, state, format string, args ...any) {
		if state == command.Missing { // which another machine may have
			state, format = command.Warning, format+"\nno agent of this kind is started here"
		} else {
			here++
		}
		say(name, state, format, args...)
	})
	if here == 0 {
		say("agents", command.Missing, "none of the agents' programs is here: install one, or the runner gets checks at most")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		for _, variable := range c.Agents[name].EnvFrom {
			if os.Getenv(variable) == "" {
				say("variables", command.Warning, "%s is not set in this environment: %s is not started without it", variable, name)
			} else {
				say("variables", command.Fine, "%s is set, for %s", variable, name)
			}
		}
	}
}

// diagnoseRunners looks at the runners of a box, as the box knows them, and whether there is a machine for each role.
func diagnoseRunners(all []api.Runner, c config.Config, home delivery.Machine, say sayFinding) {
	machines := []delivery.Machine{home}
	for _, r := range all {
		about := ""
		if len(r.Agents) > 0 {
			about = "; has " + strings.Join(r.Agents, ", ")
		}
		if more := aboutRunner(r, true); more != "" {
			about += "; " + more
		}
		state := command.Fine
		if r.State == api.RunnerLost || r.Remark() != "" {
			state = command.Warning
		}
		say("runner", state, "%s: %s%s", r.Name, r.Words(), about)
		if r.Problem == "" {
			machines = append(machines, delivery.Machine{
				Name: r.Name, Labels: r.Labels, Agents: r.Agents, Places: r.Places, Sessions: r.Sessions, Draining: r.State == api.RunnerDraining,
				Away: r.State == api.RunnerLost,
			})
		}
	}
	for _, role := range agentsig.Roles() {
		p := c.Role(role)
		if p.Agent == config.Person {
			continue
		}
		_, held := delivery.Fits(p.Labels, p.Agent, machines)
		if held != "" && (len(all) > 0 || len(p.Labels) > 0) {
			say(string(role), command.Warning, "nobody can start now: %s", held)
		}
	}
}
