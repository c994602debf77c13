package harvest

import (
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/safetext"
)

// maxReport is how many rows a table of the report has.
const maxReport = 50

// Markdown is the result for people.
func (r *Result) Markdown() string {
	snapshot := r.Snapshot()
	m := &markdown{}
	m.line("# Tax-loss harvest on %s", r.AsOf)
	m.line("%s.", plain(snapshot.Verdict))
	for _, f := range snapshot.Flags() {
		m.row("- **%s** %s", f.Severity, plain(f.Message))
	}
	m.row("")
	m.totals(r)
	m.candidates(r.Candidates)
	m.warnings(r.WashSaleWarnings)
	m.unread(r)
	m.doubts(r)
	m.line("_%s_", plain(r.Disclaimer))
	return strings.TrimRight(m.String(), "\n") + "\n"
}

type markdown struct{ strings.Builder }

func (m *markdown) row(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// line is a paragraph of its own.
func (m *markdown) line(format string, args ...any) {
	fmt.Fprintf(m, format+"\n\n", args...)
}

// omitted says how many rows a table leaves out, and ends it.
func (m *markdown) omitted(all int) {
	m.row("")
	if more := all - maxReport; more > 0 {
		m.line("%d more are in the full result.", more)
	}
}

func (m *markdown) totals(r *Result) {
	m.row("| | Amount |")
	m.row("|---|---:|")
	for _, sum := range []struct {
		name   string
		amount portfolio.Decimal
	}{
		{"Harvestable loss", r.TotalHarvestableLoss},
		{"Short-term", r.ShortTermLoss},
		{"Long-term", r.LongTermLoss},
		{"Disallowed if all is sold today", r.IfAllSold.Disallowed},
		{"Lost for good of it", r.IfAllSold.Permanent},
		{"Unsettled", r.IfAllSold.Unsettled},
		{"Allowed if all is sold today", r.IfAllSold.Allowed},
	} {
		m.row("| %s | %s |", sum.name, sum.amount.Cents())
	}
	m.row("")
	coverage := fmt.Sprintf("Lots cover %s%% of %s", coverageText(r.DataCoveragePct), english.Count(r.Metadata.PositionsAnalyzed, "position"))
	if p := r.Metadata.CoverageByValuePct; p != nil {
		coverage += fmt.Sprintf(", %s%% of their value", coverageText(*p))
	}
	if p := r.Metadata.CoverageByQuantityPct; p != nil {
		coverage += fmt.Sprintf(", %s%% of the shares that brokers report", coverageText(*p))
	}
	m.line("%s.", coverage)
	m.line("%s", strings.Join(r.YearLines(), " "))
}

func (m *markdown) candidates(list []Candidate) {
	if len(list) == 0 {
		return
	}
	m.line("## Candidates")
	m.row("| Ticker | Account | Acquired | Term | Quantity | Basis | Price | Loss | Disallowed today | Lost for good | Unsettled | Not washed from | Sold by |")
	m.row("|---|---|---|---|---:|---:|---:|---:|---:|---:|---:|---|---|")
	for _, c := range list[:min(len(list), maxReport)] {
		reached := string(c.Method)
		if c.SoldFirst != nil {
			reached = "name the lot"
		}
		m.row("| %s | %s | %s | %s | %s | %s | %s on %s | %s | %s | %s | %s | %s | %s |", plain(tickerName(c.Ticker)), plain(c.Account), c.Acquired, c.Term,
			c.Quantity, c.Basis.Cents(), c.Price, c.PriceDate, c.UnrealizedLoss.Cents(), c.Disallowed.Cents(), c.Permanent.Cents(), c.Unsettled.Cents(), c.WashFreeFrom, plain(reached))
	}
	m.omitted(len(list))
	m.line("Each row holds if its lot is sold alone. A purchase no longer washes these sales from %s.", list[0].NoBuyUntil)
}

func (m *markdown) warnings(list []Warning) {
	if len(list) == 0 {
		return
	}
	m.line("## Wash sales")
	for _, w := range list[:min(len(list), maxReport)] {
		m.row("- **%s**: %s disallowed if sold today%s%s", plain(tickerName(w.Ticker)), w.Disallowed.Cents(), bought(w.Purchases), reinvesting(w.Projected))
	}
	m.omitted(len(list))
}

// maxEvents is how many purchases of a ticker the report names.
const maxEvents = 5

func bought(purchases []reply.Purchase) string {
	var s strings.Builder
	for i, p := range purchases {
		if i == maxEvents {
			fmt.Fprintf(&s, "; %s", english.Count(len(purchases)-i, "more purchase"))
			break
		}
		fmt.Fprintf(&s, "; %s bought %s on %s", plain(p.Account), plain(p.Ticker), p.Bought)
		switch {
		case p.Unsettled:
			s.WriteString(" (unsettled)")
		case p.Permanent:
			s.WriteString(" (lost for good)")
		}
	}
	return s.String()
}

func reinvesting(projected []Reinvestment) string {
	var s strings.Builder
	for i, p := range projected {
		if i == maxEvents {
			fmt.Fprintf(&s, "; %s", english.Count(len(projected)-i, "more reinvestment"))
			break
		}
		fmt.Fprintf(&s, "; %s is likely to reinvest in %s about %s", plain(p.Account), plain(p.Ticker), p.Date)
	}
	return s.String()
}

func (m *markdown) doubts(r *Result) {
	if len(r.MissingPrices)+len(r.StalePrices)+len(r.Unreconciled)+r.ProblemCount == 0 {
		return
	}
	m.line("## What is not known")
	for _, ticker := range r.MissingPrices[:min(len(r.MissingPrices), maxReport)] {
		m.row("- %s has no price.", plain(ticker))
	}
	for _, p := range r.StalePrices[:min(len(r.StalePrices), maxReport)] {
		m.row("- The last price of %s is of %s.", plain(p.Ticker), p.Date)
	}
	for _, p := range r.Unreconciled[:min(len(r.Unreconciled), maxReport)] {
		m.row("- %s in %s: %s shares are in lots, and the broker reports %s.", plain(p.Ticker), plain(p.Account), p.InLots, p.Reported)
	}
	for _, p := range r.Problems {
		m.row("- %s, %s in %s: %s.", p.Date, plain(p.Ticker), plain(p.Account), plain(p.Text))
	}
	if more := r.ProblemCount - len(r.Problems); more > 0 {
		m.row("- %s not explained by the history.", english.Count(more, "more transaction"))
	}
	m.row("")
}

// markup is what Markdown or HTML would see in text, and how it is written so that they do not.
// Bare addresses would become links.
var markup = strings.NewReplacer(
	"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "\\<", ">", "\\>",
	"#", "\\#", "|", "\\|", "~", "\\~", "&", "\\&", "://", ":\\/\\/", "www.", "www\\.",
)

// plain writes text of files so that there is no markup in it.
func plain(s string) string { return markup.Replace(safetext.Escape(s)) }
