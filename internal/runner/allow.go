package runner

import (
	"context"
	"errors"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// errNotAllowed says that a merge was not due any more when it was about to be made, or is proposed to a person first.
var errNotAllowed = errors.New("the merge is not due any more: something happened to the work while it was checked, or a person has to approve it")

// allow returns what seals a merge of an order: it has recorded which merge is allowed, and the ledger
// signed up to there, and writes the message that proves it. What was allowed last is in allowed; base is where
// reviewers saw the work begin. A merge that is recorded and not made, because the box was killed, is made again and
// recorded as it is then.
func (x *Runner) allow(o order.Order, title, base string, allowed **work.Permit) func(context.Context, worktree.Result) (string, error) {
	return func(ctx context.Context, m worktree.Result) (string, error) {
		if o.Run.Settings.Approve != "" { // whoever approves it will want to look at it
			if err := x.exchange.Keep(ctx, m.Checked, o.Run.ID); err != nil {
				return "", err
			}
		}
		permit, proof, err := x.conductor.Permit(ctx, o.Run.Subject, delivery.MergeChecked{
			Command: o.ID, Commit: m.Commit, Onto: m.Onto, Tree: m.Tree, Base: base, Checked: m.Checked,
		})
		if err != nil {
			return "", err
		}
		if permit.Seq != 0 {
			*allowed = &permit
		}
		if permit.Commit != m.Commit || permit.Onto != m.Onto || permit.Tree != m.Tree || permit.Base != base {
			return "", errNotAllowed
		}
		return trailer.Message(title, proof)
	}
}

// before returns the merge that was allowed before, if one was: a box that was killed may have made it.
func before(p *work.Permit) *worktree.Result {
	if p == nil {
		return nil
	}
	return &worktree.Result{Onto: p.Onto, Commit: p.Commit, Tree: p.Tree}
}

// heldOn reports whether the checks held on all that is in a merge when it was proposed to a person, who has approved it
// since. They are not run again then.
func (x *Runner) heldOn(ctx context.Context, r delivery.Run, t delivery.Task, merge string) (bool, error) {
	approved := r.Approved(&t)
	if approved == nil {
		return false, nil
	}
	tree, err := x.exchange.TreeOf(ctx, merge)
	return tree == approved.Tree, err
}
