package homelink

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/fleet"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// Own is a box's own home runner, whoever leads: an order that is given again while it is under way, as a box that leads now does not know what the
// one before has given, is under way once. The later one counts.
type Own struct {
	fleet.Home

	mu    sync.Mutex
	under map[string]*carrying // by the order's name
}

type carrying struct {
	cancel context.CancelCauseFunc
	over   chan struct{}
}

// errAgain ends an order that was given again.
var errAgain = errors.New("the order was given again, and goes on by that")

// NewOwn makes a home runner of one that carries out an order as often as it is given.
func NewOwn(h fleet.Home) *Own { return &Own{Home: h, under: map[string]*carrying{}} }

// CarryOut carries out an order, when the same that was given before has ended.
func (o *Own) CarryOut(ctx context.Context, given order.Order) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	name, own := given.Name(), &carrying{cancel, make(chan struct{})}
	defer close(own.over)
	o.mu.Lock()
	before := o.under[name]
	o.under[name] = own
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.under[name] == own {
			delete(o.under, name)
		}
	}()
	if before != nil {
		before.cancel(errAgain)
		<-before.over // which ends with its context, and after the one before it
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := o.Home.CarryOut(ctx, given)
	if err != nil && errors.Is(context.Cause(ctx), errAgain) {
		err = errAgain
	}
	return err
}

// ServeHome returns what carries out at a home what is asked by [Far], below [HomePath]. Its requests are held, and may be [MaxBody] long.
func ServeHome(h *Own, l *slog.Logger) http.Handler { return newServer(homeMethods(h), true, l) }

