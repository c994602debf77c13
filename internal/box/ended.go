package box

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

func (d *deliverer) markPath(subject string) string { return filepath.Join(d.dir, runMarks, subject) }

// mark notes that there is, or will be, something of a run to take away.
func (d *deliverer) mark(subject string) error {
	path := d.markPath(subject)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(path, nil)
}

// unmark notes that nothing is left of a run. That it is forgotten in a power cut does no harm.
func (d *deliverer) unmark(subject string) {
	if err := os.Remove(d.markPath(subject)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.box.logger.Warn("the mark of a run that has ended was not removed", "subject", subject, "error", err)
	}
}

// marked returns the subjects of the runs that have a mark. In a directory of a version before there are
// no marks: each run that is in memory gets one.
func (d *deliverer) marked() (all []string, err error) {
	entries, err := os.ReadDir(d.markPath(""))
	if !errors.Is(err, fs.ErrNotExist) {
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all, err
	}
	all, err = d.box.state.runSubjects(), os.Mkdir(d.markPath(""), 0o700)
	for _, subject := range all {
		err = errors.Join(err, d.mark(subject))
	}
	return all, err
}

// tidy takes away what ended runs left behind because their box was killed.
func (b *Box) tidy(ctx context.Context, marked []string) {
	for _, subject := range marked {
		var r delivery.Run
		found := b.state.withRun(subject, func(run *delivery.Run) { r = run.Copy() })
		switch {
		case ctx.Err() != nil:
			return
		case !found: // its box was killed before it was recorded
			b.deliverer.unmark(subject)
		case !r.Live():
			b.deliverer.finished(ctx, r)
		}
	}
}

// finished takes away what a run that has ended does not need any more: the
// worktrees of what is merged, whose branches are deleted once that is proven, and
// those for checks. What is not merged stays.
func (d *deliverer) finished(ctx context.Context, r delivery.Run) {
	err := d.clear(ctx, r)
	d.mu.Lock()
	delete(d.plans, r.Subject)
	delete(d.branches, r.Branch)
	d.mu.Unlock()
	switch {
	case ctx.Err() != nil: // the next box goes on with it
	case err != nil:
		d.box.logger.Warn("worktrees of a run that has ended were not removed", "run", r.ID, "error", err)
	default:
		d.unmark(r.Subject)
	}
}

func (d *deliverer) clear(ctx context.Context, r delivery.Run) error {
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
		path, branch := d.treePath(r.ID, name), taskBranch(r.ID, name)
		merged, err := d.repo.Merged(ctx, branch, r.Branch)
		if err != nil && !errors.Is(err, worktree.ErrUnknown) {
			errs = append(errs, err)
		}
		if err != nil || !merged {
			left = append(left, name) // never made, gone, or not merged
			continue
		}
		errs = append(errs, d.repo.Remove(ctx, path), d.repo.DeleteMerged(ctx, branch, r.Branch), d.repo.Tidy(ctx, branch, r.Branch, true))
		_ = os.Remove(path + ".ready")
	}
	for _, name := range left {
		errs = append(errs, d.repo.Tidy(ctx, taskBranch(r.ID, name), r.Branch, false))
	}
	errs = append(errs, d.exchange.Forget(ctx, r.ID, r.Branch))
	_ = os.Remove(d.treePath(r.ID, "")) // if nothing is left in it
	return errors.Join(append(errs, d.homes.Retire(r.ID))...)
}
