package box

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/session"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

// How often a session that is out of touch is looked for, and how often the lease
// of one that is in touch is renewed.
const (
	lookAgain  = 200 * time.Millisecond
	renewEvery = 3 * time.Minute
)

// supervise starts a session, if it has not been started, and stays with it until its
// process is gone.
func (d *deliverer) supervise(ctx context.Context, c *conductor, s delivery.Session) error {
	how, err := d.start(ctx, c, s)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return c.tell(ctx, delivery.End{Session: s.ID, Ended: delivery.Ended{How: how, Detail: d.box.redact.Text(err.Error())}})
	}
	return d.stay(ctx, c, s, d.turnsEnd(c, s))
}

// start starts a session that was never started. If that fails, it says how.
func (d *deliverer) start(ctx context.Context, c *conductor, s delivery.Session) (delivery.How, error) {
	unlock, err := d.starting.lock(ctx, s.ID)
	if err != nil {
		return "", err
	}
	defer unlock()
	dir := d.box.sessionDir(s.ID)
	if ctx.Err() != nil || session.Ran(dir) || session.Alive(dir) {
		return "", ctx.Err()
	}
	if _, err := session.Read(dir); err != nil { // not prepared before by a box that was killed
		if err := d.prepare(ctx, c, s); err != nil {
			return delivery.Broken, err
		}
	}
	if err := d.trust(ctx, c, s); err != nil {
		d.leaveReview(s.ID)
		if errors.Is(err, errDistrust) {
			return delivery.Stopped, err
		}
		return delivery.Broken, err
	}
	if _, err := session.Start(ctx, d.program, dir, s.ID); err != nil && !session.Ran(dir) {
		return delivery.Crashed, err
	}
	return "", nil
}

