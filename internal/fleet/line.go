package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Line is a connection by which a runner follows what the box wants of it.
type Line struct {
	of     *Fleet
	runner string
	wake   chan struct{} // has something if there may be more to send
	over   chan struct{}
	once   sync.Once

	settled bool             // the settings were sent
	orders  map[*flight]bool // that were sent
	due     []string         // as it was sent last
	sent    bool             // due was
	calls   uint64           // the last call that was sent
}

func (l *Line) end() { l.once.Do(func() { close(l.over) }) }

// stir says that there may be more to send. The caller holds the fleet's mu.
func (m *machine) stir() {
	if m.line != nil {
		select {
		case m.line.wake <- struct{}{}:
		default:
		}
	}
}

// heardOf notes that a runner was heard of, which is not lost then. The caller holds mu.
func (f *Fleet) heardOf(name string) *machine {
	m := f.of(name)
	m.heard = f.o.Now()
	if m.gone {
		m.gone, m.lost = false, make(chan struct{})
		f.o.Logger.Info("a runner that was lost is back", "runner", name)
	}
	return m
}

// Here takes what a runner says of itself, and answers.
func (f *Fleet) Here(name string, here order.Here) (order.There, error) {
	k, ok := f.known(name)
	if !ok {
		return order.There{}, ErrUnknown
	}
	if err := checkHere(here); err != nil {
		return order.There{}, err
	}
	update, err := order.Speaks(here.Protocol)
	if err != nil {
		f.misheard(name, here.Protocol, here.Version)
		return order.There{}, err
	}
	f.mu.Lock()
	m := f.of(name)
	changed := m.gone || !same(m.here, here)
	f.heardOf(name)
	m.here = here
	var renew []string
	for _, s := range here.InTouch {
		if f.sessions[s] == name {
			renew = append(renew, s)
		}
	}
	f.mu.Unlock()
	for _, s := range renew {
		f.o.Conductor.Renew(s)
	}
	if changed {
		f.o.Conductor.MachinesChanged()
	}
	there := order.There{Protocol: order.Protocol(), Update: update, Draining: k.Draining || update != "", Runs: f.o.Runs()}
	if f.o.Boxes != nil {
		there.Boxes = f.o.Boxes()
	}
	return there, nil
}

// misheard notes which protocol and version a runner has that is not understood, for people to see. It counts as silent: what it had goes
// elsewhere in time.
func (f *Fleet) misheard(name string, protocol int, version string) {
	f.mu.Lock()
	m := f.of(name)
	changed := m.here.Protocol != protocol
	m.here.Protocol, m.here.Version = protocol, version
	f.mu.Unlock()
	if changed {
		f.o.Conductor.MachinesChanged()
	}
}

// Box is what the box says of itself to a runner, which is neither present nor heard of by asking.
func (f *Fleet) Box(name string) (order.Box, error) {
	k, ok := f.known(name)
	if !ok {
		return order.Box{}, ErrUnknown
	}
	return order.Box{Protocol: order.Protocol(), Version: f.o.Version, Time: f.o.Now(), Draining: k.Draining, Settings: f.o.Settings}, nil
}

// same reports whether work can be given to a runner as before.
func same(a, b order.Here) bool {
	return a.Protocol == b.Protocol && a.Places == b.Places && a.Checks == b.Checks && a.Problem == b.Problem && a.Leaving == b.Leaving &&
		len(a.Alive) == len(b.Alive) && slices.Equal(a.Agents, b.Agents)
}

// How much a runner can say of itself.
const (
	maxHereSessions = 4096
	maxHereAgents   = 256
	maxHereWord     = 256
	maxHerePlaces   = 1 << 20 // what is counted with them stays a number
)

// checkHere refuses what no runner says of itself.
func checkHere(h order.Here) error {
	long := func(s string) bool { return len(s) > maxHereWord }
	switch {
	case len(h.Alive) > maxHereSessions || len(h.InTouch) > maxHereSessions || len(h.Agents) > maxHereAgents,
		long(h.Version), len(h.Problem) > 4*maxHereWord,
		slices.ContainsFunc(h.Agents, func(a order.Agent) bool { return long(a.Name) || long(a.Version) }),
		slices.ContainsFunc(h.Alive, long), slices.ContainsFunc(h.InTouch, long), h.Places < 0, h.Places > maxHerePlaces, h.Protocol < 1:
		return fmt.Errorf("%w: what the runner says of itself has not the form, or is too much", ErrForm)
	}
	return nil
}

