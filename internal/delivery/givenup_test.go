package delivery

import (
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A run knows who gave a task up, why, and what was given up with it; and forgets it when the task is tried again.
func TestGivenUp(t *testing.T) {
	task := func(id string, phase agentsig.Phase, after ...string) *Task {
		return &Task{ID: id, BlockedBy: after, Item: work.Item{Phase: phase}}
	}
	r := &Run{
		Tasks: []*Task{
			task("T-1", agentsig.PhaseBlocked), task("T-2", agentsig.PhaseImplementation, "T-1"), task("T-3", agentsig.PhaseImplementation), task("T-4", agentsig.PhaseCompleted, "T-1"),
		},
		Questions: []*Asked{{Question: Question{ID: "R1-Q1", Task: "T-1", Choices: taskChoices}}},
	}
	r.index()
	want := func(when string, words ...string) {
		t.Helper()
		for i, w := range words {
			if got := r.GivenUp(r.Tasks[i]); got != w {
				t.Errorf("%s, %s was given up %q; want %q", when, r.Tasks[i].ID, got, w)
			}
		}
	}
	want("at first", "", "", "", "")
	r.questionAnswered(ledger.Event{Actor: "client:page-9"}, Answered{ID: "R1-Q1", Choice: ChooseCancel, Text: "nobody needs it\nnow"})
	want("by an answer", "by the client page-9: nobody needs it", "with T-1, which it depends on", "", "")
	r.taskRetried(ledger.Event{Actor: work.OperatorActor}, OnTask{Task: "T-1"})
	want("when it is tried again", "", "", "", "")
	r.cancel(r.Tasks[2], work.OperatorActor, "")
	want("without a reason", "", "", "by the operator", "")
	f := Finished{}
	r.cancel(r.Tasks[0], work.OperatorActor, "")
	if w, ok := r.nextFinish(Moment{}); ok {
		f = w.Event.Payload.(Finished)
	}
	if f.GivenUp != 3 || f.Completed != 1 {
		t.Errorf("the run ends with %+v", f)
	}
}
