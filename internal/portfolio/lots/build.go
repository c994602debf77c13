package lots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A lot is an open lot while the book is kept.
type lot struct {
	Lot
	bought   portfolio.Date    // when it counts as a purchase; a transfer alone is none
	replaces bool              // a loss already: each share does so once
	untaxed  bool              // bought in a retirement account, so a loss that it replaces is lost
	each     portfolio.Decimal // the basis of one share, to compare by; zero is not worked out
	gone     bool              // sold, or out of the household
}

// A holding is one symbol in one account: its lots, oldest first, and the shares of which nobody
// said what they cost.
type holding struct {
	account portfolio.Account
	lots    []*lot
	unknown portfolio.Decimal
}

type place struct{ account, symbol string }

// A keeper goes through a history and keeps the book.
type keeper struct {
	book      *Book
	accounts  map[string]portfolio.Account
	holdings  map[place]*holding
	bySymbol  map[string][]*holding
	groups    groups
	washing   map[string]*washing // by group
	purchases int
	sales     int
	today     []*loss // of one day: what is sold on it replaces nothing that is sold on it
	losses    []*loss // of all days, with what no purchase washed
	doubtful  []purchase
}

// Build keeps the book of a history up to and including a day. The order of the history makes no
// difference.
func Build(history []portfolio.Transaction, rules Rules, asOf portfolio.Date) *Book {
	k := &keeper{
		book:     &Book{AsOf: asOf, Splits: map[string][]Split{}},
		accounts: map[string]portfolio.Account{},
		holdings: map[place]*holding{},
		bySymbol: map[string][]*holding{},
		groups:   newGroups(rules),
		washing:  map[string]*washing{},
	}
	untaxed := map[string]bool{}
	for _, a := range rules.Accounts {
		k.accounts[a.ID] = a
		untaxed[a.ID] = a.Kind != portfolio.Taxable
	}
	list := events(history, asOf, untaxed)
	sales := 0
	for _, e := range list {
		if e.Action == portfolio.Sell {
			sales++
		}
		if _, named := e.NamedLot(); named && e.Action == portfolio.TransferIn {
			k.group(e.Symbol).patient = true
		}
	}
	k.book.Disposals = make([]Disposal, 0, 2*sales) // a sale often takes several lots
	var day portfolio.Date
	for _, e := range list {
		if e.date != day {
			k.wash()
			day = e.date
		}
		k.take(e)
	}
	k.wash()
	k.label()
	k.close()
	return k.book
}

func (k *keeper) take(e event) {
	switch e.Action {
	case portfolio.Buy, portfolio.Reinvest:
		k.buy(e)
	case portfolio.Sell:
		k.sell(e)
	case portfolio.Split:
		k.split(e)
	case portfolio.TransferIn:
		k.arrive(e)
	case portfolio.TransferOut:
		k.leave(e)
	case portfolio.Dividend:
	}
}

func (k *keeper) problem(e event, format string, args ...any) {
	k.book.Problems = append(k.book.Problems, Problem{e.Date, e.Account, e.Symbol, fmt.Sprintf(format, args...)})
}

func (k *keeper) holding(account, symbol string) *holding {
	at := place{account, symbol}
	if h, ok := k.holdings[at]; ok {
		return h
	}
	owner, ok := k.accounts[account]
	if !ok {
		owner = portfolio.Unlisted(account)
	}
	h := &holding{account: owner}
	k.holdings[at] = h
	k.bySymbol[symbol] = append(k.bySymbol[symbol], h)
	return h
}

func (k *keeper) buy(e event) {
	k.purchases++
	bought := &lot{bought: e.Date, Lot: Lot{
		Purchase: k.purchases, Account: e.Account, Symbol: e.Symbol, Acquired: e.Date, HoldingSince: e.Date,
		Quantity: e.Quantity, Basis: e.Cost(), Reinvested: e.Action == portfolio.Reinvest,
	}}
	h := k.holding(e.Account, e.Symbol)
	h.add(bought)
	k.note(h, bought)
}

