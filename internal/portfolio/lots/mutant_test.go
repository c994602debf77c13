package lots

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of the book, dropped in turn, is missed by a case or by the second reading of the rules.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestCases$", []mutant.Mutant{
		{Name: "the window has 31 days", File: "wash.go",
			Old: "const WashDays = 30", New: "const WashDays = 31"},
		{Name: "the window has 29 days", File: "wash.go",
			Old: "const WashDays = 30", New: "const WashDays = 29"},
		{Name: "the rest of a purchase replaces", File: "wash.go",
			Old: "if l.Purchase == p.purchase || p.shares.IsZero() {", New: "if p.shares.IsZero() {"},
		{Name: "a share replaces twice", File: "wash.go",
			Old: "\tl.replaces = true\n", New: ""},
		{Name: "an IRA's loss is deferred", File: "wash.go",
			Old: "if l.untaxed {", New: "if false {"},
		{Name: "a 401(k) replaces", File: "wash.go",
			Old: "\tif kind == portfolio.K401 {\n\t\treturn\n\t}\n", New: ""},
		{Name: "the holding period does not tack", File: "wash.go",
			Old: "\t\tl.HoldingSince = l.HoldingSince.Add(-p.held)\n", New: ""},
		{Name: "the loss does not move to the basis", File: "wash.go",
			Old: "l.Basis, l.Deferred, l.each = l.Basis.Add(amount), l.Deferred.Add(amount),", New: "l.Basis, l.Deferred, l.each = l.Basis, l.Deferred.Add(amount),"},
		{Name: "later purchases do not replace", File: "wash.go",
			Old: "\t\tif k.match(p, h, l); l.replaces {\n\t\t\treturn\n\t\t}\n", New: ""},
		{Name: "what was sold replaces", File: "wash.go",
			Old: "return l.gone || l.replaces ||", New: "return l.replaces ||"},
		{Name: "sales of one day are not one", File: "build.go",
			Old: "if e.date != day {", New: "if e.date != day || true {"},
		{Name: "gains are washed", File: "build.go",
			Old: "gain.Sign() < 0 {", New: "!gain.IsZero() {"},
		{Name: "the newest lot goes first", File: "build.go",
			Old: "\t\treturn first\n", New: "\t\treturn len(h.lots) - 1\n"},
		{Name: "the cheapest lot goes first", File: "build.go",
			Old: "h.lots[best].costOfOne()) > 0", New: "h.lots[best].costOfOne()) < 0"},
		{Name: "a named lot is ignored", File: "build.go",
			Old: "\tif naming {\n\t\tfirst", New: "\tif false {\n\t\tfirst"},
		{Name: "a split leaves losses that wait", File: "build.go",
			Old: "p.shares = scale(p.shares)", New: "_ = p"},
		{Name: "a split counts once for each account", File: "history.go",
			Old: "\t\tlist[i].Transaction = nil\n\t}\n\treturn list\n}\n\n// alike", New: "\t}\n\treturn list\n}\n\n// alike"},
		{Name: "a transfer is a purchase", File: "build.go",
			Old: "\t\tl.Account, l.gone = e.more.to, false\n", New: "\t\tl.Account, l.gone, l.bought, l.Acquired = e.more.to, false, e.Date, e.Date\n"},
		{Name: "a moved purchase is forgotten", File: "build.go",
			Old: "!l.bought.IsZero() && !l.replaces && to.account.Kind != portfolio.K401 && !slices.Contains(w.recent, l)", New: "false"},
		{Name: "sales in an IRA are reported", File: "build.go",
			Old: "if h.account.Kind != portfolio.Taxable {\n\t\treturn", New: "if false {\n\t\treturn"},
		{Name: "identical symbols are not one", File: "wash.go",
			Old: "if name, ok := g.of[symbol]; ok {", New: "if name, ok := g.of[symbol]; ok && false {"},
		{Name: "a reinvestment is no purchase", File: "build.go",
			Old: "\tk.note(h, bought)\n", New: "\tif e.Action == portfolio.Buy {\n\t\tk.note(h, bought)\n\t}\n"},
		{Name: "a sale's fees are its seller's", File: "../portfolio.go",
			Old: "t.Quantity.Mul(t.Price).Sub(t.Fees)", New: "t.Quantity.Mul(t.Price)"},
		{Name: "a year to the day is long-term", File: "../date.go",
			Old: "d.Time().AddDate(0, 0, 1).AddDate(1, 0, 0)", New: "d.Time().AddDate(1, 0, 0)"},
		{Name: "losses of one day are taken as they come", File: "wash.go",
			Old: "return cmp.Or(x.acquired.Compare(y.acquired), x.purchase-y.purchase)", New: "return cmp.Or(0)"},
		{Name: "an IRA's purchase comes before a taxable one", File: "history.go",
			Old: "untaxed[t.Account] {\n\t\t\te.rank++", New: "!untaxed[t.Account] {\n\t\t\te.rank++"},
	}))
}
