package box

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// The names of runs and of their tasks are given to nobody else.
func TestNamesOfTasks(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	for _, id := range []string{"R7.T-1", "R7"} {
		_, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: id, Title: "a title"}, "")
		if form := (BadRequest{}); !errors.As(err, &form) {
			t.Error(id, err)
		}
	}
	for _, id := range []string{"R7a", "R.1", "R7-1.2"} {
		if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: id, Title: "a title"}, ""); err != nil {
			t.Error(err)
		}
	}
}

// A task's id in its plan means that of the run that goes on; of several the latest, unless something is to be changed;
// and if none goes on, of the latest that has ended.
func TestTaskByItsID(t *testing.T) {
	t.Parallel()
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	check := func(id, looked, changed string) {
		t.Helper()
		if i, err := b.state.named(id, toLook); err != nil || i.ID != looked {
			t.Errorf("who looks at %s sees %q, %v: want %s", id, i.ID, err, looked)
		}
		i, err := b.state.named(id, toChange)
		run, task, taskErr := b.state.taskNamed(id)
		if several := (&severalTasks{}); errors.As(err, &several) {
			if !errors.As(taskErr, &several) || Problem(taskErr).Code != api.CodeConflict {
				t.Errorf("%s: %v", id, taskErr)
			}
			i.ID = err.Error()
		} else if taskErr != nil || b.state.nameOf(run)+"."+task != i.ID {
			t.Errorf("%s is %s of %s, %v", id, task, run, taskErr)
		}
		if i.ID != changed {
			t.Errorf("who changes %s changes %q: want %s", id, i.ID, changed)
		}
	}
	finishedRun(t, b, "R1", "T-1")
	finishedRun(t, b, "R2", "T-1")
	check("T-1", "R2.T-1", "R2.T-1")
	startedRun(t, b, "R3", "T-1", "T-2")
	finishedRun(t, b, "R4", "T-1", "T-2")
	check("T-1", "R3.T-1", "R3.T-1")
	check("R2.T-1", "R2.T-1", "R2.T-1")
	startedRun(t, b, "R5", "T-1")
	check("T-1", "R5.T-1", "T-1 is a task of 2 runs that have not ended: name R3.T-1 or R5.T-1")
	check("T-2", "R3.T-2", "R3.T-2")
	for n := range 5 {
		startedRun(t, b, fmt.Sprint("R", 6+n), "T-1")
	}
	check("T-1", "R10.T-1", "T-1 is a task of 7 runs that have not ended: name R3.T-1 or R5.T-1 or R6.T-1 or R7.T-1 or R8.T-1 or one of 2 more")
}

// The largest number that somebody gives an item is not counted on from.
func TestLargestNumber(t *testing.T) {
	t.Parallel()
	s := newState()
	s.name("W-00007", "a", itemName)
	s.name(fmt.Sprintf(itemName, math.MaxInt), "b", itemName)
	if id, err := s.reserve("", "c", itemName); id != "W-00008" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
}
