package homelink

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Lead is what homes speak with at the box that leads.
type Lead struct {
	order.Conductor
	Mail *mailbox.Set
	Live func(run string) bool     // a run goes on, by the ledger
	Open func(session string) bool // a session of a run has not ended, by the ledger
}

// BackOptions are what the way back goes by.
type BackOptions struct {
	Lead    func() (Lead, bool)              // this box, if it leads
	Leader  func() (http.RoundTripper, bool) // carries requests to the box that leads, if that is another and is known
	Problem func(error) *api.Problem         // of the conductor's errors, as clients are told
	Logger  *slog.Logger

	beat time.Duration // order.Heartbeat if 0
}

// Conductor is, to the runner of a box, the conductor and the mail of whichever box leads. What it is told it says until the box that leads has recorded
// it, or refused it for good; if another one leads by then, to that.
type Conductor struct {
	o     BackOptions
	word  string
	group *background.Group

	mu    sync.Mutex
	lines map[string]chan struct{} // of sessions that are connected through to the box that leads, each closed when that ends
}

// NewConductor makes the way back. Whoever makes one stops it, after the runner.
func NewConductor(o BackOptions) *Conductor {
	o.beat = cmp.Or(o.beat, order.Heartbeat)
	return &Conductor{o: o, word: rand.Text(), group: background.New(context.Background()), lines: map[string]chan struct{}{}}
}

// Stop ends what nobody waits for, and returns when it has.
func (c *Conductor) Stop() { c.group.Stop() }

// Why nothing was said.
var (
	errNoLeader = errors.New("it is not known which box leads")
	errNotLead  = &api.Problem{Code: api.CodeStopping, Message: "this box does not lead: ask the one that does"}
)

// later reports whether what has failed with an error can be taken when it is said again, to this box's conductor or to another's.
func later(p *api.Problem) bool {
	switch p.Code {
	case api.CodeStopping, api.CodeUnknown, api.CodeNoLeader, api.CodeCannotWrite, api.CodeBusy:
		return true
	}
	return false
}

// problemOf is an error as clients are told of it.
func problemOf(problem func(error) *api.Problem, err error) *api.Problem {
	if p, is := errors.AsType[*api.Problem](err); is {
		return p
	}
	return problem(err)
}

// say says something to the box that leads until that settles it, or ctx ends.
func (c *Conductor) say(ctx context.Context, name string, q question) (answer, error) {
	return c.sayOr(ctx, name, q, func(lead Lead) (answer, error) { return leadMethods(c.o.Problem)[name](ctx, lead, q) })
}

// sayOr does the same, and says it to this box in a way of its own if this box leads.
func (c *Conductor) sayOr(ctx context.Context, name string, q question, here func(Lead) (answer, error)) (answer, error) {
	return api.Insist(ctx, func() (a answer, settled bool, err error) {
		if lead, ok := c.o.Lead(); ok {
			a, err = here(lead)
			return a, err == nil || !later(problemOf(c.o.Problem, err)), err
		}
		carrier, ok := c.o.Leader()
		if !ok {
			return a, false, errNoLeader
		}
		a, err = call(ctx, carrier, ConductorPath+name, c.word, c.o.beat, q)
		_, cut := errors.AsType[broken](err) // by who may know nothing of it
		return a, err == nil || api.Refused(err) || !cut && api.Gone(err), err
	})
}

// beside says something that nobody waits for.
func (c *Conductor) beside(limit time.Duration, name string, q question) {
	c.group.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if _, err := c.say(ctx, name, q); err != nil && c.group.Context().Err() == nil {
			c.o.Logger.Warn("the box that leads was not told", "what", name, "error", err)
		}
	})
}

// besidePatience is for how long that is said: after it, it is due again, or of no use.
const besidePatience = time.Minute

// HandIn takes what came of an order of a run, or happened to one of its sessions.
func (c *Conductor) HandIn(ctx context.Context, run string, in delivery.Input) error {
	h, err := order.WriteHomeInput(run, in)
	if err == nil {
		_, err = c.sayOr(ctx, "hand-in", question{HandedIn: &h}, func(lead Lead) (answer, error) {
			return answer{}, ended(lead, run, c.o.Problem, lead.HandIn(ctx, run, in))
		})
	}
	return err
}

// Permit records which merge is about to be made, and returns what is allowed now, with the proof of it.
func (c *Conductor) Permit(ctx context.Context, run string, merge delivery.MergeChecked) (work.Permit, ledger.Proof, error) {
	a, err := c.say(ctx, "permit", question{RunNamed: run, Merge: &merge})
	if err != nil || a.Permit == nil || a.Proof == nil {
		return work.Permit{}, ledger.Proof{}, err
	}
	return *a.Permit, *a.Proof, nil
}

// Report takes what a session that is dead has left to report.
func (c *Conductor) Report(ctx context.Context, session string, r api.SessionReport) error {
	_, err := c.say(ctx, "report", question{Of: session, Report: &r})
	return err
}

// Renew lets the lease of a session go on that is in touch. It does not wait.
func (c *Conductor) Renew(session string) {
	if lead, ok := c.o.Lead(); ok {
		lead.Renew(session)
		return
	}
	c.beside(besidePatience, "renew", question{Of: session})
}

// MachinesChanged says that other machines are there than before. It does not wait.
func (c *Conductor) MachinesChanged() {
	if lead, ok := c.o.Lead(); ok {
		lead.MachinesChanged()
		return
	}
	c.beside(besidePatience, "machines-changed", question{})
}

