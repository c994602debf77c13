package runner

import (
	"context"
	"errors"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// BadWork reports whether an error is one that whoever wrote the commit has to mend: to try again does not help.
func BadWork(err error) bool {
	var history *worktree.HistoryError
	var size *worktree.SizeError
	return errors.As(err, &history) || errors.As(err, &size) || errors.Is(err, worktree.ErrObjects) || errors.Is(err, worktree.ErrUnrelated)
}

// begins returns where the work of a commit begins that was taken for a task, or for remediation,
// and refuses a history that holds others' work, and one with too much in it.
func (x *Runner) begins(ctx context.Context, r delivery.Run, name, commit string) (string, error) {
	others := map[string]string{}
	for _, t := range r.Tasks {
		if t.ID == name || t.Item.Phase == agentsig.PhaseCompleted {
			continue
		}
		if t.Item.Commit != "" {
			others[t.Item.Commit] = t.ID
		}
		switch tip, err := x.repo.Resolve(ctx, "refs/heads/"+taskBranch(r.ID, t.ID)); {
		case err == nil:
			others[tip] = t.ID
		case ctx.Err() != nil:
			return "", ctx.Err() // a branch that is not there, or was broken, is nobody's work yet
		}
	}
	base, err := x.exchange.Begins(ctx, commit, r.Branch, others)
	if err != nil {
		return "", err
	}
	return base, x.exchange.CheckSize(ctx, base, commit)
}

// partsAt returns where the work of a commit begins, as it is shown to a reviewer. If there are more
// such commits than one it will not be merged.
func (x *Runner) partsAt(ctx context.Context, r delivery.Run, commit string) (string, error) {
	tip, err := x.exchange.TakeBranch(ctx, r.Branch)
	if err != nil {
		return "", err
	}
	bases, err := x.exchange.Bases(ctx, commit, tip)
	if err != nil {
		return "", err
	}
	return bases[0], nil
}

// checkHead refuses to look at a worktree whose commit has too much in it: git would hold all of it.
func (x *Runner) checkHead(ctx context.Context, r delivery.Run, t *worktree.Tree) (head string, err error) {
	tip, err := x.tip(ctx, r)
	if err != nil {
		return "", err
	}
	if head, err = t.Head(ctx); errors.Is(err, worktree.ErrUnknown) {
		return "", nil // there is no commit to look at
	}
	if err == nil {
		err = x.repo.CheckEntries(ctx, tip, head)
	}
	return head, err
}
