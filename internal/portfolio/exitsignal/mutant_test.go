package exitsignal

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// A sale that nobody worked out, or that may not be made, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestSnapshot", []mutant.Mutant{
		{Name: "something is sold without a sizing", File: "snapshot.go", Old: "if r.Sizing != nil {\n", New: "if s.SellQuantity = 7; r.Sizing != nil {\n"},
		{Name: "a verdict names a sale without an order", File: "snapshot.go", Old: "s.TradeEligible && len(s.RecommendedActions) > 0", New: "s.TradeEligible"},
		{Name: "a verdict names a sale that may not be made", File: "snapshot.go", Old: "s.TradeEligible && len(s.RecommendedActions) > 0", New: "len(s.RecommendedActions) > 0"},
		{Name: "a failure tells what was found before it", File: "snapshot.go", Old: "maxVerdict)\n\t\treturn s\n", New: "maxVerdict)\n"},
	}))
	mutant.All(t, mutant.By("^TestUnread", []mutant.Mutant{
		{Name: "an order is given though a row was not read", File: "exitsignal.go", Old: "!verdict.Exits() || r.withheld()", New: "!verdict.Exits()"},
		{Name: "an agent is told to sell though a row was not read", File: "unread.go", Old: "s.TradeEligible, s.RecommendedActions, s.SellQuantity, s.Tax = false, []Action{}, 0, nil", New: ""},
		{Name: "a row of another ticker withholds orders", File: "unread.go", Old: "return row.Symbol == in.Ticker", New: "return true"},
		{Name: "a row without a ticker withholds orders", File: "unread.go", Old: "return len(r.UnreadTickers) > 0", New: "return r.UnreadRowCount > 0"},
	}))
}
