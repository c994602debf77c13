package runner

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/prompt"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/internal/session"
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
func (x *Runner) supervise(ctx context.Context, o order.Order) error {
	s := *o.Session
	how, err := x.start(ctx, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		err = x.tell(ctx, o, delivery.End{Session: s.ID, Ended: delivery.Ended{How: how, Detail: x.redact(err.Error())}})
		if err == nil { // otherwise the order is given again, and needs what was made ready
			x.leaveReview(s.ID)
		}
		return err
	}
	x.turnIs(s)
	return x.stay(ctx, o, x.turnsEnd(s))
}

// start starts a session that was never started. If that fails, it says how.
func (x *Runner) start(ctx context.Context, o order.Order) (delivery.How, error) {
	s := *o.Session
	unlock, err := x.starting.Lock(ctx, s.ID)
	if err != nil {
		return "", err
	}
	defer unlock()
	dir := x.sessionDir(s.ID)
	if ctx.Err() != nil || session.Ran(dir) || session.Alive(dir) {
		return "", ctx.Err()
	}
	if _, err := session.Read(dir); err != nil { // not prepared before by a box that was killed
		if err := x.prepare(ctx, o); err != nil {
			return delivery.Broken, err
		}
	}
	if err := x.trust(ctx, o); err != nil {
		if errors.Is(err, errDistrust) {
			return delivery.Stopped, err
		}
		return delivery.Broken, err
	}
	if _, err := session.Start(ctx, x.program, dir, s.ID); err != nil && !session.Ran(dir) {
		return delivery.Crashed, err
	}
	return "", nil
}

