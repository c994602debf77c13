package conductor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// takeReport records what a session reports. One that was recorded before leads to
// nothing.
func (c *Conductor) takeReport(ctx context.Context, d *decider, name string, r api.SessionReport) error {
	if err := r.Check(); err != nil {
		return box.BadRequest{Err: err}
	}
	if r.Denied != "" {
		if err := d.handIn(ctx, delivery.Denied{Session: name, Report: r.Seq, Text: c.ledger.Short(r.Denied)}); err != nil || r.Kind == api.ReportNote {
			return err
		}
	}
	switch r.Kind {
	case api.ReportTurn:
		c.mail.Answered(name, r.Prompt, false)
		in, err := c.turn(d.runner, name, r)
		if err == nil {
			err = d.trustWord(ctx, name)
		}
		if err == nil {
			err = d.handIn(ctx, in)
		}
		if err == nil {
			d.runner.TurnEnded(name, r.Prompt)
		}
		return err
	case api.ReportNote:
		if r.Forgotten != "" {
			return d.handIn(ctx, delivery.Forgotten{Session: name, Reason: c.ledger.Short(r.Forgotten)})
		}
		if r.Step != nil {
			err := d.handIn(ctx, delivery.Stepped{Session: name, Report: r.Seq, Step: r.Step.Map(c.ledger.Short)})
			if errors.Is(err, delivery.ErrSessionOver) {
				return errSessionGone
			}
			return err
		}
		if r.Prompt != "" && len(r.Signals) == 0 {
			c.mail.Answered(name, r.Prompt, !r.NoAnswer)
			return nil
		}
		if r.Usage != (delivery.Usage{}) {
			return d.handIn(ctx, delivery.Spent{Session: name, Report: r.Seq, Usage: r.Usage})
		}
		for _, said := range r.Signals {
			_, about, err := c.ledger.Hear(said)
			if err != nil {
				return err
			}
			note := delivery.Note{Session: name, Report: r.Seq, Said: about, Key: fmt.Sprintf("note/%s/%d", name, r.Seq)}
			if err := d.handIn(ctx, note); err != nil {
				return err
			}
		}
		return nil
	case api.ReportEnded:
		err := c.sessionEnded(ctx, d, name, r)
		if err == nil {
			d.runner.Gone(name)
		}
		return err
	}
	return box.BadRequest{Err: fmt.Errorf("a report is a turn, a note or the end, not %q", r.Kind)}
}

