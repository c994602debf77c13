package lots

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sort"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A lot is an open lot while the book is kept.
type lot struct {
	Lot
	bought   portfolio.Date // when it counts as a purchase; a transfer alone is none
	number   int            // of the row that bought it
	replaces bool           // a loss already: each share does so once
	untaxed  bool           // bought in a retirement account, so a loss that it replaces is lost
	gone     bool           // sold, or out of the household
	listed   bool           // among the purchases that a loss can be washed by

	home     *holding // where it lies; none before its row has come
	seq, sub int      // its place among the lots of its day: pieces come before the rest that they were cut from
	cuts     int
	at       int               // its place on its shelf
	each     portfolio.Decimal // the basis of one share, to compare by
	from     *lot              // what it was cut from
	last     *lot              // the piece that was cut from it last
	pieces   []*lot            // that were cut from it before its row came
}

// rest is the place of a lot that nothing was cut from, or of what is left of it.
const rest = math.MaxInt

// cut takes the first n shares out of a lot that has more. The lot stays what it was for the rest of
// them. What can't be divided stays with the rest.
func (l *lot) cut(n portfolio.Decimal) *lot {
	piece := *l
	piece.Quantity = n
	piece.Basis = l.Basis.Share(n, l.Quantity)
	piece.Deferred = l.Deferred.Share(n, l.Quantity)
	piece.home, piece.from, piece.last, piece.pieces, piece.listed, piece.cuts = nil, l, nil, nil, false, 0
	l.cuts++
	piece.sub = l.cuts
	l.Basis = l.Basis.Sub(piece.Basis)
	l.Deferred = l.Deferred.Sub(piece.Deferred)
	l.Quantity = l.Quantity.Sub(n)
	return &piece
}

// compareAge is the order in which lots came: by their day, then by their row.
func compareAge(a, b *lot) int {
	if a.Acquired != b.Acquired {
		return a.Acquired.Compare(b.Acquired)
	}
	if a.seq != b.seq {
		return cmp.Compare(a.seq, b.seq)
	}
	return cmp.Compare(a.sub, b.sub)
}

// A holding is one symbol in one account: its lots, by day, and the shares of which nobody said
// what they cost.
type holding struct {
	account portfolio.Account
	symbol  string
	unknown arrivals
	days    []*shelf // those that have lots, by day
	dearest shelves  // the same, by their first lot, if the dearest goes first
	seq     int
}

// A shelf has the lots of one day: a heap with the one that goes first at its top.
type shelf struct {
	day     portfolio.Date
	lots    []*lot
	dearest bool // the dearest goes first, not the oldest
	at      int  // its place among the dearest
}

// first tells whether a goes before b.
func (s *shelf) first(a, b *lot) bool {
	if s.dearest {
		if c := a.each.Cmp(b.each); c != 0 {
			return c > 0
		}
	}
	return compareAge(a, b) < 0
}

func (s *shelf) Len() int           { return len(s.lots) }
func (s *shelf) Less(i, j int) bool { return s.first(s.lots[i], s.lots[j]) }
func (s *shelf) Swap(i, j int) {
	s.lots[i], s.lots[j] = s.lots[j], s.lots[i]
	s.lots[i].at, s.lots[j].at = i, j
}

// Push is for container/heap.
func (s *shelf) Push(x any) {
	l := x.(*lot)
	l.at = len(s.lots)
	s.lots = append(s.lots, l)
}

// Pop is for container/heap.
func (s *shelf) Pop() any {
	end := len(s.lots) - 1
	l := s.lots[end]
	s.lots[end] = nil
	s.lots = s.lots[:end]
	return l
}

// shelves are a heap by their first lots.
type shelves []*shelf

func (s shelves) Len() int           { return len(s) }
func (s shelves) Less(i, j int) bool { return s[i].first(s[i].lots[0], s[j].lots[0]) }
func (s shelves) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].at, s[j].at = i, j
}

// Push is for container/heap.
func (s *shelves) Push(x any) {
	one := x.(*shelf)
	one.at = len(*s)
	*s = append(*s, one)
}

// Pop is for container/heap.
func (s *shelves) Pop() any {
	end := len(*s) - 1
	one := (*s)[end]
	(*s)[end] = nil
	*s = (*s)[:end]
	return one
}

// place takes in a lot as the last of its day, after the pieces that were cut from it.
func (h *holding) place(l *lot) {
	h.seq++
	for _, piece := range l.pieces {
		piece.seq = h.seq
		h.set(piece)
	}
	l.pieces = nil
	if l.seq, l.sub = h.seq, rest; !l.gone {
		h.set(l)
	}
}

