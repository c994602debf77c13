package answer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/report"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
	"github.com/signalbox-dev/signalbox/safetext"
)

// The longest texts of an unread row, in bytes of JSON. A broker's file may write anything into them. A
// reason ends with the line to write, and has room for it with the longest names.
const (
	maxUnreadText   = 1000
	maxUnreadReason = 1500
)

// skippedRow is a row as an import tells it. Where the file names no account, it is the one that was
// said. What can be no day, account or ticker is left out: the row's text has it.
func skippedRow(row broker.Skipped, account string) Skipped {
	s := Skipped{Line: row.Line, Text: row.Text, Reason: row.Reason, Known: row.Known, Date: row.Date}
	if _, err := portfolio.ParseDate(row.Date.String()); err != nil {
		s.Date = portfolio.Date{}
	}
	if id := cmp.Or(row.Account, account); portfolio.Unlisted(id).Check() == nil {
		s.Account = id
	}
	if symbol := portfolio.Symbol(row.Symbol); portfolio.IsSymbol(symbol) {
		s.Symbol = symbol
	}
	return s
}

// unreadRows are the rows that somebody has to look at.
func unreadRows(skipped []Skipped) (rows []portfolio.Unread) {
	for _, row := range skipped {
		if !row.Known {
			rows = append(rows, portfolio.Unread{
				Date: row.Date, Account: row.Account, Symbol: row.Symbol, Line: row.Line,
				Text: jsontext.Shorten(row.Text, maxUnreadText), Reason: jsontext.Shorten(row.Reason, maxUnreadReason),
			})
		}
	}
	return rows
}

// Unread are the rows up to a day, or of none, that are open. Of an import whose rows were only
// counted, there is one that says so: nobody knows any more what they are about.
func (s *Service) Unread(ctx context.Context, asOf portfolio.Date) (rows []portfolio.Unread, err error) {
	kept, err := s.Store.Unread(ctx, asOf)
	if err != nil {
		return nil, err
	}
	for _, row := range kept {
		if row.Settled.IsZero() {
			rows = append(rows, row.Unread)
		}
	}
	imports, err := s.Store.Imports(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range imports {
		if i.Unkept > 0 {
			rows = append(rows, portfolio.Unread{Reason: Unkept(i)})
		}
	}
	return rows, nil
}

// spread adds to rows of a symbol those of the symbols that companies made of it later: what is not
// known of the one is not known of the others. So it is with symbols that are one for the wash-sale rule:
// those that the settings call identical, and the old name of what was renamed, up to the end of the window.
// A symbol has one row of others at most.
func spread(rows []portfolio.Unread, history []portfolio.Transaction, identical [][]string) []portfolio.Unread {
	became, was, like := map[string][]portfolio.Transaction{}, map[string][]portfolio.Transaction{}, map[string][]string{}
	for i := range history {
		if t := &history[i]; t.Into != "" {
			became[t.Symbol] = append(became[t.Symbol], *t)
			if t.Action == portfolio.Rename {
				was[t.Into] = append(was[t.Into], *t)
			}
		}
	}
	for _, group := range identical {
		for _, symbol := range group {
			like[symbol] = append(like[symbol], group...)
		}
	}
	if len(became)+len(like) == 0 {
		return rows
	}
	all := slices.Clone(rows)
	// The earliest row of a symbol reaches all that later ones do, so each symbol is reached once: a file
	// can have many rows, and many new names.
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return rows[i].Date.Compare(rows[j].Date) })
	reached := map[string]bool{}
	for _, place := range order {
		row := rows[place]
		if row.Symbol == "" || reached[row.Symbol] {
			continue
		}
		reached[row.Symbol] = true
		waiting := []string{row.Symbol}
		reach := func(symbol, how string) {
			if reached[symbol] {
				return
			}
			reached[symbol] = true
			waiting = append(waiting, symbol)
			other := row
			other.Original = cmp.Or(row.Original, place+1)
			other.Symbol, other.Reason = symbol, fmt.Sprintf("it is of %s, %s: %s", row.Symbol, fmt.Sprintf(how, symbol), row.Reason)
			all = append(all, other)
		}
		asked := 0 // of so many, it is known which are one with them
		for i := 0; i < len(waiting); i++ {
			for _, t := range became[waiting[i]] {
				if !t.Date.Before(row.Date) {
					reach(t.Into, "of which %s came")
				}
			}
			for i == len(waiting)-1 && asked < len(waiting) {
				symbol := waiting[asked]
				asked++
				for _, t := range was[symbol] {
					if !row.Date.After(t.Date.Add(lots.WashDays)) {
						reach(t.Symbol, "which was %s before")
					}
				}
				for _, other := range like[symbol] {
					reach(other, "which is one with %s for wash sales")
				}
			}
		}
	}
	return all
}

// late is how many days after a company's decision a broker may still write its row.
const late = 7

