package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
	"github.com/signalbox-dev/signalbox/ledger"
)

// pushFor pushes what a session has done, if a report says that a turn or the session has ended.
func (r *Remote) pushFor(ctx context.Context, session string, report api.SessionReport) error {
	if report.Kind != api.ReportTurn && report.Kind != api.ReportEnded {
		return nil
	}
	return r.push(ctx, session)
}

// push commits what lies in the worktree of a session, has the box keep that commit, and records which it is. What the box has is not pushed again.
func (r *Remote) push(ctx context.Context, session string) error {
	r.mu.Lock()
	w := r.works
	r.mu.Unlock()
	if w == nil {
		return errNoSettings
	}
	unlock, err := w.pushing.Lock(ctx, session)
	if err != nil {
		return err
	}
	defer unlock()
	k, err := r.read(session)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !k.Pushes {
		return nil
	}
	if err != nil {
		return err
	}
	pushed := delivery.Pushed{Session: session}
	pushed.Commit, err = w.Settle(ctx, k.Order)
	switch {
	case err != nil && (runner.BadWork(err) || errors.As(err, new(*worktree.StrayError))):
		pushed.Problem = w.redact.Text(err.Error())
	case err != nil:
		return fmt.Errorf("what %s has done can't be committed: %w", session, err)
	}
	var ref order.Ref
	if pushed.Commit != "" && pushed.Commit != k.Commit {
		for again := 0; ; again++ {
			k.Count++
			if err := r.keep(k, session); err != nil { // a number is used once, whatever becomes of the push
				return err
			}
			if ref, err = insist[order.Ref](ctx, r, "/v1/runner/ref", order.Push{Session: session, Number: k.Count}); err != nil {
				break
			}
			err = w.mirror.PushTo(ctx, r.remote("push", session, strconv.Itoa(k.Count)), pushed.Commit, ref.Name)
			if !errors.Is(err, worktree.ErrExists) || again == mostNumbers {
				break
			}
		}
		if final(err) || api.Gone(err) {
			r.about(k.Order).Warn("the box does not take what a session has done any more", "commit", pushed.Commit, "error", err)
			return nil
		}
		switch {
		case errors.Is(err, worktree.ErrObjects):
			pushed.Commit, pushed.Problem = "", w.redact.Text(err.Error())
		case err != nil:
			return fmt.Errorf("what %s has done can't be pushed: %w", session, err)
		}
	}
	if pushed.Problem == "" && (pushed.Commit == k.Commit || pushed.Commit == "") { // which there is if there is no worktree
		return nil
	}
	err = r.handIn(ctx, k.Subject, pushed)
	switch {
	case (removed(err) || api.Gone(err)) && ref.Name != "": // nothing is recorded
		r.about(k.Order).Info("a session was over at the box; what it left is kept there", "ref", ref.Name)
	case removed(err) || api.Gone(err):
	case err != nil && !api.Refused(err):
		return err
	}
	k.Commit = pushed.Commit
	return r.keep(k, session)
}

// mostNumbers is how many numbers in a row may be taken: a runner whose disk was put back counts anew.
const mostNumbers = 100

var errNoSettings = errors.New("the runner has no settings yet")

// conductor is the box to the runner on this machine.
type conductor struct {
	of *Remote
	w  *works
}

// HandIn hands in what came of an order, until the box has recorded it or refused it. What a session has done that has ended is pushed before; that a
// session is none of this runner's means that it was over at the box before.
func (c *conductor) HandIn(ctx context.Context, run string, in delivery.Input) error {
	switch was := in.(type) {
	case delivery.End:
		if err := c.of.push(ctx, was.Session); err != nil {
			return err
		}
		c.of.ended(c.w, was.Session, string(was.How))
		if err := c.of.handIn(ctx, run, in); !removed(err) {
			return err
		}
		return nil
	case delivery.GateRan:
		f := c.w.orders.named(was.Command)
		if f == nil {
			break
		}
		if f.printed != nil {
			if err := c.of.copyChecks(ctx, f.printed); err != nil {
				return err
			}
		}
		signed, err := c.of.sign(was, f.Order)
		if err != nil {
			return err
		}
		c.of.about(f.Order).Info("checks have ended", "passed", was.Passed)
		in = signed
	}
	return c.of.handIn(ctx, run, in)
}

// sign signs what checks came to, as the box will read it.
func (r *Remote) sign(ran delivery.GateRan, o order.Order) (delivery.GateRan, error) {
	h, err := order.WriteInput(o.Run.Subject, ran)
	if err != nil {
		return ran, err
	}
	in, err := h.Read() // a text that is not UTF-8 is another one then
	if err != nil {
		return ran, err
	}
	ran = in.(delivery.GateRan)
	if ran.Verdict() && o.Task != nil {
		s := work.Signed{Order: ran.Command}
		s.Key, s.Signature = r.o.Sign(ran.Statement(r.o.Name, o.Run.ID, o.Task).Text())
		ran.Signed = &s
	}
	return ran, nil
}

func (r *Remote) handIn(ctx context.Context, run string, in delivery.Input) error {
	h, err := order.WriteInput(run, in)
	if err != nil {
		return err
	}
	_, err = insist[struct{}](ctx, r, "/v1/runner/hand-in", h)
	if api.Refused(err) {
		r.o.Logger.Error("the box refuses for good what came of an order", "what", h.Kind, "error", err)
	}
	return err
}

// Permit refuses: work is merged at home.
func (c *conductor) Permit(context.Context, string, delivery.MergeChecked) (work.Permit, ledger.Proof, error) {
	return work.Permit{}, ledger.Proof{}, errors.New("a runner on another machine merges nothing")
}

// Report takes what a session that is dead has left to report.
func (c *conductor) Report(ctx context.Context, session string, r api.SessionReport) error {
	return c.of.report(ctx, session, r)
}

// Renew needs nothing: which sessions are in touch is said with each sign of life.
func (c *conductor) Renew(string) {}

// MachinesChanged has the box hear of this one at once.
func (c *conductor) MachinesChanged() { c.of.hurry() }

// answer does what the box asks, and tells it what came of that.
func (r *Remote) answer(ctx context.Context, w *works, c order.Call) {
	w.orders.group.Go(func(ctx context.Context) {
		a := order.Answer{ID: c.ID}
		var session string
		if c.Session != nil {
			session = c.Session.ID
		}
		var err error
		switch c.Do {
		case order.CallAgain:
			if c.Session != nil {
				err = w.Again(*c.Session)
			}
		case order.CallTurnEnded:
			w.TurnEnded(session, c.Prompt)
		case order.CallGone:
			w.Gone(session)
		case order.CallEvidence:
			a.Data, err = w.Evidence(session, c.Ref, c.Most)
		case order.CallDistrust:
			a.Text, err = w.Distrust(c.Run, session)
		case order.CallAcceptFollowed:
			err = w.AcceptFollowed()
		case order.CallLeaveFollowed:
			w.LeaveFollowed(c.Run)
		default:
			err = fmt.Errorf("this runner does not know how to %.40q", c.Do)
		}
		if err != nil {
			a.Error = w.redact.Text(err.Error())
		}
		if _, err := insist[struct{}](ctx, r, "/v1/runner/answer", a); err != nil && ctx.Err() == nil {
			r.o.Logger.Debug("an answer was not taken", "call", c.Do, "error", err)
		}
	})
}