func (c *Conductor) sessionEnded(ctx context.Context, d *decider, name string, r api.SessionReport) error {
	looked := d.look(name)
	if !d.goesOn(name) { // this may be the last that happens to the run
		select {
		case <-looked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	how := delivery.How(r.How)
	if how == delivery.Lost { // who can say so itself is not
		how = delivery.Crashed
	}
	return d.handIn(ctx, delivery.End{Session: name, Ended: delivery.Ended{
		Commit: d.commitOf(ctx, name), How: how, Detail: c.ledger.Short(r.Detail), ResetAt: r.ResetAt, Bytes: r.Bytes, SHA256: r.SHA256,
		Usage: r.Usage, Budget: r.Budget, Conversation: r.Conversation,
	}})
}

// commitOf commits what a session at home has left, so that others can go on with it elsewhere, and returns the commit; nothing if
// there is home alone, or nothing to commit it for. Work of which there is no commit is gone on with at home.
func (d *decider) commitOf(ctx context.Context, name string) string {
	if d.all.machines(d.home) == nil {
		return ""
	}
	var r delivery.Run
	task := ""
	d.ledger.WithRun(d.subject, func(live *delivery.Run) {
		if s := live.Sessions[name]; s != nil && s.Runner == "" && s.Holds() && !delivery.Reviewer(s.Role) {
			r, task = live.Copy(), s.Task
		}
	})
	if task == "" {
		return ""
	}
	commit, _, err := d.runner.Commit(ctx, r, task)
	if err != nil {
		d.logger.Warn("what a session has left is not committed: others can go on with it at home alone", "run", d.subject, "session", name, "error", err)
		return ""
	}
	return commit
}

// lateWord records what a session says whose run is over. Others than runners' have said all before.
func (c *Conductor) lateWord(name string, r api.SessionReport) error {
	if r.Kind != api.ReportTurn || r.Check() != nil {
		return nil
	}
	subject, _, err := work.ParseSession(name)
	if err != nil {
		return err
	}
	run := c.ledger.RunOf(subject)
	home := c.homeOf(run)
	if c.machines(home) == nil {
		return nil
	}
	in, err := c.turn(c.at(home), name, r)
	if err != nil {
		return err
	}
	var writes []delivery.Write
	c.ledger.WithRun(run, func(run *delivery.Run) { writes, err = run.Decide(in, c.now()) })
	for _, w := range writes {
		if err == nil && w.Item != "" {
			err = c.ledger.RecordItem(w.Item, keyOfCommand(w.Do), w.Do)
		}
	}
	return err
}

// turn reads what a session reports of a turn, with the evidence that its runner has.
func (c *Conductor) turn(runner order.Runner, name string, r api.SessionReport) (delivery.Turn, error) {
	in := delivery.Turn{
		Session: name, Turn: r.Turn, Verdict: r.Verdict, Preview: c.ledger.Redact(r.Preview), NoAnswer: r.NoAnswer,
		Key: fmt.Sprintf("turn/%s/%d", name, r.Turn),
	}
	for _, m := range r.NearMisses {
		in.NearMisses = append(in.NearMisses, delivery.NearMiss{Line: m.Line, Kind: m.Kind, Reason: m.Reason})
	}
	for _, said := range r.Signals {
		signal, about, err := c.ledger.Hear(said)
		if err != nil {
			return in, err
		}
		if signal.Kind == r.Verdict && in.Signal.Kind == "" {
			in.Signal, in.Said = signal, about
		}
	}
	if x, _ := in.Signal.Exit(); x.EvidenceBundleRef != "" && c.exit {
		var err, away error
		in.Said.Evidence, err = c.ledger.KeepEvidence(func() ([]byte, error) {
			data, err := runner.Evidence(name, x.EvidenceBundleRef, box.MaxEvidence)
			if errors.Is(err, order.ErrUnreached) {
				away = err
			}
			return data, err
		})
		if err = cmp.Or(err, away); err != nil { // what is away now is said again, and read then
			return in, err
		}
	}
	if in.Signal.Kind == agentsig.KindExit && !c.exit {
		in.Verdict, in.Signal, in.Said = agentsig.KindUnknown, agentsig.Signal{}, work.Said{}
	}
	if in.Signal.Kind == "" && r.Verdict != agentsig.KindAmbiguous {
		in.Verdict = agentsig.KindUnknown
	}
	return in, nil
}

// SessionReport takes what a session's process has to say.
func (c *Conductor) SessionReport(ctx context.Context, name string, r api.SessionReport) error {
	d, err := c.deciderOf(name)
	if errors.Is(err, errSessionGone) {
		err = cmp.Or(c.lateWord(name, r), err)
	}
	if err != nil {
		return err
	}
	return c.takeReport(ctx, d, name, r)
}

// deciderOf returns who decides for the run that a session belongs to.
func (c *Conductor) deciderOf(name string) (*decider, error) {
	subject, _, err := work.ParseSession(name)
	if err != nil {
		return nil, err
	}
	run := c.ledger.RunOf(subject)
	if d := c.decider(run); d != nil {
		return d, nil
	}
	open := false
	c.ledger.WithRun(run, func(r *delivery.Run) { open = r.Live() && r.Sessions[name] != nil })
	if open {
		return nil, box.ErrStopping // a box that delivers plans will come; told otherwise, the session would end its agent
	}
	return nil, errSessionGone
}

// WorkOf returns the ids of the run and of the task that a session worked on, also if it is over, and the run's branch.
func (c *Conductor) WorkOf(session string) (run, task, branch string, err error) {
	subject, _, err := work.ParseSession(session)
	if err != nil {
		return "", "", "", err
	}
	c.ledger.WithRun(c.ledger.RunOf(subject), func(r *delivery.Run) {
		for _, t := range r.Tasks {
			if t.Item.Subject == subject {
				run, task, branch = r.ID, t.ID, r.Branch
			}
		}
	})
	if task == "" {
		return "", "", "", errSessionGone
	}
	return run, task, branch, nil
}

// knows reports whether a session is one that has not ended.
func (d *decider) knows(name string) bool {
	known := false
	d.ledger.WithRun(d.subject, func(r *delivery.Run) { known = r.Sessions[name] != nil })
	return known
}

// goesOn reports whether there is more to come of the task that a session works on.
func (d *decider) goesOn(name string) bool {
	more := false
	d.ledger.WithRun(d.subject, func(r *delivery.Run) {
		if s := r.Sessions[name]; s != nil && r.Stopping == "" {
			t := r.Task(s.Task)
			more = t != nil && !t.Cancelled
		}
	})
	return more
}

// trustWord pauses the run when a reviewer has spoken whose program may have followed what an agent wrote: what it
// said then does not count.
func (d *decider) trustWord(ctx context.Context, name string) error {
	run, reviews := "", false
	d.ledger.WithRun(d.subject, func(r *delivery.Run) {
		if s := r.Sessions[name]; s != nil {
			run, reviews = r.ID, r.Reviews(s)
		}
	})
	if !reviews {
		return nil
	}
	reason, err := d.runner.Distrust(run, name)
	if err != nil || reason == "" {
		return err
	}
	return d.handIn(ctx, delivery.Distrust{Session: name, Reason: reason})
}

// look looks whether the user's checkout was changed while a session ran.
func (d *decider) look(name string) (recorded <-chan struct{}) {
	task, branch, plan := "", "", ""
	d.ledger.WithRun(d.subject, func(r *delivery.Run) {
		branch, plan = r.Branch, r.Path
		if s := r.Sessions[name]; s != nil {
			task = s.Task
		}
	})
	return d.runner.Look(d.subject, branch, name, task, plan)
}

// again says to a session that has connected what it was told and has not answered.
func (d *decider) again(name string) error {
	var s *delivery.Session
	d.ledger.WithRun(d.subject, func(r *delivery.Run) {
		if live := r.Sessions[name]; live != nil && live.Prompt != nil && live.Prompt.Delivered && live.Over == "" {
			s = delivery.Command{Session: live}.Copy().Session
		}
	})
	if s == nil {
		return nil
	}
	return d.runner.Again(*s)
}
