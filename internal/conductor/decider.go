package conductor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/order"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// decider brings a run on. It alone writes to the run's subject: it takes inputs
// one by one, records what they lead to and what is due, and sees to it that what
// should be under way outside is.
type decider struct {
	all      *Conductor
	ledger   Deciding
	runner   order.Runner
	now      func() time.Time
	logger   *slog.Logger
	subject  string
	home     string // of the run
	inputs   chan input
	moved    chan struct{}      // something happened to the run
	halts    chan chan struct{} // somebody waits for it to have looked whether it may go on
	over     chan struct{}      // closed when it has ended
	exposed  bool               // it is recorded what the settings do not protect
	inFlight inFlight
	planning sync.Mutex // guards plan
	plan     *plan.Plan // nil until it was read
	planned  string     // the digest of its text
}

// input is something that happened, and where its outcome goes.
type input struct {
	what  delivery.Input
	reply chan error
}

// begin makes a decider for a run with a home, and starts it; one that does not begin, as the conductor is stopped, has ended.
func (c *Conductor) begin(subject, home string) (d *decider, begun bool) {
	d = &decider{
		all: c, ledger: c.ledger, runner: c.at(home), now: c.now, logger: c.logger, subject: subject, home: home,
		inputs: make(chan input), moved: make(chan struct{}, 1), halts: make(chan chan struct{}), over: make(chan struct{}),
		inFlight: inFlight{due: map[string]*flight{}},
	}
	begun = c.group.Load().Go(func(ctx context.Context) {
		defer close(d.over)
		c.fail(subject, d.run(ctx))
		d.inFlight.end()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.deciders, subject)
	})
	if !begun {
		close(d.over)
	}
	return d, begun
}

// stir tells the decider that something happened. It does not wait.
func (d *decider) stir() {
	select {
	case d.moved <- struct{}{}:
	default:
	}
}

// handIn hands an input to the decider and returns when what it leads to is
// recorded, or why it is refused.
func (d *decider) handIn(ctx context.Context, what delivery.Input) error {
	in := input{what, make(chan error, 1)}
	select {
	case d.inputs <- in:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.over:
		return box.ErrStopping
	}
	select {
	case err := <-in.reply:
		return err
	case <-d.over:
	}
	select {
	case err := <-in.reply: // this was what ended the run
		return err
	default:
		return box.ErrStopping
	}
}

// halt returns when the decider has seen that nothing more is to be started, and nothing is under way.
func (d *decider) halt(ctx context.Context) {
	looked := make(chan struct{})
	select {
	case d.halts <- looked:
		within(ctx, func() { <-looked })
	case <-d.over:
	case <-ctx.Done():
		return
	}
	within(ctx, d.inFlight.running.Wait)
}