// Send says something to a session. It goes into the mailbox of the box that leads, where the session's stream ends.
func (c *Conductor) Send(session string, command api.SessionCommand, delivered func()) {
	if lead, ok := c.o.Lead(); ok {
		lead.Mail.Send(session, command, delivered)
		return
	}
	c.group.Go(func(ctx context.Context) {
		_, err := c.say(ctx, "mail", question{Mail: &order.Mail{Session: session, Command: command}})
		switch {
		case err != nil && ctx.Err() == nil:
			c.o.Logger.Warn("a session was not told", "session", session, "command", command.ID, "error", err)
		case err == nil && delivered != nil:
			delivered()
		}
	})
}

// Connected reports whether a session is in touch with the box that leads, and returns a channel that is closed when that ends.
func (c *Conductor) Connected(session string) (bool, <-chan struct{}) {
	if lead, ok := c.o.Lead(); ok {
		return lead.Mail.Connected(session)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	lost := c.lines[session]
	return lost != nil, lost
}

// Through notes that a session's stream of commands is passed on from this box to the one that leads, until end is called.
func (c *Conductor) Through(session string) (end func()) {
	lost := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines[session] = lost
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(lost)
		if c.lines[session] == lost {
			delete(c.lines, session)
		}
	})
}

// Forget drops a session that has ended, if this box leads. Another one does so itself.
func (c *Conductor) Forget(session string) {
	if lead, ok := c.o.Lead(); ok {
		lead.Mail.Forget(session)
	}
}

// ServeConductor returns what hands to the conductor of this box, if it leads, what is said by a [Conductor] of another, below [ConductorPath]. Its requests may be
// [MaxBody] long.
func ServeConductor(lead func() (Lead, bool), problem func(error) *api.Problem, l *slog.Logger) http.Handler {
	methods := map[string]method{}
	for name, do := range leadMethods(problem) {
		methods[name] = func(ctx context.Context, q question) (answer, error) {
			now, ok := lead()
			if !ok {
				return answer{}, errNotLead
			}
			a, err := do(ctx, now, q)
			if err != nil {
				err = problemOf(problem, err)
			}
			return a, err
		}
	}
	return newServer(methods, false, l)
}

// leadMethod carries out at the box that leads what a home says.
type leadMethod func(ctx context.Context, lead Lead, q question) (answer, error)

// leadMethods are those methods.
func leadMethods(problem func(error) *api.Problem) map[string]leadMethod {
	return map[string]leadMethod{
		"hand-in": func(ctx context.Context, lead Lead, q question) (answer, error) {
			if q.HandedIn == nil {
				return answer{}, unread(errNoQuestion)
			}
			in, err := q.HandedIn.ReadHome()
			if err != nil {
				return answer{}, unread(err)
			}
			return answer{}, ended(lead, q.HandedIn.Run, problem, lead.HandIn(ctx, q.HandedIn.Run, in))
		},
		"permit": func(ctx context.Context, lead Lead, q question) (answer, error) {
			if q.Merge == nil {
				return answer{}, unread(errNoQuestion)
			}
			permit, proof, err := lead.Permit(ctx, q.RunNamed, *q.Merge)
			return answer{Permit: &permit, Proof: &proof}, ended(lead, q.RunNamed, problem, err)
		},
		"report": func(ctx context.Context, lead Lead, q question) (answer, error) {
			if q.Report == nil {
				return answer{}, unread(errNoQuestion)
			}
			return answer{}, lead.Report(ctx, q.Of, *q.Report)
		},
		"renew": func(_ context.Context, lead Lead, q question) (answer, error) {
			lead.Renew(q.Of)
			return answer{}, nil
		},
		"machines-changed": func(_ context.Context, lead Lead, _ question) (answer, error) {
			lead.MachinesChanged()
			return answer{}, nil
		},
		"mail": mail,
	}
}

// unread refuses for good what can't be read.
func unread(err error) error { return &api.Problem{Code: api.CodeInvalid, Message: err.Error()} }

// ended refuses for good what nobody takes because its run has ended, and not because who brings it on is about to begin.
func ended(lead Lead, run string, problem func(error) *api.Problem, err error) error {
	if err != nil && problemOf(problem, err).Code == api.CodeStopping && !lead.Live(run) {
		return &api.Problem{Code: api.CodeGone, Message: "the run has ended, or is none of this ledger"}
	}
	return err
}

// mail says something to a session, and returns when it was written. A session that has ended is told nothing, and forgotten.
func mail(ctx context.Context, lead Lead, q question) (answer, error) {
	if q.Mail == nil {
		return answer{}, unread(errNoQuestion)
	}
	session, out := q.Mail.Session, make(chan struct{}, 1)
	lead.Mail.Send(session, q.Mail.Command, func() {
		select {
		case out <- struct{}{}:
		default:
		}
	})
	if !lead.Open(session) { // after it: it may have ended, and been forgotten, meanwhile
		lead.Mail.Forget(session)
		return answer{}, &api.Problem{Code: api.CodeGone, Message: "the session has ended"}
	}
	select {
	case <-out:
		return answer{}, nil
	case <-time.After(mailPatience):
		return answer{}, &api.Problem{Code: api.CodeBusy, Message: "the session is not in touch: it is told when it is"}
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}

// mailPatience is for how long what is said to a session may wait at once.
const mailPatience = 20 * time.Second
