package remote

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/records"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// copies are the records of sessions that are copied to the box, by session.
type copies struct {
	mu  sync.Mutex
	all map[string]*copying
}

// copying is what is copied of one session, or of checks.
type copying struct {
	of     string
	checks bool

	mu      sync.Mutex // while it is copied
	sources []*records.Source
	over    bool // all was copied, or the box does not take it
}

// key is by what it is found among the copies: a session and the checks on its work have the same name.
func (c *copying) key() string {
	if c.checks {
		return "checks " + c.of
	}
	return c.of
}

// copyPause is how often it is looked whether there is more to copy.
const copyPause = time.Second

// find takes up the sessions whose records were not copied to the end.
func (c *copies) find(r *Remote) {
	entries, err := os.ReadDir(filepath.Join(r.o.Dir, ordersDir))
	if err != nil {
		r.o.Logger.Warn("what sessions said before is not copied", "error", err)
		return
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		if k, err := r.read(name); err == nil && !k.Copied {
			c.add(&copying{of: name})
		}
	}
}

// add has what one says be copied, and returns what is copied of it already, if it is.
func (c *copies) add(one *copying) *copying {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]*copying{}
	}
	if old := c.all[one.key()]; old != nil {
		return old
	}
	c.all[one.key()] = one
	return one
}

func (c *copies) list() (all []*copying) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		all = append(all, one)
	}
	return all
}

func (c *copies) drop(one *copying) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[one.key()] == one {
		delete(c.all, one.key())
	}
}

// any reports whether there is something left to copy.
func (c *copies) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all) > 0
}

// copy copies what sessions say and checks print to the box, while they do.
func (r *Remote) copy(ctx context.Context) error {
	for {
		r.mu.Lock()
		w := r.works
		r.mu.Unlock()
		for _, c := range r.copies.list() {
			if w == nil {
				break // by what secrets are known is not known yet
			}
			if err := r.copyOne(ctx, w, c); err != nil {
				r.o.Logger.Debug("what is said here was not copied", "of", c.of, "error", err)
				break // the others can't be copied either
			}
		}
		select {
		case <-time.After(copyPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// sourcesOf are what is copied of a session.
func (w *works) sourcesOf(dir string) []*records.Source {
	return []*records.Source{
		records.NewTranscript(dir, w.redact.Text), records.NewText(order.SaidStderr, filepath.Join(dir, string(order.SaidStderr)), w.redact.Text),
	}
}

// copyOne copies what is new. What a session has said to its end, or the box does not take, is not looked at again.
func (r *Remote) copyOne(ctx context.Context, w *works, c *copying) error {
	if c.checks {
		err := r.copyAll(ctx, c, false)
		if err != nil && !final(err) && !api.Refused(err) && !errors.As(err, new(unread)) {
			return err
		}
		return nil // their end is told with their result
	}
	dir := runner.SessionFiles(r.o.Dir, c.of)
	if c.sources == nil {
		c.sources = w.sourcesOf(dir)
	}
	over := w.orders.over(c.of) && !session.Alive(dir) // it began, if it ever will, and has ended
	err := r.copyAll(ctx, c, over)
	switch {
	case errors.Is(err, regular.ErrIrregular):
		r.o.Logger.Warn("what a session said is not copied: an agent has put something else in its place", "session", c.of, "error", err)
	case errors.As(err, new(unread)):
		r.o.Logger.Warn("what a session said can't be read", "session", c.of, "error", err)
		return nil
	case err != nil && (final(err) || api.Refused(err)):
		r.o.Logger.Warn("the box does not take what a session said", "session", c.of, "error", err)
	case err != nil || !over:
		return err
	}
	k, err := r.read(c.of)
	if err == nil {
		k.Copied = true
		err = r.keep(k, c.of)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.o.Logger.Warn("it is not remembered that what a session said was copied", "session", c.of, "error", err)
	}
	r.copies.drop(c)
	r.hurry()
	return nil
}

// copyingChecks has what checks print be copied while they go on; nil if an order is none for checks.
func (r *Remote) copyingChecks(w *works, o order.Order) *copying {
	if o.Do != delivery.DoGate || o.Task == nil {
		return nil
	}
	name := order.ChecksName(o.Task.Item)
	return r.copies.add(&copying{of: name, checks: true, sources: []*records.Source{
		records.NewText(order.SaidChecks, runner.ChecksLog(r.o.Dir, name, false), w.redact.Text),
	}})
}

// copyChecks copies the rest of what checks printed that have ended. Their result is handed in all the same if the box does not take it.
func (r *Remote) copyChecks(ctx context.Context, c *copying) error {
	defer r.copies.drop(c)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		err := r.copyAll(ctx, c, true)
		switch {
		case err == nil, ctx.Err() != nil:
			return ctx.Err()
		case final(err), api.Refused(err), errors.As(err, new(unread)):
			r.o.Logger.Warn("the box does not take what checks printed", "of", c.of, "error", err)
			return nil
		}
		select {
		case <-time.After(api.Jitter(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// said has the box change its copy.
func (r *Remote) said(ctx context.Context, s order.Said) error {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	_, err := api.Post[struct{}](ctx, r.box, "/v1/runner/said", s)
	return err
}

// unread says that a record could not be read.
type unread struct{ error }

func (u unread) Unwrap() error { return u.error }

// copyAll copies what is new, until nothing is. A copy that the box has no more of begins anew.
func (r *Remote) copyAll(ctx context.Context, c *copying, over bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil
	}
	for _, s := range c.sources {
		for more, again := true, 0; more; {
			changes, err := s.Next(over)
			if err != nil {
				return unread{err}
			}
			more = len(changes) > 0
			for _, change := range changes {
				err := r.said(ctx, order.Said{Of: c.of, Name: change.Name, At: change.At, Data: change.Data})
				if err == nil {
					continue
				}
				s.Anew() // what the box has made of it is not known
				if p, is := errors.AsType[*api.Problem](err); is && p.Code == api.CodeConflict && again == 0 {
					again++
					break
				}
				return err
			}
		}
	}
	c.over = over
	return nil
}
