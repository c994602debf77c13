package runner

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// CheckBranch runs the settings' checks on the branch of an item that is in no run, as the gate runs them on a task's work: at
// the commit that the branch is at, in a worktree of the box's own repository.
func (x *Runner) CheckBranch(ctx context.Context, i work.Item) (work.Checked, error) {
	out := work.Checked{Entered: i.Entered}
	err := x.checkBranch(ctx, i, &out)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out.Trouble = x.redact(err.Error())
	}
	return out, nil
}

func (x *Runner) checkBranch(ctx context.Context, i work.Item, out *work.Checked) (err error) {
	if out.Commit, err = x.tipOf(ctx, i.Branch); err != nil || out.Commit == "" {
		return err
	}
	defer func() {
		if err := x.exchange.ForgetByHand(ctx); err != nil && ctx.Err() == nil {
			x.logger.Warn("a commit that was checked is still kept in the box's own repository", "work", i.ID, "error", err)
		}
	}()
	err = transient(ctx, func() error {
		err := x.exchange.TakeByHand(ctx, out.Commit)
		if BadWork(err) {
			out.Output = x.redact(err.Error())
			return nil // it did not pass
		}
		return err
	})
	if err == nil && out.Output == "" {
		err = x.checkTaken(ctx, i, out)
	}
	if err != nil {
		return err
	}
	if out.Unchanged, err = x.unchanged(ctx, i.Branch, out.Commit); err != nil {
		return err
	}
	out.Tip, err = x.tipOf(ctx, i.Branch)
	return err
}

// unchanged reports whether a branch has nothing that another one, which is checked out, has not. If it is checked out itself, or no
// branch is, there is nothing to hold it against.
func (x *Runner) unchanged(ctx context.Context, branch, commit string) (same bool, err error) {
	err = transient(ctx, func() error {
		on, _, err := x.repo.Head(ctx)
		switch {
		case errors.Is(err, worktree.ErrNoCommit), err == nil && (on == "" || on == branch):
			return nil
		case err == nil:
			same, err = x.repo.Merged(ctx, commit, on)
		}
		return err
	})
	return same, err
}

// checkTaken runs the checks on the commit of an item that was brought to where it is checked.
func (x *Runner) checkTaken(ctx context.Context, i work.Item, out *work.Checked) error {
	if err := x.keepLogs(); err != nil {
		x.logger.Warn("what checks printed on work by hand is kept for longer than it should be", "error", err)
	}
	log, err := openLog(x.handLogs(), order.ChecksName(i))
	if err != nil {
		return err
	}
	result, err := x.check(ctx, out.Commit, trial{checks: x.checks(plan.Plan{}), log: log})
	out.Passed, out.Checks, out.Output = err == nil && result.passed(), result.checks, result.output
	return errors.Join(err, log.Close())
}

// handLogs is where what checks print on work that is in no run is kept: nobody cleans up after such work, so it is not among
// what runs leave.
func (x *Runner) handLogs() string { return filepath.Join(x.gatesDir(), HandLogs) }

// HandLogs is the name of that directory, beside that of the logs of runs.
const HandLogs = "by-hand"

// keepLogs removes of that what is older or more than the settings keep of what runs leave: the oldest goes first.
func (x *Runner) keepLogs() error {
	entries, err := list(x.handLogs())
	if err != nil {
		return err
	}
	var logs []fs.FileInfo
	var bytes int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // else it is gone
			logs, bytes = append(logs, info), bytes+info.Size()
		}
	}
	slices.SortFunc(logs, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	keep := x.config.Keep
	for _, log := range logs {
		old := keep.Transcripts > 0 && x.now().Sub(log.ModTime()) > keep.Transcripts
		crowded := keep.Megabytes > 0 && bytes > keep.Bytes()
		if old || crowded {
			bytes -= log.Size()
			err = errors.Join(err, x.discard(filepath.Join(x.handLogs(), log.Name())))
		}
	}
	return err
}

// tipOf returns where a branch of the user's is; empty if there is none of that name.
func (x *Runner) tipOf(ctx context.Context, branch string) (commit string, err error) {
	err = transient(ctx, func() error {
		commit, err = x.repo.Tip(ctx, branch)
		if errors.Is(err, worktree.ErrUnknown) {
			commit, err = "", nil
		}
		return err
	})
	return commit, err
}
