package member

import (
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each thing that a message is looked at for, dropped, is noticed. The rules of a member are internal/clustersim's.
func TestMutants(t *testing.T) {
	mutant.All(t, slices.Concat(mutant.By("TestStart", []mutant.Mutant{
		{Name: "an empty member that asks nobody", File: "member.go", Old: "if len(kept.State.Members.Voters) == 0 && len(config.Peers) == 0 {", New: "if false {"},
	}), mutant.By("TestMemory|TestFull", []mutant.Mutant{
		{Name: "what is kept in memory has no bound", File: "log.go", Old: "n <= 2*keep && l.size <= 2*keepSize", New: "true"},
		{Name: "what waits has no bound", File: "member.go", Old: "MaxUncommittedEntriesSize: maxUncommitted,", New: ""},
	}), mutant.By("TestVotes|TestMajority", []mutant.Mutant{
		{Name: "a vote in a term that another one has heard of", File: "member.go", Old: "m.state.Term, m.state.Vote = heard, m.id", New: ""},
		{Name: "an answer to an earlier life", File: "ask.go", Old: "msg.life != m.config.Life || ", New: ""},
		{Name: "it takes part before anyone has answered", File: "ask.go", Old: "return all || a.ticks >= a.deadline && a.view.Majority", New: "return true || all || a.view.Majority"},
		{Name: "nobody has answered for a while", File: "ask.go", Old: "return all || a.ticks >= a.deadline && a.view.Majority(func(id uint64) bool { return id == a.self || a.answers[id] != nil })", New: "return all || a.ticks >= a.deadline"},
		{Name: "a majority is never enough", File: "ask.go", Old: "return all || a.ticks >= a.deadline && a.view.Majority(func(id uint64) bool { return id == a.self || a.answers[id] != nil })", New: "return all"},
	}), mutant.By("TestFarAhead", []mutant.Mutant{
		{Name: "any term is taken over", File: "member.go", Old: "msg.latest()-m.state.Term > mostAhead", New: "msg.From == 0"},
		{Name: "any term is taken over from what was heard", File: "message.go", Old: "term = max(term, h.Term)", New: "_ = h"},
		{Name: "any term is taken over from an answer", File: "message.go", Old: "max(m.answer.term, m.answer.at.Term)", New: "0"},
	}), mutant.By("TestMessage", []mutant.Mutant{
		{Name: "a message of another sender", File: "message.go", Old: "m.raft.GetFrom() != m.From || ", New: ""},
		{Name: "entries with a gap", File: "message.go", Old: "e.GetIndex() != m.GetIndex()+uint64(i)+1 || ", New: "i < 0 || "},
		{Name: "entries of a later term", File: "message.go", Old: "e.GetTerm() > m.GetTerm() || ", New: ""},
		{Name: "an entry that can't be read", File: "message.go", Old: "if _, err := entryOf(e); err != nil {", New: "if false {"},
		{Name: "a message without a term", File: "message.go", Old: "if m.GetTerm() == 0 && m.GetType() != pb.MsgReadIndex {", New: "if false {"},
	})))
}