// add puts a lot among the others by its day.
func (h *holding) add(l *lot) {
	i := len(h.lots)
	for i > 0 && h.lots[i-1].Acquired.After(l.Acquired) {
		i--
	}
	h.lots = slices.Insert(h.lots, i, l)
}

// cut takes the first n shares out of the lot at i, which stays what it was for the rest of them,
// and puts them before it. What can't be divided stays with the rest. A lot that has no more than
// n shares is returned as it is.
func (h *holding) cut(i int, n portfolio.Decimal) *lot {
	l := h.lots[i]
	if l.Quantity.Cmp(n) <= 0 {
		return l
	}
	piece := *l
	piece.Quantity = n
	piece.Basis = l.Basis.Share(n, l.Quantity)
	piece.Deferred = l.Deferred.Share(n, l.Quantity)
	piece.each = l.each
	l.Basis = l.Basis.Sub(piece.Basis)
	l.Deferred = l.Deferred.Sub(piece.Deferred)
	l.Quantity = l.Quantity.Sub(n)
	h.lots = slices.Insert(h.lots, i, &piece)
	return &piece
}

// take removes up to n shares and returns them as lots: first those that the transaction names,
// then by the account's method. What is missing is the last result.
func (h *holding) take(t *portfolio.Transaction, n portfolio.Decimal) (taken []*lot, missing portfolio.Decimal) {
	named, naming := t.NamedLot()
	for n.Sign() > 0 && len(h.lots) > 0 {
		i := h.next(named, naming)
		l := h.cut(i, n)
		n = n.Sub(l.Quantity)
		h.lots = slices.Delete(h.lots, i, i+1)
		l.gone = true
		taken = append(taken, l)
	}
	return taken, n
}

// next is the lot that goes first: by the account's method, of those that are named as long as
// there are any.
func (h *holding) next(named portfolio.Date, naming bool) int {
	first := 0
	if naming {
		first = max(slices.IndexFunc(h.lots, func(l *lot) bool { return l.Acquired == named }), 0)
	}
	if h.account.Method != portfolio.HIFO {
		return first
	}
	best := first
	naming = naming && h.lots[first].Acquired == named
	for i, l := range h.lots {
		if (!naming || l.Acquired == named) && l.costOfOne().Cmp(h.lots[best].costOfOne()) > 0 {
			best = i
		}
	}
	return best
}

// costOfOne is the basis of one share to a hundredth of a cent: below that, lots cost the same, and
// the older goes first.
func (l *lot) costOfOne() portfolio.Decimal {
	if l.each.IsZero() {
		l.each = l.Basis.Over(l.Quantity, 4)
	}
	return l.each
}

// names tells whether the holding has as many shares of the named day as are to go.
func (h *holding) names(day portfolio.Date, n portfolio.Decimal) bool {
	for _, l := range h.lots {
		if l.Acquired == day {
			n = n.Sub(l.Quantity)
		}
	}
	return n.Sign() <= 0
}

func (k *keeper) checkNamed(e event, h *holding) {
	day, naming := e.NamedLot()
	switch {
	case naming && !h.names(day, e.Quantity):
		k.problem(e, "the note names the lot of %s, which does not have %s shares; the account's method picks the rest", day, e.Quantity)
	case !naming && strings.Contains(strings.ToLower(e.Note), "lot:"):
		k.problem(e, "the note %.60q names no lot that can be read; write lot:YYYY-MM-DD", e.Note)
	}
}

