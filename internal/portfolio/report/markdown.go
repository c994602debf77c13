package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
)

// Markdown writes the report as Markdown with tables. It has all that the page has, except for
// the charts.
func Markdown(w io.Writer, d Data) error {
	v := d.view()
	var m markdown
	m.line("# Portfolio on %s", v.AsOf)
	m.line("Made %s. Amounts are US dollars.", mark(v.Generated))
	m.line("## What needs deciding")
	m.decisions(v.Decisions)
	for _, s := range v.Standing {
		m.line("%s", mark(s))
	}
	m.figures(v.Figures)
	m.line("## Exit signals")
	if len(v.Exits) == 0 {
		m.line("%s", v.NothingChecked)
	}
	for _, e := range v.Exits {
		m.exit(e, d)
	}
	m.line("## Tax-loss harvest")
	if v.Verdict != "" {
		m.line("**%s**", mark(v.Verdict))
	}
	m.flags(v.Flags)
	m.table(lossTable(v.Losses))
	m.table(v.Candidates)
	for _, section := range []struct {
		name string
		table
	}{{"Wash-sale calendar", v.Calendar}, {"Positions", v.Positions}, {"Realised gains", v.Gains}, {"Accounts", v.Accounts}, {"Rows that were not read", v.Unread}} {
		m.line("## %s", section.name)
		m.table(section.table)
	}
	m.line("## Notes")
	if len(v.Notes) == 0 {
		m.line("%s", v.NothingToNote)
	}
	m.list("", v.Notes)
	if v.Disclaimer != "" {
		m.line("---")
		m.line("%s", mark(v.Disclaimer))
	}
	if _, err := io.WriteString(w, strings.TrimLeft(m.String(), "\n")); err != nil {
		return fmt.Errorf("the report can't be written: %w", err)
	}
	return nil
}

// markdown is a text that grows by blocks.
type markdown struct{ strings.Builder }

// line writes a block of one line.
func (m *markdown) line(format string, args ...any) { fmt.Fprintf(m, "\n"+format+"\n", args...) }

// list writes a block of items.
func (m *markdown) list(indent string, items []string) {
	if len(items) > 0 {
		m.WriteString("\n")
	}
	for _, item := range items {
		m.WriteString(indent + "- " + mark(item) + "\n")
	}
}

// steps writes a block of numbered items.
func (m *markdown) steps(indent string, items []string) {
	if len(items) > 0 {
		m.WriteString("\n")
	}
	for i, item := range items {
		fmt.Fprintf(m, "%s%d. %s\n", indent, i+1, mark(item))
	}
}

func (m *markdown) decisions(list []decision) {
	for i, d := range list {
		m.line("%d. **%s** %s", i+1, mark(d.Badge), mark(d.Verdict))
		m.steps("   ", d.Steps)
		m.list("   ", d.Remarks)
	}
}

func (m *markdown) figures(list []figure) {
	t := table{Caption: "Totals", Columns: []column{{Name: "Total"}, {"Amount", "number"}, {Name: "Of it"}}}
	for _, f := range list {
		t.Rows = append(t.Rows, []string{f.Name, f.Value, strings.Join(f.Remarks, ", ")})
	}
	m.table(t)
}

func (m *markdown) flags(list []agentformat.Flag) {
	var items []string
	for _, f := range list {
		items = append(items, level(f.Severity)+": "+f.Message)
	}
	m.list("", items)
}

func (m *markdown) exit(e exitView, d Data) {
	m.line("### %s: %s", mark(e.Ticker), mark(e.Assessment))
	m.line("%s", mark(e.Verdict))
	if price, ok := lastPrice(e.Prices); ok {
		said := fmt.Sprintf("The adjusted close of %s is %s", price.Date, quote(price.Value))
		if mean, ok := lastPrice(e.Mean); ok {
			said += fmt.Sprintf(", its 10-month mean %s", quote(mean.Value))
		}
		said += "."
		if turn, ok := lastTurn(e.Marks, d.AsOf); ok {
			said += " " + turned(turn) + "."
		}
		m.line("%s", said)
	}
	m.flags(e.Flags)
	m.steps("", e.Actions)
	if e.Tax != "" {
		m.line("%s", mark(e.Tax))
	}
	m.table(e.Rules)
}

// lossTable has what the page draws as bars.
func lossTable(losses []loss) table {
	t := table{
		Caption: "Losses by ticker, in US dollars",
		Columns: []column{{Name: "Symbol"}, {"Short-term", "number"}, {"Long-term", "number"}, {"Loss", "number"}, {"Washed now", "number"}},
	}
	for _, l := range losses {
		t.Rows = append(t.Rows, []string{l.Symbol, l.Short.Cents(), l.Long.Cents(), l.total().Cents(), l.washed().Cents()})
	}
	return t
}

// table writes a table, or the sentence that stands for no rows.
func (m *markdown) table(t table) {
	if len(t.Rows) == 0 {
		if t.Empty != "" {
			m.line("%s", t.Empty)
		}
		return
	}
	m.line("%s:", t.Caption)
	m.WriteString("\n|")
	for _, c := range t.Columns {
		m.WriteString(" " + c.Name + " |")
	}
	m.WriteString("\n|")
	for _, c := range t.Columns {
		if c.Kind == "number" {
			m.WriteString(" ---: |")
		} else {
			m.WriteString(" --- |")
		}
	}
	m.WriteString("\n")
	for _, row := range slices.Concat(t.Rows, [][]string{t.Total}) {
		if len(row) == 0 {
			continue
		}
		m.WriteString("|")
		for _, text := range row {
			m.WriteString(" " + mark(text) + " |")
		}
		m.WriteString("\n")
	}
}

// marks are the letters that mean something in Markdown wherever they stand, and those by
// which readers make links of their own.
var marks = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `>`, `\>`,
	`|`, `\|`, `~`, `\~`, `&`, `\&`, `#`, `\#`, `!`, `\!`, `://`, `\://`, `www.`, `www\.`, `@`, `\@`,
)

// mark makes a text stand for itself in Markdown.
func mark(s string) string {
	s = strings.TrimSpace(s)
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	marked := marks.Replace(s)
	switch {
	case marked == "":
		return ""
	case strings.ContainsRune("+-=", rune(s[0])) && (len(s) == 1 || s[1] == s[0] || s[1] == ' '):
		return `\` + marked // else a list or a line under a heading
	case digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')') && (digits+1 == len(s) || s[digits+1] == ' '):
		return marked[:digits] + `\` + marked[digits:]
	}
	return marked
}
