package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// Work can be done on other machines too. There a runner like this one has a repository of its own in the place of the
// user's checkout: it brings there what an order is about, and what was done goes to the exchange of the box, under refs of its own.

// Share brings what an order on another machine is about into the exchange, and returns the refs there that it is about.
func (x *Runner) Share(ctx context.Context, o order.Order) ([]string, error) {
	if o.Do == delivery.DoPrompt || o.Do == delivery.DoEnd {
		return nil, nil
	}
	if o.Do == delivery.DoStart {
		if err := x.sendOff(o.Session.ID, o.Runner); err != nil {
			return nil, err
		}
	}
	refs := []string{"refs/heads/" + o.Run.Branch}
	if _, err := x.exchange.TakeBranch(ctx, o.Run.Branch); err != nil {
		return nil, err
	}
	if o.Do == delivery.DoGate { // where work begins is seen by the work of the other tasks
		refs = append(refs, worktree.Kept(o.Run.ID))
	}
	for _, commit := range concerned(o) {
		if err := x.takeCommit(ctx, o.Run, commit); err != nil {
			return nil, err
		}
		if o.Do != delivery.DoGate {
			refs = append(refs, worktree.Kept(o.Run.ID)+commit)
		}
	}
	return refs, nil
}

// takeCommit brings a commit of a run's to the exchange. What was pushed is there, and was looked at when it came.
func (x *Runner) takeCommit(ctx context.Context, r delivery.Run, commit string) error {
	for _, t := range r.Tasks {
		if t.Pushed == commit && x.exchange.Keep(ctx, commit, r.ID) == nil {
			return nil
		}
	}
	return x.exchange.Take(ctx, commit, r.ID)
}

// concerned returns the commits that an order on another machine is about, besides the run's branch.
func concerned(o order.Order) (commits []string) {
	t := o.Task
	if o.Session != nil {
		t = o.Run.Task(o.Session.Task)
	}
	if t == nil {
		return nil
	}
	switch {
	case o.Do == delivery.DoGate:
		commits = append(commits, t.Given, t.Pushed)
	case o.Reviews:
		commits = append(commits, t.Item.Commit)
	default:
		commits = append(commits, t.Pushed)
	}
	var named []string
	for _, c := range commits {
		if c != "" {
			named = append(named, c)
		}
	}
	return named
}

// Machine is what can be done here: the box's own runner is asked for nothing that it could not do before there were others.
func (x *Runner) Machine() delivery.Machine { return Home(x.config) }

// Home is a box's own machine, as work is given to it by these settings.
func Home(c config.Config) delivery.Machine {
	m := delivery.Machine{Checks: true}
	for name, agent := range c.Agents {
		if _, err := agent.Find(c.Dir); err == nil {
			m.Agents = append(m.Agents, name)
		}
	}
	return m
}

// Settle commits what lies in the worktree of an order's task, and returns the commit; none if there is no worktree.
func (x *Runner) Settle(ctx context.Context, o order.Order) (string, error) {
	path := x.treePath(o.Run.ID, roomName(*o.Session))
	if err := x.repo.Find(ctx, path); errors.Is(err, worktree.ErrNotWorktree) {
		return "", nil
	}
	t := o.Run.Task(o.Session.Task)
	if t == nil {
		return "", nil
	}
	return x.settled(ctx, o.Run, t.ID, commitMessage(*t))
}

// Leave takes away what a run that has ended has left on a machine that is not the box's.
func (x *Runner) Leave(ctx context.Context, run, branch string) error {
	dir := x.treePath(run, "")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() {
			x.sweep(path)
			errs = append(errs, x.repo.Remove(ctx, path))
		}
	}
	errs = append(errs, os.RemoveAll(dir), x.repo.Drop(ctx, "refs/heads/"+taskBranches(run), "refs/heads/"+branch, worktree.Kept(run), order.TaskRefs(run)),
		x.repo.Collect(ctx), x.exchange.Forget(ctx, run, branch), x.homes.Retire(run))
	x.mu.Lock()
	delete(x.branches, branch)
	x.mu.Unlock()
	return errors.Join(errs...)
}

// continues sees to it that a worktree has what was done on its task elsewhere, if anything was. What it has besides was pushed, or is a
// stale session's.
func (x *Runner) continues(ctx context.Context, r delivery.Run, t *worktree.Tree, task string) error {
	its := r.Task(task)
	if its == nil || its.Pushed == "" {
		return nil
	}
	if err := x.exchange.Give(ctx, its.Pushed, r.Branch); err != nil {
		return err
	}
	head, err := t.Head(ctx)
	if err != nil || head == its.Pushed {
		return err
	}
	ahead, err := x.repo.Contains(ctx, head, its.Pushed)
	if err != nil || ahead {
		return err
	}
	return t.Reset(ctx, its.Pushed)
}
