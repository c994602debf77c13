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
		{Name: "a row that may be of it withholds nothing", File: "unread.go", Old: "if len(u.MayBeOf) > 0 {", New: "if len(u.MayBeOf) > 1 {"},
		{Name: "a row without a ticker withholds orders", File: "unread.go", Old: "return len(r.UnreadTickers) > 0", New: "return r.UnreadRowCount > 0"},
	}))
	mutant.All(t, mutant.By("^TestUnknownCostIsTold$|^TestCutAccount$", []mutant.Mutant{
		{Name: "an unknown gain is one of zero", File: "snapshot.go", Old: "if s.Tax != nil && s.Tax.WithoutCost > 0 {", New: "if s.Tax == nil && s.SellQuantity > 0 {"},
		{Name: "an unknown gain of a survey is one of zero", File: "surveysnapshot.go", Old: "l.WithoutCost = quantity(r.Tax.QuantityWithoutCost)", New: "l.WithoutCost = 0"},
		{Name: "a cut id is of the first account that it fits", File: "../reply/text.go", Old: "return id // it could be of two", New: "return whole"},
	}))
	mutant.All(t, mutant.By("^TestOrdersNameAccounts$|^TestRenamedTickerIsKnown$|^TestSurvey", []mutant.Mutant{
		{Name: "what to do is cut off", File: "surveysnapshot.go", Old: "jsontext.ShortenMiddle(r.why(), maxWhy, whyEnd)", New: "jsontext.Shorten(r.why(), maxWhy)"},
		{Name: "an order names no account", File: "exitsignal.go", Old: "r.RecommendedActions = plan.ByAccount(r.Position.ids()...)\n", New: ""},
		{Name: "what another symbol became is unknown", File: "exitsignal.go", Old: "(t.Symbol == in.Ticker || t.Into == in.Ticker) &&", New: "t.Symbol == in.Ticker &&"},
		{Name: "a check that failed is a reason to hold", File: "survey.go", Old: "if err := in.checkAll(); err != nil {", New: "if err := in.checkAll(); err != nil && in.AsOf.IsZero() && in.Shares != nil {"},
		{Name: "an error is counted as a hold", File: "survey.go", Old: "case rankError:\n\t\ts.Errors++\n", New: ""},
		{Name: "no verdict is told as none", File: "surveysnapshot.go", Old: "case rankError:\n", New: "case rankMonitor:\n"},
	}))
}
