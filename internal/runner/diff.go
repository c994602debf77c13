package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/safetext"
)

// TaskWork is what the ledger says of a task's work, for whoever wants to see it.
type TaskWork struct {
	Run, Task string // their ids
	Branch    string // that the run's work is merged to
	Start     string // the commit that the run began with
	Commit    string // that was judged last; empty if none was
	Base      string // where those who judged it saw it begin; empty if nobody did
	Onto      string // the commit that it was merged with; empty if it was not
	Settled   bool   // the commit is what counts: it is being judged, or merged
	Since     string // the commit to compare with, if it is not to be where the work begins
}

// What keeps a task's work from being shown.
var (
	ErrNoWork = errors.New("nobody has worked on it yet")
	ErrGone   = errors.New("the work is not in the repository any more")
)

// Changes is a task's work beside what it is compared with.
type Changes struct {
	Base        string // the commit that it is compared with
	Commit      string // the last one of the work
	Uncommitted bool   // there is more in the worktree than in that commit, and it is shown too
	Live        bool   // it is shown as it lies in the worktree now, committed or not
	Unread      error  // why the worktree could not be looked at, and the commit is shown alone

	to   string
	repo *worktree.Repo // that has both
	done func() error
}

// snapshotTime is for how long a worktree is looked at. A named pipe in it would be waited for without end.
const snapshotTime = time.Minute

// Changes finds a task's work: what was judged or merged, or else what lies in its worktree now, or on its
// branch. The box's directory is given. Whoever gets changes closes them. Nothing but objects is believed of
// what agents can write: neither their index nor their settings.
func (s Site) Changes(ctx context.Context, dir string, w TaskWork) (*Changes, error) {
	return s.changes(ctx, dir, w, snapshotTime)
}

func (s Site) changes(ctx context.Context, dir string, w TaskWork, patience time.Duration) (*Changes, error) {
	exchange := s.repo.Beside(exchangePath(dir))
	if w.Settled && w.Commit != "" {
		return s.settledChanges(ctx, exchange, w)
	}
	tip, err := s.repo.Tip(ctx, taskBranch(w.Run, w.Task))
	if errors.Is(err, worktree.ErrUnknown) {
		if w.Commit == "" {
			return nil, ErrNoWork
		}
		return s.settledChanges(ctx, exchange, w)
	}
	if err != nil {
		return nil, err
	}
	c := &Changes{Commit: tip, to: tip, repo: s.repo, done: func() error { return nil }}
	looking, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("after %v: %w", patience, worktree.ErrTooSlow))
	defer cancel()
	switch snapshot, err := s.repo.Tree(treePath(dir, w.Run, w.Task)).Snapshot(looking, tip, exchange); {
	case err == nil:
		c.Live, c.to, c.repo, c.done = true, snapshot.Tree, snapshot.Repo, snapshot.Close
		tree, err := s.repo.TreeOf(ctx, tip)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.Uncommitted = tree != snapshot.Tree
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.Is(err, worktree.ErrNotWorktree):
		c.Unread = err
	}
	if c.Base, err = s.baseOf(ctx, c.repo, w, tip); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// settledChanges compares a commit that the box has taken: in the exchange, where every object was hashed anew, or in
// the user's repository, if it is not there any more.
func (s Site) settledChanges(ctx context.Context, exchange *worktree.Repo, w TaskWork) (*Changes, error) {
	var gone error
	for _, repo := range []*worktree.Repo{exchange, s.repo} {
		c := &Changes{repo: repo, done: func() error { return nil }}
		var err error
		if c.Commit, err = repo.Resolve(ctx, w.Commit); err == nil {
			c.to = c.Commit
			if c.Base, err = s.baseOf(ctx, repo, w, c.Commit); err == nil {
				return c, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		gone = err
	}
	return nil, fmt.Errorf("%w: the commit %s (%w)", ErrGone, safetext.Escape(w.Commit), gone)
}

// baseOf returns what a commit of a task's work is compared with.
func (s Site) baseOf(ctx context.Context, repo *worktree.Repo, w TaskWork, commit string) (string, error) {
	if known := cmp.Or(w.Since, settledBase(w, commit)); known != "" {
		base, err := repo.Resolve(ctx, known)
		if errors.Is(err, worktree.ErrUnknown) {
			err = fmt.Errorf("%w: the commit %s", ErrGone, safetext.Escape(known))
		}
		return base, err
	}
	base, err := repo.Base(ctx, commit, cmp.Or(w.Onto, "refs/heads/"+w.Branch))
	if err != nil && ctx.Err() == nil { // the user may have deleted the branch, or the histories have nothing in common
		base, err = repo.Base(ctx, commit, w.Start)
	}
	return base, err
}

// settledBase is where those who judged a commit saw it begin. It is the work's beginning for no other commit: the
// run's branch may have been brought in since.
func settledBase(w TaskWork, commit string) string {
	if commit != w.Commit {
		return ""
	}
	return w.Base
}

// Diff writes them, in git's format.
func (c *Changes) Diff(ctx context.Context, d worktree.Diff, out io.Writer) error {
	d.From, d.To = c.Base, c.to
	err := c.repo.Diff(ctx, d, out)
	if errors.Is(err, worktree.ErrGone) {
		err = fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// Close takes away what was made to look at them.
func (c *Changes) Close() error { return c.done() }

// Pager returns the command that the user has git show a diff with on a terminal; empty if there is none.
func (s Site) Pager(ctx context.Context) (string, error) { return s.repo.Pager(ctx) }

// DiffColours returns the colours that the user has git show a diff in.
func (s Site) DiffColours(ctx context.Context) (worktree.DiffColours, error) {
	return s.repo.DiffColours(ctx)
}

// exchangePath is where the box's own repository lies in its directory.
func exchangePath(dir string) string { return filepath.Join(dir, "exchange.git") }

// treePath is where the worktree of a task lies there.
func treePath(dir, run, task string) string {
	return filepath.Join(dir, Worktrees, run, fileName(task))
}
