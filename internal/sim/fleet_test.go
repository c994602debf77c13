package sim_test

import (
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// machines are those of a world that has more than home. They drain, are lost and come back.
type machines struct {
	machines []delivery.Machine // all there are, home first; nil if there is home alone
	away     map[string]bool    // those of which nothing is heard
	mail     []message          // what is to be said of sessions that were lost
	lost     map[string]bool    // the sessions of which that is said
	pushed   map[string]branch  // what was handed in, by its commit
}

// drawFleet gives some worlds machines.
func (w *world) drawFleet(c *config.Config) {
	w.fleet = machines{away: map[string]bool{}, lost: map[string]bool{}, pushed: map[string]branch{}}
	if !w.chance(65) {
		return
	}
	for i := range 2 + w.rand.IntN(3) {
		m := delivery.Machine{Agents: []string{"first", "second"}, Checks: w.chance(80)}
		if i > 0 {
			m.Name, m.Places = []string{"", "gpu1", "gpu2", "gpu3"}[i], w.rand.IntN(3)
			if w.chance(50) {
				m.Labels = []string{"gpu"}
			}
			if w.chance(20) {
				m.Agents = m.Agents[:1]
			}
		}
		w.fleet.machines = append(w.fleet.machines, m)
	}
	labelled := slices.ContainsFunc(w.fleet.machines, func(m delivery.Machine) bool { return len(m.Labels) > 0 && len(m.Agents) > 1 })
	if labelled && w.chance(30) { // and home has it too: work may lie there alone
		w.fleet.machines[0].Labels, c.Roles.Developer.Labels = []string{"gpu"}, []string{"gpu"}
	}
	c.Gate.Runner = pick(w, []config.GateRunner{config.GateOther, config.GateOther, config.GateAny, config.GateHome})
}

// machines are those that are present.
func (w *world) machines() []delivery.Machine {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fleet.machines == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.fleet.machines), func(m delivery.Machine) bool { return w.fleet.away[m.Name] })
}

// moment is what the box decides by.
func (w *world) moment() delivery.Moment {
	m := delivery.Moment{Now: now(), Gates: map[string]string{}}
	for id, e := range w.errands {
		if e.Do == delivery.DoGate {
			m.Gates[id] = e.Runner
		}
	}
	if present := w.machines(); present != nil {
		sessions := map[string]int{}
		w.run.CountOn(sessions, w.run.Home)
		m.Machines = delivery.Loaded(present, sessions)
	}
	return m
}

// machine is one of the world's, with what is true of it now.
func (w *world) machine(name string) (m delivery.Machine, present bool) {
	for _, m := range w.fleet.machines {
		if m.Name == name {
			return m, !w.fleet.away[name]
		}
	}
	return delivery.Machine{}, name == ""
}

// rove has a machine drain, be lost or come back.
func (w *world) rove() error {
	m := &w.fleet.machines[1+w.rand.IntN(len(w.fleet.machines)-1)]
	talks := w.talkOn()
	if talks != nil {
		m = talks
	}
	w.mu.Lock()
	switch {
	case w.fleet.away[m.Name]:
		w.reached.add("world", "machine back")
		w.tell("     %s is back", m.Name)
		w.fleet.away[m.Name] = false
	case talks != nil, w.chance(25):
		w.reached.add("world", "machine lost")
		w.tell("     %s is lost", m.Name)
		w.fleet.away[m.Name] = true
	default:
		m.Draining = !m.Draining
		w.tell("     %s drains: %v", m.Name, m.Draining)
	}
	away := w.fleet.away[m.Name]
	w.mu.Unlock()
	if away {
		w.lastWords(m.Name)
	} else {
		w.sendHome(m.Name)
	}
	w.lose()
	w.conductor.MachinesChanged()
	return w.wait()
}

// talkOn is the machine where a developer is about to go on with a conversation; nil if there is none.
func (w *world) talkOn() *delivery.Machine {
	for _, s := range sessionsOf(w.run) {
		i := slices.IndexFunc(w.fleet.machines, func(m delivery.Machine) bool { return m.Name == s.Runner })
		if s.Resumes != nil && s.Turn == 0 && i > 0 && !w.fleet.away[s.Runner] {
			return &w.fleet.machines[i]
		}
	}
	return nil
}

// gather has all machines there again, and take work.
func (w *world) gather() error {
	if w.fleet.machines == nil {
		return nil
	}
	w.lose()
	w.mu.Lock()
	for i := range w.fleet.machines {
		w.fleet.machines[i].Draining = false
	}
	clear(w.fleet.away)
	w.mu.Unlock()
	for _, m := range w.fleet.machines {
		w.sendHome(m.Name)
	}
	w.conductor.MachinesChanged()
	return w.wait()
}

// lose has it said of the sessions of machines that are away that they are lost.
func (w *world) lose() {
	for _, s := range sessionsOf(w.run) {
		if w.fleet.away[s.Runner] && !w.fleet.lost[s.ID] {
			w.fleet.lost[s.ID] = true
			w.fleet.mail = append(w.fleet.mail, message{in: delivery.End{Session: s.ID, Ended: delivery.Ended{How: delivery.Lost}}})
		}
	}
}

