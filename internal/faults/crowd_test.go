package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// patience is for how long a client asks again before it gives up. To give up is
// a failure: nobody knows what became of the request then.
const patience = 2 * time.Minute

// request is what a client asked for, and the answer.
type request struct {
	mark    string // stands in the event that it leads to, and in no other
	outcome outcome
	err     error // why it was refused, or is unresolved

	// What was acknowledged, as far as the answer says it.
	event   string
	seq     uint64
	subject string
	session string
	token   work.Token
	phase   agentsig.Phase // after the event, or that the session holds
}

type outcome int

const (
	underway   outcome = iota // not answered yet
	acked                     // recorded
	refused                   // answered, and not recorded
	failed                    // the box says that it failed: recorded or not
	abandoned                 // the client went away by itself
	unresolved                // the client gave up
)

// crowd is clients that work on a box, and what they were told.
type crowd struct {
	address     string
	token, gate string
	progress    chan struct{} // gets one for an acknowledgement, if anybody waits for it
	running     sync.WaitGroup
	finish      context.CancelFunc // no new requests; claims that wait are abandoned
	leave       context.CancelFunc // all requests are abandoned

	mu               sync.Mutex
	requests         []*request
	claimed, pending []string // works
}

// gather lets so many clients begin to work on the box behind an address.
func gather(ctx context.Context, address, token, gate string, clients int, seed uint64) *crowd {
	c := &crowd{address: address, token: token, gate: gate, progress: make(chan struct{})}
	ctx, c.leave = context.WithCancel(ctx)
	open, finish := context.WithCancel(ctx)
	c.finish = finish
	for n := range clients {
		c.running.Go(func() { c.work(ctx, open, n, rand.New(rand.NewPCG(seed, uint64(n)))) })
	}
	return c
}

// until returns when the clients got at least so many acknowledgements more.
func (c *crowd) until(ctx context.Context, more int) error {
	for range more {
		select {
		case <-c.progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// disperse lets the clients finish what they are at, and returns when they have.
func (c *crowd) disperse() {
	c.finish()
	c.running.Wait()
	c.leave()
}

// told returns what the clients were told so far.
func (c *crowd) told() []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]request, len(c.requests))
	for i, r := range c.requests {
		all[i] = *r
	}
	return all
}

// member is one client.
type member struct {
	*crowd
	name       string
	open       context.Context // ends when no more is to be asked for
	chance     *rand.Rand
	box, gate  *api.Client
	mayWait    bool
	asked      int
	transcript []byte
}

func (c *crowd) work(ctx, open context.Context, n int, chance *rand.Rand) {
	m := &member{
		crowd: c, name: fmt.Sprintf("c%d", n), open: open, chance: chance, mayWait: n%2 == 1,
		box:        api.NewClient(c.address, c.token).WithPatience(patience),
		gate:       api.NewClient(c.address, c.gate).WithPatience(patience),
		transcript: bytes.Repeat([]byte("The tests pass, and the change does what was asked for.\n"), 400),
	}
	defer m.box.Close()
	defer m.gate.Close()
	// A box remembers the last few requests on an item. With too few items, others
	// would make so many before a client asks again.
	for range 16 {
		m.add(ctx)
	}
	for open.Err() == nil {
		switch chance.IntN(10) {
		case 0, 1:
			m.add(ctx)
		case 2:
			m.override(ctx)
		case 3, 4:
			m.report(ctx)
		default:
			m.session(ctx)
		}
	}
}

// ask notes a request, makes it, and notes what came of it.
func (m *member) ask(ctx context.Context, mark string, call func(r *request) error) bool {
	r := &request{mark: mark}
	m.mu.Lock()
	m.requests = append(m.requests, r)
	m.mu.Unlock()
	answer := *r
	err := call(&answer)
	var p *api.Problem
	switch {
	case err == nil && answer.event == "":
		answer.outcome = refused
	case err == nil:
		answer.outcome = acked
	case ctx.Err() != nil:
		answer.outcome = abandoned
	case errors.As(err, &p) && p.Code == api.CodeInternal:
		answer.outcome, answer.err = failed, err
	case errors.As(err, &p) && p.Code != api.CodeUnknown && p.Code != api.CodeStopping:
		answer.outcome, answer.err = refused, err
	default:
		answer.outcome, answer.err = unresolved, err
	}
	m.mu.Lock()
	*r = answer
	m.mu.Unlock()
	if answer.outcome != acked {
		return false
	}
	select {
	case m.progress <- struct{}{}:
	default:
	}
	return true
}