// mayConcern adds, to rows that name an account and a day and no ticker, one for each ticker that the
// account had then: a company that split off another, say, is any of these, and what its shares cost is
// not known. A ticker has the first of such rows alone.
func mayConcern(rows []portfolio.Unread, book *lots.Book, history []portfolio.Transaction) []portfolio.Unread {
	unnamed := map[string][]portfolio.Unread{}
	for i, row := range rows {
		if row.Symbol == "" && row.Account != "" && !row.Date.IsZero() {
			row.Original = i + 1
			unnamed[row.Account] = append(unnamed[row.Account], row)
		}
	}
	if len(unnamed) == 0 {
		return rows
	}
	all := slices.Clone(rows)
	had := heldWhen(book, history)
	for _, account := range slices.Sorted(maps.Keys(unnamed)) {
		list := unnamed[account]
		slices.SortStableFunc(list, func(a, b portfolio.Unread) int { return a.Date.Compare(b.Date) })
		for _, symbol := range slices.Sorted(maps.Keys(had[account])) {
			held := had[account][symbol]
			i := slices.IndexFunc(list, func(row portfolio.Unread) bool { return !row.Date.Before(held.from) })
			if i >= 0 && !list[i].Date.After(held.until) {
				row := list[i]
				row.Symbol, row.Reason = symbol, fmt.Sprintf("it names no ticker, and may be of %s, which the account had: %s", symbol, row.Reason)
				all = append(all, row)
			}
		}
	}
	return all
}

// A span is the days from the first on which an account may have had a symbol to the last.
type span struct{ from, until portfolio.Date }

// heldWhen is when the accounts had their symbols, with the days on which a broker is late. Where the
// book does not say since when, it is from the beginning.
func heldWhen(book *lots.Book, history []portfolio.Transaction) map[string]map[string]span {
	had := map[string]map[string]span{}
	add := func(account, symbol string, from, until portfolio.Date) {
		if had[account] == nil {
			had[account] = map[string]span{}
		}
		s, ok := had[account][symbol]
		if !ok || from.Before(s.from) {
			s.from = from
		}
		if !ok || until.After(s.until) {
			s.until = until
		}
		had[account][symbol] = s
	}
	for _, l := range book.Lots {
		add(l.Account, l.Symbol, l.Acquired, book.AsOf)
	}
	for _, p := range book.Positions {
		if p.Quantity.Cmp(p.InLots) > 0 {
			add(p.Account, p.Symbol, portfolio.Date{}, book.AsOf)
		}
	}
	for _, d := range book.Disposals {
		add(d.Account, d.Symbol, d.Acquired, d.Sold.Add(late))
	}
	for _, u := range book.Untold {
		add(u.Account, u.Symbol, portfolio.Date{}, u.Sold.Add(late))
	}
	for i := range history {
		if t := &history[i]; t.Action == portfolio.TransferOut {
			add(t.Account, t.Symbol, portfolio.Date{}, t.Date.Add(late))
		}
	}
	return had
}

// Unkept says what to do about rows that an import of before only counted.
func Unkept(i store.ImportRow) string {
	return fmt.Sprintf("%s of %s that could not be read are not kept, since an older version of this program read it: `portfolio imports remove %d`, then import the file again",
		countRows(i.Unkept), safetext.Escape(i.Name), i.ID)
}

func countRows(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

// UnreadTickers are the tickers of which some row could not be read.
func (state State) UnreadTickers() map[string]bool {
	tickers := map[string]bool{}
	for _, row := range state.Unread {
		if row.Symbol != "" {
			tickers[row.Symbol] = true
		}
	}
	return tickers
}

// reportUnread says in a report what could not be read, and which years it may concern.
func (state State) reportUnread(data *report.Data) {
	unread := state.UnreadTickers()
	for _, row := range state.Unread {
		data.Unread = append(data.Unread, report.Unread{Date: row.Date, Symbol: row.Symbol, Account: row.Account, Reason: row.Reason, Text: row.Text})
	}
	for i := range data.Gains {
		data.Gains[i].Unread = state.unreadIn(data.Gains[i].Year, unread)
	}
	n := 0
	for _, row := range state.Unread {
		if row.Original == 0 { // a copy is no row more
			n++
		}
	}
	if n > 0 {
		data.Notes = append(data.Notes, fmt.Sprintf("%s could not be read. There is no advice on their tickers before they are settled (portfolio unread).", countRows(n)))
	}
}

// unreadIn are those of the unread tickers that were sold in a year, or may have been: of which a row of
// that year, or of no day, could not be read.
func (state State) unreadIn(year int, unread map[string]bool) (tickers []string) {
	for _, d := range state.Book.Disposals {
		if d.Sold.Year() == year && unread[d.Symbol] {
			tickers = append(tickers, d.Symbol)
		}
	}
	for _, row := range state.Unread {
		if row.Symbol != "" && (row.Date.IsZero() || row.Date.Year() == year) {
			tickers = append(tickers, row.Symbol)
		}
	}
	slices.Sort(tickers)
	return slices.Compact(tickers)
}
