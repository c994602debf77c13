package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/background"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/mailbox"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// Home is the box's own runner.
type Home interface {
	order.Runner
	// Share brings what an order on another machine is about into the box's own repository, and returns the refs there that it
	// is about, as the runner is to have them.
	Share(ctx context.Context, o order.Order) (refs []string, err error)
	// Elsewhere returns the runner that a session is, or was, on, for as long as there is a record of it; "" for home.
	Elsewhere(session string) string
	// Record changes the box's copy of what was said or printed at a runner.
	Record(runner string, s order.Said) error
	// Machine is what can be done here.
	Machine() delivery.Machine
}

// Known is a runner that may dial in.
type Known struct {
	Name     string
	Labels   []string
	Key      string    // the hash of the key that it is known by
	Joined   uint64    // the sequence of the event that says so
	At       time.Time // when it joined
	Draining bool
	DrainBy  time.Time // when what it has is given up, if it is drained; zero for never
}

// Options are what a fleet works with.
type Options struct {
	Home      Home                     // of all runs; where boxes share a ledger, of those that were started in this one's directory
	HomeOf    func(box string) Home    // of the runs that were started in a box's directory ([delivery.Started.Home]): Home, or another; nil if Home is of all
	Others    func() []Home            // all but Home; nil if there is none
	BoxOf     func(name string) string // the box in whose directory the run was started that a session or a subject belongs to, by the ledger; nil if there is one
	Conductor order.Conductor
	Mail      *mailbox.Set
	Boxes     func() []order.BoxAt // where runners find the boxes that share the ledger; nil of one that stands alone
	Known     func() []Known       // the runners that have joined, by the ledger
	Runs      func() []string
	Where     func(run, session string) string // the other machine that a session is on which has not ended, by the ledger; "" for none
	Settings  order.Settings
	Version   string        // of the box
	Lost      time.Duration // after which a runner that says nothing is lost
	Now       func() time.Time
	Logger    *slog.Logger
}

// Fleet hands each order to the runner that it is for. Home is that of the runs which it is asked about: that of others is another Fleet's
// ([Fleet.Of]), which has the same machines.
type Fleet struct {
	Home
	*shared

	looking sync.Mutex // held while home is looked at
	looked  time.Time
	homely  delivery.Machine
}

// shared is what the fleets of all homes have in common: the runners on other machines, and what is to be done there.
type shared struct {
	o     Options
	began time.Time

	mu       sync.Mutex
	machines map[string]*machine
	sessions map[string]string // which runner a session was given to
	calls    uint64            // the last call's number

	knew []Known // when it was looked last; nil if it never was

	homes map[Home]*Fleet // of other homes, as they were asked for

	arm chan struct{} // has something when there is a machine to watch

	group *background.Group
}

// machine is a runner on another machine, as far as something is to be done there or was heard of it.
type machine struct {
	here  order.Here
	heard time.Time // when it said something last; when the fleet began if it has not
	lost  chan struct{}
	gone  bool // lost is closed

	flights map[string]*flight // by the order's name
	calls   []*call            // not answered yet
	line    *Line              // the newest one; nil if it follows nothing
}

// flight is an order that is to be under way on another machine.
type flight struct {
	order.Assigned
	done chan error // what the runner says of it
}

// left reports whether a runner has left as it should: it said that it would, had nothing under way, and has gone. The caller holds mu.
func (m *machine) left() bool { return m.here.Leaving && len(m.here.Alive) == 0 && m.line == nil }

// New makes a fleet. Whoever makes one stops it.
func New(o Options) *Fleet {
	f := &Fleet{Home: o.Home, shared: &shared{
		o: o, began: o.Now(), machines: map[string]*machine{}, sessions: map[string]string{}, homes: map[Home]*Fleet{}, arm: make(chan struct{}, 1),
		group: background.New(context.Background()),
	}}
	f.homes[o.Home] = f
	f.group.Go(f.watch)
	return f
}

// Of returns the fleet for the runs that were started in a box's directory, as [order.Homes] has it.
func (f *Fleet) Of(box string) order.Runner { return f.At(box) }

// At returns the fleet for the runs that were started in a box's directory. Only the first one is stopped.
func (f *Fleet) At(box string) *Fleet {
	if f.o.HomeOf == nil {
		return f
	}
	home := f.o.HomeOf(box)
	f.mu.Lock()
	defer f.mu.Unlock()
	its := f.homes[home]
	if its == nil {
		its = &Fleet{Home: home, shared: f.shared}
		f.homes[home] = its
	}
	return its
}

// homeOf returns the fleet for the run that a session or a subject belongs to.
func (f *Fleet) homeOf(name string) *Fleet {
	if f.o.BoxOf == nil {
		return f
	}
	return f.At(f.o.BoxOf(name))
}

// elsewhere reports whether home is another box's.
func (f *Fleet) elsewhere() bool { return f.Home != f.o.Home }

// others are the homes of other boxes.
func (f *Fleet) others() []Home {
	if f.o.Others == nil {
		return nil
	}
	return f.o.Others()
}

