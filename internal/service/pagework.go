package service

import (
	"context"

	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// Prove implements [web.TaskBox].
func (p pageBox) Prove(ctx context.Context, c evidence.Card) (evidence.Proof, error) {
	dir := box.Dir(p.service.dir)
	key, err := dir.Verifier()
	if err != nil {
		return evidence.Proof{}, err
	}
	archive := dir.Archive("")
	proof, err := evidence.Prove(c.Rests, archive, key)
	if err != nil || c.Merge == nil {
		return proof, err
	}
	err = errNoCheckout
	if p.service.runner != nil {
		var name string
		var object []byte
		if name, object, err = worktree.ReadCommit(ctx, p.service.site.Root(), c.Merge.Commit); err == nil {
			err = evidence.CheckMerge(name, object, archive, key)
		}
	}
	if err != nil {
		proof.MergeFails(err)
	} else {
		proof.Merge = map[string]any{"ok": true}
	}
	return proof, ctx.Err()
}
