package delivery_test

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A task counts as not audited if it is about to be merged, or was, on the critic's word alone, in a run that was started so.
func TestUnaudited(t *testing.T) {
	light := delivery.Run{Started: delivery.Started{Settings: delivery.Settings{Unaudited: delivery.UnauditedSentence}}}
	reviewed := work.Item{Unaudited: true, Phase: agentsig.PhaseCompleted, Reviewed: work.Reviewed{Shown: 2, Passed: 3}}
	item := func(change func(*work.Item)) work.Item {
		i := reviewed
		change(&i)
		return i
	}
	for name, c := range map[string]struct {
		run  delivery.Run
		item work.Item
		want bool
	}{
		"merged":      {light, reviewed, true},
		"to be":       {light, item(func(i *work.Item) { i.Phase, i.Waived = agentsig.PhaseReadyForMerge, &work.Waiver{} }), true},
		"not yet":     {light, item(func(i *work.Item) { i.Phase = agentsig.PhaseReadyForMerge }), false},
		"audited":     {light, item(func(i *work.Item) { i.Audit.Commit = "0123abc" }), false},
		"unchanged":   {light, item(func(i *work.Item) { i.NoChange = "it is there" }), false},
		"another run": {delivery.Run{}, reviewed, false},
		"a riddle":    {delivery.Run{Started: delivery.Started{Settings: delivery.Settings{Unaudited: "nobody"}}}, reviewed, false},
	} {
		if got := c.run.Unaudited(&delivery.Task{Item: c.item}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if words := delivery.Unaudited("nobody").Words(); words != "" {
		t.Errorf("a reason that nobody knows is told: %q", words)
	}
}

// lightRun is a run without an auditor, whose only task the critic has passed.
func lightRun() (*delivery.Run, *delivery.Task) {
	seen := work.Seen{Session: "ITEM1-1.2", Commit: "0123abc", Tree: "7ee0123", Base: "0123000"}
	task := &delivery.Task{ID: "T-1", Item: work.Item{
		ID: "R1.T-1", Task: "T-1", Unaudited: true, Phase: agentsig.PhaseReadyForMerge, Commit: seen.Commit, Review: seen, Reviewed: work.Reviewed{Shown: 2, Passed: 3},
	}}
	run := &delivery.Run{First: 1, Tasks: []*delivery.Task{task}}
	run.ID, run.Started.Tasks, run.Settings.Unaudited = "R1", 1, delivery.UnauditedSettings
	run.Settings.Roles = map[agentsig.Role]delivery.Role{agentsig.RoleAuditor: {Agent: delivery.Person}}
	return run, task
}

// Between the critic's pass and the word that nobody audits it, a task waits for nobody.
func TestUnauditedWaitsForNobody(t *testing.T) {
	run, task := lightRun()
	if part, role := run.Awaited(task); part != "" {
		t.Errorf("a person is awaited: %s as %s", part, role)
	}
	if why := run.Why(task, delivery.Moment{}); why != delivery.WaitMerge {
		t.Errorf("it waits %s", why)
	}
}

// A word that nobody audits a task counts if it names the event that started the run, and no other.
func TestUnauditedStart(t *testing.T) {
	for start, want := range map[uint64]string{1: work.WorkMerged, 2: work.WorkBlocked, 0: work.WorkBlocked} {
		run, task := lightRun()
		task.Item.Waived = &work.Waiver{Seq: 4, Waived: work.Waived{Commit: "0123abc", Tree: "7ee0123", Start: start, Shown: 2, Review: 3}}
		task.Item.Allowed = &work.Permit{Seq: 5, Allowed: work.Allowed{Commit: "0123abc"}}
		i := slices.IndexFunc(run.Commands(delivery.Moment{}), func(c delivery.Command) bool { return c.Do == delivery.DoMerge })
		if i < 0 {
			t.Fatalf("no merge is due: %+v", run.Commands(delivery.Moment{}))
		}
		writes, err := run.Decide(delivery.MergeRan{Command: run.Commands(delivery.Moment{})[i].ID, Commit: "0123abc", Tree: "7ee0123", Result: "0123abd"}, time.Time{})
		if err != nil || len(writes) != 1 || writes[0].Do.Events()[0] != want {
			t.Errorf("from event %d: %+v, %v", start, writes, err)
		}
		checked := delivery.MergeChecked{Command: run.Commands(delivery.Moment{})[i].ID, Commit: "0123abc", Onto: "0123aaa", Tree: "0123bbb", Base: "0123000"}
		if writes, err := run.Decide(checked, time.Time{}); err != nil || (len(writes) == 1) != (start == 1) {
			t.Errorf("from event %d it is allowed: %+v, %v", start, writes, err)
		}
	}
}
