package config

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/advice"
	"github.com/signalbox-dev/signalbox/internal/process"
	"github.com/signalbox-dev/signalbox/safetext"
)

// modelVariable names the model, for `signalbox ask` as for an agent by it.
const modelVariable = "SIGNALBOX_MODEL"

// ErrNoModel is returned for an agent that is to ask a model, and does not know which.
var ErrNoModel = errors.New("no model is set for it: name one with model, as its server calls it")

// toolName is what a tool can be called.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Asks returns what an agent asks its model with.
func (a Agent) Asks() advice.Settings {
	return advice.Settings{Model: a.Model, Tools: a.Tools, Tree: a.Tree, Allow: a.Allow}
}

// validateAsk finds what is wrong with an agent that asks a model, or what only such an agent has.
func (a Agent) validateAsk(p *problems, at string) {
	if a.Adapter != AdapterAsk {
		for _, set := range []struct {
			name string
			is   bool
		}{{"model", a.Model != ""}, {"tools", a.Tools != ""}, {"tree", a.Tree != ""}, {"allow", len(a.Allow) > 0}} {
			if set.is {
				p.add(at+"."+set.name, "it is for agents with adapter: %s; give another program its arguments in command", AdapterAsk)
			}
		}
		return
	}
	if len(a.Command) > 0 {
		p.add(at+".command", "with adapter: %s it is Signalbox itself: leave it out", AdapterAsk)
	}
	if a.Commands != "" {
		p.add(at+".commands", "with adapter: %s it runs none: leave it out", AdapterAsk)
	}
	if a.Model != "" && !plain(a.Model) {
		p.add(at+".model", "%q is no name", a.Model)
	}
	for i, tool := range a.Allow {
		if !toolName.MatchString(tool) {
			p.add(fmt.Sprintf("%s.allow[%d]", at, i+1), "%q is no name of a tool", tool)
		}
	}
}

// onlyAdvises refuses an agent that asks a model in a role that does more than to advise.
func (c *Config) onlyAdvises(p *problems, role agentsig.Role) {
	if r := c.Role(role); c.Agents[r.Agent].Adapter == AdapterAsk && role != agentsig.RoleExpert {
		p.add("roles."+string(role)+".agent", "%s answers questions (adapter: %s), and can be the expert alone: name another agent here, or call one of them %s", r.Agent, AdapterAsk, DefaultAgent)
	}
}

// treeFrom makes a tree's file absolute. A name without a directory that does not end in .lua is that of a tree that is
// built in.
func (c *Config) treeFrom(tree string) string {
	if filepath.Ext(tree) == ".lua" || strings.ContainsAny(tree, `/\`) {
		return c.from(tree)
	}
	return tree
}

const (
	tryTime = 30 * time.Second // for the settings of a question to be looked at
	tryRead = 64 << 10         // bytes that are read of what is found
)

// TryAsk says what is wrong with how an agent asks its model: the model, its key or address, the files of tools and tree.
// Nothing is asked, and no tool's server is started.
func (a Agent) TryAsk(ctx context.Context, dir string) error {
	if cmp.Or(a.Model, a.Env[modelVariable]) == "" {
		return ErrNoModel
	}
	request, err := json.Marshal(advice.Request{Settings: a.Asks(), Check: true})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	command := a.Resolve(dir)
	said, complained := beginning{left: tryRead}, beginning{left: tryRead}
	group, err := process.Start(process.Command{Path: command[0], Args: command[1:], Dir: dir, Env: a.environment(),
		Stdin: bytes.NewReader(append(request, '\n')), Stdout: &said, Stderr: &complained})
	if err != nil {
		return err
	}
	select {
	case <-group.Done():
	case <-ctx.Done():
	}
	group.End(time.Second)
	var found advice.Line
	switch exit, err := group.Wait(); {
	case ctx.Err() != nil:
		return fmt.Errorf("its settings could not be looked at: %w", ctx.Err())
	case err != nil:
		return err
	case exit != 0 || json.Unmarshal(said.text.Bytes(), &found) != nil:
		return fmt.Errorf("its settings could not be looked at: exit status %d: %s", exit, safetext.Escape(strings.TrimSpace(complained.text.String())))
	case found.Wrong != "":
		return errors.New(found.Wrong)
	}
	return nil
}

// environment is what the agent's program gets.
func (a Agent) environment() []string {
	env := process.CleanEnv(os.Environ())
	for name, value := range a.Env {
		env = append(env, name+"="+value)
	}
	return env
}

// self is this program, which is what an agent that asks a model is.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return "signalbox" // from PATH
	}
	return path
}
