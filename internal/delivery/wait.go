package delivery

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// Wait is why nobody is started on a task now; empty if nothing is in the way.
type Wait string

// The reasons, in the order in which they are looked for. [Waits] lists them.
const (
	WaitCompleted   Wait = "completed"
	WaitCancelled   Wait = "cancelled"
	WaitQuestion    Wait = "question"    // a person has to answer
	WaitEnvironment Wait = "environment" // that has to be repaired
	WaitMerge       Wait = "merge"
	WaitGate        Wait = "gate"
	WaitBlocked     Wait = "blocked"
	WaitSession     Wait = "session"    // somebody works on it
	WaitBlocker     Wait = "blocker"    // a task that the plan puts before it
	WaitNobody      Wait = "nobody"     // plays the role that is next
	WaitPerson      Wait = "person"     // who plays the role that is next, or has taken it
	WaitDependency  Wait = "dependency" // a task that it turned out to depend on
	WaitConflict    Wait = "conflict"   // another one changes the same files
	WaitPaused      Wait = "paused"
	WaitHome        Wait = "home"     // the box in whose directory the run was started, which is not reached, with the agent on the task if that is there
	WaitBaseline    Wait = "baseline" // the first checks
	WaitProvider    Wait = "provider" // whose usage limit is reached
	WaitLogin       Wait = "login"    // which its provider refuses
	WaitAgents      Wait = "agents"   // as many are at work as may be
	WaitRole        Wait = "role"     // as many are at work in the role as may be
	WaitBudget      Wait = "budget"
	WaitRunner      Wait = "runner" // that fits, and has a free place
)

// Waits lists all reasons. Whoever shows or describes tasks knows each of them.
func Waits() []Wait {
	return []Wait{
		WaitCompleted, WaitCancelled, WaitQuestion, WaitEnvironment, WaitMerge, WaitGate, WaitBlocked, WaitSession, WaitBlocker,
		WaitNobody, WaitPerson, WaitDependency, WaitConflict, WaitPaused, WaitHome, WaitBaseline, WaitProvider, WaitLogin, WaitAgents, WaitRole, WaitBudget, WaitRunner,
	}
}

// WaitsSince is when a task could first have been gone on with: when its phase or holder changed last, or the last task that the plan puts
// before it was completed, if that was later.
func (r *Run) WaitsSince(t *Task) time.Time {
	since := t.Since
	for _, id := range t.BlockedBy {
		if b := r.Task(id); b != nil && b.Item.Phase == agentsig.PhaseCompleted && b.Since.After(since) {
			since = b.Since
		}
	}
	return since
}

// Nowhere reports whether no machine that is there could go on with a task, however free it were: then a person has to do something.
func (r *Run) Nowhere(t *Task, m Moment) bool {
	role, _ := roleFor(t.Item.Phase)
	all, _ := r.suited(t, role, m)
	return !slices.ContainsFunc(all, func(o Machine) bool { return !o.Draining })
}

// Words says to a person what a task waits for. They are empty if it waits for nothing: it is over,
// or somebody works on it.
func (w Wait) Words(r *Run, t *Task, m Moment) string {
	switch w {
	case WaitQuestion:
		return "for " + cmp.Or(t.Question, "a person")
	case WaitEnvironment:
		return "for the environment"
	case WaitMerge:
		return "for its merge"
	case WaitGate:
		return "for the gate"
	case WaitBlocked:
		return "blocked"
	case WaitBlocker:
		var open []string
		for _, id := range t.BlockedBy {
			if o := r.Task(id); o != nil && o.Item.Phase != agentsig.PhaseCompleted {
				open = append(open, id)
			}
		}
		return "for " + strings.Join(open, ", ")
	case WaitNobody:
		return "for somebody in the role " + r.unplayed(t)
	case WaitPerson:
		part, role := r.Awaited(t)
		if role == RoleMerge {
			return ForApproval
		}
		return orSome(partWords[part], "for you")
	case WaitDependency:
		return "for " + t.Awaits
	case WaitConflict:
		return "for " + t.Conflict.Path
	case WaitPaused:
		return "while paused"
	case WaitHome:
		if r.Home == "" {
			return "the box whose directory the run was started in is not reached"
		}
		return "box " + r.Home + ", whose directory the run was started in, is not reached"
	case WaitBaseline:
		return "for the first checks"
	case WaitProvider:
		return "for the provider's limit"
	case WaitLogin:
		return "for a login of its provider"
	case WaitAgents, WaitRole:
		return "for a free agent"
	case WaitBudget:
		return "for the budget"
	case WaitRunner:
		role, _ := roleFor(t.Item.Phase)
		_, held := r.Place(t, role, m)
		return held
	}
	return ""
}