func (d *decider) run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wake, live, err := d.goOn(ctx)
		if err != nil {
			return err
		}
		if !live {
			var r delivery.Run
			d.ledger.WithRun(d.subject, func(ended *delivery.Run) { r = ended.Copy() })
			d.inFlight.end()
			d.runner.LeaveFollowed(r.ID)
			d.runner.Finished(ctx, r)
			d.all.keep(ctx)
			return nil
		}
		if !timer.Stop() {
			select {
			case <-timer.C:
			default:
			}
		}
		if !wake.IsZero() {
			timer.Reset(max(0, wake.Sub(d.now())))
		}
		select {
		case in := <-d.inputs:
			in.reply <- d.take(ctx, in.what)
			if _, ended := in.what.(delivery.End); ended && d.all.machines(d.home) != nil {
				d.all.MachinesChanged() // there is a place, maybe for another run
			}
		case looked := <-d.halts:
			if _, _, err := d.goOn(ctx); err != nil {
				return err
			}
			close(looked)
		case <-d.moved:
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// goOn records what is due and starts what should be under way. It returns when to
// look again, and whether the run goes on.
func (d *decider) goOn(ctx context.Context) (wake time.Time, live bool, err error) {
	if !d.exposed && !d.all.Draining() { // nothing goes on before it is recorded what is not protected any more
		if d.homeAway() { // which home knows: this is looked at again when home is there
			d.ledger.WithRun(d.subject, func(r *delivery.Run) { live = r.Live() })
			return wake, live, nil
		}
		switch err := d.take(ctx, delivery.Unprotected{What: d.runner.Unprotected()}); {
		case unsure(err):
			d.logger.Warn("what is not protected any more is not recorded yet", "run", d.subject, "error", err)
			return d.now().Add(unsurePause), true, nil
		case err != nil:
			return wake, true, err
		}
		d.exposed = true
	}
	for ctx.Err() == nil && !d.all.Draining() {
		var w delivery.Write
		due := false
		at := d.moment()
		d.ledger.WithRun(d.subject, func(r *delivery.Run) { w, due = r.Next(at) })
		if !due {
			break
		}
		if err := d.record(ctx, w); err != nil {
			var again box.ConflictError
			if unsure(err) || errors.As(err, &again) { // the ledger will tell
				d.logger.Warn("what was due is not recorded yet", "run", d.subject, "error", err)
				return d.now().Add(unsurePause), true, nil
			}
			if !refused(err) {
				return wake, true, err
			}
			d.logger.Warn("what was due is refused", "run", d.subject, "error", err)
			break // somebody was first; what is due now will tell
		}
	}
	var commands []delivery.Command
	at := d.moment()
	d.ledger.WithRun(d.subject, func(r *delivery.Run) {
		wake, live = r.Wake(at.Now), r.Live()
		if !d.all.Draining() {
			commands = r.Commands(at)
		}
		for i := range commands {
			commands[i] = commands[i].Copy()
		}
	})
	d.inFlight.update(ctx, d, commands)
	return wake, live, nil
}

// homeAway reports whether nothing is heard of the run's home.
func (d *decider) homeAway() bool {
	return slices.ContainsFunc(d.all.machines(d.home), func(m delivery.Machine) bool { return m.Name == "" && m.Away })
}

// moment is what there is to decide by, besides what is recorded.
func (d *decider) moment() delivery.Moment {
	return delivery.Moment{Now: d.now(), Machines: d.all.loaded(d.home), Gates: d.inFlight.gates()}
}

// take records what an input leads to. If something else happens to a subject
// between the decision and the write, it is decided again.
func (d *decider) take(ctx context.Context, in delivery.Input) error {
	for again := 0; ; again++ {
		var writes []delivery.Write
		var err error
		now := d.now()
		d.ledger.WithRun(d.subject, func(r *delivery.Run) { writes, err = r.Decide(in, now) })
		if err != nil || len(writes) == 0 {
			return err
		}
		for _, w := range writes {
			if err = d.record(ctx, w); err != nil {
				break
			}
		}
		switch {
		case err == nil || !refused(err):
			return err
		case again == maxAgain:
			return fmt.Errorf("%w: %w", box.ErrOutcomeUnknown, err)
		}
	}
}

// maxAgain is how often an input is decided again.
const maxAgain = 10

// unsure reports whether an error says that nobody knows what became of a write.
func unsure(err error) bool {
	return errors.Is(err, box.ErrOutcomeUnknown) || errors.Is(err, engine.ErrUnknown) || errors.Is(err, engine.ErrNotReady)
}

const unsurePause = time.Second

// refused reports whether an error is the rules' word on a write, and not trouble
// with the ledger.
func refused(err error) bool {
	var again box.ConflictError
	var held *work.HeldError
	var role *work.RoleError
	if errors.As(err, &again) || errors.As(err, &held) || errors.As(err, &role) {
		return true
	}
	for _, e := range []error{
		work.ErrNotHolder, work.ErrSessionOver, work.ErrCompleted, work.ErrBlocked, work.ErrSamePhase, work.ErrNotPending,
		work.ErrAudited, work.ErrNotAudited, work.ErrNotBlocked, work.ErrNotProposed, work.ErrOtherMerge, work.ErrNotApproved,
		work.ErrAuditNeeded, work.ErrNotReviewed,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// record records a write and returns when it is archived and folded. Nobody else writes to the run: if it has moved on,
// the write is recorded, whatever is known of its outcome. Decided again, some would be recorded twice.
func (d *decider) record(ctx context.Context, w delivery.Write) error {
	if w.Item != "" {
		return d.ledger.RecordItem(w.Item, keyOfCommand(w.Do), w.Do)
	}
	before := d.last()
	err := d.ledger.RecordRun(ctx, d.subject, w.Event)
	var unknown box.ConflictError
	if errors.As(err, &unknown) && d.last() != before {
		return nil
	}
	return err
}

// last returns the ledger's sequence of the run's last event.
func (d *decider) last() (seq uint64) {
	d.ledger.WithRun(d.subject, func(r *delivery.Run) { seq = r.Seq })
	return seq
}

// keyOfCommand returns the key that a command is recorded with.
func keyOfCommand(c work.Command) string {
	switch c := c.(type) {
	case work.End:
		return c.Key
	case work.Note:
		return c.Key
	case work.Approve:
		return c.Key
	case work.Unmerged:
		return c.Key
	}
	return ""
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