// shelf is that of a day, and its place, or where it would be.
func (h *holding) shelf(day portfolio.Date) (int, *shelf) {
	end := len(h.days)
	if end > 0 && h.days[end-1].day.Before(day) { // most lots are the newest
		return end, nil
	}
	i := sort.Search(end, func(i int) bool { return !h.days[i].day.Before(day) })
	if i < end && h.days[i].day == day {
		return i, h.days[i]
	}
	return i, nil
}

// set takes in a lot at its place.
func (h *holding) set(l *lot) {
	l.home = h
	h.appraise(l)
	i, s := h.shelf(l.Acquired)
	if s == nil {
		s = &shelf{day: l.Acquired, dearest: h.account.Method == portfolio.HIFO, lots: []*lot{l}}
		l.at = 0
		h.days = slices.Insert(h.days, i, s)
		if s.dearest {
			heap.Push(&h.dearest, s)
		}
		return
	}
	heap.Push(s, l)
	h.settle(s)
}

// settle puts a shelf in its place after its first lot may have changed.
func (h *holding) settle(s *shelf) {
	if s.dearest {
		heap.Fix(&h.dearest, s.at)
	}
}

// setBefore takes in a piece that goes before the rest of it, which may be a piece itself: the lots of
// the day get new places in the same order.
func (h *holding) setBefore(piece, l *lot) {
	_, s := h.shelf(l.Acquired)
	day := slices.SortedFunc(slices.Values(s.lots), compareAge)
	for _, other := range day {
		if other == l {
			h.seq++
			piece.seq, piece.sub = h.seq, rest
		}
		h.seq++
		other.seq, other.sub = h.seq, rest
	}
	h.set(piece)
}

// appraise works out the basis of one share to a hundredth of a cent: below that, lots cost the
// same, and the older goes first.
func (h *holding) appraise(l *lot) {
	if h.account.Method == portfolio.HIFO {
		l.each = l.Basis.Over(l.Quantity, 4)
	}
}

// remove takes a lot out.
func (h *holding) remove(l *lot) {
	l.home = nil
	i, s := h.shelf(l.Acquired)
	if len(s.lots) > 1 {
		heap.Remove(s, l.at)
		h.settle(s)
		return
	}
	if s.dearest {
		heap.Remove(&h.dearest, s.at)
	}
	if i == 0 {
		h.days = h.days[1:]
	} else {
		h.days = slices.Delete(h.days, i, i+1)
	}
}

// change puts a lot in its place after its basis has changed.
func (h *holding) change(l *lot) {
	if h.account.Method == portfolio.HIFO {
		h.appraise(l)
		_, s := h.shelf(l.Acquired)
		heap.Fix(s, l.at)
		h.settle(s)
	}
}

// lots are all, oldest first.
func (h *holding) lots() []*lot {
	var all []*lot
	for _, s := range h.days {
		all = append(all, s.lots...)
	}
	slices.SortFunc(all, compareAge)
	return all
}

// next is the lot that goes first: by the account's method, of those that are named as long as
// there are any.
func (h *holding) next(named portfolio.Date, naming bool) *lot {
	if naming {
		if _, s := h.shelf(named); s != nil {
			return s.lots[0]
		}
	}
	switch {
	case len(h.days) == 0:
		return nil
	case h.account.Method == portfolio.HIFO:
		return h.dearest[0].lots[0]
	}
	return h.days[0].lots[0]
}

// take removes up to n shares: first those of the named day, then by the account's method. What is
// missing is the last result.
func (h *holding) take(named portfolio.Date, naming bool, n portfolio.Decimal) (taken []*lot, unknown arrivals, missing portfolio.Decimal) {
	for n.Sign() > 0 {
		l := h.next(named, naming)
		if len(h.unknown) > 0 && (l == nil || h.unknownBefore(l.Acquired) && (!naming || l.Acquired != named)) {
			part := h.unknown.cut(n)
			unknown.add(part)
			n = n.Sub(part.quantity)
			continue
		}
		if l == nil {
			break
		}
		if l.Quantity.Cmp(n) > 0 {
			l = l.cut(n)
		} else {
			h.remove(l)
		}
		l.gone = true
		n = n.Sub(l.Quantity)
		taken = append(taken, l)
	}
	return taken, unknown, n
}

// unknownBefore tells whether a sale that names no lot takes shares of unknown cost before a lot of a
// day. They were bought on the day on which they came or before it. Of the dearest first, a cost
// that nobody knows can't be compared, and they go last.
func (h *holding) unknownBefore(acquired portfolio.Date) bool {
	return h.account.Method != portfolio.HIFO && len(h.unknown) > 0 && !acquired.Before(h.unknown[0].day)
}

// names tells whether the holding has as many shares of the named day as are to go.
func (h *holding) names(day portfolio.Date, n portfolio.Decimal) bool {
	if _, s := h.shelf(day); s != nil {
		for _, l := range s.lots {
			if n = n.Sub(l.Quantity); n.Sign() <= 0 {
				return true
			}
		}
	}
	return n.Sign() <= 0
}
