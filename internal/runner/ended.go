package runner

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// A run has worktrees, branches, refs in the exchange and a home directory for its checks. They are
// taken away when it has ended, and a box that is killed before leaves that to the next one. So each
// run has a mark, a file with its subject's name, from before it is recorded until nothing of it is
// left to take away: a start looks at the runs that have a mark, and at no other, however many ended
// before.

// runMarks is where the marks lie in the box's directory.
const runMarks = "runs"

func (x *Runner) markPath(subject string) string { return filepath.Join(x.dir, runMarks, subject) }

// mark notes that there is, or will be, something of a run to take away.
func (x *Runner) mark(subject string) error {
	path := x.markPath(subject)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, nil)
}

// Unmark notes that nothing is left of a run. That it is forgotten in a power cut does no harm.
func (x *Runner) Unmark(subject string) {
	if err := os.Remove(x.markPath(subject)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		x.logger.Warn("the mark of a run that has ended was not removed", "subject", subject, "error", err)
	}
}

// Marked returns the subjects of the runs that have a mark. In a directory of a version before there are
// no marks: each run that is known gets one.
func (x *Runner) Marked(known func() []string) (all []string, err error) {
	entries, err := os.ReadDir(x.markPath(""))
	if !errors.Is(err, fs.ErrNotExist) {
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all, err
	}
	all, err = known(), os.Mkdir(x.markPath(""), 0o700)
	for _, subject := range all {
		err = errors.Join(err, x.mark(subject))
	}
	return all, err
}

// Finished takes away what a run that has ended does not need any more: the
// worktrees of what is merged, whose branches are deleted once that is proven, and
// those for checks. What is not merged stays.
func (x *Runner) Finished(ctx context.Context, r delivery.Run) {
	err := x.clear(ctx, r)
	x.mu.Lock()
	delete(x.branches, r.Branch)
	x.mu.Unlock()
	switch {
	case ctx.Err() != nil: // the next box goes on with it
	case err != nil:
		x.logger.Warn("worktrees of a run that has ended were not removed", "run", r.ID, "error", err)
	default:
		x.Unmark(r.Subject)
	}
}

func (x *Runner) clear(ctx context.Context, r delivery.Run) error {
	var errs []error
	trees, left := []string{remediationTree}, []string(nil)
	for _, t := range r.Tasks {
		if t.Item.Phase == agentsig.PhaseCompleted {
			trees = append(trees, t.ID)
		} else {
			left = append(left, t.ID)
		}
	}
	for _, name := range trees {
		path, branch := x.treePath(r.ID, name), taskBranch(r.ID, name)
		merged, err := x.repo.Merged(ctx, branch, r.Branch)
		if err != nil && !errors.Is(err, worktree.ErrUnknown) {
			errs = append(errs, err)
		}
		if err != nil || !merged {
			left = append(left, name) // never made, gone, or not merged
			continue
		}
		errs = append(errs, x.repo.Remove(ctx, path), x.repo.DeleteMerged(ctx, branch, r.Branch), x.repo.Tidy(ctx, branch, r.Branch, true))
		_ = os.Remove(path + readyFile)
	}
	for _, name := range left {
		errs = append(errs, x.repo.Tidy(ctx, taskBranch(r.ID, name), r.Branch, false))
	}
	errs = append(errs, x.exchange.Forget(ctx, r.ID, r.Branch))
	_ = os.Remove(x.treePath(r.ID, "")) // if nothing is left in it
	return errors.Join(append(errs, x.homes.Retire(r.ID))...)
}
