package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/english"
)

// kind is what a person takes a task for. The kinds are in the order in which they
// are shown if there is no room for all.
type kind int

const (
	working kind = iota // an agent, the gate or a merge
	asking              // a person
	troubled
	ready // for a free agent
	waiting
	cancelled
	done
)

// kindWords name tasks that are counted and not shown.
var kindWords = []string{"at work", "asking", "blocked", "ready", "waiting", "cancelled", "done"}

// kinds is what a task is taken for, by what it waits for. One that waits for what this
// view does not know, as a newer box may say, is taken for waiting.
var kinds = map[delivery.Wait]kind{
	"":                       ready,
	delivery.WaitCompleted:   done,
	delivery.WaitCancelled:   cancelled,
	delivery.WaitQuestion:    asking,
	delivery.WaitEnvironment: troubled,
	delivery.WaitMerge:       working,
	delivery.WaitGate:        working,
	delivery.WaitBlocked:     troubled,
	delivery.WaitSession:     working,
	delivery.WaitBlocker:     waiting,
	delivery.WaitNobody:      waiting,
	delivery.WaitPerson:      asking,
	delivery.WaitDependency:  waiting,
	delivery.WaitConflict:    waiting,
	delivery.WaitPaused:      waiting,
	delivery.WaitHome:        waiting,
	delivery.WaitBaseline:    waiting,
	delivery.WaitProvider:    waiting,
	delivery.WaitLogin:       waiting,
	delivery.WaitAgents:      ready,
	delivery.WaitRole:        ready,
	delivery.WaitBudget:      waiting,
	delivery.WaitRunner:      waiting,
}

func kindOf(r api.Run, t api.Task) kind {
	k, known := kinds[t.Why]
	switch {
	case t.Phase == agentsig.PhaseCompleted:
		return done
	case r.State == api.RunFinished:
		return cancelled
	case k == cancelled, k == asking:
		return k
	case t.Agent != nil:
		return working
	case t.Phase == agentsig.PhaseBlocked && k != working:
		return troubled
	case !known, t.Why == delivery.WaitEnvironment && r.Trouble == "":
		return waiting
	}
	return k
}

// mark is a kind's sign and its colour.
func (k kind) mark() span {
	switch k {
	case working:
		return span{cyan, "●"}
	case asking:
		return span{important, "?"}
	case troubled:
		return span{red, "!"}
	case cancelled:
		return span{red, "✗"}
	case done:
		return span{green, "✓"}
	}
	return span{dim, "○"}
}

// text is the style of what is said about a task.
func (k kind) text() string {
	switch k {
	case waiting, cancelled, done:
		return dim
	}
	return plain
}

// noChange is what is said of a task that was completed without a change.
const noChange = "no change"

// row is a line of the table of tasks.
type row struct {
	kind      kind
	task      bool // and not an agent that holds none
	id, title string
	status    string
	agent     string // beside the status, if there is room
	figure    string // how long, or how much
	note      line
}

// rowOf says what there is to say about a task.
func rowOf(r api.Run, t api.Task, now time.Time) row {
	w := row{kind: kindOf(r, t), task: true, id: t.ID, title: t.Title}
	switch w.kind {
	case done:
		w.status = "done"
		if t.NoChange != "" {
			w.status = noChange
		}
	case cancelled:
		w.status = "left"
		if t.Why == delivery.WaitCancelled {
			w.status = "cancelled"
		}
		if r.Outcome == delivery.Completed {
			w.status = "dropped"
		}
		for _, b := range r.Tasks {
			if slices.Contains(t.BlockedBy, b.ID) && kindOf(r, b) == cancelled {
				w.status = "left: " + b.ID + " is cancelled"
			}
		}
	case asking:
		w.status = waits(t, "for an answer")
		for _, q := range r.Questions {
			if q.Task == t.ID && q.Asks() {
				w.status, w.agent = "asks you", "("+q.ID+")"
			}
			if q.Task == t.ID && q.Kind == string(delivery.PartGive) {
				w.note = line{{cyan, q.Command()}}
			}
		}
		w.figure = elapsed(t.Since, now)
	case working:
		w.figure = elapsed(t.Since, now)
		switch {
		case t.Agent != nil:
			w.status, w.agent, w.figure, w.note = string(t.Agent.Role), t.Agent.Name, elapsed(t.Agent.StartedAt, now), noteOf(*t.Agent, now)
			if t.Waits.Reason == delivery.WaitHome { // whether the agent is at work nobody knows
				w.note = line{{red, t.Waits.Text}}
			}
		case t.Why == delivery.WaitGate && r.Checks == 0:
			w.status = "gate, no checks"
		case t.Why == delivery.WaitGate:
			w.status = "gate, " + english.Count(r.Checks, "check")
		case t.Why == delivery.WaitMerge:
			w.status = "merge"
		default:
			w.status = "at work"
		}
	case ready:
		w.status = waits(t, "")
	case troubled:
		w.status = waits(t, "for the environment")
		if t.Why == delivery.WaitBlocked {
			w.status = "blocked"
		}
		w.figure = elapsed(t.Since, now)
	case waiting:
		w.status = waits(t, "for "+strings.Join(t.BlockedBy, ", "))
		if t.Waits.Reason == delivery.WaitRunner || t.Waits.Reason == delivery.WaitHome {
			w.status, w.figure = strings.TrimSpace("waits "+minutes(t.Waits.Since, now)), ""
			w.note = line{{yellow, t.Waits.Text}} // which is read to its end: it has a line of its own where that is needed
		}
	}
	if t.Rework > 0 && w.kind != done && w.kind != cancelled {
		w.note = join(line{{yellow, fmt.Sprintf("sent back %d×", t.Rework)}}, w.note)
	}
	return w
}

