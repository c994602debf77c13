package boxtools

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/mcpserver"
)

// maxSeconds is how long wait_run waits at most: clients give up on a call after a minute.
const maxSeconds = 50

// told is what a client was told of a run that needs it.
type told struct {
	sequence uint64 // of the run then
	needs    []string
}

// How much is remembered of what a client was told: of so many runs, and so many replies about each.
const (
	maxToldRuns = 256
	maxTold     = 16
)

// remember notes that the client is told of all that a run needs now.
func (t *tools) remember(r api.Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, known := t.told[r.ID]
	if !known && len(t.told) >= maxToldRuns {
		clear(t.told) // those runs are told of once more
	}
	all = slices.DeleteFunc(all, func(o told) bool { return o.sequence == r.Sequence })
	all = append(all, told{r.Sequence, needs(r)})
	t.told[r.ID] = all[max(0, len(all)-maxTold):]
}

// seen is what the client knows of a run's needs: by the sequence of the reply that it saw last, or of the last one that
// there was. Of a sequence that nobody remembers it is not known: then it is nothing, unless nothing has happened since.
func (t *tools) seen(r api.Run, since uint64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.told[r.ID]
	if since == 0 && len(all) > 0 {
		return all[len(all)-1].needs
	}
	for _, o := range all {
		if o.sequence == since {
			return o.needs
		}
	}
	if since > 0 && since >= r.Sequence {
		return needs(r)
	}
	return nil
}

// needs names everything about a run that its caller should know at once: what waits for a person, and every flag that is
// more than information. A run that goes on undisturbed has none.
func needs(r api.Run) (all []string) {
	for _, q := range r.Questions {
		all = append(all, "question "+q.ID)
	}
	for _, f := range agentreply.Everything.Run(r, now(), agentformat.File{}).Flags {
		if f.Severity != agentformat.Info {
			all = append(all, "flag "+f.Name)
		}
	}
	return all
}

// errEnough ends the following of a run.
var errEnough = errors.New("enough was seen of the run")

func (t *tools) waitRun(a *mcpserver.Arguments) run {
	name, since := cmp.Or(id(a, "run"), api.LatestRun), uint64(a.Integer("since", 0))
	most := time.Duration(a.Integer("seconds", maxSeconds)) * time.Second
	return func(ctx context.Context) (mcpserver.Result, error) {
		var last api.Run
		err := t.host.With(ctx, false, func(b Box) (err error) {
			if last, err = b.Run(ctx, name); err != nil {
				return err
			}
			if !t.host.Running() { // nothing will happen: the reply says so, and nobody waits for it
				return nil
			}
			last, err = t.follow(ctx, b, last, since, most)
			return err
		})
		if err != nil {
			return mcpserver.Result{}, err
		}
		last.Notices = slices.DeleteFunc(slices.Clone(last.Notices), func(n api.Notice) bool { return n.Sequence <= since })
		return t.run(last), nil
	}
}

// follow follows a run until it has ended, or needs the client in a way that the client was not told of, or the time is over.
func (t *tools) follow(ctx context.Context, b Box, first api.Run, since uint64, most time.Duration) (last api.Run, err error) {
	last = first
	known := t.seen(first, since)
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err = b.FollowRun(waiting, first.ID, func(r api.Run) error {
		last = r
		if slices.ContainsFunc(needs(r), func(n string) bool { return !slices.Contains(known, n) }) {
			return errEnough
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return last, context.Cause(ctx)
	case errors.Is(err, errEnough), waiting.Err() != nil:
		return last, nil
	}
	return last, err
}
