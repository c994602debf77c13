package answer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/report"
)

// Report is everything that a person wants to see, on the service's day.
func (s *Service) Report(ctx context.Context) (report.Data, error) {
	state, err := s.Load(ctx, portfolio.Date{})
	if err != nil {
		return report.Data{}, err
	}
	losses := state.Harvest(harvest.Params{})
	data := report.Data{
		AsOf: state.AsOf, Generated: s.Now(), Positions: state.Positions(), Gains: reportYears(state.Book),
		Harvest: reportHarvest(losses), Calendar: reportCalendar(state.Book, losses), Notes: reportNotes(state, losses),
		Disclaimer: losses.Disclaimer,
	}
	for _, l := range state.Accounts() {
		data.Accounts = append(data.Accounts, l.Account)
	}
	state.reportUnread(&data)
	data.Exits, err = reportExits(ctx, s, state)
	return data, err
}

// Positions are the positions with their prices and gains.
func (state State) Positions() []report.Position {
	type place struct{ account, symbol string }
	open := map[place][]lots.Lot{}
	for _, l := range state.Book.Lots {
		at := place{l.Account, l.Symbol}
		open[at] = append(open[at], l)
	}
	unread := state.UnreadTickers()
	var list []report.Position
	for _, p := range state.Book.Positions {
		row := report.Position{Symbol: p.Symbol, Account: p.Account, Quantity: p.Quantity, InLots: p.InLots, Unread: unread[p.Symbol]}
		bar, priced := state.Closes[p.Symbol]
		priced = priced && !bar.Date.Before(state.Book.LastSplit(p.Symbol))
		if priced {
			row.Price, row.PricedOn = bar.Close, bar.Date
		}
		for _, l := range open[place{p.Account, p.Symbol}] {
			row.Basis = row.Basis.Add(l.Basis)
			if gain := l.Quantity.Mul(bar.Close).Sub(l.Basis); priced && l.Long(state.AsOf) {
				row.Long = row.Long.Add(gain)
			} else if priced {
				row.Short = row.Short.Add(gain)
			}
		}
		list = append(list, row)
	}
	return list
}

func reportYears(book *lots.Book) []report.Year {
	var years []report.Year
	for _, d := range book.Disposals {
		if len(years) == 0 || years[len(years)-1].Year != d.Sold.Year() {
			years = append(years, report.Year{Year: d.Sold.Year()})
		}
		y := &years[len(years)-1]
		if adjusted := d.Gain().Add(d.Disallowed); d.Long() {
			y.Long = y.Long.Add(adjusted)
		} else {
			y.Short = y.Short.Add(adjusted)
		}
		y.Disallowed, y.Permanent, y.Unsettled = y.Disallowed.Add(d.Disallowed), y.Permanent.Add(d.Permanent), y.Unsettled.Add(d.Unsettled)
	}
	return years
}

// A page with thousands of tickers is none, so only the largest positions are checked, and fewer
// get a chart.
const (
	maxExits  = 200
	maxCharts = 40
)

// byValue are the held tickers that are checked, those that are worth most first.
func (state State) byValue() []string {
	value := map[string]portfolio.Decimal{}
	for _, p := range state.Positions() {
		value[p.Symbol] = value[p.Symbol].Add(p.Value())
	}
	tickers := slices.SortedFunc(maps.Keys(value), func(a, b string) int {
		return cmp.Or(value[b].Cmp(value[a]), strings.Compare(a, b))
	})
	return tickers[:min(len(tickers), maxExits)]
}

func reportExits(ctx context.Context, s *Service, state State) (exits []report.Exit, err error) {
	tickers := state.byValue()
	config := state.Settings.Exit
	others, err := s.others(ctx, state)
	if err != nil {
		return nil, err
	}
	for i, ticker := range tickers {
		bars, err := s.Store.Bars(ctx, ticker, state.AsOf)
		if err != nil {
			return nil, err
		}
		market := exitrule.Market{Bars: bars, Others: others}
		result := state.ExitSignals(exitsignal.Params{Ticker: ticker}, market)
		snapshot := result.Snapshot()
		exit := report.Exit{
			Ticker: ticker, Assessment: string(result.Assessment), Verdict: snapshot.Verdict,
			Flags: snapshot.Flags(),
			Tax:   strings.Join(result.TaxLines(), " "), Actions: result.ActionLines(),
		}
		for _, signal := range result.Signals {
			shown := report.Signal{Rule: signal.RuleName, Primary: signal.IsPrimary, Triggered: signal.Triggered, Severity: signal.Severity}
			if signal.Status != exitrule.StatusOK {
				shown.Error = signal.Message
			}
			exit.Signals = append(exit.Signals, shown)
		}
		if i < maxCharts {
			exit.Prices, exit.Mean, exit.Marks = chart(config, market, state.AsOf)
		}
		exits = append(exits, exit)
	}
	return exits, nil
}

// chartYears is how much of the past a chart shows.
const chartYears = 3

