package beancount

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// sameDays is how far apart several accounts may tell the same decision, as the book has it.
const sameDays = 7

// A decision is a company's, about a symbol.
type decision struct {
	action       portfolio.Action
	symbol, into string
}

// A telling is when a decision was told first, and by which accounts.
type telling struct {
	on       portfolio.Date
	accounts []string
}

// everywhere applies a decision that is a fact of the symbol to all accounts, once.
func (x *exporter) everywhere(t *portfolio.Transaction) {
	what := decision{t.Action, t.Symbol, t.Into}
	before := x.told[what]
	if again := !slices.Contains(before.accounts, t.Account); before.on == t.Date || again && t.Date.Sub(before.on) <= sameDays && !before.on.IsZero() {
		x.told[what] = telling{before.on, append(before.accounts, t.Account)}
		return
	}
	x.told[what] = telling{t.Date, []string{t.Account}}
	for _, at := range x.places(t.Symbol) {
		x.decide(t, at)
	}
}

// places are those that have a symbol, by their names.
func (x *exporter) places(symbol string) (list []place) {
	for at := range x.held {
		if at.symbol == symbol && x.has(at).Sign() > 0 {
			list = append(list, at)
		}
	}
	for at, n := range x.unknown {
		if at.symbol == symbol && n.Sign() > 0 && !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b place) int { return strings.Compare(a.account, b.account) })
	return list
}

// Limits of what decisions come to, so that no history makes a file without end. The book leaves out
// what goes beyond its own; a file of beancount would be wrong then.
const (
	mostMade   = 200_000
	mostDigits = 200 // of a number of shares or of a cost, after the point
)

var mostShares = portfolio.NewDecimal(1, 18)

// tooMany tells whether a decision makes more lots or shares than can be written.
func (x *exporter) tooMany(t *portfolio.Transaction, at place) bool {
	x.made += len(x.held[at])
	ratio := portfolio.NewDecimal(1, 0)
	switch {
	case t.Action == portfolio.Split:
		ratio = t.Quantity
	case !t.Ratio.IsZero():
		ratio = t.Ratio
	}
	if x.made > mostMade || x.has(at).Mul(ratio).Cmp(mostShares) > 0 {
		x.over = true
	}
	for _, l := range x.held[at] {
		x.over = x.over || l.quantity.Decimals() > mostDigits || l.cost.Decimals() > mostDigits
	}
	return x.over
}

// decide applies a split, a rename or a spin-off to one place.
func (x *exporter) decide(t *portfolio.Transaction, at place) {
	if x.tooMany(t, at) {
		return
	}
	e := x.entry(t)
	parts, _ := x.take(at, x.has(at))
	e.out(at, parts, "")
	into := place{at.account, t.Into}
	for _, p := range parts {
		switch t.Action {
		case portfolio.Split:
			e.add(at, p.acquired, p.quantity.Mul(t.Quantity), p.cost)
		case portfolio.Rename:
			e.add(into, p.acquired, p.quantity, p.cost)
		default:
			moved := p.cost.Mul(t.BasisShare)
			e.add(at, p.acquired, p.quantity, p.cost.Sub(moved))
			e.add(into, p.acquired, p.quantity.Mul(t.Ratio), moved)
		}
	}
	if unknown := x.unknown[at]; unknown.Sign() > 0 {
		e.unknownInto(t, at, into, unknown)
	}
	e.end()
}

// unknownInto applies a decision to shares of unknown cost.
func (e *entry) unknownInto(t *portfolio.Transaction, at, into place, unknown portfolio.Decimal) {
	equity := func(quantity portfolio.Decimal, symbol string) {
		e.post(e.x.names.fixed("Equity:Unknown-Cost"), fmt.Sprintf("%s %s", quantity, e.x.names.commodity(symbol)))
	}
	switch t.Action {
	case portfolio.Split:
		more := unknown.Mul(t.Quantity).Sub(unknown)
		e.move(at, more, "")
		equity(more.Neg(), at.symbol)
	case portfolio.Rename:
		e.move(at, unknown.Neg(), "")
		equity(unknown, at.symbol)
		e.move(into, unknown, "")
		equity(unknown.Neg(), into.symbol)
	default:
		e.move(into, unknown.Mul(t.Ratio), "")
		equity(unknown.Mul(t.Ratio).Neg(), into.symbol)
	}
}

// merge takes an account's shares for cash, for shares of another company, or for both. With both,
// gain is recognised lot by lot up to the cash, and no loss (IRC 356).
func (x *exporter) merge(t *portfolio.Transaction) {
	at, into := place{t.Account, t.Symbol}, place{t.Account, t.Into}
	if x.tooMany(t, at) {
		return
	}
	cash := t.Amount
	if cash.IsZero() {
		cash = t.Quantity.Mul(t.Price)
	}
	if t.Into == "" {
		x.sell(t, t.Quantity, cash)
		return
	}
	parts, rest := x.take(at, t.Quantity)
	x.unexplained(t, rest)
	e := x.entry(t)
	e.out(at, parts, "")
	for _, p := range parts {
		paid := cash.Share(p.quantity, t.Quantity)
		gain := p.quantity.Mul(t.Ratio).Mul(t.IntoPrice).Add(paid).Sub(p.cost).Min(paid)
		if gain.Sign() < 0 {
			gain = portfolio.Decimal{}
		}
		e.add(into, p.acquired, p.quantity.Mul(t.Ratio), p.cost.Sub(paid).Add(gain))
	}
	if !rest.IsZero() {
		e.move(at, rest.Neg(), "")
		e.post(x.names.fixed("Equity:Unknown-Cost"), fmt.Sprintf("%s %s", rest, x.names.commodity(at.symbol)))
		e.move(into, rest.Mul(t.Ratio), "")
		e.post(x.names.fixed("Equity:Unknown-Cost"), fmt.Sprintf("-%s %s", rest.Mul(t.Ratio), x.names.commodity(into.symbol)))
	}
	if !cash.IsZero() {
		e.cash(t.Account, cash)
		e.rest("Income", t.Account, "Gains")
	}
	e.end()
}

// returnCapital lowers what an account's shares cost; what goes beyond that is gain (IRC 301(c)).
func (x *exporter) returnCapital(t *portfolio.Transaction) {
	at := place{t.Account, t.Symbol}
	cash := t.Amount
	if cash.IsZero() {
		cash = t.Quantity.Mul(t.Price)
	}
	all := x.has(at)
	if x.tooMany(t, at) {
		return
	}
	if all.Sign() <= 0 || cash.IsZero() {
		x.note(&x.out, "not told: %s RETURN_OF_CAPITAL of %s in %s: which shares it was paid on, or how much it was", t.Date, t.Symbol, t.Account)
		return
	}
	parts, _ := x.take(at, all)
	e := x.entry(t)
	e.out(at, parts, "")
	for _, p := range parts {
		e.add(at, p.acquired, p.quantity, p.cost.Sub(cash.Share(p.quantity, all).Min(p.cost)))
	}
	e.cash(t.Account, cash)
	e.rest("Income", t.Account, "Gains")
	e.end()
}
