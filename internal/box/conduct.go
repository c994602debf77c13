package box

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// conductor brings a run on. It alone writes to the run's subject: it takes inputs
// one by one, records what they lead to and what is due, and sees to it that what
// should be under way outside is.
type conductor struct {
	box      *Box
	subject  string
	inputs   chan input
	moved    chan struct{}      // something happened to the run
	halts    chan chan struct{} // somebody waits for it to have looked whether it may go on
	over     chan struct{}      // closed when it has ended
	inFlight inFlight
	asked    map[string]bool // questions that somebody was told of
	telling  sync.WaitGroup  // of them
	ended    chan struct{}   // closed when the run has: nobody has to be told any more
	planning sync.Mutex      // guards plan
	plan     *plan.Plan      // nil until it was read
}

// input is something that happened, and where its outcome goes.
type input struct {
	what  delivery.Input
	reply chan error
}

// inFlight are the commands that are under way, by id.
type inFlight struct {
	mu      sync.Mutex
	due     map[string]*flight
	running sync.WaitGroup
}

// flight is a command under way.
type flight struct{ cancel context.CancelFunc }

// begin makes a conductor for a run, and starts it.
func (b *Box) begin(subject string) *conductor {
	c := &conductor{
		box: b, subject: subject, inputs: make(chan input), moved: make(chan struct{}, 1), halts: make(chan chan struct{}), over: make(chan struct{}),
		inFlight: inFlight{due: map[string]*flight{}}, asked: map[string]bool{}, ended: make(chan struct{}),
	}
	b.running.Go(func() {
		defer close(c.over)
		if err := c.run(b.ctx); err != nil && b.ctx.Err() == nil {
			b.fail(fmt.Errorf("the run %s: %w", subject, err))
		}
		c.inFlight.end()
		close(c.ended)
		c.telling.Wait()
		b.conducting.Lock()
		defer b.conducting.Unlock()
		delete(b.conductors, subject)
	})
	return c
}

// stir tells the conductor that something happened. It does not wait.
func (c *conductor) stir() {
	select {
	case c.moved <- struct{}{}:
	default:
	}
}

// tell hands an input to the conductor and returns when what it leads to is
// recorded, or why it is refused.
func (c *conductor) tell(ctx context.Context, what delivery.Input) error {
	in := input{what, make(chan error, 1)}
	select {
	case c.inputs <- in:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.over:
		return ErrStopping
	}
	select {
	case err := <-in.reply:
		return err
	case <-c.over:
	}
	select {
	case err := <-in.reply: // this was what ended the run
		return err
	default:
		return ErrStopping
	}
}

// halt returns when the conductor has seen that the box rests, and nothing is under way.
func (c *conductor) halt(ctx context.Context) {
	looked := make(chan struct{})
	select {
	case c.halts <- looked:
		within(ctx, func() { <-looked })
	case <-c.over:
	case <-ctx.Done():
		return
	}
	within(ctx, c.inFlight.running.Wait)
	within(ctx, c.telling.Wait)
}

