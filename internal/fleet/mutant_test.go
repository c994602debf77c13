package fleet

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what a runner's word counts for, dropped, is noticed by the test named with it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestNotGivenYet", Mutant: mutant.Mutant{Name: "a box that was started a moment ago refuses what is its own", File: "line.go", Old: "return ErrNotYet", New: "return ErrNotYours"}},
		{By: "TestNotGivenYet", Mutant: mutant.Mutant{Name: "whose session it is does not count", File: "line.go", Old: "f.o.Where(h.Run, of) == name:", New: "f.o.Where(h.Run, of) != \"\":"}},
		{By: "TestDoneTooSoon", Mutant: mutant.Mutant{Name: "a session is over when its runner says that it is done", File: "line.go", Old: "f.o.Where(fl.Run.Subject, fl.Session.ID) == name:", New: "false:"}},
		{By: "TestDoneTooSoon", Mutant: mutant.Mutant{Name: "a session that has ended is never done", File: "line.go", Old: "f.o.Where(fl.Run.Subject, fl.Session.ID) == name:", New: "true:"}},
		{By: "TestHandIn", Mutant: mutant.Mutant{Name: "one order is known as well as another", File: "line.go", Old: "Unknown: err == nil", New: "Unknown: false"}},
	})
}
