package lots

import (
	"maps"
	"slices"
	"sort"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// decide does what a company decided.
func (k *keeper) decide(e *event) {
	e.done = true
	switch e.Action {
	case portfolio.Split:
		k.split(e)
	case portfolio.Rename:
		k.rename(e)
	case portfolio.Spinoff:
		k.spinOff(e)
	case portfolio.Merger:
		k.merge(e)
	case portfolio.ReturnOfCapital:
		k.returnCapital(e)
	case portfolio.Buy, portfolio.Reinvest, portfolio.Sell, portfolio.TransferIn, portfolio.TransferOut, portfolio.Dividend, portfolio.BuyCall:
	}
}

// mostShares is more than any lot has; beyond it a history is nonsense, and slow to compute.
var mostShares = portfolio.NewDecimal(1, 18)

// quantityDecimals is how fine shares are counted after a split: finer than any broker does, and so
// that a third, which a file can only write as 0.333333333333, gives whole shares again.
const quantityDecimals = 9

// tooMany tells whether a ratio makes more shares of a lot than there can be, and says so.
func (k *keeper) tooMany(e *event, ratio portfolio.Decimal, lots []*lot) bool {
	for _, l := range lots {
		if l.Quantity.Mul(ratio).Cmp(mostShares) > 0 {
			k.problem(e, "the %s makes more than %s shares of a lot; it is left out", words[e.Action], mostShares)
			return true
		}
	}
	return false
}

var words = map[portfolio.Action]string{portfolio.Split: "split", portfolio.Spinoff: "spin-off", portfolio.Merger: "merger"}

// mostWork is how much companies' decisions may change, in lots and the like: far more than those of a
// long life do, and little enough that no file takes minutes. Lots that a spin-off makes cost memory too.
const (
	mostWork = 20_000_000
	making   = 50
)

// tooMuch tells whether a decision changes more than can be worked out, after all before it, and says so.
func (k *keeper) tooMuch(e *event, work int) bool {
	k.work += work
	if k.work > mostWork {
		k.problem(e, "the history has more decisions of companies than can be worked out; this %s is left out", e.Action)
	}
	return k.work > mostWork
}

// lotsOf are the lots of a symbol in all accounts.
func (k *keeper) lotsOf(symbol string) (all []*lot) {
	for _, h := range k.bySymbol[symbol] {
		all = append(all, h.lots()...)
	}
	return all
}

func (k *keeper) split(e *event) {
	if e.more != nil {
		k.problem(e, "accounts tell different ratios of this split; %s is taken, not %s", e.terms(), e.more.odd)
	}
	scale := ratio(e.Quantity)
	k.book.Splits[e.Symbol] = append(k.book.Splits[e.Symbol], Split{e.date, e.Quantity})
	lots := k.lotsOf(e.Symbol)
	if k.tooMuch(e, len(lots)+len(k.bySymbol[e.Symbol])+len(k.losses)+len(k.doubtful)) || k.tooMany(e, e.Quantity, lots) {
		return
	}
	for _, l := range lots {
		l.Quantity = scale(l.Quantity)
		l.home.change(l)
	}
	for _, h := range k.bySymbol[e.Symbol] {
		h.unknown = h.unknown.scaled(scale)
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

// least is the smallest part of a share that is counted, so that no file can make numbers without end.
var least = portfolio.NewDecimal(1, -18)

// notNothing is the rounded number of shares, unless that is none: dust keeps its cost.
func notNothing(rounded, exact portfolio.Decimal) portfolio.Decimal {
	switch {
	case !rounded.IsZero() || exact.IsZero():
		return rounded
	case exact.Cmp(least) < 0:
		return least
	}
	return exact.Floor(18)
}

// rename gives a symbol's lots their new name, in all accounts. It is the same security: losses and
// purchases of before and after are one for the wash-sale rule.
func (k *keeper) rename(e *event) {
	if k.tooMuch(e, len(k.lotsOf(e.Symbol))+len(k.bySymbol[e.Symbol])+len(k.losses)+len(k.doubtful)+len(k.groups.of)) {
		return
	}
	k.label(e.date.Add(-WashDays)) // what is past the window has to do with the old names alone
	for _, h := range k.bySymbol[e.Symbol] {
		to := k.holding(h.account.ID, e.Into)
		for _, l := range h.lots() {
			h.remove(l)
			l.Symbol = e.Into
			to.place(l)
		}
		to.unknown.add(h.unknown...)
		h.unknown = nil
	}
	for _, p := range slices.Concat(k.losses, k.today) {
		if p.symbol == e.Symbol {
			p.symbol = e.Into
		}
	}
	for i := range k.doubtful {
		if p := &k.doubtful[i]; p.symbol == e.Symbol {
			p.symbol = e.Into
		}
	}
	if splits := k.book.Splits[e.Symbol]; len(splits) > 0 {
		all := slices.Concat(k.book.Splits[e.Into], splits)
		slices.SortStableFunc(all, func(a, b Split) int { return a.Date.Compare(b.Date) })
		k.book.Splits[e.Into] = all
		delete(k.book.Splits, e.Symbol)
	}
	from, to := k.groups.name(e.Symbol), k.groups.name(e.Into)
	if from == to {
		return
	}
	k.renamed[e.Symbol] = e
	delete(k.renamed, e.Into)
	k.groups.rename(e.Symbol, e.Into)
	if w := k.washing[from]; w != nil {
		into := k.group(e.Into)
		into.pending.join(w.pending, compareLosses)
		into.recent.join(w.recent, func(x, y *lot) int { return x.number - y.number })
		delete(k.washing, from)
		k.washJoined(into)
	}
}

// spinOff gives the owners of a symbol shares of another, and a part of the cost with them (IRC 355,
// 358(b) and (c)). They were acquired when the old ones were, for the holding period too (IRC 1223(1)),
// and not bought.
func (k *keeper) spinOff(e *event) {
	if e.more != nil {
		k.problem(e, "accounts tell this spin-off differently; %s is taken, not %s", e.terms(), e.more.odd)
	}
	lots := k.lotsOf(e.Symbol)
	if k.tooMuch(e, making*(len(lots)+len(k.bySymbol[e.Symbol]))) || k.tooMany(e, e.Ratio, lots) {
		return
	}
	scale := ratio(e.Ratio)
	purchases := map[int]int{}
	for _, h := range k.bySymbol[e.Symbol] {
		to := k.holding(h.account.ID, e.Into)
		for _, l := range h.lots() {
			number, ok := purchases[l.Purchase]
			if !ok {
				k.purchases++
				number = k.purchases
				purchases[l.Purchase] = number
			}
			part := l.become(e.Into, scale(l.Quantity))
			part.Purchase = number
			part.Basis, part.Deferred = portion(l.Basis, e.BasisShare), portion(l.Deferred, e.BasisShare)
			l.Basis, l.Deferred = l.Basis.Sub(part.Basis), l.Deferred.Sub(part.Deferred)
			h.change(l)
			to.place(part)
		}
		to.unknown.add(h.unknown.scaled(scale)...)
	}
}

// portion is a part of an amount, to the millionth. The rest stays with the whole.
func portion(amount, part portfolio.Decimal) portfolio.Decimal { return amount.Mul(part).Floor(6) }

// become is a lot of another symbol that comes of this one, and is not bought.
func (l *lot) become(symbol string, quantity portfolio.Decimal) *lot {
	other := &lot{Lot: l.Lot}
	other.Symbol, other.Quantity = symbol, quantity
	return other
}

// merge takes the shares of a symbol out of an account: for cash it is a sale. For shares of another
// nothing is gained yet, and cost and holding period go along (IRC 354, 358, 1223(1)). If cash comes
// with them, a gain counts up to the cash, lot by lot, and a loss does not (IRC 356(a), (c)). The new
// shares are not bought.
func (k *keeper) merge(e *event) {
	h := k.holding(e.Account, e.Symbol)
	k.mergers = append(k.mergers, Problem{Date: e.date, Account: e.Account, Symbol: e.Symbol})
	lots := h.lots()
	if k.tooMuch(e, len(lots)) || k.tooMany(e, e.Ratio, lots) {
		return
	}
	taken, unknown, missing := h.take(portfolio.Date{}, false, e.Quantity)
	k.explain(e, unknown, missing)
	if len(h.days) > 0 || len(h.unknown) > 0 {
		k.problem(e, "the merger takes %s shares, and the account has more; they stay", e.Quantity)
	}
	if e.Into == "" {
		k.dispose(e, h, taken)
		return
	}
	to, scale := k.holding(e.Account, e.Into), ratio(e.Ratio)
	to.unknown.add(unknown.scaled(scale)...)
	cash, quantity := portfolio.Decimal{}, e.Quantity
	if !e.Price.IsZero() || !e.Amount.IsZero() {
		cash = e.Proceeds()
	}
	taxed := cash.Sign() > 0 && h.account.Kind == portfolio.Taxable
	if taxed {
		k.sales++
		clear(k.rows)
	}
	slices.SortFunc(taken, compareAge)
	for _, l := range taken {
		paid := cash.Share(l.Quantity, quantity)
		cash, quantity = cash.Sub(paid), quantity.Sub(l.Quantity)
		other := l.become(e.Into, scale(l.Quantity))
		gain := other.Quantity.Mul(e.IntoPrice).Add(paid).Sub(l.Basis).Min(paid)
		if gain.Sign() < 0 {
			gain = portfolio.Decimal{}
		}
		against := paid.Sub(gain) // what the cash gives back of the cost
		other.Basis = l.Basis.Sub(against)
		other.Deferred = l.Deferred.Min(other.Basis)
		to.place(other)
		if taxed {
			k.write(k.disposal(e, l, paid, against), false)
		}
	}
	if taxed {
		k.untold(e, quantity, cash)
	}
}

// checkMergers says where shares of a symbol are left that ended in another account: one of them is
// wrong.
func (k *keeper) checkMergers() {
	bySymbol := map[string][]Problem{}
	for _, m := range k.mergers {
		bySymbol[m.Symbol] = append(bySymbol[m.Symbol], m)
	}
	for _, symbol := range slices.Sorted(maps.Keys(bySymbol)) {
		mergers := bySymbol[symbol] // by day
		for _, h := range k.bySymbol[symbol] {
			from := 0
			switch {
			case len(h.unknown) > 0:
			case len(h.days) == 0:
				continue
			default:
				from = sort.Search(len(mergers), func(i int) bool { return h.days[0].day.Before(mergers[i].Date) })
			}
			other := slices.IndexFunc(mergers[from:], func(m Problem) bool { return m.Account != h.account.ID })
			if other < 0 {
				continue
			}
			m := mergers[from+other]
			k.book.Problems = append(k.book.Problems, Problem{m.Date, h.account.ID, m.Symbol,
				"account " + m.Account + " tells a merger of " + m.Symbol + " on " + m.Date.String() + ", and this one still has shares of it; import or write its row too"})
		}
	}
}

// returnCapital lowers the cost of an account's shares by what was paid on them (IRC 301(c)(2)), the
// oldest first if it was paid on some of them. What is beyond the cost is a gain (IRC 301(c)(3)).
func (k *keeper) returnCapital(e *event) {
	h := k.holding(e.Account, e.Symbol)
	lots := h.lots()
	if k.tooMuch(e, len(lots)) {
		return
	}
	taxed := h.account.Kind == portfolio.Taxable
	if taxed {
		k.sales++
		clear(k.rows)
	}
	amount, left := e.Proceeds(), e.Quantity
	waiting, unknown := slices.Clone(h.unknown), portfolio.Decimal{}
	pass := func() { // over shares of unknown cost
		part := waiting.cut(left).quantity
		amount, left, unknown = amount.Sub(amount.Share(part, left)), left.Sub(part), unknown.Add(part)
	}
	for _, l := range lots {
		for len(waiting) > 0 && !l.Acquired.Before(waiting[0].day) && left.Sign() > 0 {
			pass()
		}
		if left.Sign() <= 0 {
			break
		}
		if l.Quantity.Cmp(left) > 0 {
			piece := l.cut(left)
			h.setBefore(piece, l)
			h.change(l)
			if l.listed {
				k.remember(piece)
			}
			l = piece
		}
		paid := amount.Share(l.Quantity, left)
		amount, left = amount.Sub(paid), left.Sub(l.Quantity)
		back := paid.Min(l.Basis)
		l.Basis = l.Basis.Sub(back)
		l.Deferred = l.Deferred.Min(l.Basis)
		h.change(l)
		if gain := paid.Sub(back); gain.Sign() > 0 && taxed {
			k.write(k.disposal(e, l, gain, portfolio.Decimal{}), false)
		}
	}
	for len(waiting) > 0 && left.Sign() > 0 {
		pass()
	}
	if unknown.Sign() > 0 {
		k.problem(e, "%s of the %s shares came in without their cost, so nobody knows whether the payment is a gain; give the transfer a price and a note lot:YYYY-MM-DD", unknown, e.Quantity)
	}
	if left.Sign() > 0 {
		k.problem(e, "the capital was paid on %s shares, and the account has %s less; what was paid on those is not worked out", e.Quantity, left)
	}
}
