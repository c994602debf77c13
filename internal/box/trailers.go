package box

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/trailer"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/ledger"
)

// errNotAllowed says that a merge was not due any more when it was about to be made.
var errNotAllowed = errors.New("the merge is not due any more: something happened to the work while it was checked")

// allow returns what seals a merge: it records which merge is allowed, has the ledger
// signed up to there, and writes the message that proves it. The function permit returns
// what was allowed last for the command; base is where reviewers saw the work begin. A merge that is recorded and not made, because
// the box was killed, is made again and recorded as it is then.
func (d *deliverer) allow(c *conductor, command, title, base string, permit func() *work.Permit) func(context.Context, worktree.Result) (string, error) {
	return func(ctx context.Context, m worktree.Result) (string, error) {
		checked := delivery.MergeChecked{Command: command, Commit: m.Commit, Onto: m.Onto, Tree: m.Tree, Base: base}
		if err := c.tell(ctx, checked); err != nil {
			return "", err
		}
		allowed := permit()
		if allowed == nil || allowed.Commit != m.Commit || allowed.Onto != m.Onto || allowed.Tree != m.Tree || allowed.Base != base {
			return "", errNotAllowed
		}
		proof, err := d.box.prove(allowed.Seq)
		if err != nil {
			return "", err
		}
		return trailer.Message(title, proof)
	}
}

// before returns the merge that was allowed before, if one was: a box that was killed may have made it.
func before(permit func() *work.Permit) *worktree.Result {
	p := permit()
	if p == nil {
		return nil
	}
	return &worktree.Result{Onto: p.Onto, Commit: p.Commit, Tree: p.Tree}
}

// ofTask returns what was allowed last for a task's item.
func (d *deliverer) ofTask(subject string) func() *work.Permit {
	return func() *work.Permit { return d.box.state.item(subject).Allowed }
}

// ofRepair returns what was allowed last for a run's repair.
func (d *deliverer) ofRepair(c *conductor) func() *work.Permit {
	return func() *work.Permit { return d.run(c).Remediation.Allowed }
}

// prove signs what is recorded, and proves an event of it.
func (b *Box) prove(seq uint64) (ledger.Proof, error) {
	if _, err := b.seal(); err != nil {
		return ledger.Proof{}, err
	}
	return b.archive.Prove(int64(seq) - 1)
}

// witnessPatience is for how long a start looks for checkpoints in commits.
const witnessPatience = 5 * time.Second

// witness holds the ledger against the checkpoints that are in the repository's
// commits, which others may have copies of. One that it does not continue refuses the
// start. Only what the box's own key signed counts: anybody can write a message, and
// agents' own branches are not looked at. It returns a note if it could not look at all.
func (b *Box) witness(ctx context.Context, repo *worktree.Repo) (notes []string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, witnessPatience, worktree.ErrTooSlow)
	defer cancel()
	origin := b.keys.Origin()
	latest := ledger.Checkpoint{Origin: origin, Size: b.archive.Size()}
	var broken error
	err = repo.Messages(ctx, trailer.Witness(origin), allTaskBranches, func(message string) {
		signed, ok := trailer.Signed(message, b.keys.Verifier)
		if ok && broken == nil {
			broken = trailer.Continues(latest, b.archive.Root, signed)
		}
	})
	if broken != nil {
		return nil, &archive.Damage{
			Where: "the ledger", What: "a commit in this repository shows that it is not what was signed", Err: broken,
			Advice: "put the newer copy of the archive back; to go on without what is lost, move " + string(b.dir) + " away, and a new ledger begins",
		}
	}
	if err != nil {
		notes = append(notes, fmt.Sprintf("not all commits were looked at for checkpoints of this ledger: %v", err))
	}
	return notes, nil
}
