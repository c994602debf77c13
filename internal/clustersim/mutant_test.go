package clustersim_test

import (
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of a member, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, slices.Concat(mutant.By("TestWorlds", []mutant.Mutant{
		{Name: "decides before earlier terms are applied", File: "../member/next.go", Old: "m.applied.Term == status.GetTerm():\n\t\tm.term, m.tail, m.changing = status.GetTerm(), m.applied, 0",
			New: "m.log.end().Term == status.GetTerm():\n\t\tm.term, m.tail, m.changing = status.GetTerm(), m.log.end(), 0"},
		{Name: "conditions are checked against what is applied only", File: "../member/member.go", Old: "m.proposed[p.Subject] = placement{m.tail.Index, m.tail.Seq}", New: ""},
		{Name: "an entry is logged before its blob", File: "../member/member.go", Old: "r = m.withoutMissing(r)", New: "_ = m.withoutMissing(r)"},
		{Name: "a removed member is gone at once", File: "../member/ask.go", Old: "case a.removed():", New: "case msg.answer.removed:"},
		{Name: "a removed member is not told", File: "../member/ask.go", Old: "got.removed = m.node != nil &&", New: "got.removed = false && m.node != nil &&"},
		{Name: "reads are answered by a leader that has not committed in its term", File: "../member/next.go", Old: "lead == 0 || lead == m.id && m.term == 0", New: "lead == 0"},
		{Name: "a read is answered before what it has to see", File: "../member/next.go", Old: "r.index <= s.applied.Index", New: "true"},
		{Name: "what is under a checkpoint is applied again", File: "../member/next.go", Old: "own.Kind == Event && s.applied.Seq > m.covered", New: "own.Kind == Event"},
		{Name: "what was applied before a start is not applied again", File: "../member/member.go", Old: "e.Kind == Event && place.Seq > m.covered", New: "false"},
		{Name: "a batch has entries of several terms", File: "../member/next.go", Old: "own.Term != end.Term || ", New: ""},
		{Name: "what was fetched counts before it is gone over to", File: "../member/member.go", Old: "m.fetched = max(m.fetched, covered)", New: "m.fetched, m.covered = max(m.fetched, covered), max(m.fetched, covered)"},
		{Name: "a member far behind is told once", File: "../member/member.go", Old: "m.fetching[id] > 2*m.config.ElectionTicks", New: "false"},
		{Name: "a change is not ended", File: "../member/next.go", Old: "case len(now.Outgoing) > 0:", New: "case false:"},
		{Name: "a conflict is no conflict", File: "../member/member.go", Old: "!ok && m.config.Last(p.Subject) != p.Last", New: "false"},
	}), mutant.By("TestRareWorlds", []mutant.Mutant{
		{Name: "what another has applied is not believed", File: "../member/next.go", Old: "\t\tm.commitKnown()\n", New: ""},
		{Name: "who does not answer becomes a voter", File: "../member/next.go", Old: "p.RecentActive && p.State == tracker.StateReplicate && p.Match >= m.lately", New: "true"},
		{Name: "a member that is away for long asks only whom it knew", File: "../member/ask.go", Old: "met: Members{Voters: peers}.All(),", New: ""},
		{Name: "what came in bundles alone removes", File: "../member/member.go", Old: "max(m.applied.Seq, m.covered) //", New: "m.applied.Seq //"},
		{Name: "a removed member asks those that its log names alone", File: "../member/ask.go", Old: "\tm.around.met = Members{Voters: m.config.Peers, Outgoing: m.wanted, Learners: m.learning}.All()\n", New: ""},
		{Name: "another member's read is passed on", File: "../member/next.go", Old: "r.GetTo() == 0 || r.GetFrom() != m.id", New: "r.GetTo() == 0"},
	}), mutant.By("TestDiskWentBack", []mutant.Mutant{
		{Name: "a starting member asks nobody", File: "../member/member.go", Old: "if len(m.asking.others()) == 0 {", New: "if true {"},
		{Name: "what members have acknowledged is not told", File: "../member/next.go", Old: "msg.heard = m.state.Heard", New: ""},
		{Name: "a disk that went back takes part", File: "../member/ask.go", Old: "case m.asking != nil && m.wentBack(msg.answer.heard):", New: "case false:"},
		{Name: "an emptied disk takes part", File: "../member/ask.go", Old: "return h.Term > m.state.Term", New: "return false"},
		{Name: "a disk that went back within a term takes part", File: "../member/ask.go", Old: "return h.Index > m.log.end().Index ||", New: "return"},
	})))
}