func (c *conductor) run(ctx context.Context) error {
	if !c.box.draining() {
		if err := c.take(ctx, delivery.Unprotected{What: runner.Unprotected(c.box.config)}); err != nil {
			c.box.logger.Warn("what is not protected any more is not recorded", "run", c.subject, "error", err)
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wake, live, err := c.goOn(ctx)
		if err != nil {
			return err
		}
		if !live {
			var r delivery.Run
			c.box.state.withRun(c.subject, func(ended *delivery.Run) { r = ended.Copy() })
			c.inFlight.end()
			c.box.runner.LeaveFollowed(r.ID)
			c.box.runner.Finished(ctx, r)
			return nil
		}
		if !timer.Stop() {
			select {
			case <-timer.C:
			default:
			}
		}
		if !wake.IsZero() {
			timer.Reset(max(0, wake.Sub(c.box.now())))
		}
		select {
		case in := <-c.inputs:
			in.reply <- c.take(ctx, in.what)
		case looked := <-c.halts:
			if _, _, err := c.goOn(ctx); err != nil {
				return err
			}
			close(looked)
		case <-c.moved:
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// goOn records what is due and starts what should be under way. It returns when to
// look again, and whether the run goes on.
func (c *conductor) goOn(ctx context.Context) (wake time.Time, live bool, err error) {
	for ctx.Err() == nil && !c.box.draining() {
		var w delivery.Write
		due := false
		now := c.box.now()
		c.box.state.withRun(c.subject, func(r *delivery.Run) { w, due = r.Next(now) })
		if !due {
			break
		}
		if err := c.record(ctx, w); err != nil {
			var again conflictError
			if unsure(err) || errors.As(err, &again) { // the ledger will tell
				c.box.logger.Warn("what was due is not recorded yet", "run", c.subject, "error", err)
				return c.box.now().Add(unsurePause), true, nil
			}
			if !refused(err) {
				return wake, true, err
			}
			c.box.logger.Warn("what was due is refused", "run", c.subject, "error", err)
			break // somebody was first; what is due now will tell
		}
	}
	var commands []delivery.Command
	c.box.state.withRun(c.subject, func(r *delivery.Run) {
		wake, live = r.Wake(c.box.now()), r.Live()
		if !c.box.draining() {
			commands = r.Commands()
		}
		for i := range commands {
			commands[i] = commands[i].Copy()
		}
	})
	c.inFlight.update(ctx, c, commands)
	c.pass(ctx)
	return wake, live, nil
}

// pass passes new questions on to whoever the user wants to be told.
func (c *conductor) pass(ctx context.Context) {
	if c.box.draining() {
		return
	}
	var fresh []api.Question
	c.box.state.withRun(c.subject, func(r *delivery.Run) {
		for _, q := range r.Open() {
			if !c.asked[q.ID] {
				c.asked[q.ID] = true
				fresh = append(fresh, showQuestion(r, q))
			}
		}
	})
	for _, q := range fresh {
		c.telling.Go(func() { c.tellOf(ctx, q) })
	}
}

// take records what an input leads to. If something else happens to a subject
// between the decision and the write, it is decided again.
func (c *conductor) take(ctx context.Context, in delivery.Input) error {
	for again := 0; ; again++ {
		var writes []delivery.Write
		var err error
		now := c.box.now()
		c.box.state.withRun(c.subject, func(r *delivery.Run) { writes, err = r.Decide(in, now) })
		if err != nil || len(writes) == 0 {
			return err
		}
		for _, w := range writes {
			if err = c.record(ctx, w); err != nil {
				break
			}
		}
		switch {
		case err == nil || !refused(err):
			return err
		case again == maxAgain:
			return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
	}
}

// maxAgain is how often an input is decided again.
const maxAgain = 10

// unsure reports whether an error says that nobody knows what became of a write.
func unsure(err error) bool {
	return errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, engine.ErrUnknown) || errors.Is(err, engine.ErrNotReady)
}

const unsurePause = time.Second

// conflictError says that something else happened to the subject meanwhile: what
// was decided has to be decided again.
type conflictError struct{ error }

// refused reports whether an error is the rules' word on a write, and not trouble
// with the ledger.
func refused(err error) bool {
	var again conflictError
	var held *work.HeldError
	var role *work.RoleError
	if errors.As(err, &again) || errors.As(err, &held) || errors.As(err, &role) {
		return true
	}
	for _, e := range []error{
		work.ErrNotHolder, work.ErrSessionOver, work.ErrCompleted, work.ErrBlocked, work.ErrSamePhase, work.ErrNotPending,
		work.ErrAudited, work.ErrNotAudited, work.ErrNotBlocked,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// record records a write and returns when it is archived and folded.
func (c *conductor) record(ctx context.Context, w delivery.Write) error {
	if w.Item != "" {
		_, err := c.box.record(w.Item, keyOfCommand(w.Do), w.Do)
		return err
	}
	return c.box.recordRun(ctx, c.subject, w.Event)
}

// keyOfCommand returns the key that a command is recorded with.
func keyOfCommand(c work.Command) string {
	switch c := c.(type) {
	case work.End:
		return c.Key
	case work.Note:
		return c.Key
	}
	return ""
}

// recordRun appends an event to a run's subject.
func (b *Box) recordRun(ctx context.Context, subject string, e delivery.Event) error {
	var seq uint64
	var tip ledger.Tip // zero before the run's first event
	b.state.withRun(subject, func(r *delivery.Run) { seq, tip = r.Seq, r.Tip })
	_, stored, err := b.stamp(tip, subject, work.Event{Type: e.Type, Actor: e.Actor, Session: e.Session, Payload: e.Payload})
	if err != nil {
		return err
	}
	_, err = b.log.Append(ctx, subject, seq, stored)
	if errors.Is(err, engine.ErrConflict) || errors.Is(err, engine.ErrUnknown) {
		// The conductor is the only one who writes here, so what the state has by now is
		// what it wrote, or nothing.
		return conflictError{err}
	}
	return err
}

// update begins what is not under way yet, and ends what is not due any more.
func (f *inFlight) update(ctx context.Context, c *conductor, commands []delivery.Command) {
	f.mu.Lock()
	defer f.mu.Unlock()
	due := map[string]bool{}
	for _, cmd := range commands {
		due[cmd.ID] = true
		if f.due[cmd.ID] != nil || ctx.Err() != nil {
			continue
		}
		flying, cancel := context.WithCancel(ctx)
		own := &flight{cancel}
		f.due[cmd.ID] = own
		f.running.Go(func() { f.fly(flying, c, cmd, own) })
	}
	for id, own := range f.due {
		if !due[id] {
			own.cancel()
			delete(f.due, id)
		}
	}
}

// fly carries out a command. One that failed is forgotten after a while, so that it
// begins anew if it is still due.
func (f *inFlight) fly(ctx context.Context, c *conductor, cmd delivery.Command, own *flight) {
	err := c.carryOut(ctx, cmd)
	if err == nil || ctx.Err() != nil {
		return
	}
	c.box.logger.Warn("a command of a run was not carried out", "run", c.subject, "command", cmd.ID, "error", err)
	select {
	case <-time.After(unsurePause):
	case <-ctx.Done():
		return
	}
	f.mu.Lock()
	if f.due[cmd.ID] == own {
		delete(f.due, cmd.ID)
	}
	f.mu.Unlock()
	own.cancel()
	c.stir()
}

// within returns when a wait is over, or ctx ends.
func within(ctx context.Context, wait func()) {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// end cancels everything and waits for it.
func (f *inFlight) end() {
	f.mu.Lock()
	for _, own := range f.due {
		own.cancel()
	}
	f.mu.Unlock()
	f.running.Wait()
}
