package box

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// confine says what keeps an agent in: nothing, or a sandbox in which it can write its
// worktree, if its role changes files, and commit there; temporary files, what its program
// keeps of the user's, and what the settings name. The box's directory, with its secrets
// and what other agents do, is hidden from it, and so is an archive that lies elsewhere.
func (d *deliverer) confine(s delivery.Session, role config.Role, agent config.Agent, command []string, tree, branch string) (*sandbox.Policy, error) {
	if role.Sandbox == sandbox.None {
		return nil, nil
	}
	dir, err := filepath.Abs(d.box.sessionDir(s.ID))
	if err != nil {
		return nil, err
	}
	archive, err := filepath.Abs(d.box.dir.Archive(d.config.Archive))
	if err != nil {
		return nil, err
	}
	p := &sandbox.Policy{
		Kind: role.Sandbox, Network: role.Network == config.On, Temp: session.Temp(dir),
		Hidden: []string{d.dir, archive},
		// All can be read anyway, unless it lies in what is hidden, or among temporary files.
		Read: []string{d.repo.Root(), tree},
	}
	if slices.Contains(role.Allow, config.AllowEdit) {
		write, read, err := sandbox.GitPaths(d.repo.Common(), tree, branch)
		if err != nil {
			return nil, err
		}
		p.Write, p.Read = append(write, tree), append(p.Read[:1], read...)
	}
	if filepath.IsAbs(command[0]) {
		p.Read = append(p.Read, filepath.Dir(command[0]))
	}
	getenv := func(name string) string { return cmp.Or(agent.Env[name], os.Getenv(name)) }
	home := getenv("HOME")
	kept, err := sandbox.State(command, home, getenv)
	if err != nil {
		return nil, err
	}
	p.Write = append(append(p.Write, kept...), d.config.Sandbox.Write...)
	return p, nil
}
