package delivery_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// plan starts a run. A task is written as T-2<T-1 if it is blocked by another, a
// limit as gates=2, a role that nobody plays as no=analyst, and one that a person plays as person=critic,
// what it protects as protected=yes, a pull request at the end as publish=yes, that a person approves merges as approve=person,
// why it has no auditor as unaudited=sentence, and that its items say so and its start does not as forged=yes.
func (s *scenario) plan(words []string) {
	started := delivery.Started{ID: "R1", Title: "a plan", Branch: "main", Base: "0000000", Settings: delivery.Settings{
		Roles: map[agentsig.Role]delivery.Role{}, Experts: []string{"dba"}, Limits: delivery.DefaultLimits(),
	}}
	for _, role := range agentsig.Roles() {
		started.Settings.Roles[role] = delivery.Role{Agent: "scripted", Provider: "one"}
	}
	var tasks []work.Add
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			s.set(&started.Settings, name, value)
			continue
		}
		id, blockers, _ := strings.Cut(w, "<")
		add := work.Add{ID: id, Title: "a task", Phase: agentsig.PhaseImplementation, Actor: "operator", Run: "RUN", Task: strings.TrimPrefix(id, "draft:")}
		if add.Task != id {
			add.ID, add.Phase = add.Task, agentsig.PhaseDraft
		}
		if blockers != "" {
			add.BlockedBy = strings.Split(blockers, ",")
		}
		tasks = append(tasks, add)
	}
	started.Tasks, s.planned = len(tasks), map[string][]string{}
	for _, add := range tasks {
		s.planned[add.Task] = add.BlockedBy
	}
	s.append("RUN", delivery.RunStarted, "", "", "", "", started)
	for _, add := range tasks {
		add.Unaudited = !s.run.Audits() || s.forged
		s.record(delivery.Write{Item: "ITEM" + strings.TrimPrefix(add.Task, "T-"), Do: add})
	}
}

// amend hands in another version of the plan: all its tasks, written as in plan, one with another text as T-1!.
func (s *scenario) amend(words []string) {
	before := s.run.Commands(s.moment())
	in := delivery.Amend{Actor: work.OperatorActor, Digest: fmt.Sprint("version ", s.seq), Title: "a plan", BlockedBy: map[string][]string{}}
	for _, w := range words {
		id, blockers, _ := strings.Cut(w, "<")
		id, changed := strings.CutSuffix(id, "!")
		in.BlockedBy[id] = nil
		if blockers != "" {
			in.BlockedBy[id] = strings.Split(blockers, ",")
		}
		if _, known := s.planned[id]; !known {
			in.New = append(in.New, id)
		} else if changed {
			in.Changed = append(in.Changed, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.planned)) {
		if _, has := in.BlockedBy[id]; !has {
			in.Gone = append(in.Gone, id)
		}
	}
	name := s.run.Renamed
	if s.take(in); s.run.Digest != in.Digest {
		return
	}
	s.planned = in.BlockedBy
	for _, id := range slices.Concat(in.Changed, in.Gone) {
		s.tooLate(before, cmp.Or(name[id], id))
	}
}
func (s *scenario) set(to *delivery.Settings, name, value string) {
	n, err := strconv.Atoi(value)
	l := &to.Limits
	limits := map[string]*int{
		"agents": &l.Agents, "reviews": &l.Reviews, "gates": &l.Gates, "crashes": &l.Crashes, "timeouts": &l.Timeouts, "rounds": &l.RemediationRounds,
		"conflicts": &l.ConflictRetries, "requests": &l.ExpertRequests, "attempts": &l.ExpertAttempts, "obstacles": &l.Obstacles,
	}
	switch {
	case name == "protected" && value == "yes":
		to.Protect(nil)
	case name == "protected":
		to.Protect([]string{"no sandbox"})
	case name == "labels":
		role, labels, _ := strings.Cut(value, ":")
		to.Roles[agentsig.Role(role)] = delivery.Role{Agent: "scripted", Provider: "one", Labels: strings.Split(labels, ",")}
	case name == "gate":
		to.Gate = value
	case name == "rework":
		to.Rework = delivery.Rework(value)
	case name == "publish" && value == "yes":
		to.Publish = true
	case name == "person":
		to.Roles[agentsig.Role(value)] = delivery.Role{Agent: delivery.Person}
	case name == "approve":
		to.Approve = value
	case name == "unaudited":
		to.Unaudited = delivery.Unaudited(value)
	case name == "forged":
		s.forged = true
	case name == "no":
		delete(to.Roles, agentsig.Role(value))
	case name == "tokens" && err == nil:
		to.Budget.Tokens = int64(n)
	case name == "task-tokens" && err == nil:
		to.Budget.Task.Tokens = int64(n)
	case name == "turn-tokens" && err == nil:
		to.Budget.Turn.Tokens = int64(n)
	case limits[name] != nil && err == nil:
		*limits[name] = n
	default:
		s.t.Fatalf("what is %s=%s?", name, value)
	}
}