// stay returns when a session's process is gone and all that it had to report is
// recorded. One that is still there at a time that end names, if any, is killed then.
func (x *Runner) stay(ctx context.Context, o order.Order, end func() time.Time) error {
	s := *o.Session
	dir := x.sessionDir(s.ID)
	killed := delivery.Ended{How: delivery.Crashed, Detail: "the session's process was killed"}
	for session.Alive(dir) {
		in, lost := x.mail.Connected(s.ID)
		wait := lookAgain
		if in {
			wait = renewEvery
			x.conductor.Renew(s.ID)
		}
		if by := end(); !by.IsZero() {
			left := by.Sub(x.now())
			if wait = min(wait, left); left <= 0 {
				x.logger.Warn("a session does not end, and is killed", "session", s.ID)
				killed = delivery.Ended{How: delivery.TimedOut, Detail: "the session's process did not end in time, and was killed"}
				if err := session.Kill(dir, s.ID); err != nil {
					return x.collect(ctx, o, x.besides(s.ID, killed, err))
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
	return x.collect(ctx, o, killed)
}

// turn is what a session is at: the prompt that began it, "" for the first one, and since when.
type turn struct {
	prompt string
	began  time.Time
}

// turnBegins notes that a session is at a turn, or is about to be told of it.
func (x *Runner) turnBegins(session, prompt string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.turns[session] = turn{prompt, x.now()}
}

// turnIs notes at which turn a session is, as the run has it. If it is at none, one that ended while another box led is over here too: that box may
// have had no time to say so.
func (x *Runner) turnIs(s delivery.Session) {
	switch {
	case s.Busy() && s.Prompt != nil:
		x.turnBegins(s.ID, s.Prompt.ID)
	case s.Busy():
		x.turnBegins(s.ID, "")
	case s.Prompt == nil || s.Prompt.Delivered: // another prompt begins a turn when it is out
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.turns, s.ID)
	}
}

// TurnEnded notes that the turn of a session has ended that a prompt began.
func (x *Runner) TurnEnded(session, prompt string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.turns[session].prompt == prompt {
		delete(x.turns, session)
	}
}

// turnsEnd returns what tells by when the turn of a session has to have ended, or a prompt to have reached it, if
// there is one. The session sees to it itself, unless its process is stopped: an agent without a sandbox
// can do that.
func (x *Runner) turnsEnd(s delivery.Session) func() time.Time {
	longest := x.config.Role(s.Role).WallClock + x.config.Limits.Grace
	if spec, err := session.Read(x.sessionDir(s.ID)); err == nil { // by the settings that it was started with
		longest = time.Duration(spec.WallClock + spec.Grace)
	}
	longest += endPatience
	return func() time.Time {
		x.mu.Lock()
		defer x.mu.Unlock()
		at, ok := x.turns[s.ID]
		if !ok {
			return time.Time{}
		}
		return at.began.Add(longest)
	}
}

// collect takes what a session whose process is gone has left behind. If it left no word of its end, it
// ended as is given.
func (x *Runner) collect(ctx context.Context, o order.Order, ended delivery.Ended) error {
	s := *o.Session
	dir := x.sessionDir(s.ID)
	if err := session.Clean(dir, s.ID); err != nil {
		ended = x.besides(s.ID, ended, err)
	}
	err := session.HandIn(dir, x.logger.With("session", s.ID), func(r api.SessionReport) error {
		return x.conductor.Report(ctx, s.ID, r)
	})
	if errors.Is(err, session.ErrDirectory) {
		ended, err = x.besides(s.ID, ended, err), nil
	}
	if err != nil {
		return err
	}
	err = x.tell(ctx, o, delivery.End{Session: s.ID, Ended: ended})
	x.Gone(s.ID)
	return err
}

// besides is an end of a session with something more to say of it: its directory is not as it was left. An
// agent without a sandbox can do that, and nothing comes of trying again.
func (x *Runner) besides(name string, ended delivery.Ended, err error) delivery.Ended {
	x.logger.Error("what is left of a session is not as it should be", "session", name, "error", safetext.Escape(err.Error()))
	ended.Detail = x.redact(ended.Detail + "; " + err.Error())
	return ended
}

// Evidence reads a file that a session's agent names in the worktree that it works in.
func (x *Runner) Evidence(name, ref string, most int64) ([]byte, error) {
	spec, err := session.Read(x.sessionDir(name))
	if err != nil {
		return nil, err
	}
	hidden, err := x.hidden()
	if err != nil {
		return nil, err
	}
	return regular.ReadBelow(spec.Dir, ref, most, append(hidden, filepath.Join(spec.Dir, ".git"))...)
}

// Gone forgets a session that has ended.
func (x *Runner) Gone(session string) {
	x.leaveReview(session)
	x.mail.Forget(session)
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.turns, session)
}

// endPatience is for how long a session that is told to end may take, besides the time
// that its agent has.
const endPatience = 15 * time.Second

// end tells a session to end, and stays until it has.
func (x *Runner) end(ctx context.Context, o order.Order) error {
	s := *o.Session
	dir := x.sessionDir(s.ID)
	unlock, err := x.starting.Lock(ctx, s.ID)
	if err != nil {
		return err
	}
	never := !session.Ran(dir) && !session.Alive(dir)
	unlock()
	if never {
		x.leaveReview(s.ID) // made, and not started
		return x.tell(ctx, o, delivery.End{Session: s.ID, Ended: delivery.Ended{How: delivery.Stopped, Detail: s.Over}})
	}
	x.mail.Send(s.ID, api.SessionCommand{ID: "end/" + s.ID, Kind: api.CommandEnd, Reason: s.Over}, nil)
	by := x.now().Add(x.config.Limits.Grace + endPatience)
	return x.stay(ctx, o, func() time.Time { return by })
}

// EndAll returns when no session of a directory runs any more, and nothing of its agent: each was told to end, and who does not in time is
// killed; all are at once if ctx ends. It returns the sessions that there were. No runner works there meanwhile.
func EndAll(ctx context.Context, dir string) (ended []string, err error) {
	ended = sessionsThat(func(dir string) bool { return session.Alive(dir) || session.AgentLeft(dir) }, dir)
	patience := endPatience
	for _, s := range ended {
		if spec, err := session.Read(SessionFiles(dir, s)); err == nil {
			patience = max(patience, endPatience+time.Duration(spec.Grace))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for ctx.Err() == nil && len(sessionsThat(session.Alive, dir)) > 0 {
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
	}
	for _, s := range ended {
		its := SessionFiles(dir, s)
		err = errors.Join(err, session.Kill(its, s), session.Clean(its, s))
	}
	return ended, err
}

// further makes the command that prompts a session in the same conversation.
func (x *Runner) further(s delivery.Session) (api.SessionCommand, error) {
	spec, err := session.Read(x.sessionDir(s.ID))
	if err != nil {
		return api.SessionCommand{}, err
	}
	text, err := prompt.Further(*s.Prompt, s.Role, prompt.Voice{Subject: spec.Task, Nonce: spec.Nonce, Exit: x.exits(s), Own: x.own, Helps: !s.Holds()})
	return api.SessionCommand{ID: s.Prompt.ID, Kind: api.CommandPrompt, Text: text, AnswerMS: s.Prompt.Answer.Milliseconds()}, err
}

// Again says to a session once more what it was told and has not answered: it may have been lost on the
// way. The session knows it by its id.
func (x *Runner) Again(s delivery.Session) error {
	command, err := x.further(s)
	if err == nil {
		x.mail.Send(s.ID, command, nil)
	}
	return err
}

// prompt says something to a session in the same conversation.
func (x *Runner) prompt(ctx context.Context, o order.Order) error {
	s := *o.Session
	command, err := x.further(s)
	if err != nil { // it will never be told
		return errors.Join(err, session.Kill(x.sessionDir(s.ID), s.ID))
	}
	x.turnBegins(s.ID, s.Prompt.ID)
	out := make(chan struct{}, 1)
	x.mail.Send(s.ID, command, func() {
		select {
		case out <- struct{}{}:
		default:
		}
	})
	select {
	case <-out:
		x.turnBegins(s.ID, s.Prompt.ID)
		return x.tell(ctx, o, delivery.Prompted{Session: s.ID, Prompt: s.Prompt.ID})
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Look looks whether the user's checkout, or a run's branch, was changed while a session ran. The next
// agent on the task does not wait for it; the task's merge does. Nothing is said of the plan, which people change to amend the run.
func (x *Runner) Look(run, branch, session, task, plan string) (recorded <-chan struct{}) {
	ended, done := x.touched.begin()
	if !x.group.Go(func(ctx context.Context) {
		defer done()
		looking, cancel := context.WithTimeout(ctx, lookPatience)
		defer cancel()
		x.changed(ctx, run, session, task, append(x.touched.look(looking, plan), x.astray(looking, branch)...))
	}) {
		done()
	}
	return ended
}

// lookPatience is for how long the user's checkout is looked at.
const lookPatience = time.Minute

// changed records what somebody did outside of the worktrees, if anything.
func (x *Runner) changed(ctx context.Context, run, session, task string, what []string) {
	if len(what) == 0 {
		return
	}
	in := delivery.Touched{Session: session, Task: task, Text: x.redact(strings.Join(what, "; "))}
	if err := x.conductor.HandIn(ctx, run, in); err != nil && ctx.Err() == nil {
		x.logger.Warn("a change outside of the worktrees was not recorded", "error", err)
	}
}