// chart is a ticker's prices, their 10-month mean, and the month's ends on which the verdict turned.
func chart(config exitrule.Config, market exitrule.Market, asOf portfolio.Date) (prices, means []report.Point, marks []report.Mark) {
	begin := asOf.Add(-365 * chartYears)
	for _, bar := range market.Bars {
		if !bar.Date.Before(begin) {
			prices = append(prices, report.Point{Date: bar.Date, Value: bar.Adj.Float()})
		}
	}
	const months = 10
	ends := price.MonthEnds(market.Bars, asOf)
	closes := make([]float64, len(ends))
	for i, end := range ends {
		closes[i] = end.Adj.Float()
	}
	mean := price.SMA(closes, months)
	out := false
	for i, end := range ends {
		if i < months-1 || end.Date.Before(begin) {
			continue
		}
		means = append(means, report.Point{Date: end.Date, Value: mean[i]})
		verdict := exitrule.Evaluate(config, market, end.Date)
		if verdict.Assessment != exitrule.Error && verdict.Exits() != out {
			out = !out
			marks = append(marks, report.Mark{Date: end.Date, Exit: out})
		}
	}
	return prices, means, marks
}

func reportHarvest(r *harvest.Result) report.Harvest {
	snapshot := r.Snapshot()
	h := report.Harvest{
		Verdict: snapshot.Verdict, Flags: snapshot.Flags(),
		Total: r.TotalHarvestableLoss.Neg(), Short: r.ShortTermLoss.Neg(), Long: r.LongTermLoss.Neg(),
	}
	for _, c := range r.Candidates {
		shown := report.Candidate{
			Symbol: c.Ticker, Account: c.Account, Acquired: c.Acquired, Long: c.Term == lots.LongTerm, Quantity: c.Quantity, Basis: c.Basis,
			Value: c.Value, Loss: c.UnrealizedLoss.Neg(), Washed: c.Disallowed, WashedWithAll: c.DisallowedIfAllSold, WashFree: c.WashFreeFrom, Permanent: c.Permanent, Unsettled: c.Unsettled, BuyAgain: c.NoBuyUntil, Reached: c.FIFOReaches,
		}
		for _, w := range c.Washes {
			shown.WashedBy = append(shown.WashedBy, report.Purchase{Account: w.Account, Date: w.Bought, Quantity: w.Quantity})
		}
		for _, p := range c.Projected {
			shown.Reinvestments = append(shown.Reinvestments, p.Date)
		}
		h.Candidates = append(h.Candidates, shown)
	}
	return h
}

// calendarDays is how far back the calendar shows sales.
const calendarDays = 90

// reportCalendar has the sales at a loss of late, and what a sale of today would mean.
func reportCalendar(book *lots.Book, losses *harvest.Result) (windows []report.Window) {
	for _, d := range book.Disposals {
		if d.Gain().Sign() >= 0 || d.Sold.Before(book.AsOf.Add(-calendarDays)) {
			continue
		}
		w := report.Window{Symbol: d.Symbol, Account: d.Account, Sale: d.Sold, Loss: d.Gain().Neg()}
		for _, by := range d.Washes {
			w.Purchases = append(w.Purchases, report.Purchase{Account: by.Account, Date: by.Bought, Quantity: by.Quantity})
		}
		windows = append(windows, w)
	}
	at := map[string]int{} // the window of a ticker that could be sold
	for _, c := range losses.Candidates {
		i, known := at[c.Ticker]
		if !known {
			i = len(windows)
			at[c.Ticker] = i
			windows = append(windows, report.Window{Symbol: c.Ticker, Account: c.Account, Sale: book.AsOf, Planned: true})
			for _, p := range c.Projected {
				windows[i].Reinvestments = append(windows[i].Reinvestments, p.Date)
			}
		}
		w := &windows[i]
		if w.Loss = w.Loss.Sub(c.UnrealizedLoss); w.Account != c.Account {
			w.Account = "several"
		}
		for _, by := range c.Washes {
			bought := report.Purchase{Account: by.Account, Date: by.Bought, Quantity: by.Quantity}
			if !slices.ContainsFunc(w.Purchases, func(p report.Purchase) bool { return p.Account == bought.Account && p.Date == bought.Date }) {
				w.Purchases = append(w.Purchases, bought)
			}
		}
	}
	return windows
}

func reportNotes(state State, losses *harvest.Result) (notes []string) {
	for _, p := range state.Book.Problems {
		notes = append(notes, fmt.Sprintf("%s, %s in %s: %s.", p.Date, p.Symbol, p.Account, p.Text))
	}
	held := map[string]bool{}
	for _, p := range state.Book.Positions {
		held[p.Symbol] = true
	}
	if n := len(held) - maxExits; n > 0 {
		notes = append(notes, fmt.Sprintf("Exit signals are of the %d largest positions; %d smaller ones were not checked.", maxExits, n))
	}
	if len(losses.MissingPrices) > 0 {
		notes = append(notes, "There are no prices of "+strings.Join(losses.MissingPrices, ", ")+".")
	}
	for _, p := range losses.StalePrices {
		notes = append(notes, fmt.Sprintf("The last price of %s is of %s.", p.Ticker, p.Date))
	}
	for _, m := range losses.Unreconciled {
		notes = append(notes, fmt.Sprintf("%s in %s: the lots have %s shares, and the broker reports %s.", m.Ticker, m.Account, m.InLots, m.Reported))
	}
	return notes
}
