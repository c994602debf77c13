package runner

import (
	"context"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/session"
)

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

// Alive returns the sessions whose processes run.
func (x *Runner) Alive() []string { return sessionsThat(session.Alive, x.dir) }

// sessionsThat returns the sessions in a box's directory of whose own directories something is so.
func sessionsThat(so func(dir string) bool, box string) (all []string) {
	entries, err := os.ReadDir(filepath.Join(box, sessionsDir))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if so(SessionFiles(box, e.Name())) {
			all = append(all, e.Name())
		}
	}
	return all
}
