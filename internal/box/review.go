package box

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Who looks at work and changes nothing has a worktree of its own for each session, made from
// the exchange: what lies in the developer's, and what its index says, is the developer's to
// write.

// reviewer reports whether a role looks at work and changes nothing.
func reviewer(r agentsig.Role) bool { return r == agentsig.RoleCritic || r == agentsig.RoleAuditor }

func (d *deliverer) reviewsDir() string { return filepath.Join(d.dir, "reviews") }

func (d *deliverer) reviewPath(session string) string { return filepath.Join(d.reviewsDir(), session) }

// reviews reports whether a session looks at what passed the gate: a reviewer's, or that of an
// expert who advises one.
func (d *deliverer) reviews(c *conductor, s delivery.Session) bool {
	role := s.Role
	d.box.state.withRun(c.subject, func(r *delivery.Run) {
		for _, q := range r.Requests {
			if asked := r.Sessions[q.Session]; q.Request == s.Request && asked != nil {
				role = asked.Role
			}
		}
	})
	return reviewer(role)
}

// reviewRoom makes the worktree that a session looks at, and names the commit that is in it. It
// is recorded what a reviewer is given, before it is: nothing else will be merged on its word.
func (d *deliverer) reviewRoom(ctx context.Context, c *conductor, r delivery.Run, s delivery.Session) (path, commit string, err error) {
	task := r.Task(s.Task)
	if commit = s.Commit; commit == "" { // it looks at a task's work, and not at a repair
		commit = task.Item.Commit
	}
	if commit == "" { // the operator took it past the gate
		if commit, err = d.settled(ctx, r, s.Task, commitMessage(*task)); err != nil {
			return "", "", err
		}
	}
	path = d.reviewPath(s.ID)
	err = transient(ctx, func() error {
		return errors.Join(d.exchange.Take(ctx, commit, r.ID), d.exchange.AddDetached(ctx, path, commit))
	})
	if err != nil {
		return "", "", err
	}
	if err := d.setUpReview(ctx, r.ID, path, commit); err != nil {
		return "", "", err
	}
	tree, err := d.exchange.TreeOf(ctx, commit)
	if err != nil {
		return "", "", err
	}
	base, err := d.partsAt(ctx, r, commit)
	if err != nil {
		return "", "", err
	}
	return path, commit, c.tell(ctx, delivery.Shown{Session: s.ID, Commit: commit, Tree: tree, Base: base})
}

// setUpReview makes a reviewer's worktree ready, with a home directory that is gone afterwards:
// the setup may run what is to be reviewed, and the user's is where the reviewer's program keeps
// what it believes.
func (d *deliverer) setUpReview(ctx context.Context, run, path, commit string) (err error) {
	if d.config.Worktree.Setup == "" {
		return d.setUp(ctx, d.exchange, path, nil)
	}
	t := trial{run: run}
	h, err := d.takeHome(ctx, t)
	if err != nil {
		return err
	}
	defer func() { d.leaveHome(h, t, err == nil) }()
	return d.makeReady(ctx, path, commit, h)
}

// makeReady sets a worktree of the exchange up, and sees to it that it still is what the commit
// has: the setup may run what is to be judged.
func (d *deliverer) makeReady(ctx context.Context, path, commit string, h *home.Home) error {
	err := d.setUp(ctx, d.exchange, path, h)
	if err == nil && d.config.Worktree.Setup != "" {
		err = d.exchange.Restore(ctx, path, commit)
	}
	return err
}

// conceal takes away from a reviewer's worktree what its program would take settings from, and
// returns the names of it.
func (d *deliverer) conceal(ctx context.Context, s delivery.Session, tree string) ([]string, error) {
	agent := d.config.Agents[s.Agent]
	names := agentOf(s.Agent, agent, agent.Resolve(d.config.Dir)).Heeds()
	if len(names) == 0 {
		return nil, nil
	}
	return d.exchange.Conceal(ctx, tree, names)
}

// leaveReview removes the worktree that a session looked at, if it had one of its own. Nobody
// waits for it but a box that stops.
func (d *deliverer) leaveReview(session string) {
	path := d.reviewPath(session)
	if _, err := os.Lstat(path); err != nil {
		return
	}
	d.box.running.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.box.ctx), lookPatience)
		defer cancel()
		d.sweep(path)
		if err := d.exchange.Remove(ctx, path); err != nil {
			d.box.logger.Warn("a reviewer's worktree was not removed", "session", session, "error", err)
		}
	})
}

// sweepReviews removes what a box that was killed left of sessions that have ended. One that
// was made ready and not started yet has its worktree still to come.
func (d *deliverer) sweepReviews() {
	entries, err := os.ReadDir(d.reviewsDir())
	if err != nil {
		return // nobody has reviewed anything
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), tempSuffix) {
			_ = os.RemoveAll(filepath.Join(d.reviewsDir(), e.Name())) // of a setup that was killed
			continue
		}
		dir := d.box.sessionDir(e.Name())
		if _, err := session.Read(dir); err == nil && (session.Alive(dir) || !session.Ran(dir)) {
			continue
		}
		d.leaveReview(e.Name())
	}
}

// judged returns the tree of the commit that is to be merged, and refuses one that is not what
// was judged.
func (d *deliverer) judged(ctx context.Context, r delivery.Run, i work.Item) (string, error) {
	if err := d.exchange.Take(ctx, i.Commit, r.ID); err != nil {
		return "", err
	}
	tree, err := d.exchange.TreeOf(ctx, i.Commit)
	if err == nil {
		_, err = i.CheckMerge(i.Commit, tree)
	}
	return tree, err
}
