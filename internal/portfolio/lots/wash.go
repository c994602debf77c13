package lots

import (
	"cmp"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// WashDays is how far from a loss a purchase replaces the sold shares, on either side.
const WashDays = 30

// groups say which symbols are one for the wash-sale rule, and which may be.
type groups struct {
	of      map[string]string // a symbol's group, where it is not its own
	similar map[string][]int  // the groups in which a symbol has doubtful relatives
}

func newGroups(rules Rules) groups {
	g := groups{map[string]string{}, map[string][]int{}}
	for _, group := range rules.Identical {
		for _, symbol := range group {
			g.of[symbol] = group[0]
		}
	}
	for i, group := range rules.Similar {
		for _, symbol := range group {
			g.similar[symbol] = append(g.similar[symbol], i)
		}
	}
	return g
}

func (g groups) name(symbol string) string {
	if name, ok := g.of[symbol]; ok {
		return name
	}
	return symbol
}

// doubtful tells whether nobody knows if a purchase replaces shares of a symbol: a 401(k) bought
// the same, or anyone bought something similar.
func (g groups) doubtful(p purchase, sold string) bool {
	if g.name(p.symbol) == g.name(sold) {
		return p.kind == portfolio.K401
	}
	return slices.ContainsFunc(g.similar[sold], func(group int) bool { return slices.Contains(g.similar[p.symbol], group) })
}

// A loss is what is not yet washed of one disposal.
type loss struct {
	disposal int
	symbol   string
	purchase int // of the sold shares
	acquired portfolio.Date
	sold     portfolio.Date
	held     int               // days
	shares   portfolio.Decimal // as they would be now, after splits
	amount   portfolio.Decimal
}

// part takes out what n of the sold shares lost.
func (p *loss) part(n portfolio.Decimal) portfolio.Decimal {
	part := p.amount.Share(n, p.shares)
	p.shares, p.amount = p.shares.Sub(n), p.amount.Sub(part)
	return part
}

// A purchase is one that may or may not replace sold shares.
type purchase struct {
	date     portfolio.Date
	account  string
	symbol   string
	kind     portfolio.Kind
	quantity portfolio.Decimal
}

// washing is the state of a group: losses that a purchase can still wash, earliest first, and
// purchases that a loss can still be washed by, earliest first.
type washing struct {
	pending []*loss
	recent  []*lot
	patient bool // shares may arrive late that were bought within a window
}

func (k *keeper) group(symbol string) *washing {
	name := k.groups.name(symbol)
	w, ok := k.washing[name]
	if !ok {
		w = &washing{}
		k.washing[name] = w
	}
	return w
}

func within(a, b portfolio.Date) bool { return abs(a.Sub(b)) <= WashDays }

// note tells the group of a purchase: it washes the earliest losses that wait for one, and what is
// left of it waits for later ones.
func (k *keeper) note(h *holding, l *lot) {
	kind := h.account.Kind
	l.untaxed = kind != portfolio.Taxable
	if kind == portfolio.K401 || len(k.groups.similar[l.Symbol]) > 0 {
		k.doubtful = append(k.doubtful, purchase{l.bought, l.Account, l.Symbol, kind, l.Quantity})
	}
	if kind == portfolio.K401 {
		return
	}
	w := k.group(l.Symbol)
	w.pending = slices.DeleteFunc(w.pending, func(p *loss) bool {
		return p.shares.IsZero() || !w.patient && p.sold.Before(l.bought.Add(-WashDays))
	})
	for _, p := range w.pending {
		if !within(p.sold, l.bought) {
			continue
		}
		if k.match(p, h, l); l.replaces {
			return
		}
	}
	w.remember(l)
}

// remember keeps a purchase for losses to come, in order of its day.
func (w *washing) remember(l *lot) {
	for len(w.recent) > 0 && w.recent[0].bought.Before(l.bought.Add(-WashDays)) {
		w.recent = w.recent[1:]
	}
	i := len(w.recent)
	for i > 0 && w.recent[i-1].bought.After(l.bought) {
		i--
	}
	w.recent = slices.Insert(w.recent, i, l)
}

// forget drops the purchases that can't wash a loss of that day or later.
func (w *washing) forget(day portfolio.Date) {
	w.recent = slices.DeleteFunc(w.recent, func(l *lot) bool {
		return l.gone || l.replaces || l.bought.Before(day.Add(-WashDays))
	})
}

// wash finds purchases for the day's losses among those already made, and lets what is left wait
// for later ones. The sold shares are gone by then, so none of them is a replacement.
func (k *keeper) wash() {
	// Of one day, nobody knows the order; then it is that in which the shares were acquired
	// (Reg. 1.1091-1(b)).
	slices.SortStableFunc(k.today, func(x, y *loss) int {
		return cmp.Or(x.acquired.Compare(y.acquired), x.purchase-y.purchase)
	})
	for _, p := range k.today {
		w := k.group(p.symbol)
		w.forget(p.sold)
		for _, l := range w.recent {
			if l.Purchase == p.purchase || p.shares.IsZero() {
				continue
			}
			k.match(p, k.holding(l.Account, l.Symbol), l)
		}
		if p.shares.Sign() > 0 {
			w.pending = append(w.pending, p)
		}
	}
	k.losses = append(k.losses, k.today...)
	k.today = k.today[:0]
}

// match lets a lot replace as many of the sold shares as it can. If those are not all of it, they
// become a lot of their own.
func (k *keeper) match(p *loss, h *holding, l *lot) {
	n := p.shares.Min(l.Quantity)
	if n.IsZero() {
		return
	}
	l = h.cut(slices.Index(h.lots, l), n)
	amount := p.part(n)
	l.replaces = true
	d := &k.book.Disposals[p.disposal]
	d.Disallowed = d.Disallowed.Add(amount)
	if l.untaxed {
		d.Permanent = d.Permanent.Add(amount)
	} else {
		l.Basis, l.Deferred, l.each = l.Basis.Add(amount), l.Deferred.Add(amount), portfolio.Decimal{}
		l.HoldingSince = l.HoldingSince.Add(-p.held)
	}
	d.Washes = append(d.Washes, Wash{Account: l.Account, Symbol: l.Symbol, Bought: l.bought, Quantity: n, Loss: amount, Permanent: l.untaxed})
}

// A Sale is an open lot that could be sold on the day of its book, and what that would lose.
type Sale struct {
	Lot  Lot
	Loss portfolio.Decimal
}

// IfSold says what would be washed of each loss if these lots were sold together on the day of the
// book: by purchases that were made in the 30 days before, and are not sold with them. Those of
// the 30 days after nobody knows.
func (b *Book) IfSold(sales ...Sale) [][]Wash {
	used := map[int]portfolio.Decimal{} // shares, by the lot that replaces them
	sold := map[int]bool{}
	for _, s := range sales {
		sold[s.Lot.ID] = true
	}
	doubtful := slices.Clone(b.doubtful)
	washes := make([][]Wash, len(sales))
	for i, s := range sales {
		p := &loss{symbol: s.Lot.Symbol, purchase: s.Lot.Purchase, sold: b.AsOf, shares: s.Lot.Quantity, amount: s.Loss}
		if w := b.washing[b.groups.name(p.symbol)]; w != nil {
			for _, by := range w.recent {
				n := p.shares.Min(by.Quantity.Sub(used[by.ID]))
				if sold[by.ID] || by.Purchase == p.purchase || n.IsZero() {
					continue
				}
				used[by.ID] = used[by.ID].Add(n)
				washes[i] = append(washes[i], Wash{Account: by.Account, Symbol: by.Symbol, Bought: by.bought, Quantity: n, Loss: p.part(n), Permanent: by.untaxed})
			}
		}
		for j := range doubtful {
			if b.groups.doubtful(doubtful[j], p.symbol) {
				if w, ok := unsettled(p, &doubtful[j]); ok {
					washes[i] = append(washes[i], w)
				}
			}
		}
	}
	return washes
}

// label says what of the losses may be disallowed, though nobody knows.
func (k *keeper) label() {
	slices.SortStableFunc(k.doubtful, func(x, y purchase) int { return x.date.Compare(y.date) })
	for _, p := range k.losses {
		d := &k.book.Disposals[p.disposal]
		first, _ := slices.BinarySearchFunc(k.doubtful, p.sold.Add(-WashDays), func(x purchase, day portfolio.Date) int { return x.date.Compare(day) })
		for i := first; i < len(k.doubtful) && within(k.doubtful[i].date, p.sold) && p.shares.Sign() > 0; i++ {
			if !k.groups.doubtful(k.doubtful[i], p.symbol) {
				continue
			}
			if w, ok := unsettled(p, &k.doubtful[i]); ok {
				d.Unsettled = d.Unsettled.Add(w.Loss)
				d.Washes = append(d.Washes, w)
			}
		}
	}
}

func unsettled(p *loss, by *purchase) (Wash, bool) {
	n := p.shares.Min(by.quantity)
	if n.Sign() <= 0 {
		return Wash{}, false
	}
	by.quantity = by.quantity.Sub(n)
	return Wash{Account: by.account, Symbol: by.symbol, Bought: by.date, Quantity: n, Loss: p.part(n), Unsettled: true}, true
}
