package runner

import (
	"context"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// Root returns the user's checkout.
func (x *Runner) Root() string { return x.repo.Root() }

// Head returns the branch that the user's checkout is on, and its commit.
func (x *Runner) Head(ctx context.Context) (branch, commit string, err error) {
	return x.repo.Head(ctx)
}

// Ready reports why a run could not be carried out here as the settings want it: a sandbox can't be made, or a
// reviewer could not be protected.
func (x *Runner) Ready() error {
	if err := x.canConfine(); err != nil {
		return err
	}
	return x.canReview()
}

// Free reports whether the branches of a run's tasks could have that run's name.
func (x *Runner) Free(ctx context.Context, run string) (bool, error) {
	taken, err := x.repo.Taken(ctx, taskBranches(run))
	return !taken, err
}

// MakeBranch makes the branch that a run's work is merged to. One that is there is never taken for ours: then it
// reports false.
func (x *Runner) MakeBranch(ctx context.Context, branch, base string) (made bool, err error) {
	return x.repo.Branch(ctx, branch, base)
}

// Begin is called before a run is recorded: it looks how everything is that agents should leave alone, and notes that
// there will be something of the run to take away. No other run goes on if it is alone.
func (x *Runner) Begin(ctx context.Context, subject, branch string, alone bool) error {
	if err := x.Resume(ctx, alone, branch); err != nil {
		return err
	}
	return x.mark(subject)
}

// Resume looks how everything is that agents should leave alone, so that what they change from now on is seen.
func (x *Runner) Resume(ctx context.Context, alone bool, branches ...string) error {
	x.lookFirst(ctx, branches...)
	return x.lookFollowed(alone)
}

// Witnesses calls f with the messages of the commits that name a checkpoint of a ledger, those on agents' own
// branches left out.
func (x *Runner) Witnesses(ctx context.Context, origin string, f func(message string)) error {
	return x.repo.Messages(ctx, trailer.Witness(origin), allTaskBranches, f)
}

// What git says that who gives orders has to know.
var (
	ErrNoCommit = worktree.ErrNoCommit // the user's checkout has no commit to begin from
	ErrTooSlow  = worktree.ErrTooSlow  // git has not answered in time
)

// Alive returns the sessions whose processes run, in a box's directory.
func Alive(dir string) []string {
	sessions := filepath.Join(dir, sessionsDir)
	entries, err := os.ReadDir(sessions)
	if err != nil {
		return nil
	}
	var alive []string
	for _, e := range entries {
		if session.Alive(filepath.Join(sessions, e.Name())) {
			alive = append(alive, e.Name())
		}
	}
	return alive
}
