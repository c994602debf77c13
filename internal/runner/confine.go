package runner

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// gitPaths is what an agent's git has to write, and may only read, besides its worktree.
type gitPaths struct{ write, read []string }

// commits returns what an agent needs that commits its work: nothing if its role changes no
// files, or nothing holds it. In a repository where that would give it too much it can't commit, if something
// holds it; the gate commits what it leaves.
func (x *Runner) commits(role config.Role, agent config.Agent, tree, branch string) (gitPaths, error) {
	held := role.Sandbox != sandbox.None || agent.Adapter == config.AdapterCodex // which has a sandbox of its own
	if !held || !slices.Contains(role.Allow, config.AllowEdit) {
		return gitPaths{}, nil
	}
	write, read, err := sandbox.GitPaths(x.repo.Common(), tree, branch)
	if errors.Is(err, sandbox.ErrNoCommits) {
		x.logger.Warn("an agent that is confined can't commit here", "error", err)
		return gitPaths{read: []string{x.repo.Common()}}, nil
	}
	return gitPaths{write, read}, err
}

// cage is what keeps an agent in: its program, and the commands that the program runs. Both
// are nil if nothing does.
type cage struct{ program, nested *sandbox.Policy }

// confine says what keeps an agent in: nothing, or a sandbox in which it can write its
// worktree, if its role changes files, and commit there; temporary files, what its program
// keeps of the user's, and what the settings name. The box's directory, with its secrets
// and what other agents do, is hidden from it, and so is an archive that lies elsewhere.
// From the commands that it runs, what programs keep is hidden as well, with their prompts.
func (x *Runner) confine(s delivery.Session, role config.Role, agent config.Agent, command []string, tree string, commits gitPaths) (cage, error) {
	if role.Sandbox == sandbox.None {
		return cage{}, nil
	}
	dir, err := filepath.Abs(x.sessionDir(s.ID))
	if err != nil {
		return cage{}, err
	}
	p, err := x.policy(role.Sandbox, role.Network, session.Temp(dir))
	if err != nil {
		return cage{}, err
	}
	p.Read = append(p.Read, commits.read...)
	if slices.Contains(role.Allow, config.AllowEdit) {
		p.Write = slices.Concat(commits.write, []string{tree})
	} else {
		p.Read = append(p.Read, tree)
	}
	if filepath.IsAbs(command[0]) {
		p.Read = append(p.Read, filepath.Dir(command[0]))
	}
	getenv := func(name string) string { return cmp.Or(agent.Env[name], os.Getenv(name)) }
	state, err := sandbox.FindState(command, getenv("HOME"), getenv)
	if err != nil {
		return cage{}, err
	}
	p.Write = slices.Concat(p.Write, state.Own, state.Shared, x.config.Sandbox.Write, []string{session.Private(dir)})
	p.Read = append(p.Read, session.Nest(dir), filepath.Dir(x.program))
	nested := state.Nested(role.Sandbox)
	nested.Hidden = append(nested.Hidden, session.Private(dir))
	if agentOf(s.Agent, agent, command).Way().StandsIn() && role.Sandbox == sandbox.Bubblewrap {
		p.Shells, nested.Shells = session.Nest(dir), session.Nest(dir)
	}
	return cage{p, nested}, nil
}

// policy is what every sandbox of the box's has: its directory, and what of the archive lies
// elsewhere, are hidden. The rest can be read, also where a sandbox has its own temporary
// files, which the checkout may be among.
func (x *Runner) policy(kind sandbox.Kind, network config.Switch, temp string) (*sandbox.Policy, error) {
	hidden, err := x.hidden()
	return &sandbox.Policy{
		Kind: kind, Network: network == config.On, Temp: temp, Hidden: hidden, Read: []string{x.repo.Root()},
	}, err
}

// keep lets a command write what programs keep of the user's, and what the settings name.
func (x *Runner) keep(p *sandbox.Policy, command []string, getenv func(string) string) error {
	kept, err := sandbox.FindState(command, getenv("HOME"), getenv)
	p.Write = slices.Concat(p.Write, kept.Own, kept.Shared, x.config.Sandbox.Write)
	return err
}

// tempSuffix ends the name of the directory for temporary files of what runs in a worktree. No task's id has such an end.
const tempSuffix = "~tmp"

// removeTemp removes such a directory, also if what ran there has left what nobody may change: it must not decide on what
// runs next.
func removeTemp(dir string) error {
	err := home.Remove(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// shell returns what runs the user's command lines in a worktree, and what is to be called
// when that is done. They run what agents wrote, so they are confined as agents are, unless
// the settings say otherwise. With a home directory of their own they don't see what agents
// can write of the user's.
func (x *Runner) shell(tree string, h *home.Home) (shell []string, done func(), err error) {
	c := x.config.Sandbox
	if !ChecksConfined(x.config) {
		return []string{"sh"}, func() {}, nil
	}
	temp := tree + tempSuffix
	done = func() { _ = removeTemp(temp) } // the next one does it otherwise
	if err := errors.Join(removeTemp(temp), os.MkdirAll(temp, 0o700)); err != nil {
		return nil, nil, err
	}
	p, err := x.policy(c.Kind, c.Network, temp)
	if err != nil {
		return nil, nil, err
	}
	p.Write, p.Read = []string{tree}, append(p.Read, x.exchange.Common()) // what git needs of most of them
	if h == nil {
		err = x.keep(p, nil, os.Getenv)
	} else {
		p.Write = append(p.Write, h.Path)
		if c.Kind == sandbox.Bubblewrap { // with Landlock nothing could be made beside it
			p.Read = append(p.Read, filepath.Join(tree, ".git"))
		}
		err = x.hideCaches(p)
	}
	if err != nil {
		return nil, nil, err
	}
	shell, err = p.Command(x.program, []string{"sh"})
	return shell, done, err
}