// sessionsOf returns the sessions of a run in the order of their names.
func sessionsOf(r *delivery.Run) (all []*delivery.Session) {
	for _, s := range r.Sessions {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *delivery.Session) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// lastWords are said by agents on a machine that nobody hears any more: they come late.
func (w *world) lastWords(machine string) {
	for _, id := range w.order {
		p := w.processes[id]
		if p.runner != machine || p.over || p.killed || len(p.asks) == 0 || !w.chance(50) {
			continue
		}
		if b := w.branches[p.task]; b != nil {
			was := *b
			w.turnOf(p)
			*b = was
			continue
		}
		w.turnOf(p)
	}
}

// sendHome ends the processes on a machine that is back whose sessions are over.
func (w *world) sendHome(machine string) {
	for _, id := range w.order {
		if p := w.processes[id]; p.runner == machine && w.fleet.lost[id] && !p.over {
			p.killed = false
			p.end(delivery.Stopped, w.usage())
		}
	}
}

// post brings what is said of a lost session to the box.
func (w *world) post() (bool, error) {
	if len(w.fleet.mail) == 0 {
		return false, nil
	}
	m := w.fleet.mail[0]
	done, err := w.hand(&m)
	if err != nil || !done {
		w.fleet.mail[0] = m
		return true, err
	}
	w.fleet.mail = w.fleet.mail[1:]
	id := m.in.(delivery.End).Session
	if p := w.processes[id]; p != nil && !p.over && !w.fleet.away[p.runner] {
		p.killed = false
		p.end(delivery.Stopped, w.usage())
	}
	return true, nil
}

// unheard reports whether a process is on a machine of which nothing is heard.
func (w *world) unheard(p *process) bool { return w.fleet.away[p.runner] }

// push hands in what a developer has done, before it says anything of that.
func (w *world) push(p *process) {
	if p.role != agentsig.RoleDeveloper || p.runner == "" || w.branches[p.task] == nil {
		return
	}
	b := *w.branches[p.task]
	w.fleet.pushed[b.commit] = b
	p.send(delivery.Pushed{Session: p.id, Commit: b.commit})
}

// commitHome has a process at home say at its end what is committed of its work, if it is of the kind.
func (w *world) commitHome(p *process, m *message) {
	end, is := m.in.(delivery.End)
	if b := w.branches[p.task]; is && p.settles && p.runner == "" && p.role == agentsig.RoleDeveloper && end.Commit == "" && b != nil {
		end.Commit = b.commit
		w.fleet.pushed[b.commit] = *b
		m.in = end
	}
}

// checked is what the gate has to look at.
func (w *world) checked(e *errand) branch {
	b := *w.branches[e.Task.ID]
	commit := e.Task.Given
	if commit == "" {
		commit = e.Task.Pushed
	}
	if old, ok := w.fleet.pushed[commit]; ok {
		return old
	}
	if commit != "" {
		b.commit = commit
	}
	return b
}

// placedWell sees that a session is started where it can be: the machine is there and takes work, and has the program, the labels and
// a free place; an expert where who asks is; and nobody who repairs, or reviews a repair, elsewhere than at home.
func (w *world) placedWell(s *sessionFacts, agent, runner string, before map[string]*sessionFacts) error {
	s.runner = runner
	if w.fleet.machines == nil {
		if runner != "" {
			return breaks("%s is started on %s, which is not there", s.id, runner)
		}
		return nil
	}
	if s.round != 0 {
		if runner != "" {
			return breaks("the environment is repaired on %s", runner)
		}
		return nil
	}
	m, present := w.machine(runner)
	n := 0
	for _, o := range before {
		if o.runner == runner && o.id != s.id {
			n++
		}
	}
	role := w.config.Role(s.role)
	switch {
	case !present:
		return breaks("%s is started on %q, which is not there", s.id, runner)
	case !slices.Contains(m.Agents, agent):
		return breaks("%s is started on %q, which has no %s", s.id, runner, agent)
	case s.request != "":
		return nil
	case m.Draining:
		return breaks("%s is started on %q, which is draining", s.id, runner)
	case m.Places > 0 && n >= m.Places:
		return breaks("%s is started on %q, which has %d sessions of %d", s.id, runner, n, m.Places)
	case slices.ContainsFunc(role.Labels, func(l string) bool { return !slices.Contains(m.Labels, l) }):
		return breaks("%s is started on %q, which is not labelled %v", s.id, runner, role.Labels)
	}
	if runner != "" {
		w.reached.add("world", "started elsewhere")
	}
	return nil
}

// seePlace looks where a session is started.
func (w *world) seePlace(session string, payload any) error {
	s := w.judge.live[session]
	if s == nil {
		return nil
	}
	switch p := payload.(type) {
	case work.Granted:
		if p.Agent == delivery.Person {
			return nil
		}
		if t := w.judge.byID[s.task]; t != nil && p.Resumes != "" && w.judge.sessions[p.Resumes].runner != p.Runner {
			return breaks("%s goes on on %q with a conversation that is on %q", s.id, p.Runner, w.judge.sessions[p.Resumes].runner)
		}
		return w.placedWell(s, p.Agent, p.Runner, w.judge.live)
	case delivery.Granted:
		if c := w.judge.calls[p.Request]; c != nil && w.judge.sessions[c.session].runner != p.Runner {
			return breaks("the expert %s is started on %q, and who asks is on %q", s.id, p.Runner, w.judge.sessions[c.session].runner)
		}
		return w.placedWell(s, p.Agent, p.Runner, w.judge.live)
	}
	return nil
}
