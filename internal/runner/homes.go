package runner

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// place returns where a commit is checked out for checks to run on it, until leave is called:
// the first place that is free, so that tools that remember paths find one that they know.
// What is left of the processes that were started there is ended.
func (x *Runner) place() (path string, leave func()) {
	x.mu.Lock()
	n := 0
	for x.places[n] {
		n++
	}
	x.places[n] = true
	x.mu.Unlock()
	path = x.gatePath(n)
	x.sweep(path)
	return path, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.places, n)
	}
}

// takeHome makes the home directory that checks get. The first checks of a run fill the
// base of the others.
func (x *Runner) takeHome(ctx context.Context, t trial) (*home.Home, error) {
	u, _, err := x.user()
	if err != nil {
		return nil, err
	}
	if t.first {
		return x.homes.First(ctx, u)
	}
	return x.homes.Take(ctx, t.run, u)
}

// leaveHome removes the home directory of checks, or keeps that of the first ones if these
// came to their end.
func (x *Runner) leaveHome(h *home.Home, t trial, ended bool) {
	var err error
	if t.first && ended {
		err = h.Keep(t.run)
	} else {
		err = h.Close()
	}
	if err != nil {
		x.logger.Warn("the home directory of checks was not put away", "run", t.run, "error", err)
	}
}

// environment is what commands inherit: that of their home directory, or this process's.
func environment(h *home.Home) []string {
	if h == nil {
		return nil
	}
	return h.Env
}

// user is who checks are run for, and what agents' programs keep of theirs, which agents can
// write if they are confined, or else have no need to.
func (x *Runner) user() (u home.User, kept []string, err error) {
	if ChecksConfined(x.config) {
		if kept, err = programsKeep(x.config); err != nil {
			return u, nil, err
		}
	}
	agents := slices.Concat(kept, x.config.Sandbox.Write)
	return home.LoadUser(process.CleanEnv(os.Environ()), agents), kept, nil
}

// programsKeep returns what the programs of all agents keep of the user's, and the caches that
// they share.
func programsKeep(c config.Config) ([]string, error) {
	state, err := sandbox.FindState(nil, os.Getenv("HOME"), os.Getenv)
	if err != nil {
		return nil, err
	}
	kept := slices.Concat(state.Kept(), state.Shared)
	for _, agent := range c.Agents {
		getenv := func(name string) string { return cmp.Or(agent.Env[name], os.Getenv(name)) }
		more, err := sandbox.FindState(agent.Resolve(c.Dir), getenv("HOME"), getenv)
		if err != nil {
			return nil, err
		}
		kept = slices.Concat(kept, more.Kept(), more.Shared)
	}
	return kept, nil
}

// hideCaches hides from checks what agents' programs keep of the user's, and the user's
// caches. What the settings let agents write is writable, less these.
func (x *Runner) hideCaches(p *sandbox.Policy) error {
	u, kept, err := x.user()
	if err != nil {
		return err
	}
	shut := slices.Concat(kept, u.Caches())
	slices.Sort(shut) // each comes after what it is in
	var hidden []string
	for _, path := range shut {
		if !sandbox.InAny(path, hidden) && x.hideable(path, p) {
			hidden = append(hidden, path)
		}
	}
	for _, path := range x.config.Sandbox.Write {
		if !sandbox.InAny(path, hidden) {
			p.Write = append(p.Write, path)
		}
	}
	p.Hidden = append(p.Hidden, hidden...)
	if at := u.GoDownloads(); at != "" {
		p.Read = append(p.Read, at)
	}
	return nil
}

// hideable reports whether a path can be hidden: it is there, the policy does not say
// otherwise, and no agent has put a link there, by which something else would be hidden.
func (x *Runner) hideable(path string, p *sandbox.Policy) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real == "/" || slices.ContainsFunc(slices.Concat(p.Read, p.Write), func(other string) bool {
		resolved, err := filepath.EvalSymlinks(other)
		return err == nil && resolved == real
	}) {
		return false
	}
	for _, dir := range x.config.Sandbox.Write {
		resolved, err := filepath.EvalSymlinks(dir)
		if err == nil && sandbox.InAny(path, []string{dir}) && !sandbox.InAny(real, []string{resolved}) {
			return false
		}
	}
	return true
}
