package runner

import (
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A pull request says of each task what was not done for it.
func TestPullRequestText(t *testing.T) {
	t.Parallel()
	done := func(id string, i work.Item) *delivery.Task {
		i.Title, i.Phase, i.Unaudited = "a task", agentsig.PhaseCompleted, true
		return &delivery.Task{ID: id, Item: i}
	}
	r := delivery.Run{Tasks: []*delivery.Task{
		done("T-1", work.Item{Reviewed: work.Reviewed{Shown: 1, Passed: 2}}),
		done("T-2", work.Item{Reviewed: work.Reviewed{Shown: 1, Passed: 2}, NoChange: "it is there"}),
		done("T-3", work.Item{Audit: work.Seen{Commit: "0123abc"}}),
		{ID: "T-4", Item: work.Item{Title: "a task", Phase: agentsig.PhaseReview}},
	}}
	r.Settings.Unaudited = delivery.UnauditedSettings
	const want = "- T-1: a task (not audited)\n- T-2: a task (no change)\n- T-3: a task\n"
	if got := pullRequestText(r); got != want {
		t.Errorf("it says\n%s", got)
	}
}
