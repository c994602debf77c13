package delivery

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// Command is something that should be under way outside. ID stays the same for as
// long as it is due.
type Command struct {
	ID      string
	Do      Verb
	Session *Session // of Start, Prompt and End
	Task    *Task    // of Gate and Merge
	Repair  *Repair  // of MergeRepair
	N       int      // of AddTask: which task of the plan
	Runner  string   // who carries it out; "" for home
}

// Verb is what a command does.
type Verb string

// The verbs; the package's comment says how each is carried out once.
const (
	DoStart       Verb = "start"
	DoPrompt      Verb = "prompt"
	DoEnd         Verb = "end"
	DoGate        Verb = "gate"
	DoMerge       Verb = "merge"
	DoBaseline    Verb = "baseline"
	DoMergeRepair Verb = "merge_repair"
	DoAddTask     Verb = "add_task"
	DoPublish     Verb = "publish"
)

// Commands lists what should be under way outside, in a stable order, and who carries it out.
func (r *Run) Commands(m Moment) []Command {
	if !r.Live() {
		return nil
	}
	var all []Command
	if !r.Planned() && r.Stopping == "" {
		all = append(all, Command{ID: fmt.Sprintf("add/%d", len(r.Tasks)), Do: DoAddTask, N: len(r.Tasks)})
		if len(r.Added) == 0 {
			return all
		}
	}
	for _, s := range r.Sessions {
		switch {
		case s.Over != "":
			all = append(all, Command{ID: "end/" + s.ID, Do: DoEnd, Session: s, Runner: s.Runner})
			continue
		case s.Prompt != nil && !s.Prompt.Delivered:
			all = append(all, Command{ID: s.Prompt.ID, Do: DoPrompt, Session: s, Runner: s.Runner})
		}
		all = append(all, Command{ID: "start/" + s.ID, Do: DoStart, Session: s, Runner: s.Runner})
	}
	if r.Stopping == "" && r.Baseline == nil && !r.unsettled() {
		all = append(all, Command{ID: r.baselineCommand(), Do: DoBaseline})
	}
	if r.Stopping == "" && r.Remediation.Stage == StageMerge && r.repairApproved() {
		all = append(all, Command{ID: r.mergeRepairCommand(), Do: DoMergeRepair, Repair: r.Remediation.Repair})
	}
	var merge *Task
	for _, t := range r.Tasks {
		if r.Stopping != "" || r.dead(t) || t.Anew != "" || r.SessionOf(t.ID) != nil {
			continue
		}
		if t.Item.Phase == agentsig.PhaseCIPending && t.Item.Lease == nil && t.Need == nil && t.Missing == "" {
			all = append(all, Command{ID: t.command(DoGate), Do: DoGate, Task: t, Runner: r.GateOn(t, m)})
		}
		if t.Item.Judged() && (merge == nil || t.Moved < merge.Moved) {
			merge = t // one at a time: each is checked on top of the one before
		}
	}
	if merge != nil && !r.proposed(merge) {
		all = append(all, Command{ID: merge.command(DoMerge), Do: DoMerge, Task: merge})
	}
	if r.publishes() && r.Planned() && r.over() && len(r.Sessions) == 0 {
		all = append(all, Command{ID: string(DoPublish), Do: DoPublish})
	}
	slices.SortFunc(all, func(a, b Command) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// command names a command on a task. What is recorded without moving the task,
// such as a late result, leaves the name as it is. A merge that a person has spoken about, or is asked about, is another
// one; so is one whose checks are others by now.
func (t *Task) command(do Verb) string {
	name := fmt.Sprintf("%s/%s/%d", do, t.ID, t.Moved)
	if do != DoMerge {
		return name
	}
	latest := t.Outdated
	if p := t.Item.Proposal; p != nil {
		latest = max(latest, p.Latest())
	}
	if latest > 0 {
		name += fmt.Sprintf("/%d", latest)
	}
	return name
}

// unsettled reports whether an agent of remediation whose work is to be checked has not
// ended yet.
func (r *Run) unsettled() bool {
	for _, s := range r.Sessions {
		if s.Round != 0 && r.Remediation.Stage == StageVerify {
			return true
		}
	}
	return false
}

func (r *Run) baselineCommand() string { return fmt.Sprintf("%s/%d", DoBaseline, r.Verified) }

// due returns the task that a command is for, or nil if it is not due any more: a
// result that comes too late is not one of what is there now.
func (r *Run) due(do Verb, command string) *Task {
	for _, t := range r.Tasks {
		if r.Live() && t.command(do) == command {
			return t
		}
	}
	return nil
}

// WaitsForPerson reports whether only a person can bring the run on: nothing is
// under way, nothing is due, and nothing will be by the time alone.
func (r *Run) WaitsForPerson(m Moment) bool {
	if _, due := r.Next(m); due || !r.Live() || !r.Planned() || !r.Wake(m.Now).IsZero() {
		return false
	}
	for _, c := range r.Commands(m) {
		if c.Do != DoStart || c.Session.Waiting == "" {
			return false
		}
	}
	return r.Paused || len(r.Open()) > 0 || slices.ContainsFunc(r.Tasks, r.awaitsPerson)
}
