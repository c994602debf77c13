package delivery

import (
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// The plan was amended, and the box killed, in the middle of a person's review: nobody ends that, so the task begins anew all
// the same. An agent is ended first.
func TestOvertaken(t *testing.T) {
	for holder, want := range map[string]bool{work.PersonAgent: true, "scripted": false} {
		task := &Task{Anew: agentsig.PhaseImplementation, Item: work.Item{Phase: agentsig.PhaseReview, Lease: &work.Lease{Agent: holder}}}
		task.ID = "T-1"
		r := &Run{Tasks: []*Task{task}}
		if w, ok := r.nextTask(Moment{}); ok != want {
			t.Errorf("held by %s: %+v, %v", holder, w, ok)
		}
	}
}
