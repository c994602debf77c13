package sim_test

import (
	"errors"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// process is a session's process. It outlives a restart of the box.
type process struct {
	id       string
	subject  string // of the task's item, or of the run
	role     agentsig.Role
	task     string
	request  string
	asks     []delivery.Ask // what it has been told and not dealt with; "" is its first prompt
	turn     int
	reports  int
	outbox   []message
	over     bool // it says nothing more but what is in its outbox
	killed   bool // it left no word of its end
	manner   manner
	runner   string // that it is on
	settles  bool   // what it leaves at home is committed
	stubborn bool   // it does not stop when it is told to
	used     delivery.Usage
	talk     *delivery.Conversation // that its program can go on with
}

// message is kept until it is acknowledged.
type message struct {
	in    delivery.Input
	taken bool // the box has dealt with it: something came of it
}

func (p *process) send(in delivery.Input) { p.outbox = append(p.outbox, message{in: in}) }

func (p *process) end(how delivery.How, usage delivery.Usage) {
	if !p.over {
		p.over = true
		usage.Add(p.used)
		p.send(delivery.End{Session: p.id, Ended: delivery.Ended{How: how, Detail: "exit status 1", Usage: usage, Conversation: p.talk}})
	}
}

// start makes the session's process, unless its file is there. One that was killed
// is found to be gone.
func (w *world) start(s *delivery.Session) *process {
	p := w.processes[s.ID]
	if p == nil {
		p = &process{id: s.ID, subject: w.subject, role: s.Role, task: s.Task, request: s.Request, asks: []delivery.Ask{""}, manner: w.mannerOf(s.Role), runner: s.Runner, settles: w.fleet.machines != nil && w.chance(70), stubborn: w.chance(5)}
		if t := w.run.Task(s.Task); t != nil {
			p.subject = t.Item.Subject
		}
		w.processes[s.ID] = p
		w.order = append(w.order, s.ID)
		if !w.calm && w.chance(1) {
			p.end(delivery.Broken, delivery.Usage{})
		}
		p.talk = w.conversation(s)
		w.forgets(p, s)
	}
	if p.killed {
		p.killed, p.talk = false, nil
		p.end(pick(w, []delivery.How{delivery.Crashed, delivery.Orphaned}), delivery.Usage{})
	}
	return p
}

func (w *world) usage() delivery.Usage {
	return delivery.Usage{InputTokens: int64(w.rand.IntN(60)), OutputTokens: int64(w.rand.IntN(30)), CostUSD: w.rand.Float64() / 2}
}

// act lets a process take its turn.
func (w *world) act() bool {
	if len(w.order) == 0 {
		return false
	}
	from := w.rand.IntN(len(w.order))
	for i := range w.order {
		p := w.processes[w.order[(from+i)%len(w.order)]]
		if !p.over && !p.killed && len(p.asks) > 0 && !w.unheard(p) {
			w.turnOf(p)
			return true
		}
	}
	return false
}

// crash ends processes that have something left to say.
func (w *world) crash() {
	for _, id := range w.order {
		if p := w.processes[id]; len(p.outbox) > 0 && w.chance(50) {
			p.end(delivery.Crashed, w.usage())
		}
	}
}

// deliver brings one message to the box. What was dealt with before may change
// nothing.
func (w *world) deliver() (bool, error) {
	if len(w.strays) > 0 && !w.calm && w.chance(20) {
		i := w.rand.IntN(len(w.strays))
		_, err := w.hand(&w.strays[i])
		return true, err
	}
	if len(w.fleet.mail) > 0 && w.chance(40) {
		return w.post()
	}
	if len(w.order) == 0 {
		return false, nil
	}
	from := w.rand.IntN(len(w.order))
	for i := range w.order {
		p := w.processes[w.order[(from+i)%len(w.order)]]
		if len(p.outbox) == 0 || w.unheard(p) {
			continue
		}
		return true, w.deliverFrom(p)
	}
	return false, nil
}

func (w *world) deliverFrom(p *process) error {
	i := 0
	if _, first := p.outbox[0].in.(delivery.Pushed); !first && !w.calm && len(p.outbox) > 1 && w.chance(20) {
		w.reached.add("world", "message overtaken")
		i = 1 + w.rand.IntN(len(p.outbox)-1)
		if w.fault.times == 0 && w.chance(50) { // if it is the end, its item is not given back for a while
			w.fault = fault{in: 3, on: work.LeaseReleased, times: 1, kind: conflict}
		}
	}
	m := &p.outbox[i]
	w.commitHome(p, m)
	if !w.calm && w.chance(8) {
		w.reached.add("world", "message lost")
		return nil
	}
	if done, err := w.hand(m); err != nil || !done {
		return err
	}
	if !w.calm && w.chance(10) {
		w.reached.add("world", "acknowledgement lost")
		return nil
	}
	if _, push := m.in.(delivery.Pushed); !push && !w.calm && w.chance(10) { // a runner's own words come in their order
		w.strays = append(w.strays, *m)
	}
	p.outbox = slices.Delete(p.outbox, i, i+1)
	return nil
}

// prepare counts what an input will lead to.
func (w *world) prepare(in delivery.Input) (message, error) {
	writes, err := w.run.Decide(in, now())
	if err != nil {
		return message{}, err
	}
	w.noteHandled(in, len(writes))
	return message{in: in, taken: len(writes) > 0}, nil
}

// hand gives a message to the box. Something comes of it once.
func (w *world) hand(m *message) (done bool, err error) {
	if w.run.Finished != nil {
		return true, nil // nobody is there to take it
	}
	if _, err := w.run.Decide(m.in, now()); errors.Is(err, delivery.ErrSessionOver) {
		w.reached.add("world", "call refused")
		err := w.conductor.HandIn(background, w.subject, m.in)
		if settled := w.wait(); settled != nil {
			return false, settled
		}
		if !errors.Is(err, delivery.ErrSessionOver) {
			return false, breaks("a call of a session that is over: %v", err)
		}
		return true, nil // it is not made
	}
	if m.taken {
		w.reached.add("world", "message doubled")
		if err := w.comesToNothing(m.in); err != nil {
			return false, err
		}
	}
	this, err := w.prepare(m.in)
	if err != nil {
		return false, err
	}
	w.excused = false
	err = w.conductor.HandIn(background, w.subject, m.in)
	if settled := w.wait(); settled != nil {
		return false, settled
	}
	if err != nil && !w.excused {
		return false, breaks("%T is refused: %T", m.in, err)
	}
	m.taken = m.taken || err == nil && this.taken
	return err == nil, nil
}

// comesToNothing looks what follows from what the box has dealt with. A late result is all that may:
// the record remembers only so many requests.
func (w *world) comesToNothing(in delivery.Input) error {
	writes, err := w.run.Decide(in, now())
	if err != nil {
		return err
	}
	for _, d := range writes {
		if end, ok := d.Do.(work.End); ok && !w.ledger.Item(d.Item).Holds(end.Token) {
			continue
		}
		return breaks("%T is handed in again, and leads to %s%T: %+v", in, d.Event.Type, d.Do, in)
	}
	return nil
}

// expire takes the lease of a session that was out of touch.
func (w *world) expire() error {
	for _, t := range w.run.Tasks {
		if t.Item.Lease != nil && !t.Item.Lease.ByPerson() && w.chance(50) {
			item, token := t.Item.Subject, t.Item.Lease.Token
			if err := w.pass(10 * time.Minute); err != nil {
				return err
			}
			if !w.ledger.Item(item).Holds(token) {
				return nil
			}
			return w.byHand(item, work.Expire{Token: token})
		}
	}
	return nil
}

// byHand records something on an item that no conductor asked for.
func (w *world) byHand(item string, do work.Command) error {
	_ = w.ledger.Record(item, do) // it may not be recorded, and nobody tries again
	return w.wait()
}

// connect has a session get in touch with the box.
func (w *world) connect() error {
	alive := w.Alive()
	if len(alive) == 0 || w.run.Finished != nil {
		return nil
	}
	s, err := w.conductor.LiveSession(pick(w, alive))
	if err == nil {
		_, _, err = s.Connect()
	}
	_ = err // the box may have forgotten the session
	return w.wait()
}

// noteHandled counts what an input was and whether anything came of it.
func (w *world) noteHandled(in delivery.Input, writes int) {
	switch in := in.(type) {
	case delivery.Turn:
		if writes > 0 {
			w.reached.add("signal", string(in.Verdict))
		} else {
			w.reached.add("world", "turn without effect")
		}
	case delivery.Note:
		if writes > 0 {
			w.reached.add("signal", string(in.Said.Signal))
		}
	case delivery.GateRan, delivery.MergeRan, delivery.BaselineRan, delivery.RepairRan, delivery.RepairMergeRan:
		if writes == 0 {
			w.reached.add("world", "result without effect")
		}
	}
}
