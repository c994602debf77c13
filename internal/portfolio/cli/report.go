package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/report"
	"github.com/signalbox-dev/signalbox/internal/portfolio/tools"
)

func (a *app) reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report FILE",
		Short: "One page of everything, for a person",
		Long: `Report writes one page: what needs deciding, positions, realised gains, exit signals with their
charts, losses that could be realised, and a calendar of wash sales. A FILE that ends in .html is a
page that needs nothing else and no network; one that ends in .md is Markdown; - prints Markdown.`,
		Example: `  portfolio report report.html
  portfolio report -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write, err := reportWriter(args[0])
			if err != nil {
				return a.usageError("%w", err)
			}
			var data report.Data
			err = a.with(cmd.Context(), func(s *tools.Service) error {
				data, err = a.reportData(cmd.Context(), s)
				return err
			})
			if err != nil {
				return err
			}
			var page bytes.Buffer
			if err := write(&page, data); err != nil {
				return err
			}
			if args[0] == "-" {
				_, err := a.Out.Write(page.Bytes())
				return err
			}
			path, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			if err := durable.WriteFile(path, page.Bytes()); err != nil {
				return err
			}
			if a.json {
				return command.WriteJSON(a.Out, map[string]string{"file_path": path})
			}
			fmt.Fprintf(a.Out, "The report is in %s\n", agentsig.Escape(path))
			return nil
		},
	}
}

func reportWriter(path string) (func(io.Writer, report.Data) error, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".html", ".htm":
		return report.HTML, nil
	case ".md", ".markdown":
		return report.Markdown, nil
	}
	if path == "-" {
		return report.Markdown, nil
	}
	return nil, fmt.Errorf("%s: a report's name ends in .html or .md", agentsig.Escape(path))
}

func (a *app) reportData(ctx context.Context, s *tools.Service) (report.Data, error) {
	state, err := s.Load(ctx, portfolio.Date{})
	if err != nil {
		return report.Data{}, err
	}
	harvest := state.Harvest(tools.HarvestParams{})
	data := report.Data{
		AsOf: state.AsOf, Generated: a.now(), Positions: reportPositions(state), Gains: reportYears(state.Book),
		Harvest: reportHarvest(harvest), Calendar: reportCalendar(state.Book, harvest), Notes: reportNotes(state, harvest),
		Disclaimer: harvest.Disclaimer,
	}
	for _, l := range accountsOf(state) {
		data.Accounts = append(data.Accounts, l.Account)
	}
	data.Exits, err = reportExits(ctx, s, state)
	return data, err
}

// reportPositions are the positions with their prices and gains.
func reportPositions(state tools.State) []report.Position {
	type place struct{ account, symbol string }
	open := map[place][]lots.Lot{}
	for _, l := range state.Book.Lots {
		at := place{l.Account, l.Symbol}
		open[at] = append(open[at], l)
	}
	var list []report.Position
	for _, p := range state.Book.Positions {
		row := report.Position{Symbol: p.Symbol, Account: p.Account, Quantity: p.Quantity, InLots: p.InLots}
		bar, priced := state.Closes[p.Symbol]
		if priced {
			row.Price, row.PricedOn = bar.Close, bar.Date
		}
		for _, l := range open[place{p.Account, p.Symbol}] {
			row.Basis = row.Basis.Add(l.Basis)
			if gain := l.Quantity.Mul(bar.Close).Sub(l.Basis); priced && !state.AsOf.Before(l.HoldingSince.LongTermFrom()) {
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

// maxCharts is how many tickers get a chart: a page with hundreds is none.
const maxCharts = 40

func reportExits(ctx context.Context, s *tools.Service, state tools.State) (exits []report.Exit, err error) {
	var tickers []string
	for _, p := range state.Book.Positions {
		if !slices.Contains(tickers, p.Symbol) {
			tickers = append(tickers, p.Symbol)
		}
	}
	config := state.Settings.Exit
	for i, ticker := range tickers {
		market, err := s.Market(ctx, config, ticker, state.AsOf)
		if err != nil {
			return nil, err
		}
		result := state.ExitSignals(tools.ExitParams{Ticker: ticker}, market)
		snapshot := result.Snapshot()
		exit := report.Exit{
			Ticker: ticker, Assessment: string(result.Assessment), Verdict: snapshot.Verdict,
			Flags: agentformat.Respond(result.Status, snapshot, agentformat.File{}).Flags,
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

func reportHarvest(r *tools.HarvestResult) report.Harvest {
	snapshot := r.Snapshot()
	h := report.Harvest{
		Verdict: snapshot.Verdict, Flags: agentformat.Respond(r.Status, snapshot, agentformat.File{}).Flags,
		Total: r.TotalHarvestableLoss.Neg(), Short: r.ShortTermLoss.Neg(), Long: r.LongTermLoss.Neg(),
	}
	for _, c := range r.Candidates {
		shown := report.Candidate{
			Symbol: c.Ticker, Account: c.Account, Acquired: c.Acquired, Long: c.Term == "long", Quantity: c.Quantity, Basis: c.Basis,
			Value: c.Value, Loss: c.UnrealizedLoss.Neg(), Washed: c.Disallowed, Permanent: c.Permanent, Unsettled: c.Unsettled, BuyAgain: c.NoBuyUntil, Reached: c.FIFOReaches,
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
func reportCalendar(book *lots.Book, harvest *tools.HarvestResult) (windows []report.Window) {
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
	for _, warning := range harvest.WashSaleWarnings {
		w := report.Window{Symbol: warning.Ticker, Sale: book.AsOf, Planned: true}
		for _, c := range harvest.Candidates {
			if c.Ticker == warning.Ticker {
				w.Loss, w.Account = w.Loss.Sub(c.UnrealizedLoss), c.Account
				for _, by := range c.Washes {
					bought := report.Purchase{Account: by.Account, Date: by.Bought, Quantity: by.Quantity}
					if !slices.ContainsFunc(w.Purchases, func(p report.Purchase) bool { return p.Account == bought.Account && p.Date == bought.Date }) {
						w.Purchases = append(w.Purchases, bought)
					}
				}
			}
		}
		for _, p := range warning.Projected {
			w.Reinvestments = append(w.Reinvestments, p.Date)
		}
		windows = append(windows, w)
	}
	return windows
}

func reportNotes(state tools.State, harvest *tools.HarvestResult) (notes []string) {
	for _, p := range state.Book.Problems {
		notes = append(notes, fmt.Sprintf("%s, %s in %s: %s.", p.Date, p.Symbol, p.Account, p.Text))
	}
	if len(harvest.MissingPrices) > 0 {
		notes = append(notes, "There are no prices of "+strings.Join(harvest.MissingPrices, ", ")+".")
	}
	for _, p := range harvest.StalePrices {
		notes = append(notes, fmt.Sprintf("The last price of %s is of %s.", p.Ticker, p.Date))
	}
	for _, m := range harvest.Unreconciled {
		notes = append(notes, fmt.Sprintf("%s in %s: the lots have %s shares, and the broker reports %s.", m.Ticker, m.Account, m.InLots, m.Reported))
	}
	return notes
}