// Stop ends what the fleet does by itself.
func (f *Fleet) Stop() { f.group.Stop() }

// Anew forgets what was heard of runners: another box may have led meanwhile, and they say anew how they are. Nothing is under way when it is called.
func (f *Fleet) Anew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.machines {
		m.hangUp()
	}
	f.machines, f.sessions, f.knew, f.began = map[string]*machine{}, map[string]string{}, nil, f.o.Now()
	f.homes = map[Home]*Fleet{f.o.Home: f.homes[f.o.Home]}
}

// Errors of those who speak for a runner.
var (
	ErrNotYours = errors.New("that is none of this runner's")
	ErrNotYet   = errors.New("this box was started a moment ago, and has not given this order anew: say it again")
	ErrUnknown  = errors.New("this box has no such runner: it was removed, or never joined")
	ErrForm     = errors.New("that is not what a runner says")
	errNoEnd    = errors.New("it says that the order was carried out, and has not said how the session ended")
	errLost     = errors.New("nothing was heard of the runner")
	errNewLine  = errors.New("the runner follows anew")
)

// of returns the machine of a runner. The caller holds mu.
func (f *Fleet) of(name string) *machine {
	m := f.machines[name]
	if m == nil {
		m = &machine{heard: f.began, lost: make(chan struct{}), flights: map[string]*flight{}}
		f.machines[name] = m
		select {
		case f.arm <- struct{}{}:
		default:
		}
	}
	return m
}

func (f *Fleet) known(name string) (Known, bool) {
	all := f.o.Known()
	at := slices.IndexFunc(all, func(k Known) bool { return k.Name == name })
	if at < 0 {
		return Known{}, false
	}
	return all[at], true
}

// watch notes which runners are lost. Without any it waits.
func (f *Fleet) watch(ctx context.Context) {
	tick := time.NewTicker(max(min(time.Second, f.o.Lost/4), time.Millisecond))
	tick.Stop()
	for {
		select {
		case <-f.arm:
			tick.Reset(max(min(time.Second, f.o.Lost/4), time.Millisecond))
		case <-tick.C:
			if f.look() == 0 {
				tick.Stop()
			}
		case <-ctx.Done():
			return
		}
	}
}

// look notes which runners are lost by now, or takes work again, and forgets those that were removed when nothing is to be done there any more.
// It returns how many are left.
func (f *Fleet) look() (left int) {
	now, known := f.o.Now(), f.o.Known()
	changed := false
	defer func() {
		if changed {
			f.o.Conductor.MachinesChanged()
		}
	}()
	f.mu.Lock()
	defer f.mu.Unlock()
	changed = f.knew != nil && !slices.EqualFunc(known, f.knew, func(a, b Known) bool { return a.Name == b.Name && a.Draining == b.Draining })
	f.knew = known
	for name, m := range f.machines {
		removed := !slices.ContainsFunc(known, func(k Known) bool { return k.Name == name })
		if !m.gone && (removed || now.Sub(m.heard) >= f.o.Lost) {
			m.gone, changed = true, true
			close(m.lost)
			f.o.Logger.Warn("a runner is lost", "runner", name, "silent", now.Sub(m.heard).Round(time.Second), "removed", removed)
		}
		if by := drainBy(known, name); !by.IsZero() && !now.Before(by) && !m.gone && len(m.flights) > 0 { // its sessions are told that they are over
			close(m.lost)
			m.lost = make(chan struct{})
		}
		if removed && len(m.flights) == 0 {
			m.hangUp()
			delete(f.machines, name)
		}
	}
	return len(f.machines)
}

// drainBy is when what a runner has is given up.
func drainBy(known []Known, name string) time.Time {
	for _, k := range known {
		if k.Name == name {
			return k.DrainBy
		}
	}
	return time.Time{}
}

// hangUp ends the connection that a runner follows by. The caller holds mu.
func (m *machine) hangUp() {
	if m.line != nil {
		m.line.end()
		m.line = nil
	}
}

// CarryOut has an order carried out by the runner that it is for, and returns when what came of it is handed in. If that runner is lost,
// a session that it had is over, and anything else fails, to be given to another one.
func (f *Fleet) CarryOut(ctx context.Context, o order.Order) error {
	if o.Runner == "" {
		return f.Home.CarryOut(ctx, o)
	}
	refs, err := f.Share(ctx, o)
	if err != nil {
		return err
	}
	fl := &flight{order.Assigned{Order: o.ForRunner(), Name: o.Name(), Fetch: refs}, make(chan error, 1)}
	f.mu.Lock()
	m := f.of(o.Runner)
	m.flights[fl.Name] = fl
	if o.Session != nil {
		f.sessions[o.Session.ID] = o.Runner
	}
	lost := m.lost
	m.stir()
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if m.flights[fl.Name] == fl {
			delete(m.flights, fl.Name)
			m.stir()
		}
	}()
	select {
	case err := <-fl.done:
		if err == nil && (o.Do == delivery.DoStart || o.Do == delivery.DoEnd) {
			f.forget(o.Session.ID)
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-lost:
		return f.lose(ctx, o)
	}
}

