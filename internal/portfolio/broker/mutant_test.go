package broker

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule by which a row is read or left, dropped in turn, is missed by a test.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^Test([^MT]|Mo|Times)", []mutant.Mutant{
		{Name: "a file that descends is read as it is", File: "broker.go",
			Old: "r.dates.down > 2*r.dates.up", New: "false"},
		{Name: "a file that ascends is turned round", File: "broker.go",
			Old: "r.dates.down > 2*r.dates.up", New: "true"},
		{Name: "an unread row has no symbol", File: "broker.go",
			Old: "\t\ts.Symbol = r.intern(symbol)\n", New: "\t\t_ = symbol\n"},
		{Name: "an unread row has no date", File: "broker.go",
			Old: "\ts.Date = of.date\n", New: ""},
		{Name: "an account is not escaped", File: "broker.go",
			Old: "s.Account = r.intern(safetext.Escape(shorten(cmp.Or(of.account, r.account), maxAccount)))", New: "s.Account = r.intern(cmp.Or(of.account, r.account))"},
		{Name: "noon is a time", File: "ofx.go",
			Old: "!o.timed || clock == portfolio.NewClock(12, 0, 0)", New: "!o.timed"},
		{Name: "summer time is a time", File: "ofx.go",
			Old: "len(seen) > 2 || len(seen) == 2 && minutes[0] != minutes[1]", New: "len(seen) > 1"},
		{Name: "the time of another day counts", File: "flex.go",
			Old: "err != nil || d != on {", New: "err != nil || d.IsZero() {"},
		{Name: "an order 0 is one", File: "flex.go",
			Old: "if strings.Trim(id, \"0-\") == \"\" {", New: "if false {"},
		{Name: "a price of 0 is unknown", File: "canonical.go",
			Old: "t.FreeOfCost = t.Action == portfolio.TransferIn &&", New: "t.FreeOfCost = false &&"},
		{Name: "no price is a price of 0", File: "canonical.go",
			Old: "portfolio.TransferIn && fields[priceColumn] != \"\" &&", New: "portfolio.TransferIn &&"},
		{Name: "a gift is a transfer", File: "canonical.go",
			Old: "case t.Action == portfolio.TransferIn && saysGiven(t.Note):", New: "case false:"},
		{Name: "the ticker CASH is cash", File: "money.go",
			Old: "return !stock && !slices.ContainsFunc(", New: "return true || slices.ContainsFunc("},
		{Name: "a fund whose price moves is cash", File: "money.go",
			Old: "price.Cmp(portfolio.NewDecimal(101, -2)) > 0", New: "false"},
		{Name: "a put is a call", File: "option.go",
			Old: "case e.does != buys && e.does != opens, o.put:", New: "case e.does != buys && e.does != opens:"},
		{Name: "an assignment is no matter", File: "option.go",
			Old: "case e.does == other && e.why == assigned:", New: "case false:"},
		{Name: "contracts are shares", File: "option.go",
			Old: "Quantity: e.quantity.Mul(shares),", New: "Quantity: e.quantity,"},
		{Name: "a merger for both is one for cash", File: "event.go",
			Old: "case clear && v.came.IsZero() && v.cash.Sign() > 0 && !v.both && v.ratio.IsZero():", New: "case clear && v.cash.Sign() > 0:"},
		{Name: "a merger for both may be in two parts", File: "event.go",
			Old: "v.both = v.both || loose[v.account] && v.came.IsZero()", New: "_ = loose"},
		{Name: "a ratio is rounded", File: "event.go",
			Old: "return ratio, ratio.Mul(v.gone).Cmp(v.came) == 0 && !r.inLieu", New: "return ratio, !r.inLieu"},
		{Name: "a fraction that was paid out is no matter", File: "event.go",
			Old: "!r.inLieu[position{v.account, v.old}] && !r.inLieu[position{v.account, v.into}]\n}", New: "true\n}"},
		{Name: "the parent of a spin-off is read", File: "event.go",
			Old: "\t\tif !covered[symbol] {", New: "\t\tif false {"},
		{Name: "a name of two companies is one's", File: "event.go",
			Old: "\t\tr.tickers[name] = \"\"\n\t\treturn\n", New: "\t\treturn\n"},
		{Name: "shares after a rename are counted", File: "split.go",
			Old: "\t\tc.lost = true\n", New: ""},
		{Name: "shares after a known split are not", File: "split.go",
			Old: "held = held.Mul(c.times)", New: "_ = c.times"},
		{Name: "any reverse ratio is usual", File: "split.go",
			Old: "|| n.Cmp(number(few)) > 0 && steps.Mul(number(step)).Cmp(n) != 0", New: "|| steps.IsZero() && false"},
		{Name: "the cost of all is that of one", File: "ofx.go",
			Old: "\t\treturn one\n", New: "\t\treturn basis\n"},
		{Name: "a cost without its day counts", File: "ofx.go",
			Old: "\tbought, err := ofxDay(rec.of[\"DTPURCHASE\"])\n\tif err != nil {\n\t\treturn\n\t}\n", New: "\tbought, err := ofxDay(rec.of[\"DTPURCHASE\"])\n"},
	}))
}
