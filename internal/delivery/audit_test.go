package delivery_test

import (
	"testing"

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
