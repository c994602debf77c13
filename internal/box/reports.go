package box

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// takeReport records what a session reports. One that was recorded before leads to
// nothing.
func (b *Box) takeReport(ctx context.Context, c *conductor, name string, r api.SessionReport) error {
	if err := r.Check(); err != nil {
		return badRequest{err}
	}
	if r.Denied != "" {
		if err := c.tell(ctx, delivery.Denied{Session: name, Report: r.Seq, Text: b.short(r.Denied)}); err != nil || r.Kind == api.ReportNote {
			return err
		}
	}
	switch r.Kind {
	case api.ReportTurn:
		b.mail.Answered(name, r.Prompt, false)
		in, err := b.turn(name, r)
		if err == nil {
			err = c.trustWord(ctx, name)
		}
		if err == nil {
			err = c.tell(ctx, in)
		}
		if err == nil {
			b.runner.TurnEnded(name, r.Prompt)
		}
		return err
	case api.ReportNote:
		if r.Prompt != "" && len(r.Signals) == 0 {
			b.mail.Answered(name, r.Prompt, !r.NoAnswer)
			return nil
		}
		for _, said := range r.Signals {
			_, about, err := b.hear(said)
			if err != nil {
				return err
			}
			note := delivery.Note{Session: name, Report: r.Seq, Said: about, Key: fmt.Sprintf("note/%s/%d", name, r.Seq)}
			if err := c.tell(ctx, note); err != nil {
				return err
			}
		}
		return nil
	case api.ReportEnded:
		err := b.sessionEnded(ctx, c, name, r)
		if err == nil {
			b.runner.Gone(name)
		}
		return err
	}
	return badRequest{fmt.Errorf("a report is a turn, a note or the end, not %q", r.Kind)}
}

func (b *Box) sessionEnded(ctx context.Context, c *conductor, name string, r api.SessionReport) error {
	looked := c.look(name)
	if !c.goesOn(name) { // this may be the last that happens to the run
		select {
		case <-looked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return c.tell(ctx, delivery.End{Session: name, Ended: delivery.Ended{
		How: delivery.How(r.How), Detail: b.short(r.Detail), ResetAt: r.ResetAt, Bytes: r.Bytes, SHA256: r.SHA256,
		Usage: r.Usage,
	}})
}

// turn reads what a session reports of a turn.
func (b *Box) turn(name string, r api.SessionReport) (delivery.Turn, error) {
	in := delivery.Turn{
		Session: name, Turn: r.Turn, Verdict: r.Verdict, Preview: b.redact.Text(r.Preview), NoAnswer: r.NoAnswer,
		Key: fmt.Sprintf("turn/%s/%d", name, r.Turn),
	}
	for _, m := range r.NearMisses {
		in.NearMisses = append(in.NearMisses, delivery.NearMiss{Line: m.Line, Kind: m.Kind, Reason: m.Reason})
	}
	for _, said := range r.Signals {
		signal, about, err := b.hear(said)
		if err != nil {
			return in, err
		}
		if signal.Kind == r.Verdict && in.Signal.Kind == "" {
			in.Signal, in.Said = signal, about
		}
	}
	if in.Signal.Kind == agentsig.KindExit && !b.exitEnabled {
		in.Verdict, in.Signal, in.Said = agentsig.KindUnknown, agentsig.Signal{}, work.Said{}
	}
	if in.Signal.Kind == "" && r.Verdict != agentsig.KindAmbiguous {
		in.Verdict = agentsig.KindUnknown
	}
	return in, nil
}

// hear reads a signal that a session passes on, and makes of it what is recorded.
func (b *Box) hear(said api.SaidSignal) (agentsig.Signal, work.Said, error) {
	text := b.redact.Text(said.Wire)
	found, err := agentsig.Scan(strings.NewReader(text), agentsig.Options{Hosts: b.hosts})
	if err != nil {
		return agentsig.Signal{}, work.Said{}, err
	}
	for _, f := range found.Findings {
		if f.Outcome != agentsig.Accepted {
			continue
		}
		f.Span.Offset, f.Span.Length, f.Span.Line = said.Offset, said.Length, said.Line
		if sum, err := hex.DecodeString(said.SHA256); err == nil && len(sum) == len(f.Span.SHA256) {
			copy(f.Span.SHA256[:], sum)
		}
		signal := b.cleanSignal(f.Signal)
		about, err := b.said(f, []byte(text))
		if err == nil {
			signal, about, err = b.fit(signal, about, []byte(text))
		}
		return signal, about, err
	}
	return agentsig.Signal{}, work.Said{}, nil
}

// SessionReport takes what a session's process has to say.
func (b *Box) SessionReport(ctx context.Context, name string, r api.SessionReport) error {
	c, err := b.conductorOf(name)
	if err != nil {
		return err
	}
	return b.takeReport(ctx, c, name, r)
}

// conductorOf returns who conducts the run that a session belongs to.
func (b *Box) conductorOf(name string) (*conductor, error) {
	subject, _, err := work.ParseSession(name)
	if err != nil {
		return nil, err
	}
	run := cmp.Or(b.state.item(subject).Run, subject)
	if c := b.conductor(run); c != nil {
		return c, nil
	}
	open := false
	b.state.withRun(run, func(r *delivery.Run) { open = r.Live() && r.Sessions[name] != nil })
	if open {
		return nil, ErrStopping // a box that delivers plans will come; told otherwise, the session would end its agent
	}
	return nil, errSessionGone
}

// knows reports whether a session is one that has not ended.
func (c *conductor) knows(name string) bool {
	known := false
	c.box.state.withRun(c.subject, func(r *delivery.Run) { known = r.Sessions[name] != nil })
	return known
}

// goesOn reports whether there is more to come of the task that a session works on.
func (c *conductor) goesOn(name string) bool {
	more := false
	c.box.state.withRun(c.subject, func(r *delivery.Run) {
		if s := r.Sessions[name]; s != nil && r.Stopping == "" {
			t := r.Task(s.Task)
			more = t != nil && !t.Cancelled
		}
	})
	return more
}

// trustWord pauses the run when a reviewer has spoken whose program may have followed what an agent wrote: what it
// said then does not count.
func (c *conductor) trustWord(ctx context.Context, name string) error {
	run, reviews := "", false
	c.box.state.withRun(c.subject, func(r *delivery.Run) {
		if s := r.Sessions[name]; s != nil {
			run, reviews = r.ID, r.Reviews(s)
		}
	})
	if !reviews {
		return nil
	}
	reason, err := c.box.runner.Distrust(run)
	if err != nil || reason == "" {
		return err
	}
	return c.tell(ctx, delivery.Distrust{Session: name, Reason: reason})
}

// look looks whether the user's checkout was changed while a session ran.
func (c *conductor) look(name string) (recorded <-chan struct{}) {
	task, branch := "", ""
	c.box.state.withRun(c.subject, func(r *delivery.Run) {
		branch = r.Branch
		if s := r.Sessions[name]; s != nil {
			task = s.Task
		}
	})
	return c.box.runner.Look(c.subject, branch, name, task)
}

// again says to a session that has connected what it was told and has not answered.
func (c *conductor) again(name string) error {
	var s *delivery.Session
	c.box.state.withRun(c.subject, func(r *delivery.Run) {
		if live := r.Sessions[name]; live != nil && live.Prompt != nil && live.Prompt.Delivered && live.Over == "" {
			s = delivery.Command{Session: live}.Copy().Session
		}
	})
	if s == nil {
		return nil
	}
	return c.box.runner.Again(*s)
}