// minutes is how long something waits, if that is a minute or more.
func minutes(from, to time.Time) string {
	if d := to.Sub(from); !from.IsZero() && d >= time.Minute {
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return ""
}

// waits says what a task waits for, and what for it will be taken up again.
func waits(t api.Task, what string) string {
	if t.Waits.Text != "" {
		what = t.Waits.Text
	}
	next := ""
	switch t.Phase {
	case agentsig.PhaseReadyForReview, agentsig.PhaseReview:
		if what != delivery.ForReview { // which says it
			next = "review"
		}
	case agentsig.PhaseReadyForMerge:
		if what != delivery.ForApproval { // it is audited
			next = "audit"
		}
	}
	switch {
	case what == "" && next == "":
		return "ready"
	case what == "":
		return "ready for " + next
	case next == "":
		return "waits " + what
	}
	return next + " waits " + what
}

// noteOf says what is special about an agent, and then its own last line.
func noteOf(a api.Agent, now time.Time) line {
	var l line
	if a.Runner != "" {
		l = line{{dim, "on " + a.Runner}}
	}
	switch {
	case a.Away && a.Says == "" && now.Sub(a.StartedAt) < startTime:
		l = join(l, line{{dim, "starting"}})
	case a.Away:
		l = join(l, line{{red, "no answer"}})
	case !a.QuietFrom.IsZero() && now.Sub(a.QuietFrom) >= quietTime && a.Waiting == "" && a.Ending == "":
		l = join(l, line{{yellow, fmt.Sprintf("no answer for %d min", int(now.Sub(a.QuietFrom).Minutes()))}})
	}
	if a.Ending != "" {
		l = join(l, line{{yellow, "ending: " + a.Ending}})
	}
	if a.Waiting != "" {
		l = join(l, line{{yellow, "waits for expert request " + a.Waiting}})
	}
	if a.Asked != "" {
		l = join(l, line{{yellow, "asked for its " + a.Asked}})
	}
	if said := strings.TrimSpace(a.Says); said != "" {
		l = join(l, line{{plain, said}})
	}
	return l
}

// quietTime is how long nothing may be heard of an agent before that is said.
const quietTime = 2 * time.Minute

// startTime is how long an agent may take until it is heard of first.
const startTime = 30 * time.Second

// rowOfOther is the row of an agent that holds no task.
func rowOfOther(a api.Agent, now time.Time) row {
	w := row{kind: working, id: a.Task, status: string(a.Role), agent: a.Name, figure: elapsed(a.StartedAt, now), note: noteOf(a, now)}
	switch a.Role {
	case agentsig.RoleRemediation:
		w.title = "Repair of the environment"
	case agentsig.RoleHealthAuditor:
		w.title, w.status = "Audit of the repair", "health auditor"
	case agentsig.RoleCritic:
		w.title = "Review of the repair"
	case agentsig.RoleExpert:
		w.title = "Advice"
	}
	return w
}

// repairLine says what was merged for the environment.
func repairLine(r api.Repair) line {
	what := fmt.Sprintf("%s as %s, %s", shortCommit(r.Commit), shortCommit(r.Merge), english.Count(r.Files, "file"))
	if len(r.Names) > 0 {
		what += ": " + strings.Join(r.Names, ", ")
	}
	return line{{yellow, "! repair of the environment merged: "}, {plain, what}}
}

// join puts a dot between two parts of a line, if there are two.
func join(a, b line) line {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	return append(append(a, span{dim, " · "}), b...)
}
