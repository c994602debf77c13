package boxtools

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// The calls that replies propose can be made as they stand, with what the person says.
func TestProposedCalls(t *testing.T) {
	reply := agentreply.Everything.Inbox([]api.Question{
		{ID: "R1-Q1", Kind: api.KindQuestion, Run: "R1", Text: "?", AskedAt: time.Now()},
		{ID: "R1.T-1/7", Kind: string(delivery.PartReview), Run: "R1", Task: "T-1", Work: "R1.T-1", Text: "look", AskedAt: time.Now()},
	}, time.Now(), agentformat.File{})
	seen := 0
	for _, need := range reply.Snapshot.NeedsYou.First {
		if need.Call == nil {
			t.Errorf("%s proposes no call", need.ID)
			continue
		}
		i := slices.IndexFunc(definitions(), func(d definition) bool { return d.tool.Name == need.Call.Tool })
		if i < 0 {
			t.Errorf("there is no tool %s", need.Call.Tool)
			continue
		}
		input := definitions()[i].tool.Input
		given := slices.Concat(need.Call.Ask, need.Call.Seen)
		for name := range need.Call.Args {
			given = append(given, name)
		}
		for _, name := range given {
			if _, ok := input.Properties[name]; !ok {
				t.Errorf("%s has no argument %s", need.Call.Tool, name)
			}
		}
		for _, name := range input.Required {
			if !slices.Contains(given, name) {
				t.Errorf("%s is proposed without %s", need.Call.Tool, name)
			}
		}
		seen++
	}
	if seen != 2 {
		t.Errorf("%d calls", seen)
	}
}
