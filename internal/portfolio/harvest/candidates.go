package harvest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// findCandidates lists the lots at a loss, and sums them up.
func (h *harvester) findCandidates(r *Result) {
	m := &r.Metadata
	projected := h.projections()
	for _, group := range chunks(h.Book.Lots) {
		if !h.inScope(group[0]) || h.withheld[group[0].Symbol] {
			continue
		}
		m.LotsAnalyzed += len(group)
		bar, priced := h.price(group[0].Symbol)
		if !priced {
			continue
		}
		method := h.account(group[0].Account).Method
		order := methodOrder(group, method)
		reached := reachable(group, order, bar.Close)
		for i, l := range group {
			loss := l.Basis.Sub(l.Quantity.Mul(bar.Close))
			if loss.Sign() <= 0 {
				continue
			}
			m.LotsAtALoss++
			if h.MinLoss != nil && loss.Cmp(*h.MinLoss) < 0 {
				m.LotsFiltered++
				m.LossFiltered = m.LossFiltered.Sub(loss)
				continue
			}
			c := h.candidate(l, loss, bar)
			c.Method, c.FIFOReaches, c.SoldFirst = method, reached[i], soldFirst(group, order, i, bar.Close)
			if h.Book.UnknownBefore(l.Account, l.Symbol, l.Acquired) {
				c.FIFOReaches, c.SoldFirst = false, &First{UnknownCost: true}
			}
			c.StalePrice = h.stale(bar)
			if c.Projected = projected[l.Symbol]; c.Projected == nil {
				c.Projected = []Reinvestment{}
			}
			c.WashSaleRisk = len(c.Washes)+len(c.Projected) > 0
			r.Candidates = append(r.Candidates, c)
		}
	}
	for _, c := range r.Candidates {
		r.TotalHarvestableLoss = r.TotalHarvestableLoss.Add(c.UnrealizedLoss)
		if c.Term == lots.LongTerm {
			r.LongTermLoss = r.LongTermLoss.Add(c.UnrealizedLoss)
		} else {
			r.ShortTermLoss = r.ShortTermLoss.Add(c.UnrealizedLoss)
		}
	}
	r.CandidateCount = len(r.Candidates)
	if r.CandidateCount == 0 && m.LotsFiltered > 0 {
		r.NoCandidates = filteredOut
	}
	h.warn(r)
	slices.SortFunc(r.Candidates, candidateOrder(h.SortBy))
}

// chunks are the lots of each symbol and account.
func chunks(open []lots.Lot) (groups [][]lots.Lot) {
	for len(open) > 0 {
		n := 1
		for n < len(open) && open[n].Symbol == open[0].Symbol && open[n].Account == open[0].Account {
			n++
		}
		groups, open = append(groups, open[:n]), open[n:]
	}
	return groups
}

// methodOrder are the lots' places in the order in which sales that name none take them.
func methodOrder(group []lots.Lot, method portfolio.Method) []int {
	order := make([]int, len(group))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := group[i], group[j]
		if method == portfolio.HIFO {
			return b.Basis.Mul(a.Quantity).Cmp(a.Basis.Mul(b.Quantity)) // by the cost of one share
		}
		return a.Acquired.Compare(b.Acquired)
	})
	return order
}

func atAGain(l lots.Lot, close portfolio.Decimal) bool { return l.Basis.Cmp(l.Quantity.Mul(close)) < 0 }

// reachable tells of each lot whether sales that name none come to it before any lot at a gain.
func reachable(group []lots.Lot, order []int, close portfolio.Decimal) []bool {
	reached := make([]bool, len(group))
	for _, i := range order {
		if atAGain(group[i], close) {
			break
		}
		reached[i] = true
	}
	return reached
}

// soldFirst is what a sale that names no lot takes before the lot at a place: nil if it takes that one.
// It goes by lots alone: shares whose cost nobody knows are in none, and the book is asked for them.
func soldFirst(group []lots.Lot, order []int, place int, close portfolio.Decimal) *First {
	if order[0] == place {
		return nil
	}
	first := group[order[0]]
	return &First{Acquired: first.Acquired, AtAGain: atAGain(first, close)}
}

func (h *harvester) candidate(l lots.Lot, loss portfolio.Decimal, bar price.Bar) Candidate {
	c := Candidate{
		Ticker: l.Symbol, Account: l.Account, UnrealizedLoss: loss.Neg(),
		HoldingPeriod: "short_term", Term: lots.ShortTerm,
		Acquired: l.Acquired, HoldingSince: l.HoldingSince, LongTermFrom: l.HoldingSince.LongTermFrom(),
		Quantity: l.Quantity, Basis: l.Basis, Deferred: l.Deferred,
		Price: bar.Close, PriceDate: bar.Date, Value: l.Quantity.Mul(bar.Close),
		NoBuyUntil: h.AsOf.Add(lots.WashDays + 1), Washes: []reply.Wash{}, lot: l,
	}
	if l.Long(h.AsOf) {
		c.HoldingPeriod, c.Term = "long_term", lots.LongTerm
	}
	for _, w := range h.Book.IfSold(lots.Sale{Lot: l, Loss: loss})[0] {
		c.Washes = append(c.Washes, reply.NewWash(w))
		if free := w.Bought.Add(lots.WashDays + 1); free.After(c.WashFreeFrom) {
			c.WashFreeFrom = free
		}
		c.add(w)
	}
	c.Allowed = c.UnrealizedLoss.Add(c.Disallowed)
	return c
}

// candidateOrder orders candidates by what was asked for; the largest loss comes first among
// those that are alike in it.
func candidateOrder(sortBy string) func(a, b Candidate) int {
	return func(a, b Candidate) int {
		by := 0
		switch sortBy {
		case SortTicker:
			by = strings.Compare(a.Ticker, b.Ticker)
		case SortDate:
			by = a.Acquired.Compare(b.Acquired)
		case SortTerm:
			by = -strings.Compare(a.Term, b.Term)
		}
		return cmp.Or(by, a.UnrealizedLoss.Cmp(b.UnrealizedLoss), strings.Compare(a.Ticker, b.Ticker),
			strings.Compare(a.Account, b.Account), a.Acquired.Compare(b.Acquired), a.lot.Purchase-b.lot.Purchase)
	}
}
