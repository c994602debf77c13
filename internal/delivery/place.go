package delivery

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// Place says on which machine an agent in a role is started on a task; or what keeps it from that, in words.
//
// A machine fits if it has the labels that the role wants and the agent's program, has a free place and takes new work. Work
// of which there is no commit ([Task.AtHome]) is gone on with at home. Of those that fit, one on which agents of this task could
// not be started comes last; who has the developer's conversation and worktree comes first; then who has the smallest part of its places
// taken, then by name, home before all others.
func (r *Run) Place(t *Task, role agentsig.Role, m Moment) (runner, held string) {
	if m.Machines == nil {
		if labels := r.Settings.Roles[role].Labels; len(labels) > 0 { // which home has not
			return "", "no runner" + labelled(labels)
		}
		return "", ""
	}
	fits, held := r.fitting(t, role, m)
	if held != "" {
		return "", held
	}
	after := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	best := slices.MinFunc(fits, func(a, b Machine) int {
		return cmp.Or(
			after(slices.Contains(t.Unfit, a.Name))-after(slices.Contains(t.Unfit, b.Name)),
			after(!t.roomOn(role, a))-after(!t.roomOn(role, b)),
			cmp.Compare(a.Sessions*r.places(b), b.Sessions*r.places(a)),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return best.Name, ""
}

// places is how many sessions a machine is taken to be good for: one without a limit, for as many as the run has agents.
func (r *Run) places(m Machine) int { return max(1, cmp.Or(m.Places, r.Settings.Limits.Agents)) }

// roomOn reports whether a machine has the worktree, and the conversation, that who comes next can go on with.
func (t *Task) roomOn(role agentsig.Role, m Machine) bool {
	return role == agentsig.RoleDeveloper && t.Developer.Session != "" && t.Developer.Runner == m.Name
}

// fitting returns the machines that an agent in a role can be started on for a task; if there is none, why.
func (r *Run) fitting(t *Task, role agentsig.Role, m Moment) (fits []Machine, held string) {
	all, held := r.suited(t, role, m)
	if held != "" {
		return nil, held
	}
	return open(all)
}

// suited returns the machines that are there and can have an agent in a role for a task, however busy they are; if there is none, why.
func (r *Run) suited(t *Task, role agentsig.Role, m Moment) (all []Machine, held string) {
	p := r.Settings.Roles[role]
	all, held = able(p.Labels, p.Agent, m.Machines)
	if held != "" {
		return nil, held
	}
	if t.AtHome && !Reviewer(role) {
		all = slices.DeleteFunc(all, func(o Machine) bool { return o.Name != "" })
		if len(all) == 0 {
			return nil, "what was done lies at " + Home + " alone, which has no " + p.Agent + labelled(p.Labels)
		}
	}
	return all, ""
}

// Fits returns the machines on which an agent can be started that wants these labels; if there is none, why.
func Fits(labels []string, agent string, machines []Machine) (fits []Machine, held string) {
	all, held := able(labels, agent, machines)
	if held != "" {
		return nil, held
	}
	return open(all)
}

// labelled says which labels a machine is to have.
func labelled(labels []string) string {
	switch len(labels) {
	case 0:
		return ""
	case 1:
		return " with the label " + labels[0]
	}
	return " with the labels " + strings.Join(labels, ", ")
}

// able returns the machines that are present and have these labels and an agent's program; if there is none, why.
func able(labels []string, agent string, machines []Machine) (all []Machine, held string) {
	var away []Machine // that could do it, as far as is known
	for _, o := range machines {
		switch {
		case !o.has(labels):
		case !o.Away:
			all = append(all, o)
		case o.Agents == nil || slices.Contains(o.Agents, agent):
			away = append(away, o)
		}
	}
	held = "no runner" + labelled(labels)
	if len(all) > 0 {
		held += " has " + agent
	}
	all = slices.DeleteFunc(all, func(o Machine) bool { return !slices.Contains(o.Agents, agent) })
	switch {
	case len(all) > 0:
		return all, ""
	case len(away) == 1:
		return nil, MachineName(away[0].Name) + " is not there"
	case len(away) > 1:
		return nil, "none of the runners that fit is there"
	}
	return nil, held
}

// open returns the machines that take something new now; if there is none, why.
func open(all []Machine) (fits []Machine, held string) {
	full, draining := 0, 0
	for _, o := range all {
		switch {
		case o.Draining:
			draining++
		case o.full():
			full++
		default:
			fits = append(fits, o)
		}
	}
	if len(fits) > 0 {
		return fits, ""
	}
	who := "all runners that fit are "
	if len(all) == 1 {
		who = MachineName(all[0].Name) + " is "
	}
	switch {
	case draining == 0:
		return nil, who + "full"
	case full == 0:
		return nil, who + "draining"
	}
	return nil, who + "full or draining"
}

// resumesOn returns whose conversation a developer goes on with that is started on a machine, or why it begins afresh.
func (r *Run) resumesOn(t *Task, agent, runner string, m Moment) (session, fresh string) {
	session, fresh = r.goesOn(t, agent)
	on := t.Developer.Runner
	if session == "" || on == runner {
		return session, fresh
	}
	fresh = "its conversation is on " + MachineName(on)
	switch o := m.machine(on); {
	case o == nil:
		fresh += ", which is not there"
	case o.Draining:
		fresh += ", which is draining"
	case o.full():
		fresh += ", which is full"
	}
	return "", fresh
}

// expertOn says whether an expert can be started where its requester is: it can now, it never can for a reason, or neither. What goes on
// there already makes room for who helps with it.
func (r *Run) expertOn(runner string, m Moment) (can bool, never string) {
	agent := r.Settings.Roles[agentsig.RoleExpert].Agent
	switch o := m.machine(runner); {
	case m.Machines == nil:
		return true, ""
	case o == nil:
		return false, "" // it comes back, or its sessions end
	case !slices.Contains(o.Agents, agent):
		return false, "there is no " + agent + " on " + MachineName(runner) + ", where the agent is that asks"
	}
	return true, ""
}

// The settings of where the gate runs the checks; empty is another machine than the developer's.
const (
	GateAny  = "any"
	GateHome = "home"
)

// GateOn says on which machine the gate runs the checks on a task: one that can, and another than where the work was done if
// there is one. A command that is under way stays where it is for as long as that machine is there. Otherwise the choice depends
// on the task and on who is there, and on nothing else: the same machines lead to the same choice, also after a restart.
// Work of which no commit is known is checked at home, which commits it.
func (r *Run) GateOn(t *Task, m Moment) string {
	commit := t.checked()
	if m.Machines == nil || commit == "" || t.Unpushed != "" || r.Settings.Gate == GateHome {
		return ""
	}
	if on, ok := m.Gates[t.command(DoGate)]; ok && (on == "" || m.machine(on) != nil) {
		return on
	}
	able := slices.DeleteFunc(slices.Clone(m.Machines), func(o Machine) bool { return !o.Checks || o.Draining || o.Away })
	if others := slices.DeleteFunc(slices.Clone(able), func(o Machine) bool { return o.Name == t.author() }); len(others) > 0 && r.Settings.Gate != GateAny {
		able = others
	}
	if len(able) == 0 {
		return ""
	}
	return slices.MaxFunc(able, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(drawn(t.ID, a.Name), drawn(t.ID, b.Name)), cmp.Compare(b.Name, a.Name))
	}).Name
}

// drawn is a number that a task and a machine have together: the largest one wins, and who comes or goes changes nothing between the
// others.
func drawn(task, machine string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(task + "\x00" + machine)) // which never fails
	n := h.Sum64()
	n ^= n >> 33 // the last bytes alone do not move the first bits far
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	return n
}

// checked is the commit that the gate looks at, if it is known before: what a person handed in, or what the last session did.
func (t *Task) checked() string { return cmp.Or(t.Given, t.Pushed) }

// author is the machine where what the gate looks at was done.
func (t *Task) author() string {
	if t.Given != "" {
		return "" // a person works at home
	}
	return t.Developer.Runner
}
