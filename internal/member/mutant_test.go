package member

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each thing that a log, a state or a message is looked at for, dropped, is noticed. The rules of a member are internal/clustersim's.
func TestMutants(t *testing.T) {
	mutant.All(t, append(mutant.By("TestKept|TestStart", []mutant.Mutant{
		{Name: "what is committed is cut back", File: "kept.go", Old: "case w.Cut != nil && w.Cut.Index < k.State.Commit:", New: "case false:"},
		{Name: "a log begins anew before what is committed", File: "kept.go", Old: "case w.Base != nil && w.Base.Index < k.State.Commit:", New: "case false:"},
		{Name: "a cut goes beyond the end", File: "kept.go", Old: "case w.Cut != nil && w.Cut.Index > end.Index:", New: "case false:"},
		{Name: "two votes in a term", File: "state.go", Old: "case s.Term == before.Term && before.Vote != 0 && s.Vote != before.Vote:", New: "case false:"},
		{Name: "a term goes back", File: "state.go", Old: "case s.Term < before.Term, ", New: "case "},
		{Name: "more is committed than there is", File: "state.go", Old: "case s.Commit > end.Index:", New: "case false:"},
		{Name: "another member's log", File: "state.go", Old: "case before.ID != 0 && s.ID != before.ID:", New: "case false:"},
		{Name: "bundles without a log", File: "kept.go", Old: "if k.Covered > max(end.Seq, k.State.Taken) {", New: "if false {"},
		{Name: "a log without a beginning", File: "kept.go", Old: "case k.Before.Seq > k.Covered:", New: "case false:"},
		{Name: "an empty member that asks nobody", File: "member.go", Old: "if len(kept.State.Members.Voters) == 0 && len(config.Peers) == 0 {", New: "if false {"},
	}), mutant.By("TestMessage|TestState", []mutant.Mutant{
		{Name: "a message of another sender", File: "message.go", Old: "m.raft.GetFrom() != m.From || ", New: ""},
		{Name: "entries with a gap", File: "message.go", Old: "e.GetIndex() != m.GetIndex()+uint64(i)+1 || ", New: "i < 0 || "},
		{Name: "entries of a later term", File: "message.go", Old: "e.GetTerm() > m.GetTerm() || ", New: ""},
		{Name: "an entry that can't be read", File: "message.go", Old: "if _, err := entryOf(e); err != nil {", New: "if false {"},
		{Name: "a message without a term", File: "message.go", Old: "if m.GetTerm() == 0 && m.GetType() != pb.MsgReadIndex {", New: "if false {"},
		{Name: "a state that is written in another way", File: "state.go", Old: "!bytes.Equal(again, text)", New: "bytes.Equal(again, nil)"},
		{Name: "a learner that votes", File: "members.go", Old: "if contains(m.Voters, id) || contains(m.Outgoing, id) {", New: "if false {"},
	})...))
}
