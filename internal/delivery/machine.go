package delivery

import (
	"cmp"
	"slices"
	"time"
)

// Machine is a runner as it is at a moment. What is decided takes it as a value, like the time.
type Machine struct {
	Name     string   // "" is the box's own, which is called home
	Labels   []string // that roles can ask for
	Agents   []string // of the settings, whose programs are there
	Places   int      // how many sessions it takes at once; 0 for no limit
	Sessions int      // how many it has, of all runs
	Draining bool     // it takes nothing new
	Checks   bool     // it can run checks: it has the sandbox of the settings
	Away     bool     // nothing is heard of it: it is here so that it can be named; while home is, nothing of the run is begun anywhere
}

// Moment is what decisions take of the world besides what is recorded.
type Moment struct {
	Now      time.Time
	Machines []Machine         // all that there are; nil if there is home alone, without limits
	Gates    map[string]string // the gate's commands that are under way, by their ids: who carries each out
}

// CountOn adds how many sessions the run has on each machine, of those that work for runs with this home.
func (r *Run) CountOn(n map[string]int, home string) {
	for _, s := range r.Sessions {
		if s.Runner != "" || r.Home == home {
			n[s.Runner]++
		}
	}
}

// Loaded returns machines with the sessions that they have.
func Loaded(machines []Machine, sessions map[string]int) []Machine {
	loaded := slices.Clone(machines)
	for i := range loaded {
		loaded[i].Sessions = sessions[loaded[i].Name]
	}
	return loaded
}

// homeAway reports whether the box in whose directory the run was started is not reached. All work goes through its repository.
func (m Moment) homeAway() bool {
	return slices.ContainsFunc(m.Machines, func(o Machine) bool { return o.Name == "" && o.Away })
}

// machine returns the machine with this name; nil if it is not present.
func (m Moment) machine(name string) *Machine {
	for i := range m.Machines {
		if m.Machines[i].Name == name && !m.Machines[i].Away {
			return &m.Machines[i]
		}
	}
	return nil
}

// has reports whether a machine has all of these labels.
func (m Machine) has(labels []string) bool {
	return !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(m.Labels, l) })
}

// full reports whether a machine has no free place.
func (m Machine) full() bool { return m.Places > 0 && m.Sessions >= m.Places }

// Home is what the box's own machine is called where others have their names.
const Home = "home"

// MachineName is what a machine is called in a sentence.
func MachineName(runner string) string { return cmp.Or(runner, Home) }

// endOfWork notes where the work is that a session has left. One on a runner whose work was not handed in leaves what there
// was before; so does one at home that has said nothing since it was begun with that.
func (t *Task) endOfWork(s *Session, p Ended) {
	switch {
	case !s.Holds() || Reviewer(s.Role) || s.Over == byPerson: // a person goes on from what there was
	case p.Commit != "":
		t.at(p.Commit)
	case s.Runner != "" && s.Over == itFinished && !s.Pushed:
		t.Missing = s.Runner
	case s.Runner == "" && p.How != Broken && (s.Turn > 0 || t.Pushed == ""):
		t.leftAtHome()
	}
}

// at notes the commit that the work is at.
func (t *Task) at(commit string) { t.Pushed, t.AtHome, t.Missing = commit, false, "" }

// leftAtHome notes that a person has worked in home's worktree.
func (t *Task) leftAtHome() { t.Pushed, t.AtHome, t.Missing = "", true, "" }

// lost tells the next agent on a task what became of the one before. Nothing is counted: it is nobody's fault.
func (r *Run) lost(s *Session, t *Task) {
	if t == nil || !s.Holds() {
		return
	}
	t.Away = s.ID
	if Reviewer(s.Role) || s.Over != "" {
		return
	}
	text := "The machine " + s.Runner + ", on which the agent before you worked, was lost. "
	if t.Pushed == "" {
		text += "Nothing that it did was handed in: you begin from the start."
	} else {
		text += "You go on from the commit " + short(t.Pushed) + ", the last that was handed in; what was done after that is not there."
	}
	t.Briefs = append(t.Briefs, Brief{"lost", text})
}

// notStarted counts an agent that could not be started. At home the environment is repaired; another machine is left alone by this task, as
// long as others fit.
func (r *Run) notStarted(t *Task, s *Session, detail string) {
	if s.Runner == "" {
		r.obstacle(t, detail)
		return
	}
	if !slices.Contains(t.Unfit, s.Runner) {
		t.Unfit = append(t.Unfit, s.Runner)
	}
	t.Count.Obstacles++
	r.limit(t, t.Count.Obstacles, r.Settings.Limits.Obstacles, CauseObstacles, "agents on this task can't be started, the last one on the runner "+s.Runner, detail)
}
