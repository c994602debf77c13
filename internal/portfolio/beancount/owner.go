package beancount

import (
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// near is how many days a dividend may be apart from its reinvestment.
const near = 3

// transferDays is how long shares may be on their way, as the book has it.
const transferDays = 21

func (x *exporter) buy(t *portfolio.Transaction) {
	e, at := x.entry(t), place{t.Account, t.Symbol}
	e.add(at, t.Date, t.Quantity, t.Cost())
	paidOut := slices.ContainsFunc(x.paid[at], func(day portfolio.Date) bool { return abs(day.Sub(t.Date)) <= near })
	if t.Action == portfolio.Reinvest && !paidOut {
		e.rest("Income", t.Account, "Dividends")
	} else {
		e.cash(t.Account, t.Cost().Neg())
	}
	e.end()
}

func (x *exporter) dividend(t *portfolio.Transaction) {
	amount := t.Amount
	if amount.IsZero() {
		amount = t.Quantity.Mul(t.Price)
	}
	if amount.IsZero() {
		x.note(&x.out, "not told: %s DIVIDEND of %s in %s: how much it was", t.Date, t.Symbol, t.Account)
		return
	}
	e := x.entry(t)
	e.cash(t.Account, amount)
	e.rest("Income", t.Account, "Dividends")
	e.end()
}

// A wish is how much to take of the lots of a day.
type wish struct {
	acquired portfolio.Date
	quantity portfolio.Decimal
}

// take takes shares out of a place: those wished for, then by the account's method. What is missing is
// the rest.
func (x *exporter) take(at place, quantity portfolio.Decimal, wishes ...wish) (parts []lot, rest portfolio.Decimal) {
	rest = quantity
	from := func(l *lot, most portfolio.Decimal) (n portfolio.Decimal) {
		if n = l.quantity.Min(most).Min(rest); n.Sign() <= 0 {
			return portfolio.Decimal{}
		}
		part := lot{l.label, l.acquired, n, l.cost}
		if n.Cmp(l.quantity) < 0 {
			part.cost = l.cost.Share(n, l.quantity)
		}
		l.quantity, l.cost, rest = l.quantity.Sub(n), l.cost.Sub(part.cost), rest.Sub(n)
		parts = append(parts, part)
		return n
	}
	for _, w := range wishes {
		left := w.quantity
		for _, l := range x.held[at] {
			if l.acquired == w.acquired {
				left = left.Sub(from(l, left))
			}
		}
	}
	if rest.Sign() > 0 {
		x.byMethod(at, from, &rest)
	}
	x.lots[at] = x.lots[at].Sub(quantity.Sub(rest))
	x.held[at] = slices.DeleteFunc(x.held[at], func(l *lot) bool { return l.quantity.IsZero() })
	return join(parts), rest
}

// byMethod takes the rest as the account sells: the oldest lots first, or the dearest.
func (x *exporter) byMethod(at place, from func(l *lot, most portfolio.Decimal) portfolio.Decimal, rest *portfolio.Decimal) {
	order := slices.Clone(x.held[at])
	slices.SortStableFunc(order, func(a, b *lot) int {
		if x.methods[at.account] == portfolio.HIFO {
			return b.cost.Mul(a.quantity).Cmp(a.cost.Mul(b.quantity))
		}
		return a.acquired.Compare(b.acquired)
	})
	for _, l := range order {
		from(l, *rest)
	}
}

// join makes one part of those of one lot.
func join(parts []lot) (joined []lot) {
	at := map[string]int{}
	for _, p := range parts {
		i, ok := at[p.label]
		if !ok {
			at[p.label] = len(joined)
			joined = append(joined, p)
			continue
		}
		joined[i].quantity, joined[i].cost = joined[i].quantity.Add(p.quantity), joined[i].cost.Add(p.cost)
	}
	return joined
}

// out posts parts that leave a place.
func (e *entry) out(at place, parts []lot, suffix string) {
	for _, p := range parts {
		e.post(e.x.shares(at), fmt.Sprintf("-%s %s {USD, %s, %s}%s", p.quantity, e.x.names.commodity(at.symbol), p.acquired, quoted(p.label), suffix))
	}
}

// move posts shares of unknown cost that come or, if less than zero, go.
func (e *entry) move(at place, quantity portfolio.Decimal, suffix string) {
	x := e.x
	x.unknown[at] = x.unknown[at].Add(quantity)
	what := fmt.Sprintf("%s %s%s", quantity, x.names.commodity(at.symbol), suffix)
	if at.account == transit {
		e.post(x.names.fixed("Assets:In-Transit:Unknown-Cost"), what)
		return
	}
	e.post(x.names.account("Assets", at.account, "Unknown-Cost"), what)
}

// unexplained says that shares are missing, if there are fewer of unknown cost.
func (x *exporter) unexplained(t *portfolio.Transaction, missing portfolio.Decimal) {
	if more := missing.Sub(x.unknown[place{t.Account, t.Symbol}]); more.Sign() > 0 {
		x.note(&x.out, "not told: where %s of the %s that left %s on %s came from", more, t.Symbol, t.Account, t.Date)
	}
}

func (x *exporter) sell(t *portfolio.Transaction, quantity, proceeds portfolio.Decimal) {
	at := place{t.Account, t.Symbol}
	var wishes []wish
	if day, named := t.NamedLot(); named {
		wishes = append(wishes, wish{day, quantity})
	}
	var disallowed portfolio.Decimal
	open := quantity
	queue := x.sold[sale{at, t.Date, t.Action}]
	for len(queue) > 0 && open.Sign() > 0 {
		d := &queue[0]
		n := d.Quantity.Min(open)
		wishes, open = append(wishes, wish{d.Acquired, n}), open.Sub(n)
		if n.Cmp(d.Quantity) < 0 {
			d.Quantity = d.Quantity.Sub(n)
			break
		}
		disallowed = disallowed.Add(d.Disallowed)
		queue = queue[1:]
	}
	x.sold[sale{at, t.Date, t.Action}] = queue
	day := sale{place: at, on: t.Date}
	unknown := x.untold[day].Min(open)
	x.untold[day] = x.untold[day].Sub(unknown)
	parts, rest := x.take(at, quantity.Sub(unknown), wishes...)
	rest = rest.Add(unknown)
	x.unexplained(t, rest)
	e := x.entry(t)
	if !disallowed.IsZero() {
		e.meta("wash-sale-disallowed", disallowed.Money()+" USD")
	}
	each := t.Price
	if each.IsZero() {
		each = proceeds.Over(quantity, 6)
	}
	e.out(at, parts, " @ "+each.Money()+" USD")
	if !rest.IsZero() {
		e.move(at, rest.Neg(), " @ "+each.Money()+" USD")
	}
	e.cash(t.Account, proceeds)
	e.rest("Income", t.Account, "Gains")
	e.end()
}

// other finds a row of the other side of a transfer that is still to come.
func (x *exporter) other(t *portfolio.Transaction, action portfolio.Action, rows ...[]*portfolio.Transaction) *portfolio.Transaction {
	for _, list := range rows {
		for _, o := range list {
			if o.Date.Sub(t.Date) > transferDays {
				break
			}
			if o.Action == action && o.Symbol == t.Symbol && o.Account != t.Account && !x.done[o] {
				return o
			}
		}
	}
	return nil
}

// leave moves shares out: on their way, if they arrive somewhere, else out of the household.
func (x *exporter) leave(t *portfolio.Transaction, later, today []*portfolio.Transaction) {
	if x.other(t, portfolio.TransferIn, today, later) != nil {
		x.toTransit(t, t.Date)
		return
	}
	at := place{t.Account, t.Symbol}
	parts, rest := x.take(at, t.Quantity, x.named(t)...)
	x.unexplained(t, rest)
	e := x.entry(t)
	e.out(at, parts, "")
	if !rest.IsZero() {
		e.move(at, rest.Neg(), "")
		e.post(x.names.fixed("Equity:Unknown-Cost"), fmt.Sprintf("%s %s", rest, x.names.commodity(t.Symbol)))
	}
	if len(parts) > 0 {
		e.post(x.names.fixed("Equity:Transferred-Out"), "")
	}
	e.end()
}

func (x *exporter) named(t *portfolio.Transaction) []wish {
	if day, named := t.NamedLot(); named {
		return []wish{{day, t.Quantity}}
	}
	return nil
}

// toTransit puts shares on their way, with their days and costs.
func (x *exporter) toTransit(t *portfolio.Transaction, on portfolio.Date) {
	parts, rest := x.take(place{t.Account, t.Symbol}, t.Quantity, x.named(t)...)
	x.unexplained(t, rest)
	dated := *t
	dated.Date = on
	x.carry(&dated, place{t.Account, t.Symbol}, place{transit, t.Symbol}, parts, rest)
}

// carry moves lots from a place to another as they are.
func (x *exporter) carry(t *portfolio.Transaction, from, to place, parts []lot, unknown portfolio.Decimal) {
	e := x.entry(t)
	e.out(from, parts, "")
	for _, p := range parts {
		e.add(to, p.acquired, p.quantity, p.cost)
	}
	if !unknown.IsZero() {
		e.move(from, unknown.Neg(), "")
		e.move(to, unknown, "")
	}
	e.end()
}

func (x *exporter) arrive(t *portfolio.Transaction, later, today []*portfolio.Transaction) {
	way, at := place{transit, t.Symbol}, place{t.Account, t.Symbol}
	if x.has(way).Cmp(t.Quantity) < 0 {
		if o := x.other(t, portfolio.TransferOut, today, later); o != nil && o.Quantity.Cmp(t.Quantity) >= 0 {
			x.done[o] = true
			x.toTransit(o, t.Date)
		}
	}
	if x.has(way).Cmp(t.Quantity) >= 0 {
		parts, rest := x.take(way, t.Quantity)
		x.carry(t, way, at, parts, rest)
		return
	}
	e := x.entry(t)
	if cost := t.Cost(); cost.Sign() > 0 || t.FreeOfCost {
		acquired := t.Date
		if day, named := t.NamedLot(); named {
			acquired = day
		}
		e.add(at, acquired, t.Quantity, cost)
		e.post(x.names.fixed("Equity:Transferred-In"), "")
	} else {
		e.move(at, t.Quantity, "")
		e.post(x.names.fixed("Equity:Unknown-Cost"), fmt.Sprintf("-%s %s", t.Quantity, x.names.commodity(t.Symbol)))
	}
	e.end()
}

func abs(n int) int { return max(n, -n) }
