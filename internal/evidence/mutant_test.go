package evidence

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestCard$", Mutant: mutant.Mutant{Name: "what is answered to others is told", File: "evidence.go", Old: "return a.questions[c.ID]", New: "return true"}},
		{By: "^TestCard$", Mutant: mutant.Mutant{Name: "what changes nothing answers a finding", File: "card.go", Old: "was.Commit != p.Commit && p.Since == \"\"", New: "true"}},
		{By: "^TestCard$", Mutant: mutant.Mutant{Name: "a card counts what other tasks used", File: "card.go", Old: "if !f.about.Has(e.Event, ConcernsOf(e.Event)) && ", New: "if f.about.Has(e.Event, ConcernsOf(e.Event)); false && "}},
		{By: "^TestCard$", Mutant: mutant.Mutant{Name: "a card does not rest on what changed the task", File: "card.go", Old: "if !asks {", New: "if asks || true {"}},
		{By: "^TestCardDecisions$", Mutant: mutant.Mutant{Name: "an answer that gives up decides nothing", File: "card.go", Old: "case delivery.ChooseCancel:\n\t\tf.decide(e, GaveUp", New: "case \"\":\n\t\tf.decide(e, GaveUp"}},
		{By: "^TestCardDecisions$", Mutant: mutant.Mutant{Name: "what the box gives back is a person's", File: "card.go", Old: "before.Lease.ByPerson() && work.ByOperator(e.Actor)", New: "before.Lease != nil"}},
		{By: "^TestCardDecisions$", Mutant: mutant.Mutant{Name: "nobody has given it up", File: "words.go", Old: "because(\"given up by \"+d.By, d.Text)", New: "because(\"given up\", d.Text)"}},
		{By: "^TestVerdictWords$", Mutant: mutant.Mutant{Name: "a person is nobody", File: "words.go", Old: "if a.Program == work.PersonAgent {", New: "if false {"}},
		{By: "^TestCatchUp$", Mutant: mutant.Mutant{Name: "what comes later changes a card that was made", File: "card.go", Old: "c.Findings, c.Questions, c.Rests = slices.Clone(c.Findings),", New: "c.Findings, c.Questions, c.Rests = c.Findings,"}},
		{By: "^TestCatchUp$", Mutant: mutant.Mutant{Name: "an event is taken twice", File: "evidence.go", Old: "stored.Sequence > upTo; over", New: "false; over"}},
		{By: "^TestProve$", Mutant: mutant.Mutant{Name: "another event than the ledger's is proven", File: "proof.go", Old: "!bytes.Equal(shown, proof.Event)", New: "bytes.Equal(shown, nil)"}},
		{By: "^TestProve$", Mutant: mutant.Mutant{Name: "what is not signed yet counts as proven", File: "words.go", Old: "text += fmt.Sprintf(\", %d not signed yet\", pending)", New: "_ = pending"}},
	})
}