// lose deals with an order whose runner is lost.
func (f *Fleet) lose(ctx context.Context, o order.Order) error {
	if o.Do != delivery.DoStart && o.Do != delivery.DoEnd {
		return fmt.Errorf("%w %s, which had %s", errLost, o.Runner, o.ID)
	}
	s := o.Session.ID
	why, silent := f.why(o.Runner)
	ended := delivery.Ended{How: delivery.Lost, Detail: why}
	if silent {
		ended.Runner = o.Runner
	}
	err := f.o.Conductor.HandIn(ctx, o.Run.Subject, delivery.End{Session: s, Ended: ended})
	if err == nil {
		f.forget(s)
	}
	return err
}

// why says why a runner has no session any more, and whether it is because nothing was heard of it.
func (f *Fleet) why(runner string) (why string, silent bool) {
	k, ok := f.known(runner)
	switch now := f.o.Now(); {
	case !ok:
		return "the runner " + runner + " was removed", false
	case !k.DrainBy.IsZero() && !now.Before(k.DrainBy):
		return "the runner " + runner + " was drained, and the time that its sessions had is over", false
	}
	return fmt.Sprintf("nothing was heard of the runner %s for %v", runner, f.o.Lost), true
}

// forget drops what is kept of a session that is over.
func (f *Fleet) forget(session string) {
	f.o.Mail.Forget(session)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, session)
}

// runnerOf returns which runner has a session; "" if it is at home, or over.
func (f *Fleet) runnerOf(session string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sessions[session]
}

// Ready reports why a run could not be carried out as the settings want it. Where there are other machines, a program that is missing here
// may be there: a task waits for it, and says so.
func (f *Fleet) Ready() error {
	err := f.Home.Ready()
	if errors.Is(err, order.ErrNoProgram) && len(f.o.Known()) > 0 {
		return nil
	}
	return err
}

// homeNow is what can be done at home, looked at no more often than a runner elsewhere says what it can do. What another box says of itself is
// known without a look.
func (f *Fleet) homeNow() delivery.Machine {
	if f.elsewhere() {
		return f.Machine()
	}
	f.looking.Lock()
	defer f.looking.Unlock()
	if now := f.o.Now(); f.looked.IsZero() || now.Sub(f.looked) >= order.Heartbeat {
		f.homely, f.looked = f.Machine(), now
	}
	m := f.homely
	m.Sessions = len(f.Home.Alive())
	return m
}

// Machines are those that work can be given to now, and those that are away: nil if there is none but home, and home is there.
func (f *Fleet) Machines() []delivery.Machine {
	known := f.o.Known()
	if len(known) == 0 && !f.elsewhere() {
		return nil
	}
	home := f.homeNow()
	if len(known) == 0 && !home.Away {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []delivery.Machine{home}
	for _, k := range known {
		m := f.machines[k.Name]
		if m == nil || m.here.Protocol == 0 {
			all = append(all, delivery.Machine{Name: k.Name, Labels: k.Labels, Away: true})
			continue
		}
		if m.here.Problem != "" {
			continue
		}
		update, err := order.Speaks(m.here.Protocol)
		one := delivery.Machine{
			Name: k.Name, Labels: k.Labels, Places: m.here.Places, Sessions: len(m.here.Alive), Checks: m.here.Checks,
			Draining: k.Draining || m.here.Leaving || update != "" || err != nil, Away: m.gone,
		}
		for _, a := range m.here.Agents {
			one.Agents = append(one.Agents, a.Name)
		}
		all = append(all, one)
	}
	return all
}

// Runners is how the runners on other machines are, for people.
func (f *Fleet) Runners() []api.Runner {
	now, all := f.o.Now(), []api.Runner{}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.o.Known() {
		r := api.Runner{Name: k.Name, Labels: k.Labels, State: api.RunnerLost}
		m := f.machines[k.Name]
		heard := m != nil && m.here.Protocol != 0
		r.NotStarted = !heard && !k.At.Before(f.began)
		if heard {
			seconds := now.Sub(m.heard).Round(time.Millisecond).Seconds()
			r.Protocol, r.Version, r.Sessions, r.Places, r.LastContactS, r.Problem = m.here.Protocol, m.here.Version, len(m.here.Alive), m.here.Places, &seconds, m.here.Problem
			update, err := order.Speaks(m.here.Protocol)
			if err != nil {
				r.Problem = err.Error()
			} else if update != "" {
				r.Problem = update
			}
			for _, a := range m.here.Agents {
				r.Agents = append(r.Agents, a.Name)
			}
			if m.left() {
				at := m.heard
				r.LeftAt = &at
			}
			switch {
			case m.gone:
				if update == "" && err == nil { // what it said of itself is long ago
					r.Problem = ""
				}
			case k.Draining || m.here.Leaving || update != "" || err != nil:
				r.State = api.RunnerDraining
			default:
				r.State = api.RunnerPresent
			}
		}
		all = append(all, r)
	}
	return all
}