// homeMethods are the methods of a home, as they are asked for.
func homeMethods(h fleet.Home) map[string]method {
	return map[string]method{
		"head": func(ctx context.Context, _ question) (a answer, err error) {
			a.Text, a.Other, err = h.Head(ctx)
			return a, err
		},
		"ready":       func(context.Context, question) (answer, error) { return answer{}, h.Ready() },
		"unprotected": func(context.Context, question) (answer, error) { return answer{Texts: h.Unprotected()}, nil },
		"root":        func(context.Context, question) (answer, error) { return answer{Text: h.Root()}, nil },
		"carry-out": func(ctx context.Context, q question) (answer, error) {
			if q.Order == nil {
				return answer{}, errNoQuestion
			}
			return answer{}, h.CarryOut(ctx, *q.Order)
		},
		"free": func(ctx context.Context, q question) (a answer, err error) {
			a.Yes, err = h.Free(ctx, q.RunNamed)
			return a, err
		},
		"make-branch": func(ctx context.Context, q question) (a answer, err error) {
			a.Yes, err = h.MakeBranch(ctx, q.Branch, q.Base)
			return a, err
		},
		"begin": func(ctx context.Context, q question) (answer, error) {
			return answer{}, h.Begin(ctx, q.RunNamed, q.Branch, q.Alone)
		},
		"resume": func(ctx context.Context, q question) (answer, error) {
			return answer{}, h.Resume(ctx, q.Alone, q.Names...)
		},
		"finished": ofRun(func(ctx context.Context, q question) (answer, error) {
			h.Finished(ctx, *q.Run)
			return answer{}, nil
		}),
		"marked": func(_ context.Context, q question) (a answer, err error) {
			a.Texts, err = h.Marked(func() []string { return q.Names })
			return a, err
		},
		"unmark": func(_ context.Context, q question) (answer, error) {
			h.Unmark(q.RunNamed)
			return answer{}, nil
		},
		"records": func(ctx context.Context, _ question) (a answer, err error) {
			a.Records, err = h.Records(ctx)
			return a, err
		},
		"runs-left": func(ctx context.Context, _ question) (a answer, err error) {
			a.Texts, err = h.RunsLeft(ctx)
			return a, err
		},
		"left": ofRun(func(ctx context.Context, q question) (a answer, err error) {
			a.Left, err = h.Left(ctx, *q.Run)
			return a, err
		}),
		"homes": func(ctx context.Context, _ question) (answer, error) { return answer{Number: h.Homes(ctx)}, nil },
		"remove-record": func(_ context.Context, q question) (answer, error) {
			if q.Record == nil {
				return answer{}, errNoQuestion
			}
			return answer{}, h.RemoveRecord(*q.Record)
		},
		"discard":  ofLeft(h.Discard),
		"put-away": ofLeft(h.PutAway),
		"sight": ofRun(func(ctx context.Context, q question) (answer, error) {
			seen, err := h.Sight(ctx, *q.Run, q.Task)
			return answer{Seen: &seen}, err
		}),
		"room": ofRun(func(ctx context.Context, q question) (a answer, err error) {
			a.Text, err = h.Room(ctx, *q.Run, q.Task)
			return a, err
		}),
		"commit": ofRun(func(ctx context.Context, q question) (answer, error) {
			commit, files, err := h.Commit(ctx, *q.Run, q.Task)
			return answer{Text: commit, Number: int64(files)}, err
		}),
		"again": func(_ context.Context, q question) (answer, error) {
			if q.Session == nil {
				return answer{}, errNoQuestion
			}
			return answer{}, h.Again(*q.Session)
		},
		"turn-ended": func(_ context.Context, q question) (answer, error) {
			h.TurnEnded(q.Of, q.Prompt)
			return answer{}, nil
		},
		"gone": func(_ context.Context, q question) (answer, error) {
			h.Gone(q.Of)
			return answer{}, nil
		},
		"alive": func(context.Context, question) (answer, error) { return answer{Texts: h.Alive()}, nil },
		"evidence": func(_ context.Context, q question) (a answer, err error) {
			a.Data, err = h.Evidence(q.Of, q.Ref, q.Most)
			return a, err
		},
		"look": func(ctx context.Context, q question) (answer, error) {
			select {
			case <-h.Look(q.RunNamed, q.Branch, q.Of, q.Task, q.Plan):
				return answer{}, nil
			case <-ctx.Done():
				return answer{}, ctx.Err()
			}
		},
		"distrust": func(_ context.Context, q question) (a answer, err error) {
			a.Text, err = h.Distrust(q.RunNamed, q.Of)
			return a, err
		},
		"accept-followed": func(context.Context, question) (answer, error) { return answer{}, h.AcceptFollowed() },
		"leave-followed": func(_ context.Context, q question) (answer, error) {
			h.LeaveFollowed(q.RunNamed)
			return answer{}, nil
		},
		"share": func(ctx context.Context, q question) (a answer, err error) {
			if q.Order == nil {
				return answer{}, errNoQuestion
			}
			a.Texts, err = h.Share(ctx, *q.Order)
			return a, err
		},
		"elsewhere": func(_ context.Context, q question) (answer, error) { return answer{Text: h.Elsewhere(q.Of)}, nil },
		"record": func(_ context.Context, q question) (answer, error) {
			if q.Said == nil {
				return answer{}, errNoQuestion
			}
			return answer{}, h.Record(q.Runner, *q.Said)
		},
		"machine": func(context.Context, question) (answer, error) {
			m := h.Machine()
			return answer{Machine: &m}, nil
		},
	}
}

// ofLeft is a method that is about what is left of a run.
func ofLeft(do func(context.Context, delivery.Run, order.Left) error) method {
	return ofRun(func(ctx context.Context, q question) (answer, error) {
		if q.Left == nil {
			return answer{}, errNoQuestion
		}
		return answer{}, do(ctx, *q.Run, *q.Left)
	})
}

// errNoQuestion refuses a question that lacks what it is about.
var errNoQuestion = errors.New("what another box asks lacks what it is about")

// ofRun is a method that is about a run.
func ofRun(do method) method {
	return func(ctx context.Context, q question) (answer, error) {
		if q.Run == nil {
			return answer{}, errNoQuestion
		}
		return do(ctx, q)
	}
}