// Follow begins a connection of a runner that speaks a protocol. It is the only one then: an older one ends.
func (f *Fleet) Follow(name string, protocol int) (*Line, error) {
	if _, ok := f.known(name); !ok {
		return nil, ErrUnknown
	}
	if protocol < 1 {
		return nil, fmt.Errorf("%w: it names no protocol", ErrForm)
	}
	if _, err := order.Speaks(protocol); err != nil {
		f.misheard(name, protocol, "")
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.heardOf(name)
	m.hangUp()
	m.line = &Line{of: f, runner: name, wake: make(chan struct{}, 1), over: make(chan struct{}), orders: map[*flight]bool{}}
	m.stir()
	return m.line, nil
}

// End ends the connection, if it is still the one that counts.
func (l *Line) End() {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.end()
	if m := l.of.machines[l.runner]; m != nil && m.line == l {
		m.line = nil
	}
}

// Next returns what is to be sent next, when there is something.
func (l *Line) Next(ctx context.Context) ([]order.Notice, error) {
	for {
		if notices := l.take(); len(notices) > 0 {
			return notices, nil
		}
		select {
		case <-l.wake:
		case <-l.over:
			return nil, errNewLine
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns what has not been sent yet: settings before orders, an order before the list that it is in.
func (l *Line) take() (notices []order.Notice) {
	f := l.of
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.machines[l.runner]
	if m == nil || m.line != l {
		return nil
	}
	if !l.settled {
		l.settled = true
		settings := f.o.Settings
		notices = append(notices, order.Notice{Settings: &settings})
	}
	due := slices.Sorted(maps.Keys(m.flights))
	for _, name := range due {
		if fl := m.flights[name]; !l.orders[fl] {
			l.orders[fl] = true
			assigned := fl.Assigned
			notices = append(notices, order.Notice{Order: &assigned})
		}
	}
	maps.DeleteFunc(l.orders, func(fl *flight, _ bool) bool { return m.flights[fl.Name] != fl })
	if !l.sent || !slices.Equal(l.due, due) {
		l.sent, l.due = true, due
		all := append([]string{}, due...)
		notices = append(notices, order.Notice{Due: &all})
	}
	for _, c := range m.calls {
		if c.ID > l.calls {
			l.calls = c.ID
			one := c.Call
			notices = append(notices, order.Notice{Call: &one})
		}
	}
	m.calls = slices.DeleteFunc(m.calls, func(c *call) bool { return c.answer == nil }) // it is sent once, and follows from what is due if it is lost
	return notices
}

// Done takes a runner's word that an order was carried out. A session is not over by it: how it ended was handed in before, or the order failed.
func (f *Fleet) Done(name string, d order.Done) (order.DoneHeard, error) {
	fl, err := f.flight(name, d.Name)
	if fl == nil {
		return order.DoneHeard{Unknown: err == nil}, err
	}
	switch {
	case d.Error != "":
		err = fmt.Errorf("the runner %s: %s", name, d.Error)
	case (fl.Do == delivery.DoStart || fl.Do == delivery.DoEnd) && f.o.Where(fl.Run.Subject, fl.Session.ID) == name:
		err = fmt.Errorf("the runner %s: %w", name, errNoEnd)
	}
	select {
	case fl.done <- err:
	default:
	}
	return order.DoneHeard{}, nil
}

// flight returns an order that a runner has; nil if it is not due. It fails if it is another's.
func (f *Fleet) flight(runner, ordered string) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl := f.heardOf(runner).flights[ordered]; fl != nil {
		return fl, nil
	}
	for _, m := range f.machines {
		if m.flights[ordered] != nil {
			return nil, fmt.Errorf("%w: the order %.60q", ErrNotYours, ordered)
		}
	}
	return nil, nil
}

// Answered takes what came of a call. Nobody waits for many of them.
func (f *Fleet) Answered(name string, a order.Answer) error {
	if c := f.settle(name, a.ID); c != nil {
		if c.answer != nil {
			c.answer <- a
		}
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	its := a.ID > 0 && a.ID <= f.calls
	for _, m := range f.machines {
		its = its && !slices.ContainsFunc(m.calls, func(c *call) bool { return c.ID == a.ID })
	}
	if !its {
		return fmt.Errorf("%w: the call %d", ErrNotYours, a.ID)
	}
	return nil
}

// HandIn takes what came of an order that a runner has, or happened to one of its sessions.
func (f *Fleet) HandIn(ctx context.Context, name string, h order.HandedIn) error {
	in, err := h.Read()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	if err := f.may(name, h, &in); err != nil {
		return err
	}
	return f.o.Conductor.HandIn(ctx, h.Run, in)
}

// may refuses what is about an order or a session that a runner does not have.
func (f *Fleet) may(name string, h order.HandedIn, in *delivery.Input) error {
	f.mu.Lock()
	m := f.heardOf(name)
	has := func(match func(*flight) bool) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(m.flights)), func(fl *flight) bool { return fl.Run.Subject == h.Run && match(fl) })
	}
	of := "" // the session that it is about
	session := func(id string) bool {
		of = id
		return has(func(fl *flight) bool { return fl.Session != nil && fl.Session.ID == id })
	}
	ok, err := false, error(nil)
	switch i := (*in).(type) {
	case delivery.End:
		ok = session(i.Session)
		i.Runner = ""               // that a runner is lost is not its own word, nor another's
		if i.How == delivery.Lost { // who can say so itself is not
			i.How = delivery.Crashed
		}
		*in = i
	case delivery.Prompted:
		ok = session(i.Session)
	case delivery.Shown:
		ok = session(i.Session)
	case delivery.Forgotten:
		ok = session(i.Session)
	case delivery.Distrust:
		ok = session(i.Session)
	case delivery.Pushed:
		ok = session(i.Session)
	case delivery.GateRan:
		var checks order.Order
		ok = has(func(fl *flight) bool {
			checks = fl.Order
			return fl.Do == delivery.DoGate && fl.ID == i.Command && fl.Task != nil
		})
		if ok {
			err = f.signed(name, checks, &i)
		}
		i.Runner = name
		*in = i
	}
	f.mu.Unlock()
	switch {
	case err != nil:
		return err
	case !ok && of != "" && f.o.Where(h.Run, of) == name:
		return ErrNotYet
	case !ok:
		return fmt.Errorf("%w: %s has no such order, or session, or no longer (%s)", ErrNotYours, name, h.Kind)
	}
	return nil
}

// signed holds what checks came to against the signature of the runner that they ran on.
func (f *Fleet) signed(name string, o order.Order, ran *delivery.GateRan) error {
	if !ran.Verdict() { // nothing was checked, so nothing can have passed
		ran.Signed = nil
		return nil
	}
	k, _ := f.known(name)
	if err := ran.Signed.Check(ran.Statement(name, o.Run.ID, o.Task), k.Key); err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	ran.Signed = &work.Signed{Order: ran.Command, Key: ran.Signed.Key, Signature: ran.Signed.Signature, Joined: k.Joined}
	return nil
}

// Mail says something to a session of a runner's, and returns when it was written or nobody waits for it any more.
func (f *Fleet) Mail(ctx context.Context, name string, m order.Mail) error {
	if f.runnerOf(m.Session) != name {
		return ErrNotYours
	}
	out := make(chan struct{}, 1)
	f.o.Mail.Send(m.Session, m.Command, func() {
		select {
		case out <- struct{}{}:
		default:
		}
	})
	select {
	case <-out:
		return nil
	case <-time.After(mailPatience):
		return errNotRead
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mailPatience is for how long a runner waits at once for what it says to a session to go out.
const mailPatience = 20 * time.Second

// errNotRead says that a session has not been told yet.
var errNotRead = errors.New("the session is not in touch: it is told when it is")

// Speaks says why what a session says may not come over the connection of a runner, or over that of nobody's.
func (f *Fleet) Speaks(session, runner string) error {
	at := f.runnerOf(session)
	if at == runner || at == "" { // its token says which session it is, and a session that is over may hand in from anywhere
		return nil
	}
	return fmt.Errorf("%w: the session %.60q", ErrNotYours, session)
}

// Owns says why a runner may not push, or write down, what a session does: it is another's. One that is over is still its runner's.
func (f *Fleet) Owns(session, runner string) error {
	home := f.homeOf(session)
	at := cmp.Or(f.runnerOf(session), home.Elsewhere(session))
	if at == runner {
		return nil
	}
	if at == "" && home.elsewhere() && home.Machine().Away { // who may not is told so for good
		return order.ErrUnreached
	}
	return fmt.Errorf("%w: the session %.60q", ErrNotYours, session)
}

// Record changes the box's copy of what a session of a runner's said, or of what checks print that the runner carries out.
func (f *Fleet) Record(name string, s order.Said) error {
	f.mu.Lock()
	checks := false
	for _, fl := range f.heardOf(name).flights {
		checks = checks || fl.Do == delivery.DoGate && fl.Task != nil && order.ChecksName(fl.Task.Item) == s.Of
	}
	f.mu.Unlock()
	if s.Name != order.SaidChecks {
		if err := f.Owns(s.Of, name); err != nil {
			return err
		}
	} else if !checks {
		return fmt.Errorf("%w: the checks of %.60q", ErrNotYours, s.Of)
	}
	return f.homeOf(s.Of).Home.Record(name, s)
}

// Fetches returns the refs that a runner may fetch for an order that it has, and the home of the order's run, whose they are.
func (f *Fleet) Fetches(name, ordered string) (refs []string, home Home, err error) {
	f.mu.Lock()
	fl := f.heardOf(name).flights[ordered]
	f.mu.Unlock()
	if fl == nil {
		return nil, nil, ErrNotYours
	}
	return slices.Clone(fl.Fetch), f.At(fl.Run.Home).Home, nil
}

// HomeOf returns the home of the run that a session belongs to.
func (f *Fleet) HomeOf(session string) Home { return f.homeOf(session).Home }