// stay returns when a session's process is gone and all that it had to report is
// recorded. One that is still there at a time that end names, if any, is killed then.
func (d *deliverer) stay(ctx context.Context, c *conductor, s delivery.Session, end func() time.Time) error {
	dir := d.box.sessionDir(s.ID)
	killed := delivery.Ended{How: delivery.Crashed, Detail: "the session's process was killed"}
	for session.Alive(dir) {
		in, lost := d.box.mail.connected(s.ID)
		wait := lookAgain
		if in {
			wait = renewEvery
			d.renew(s.ID)
		}
		if by := end(); !by.IsZero() {
			left := by.Sub(d.box.now())
			if wait = min(wait, left); left <= 0 {
				d.box.logger.Warn("a session does not end, and is killed", "session", s.ID)
				killed = delivery.Ended{How: delivery.TimedOut, Detail: "the session's process did not end in time, and was killed"}
				if err := session.Kill(dir, s.ID); err != nil {
					return d.collect(ctx, c, s, d.besides(s.ID, killed, err))
				}
				continue
			}
		}
		select {
		case <-lost:
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return d.collect(ctx, c, s, killed)
}

// turnsEnd returns what tells by when the turn of a session has to have ended, or a prompt to have reached it, if
// there is one. The session sees to it itself, unless its process is stopped: an agent without a sandbox
// can do that.
func (d *deliverer) turnsEnd(c *conductor, s delivery.Session) func() time.Time {
	longest := d.config.Role(s.Role).WallClock + d.config.Limits.Grace
	if spec, err := session.Read(d.box.sessionDir(s.ID)); err == nil { // by the settings that it was started with
		longest = time.Duration(spec.WallClock + spec.Grace)
	}
	longest += endPatience
	last, began := "", time.Time{}
	return func() time.Time {
		at := "" // what the session is at
		d.box.state.withRun(c.subject, func(r *delivery.Run) {
			switch live := r.Sessions[s.ID]; {
			case live == nil:
			case live.Busy():
				at = fmt.Sprint("turn ", live.Turn)
			case live.Prompt != nil && !live.Prompt.Delivered:
				at = "prompt " + live.Prompt.ID
			}
		})
		if at != last {
			last, began = at, d.box.now()
		}
		if at == "" {
			return time.Time{}
		}
		return began.Add(longest)
	}
}

// renew lets the lease of a session that is in touch go on.
func (d *deliverer) renew(name string) {
	if subject, token, err := work.ParseSession(name); err == nil {
		_, _ = d.box.state.renew(subject, token) // one that has ended is dealt with elsewhere
	}
}

// collect takes what a session whose process is gone has left behind. If it left no word of its end, it
// ended as is given.
func (d *deliverer) collect(ctx context.Context, c *conductor, s delivery.Session, ended delivery.Ended) error {
	dir := d.box.sessionDir(s.ID)
	if err := session.Clean(dir, s.ID); err != nil {
		ended = d.besides(s.ID, ended, err)
	}
	err := session.HandIn(dir, d.box.logger.With("session", s.ID), func(r api.SessionReport) error {
		return asAnswered(d.box.takeReport(ctx, c, s.ID, r))
	})
	if errors.Is(err, session.ErrDirectory) {
		ended, err = d.besides(s.ID, ended, err), nil
	}
	if err != nil {
		return err
	}
	err = c.tell(ctx, delivery.End{Session: s.ID, Ended: ended})
	d.gone(s.ID)
	return err
}

// besides is an end of a session with something more to say of it: its directory is not as it was left. An
// agent without a sandbox can do that, and nothing comes of trying again.
func (d *deliverer) besides(name string, ended delivery.Ended, err error) delivery.Ended {
	d.box.logger.Error("what is left of a session is not as it should be", "session", name, "error", safetext.Escape(err.Error()))
	ended.Detail = d.box.short(ended.Detail + "; " + err.Error())
	return ended
}

// gone forgets a session that has ended.
func (d *deliverer) gone(name string) {
	d.leaveReview(name)
	d.box.mail.forget(name)
}

// forgetEnded forgets what there was to say to a session, if it has ended. Whoever says something
// to a session calls it afterwards: the session may have ended, and been forgotten, just before.
func (d *deliverer) forgetEnded(c *conductor, name string) {
	if !c.knows(name) {
		d.box.mail.forget(name)
	}
}

// endPatience is for how long a session that is told to end may take, besides the time
// that its agent has.
const endPatience = 15 * time.Second

// end tells a session to end, and stays until it has.
func (d *deliverer) end(ctx context.Context, c *conductor, s delivery.Session) error {
	dir := d.box.sessionDir(s.ID)
	unlock, err := d.starting.lock(ctx, s.ID)
	if err != nil {
		return err
	}
	never := !session.Ran(dir) && !session.Alive(dir)
	unlock()
	if never {
		d.leaveReview(s.ID) // made, and not started
		return c.tell(ctx, delivery.End{Session: s.ID, Ended: delivery.Ended{How: delivery.Stopped, Detail: s.Over}})
	}
	d.box.mail.send(s.ID, api.SessionCommand{ID: "end/" + s.ID, Kind: api.CommandEnd, Reason: s.Over}, nil)
	by := d.box.now().Add(d.config.Limits.Grace + endPatience)
	return d.stay(ctx, c, s, func() time.Time { return by })
}

// further makes the command that prompts a session in the same conversation.
func (d *deliverer) further(s delivery.Session) (api.SessionCommand, error) {
	spec, err := session.Read(d.box.sessionDir(s.ID))
	if err != nil {
		return api.SessionCommand{}, err
	}
	text, err := prompt.Further(*s.Prompt, s.Role, prompt.Voice{Subject: spec.Task, Nonce: spec.Nonce, Exit: d.exits(s)})
	return api.SessionCommand{ID: s.Prompt.ID, Kind: api.CommandPrompt, Text: text, AnswerMS: s.Prompt.Answer.Milliseconds()}, err
}

// back is called when a session has connected. What it was told and has not answered
// may have been lost on the way: it is told again, and knows it by its id.
func (d *deliverer) back(c *conductor, name string) error {
	var s delivery.Session
	d.box.state.withRun(c.subject, func(r *delivery.Run) {
		if live := r.Sessions[name]; live != nil && live.Prompt != nil && live.Prompt.Delivered && live.Over == "" {
			s = *delivery.Command{Session: live}.Copy().Session
		}
	})
	if s.Prompt == nil {
		return nil
	}
	command, err := d.further(s)
	if err == nil {
		d.box.mail.send(name, command, nil)
	}
	return err
}

// prompt says something to a session in the same conversation.
func (d *deliverer) prompt(ctx context.Context, c *conductor, s delivery.Session) error {
	command, err := d.further(s)
	if err != nil { // it will never be told
		return errors.Join(err, session.Kill(d.box.sessionDir(s.ID), s.ID))
	}
	out := make(chan struct{}, 1)
	d.box.mail.send(s.ID, command, func() {
		select {
		case out <- struct{}{}:
		default:
		}
	})
	select {
	case <-out:
		return c.tell(ctx, delivery.Prompted{Session: s.ID, Prompt: s.Prompt.ID})
	case <-ctx.Done():
		return ctx.Err()
	}
}

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
		b.mail.answered(name, r.Prompt, false)
		in, err := b.turn(name, r)
		if err == nil {
			err = b.deliverer.trustWord(ctx, c, name)
		}
		if err != nil {
			return err
		}
		return c.tell(ctx, in)
	case api.ReportNote:
		if r.Prompt != "" && len(r.Signals) == 0 {
			b.mail.answered(name, r.Prompt, !r.NoAnswer)
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
			b.deliverer.gone(name)
		}
		return err
	}
	return badRequest{fmt.Errorf("a report is a turn, a note or the end, not %q", r.Kind)}
}

func (b *Box) sessionEnded(ctx context.Context, c *conductor, name string, r api.SessionReport) error {
	looked := b.deliverer.left(c, name)
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

// left looks whether the user's checkout was changed while a session ran. The next
// agent on the task does not wait for it; the task's merge does.
func (d *deliverer) left(c *conductor, name string) (recorded <-chan struct{}) {
	task, branch := "", ""
	d.box.state.withRun(c.subject, func(r *delivery.Run) {
		branch = r.Branch
		if s := r.Sessions[name]; s != nil {
			task = s.Task
		}
	})
	ended, done := d.touched.begin()
	d.box.running.Go(func() {
		defer done()
		ctx, cancel := context.WithTimeout(d.box.ctx, lookPatience)
		defer cancel()
		d.changed(ctx, c, name, task, append(d.touched.look(ctx), d.astray(ctx, branch)...))
	})
	return ended
}

// lookPatience is for how long the user's checkout is looked at.
const lookPatience = time.Minute

// changed records what somebody did outside of the worktrees, if anything.
func (d *deliverer) changed(ctx context.Context, c *conductor, session, task string, what []string) {
	if len(what) == 0 {
		return
	}
	in := delivery.Touched{Session: session, Task: task, Text: d.box.redact.Text(strings.Join(what, "; "))}
	if err := c.tell(ctx, in); err != nil && ctx.Err() == nil {
		d.box.logger.Warn("a change outside of the worktrees was not recorded", "error", err)
	}
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
	b.conducting.Lock()
	c := b.conductors[run]
	b.conducting.Unlock()
	if c != nil {
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
