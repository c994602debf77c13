package lots

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// WashDays is how far from a loss a purchase replaces the sold shares, on either side.
const WashDays = 30

// groups say which symbols are one for the wash-sale rule, and which may be.
type groups struct {
	of      map[string]string // a symbol's group, where it is not its own
	similar map[string][]int  // the groups in which a symbol has doubtful relatives
	said    map[string]bool   // symbols that the owner has put into a group
	renamed int
}

func newGroups(rules Rules) groups {
	g := groups{of: map[string]string{}, similar: map[string][]int{}, said: map[string]bool{}}
	for _, group := range rules.Identical {
		for _, symbol := range group {
			g.of[symbol], g.said[symbol] = group[0], true
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

// rename lets a symbol's new name take its place in its group. The old name can be another's from then
// on, unless the owner has put it into the group.
func (g *groups) rename(old, into string) {
	from, to := g.name(old), g.name(into)
	for symbol, name := range g.of {
		if name == from {
			g.of[symbol] = to
		}
	}
	g.of[from] = to
	if !g.said[old] {
		g.renamed++
		g.of[old] = fmt.Sprintf("%s (%d)", old, g.renamed) // no symbol has blanks
	}
	g.similar[into] = slices.Concat(g.similar[into], g.similar[old])
}

// doubtful tells whether nobody knows if a purchase replaces shares of a symbol: a 401(k) bought
// the same, or anyone bought something similar, or the right to buy one of them.
func (g groups) doubtful(p purchase, sold string) bool {
	if g.name(p.symbol) == g.name(sold) {
		return p.call || p.kind == portfolio.K401
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

// compareLosses is the order of losses of one day. For the rule, its sales have none; then it is that
// in which the shares were acquired (Reg. 1.1091-1(b)).
func compareLosses(x, y *loss) int {
	return cmp.Or(x.acquired.Compare(y.acquired), x.purchase-y.purchase)
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
	call     bool // the right to buy
}

// A line is things by day, of one day first come first served.
type line[T any] struct{ days []queue[T] }

type queue[T any] struct {
	day    portfolio.Date
	things []T
}

func (q *line[T]) search(day portfolio.Date) int {
	return sort.Search(len(q.days), func(i int) bool { return !q.days[i].day.Before(day) })
}

// put adds a thing as the last of its day.
func (q *line[T]) put(day portfolio.Date, things ...T) {
	i := q.search(day)
	if i == len(q.days) || q.days[i].day != day {
		q.days = slices.Insert(q.days, i, queue[T]{day: day})
	}
	q.days[i].things = append(q.days[i].things, things...)
}

// join adds another line; things of one day are put in order.
func (q *line[T]) join(other line[T], order func(x, y T) int) {
	for _, d := range other.days {
		q.put(d.day, d.things...)
		slices.SortStableFunc(q.days[q.search(d.day)].things, order)
	}
}

// drop forgets the days before one.
func (q *line[T]) drop(before portfolio.Date) { q.days = q.days[q.search(before):] }

// walk shows the things of some days in turn, as long as more are wanted, and drops those that are
// not to be kept. It takes as long as there are things that it shows.
func (q *line[T]) walk(from, to portfolio.Date, visit func(thing T) (keep, more bool)) {
	for i := q.search(from); i < len(q.days) && !q.days[i].day.After(to); i++ {
		things := q.days[i].things
		shown, kept, more := 0, 0, true
		for shown < len(things) && more {
			var keep bool
			if keep, more = visit(things[shown]); keep {
				things[kept] = things[shown]
				kept++
			}
			shown++
		}
		copy(things[shown-kept:shown], things[:kept])
		q.days[i].things = things[shown-kept:]
		if !more {
			return
		}
	}
}

// washing is the state of a group: losses that a purchase can still wash, and purchases that a loss
// can still be washed by, earliest first.
type washing struct {
	pending line[*loss]
	recent  line[*lot]
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

// waits tells of a purchase that no loss has taken yet and that is still there.
func (l *lot) waits() bool { return !l.gone && !l.replaces && !l.bought.IsZero() }

// note tells the group of a purchase: it washes the earliest losses that wait for one, and what is
// left of it waits for later ones.
func (k *keeper) note(kind portfolio.Kind, l *lot) {
	k.bought++
	l.number, l.untaxed = k.bought, kind != portfolio.Taxable
	if kind == portfolio.K401 || len(k.groups.similar[l.Symbol]) > 0 {
		k.doubtful = append(k.doubtful, purchase{l.bought, l.Account, l.Symbol, kind, l.Quantity, false})
	}
	if kind == portfolio.K401 {
		return
	}
	k.group(l.Symbol).pending.walk(l.bought.Add(-WashDays), l.bought.Add(WashDays), func(p *loss) (keep, more bool) {
		k.match(p, l)
		return p.shares.Sign() > 0, l.waits()
	})
	k.remember(l)
}

// remember keeps a purchase for losses to come, in order of its day. A piece of one that is kept comes
// before the rest of it.
func (k *keeper) remember(l *lot) {
	if !l.waits() || l.listed {
		return
	}
	l.listed = true
	w := k.group(l.Symbol)
	w.recent.drop(k.day[0].date.Add(-WashDays))
	w.recent.put(l.bought, l)
	if l.from != nil && l.from.listed {
		things := w.recent.days[w.recent.search(l.bought)].things
		if i := slices.Index(things, l.from); i >= 0 {
			copy(things[i+1:], things[i:])
			things[i] = l
		}
	}
}

// wash finds purchases for the day's losses among those already made, and lets what is left wait
// for later ones. The sold shares are gone by then, so none of them is a replacement.
func (k *keeper) wash() {
	slices.SortStableFunc(k.today, compareLosses)
	for rest := k.today; len(rest) > 0; {
		// Losses of one purchase go together: its own shares, which may be many lots, are passed once.
		p := rest[0]
		same := 1
		for same < len(rest) && rest[same].purchase == p.purchase && rest[same].symbol == p.symbol {
			same++
		}
		losses := rest[:same]
		rest = rest[same:]
		w := k.group(p.symbol)
		w.recent.walk(p.sold.Add(-WashDays), p.sold, func(l *lot) (keep, more bool) {
			for len(losses) > 0 && l.waits() && l.Purchase != p.purchase {
				k.match(losses[0], l)
				if losses[0].shares.Sign() <= 0 {
					losses = losses[1:]
				}
			}
			l.listed = l.waits()
			return l.listed, len(losses) > 0
		})
		for _, p := range losses {
			w.pending.put(p.sold, p)
			k.losses = append(k.losses, p)
		}
	}
	k.today = k.today[:0]
}

// washJoined lets purchases replace losses that had another name when both were made: an account may
// use the new name some days before another tells it, or the old one after.
func (k *keeper) washJoined(w *washing) {
	var waiting []*loss
	w.pending.walk(k.day[0].date.Add(-WashDays), k.day[0].date, func(p *loss) (keep, more bool) {
		waiting = append(waiting, p)
		return true, true
	})
	for _, p := range waiting {
		w.recent.walk(p.sold.Add(-WashDays), p.sold.Add(WashDays), func(l *lot) (keep, more bool) {
			k.work++
			if l.waits() && l.Purchase != p.purchase {
				k.match(p, l)
			}
			l.listed = l.waits()
			return l.listed, p.shares.Sign() > 0 && k.work < mostWork
		})
	}
	w.pending.walk(k.day[0].date.Add(-WashDays), k.day[0].date, func(p *loss) (keep, more bool) { return p.shares.Sign() > 0, true })
}

// match lets a lot replace as many of the sold shares as it can. If those are not all of it, they
// become a lot of their own, or join the piece before if that is alike.
func (k *keeper) match(p *loss, l *lot) {
	n := p.shares.Min(l.Quantity)
	if n.IsZero() {
		return
	}
	whole, piece := l, l
	if l.Quantity.Cmp(n) > 0 {
		piece = l.cut(n)
	}
	amount := p.part(n)
	piece.replaces = true
	d := &k.book.Disposals[p.disposal]
	d.Disallowed = d.Disallowed.Add(amount)
	if l.untaxed {
		d.Permanent = d.Permanent.Add(amount)
	} else {
		piece.Basis, piece.Deferred = piece.Basis.Add(amount), piece.Deferred.Add(amount)
		piece.HoldingSince = piece.HoldingSince.Add(-p.held)
	}
	d.Washes = append(d.Washes, Wash{Account: l.Account, Symbol: l.Symbol, Bought: l.bought, Quantity: n, Loss: amount, Permanent: l.untaxed})
	whole.keep(piece)
}

// keep puts a piece of a lot, or all of it, where the lot is.
func (l *lot) keep(piece *lot) {
	last := l.last
	switch joins := last != nil && !last.gone && last.home == l.home && last.like(piece); {
	case joins:
		last.Quantity, last.Basis, last.Deferred = last.Quantity.Add(piece.Quantity), last.Basis.Add(piece.Basis), last.Deferred.Add(piece.Deferred)
		if piece == l {
			if l.gone = true; l.home != nil {
				l.home.remove(l)
			}
		}
	case piece == l:
		if l.home != nil {
			l.home.change(l)
		}
	default:
		if l.last = piece; l.home != nil {
			l.home.set(piece)
		} else {
			l.pieces = append(l.pieces, piece)
		}
	}
}

// like tells of two pieces of one purchase whether each of their shares got the same loss, of the same
// time: then they are one.
func (l *lot) like(o *lot) bool {
	return l.HoldingSince == o.HoldingSince && l.Deferred.Mul(o.Quantity).Cmp(o.Deferred.Mul(l.Quantity)) == 0
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
		for _, by := range b.recent[b.groups.name(p.symbol)] {
			if p.shares.IsZero() {
				break
			}
			n := p.shares.Min(by.Quantity.Sub(used[by.ID]))
			if sold[by.ID] || by.Purchase == p.purchase || n.IsZero() {
				continue
			}
			used[by.ID] = used[by.ID].Add(n)
			washes[i] = append(washes[i], Wash{Account: by.Account, Symbol: by.Symbol, Bought: by.bought, Quantity: n, Loss: p.part(n), Permanent: by.untaxed})
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

// label says what of the losses before a day may be disallowed, though nobody knows.
func (k *keeper) label(before portfolio.Date) {
	slices.SortStableFunc(k.doubtful, func(x, y purchase) int { return x.date.Compare(y.date) })
	for len(k.losses) > 0 && k.losses[0].sold.Before(before) {
		p := k.losses[0]
		k.losses = k.losses[1:]
		d := &k.book.Disposals[p.disposal]
		first, _ := slices.BinarySearchFunc(k.doubtful, p.sold.Add(-WashDays), func(x purchase, day portfolio.Date) int { return x.date.Compare(day) })
		for i := first; i < len(k.doubtful) && k.doubtful[i].date.Sub(p.sold) <= WashDays && p.shares.Sign() > 0; i++ {
			if k.doubtful[i].quantity.IsZero() || !k.groups.doubtful(k.doubtful[i], p.symbol) {
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
	return Wash{Account: by.account, Symbol: by.symbol, Bought: by.date, Quantity: n, Loss: p.part(n), Unsettled: true, Call: by.call}, true
}
