package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Unprotected says in words which verdicts of a run with these settings could be forged by
// what is judged: none if the list is empty.
func Unprotected(c config.Config) []string {
	var played, outside []agentsig.Role
	for _, role := range agentsig.Roles() {
		set := c.Role(role)
		if _, ok := c.Agents[set.Agent]; !ok {
			continue
		}
		played = append(played, role)
		if set.Sandbox == sandbox.None {
			outside = append(outside, role)
		}
	}
	switch {
	case len(outside) == len(played) && !ChecksConfined(c):
		return []string{"agents and checks run without a sandbox and could forge verdicts"}
	case len(outside) == len(played):
		return []string{"agents run without a sandbox and could forge verdicts"}
	}
	var all []string
	if !ChecksConfined(c) {
		all = append(all, "checks run without a sandbox")
	}
	for _, role := range played {
		switch {
		case slices.Contains(outside, role):
			all = append(all, fmt.Sprintf("the role %s is played without a sandbox and could forge verdicts", role))
		case Protect(c, role) != nil:
			all = append(all, fmt.Sprintf("what the %s runs (%s) could speak for it", role, safetext.Escape(c.Role(role).Agent)))
		}
	}
	return all
}

// ChecksConfined reports whether checks and the setup of worktrees run in a sandbox.
func ChecksConfined(c config.Config) bool {
	return c.Sandbox.Kind != sandbox.None && c.Sandbox.Checks != config.Off
}

// Protect returns nil if what plays a role gives no verdicts, or what it runs can't speak for
// it, and its program lies where no agent can write. The error says what to do.
func Protect(c config.Config, role agentsig.Role) error {
	set := c.Role(role)
	agent, ok := c.Agents[set.Agent]
	if !ok || !delivery.Reviewer(role) {
		return nil
	}
	if err := agentOf(set.Agent, agent, agent.Resolve(c.Dir)).Protect(set.Sandbox); err != nil {
		return err
	}
	return outOfReach(c, agent)
}

// fetchers are programs that run another one out of a cache, which agents can write.
var fetchers = []string{"npx", "bunx", "uvx", "pipx", "pnpx"}

// outOfReach reports an agent's program that lies where agents can write: one of them could
// change it, and speak for the others. What is named by an argument may be the program.
func outOfReach(c config.Config, agent config.Agent) error {
	if name := filepath.Base(agent.Command[0]); slices.Contains(fetchers, name) {
		return fmt.Errorf("%s runs its program out of a cache, which agents can write: install the program, and name it", name)
	}
	path, err := agent.Find(c.Dir)
	if err != nil {
		return nil // that it is not there is said elsewhere
	}
	kept, err := programsKeep(c)
	if err != nil {
		return err
	}
	for _, word := range append([]string{path}, agent.Command[1:]...) {
		file, err := filepath.EvalSymlinks(word)
		if err != nil || !filepath.IsAbs(file) {
			continue // no file
		}
		for _, dir := range append(kept, c.Sandbox.Write...) {
			if real, err := filepath.EvalSymlinks(dir); err == nil && sandbox.InAny(file, []string{real}) {
				return fmt.Errorf("its program %s lies in %s, which agents can write: install it elsewhere", safetext.Escape(file), safetext.Escape(real))
			}
		}
	}
	return nil
}

// agentOf is an agent of the settings as a session knows it.
func agentOf(name string, a config.Agent, command []string) agent.Config {
	return agent.Config{
		Name: name, Adapter: string(a.Adapter), Command: command, Input: string(a.Input), Exec: a.Commands == config.CommandsExec,
		Ask: a.Asks(),
	}
}

// allowed is what a role of the settings may do, as a session knows it.
func allowed(permissions []config.Permission) (all []agent.Permission) {
	for _, p := range permissions {
		all = append(all, agent.Permission(p))
	}
	return all
}

// errNoFit says why no sandbox would protect a run's verdicts.
var errNoFit = errors.New("no sandbox would protect the verdicts here")

// Fitting returns the sandbox by which a run with these settings would be protected here, or
// says why there is none.
func Fitting(c config.Config) (sandbox.Kind, error) {
	var why []string
	for _, kind := range []sandbox.Kind{sandbox.Landlock, sandbox.Bubblewrap} {
		err := sandbox.Available(kind)
		for _, role := range agentsig.Roles() {
			if agent, ok := c.Agents[c.Role(role).Agent]; ok && err == nil && delivery.Reviewer(role) {
				err = agentOf(c.Role(role).Agent, agent, agent.Resolve(c.Dir)).Protect(kind)
			}
		}
		if err == nil {
			return kind, nil
		}
		if !slices.Contains(why, err.Error()) {
			why = append(why, err.Error())
		}
	}
	return sandbox.None, fmt.Errorf("%w: %s", errNoFit, strings.Join(why, "; "))
}
