package harvest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// A place is one symbol in one account.
type place struct{ account, symbol string }

// A position is what is held in one place, by the book and by the broker.
type position struct {
	place
	held     portfolio.Decimal // by the broker where it reports, else by the book
	inLots   portfolio.Decimal
	reported *portfolio.Decimal
}

// price is the last close of a symbol, if it can be used: one from before a split is of other
// shares than those that are held.
func (h *harvester) price(symbol string) (bar price.Bar, ok bool) {
	bar, ok = h.Closes[symbol]
	return bar, ok && bar.Close.Sign() > 0 && !bar.Date.After(h.AsOf) && !bar.Date.Before(h.Book.LastSplit(symbol))
}

func (h *harvester) stale(bar price.Bar) bool {
	const surely = 30 // days are more sessions than that, and quicker to count
	return h.AsOf.Sub(bar.Date) > surely || price.SessionsBetween(bar.Date, h.AsOf) > exitrule.MaxAge
}

// analyzePositions says how much of what is held is in lots and has a price.
func (h *harvester) analyzePositions(r *Result) {
	var inLots, value portfolio.Decimal // in money
	agreement, reported := 0.0, 0
	missing, stale := map[string]bool{}, map[string]portfolio.Date{}
	m := &r.Metadata
	for _, p := range h.positions() {
		m.PositionsAnalyzed++
		withheld := h.withheld[p.symbol]
		switch {
		case withheld:
			m.PositionsUnread++
		case p.inLots.Sign() > 0:
			m.PositionsWithLots++
		}
		bar, priced := h.price(p.symbol)
		switch {
		case !priced:
			missing[p.symbol] = true
		case h.stale(bar):
			stale[p.symbol] = bar.Date
		}
		if p.inLots.Cmp(p.held) < 0 && !slices.Contains(r.UnknownCost, p.symbol) {
			r.UnknownCost = append(r.UnknownCost, p.symbol)
		}
		if p.inLots.Cmp(p.held) < 0 || !priced || h.stale(bar) || withheld {
			m.PositionsUncertain++
		}
		if priced {
			if !withheld {
				inLots = inLots.Add(p.inLots.Min(p.held).Mul(bar.Close))
			}
			value = value.Add(p.held.Mul(bar.Close))
		}
		if p.reported != nil {
			reported++
			agreement += p.agreement()
			if p.inLots.Cmp(*p.reported) != 0 {
				r.Unreconciled = append(r.Unreconciled, Mismatch{p.account, p.symbol, p.inLots, *p.reported})
			}
		}
	}
	if m.PositionsAnalyzed > 0 {
		r.DataCoveragePct = float64(m.PositionsWithLots) * 100 / float64(m.PositionsAnalyzed)
	}
	if value.Sign() > 0 {
		m.CoverageByValuePct = new(percent(inLots, value))
	}
	if reported > 0 {
		m.CoverageByQuantityPct = new(agreement / float64(reported))
	}
	r.capCoverage()
	for symbol := range missing {
		r.MissingPrices = append(r.MissingPrices, symbol)
	}
	slices.Sort(r.MissingPrices)
	for symbol, date := range stale {
		r.StalePrices = append(r.StalePrices, Price{symbol, date})
	}
	slices.SortFunc(r.StalePrices, func(a, b Price) int { return strings.Compare(a.Ticker, b.Ticker) })
}

// agreement is the lesser number of shares in percent of the greater.
func (p position) agreement() float64 {
	if p.inLots.Cmp(*p.reported) > 0 {
		return percent(*p.reported, p.inLots)
	}
	return percent(p.inLots, *p.reported)
}

func percent(part, whole portfolio.Decimal) float64 {
	return part.Mul(portfolio.NewDecimal(100, 0)).Over(whole, 12).Float()
}

// positions are those of the book and those that only a broker knows of, by symbol and account.
func (h *harvester) positions() []position {
	reports := h.reports()
	var list []position
	if h.Book != nil {
		for _, p := range h.Book.Positions {
			if !h.candidateAccount(p.Account) {
				continue
			}
			one := position{place: place{p.Account, p.Symbol}, held: p.Quantity, inLots: p.InLots}
			if report, ok := reports[p.Account]; ok && !h.overtaken(one.place, report.day) {
				quantity := report.quantities[p.Symbol] // a position that is not in the report is none
				one.held, one.reported = quantity, &quantity
			}
			list = append(list, one)
		}
	}
	inBook := map[place]bool{}
	for _, p := range list {
		inBook[p.place] = true
	}
	for account, report := range reports {
		for symbol, quantity := range report.quantities {
			at := place{account, symbol}
			if !inBook[at] && !h.overtaken(at, report.day) {
				list = append(list, position{place: at, held: quantity, reported: &quantity})
			}
		}
	}
	slices.SortFunc(list, func(a, b position) int {
		return cmp.Or(strings.Compare(a.symbol, b.symbol), strings.Compare(a.account, b.account))
	})
	return list
}

// A brokerReport is what a broker says an account has.
type brokerReport struct {
	day        portfolio.Date
	quantities map[string]portfolio.Decimal // by symbol, more than zero
}

// reports are the newest of each account.
func (h *harvester) reports() map[string]brokerReport {
	reports := map[string]brokerReport{}
	for _, holding := range h.Holdings {
		if !h.candidateAccount(holding.Account) || holding.AsOf.After(h.AsOf) {
			continue
		}
		report, ok := reports[holding.Account]
		if !ok || holding.AsOf.After(report.day) {
			report = brokerReport{holding.AsOf, map[string]portfolio.Decimal{}}
			reports[holding.Account] = report
		}
		if holding.AsOf == report.day && holding.Quantity.Sign() > 0 {
			report.quantities[holding.Symbol] = holding.Quantity
		}
	}
	return reports
}

// overtaken tells whether shares moved or were split after the day of a report, which then says
// nothing of the shares that are there now.
func (h *harvester) overtaken(at place, reported portfolio.Date) bool {
	return h.moved[at].After(reported) || h.Book.LastSplit(at.symbol).After(reported)
}
