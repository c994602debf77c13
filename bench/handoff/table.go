package handoff

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Row is what is known of a system after all rounds.
type Row struct {
	System   string  `json:"system"`
	Version  string  `json:"version,omitempty"`
	Settings string  `json:"settings,omitempty"`
	Note     string  `json:"note,omitempty"` // why there are no figures, or fewer
	Rounds   int     `json:"rounds"`
	Handoffs Spread  `json:"handoffs_per_s"`
	Ratio    float64 `json:"ratio,omitempty"` // of its handoffs to those of the system that all are compared with; 0 if there are none
	P50      Spread  `json:"p50_ms"`
	P99      Spread  `json:"p99_ms"`
	Carried  Spread  `json:"carried_per_s"`
	CPU      Spread  `json:"cpu_ms_per_handoff"`
	Verdict  Verdict `json:"verdict"`
}

// Report is what all systems came to.
type Report struct {
	Rate int   `json:"rate_per_s"` // at which the latency was measured
	Rows []Row `json:"systems"`
}

// Summarise makes a row of a system's samples. A note is kept.
func (r Row) Summarise(samples []Sample) Row {
	r.Rounds = len(samples)
	if r.Rounds == 0 {
		return r
	}
	spread := func(f func(Sample) float64) Spread {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = f(s)
		}
		return SpreadOf(values)
	}
	r.Handoffs = spread(func(s Sample) float64 { return s.HandoffsPerS })
	r.P50 = spread(func(s Sample) float64 { return s.P50 })
	r.P99 = spread(func(s Sample) float64 { return s.P99 })
	r.Carried = spread(func(s Sample) float64 { return s.Carried })
	r.CPU = spread(func(s Sample) float64 { return s.CPU })
	r.Verdict = Verdict{}
	for _, s := range samples {
		r.Verdict = r.Verdict.Add(s.Verdict)
	}
	return r
}

// Compare sets each row's ratio to the handoffs of the first.
func Compare(rows []Row) {
	if len(rows) == 0 || rows[0].Handoffs.Median == 0 {
		return
	}
	for i := range rows {
		rows[i].Ratio = rows[i].Handoffs.Median / rows[0].Handoffs.Median
	}
}

// carries reports whether a system made handoffs at the rate at which the latency was measured, in
// most rounds. What it took is no figure of the system otherwise: it grows with the time it is measured.
func (r Row) carries(rate int) bool { return r.Carried.Median >= 0.9*float64(rate) }

// Markdown returns the table, and below it the settings of each system.
func (r Report) Markdown() string {
	table := [][]string{{"system", "version", "handoffs/s", "ratio", "p50 ms", "p99 ms", "CPU ms", "each once"}}
	var below strings.Builder
	for _, row := range r.Rows {
		table = append(table, r.cells(row))
		if row.Settings != "" {
			fmt.Fprintf(&below, "- %s: %s\n", row.System, row.Settings)
		}
	}
	return align(table) + "\n" + below.String()
}

func (r Report) cells(row Row) []string {
	if row.Rounds == 0 {
		return []string{row.System, row.Version, row.Note, "", "", "", "", ""}
	}
	p50, p99 := "", ""
	switch {
	case r.Rate == 0:
	case row.carries(r.Rate):
		p50, p99 = row.P50.text(), row.P99.text()
	default:
		p50 = fmt.Sprintf("carries %s of %d/s", number(row.Carried.Median), r.Rate)
	}
	ratio := ""
	if row.Ratio > 0 {
		ratio = fmt.Sprintf("%.2f", row.Ratio)
	}
	verdict := row.Verdict.String()
	if row.Note != "" {
		verdict += "; " + row.Note
	}
	return []string{row.System, row.Version, row.Handoffs.text(), ratio, p50, p99, number(row.CPU.Median), verdict}
}

func (s Spread) text() string {
	if s.Min == s.Max {
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(s.Median), number(s.Min), number(s.Max))
}

// number has three digits that count, and no exponent.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case a >= 9.995:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// align writes a table in Markdown, with columns that line up as text too.
func align(table [][]string) string {
	width := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for i, cell := range row {
			b.WriteString("| " + cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)) + " ")
		}
		b.WriteString("|\n")
	}
	line(table[0])
	for _, w := range width {
		b.WriteString("|" + strings.Repeat("-", w+2))
	}
	b.WriteString("|\n")
	for _, row := range table[1:] {
		line(row)
	}
	return b.String()
}