// mark makes a text that no other request has.
func (m *member) mark() string {
	m.asked++
	return fmt.Sprintf("%s.%d", m.name, m.asked)
}

func (m *member) add(ctx context.Context) {
	phases := []agentsig.Phase{agentsig.PhaseDraft, agentsig.PhaseImplementation, agentsig.PhaseReadyForReview, agentsig.PhaseCIPending}
	phase := phases[m.chance.IntN(len(phases))]
	mark := m.mark()
	m.ask(ctx, mark, func(r *request) error {
		w, err := m.box.Add(ctx, api.AddWork{ID: mark, Title: mark, Phase: phase})
		if err != nil {
			return err
		}
		r.event, r.subject = work.WorkAdded, w.Subject
		if phase == agentsig.PhaseCIPending {
			m.note(&m.pending, mark)
		}
		return nil
	})
}

func (m *member) note(list *[]string, item string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*list = append(*list, item)
}

// override moves one of the items that were claimed last, so that sessions lose
// their leases.
func (m *member) override(ctx context.Context) {
	m.mu.Lock()
	latest := m.claimed[max(0, len(m.claimed)-clients):]
	item := ""
	if len(latest) > 0 {
		item = latest[m.chance.IntN(len(latest))]
	}
	m.mu.Unlock()
	if item == "" {
		return
	}
	phase := agentsig.Phases()[m.chance.IntN(len(agentsig.Phases()))]
	mark := m.mark()
	m.ask(ctx, mark, func(r *request) error {
		return r.recorded(m.box.Override(ctx, item, api.Override{Phase: phase, Reason: mark}))
	})
}

func (m *member) report(ctx context.Context) {
	m.mu.Lock()
	item := ""
	if n := len(m.pending); n > 0 {
		item = m.pending[n-1]
		m.pending = m.pending[:n-1]
	}
	m.mu.Unlock()
	if item == "" {
		return
	}
	mark := fmt.Sprintf("%040x", m.mark())
	result := []string{"pass", "pass", "fail"}[m.chance.IntN(3)]
	m.ask(ctx, mark, func(r *request) error {
		return r.recorded(m.gate.Report(ctx, item, api.Report{Commit: mark, Result: result}))
	})
}

func (r *request) recorded(a api.Recorded, err error) error {
	r.event, r.seq, r.phase = a.Event, a.Sequence, a.Phase
	return err
}

// session claims something and ends that in one of the ways there are.
func (m *member) session(ctx context.Context) {
	var g api.Grant
	mark := m.mark()
	role := []agentsig.Role{"", "", agentsig.RoleCritic, agentsig.RoleDeveloper}[m.chance.IntN(4)]
	wait, waiting := m.mayWait && m.chance.IntN(2) == 0, ctx
	if wait {
		waiting = m.open
	}
	if !m.ask(waiting, mark, func(r *request) (err error) {
		g, err = m.box.Claim(waiting, api.Claim{Actor: mark, Role: role, Wait: wait})
		r.event, r.session, r.token, r.phase = work.LeaseGranted, g.Session, g.Token, g.Phase
		return err
	}) {
		return
	}
	m.note(&m.claimed, g.Work)
	if m.chance.IntN(5) == 0 {
		m.ask(ctx, releaseMark(g.Session), func(r *request) error {
			return r.recorded(m.box.Release(ctx, g.Session))
		})
		return
	}
	mark = m.mark()
	reason := agentsig.ExitCompleted
	if m.chance.IntN(10) == 0 {
		reason = agentsig.ExitReasons()[m.chance.IntN(3)]
	}
	exit, err := agentsig.NewExitSignal(g.Phase, reason).WithNotes(mark).JSON()
	if err != nil {
		panic(err) // one of our own phases
	}
	output := append(slices.Clone(exit), '\n')
	if m.chance.IntN(8) == 0 {
		output = slices.Concat(m.transcript, exit, []byte("\n"))
	}
	m.ask(ctx, mark, func(r *request) error {
		e, err := m.box.Emit(ctx, g.Session, output)
		r.event, r.seq, r.session, r.token = e.Event, e.Sequence, g.Session, g.Token
		if e.Accepted {
			r.phase = e.NextPhase
		}
		if e.NextPhase == agentsig.PhaseCIPending {
			m.note(&m.pending, e.Work)
		}
		return err
	})
}

// releaseMark is what only the release of a session has.
func releaseMark(session string) string { return "release " + session }
