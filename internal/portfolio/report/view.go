package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A view is a report in words, the same for the page and for Markdown. All its texts are clean.
type view struct {
	AsOf       string
	Generated  string
	Figures    []figure
	Decisions  []decision
	Standing   []string // sentences on what needs no decision
	Exits      []exitView
	Verdict    string // of the harvest
	Flags      []agentformat.Flag
	Losses     []loss
	Candidates table
	Calendar   table
	Positions  table
	Gains      table
	Accounts   table
	Unread     table
	Notes      []string
	Disclaimer string

	NothingChecked string // the sentences that stand for no exits
	NothingToNote  string // and for no notes
}

// A figure is one number at the head of a report.
type figure struct {
	Name, Value string
	Down        bool // less than zero
	Remarks     []string
}

// A decision is something that somebody has to decide.
type decision struct {
	Severity agentformat.Severity
	Badge    string
	Verdict  string
	Steps    []string // what to do, in order
	Remarks  []string
	Anchor   string // where the page has the details
}

type exitView struct {
	Exit
	Severity agentformat.Severity
	Rules    table
	Anchor   string
}

// A table has its first column for its rows' names.
type table struct {
	Caption string
	Columns []column
	Rows    [][]string
	Total   []string // empty if there is nothing to add up
	Empty   string   // the sentence that stands for no rows
}

type column struct {
	Name string
	Kind string // number, name, words, or empty for what is never long
}

func (d Data) view() view {
	v := view{
		AsOf:       d.AsOf.String(),
		Generated:  d.Generated.Format("2006-01-02 15:04 MST"),
		Figures:    d.figures(),
		Verdict:    clean(d.Harvest.Verdict),
		Flags:      cleanFlags(d.Harvest.Flags),
		Losses:     d.Harvest.losses(),
		Candidates: d.Harvest.table(),
		Calendar:   d.calendarTable(),
		Positions:  d.positionTable(),
		Gains:      d.gainTable(),
		Accounts:   d.accountTable(),
		Unread:     d.unreadTable(),
		Notes:      cleanAll(d.Notes),
		Disclaimer: clean(d.Disclaimer),

		NothingChecked: "No held ticker was checked for exit signals.",
		NothingToNote:  "There is nothing to note.",
	}
	for i, e := range byUrgency(d.Exits) {
		v.Exits = append(v.Exits, e.view(fmt.Sprintf("exit-%d", i+1)))
	}
	v.decide(d)
	return v
}

func cleanFlags(flags []agentformat.Flag) []agentformat.Flag {
	var cleaned []agentformat.Flag
	for _, f := range sorted(flags) {
		cleaned = append(cleaned, agentformat.Flag{
			Name:     clean(f.Name),
			Severity: agentformat.Severity(clean(string(f.Severity))),
			Message:  clean(f.Message),
		})
	}
	return cleaned
}

func (e Exit) view(anchor string) exitView {
	v := exitView{Exit: e, Severity: worst(e.Flags), Anchor: anchor}
	v.Ticker = clean(e.Ticker)
	v.Assessment = clean(e.Assessment)
	v.Verdict = clean(e.Verdict)
	v.Flags = cleanFlags(e.Flags)
	v.Actions = cleanAll(e.Actions)
	v.Tax = clean(e.Tax)
	v.Rules = table{
		Caption: "Rules",
		Columns: []column{{Name: "Rule"}, {"Says", "words"}, {"Severity", "number"}},
		Empty:   "No rule was evaluated.",
	}
	for _, s := range e.Signals {
		rule, says := clean(s.Rule), "not triggered"
		if s.Primary {
			rule += " (primary)"
		}
		switch {
		case s.Error != "":
			says = "failed: " + clean(s.Error)
		case s.Triggered:
			says = "triggered"
		}
		v.Rules.Rows = append(v.Rules.Rows, []string{rule, says, strconv.FormatFloat(agentformat.Number(s.Severity), 'f', 2, 64)})
	}
	return v
}

// figures are the totals at the head.
func (d Data) figures() []figure {
	var value, shortTerm, longTerm portfolio.Decimal
	priced := 0
	for _, p := range d.Positions {
		if p.PricedOn.IsZero() {
			continue
		}
		priced++
		value = value.Add(p.Value())
		shortTerm, longTerm = shortTerm.Add(p.Short), longTerm.Add(p.Long)
	}
	coverage := english.Count(len(d.Positions), "position")
	if priced < len(d.Positions) {
		coverage = fmt.Sprintf("%d of %s with a price", priced, coverage)
	}
	year := d.AsOf.Year()
	realised, remarks := portfolio.Decimal{}, []string{"no sale in the history"}
	for _, y := range d.Gains {
		if y.Year == year {
			realised, remarks = y.Short.Add(y.Long), terms(y.Short, y.Long, gain)
		}
	}
	unrealised := shortTerm.Add(longTerm)
	return []figure{
		{"Value", dollars(value), value.Sign() < 0, []string{coverage}},
		{"Unrealised gain", gain(unrealised), unrealised.Sign() < 0, terms(shortTerm, longTerm, gain)},
		{fmt.Sprintf("Realised in %d", year), gain(realised), realised.Sign() < 0, remarks},
		{"Harvestable losses", dollars(d.Harvest.Total), false, terms(d.Harvest.Short, d.Harvest.Long, dollars)},
	}
}

func terms(shortTerm, longTerm portfolio.Decimal, write func(portfolio.Decimal) string) []string {
	return []string{write(shortTerm) + " short-term", write(longTerm) + " long-term"}
}

