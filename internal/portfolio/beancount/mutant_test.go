package beancount

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// A file that says other shares or costs than the book is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestPropertyAgreesWithDecisions$|^TestEveryAction$|^TestLotsAreTheBooks$|^TestUnknownCostIsTheBooks$|^TestHostileTexts$", []mutant.Mutant{
		{Name: "quotes are not escaped", File: "beancount.go", Old: "`\"`, `\\\"`", New: "`\"`, `\"`"},
		{Name: "a spin-off takes no cost along", File: "company.go", Old: "p.cost.Mul(t.BasisShare)", New: "t.BasisShare"},
		{Name: "a split is applied in one account", File: "company.go", Old: "for _, at := range x.places(t.Symbol) {", New: "for _, at := range x.places(t.Symbol)[:min(1, len(x.places(t.Symbol)))] {"},
		{Name: "a loss is recognised in a merger", File: "company.go", Old: "if gain.Sign() < 0 {", New: "if gain.Sign() > 9 {"},
		{Name: "capital that is returned leaves the cost", File: "company.go", Old: "p.cost.Sub(cash.Share(p.quantity, all).Min(p.cost))", New: "p.cost"},
		{Name: "the lots that were sold are not those of the book", File: "owner.go", Old: "wishes, open = append(wishes, wish{d.Acquired, n}), open.Sub(n)", New: "open = open.Sub(n)"},
		{Name: "shares of unknown cost are sold last", File: "owner.go", Old: "unknown := x.untold[day].Min(open)", New: "unknown := portfolio.Decimal{}"},
		{Name: "transfers come without their lots", File: "owner.go", Old: "if x.has(way).Cmp(t.Quantity) >= 0 {", New: "if x.has(way).Cmp(t.Quantity) >= 0 && t.Date.IsZero() {"},
	}))
}
