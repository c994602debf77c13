package delivery_test

import (
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Work that a machine could take if it were free waits, and needs nobody; any other needs a person.
func TestNowhere(t *testing.T) {
	r := &delivery.Run{Started: delivery.Started{Settings: delivery.Settings{Roles: map[agentsig.Role]delivery.Role{
		agentsig.RoleDeveloper: {Agent: "claude", Labels: []string{"gpu"}}, agentsig.RoleCritic: {Agent: "claude"},
	}}}}
	fit := delivery.Machine{Name: "gpu1", Labels: []string{"gpu"}, Agents: []string{"claude"}, Places: 1, Sessions: 1}
	unlabelled, draining, bare, away := fit, fit, fit, fit
	unlabelled.Labels, draining.Draining, bare.Agents, away.Away = nil, true, nil, true
	for i, c := range []struct {
		on      delivery.Machine
		atHome  bool
		phase   agentsig.Phase
		nowhere bool
	}{
		{fit, false, agentsig.PhaseImplementation, false},
		{unlabelled, false, agentsig.PhaseImplementation, true},
		{draining, false, agentsig.PhaseImplementation, true},
		{bare, false, agentsig.PhaseImplementation, true},
		{away, false, agentsig.PhaseImplementation, true},
		{fit, true, agentsig.PhaseImplementation, true},
		{fit, true, agentsig.PhaseReadyForReview, false},
		{unlabelled, false, agentsig.PhaseReadyForReview, false},
	} {
		at := delivery.Moment{Machines: []delivery.Machine{{}, c.on}}
		if got := r.Nowhere(&delivery.Task{AtHome: c.atHome, Item: work.Item{Phase: c.phase}}, at); got != c.nowhere {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// Whatever a task waits for has its words, and what is no waiting has none.
func TestWaitWords(t *testing.T) {
	silent := []delivery.Wait{"", delivery.WaitCompleted, delivery.WaitCancelled, delivery.WaitSession}
	task := &delivery.Task{Conflict: &delivery.FileConflict{}}
	at := delivery.Moment{Machines: []delivery.Machine{}} // no machine is there
	for _, w := range append(delivery.Waits(), "") {
		if words := w.Words(&delivery.Run{}, task, at); (words == "") != slices.Contains(silent, w) {
			t.Errorf("the words of %q are %q", w, words)
		}
	}
}
