package service

import (
	"context"
	"errors"
	"io"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/evidence"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/web"
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

// Changes implements [web.TaskBox].
func (p pageBox) Changes(ctx context.Context, w evidence.Work, r api.Run, to io.Writer) (out web.Changed, err error) {
	if p.service.runner == nil {
		return out, errNoCheckout
	}
	changes, err := p.service.site.Changes(ctx, p.service.dir, runner.TaskWork{
		Run: r.ID, Task: w.Item.Task, Branch: r.Branch, Start: r.Base, Commit: w.Item.Commit, Base: w.Item.Base(), Onto: w.Onto, Settled: w.Settled(),
	})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, changes.Close()) }()
	out = web.Changed{Base: changes.Base, Commit: changes.Commit, Live: changes.Live, Uncommitted: changes.Uncommitted}
	if changes.Unread != nil {
		out.Unread = changes.Unread.Error()
	}
	return out, changes.Diff(ctx, worktree.Diff{}, to)
}

// Checks implements [web.TaskBox].
func (p pageBox) Checks(name string, most int64) (web.Printed, error) {
	text, from, err := p.end(runner.ChecksLog(p.service.dir, name, false), most)
	if err != nil {
		return web.Printed{}, err
	}
	return web.Printed{Parts: []web.Said{{Text: p.Ledger().Redact(string(text))}}, Cut: from > 0}, nil
}

// end reads the end of a file, so many bytes and a margin, and says where in the file that begins.
func (p pageBox) end(path string, most int64) (text []byte, from int64, err error) {
	f, info, err := opened(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	from = max(0, info.Size()-most-secretMargin)
	text, err = io.ReadAll(io.NewSectionReader(f, from, most+secretMargin))
	return text, from, err
}
