package conductor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/keylock"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Options say how runs are brought on.
type Options struct {
	Config   config.Config
	Settings *api.Settings    // what Config is known by; nil if nobody asks
	Exit     bool             // exit records are acted upon
	Draining bool             // nothing is started
	Now      func() time.Time // time.Now if nil
	Logger   *slog.Logger     // may be nil

	// Machines returns all runners, with the home of runs ([delivery.Started.Home]); nil if there is home alone. How many sessions they have
	// need not be said. It does not wait, and may be called
	// by anybody at any time. When something about them changes, [Conductor.MachinesChanged] is called.
	Machines func(home string) []delivery.Machine
}

// Conductor brings on all runs of a ledger.
type Conductor struct {
	ledger   Ledger
	runner   order.Runner // nil if no plans are delivered
	config   config.Config
	settings *api.Settings
	exit     bool
	mail     *mailbox.Set // of sessions
	now      func() time.Time
	machines func(home string) []delivery.Machine
	logger   *slog.Logger
	starting keylock.Lock[struct{}] // held by who starts a run
	cleaning keylock.Lock[struct{}] // held by who removes what is left of runs

	mu       sync.Mutex
	deciders map[string]*decider // by the run's subject

	toCheckByHand chan struct{} // something happened to work that stands alone and waits for checks

	drain      atomic.Bool   // no agent is started any more
	drainBegun chan struct{} // closed then

	group atomic.Pointer[background.Group] // the deciders
}

