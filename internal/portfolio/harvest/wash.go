package harvest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
)

// warn says what could wash the candidates, by ticker, and what the wash-sale rule makes of all of
// them.
func (h *harvester) warn(r *Result) {
	together := h.together(r.Candidates)
	byTicker := map[string]*Warning{}
	for _, c := range r.Candidates {
		w, ok := byTicker[c.Ticker]
		if !ok {
			w = &Warning{Ticker: c.Ticker, Sale: together[c.Ticker], Purchases: []reply.Purchase{}, Projected: c.Projected}
			byTicker[c.Ticker] = w
		}
		w.Lots++
		w.Allowed = w.Allowed.Add(c.UnrealizedLoss)
		for _, wash := range c.Washes {
			if !slices.Contains(w.Purchases, wash.Purchase) {
				w.Purchases = append(w.Purchases, wash.Purchase)
			}
		}
	}
	all := &r.IfAllSold
	for _, w := range byTicker {
		w.Allowed = w.Allowed.Add(w.Disallowed)
		all.Disallowed = all.Disallowed.Add(w.Disallowed)
		all.Permanent = all.Permanent.Add(w.Permanent)
		all.Unsettled = all.Unsettled.Add(w.Unsettled)
		all.Allowed = all.Allowed.Add(w.Allowed)
		if len(w.Purchases)+len(w.Projected) > 0 {
			r.WashSaleWarnings = append(r.WashSaleWarnings, *w)
		}
	}
	slices.SortFunc(r.WashSaleWarnings, func(a, b Warning) int {
		return cmp.Or(b.Disallowed.Cmp(a.Disallowed), b.Unsettled.Cmp(a.Unsettled), strings.Compare(a.Ticker, b.Ticker))
	})
}

// together is what is disallowed by ticker if all candidates are sold today: less than the sum of
// what is disallowed of each alone, since a purchase washes only one loss, and none if it is sold
// as well. Each candidate is told its part.
func (h *harvester) together(candidates []Candidate) map[string]Sale {
	all := make([]lots.Sale, 0, len(candidates))
	for _, c := range candidates {
		all = append(all, lots.Sale{Lot: c.lot, Loss: c.UnrealizedLoss.Neg()})
	}
	sales := map[string]Sale{}
	for i, washes := range h.Book.IfSold(all...) {
		s := sales[candidates[i].Ticker]
		var one Sale
		for _, w := range washes {
			s.add(w)
			one.add(w)
		}
		candidates[i].DisallowedIfAllSold = one.Disallowed
		sales[candidates[i].Ticker] = s
	}
	return sales
}

// add counts one wash.
func (s *Sale) add(w lots.Wash) {
	switch {
	case w.Unsettled:
		s.Unsettled = s.Unsettled.Add(w.Loss)
		return
	case w.Permanent:
		s.Permanent = s.Permanent.Add(w.Loss)
	}
	s.Disallowed = s.Disallowed.Add(w.Loss)
}

// windows are those that are open, the last to close first.
func (h *harvester) windows() []Window {
	until := map[string]portfolio.Date{}
	for i := range h.Book.Disposals {
		d := &h.Book.Disposals[i]
		if last := d.OpenUntil(h.AsOf); last.After(until[d.Symbol]) {
			until[d.Symbol] = last
		}
	}
	list := []Window{}
	for ticker, last := range until {
		list = append(list, Window{ticker, last})
	}
	slices.SortFunc(list, func(a, b Window) int {
		return cmp.Or(b.Until.Compare(a.Until), strings.Compare(a.Ticker, b.Ticker))
	})
	return list
}

// projections are the reinvestments to be expected within 30 days, in any account, that would wash
// a sale of a symbol today.
func (h *harvester) projections() map[string][]Reinvestment {
	paid := map[place]*payments{}
	for i := range h.History {
		t := &h.History[i]
		if t.Date.After(h.AsOf) || t.Action != portfolio.Reinvest && t.Action != portfolio.Dividend {
			continue
		}
		at := place{t.Account, t.Symbol}
		p, ok := paid[at]
		if !ok {
			p = &payments{}
			paid[at] = p
		}
		if t.Action == portfolio.Reinvest {
			p.reinvested = append(p.reinvested, t.Date)
		} else {
			p.dividends = append(p.dividends, t.Date)
		}
	}
	projected := map[string][]Reinvestment{}
	for _, position := range h.Book.Positions {
		if p, ok := paid[place{position.Account, position.Symbol}]; ok {
			for _, date := range p.next(h.account(position.Account).Reinvest, h.AsOf) {
				projected[position.Symbol] = append(projected[position.Symbol], Reinvestment{position.Account, position.Symbol, date})
			}
		}
	}
	own := maps.Clone(projected)
	for _, group := range h.Rules.Identical {
		var all []Reinvestment
		for _, symbol := range group {
			all = append(all, own[symbol]...)
		}
		for _, symbol := range group {
			projected[symbol] = all
		}
	}
	return projected
}

// payments are the days on which an account got dividends of a symbol.
type payments struct{ reinvested, dividends []portfolio.Date }

// lastPayments is how many are looked at, so that a change of cadence is seen.
const lastPayments = 9

// next are the days of the next 30 on which a reinvestment is to be expected: after the median gap
// of the last ones. One that is late by less than half of the gap is expected today. An account
// that says nothing of reinvesting is taken to go on as it did.
func (p *payments) next(reinvest *bool, asOf portfolio.Date) (dates []portfolio.Date) {
	if reinvest != nil && !*reinvest {
		return nil
	}
	days := p.reinvested
	if len(days) < 2 && reinvest != nil {
		days = p.dividends
	}
	slices.SortFunc(days, portfolio.Date.Compare)
	days = slices.Compact(days)
	days = days[max(len(days)-lastPayments, 0):]
	if len(days) < 2 {
		return nil
	}
	var gaps []int
	for i := 1; i < len(days); i++ {
		gaps = append(gaps, days[i].Sub(days[i-1]))
	}
	slices.Sort(gaps)
	n := len(gaps)
	gap := (gaps[(n-1)/2] + gaps[n/2]) / 2
	day := days[len(days)-1].Add(gap)
	if 2*asOf.Sub(day) > gap {
		return nil
	}
	if day.Before(asOf) {
		day = asOf
	}
	for ; !day.After(asOf.Add(lots.WashDays)); day = day.Add(gap) {
		dates = append(dates, day)
	}
	return dates
}