func (k *keeper) sell(e event) {
	h := k.holding(e.Account, e.Symbol)
	k.checkNamed(e, h)
	taken, missing := h.take(e.Transaction, e.Quantity)
	k.explain(e, h, missing)
	if h.account.Kind != portfolio.Taxable {
		return
	}
	k.sales++
	proceeds, quantity := e.Proceeds(), e.Quantity
	for _, l := range taken {
		part := proceeds.Share(l.Quantity, quantity)
		proceeds, quantity = proceeds.Sub(part), quantity.Sub(l.Quantity)
		d := Disposal{
			Sale: k.sales, Purchase: l.Purchase, Account: e.Account, Symbol: e.Symbol, Acquired: l.Acquired, HoldingSince: l.HoldingSince, Sold: e.Date,
			Quantity: l.Quantity, Proceeds: part, Basis: l.Basis,
		}
		if gain := d.Gain(); gain.Sign() < 0 {
			k.today = append(k.today, &loss{
				disposal: len(k.book.Disposals), symbol: e.Symbol, purchase: l.Purchase, acquired: l.Acquired, sold: e.Date,
				held: e.Date.Sub(l.HoldingSince), shares: l.Quantity, amount: gain.Neg(),
			})
		}
		k.book.Disposals = append(k.book.Disposals, d)
	}
	if quantity.Sign() > 0 {
		k.book.Untold = append(k.book.Untold, Untold{e.Account, e.Symbol, e.Date, quantity, proceeds})
	}
}

// explain says what is odd about shares that went and were not in any lot.
func (k *keeper) explain(e event, h *holding, missing portfolio.Decimal) (unknown portfolio.Decimal) {
	if missing.Sign() <= 0 {
		return unknown
	}
	unknown = missing.Min(h.unknown)
	h.unknown = h.unknown.Sub(unknown)
	if unknown.Sign() > 0 {
		k.problem(e, "%s of the %s shares came in without their cost, so their gain is unknown; give the transfer a price and a note lot:YYYY-MM-DD", unknown, e.Quantity)
	}
	if short := missing.Sub(unknown); short.Sign() > 0 {
		k.problem(e, "%s of the %s shares are not in the history; import what is older (short sales are not tracked)", short, e.Quantity)
	}
	return unknown
}

// mostShares is more than any lot has; beyond it a history is nonsense, and slow to compute.
var mostShares = portfolio.NewDecimal(1, 18)

// quantityDecimals is how fine shares are counted after a split: finer than any broker does, and so
// that a third, which a file can only write as 0.333333333333, gives whole shares again.
const quantityDecimals = 9

func (k *keeper) split(e event) {
	if e.more != nil {
		k.problem(e, "accounts tell different ratios of this split; %s is taken, not %s", e.Quantity, e.more.odd)
	}
	scale := ratio(e.Quantity)
	k.book.Splits[e.Symbol] = append(k.book.Splits[e.Symbol], Split{e.date, e.Quantity})
	for _, h := range k.bySymbol[e.Symbol] {
		for _, l := range h.lots {
			if l.Quantity.Mul(e.Quantity).Cmp(mostShares) > 0 {
				k.problem(e, "the split makes more than %s shares of a lot; it is left out", mostShares)
				return
			}
		}
	}
	for _, h := range k.bySymbol[e.Symbol] {
		for _, l := range h.lots {
			l.Quantity, l.each = scale(l.Quantity), portfolio.Decimal{}
		}
		h.unknown = scale(h.unknown)
	}
	for _, p := range k.losses { // those that wait for a purchase among them
		if p.symbol == e.Symbol {
			p.shares = scale(p.shares)
		}
	}
	for i := range k.doubtful {
		if p := &k.doubtful[i]; p.symbol == e.Symbol {
			p.quantity = scale(p.quantity)
		}
	}
}

// ratio makes a function of a split's ratio. One share for n can't be written as a decimal in most
// cases, so what is near it is taken for it.
func ratio(r portfolio.Decimal) func(portfolio.Decimal) portfolio.Decimal {
	const most = 1000
	one := portfolio.NewDecimal(1, 0)
	if r.Sign() > 0 && r.Cmp(one) < 0 {
		n := one.Over(r, 0)
		if n.Cmp(portfolio.NewDecimal(most, 0)) <= 0 && alike(one, r.Mul(n)) {
			return func(shares portfolio.Decimal) portfolio.Decimal {
				return notNothing(shares.Over(n, quantityDecimals), shares.Mul(r))
			}
		}
	}
	return func(shares portfolio.Decimal) portfolio.Decimal {
		scaled := shares.Mul(r)
		return notNothing(scaled.Round(quantityDecimals), scaled)
	}
}

