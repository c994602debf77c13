package memberlog

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each thing that a log and a state are looked at for, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, append(mutant.By("TestKept|TestCheck", []mutant.Mutant{
		{Name: "what is committed is cut back", File: "kept.go", Old: "case w.Cut != nil && w.Cut.Index < k.State.Commit:", New: "case false:"},
		{Name: "a log begins anew before what is committed", File: "kept.go", Old: "case w.Base != nil && w.Base.Index < k.State.Commit:", New: "case false:"},
		{Name: "a cut goes beyond the end", File: "kept.go", Old: "case w.Cut != nil && w.Cut.Index > end.Index:", New: "case false:"},
		{Name: "two votes in a term", File: "state.go", Old: "case s.Term == before.Term && before.Vote != 0 && s.Vote != before.Vote:", New: "case false:"},
		{Name: "a term goes back", File: "state.go", Old: "case s.Term < before.Term, ", New: "case "},
		{Name: "more is committed than there is", File: "state.go", Old: "case s.Commit > end.Index:", New: "case false:"},
		{Name: "another member's log", File: "state.go", Old: "case before.ID != 0 && s.ID != before.ID:", New: "case false:"},
		{Name: "bundles without a log", File: "kept.go", Old: "if k.Covered > max(end.Seq, k.State.Taken) {", New: "if false {"},
		{Name: "a log without a beginning", File: "kept.go", Old: "case k.Before.Seq > k.Covered:", New: "case false:"},
	}), mutant.By("TestState", []mutant.Mutant{
		{Name: "a state that is written in another way", File: "state.go", Old: "!bytes.Equal(again, text)", New: "bytes.Equal(again, nil)"},
		{Name: "a learner that votes", File: "members.go", Old: "if slices.Contains(m.Voters, id) || slices.Contains(m.Outgoing, id) {", New: "if _ = id; false {"},
	})...))
}
