package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/home"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Who looks at work and changes nothing has a worktree of its own for each session, made from
// the exchange: what lies in the developer's, and what its index says, is the developer's to
// write.

func (x *Runner) reviewsDir() string { return filepath.Join(x.dir, "reviews") }

func (x *Runner) reviewPath(session string) string { return filepath.Join(x.reviewsDir(), session) }

// reviewRoom makes the worktree that a session looks at. It is recorded what a reviewer is given, before it is:
// nothing else will be merged on its word.
func (x *Runner) reviewRoom(ctx context.Context, o order.Order) (in room, err error) {
	r, s := o.Run, *o.Session
	task := r.Task(s.Task)
	if in.commit = s.Commit; in.commit == "" { // it looks at a task's work, and not at a repair
		in.commit = task.Item.Commit
	}
	if in.commit == "" { // the operator took it past the gate
		if in.commit, err = x.settled(ctx, r, s.Task, commitMessage(*task)); err != nil {
			return room{}, err
		}
	}
	in.path = x.reviewPath(s.ID)
	err = transient(ctx, func() error {
		return errors.Join(x.exchange.Take(ctx, in.commit, r.ID), x.exchange.AddDetached(ctx, in.path, in.commit))
	})
	if err != nil {
		return room{}, err
	}
	if err := x.setUpReview(ctx, r.ID, in.path, in.commit); err != nil {
		return room{}, err
	}
	seen, err := x.seen(ctx, r, in.commit)
	if err != nil {
		return room{}, err
	}
	if delivery.Reviewer(s.Role) {
		in.base = seen.Base
	}
	return in, x.tell(ctx, o, delivery.Shown{Session: s.ID, Commit: seen.Commit, Tree: seen.Tree, Base: seen.Base})
}

// seen is what a reviewer of a commit sees, which the exchange has.
func (x *Runner) seen(ctx context.Context, r delivery.Run, commit string) (work.Seen, error) {
	tree, err := x.exchange.TreeOf(ctx, commit)
	if err != nil {
		return work.Seen{}, err
	}
	base, err := x.partsAt(ctx, r, commit)
	return work.Seen{Commit: commit, Tree: tree, Base: base}, err
}

// Sight brings the commit of a task to where work is judged, and returns what a person who reviews it is shown.
func (x *Runner) Sight(ctx context.Context, r delivery.Run, task string) (work.Seen, error) {
	t := r.Task(task)
	commit := t.Item.Commit
	if commit == "" { // the operator took it past the gate
		var err error
		if commit, err = x.settled(ctx, r, task, commitMessage(*t)); err != nil {
			return work.Seen{}, err
		}
	}
	if err := x.exchange.Take(ctx, commit, r.ID); err != nil {
		return work.Seen{}, err
	}
	return x.seen(ctx, r, commit)
}

// Room makes the worktree of a task ready for a person who has taken it. Nothing runs there but the setup of a new one,
// which is the user's.
func (x *Runner) Room(ctx context.Context, r delivery.Run, task string) (string, error) {
	t, err := x.tree(ctx, r, task)
	if err == nil {
		err = x.continues(ctx, r, t, task)
	}
	if err != nil {
		return "", err
	}
	return t.Path(), nil
}

// Commit commits what is in the worktree of a task that a person hands in, and returns the commit and how many files the task changes in it.
func (x *Runner) Commit(ctx context.Context, r delivery.Run, task string) (commit string, files int, err error) {
	in := delivery.GateRan{}
	if in.Commit, err = x.settled(ctx, r, task, commitMessage(*r.Task(task))); err == nil {
		err = x.takeIn(ctx, r, task, &in)
	}
	if err != nil {
		return "", 0, err
	}
	return in.Commit, *in.Files, nil
}

// setUpReview makes a reviewer's worktree ready, with a home directory that is gone afterwards:
// the setup may run what is to be reviewed, and the user's is where the reviewer's program keeps
// what it believes.
func (x *Runner) setUpReview(ctx context.Context, run, path, commit string) (err error) {
	if x.config.Worktree.Setup == "" {
		return x.setUp(ctx, x.exchange, path, nil)
	}
	t := trial{run: run}
	h, err := x.takeHome(ctx, t)
	if err != nil {
		return err
	}
	defer func() { x.leaveHome(h, t, err == nil) }()
	return x.makeReady(ctx, path, commit, h)
}

// makeReady sets a worktree of the exchange up, and sees to it that it still is what the commit
// has: the setup may run what is to be judged.
func (x *Runner) makeReady(ctx context.Context, path, commit string, h *home.Home) error {
	err := x.setUp(ctx, x.exchange, path, h)
	if err == nil && x.config.Worktree.Setup != "" {
		err = x.exchange.Restore(ctx, path, commit)
	}
	return err
}

// conceal takes away from a reviewer's worktree what its program would take settings from, and
// returns the names of it.
func (x *Runner) conceal(ctx context.Context, s delivery.Session, tree string) ([]string, error) {
	agent := x.config.Agents[s.Agent]
	names := agentOf(s.Agent, agent, agent.Resolve(x.config.Dir)).Heeds()
	if len(names) == 0 {
		return nil, nil
	}
	return x.exchange.Conceal(ctx, tree, names)
}

// leaveReview removes the worktree that a session looked at, if it had one of its own. Nobody
// waits for it but a box that stops.
func (x *Runner) leaveReview(session string) {
	path := x.reviewPath(session)
	if _, err := os.Lstat(path); err != nil {
		return
	}
	x.group.Go(func(ctx context.Context) { x.removeReview(ctx, session) })
}

// removeReview removes the worktree of a session that looked at something, also if the runner is stopped meanwhile.
func (x *Runner) removeReview(ctx context.Context, session string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookPatience)
	defer cancel()
	path := x.reviewPath(session)
	x.sweep(path)
	if err := x.exchange.Remove(ctx, path); err != nil {
		x.logger.Warn("a reviewer's worktree was not removed", "session", session, "error", err)
	}
}

// sweepReviews removes what a box that was killed left of sessions that have ended. One that
// was made ready and not started yet needs its worktree still; one that was not made ready is begun anew, when what is
// there is gone.
func (x *Runner) sweepReviews(ctx context.Context) error {
	entries, err := os.ReadDir(x.reviewsDir())
	if err != nil {
		return nil // nobody has reviewed anything
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), tempSuffix) {
			_ = removeTemp(filepath.Join(x.reviewsDir(), e.Name())) // of a setup that was killed
			continue
		}
		dir := x.sessionDir(e.Name())
		if _, err := session.Read(dir); err == nil && (session.Alive(dir) || !session.Ran(dir)) {
			continue
		}
		unlock, err := x.starting.Lock(ctx, e.Name())
		if err != nil {
			return err
		}
		x.group.Go(func(ctx context.Context) {
			defer unlock()
			x.removeReview(ctx, e.Name())
		})
	}
	return nil
}

// judged returns the tree of the commit that is to be merged, and refuses one that is not what
// was judged.
func (x *Runner) judged(ctx context.Context, r delivery.Run, i work.Item) (string, error) {
	if err := x.exchange.Take(ctx, i.Commit, r.ID); err != nil {
		return "", err
	}
	tree, err := x.exchange.TreeOf(ctx, i.Commit)
	if err == nil {
		_, err = i.CheckMerge(i.Commit, tree)
	}
	return tree, err
}
