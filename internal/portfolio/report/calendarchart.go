package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A calendarChart has a row for each symbol: its windows, what was sold and bought in them, and
// the first day to buy again.
type calendarChart struct {
	Title, Desc string
	Height      int
	Today       tick
	X           []tick
	Rows        []calendarRow
	More        string // a sentence on what is not drawn
}

type calendarRow struct {
	LabelY, BarY, MarkY int
	Label, Remark       string
	Bars                []windowBar
	Marks               []calendarMark
}

type windowBar struct {
	X, Width string
	Planned  bool
	Title    string
}

// A calendarMark is a day. Its Kind is the name of the symbol that is drawn.
type calendarMark struct{ X, Kind, Title string }

const (
	mostRows  = 30
	firstRow  = 24 // the height above the first row, for the label of today
	rowHeight = 46
	// calendarDays is how far the chart reaches on either side of today: each window that is
	// still open fits whole.
	calendarDays = 2*windowDays + 2
)

// newCalendarChart is nil if no window is near today.
func newCalendarChart(today portfolio.Date, windows []Window) *calendarChart {
	days := span{today.Add(-calendarDays), today.Add(calendarDays)}
	bySymbol := map[string][]Window{}
	var symbols []string
	for _, w := range windows {
		if w.BuyAgain().Before(days.first) || w.First().After(days.last) {
			continue
		}
		if bySymbol[w.Symbol] == nil {
			symbols = append(symbols, w.Symbol)
		}
		bySymbol[w.Symbol] = append(bySymbol[w.Symbol], w)
	}
	if len(symbols) == 0 {
		return nil
	}
	slices.SortStableFunc(symbols, func(a, b string) int {
		return cmp.Or(latest(bySymbol[b]).Compare(latest(bySymbol[a])), cmp.Compare(a, b))
	})
	c := &calendarChart{Title: "Wash-sale calendar", X: days.ticks(), Today: tick{percent(days.at(today)), "as of " + today.String()}}
	for i, s := range symbols[:min(len(symbols), mostRows)] {
		top := firstRow + i*rowHeight
		row := calendarRow{LabelY: top + 14, BarY: top + 21, MarkY: top + 30, Label: short(clean(s), labelRoom)}
		row.fill(days, bySymbol[s])
		c.Rows = append(c.Rows, row)
	}
	c.Height = firstRow + len(c.Rows)*rowHeight
	c.Desc = fmt.Sprintf("%s from %s to %s. The table below has every date.",
		english.Count(len(symbols), "symbol"), days.first, days.last)
	if len(symbols) > mostRows {
		c.More = fmt.Sprintf("%d more %s in the table only.", len(symbols)-mostRows, english.Word(len(symbols)-mostRows, "symbol is", "symbols are"))
	}
	return c
}

// latest is the last day to buy again among windows.
func latest(windows []Window) (day portfolio.Date) {
	for _, w := range windows {
		if w.BuyAgain().After(day) {
			day = w.BuyAgain()
		}
	}
	return day
}

func (r *calendarRow) fill(days span, windows []Window) {
	mark := func(day portfolio.Date, kind, title string) {
		m := calendarMark{percent(days.at(day)), kind, title}
		if days.has(day) && !slices.Contains(r.Marks, m) {
			r.Marks = append(r.Marks, m)
		}
	}
	planned := true
	for _, w := range windows {
		planned = planned && w.Planned
		from, to := max(days.at(w.First()), 0), min(days.at(w.BuyAgain()), 1)
		r.Bars = append(r.Bars, windowBar{percent(from), percent(to - from), w.Planned, fmt.Sprintf("%s to %s", w.First(), w.Last())})
		for _, p := range w.Purchases {
			mark(p.Date, "bought", fmt.Sprintf("Bought %s on %s in %s", p.Quantity, p.Date, clean(p.Account)))
		}
		for _, d := range w.Reinvestments {
			mark(d, "reinvest", "A dividend is expected to buy on "+d.String())
		}
		if w.Planned {
			mark(w.Sale, "planned", "If sold on "+w.Sale.String())
		} else {
			mark(w.Sale, "sold", "Sold on "+w.Sale.String())
		}
	}
	again := latest(windows)
	mark(again, "again", "Buy again from "+again.String())
	r.Remark = "buy again from " + again.String()
	if planned {
		r.Remark = "if sold, " + r.Remark
	}
}