// decide says what needs deciding, the worst first, and what does not.
func (v *view) decide(d Data) {
	var watched, held []string
	for _, e := range v.Exits {
		switch {
		case urgent(e.Severity):
			item := decision{e.Severity, e.Assessment, e.Verdict, e.Actions, nil, e.Anchor}
			for _, f := range e.Flags {
				if urgent(f.Severity) {
					item.Remarks = append(item.Remarks, f.Message)
				}
			}
			if e.Tax != "" {
				item.Remarks = append(item.Remarks, e.Tax)
			}
			v.Decisions = append(v.Decisions, item)
		case e.Severity == agentformat.Success:
			held = append(held, e.Ticker)
		default:
			watched = append(watched, e.Ticker)
		}
	}
	if harvest := worst(v.Flags); len(d.Harvest.Candidates) > 0 || urgent(harvest) {
		item := decision{Severity: harvest, Badge: "HARVEST", Verdict: v.Verdict, Anchor: "harvest"}
		for _, f := range v.Flags {
			item.Remarks = append(item.Remarks, f.Message)
		}
		v.Decisions = append(v.Decisions, item)
	}
	switch {
	case len(v.Exits) == 0 && v.Verdict == "":
		v.Standing = append(v.Standing, "Nothing was checked: import transactions and prices first.")
	case len(v.Decisions) == 0:
		v.Standing = append(v.Standing, fmt.Sprintf("Nothing needs deciding on %s.", d.AsOf))
	}
	if closed := openWindows(d); len(closed) > 0 {
		v.Standing = append(v.Standing, "Buying would wash a loss that was taken: "+names(closed, 8)+".")
	}
	if len(watched) > 0 {
		v.Standing = append(v.Standing, "To watch: "+names(watched, 12)+".")
	}
	if len(held) > 0 {
		v.Standing = append(v.Standing, "To hold: "+names(held, 12)+".")
	}
}

// openWindows has the symbols that must not be bought yet, each with the day from which it may.
func openWindows(d Data) []string {
	last := map[string]portfolio.Date{}
	var symbols []string
	for _, w := range d.Calendar {
		if w.Planned || w.Sale.After(d.AsOf) || w.Last().Before(d.AsOf) {
			continue
		}
		day, known := last[w.Symbol]
		if !known {
			symbols = append(symbols, w.Symbol)
		}
		if day.Before(w.BuyAgain()) {
			last[w.Symbol] = w.BuyAgain()
		}
	}
	slices.Sort(symbols)
	for i, s := range symbols {
		symbols[i] = fmt.Sprintf("%s before %s", clean(s), last[s])
	}
	return symbols
}

// A loss is what the candidates of one symbol come to.
type loss struct {
	Symbol                  string
	Short, Long             portfolio.Decimal
	WashedShort, WashedLong portfolio.Decimal // parts of the above
}

func (l loss) total() portfolio.Decimal  { return l.Short.Add(l.Long) }
func (l loss) washed() portfolio.Decimal { return l.WashedShort.Add(l.WashedLong) }

// losses adds the candidates up by symbol, the largest loss first.
func (h Harvest) losses() []loss {
	at := map[string]int{}
	var list []loss
	for _, c := range h.Candidates {
		i, known := at[c.Symbol]
		if !known {
			i = len(list)
			at[c.Symbol] = i
			list = append(list, loss{Symbol: clean(c.Symbol)})
		}
		l := &list[i]
		if c.Long {
			l.Long, l.WashedLong = l.Long.Add(c.Loss), l.WashedLong.Add(c.WashedWithAll)
		} else {
			l.Short, l.WashedShort = l.Short.Add(c.Loss), l.WashedShort.Add(c.WashedWithAll)
		}
	}
	slices.SortStableFunc(list, func(a, b loss) int {
		return cmp.Or(b.total().Cmp(a.total()), cmp.Compare(a.Symbol, b.Symbol))
	})
	return list
}

func term(long bool) string {
	if long {
		return "long"
	}
	return "short"
}

func (h Harvest) table() table {
	t := table{
		Caption: "Lots at a loss, in US dollars; each row holds if its lot is sold alone",
		Columns: []column{{Name: "Symbol"}, {"Loss", "number"}, {Name: "Term"}, {"Washed now", "number"}, {"Lost for good", "number"},
			{Name: "Buy again from"}, {"Account", "name"}, {Name: "Acquired"}, {"Shares", "number"},
			{"Basis", "number"}, {"Value", "number"}, {"Remarks", "words"}},
		Empty: "No lot is listed.",
	}
	for _, c := range h.Candidates {
		var remarks []string
		if len(c.WashedBy) > 0 {
			remarks = append(remarks, "bought "+purchases(c.WashedBy))
		}
		if !c.WashFree.IsZero() {
			remarks = append(remarks, "not washed from "+c.WashFree.String())
		}
		if c.Unsettled.Sign() > 0 {
			remarks = append(remarks, "the law does not say whether "+c.Unsettled.Cents()+" of the loss would be washed")
		}
		if len(c.Reinvestments) > 0 {
			remarks = append(remarks, "a dividend is expected to buy on "+days(c.Reinvestments))
		}
		if !c.Reached {
			remarks = append(remarks, "the account sells other lots first: name this one")
		}
		t.Rows = append(t.Rows, []string{clean(c.Symbol), c.Loss.Cents(), term(c.Long), c.Washed.Cents(), c.Permanent.Cents(),
			c.BuyAgain.String(), clean(c.Account), c.Acquired.String(), c.Quantity.String(),
			c.Basis.Cents(), c.Value.Cents(), strings.Join(remarks, "; ")})
	}
	return t
}
