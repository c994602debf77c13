package box

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
)

// The names of runs and of their tasks are given to nobody else.
func TestNamesOfTasks(t *testing.T) {
	b := inDir(t, Dir(t.TempDir()))
	defer closeBox(t, b)
	for _, id := range []string{"R7.T-1", "R7"} {
		_, err := b.Add(t.Context(), api.AddWork{ID: id, Title: "a title"}, "")
		if form := (BadRequest{}); !errors.As(err, &form) {
			t.Error(id, err)
		}
	}
	for _, id := range []string{"R7a", "R.1", "R7-1.2"} {
		if _, err := b.Add(t.Context(), api.AddWork{ID: id, Title: "a title"}, ""); err != nil {
			t.Error(err)
		}
	}
}

// The largest number that somebody gives an item is not counted on from.
func TestLargestNumber(t *testing.T) {
	s := newState()
	s.name("W-00007", "a", itemName)
	s.name(fmt.Sprintf(itemName, math.MaxInt), "b", itemName)
	if id, err := s.reserve("", "c", itemName); id != "W-00008" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
}