// New makes a conductor, which delivers no plans until it is started.
func New(l Ledger, o Options) *Conductor {
	c := &Conductor{
		ledger: l, config: o.Config, settings: o.Settings, exit: o.Exit, mail: mailbox.New(), now: o.Now, machines: o.Machines, logger: o.Logger,
		deciders: map[string]*decider{}, drainBegun: make(chan struct{}), toCheckByHand: make(chan struct{}, 1),
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.machines == nil {
		c.machines = func(string) []delivery.Machine { return nil }
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	c.drain.Store(o.Draining)
	c.group.Store(background.New(l.Context()))
	l.Attach(c)
	return c
}

// Use has runs carried out by a runner. Start does it; before a conductor that is not started yet is asked anything, this does.
func (c *Conductor) Use(r order.Runner) {
	if c.runner != r { // who asks meanwhile reads it
		c.runner = r
	}
}

// Start brings on all runs that have not ended, by a runner. It waits no longer than patience for a look at the
// user's checkout, and fails only if ctx ends.
func (c *Conductor) Start(ctx context.Context, r order.Runner, patience time.Duration) error {
	c.Use(r)
	c.again()
	c.lookAgain(ctx, patience)
	if err := ctx.Err(); err != nil {
		return err
	}
	marked, err := r.Marked(c.ledger.RunSubjects)
	if err != nil {
		c.logger.Warn("what ended runs left behind may stay", "error", err)
	}
	live := c.ledger.LiveRuns()
	marked = slices.DeleteFunc(marked, func(run string) bool { return slices.Contains(live, run) }) // their deciders tidy up
	for _, subject := range live {
		c.conduct(subject)
	}
	if !c.Draining() {
		c.group.Load().Go(func(ctx context.Context) {
			c.tidy(ctx, marked)
			c.keep(ctx)
		})
	}
	return nil
}

// Stop ends what is under way, and returns when it has ended. Sessions go on. Nothing begins any more until the conductor is started again: another box may
// conduct meanwhile.
func (c *Conductor) Stop() { c.group.Load().Stop() }

// again lets a conductor that was stopped begin, unless the box is.
func (c *Conductor) again() {
	if c.group.Load().Context().Err() != nil && c.ledger.Context().Err() == nil {
		c.group.Store(background.New(c.ledger.Context()))
	}
}

// lookAgain looks how everything is that the agents of runs that go on should leave alone. Git may hang
// in a checkout; the runs go on without the look then.
func (c *Conductor) lookAgain(ctx context.Context, patience time.Duration) {
	live := c.ledger.LiveRuns()
	if len(live) == 0 || c.Draining() {
		return
	}
	branches := map[string][]string{} // by the home of their runs
	for _, subject := range live {
		c.ledger.WithRun(subject, func(r *delivery.Run) { branches[r.Home] = append(branches[r.Home], r.Branch) })
	}
	looking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for home, its := range branches {
		x := c.at(home)
		err := x.Resume(looking, false, its...)
		if looking.Err() != nil && ctx.Err() == nil {
			c.logger.Warn("the checkout was not looked at in time (try `git status` there): what the next agent changes in it may not be noticed", "checkout", x.Root(), "patience", patience)
		}
		if err != nil {
			c.logger.Warn("it is not known how the settings of reviewers' programs were", "error", err)
		}
	}
}

// at returns who carries out the orders of the runs with a home.
func (c *Conductor) at(home string) order.Runner {
	if all, ok := c.runner.(order.Homes); ok {
		return all.Of(home)
	}
	return c.runner
}

// homeOf returns the home of a run.
func (c *Conductor) homeOf(run string) (home string) {
	c.ledger.WithRun(run, func(r *delivery.Run) { home = r.Home })
	return home
}

// conduct returns the decider of a run, which begins if there is none. While the conductor is stopped, it has ended.
func (c *Conductor) conduct(subject string) *decider {
	home := c.homeOf(subject) // before the lock, which others take while the state is locked
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.deciders[subject]
	if d == nil {
		var begun bool
		if d, begun = c.begin(subject, home); begun {
			c.deciders[subject] = d
		}
	}
	return d
}

// decider returns who decides for a run, or nil.
func (c *Conductor) decider(run string) *decider {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deciders[run]
}

// tidy takes away what ended runs left behind because their box was killed.
func (c *Conductor) tidy(ctx context.Context, marked []string) {
	for _, subject := range marked {
		var r delivery.Run
		found := c.ledger.WithRun(subject, func(run *delivery.Run) { r = run.Copy() })
		switch {
		case ctx.Err() != nil:
			return
		case !found: // its box was killed before it was recorded
			c.runner.Unmark(subject)
		default:
			c.at(r.Home).Finished(ctx, r)
		}
	}
}

// Moved says that something happened to a run. It does not wait.
func (c *Conductor) Moved(run string) {
	if d := c.decider(run); d != nil {
		d.stir()
	}
}

// Machines returns all runners, with the home of runs, less how many sessions they have; nil if there is home alone.
func (c *Conductor) Machines(home string) []delivery.Machine { return c.machines(home) }

// loaded returns them with the sessions that they have by all runs.
func (c *Conductor) loaded(home string) []delivery.Machine {
	machines := c.machines(home)
	if machines == nil {
		return nil
	}
	sessions := map[string]int{}
	for _, run := range c.ledger.LiveRuns() {
		c.ledger.WithRun(run, func(r *delivery.Run) { r.CountOn(sessions, home) })
	}
	return delivery.Loaded(machines, sessions)
}

// Where returns the other machine that a session of a run is on which has not ended; "" for none.
func (c *Conductor) Where(run, session string) (machine string) {
	c.ledger.WithRun(run, func(r *delivery.Run) {
		if s := r.Sessions[session]; s != nil {
			machine = s.Runner
		}
	})
	return machine
}

// MachinesChanged says that [Options.Machines] returns something else than before. It does not wait.
func (c *Conductor) MachinesChanged() {
	c.mu.Lock()
	deciders := maps.Clone(c.deciders)
	c.mu.Unlock()
	for run, d := range deciders {
		d.stir()
		c.ledger.Changed(run)
	}
}

// Seen returns what a session last said of itself, and whether it is out of touch.
func (c *Conductor) Seen(session string) (says string, quiet time.Time, away bool) {
	return c.mail.Seen(session)
}

// Mail returns the mailboxes of sessions, in which a runner leaves what it has to say to them.
func (c *Conductor) Mail() *mailbox.Set { return c.mail }

// Draining reports whether no agent is started any more.
func (c *Conductor) Draining() bool { return c.drain.Load() }

// Drain ends all agents, as one does before leaving: their work stays where it is,
// nothing is counted against it, and the next conductor goes on with it. It returns when
// they are gone and what was under way has ended, or with ctx; and how many are left.
func (c *Conductor) Drain(ctx context.Context) (left int) {
	if c.drain.CompareAndSwap(false, true) {
		close(c.drainBegun)
	}
	c.mu.Lock()
	deciders := slices.Collect(maps.Values(c.deciders))
	c.mu.Unlock()
	for _, d := range deciders {
		d.halt(ctx)
	}
	for {
		alive := c.alive()
		for _, id := range alive {
			c.mail.Send(id, api.SessionCommand{ID: "stop/" + id, Kind: api.CommandStop, Reason: "the operator stopped the box"}, nil)
		}
		if len(alive) == 0 {
			return 0
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return len(alive)
		}
	}
}

// alive returns the sessions whose processes run.
func (c *Conductor) alive() []string {
	if c.runner == nil {
		return nil
	}
	return c.runner.Alive()
}

// Agents returns how many sessions of agents run.
func (c *Conductor) Agents() int { return len(c.alive()) }

// live reports whether a run goes on.
func (c *Conductor) live(subject string) (live bool) {
	c.ledger.WithRun(subject, func(r *delivery.Run) { live = r.Live() })
	return live
}

// HandIn takes what came of an order of a run, or happened to one of its sessions. It returns when what that leads to is
// recorded, or why it is refused.
func (c *Conductor) HandIn(ctx context.Context, run string, in delivery.Input) error {
	d := c.decider(run)
	if d == nil {
		return box.ErrStopping
	}
	if end, ok := in.(delivery.End); ok {
		end.Detail = c.ledger.Short(end.Detail)
		in = end
	}
	return d.handIn(ctx, in)
}

// Permit records which merge is about to be made, signs the ledger up to there and proves it. What is not allowed
// has no number.
func (c *Conductor) Permit(ctx context.Context, run string, merge delivery.MergeChecked) (work.Permit, ledger.Proof, error) {
	if err := c.HandIn(ctx, run, merge); err != nil {
		return work.Permit{}, ledger.Proof{}, err
	}
	var allowed *work.Permit
	c.ledger.WithRun(run, func(run *delivery.Run) { allowed = run.Permitted(merge.Command) })
	if allowed == nil {
		return work.Permit{}, ledger.Proof{}, nil
	}
	proof, err := c.ledger.Prove(allowed.Seq)
	return *allowed, proof, err
}

// Report takes what a dead session has left, and answers as a client is answered.
func (c *Conductor) Report(ctx context.Context, session string, r api.SessionReport) error {
	if err := c.SessionReport(ctx, session, r); err != nil {
		return Problem(err)
	}
	return nil
}

// Renew lets the lease of a session go on.
func (c *Conductor) Renew(session string) { c.ledger.Extend(session) }

// fail stops the box because a run can't be brought on.
func (c *Conductor) fail(run string, err error) {
	if err != nil && c.group.Load().Context().Err() == nil && !errors.Is(err, context.Canceled) {
		c.ledger.Fail(fmt.Errorf("the run %s: %w", run, err))
	}
}