// notNothing is the rounded number of shares, unless that is none: dust keeps its cost.
func notNothing(rounded, exact portfolio.Decimal) portfolio.Decimal {
	if rounded.IsZero() {
		return exact
	}
	return rounded
}

// arrive takes in shares from outside the household's accounts. They were not bought now, so they
// replace nothing, unless their note says that they were bought within the window.
func (k *keeper) arrive(e event) {
	h := k.holding(e.Account, e.Symbol)
	cost := e.Cost()
	if cost.IsZero() {
		h.unknown = h.unknown.Add(e.Quantity)
		return
	}
	k.purchases++
	day, named := e.NamedLot()
	if !named || day.After(e.Date) {
		day = e.Date
	}
	arrived := &lot{Lot: Lot{
		Purchase: k.purchases, Account: e.Account, Symbol: e.Symbol, Acquired: day, HoldingSince: day,
		Quantity: e.Quantity, Basis: cost,
	}}
	h.add(arrived)
	if named {
		arrived.bought = day
		k.note(h, arrived)
	}
}

// leave takes shares out of an account, and into another of the household's as they are.
func (k *keeper) leave(e event) {
	from := k.holding(e.Account, e.Symbol)
	k.checkNamed(e, from)
	taken, missing := from.take(e.Transaction, e.Quantity)
	unknown := k.explain(e, from, missing)
	if e.more == nil {
		return
	}
	to := k.holding(e.more.to, e.Symbol)
	if (from.account.Kind == portfolio.Taxable) != (to.account.Kind == portfolio.Taxable) {
		k.problem(e, "shares went from %s (%s) to %s (%s); a contribution or distribution in kind is not worked out", e.Account, from.account.Kind, e.more.to, to.account.Kind)
	}
	var cost portfolio.Decimal
	for _, l := range taken {
		cost = cost.Add(l.Basis)
	}
	if said := e.more.cost; !said.IsZero() && said.Cmp(cost) != 0 {
		k.problem(e, "the shares arrived in %s at a cost of %s; those that left cost %s, which is kept", e.more.to, said.Money(), cost.Money())
	}
	for _, l := range taken {
		l.Account, l.gone = e.more.to, false
		to.add(l)
		if w := k.group(l.Symbol); !l.bought.IsZero() && !l.replaces && to.account.Kind != portfolio.K401 && !slices.Contains(w.recent, l) {
			w.remember(l)
		}
	}
	to.unknown = to.unknown.Add(unknown)
}

// close writes down what is left.
func (k *keeper) close() {
	b := k.book
	b.groups, b.washing = k.groups, k.washing
	b.doubtful = slices.DeleteFunc(k.doubtful, func(p purchase) bool { return p.date.Before(b.AsOf.Add(-WashDays)) })
	for _, w := range k.washing {
		w.forget(b.AsOf)
	}
	var open []*lot
	for at, h := range k.holdings {
		quantity, inLots := h.unknown, portfolio.Decimal{}
		for _, l := range h.lots {
			inLots = inLots.Add(l.Quantity)
		}
		open = append(open, h.lots...)
		if quantity = quantity.Add(inLots); quantity.Sign() > 0 {
			b.Positions = append(b.Positions, Position{at.account, at.symbol, quantity, inLots})
		}
	}
	slices.SortFunc(open, func(x, y *lot) int {
		return cmp.Or(strings.Compare(x.Symbol, y.Symbol), strings.Compare(x.Account, y.Account), x.Acquired.Compare(y.Acquired),
			x.Purchase-y.Purchase, x.HoldingSince.Compare(y.HoldingSince), x.Basis.Cmp(y.Basis))
	})
	b.Lots = make([]Lot, len(open))
	for i, l := range open {
		l.ID = i + 1
		b.Lots[i] = l.Lot
	}
	slices.SortFunc(b.Positions, func(x, y Position) int {
		return cmp.Or(strings.Compare(x.Symbol, y.Symbol), strings.Compare(x.Account, y.Account))
	})
}
