package service

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// pageBox is what the page has of a service besides its API.
type pageBox struct {
	*box.Box
	service *Service
}

// Follow implements [web.Box].
func (p pageBox) Follow(ctx context.Context, after uint64, f func(uint64, []string) error) error {
	return p.Watch(ctx, after+1, func(records []engine.Record) error {
		names := make([]string, len(records))
		for i, rec := range records {
			names[i] = p.NameOf(rec.Subject)
		}
		return f(records[len(records)-1].Seq, names)
	})
}

// Looks implements [web.Box].
func (p pageBox) Looks(run string) (<-chan struct{}, func(), error) {
	w, err := p.WatchRun(run)
	if err != nil {
		return nil, nil, err
	}
	return w.Changed, w.End, nil
}

var errNoCheckout = errors.New("this box has no checkout to look into")

// Diff implements [web.Box].
func (p pageBox) Diff(ctx context.Context, s api.Sight, to io.Writer) (err error) {
	if p.service.runner == nil {
		return errNoCheckout
	}
	run, _, _ := strings.Cut(s.Work, ".")
	changes, err := p.service.site.Changes(ctx, p.service.dir, runner.TaskWork{Run: run, Task: s.Task, Commit: cmp.Or(s.Merge, s.Commit), Base: s.Base, Settled: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, changes.Close()) }()
	return changes.Diff(ctx, worktree.Diff{}, to)
}
