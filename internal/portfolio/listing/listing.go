// Package listing is the tools list_positions and list_gains: what is held, and what was realised. The
// command line and the MCP server show the same rows.
package listing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/report"
)

// Params are the parameters of both tools. Empty ones have their defaults: all accounts, all symbols,
// today, the year of that day, summary, inline.
type Params struct {
	AccountID string
	Symbol    string
	Year      int // of list_gains
	AsOf      portfolio.Date
	Format    string
	Output    string
}

// Check says what of the parameters that every reply depends on is wrong.
func (p Params) Check() error {
	return reply.Check(p.Format, p.Output, reply.FormatSummary, reply.FormatFull, reply.FormatAgent)
}

// Input is all that both tools look at.
type Input struct {
	AsOf      portfolio.Date
	AccountID string // empty is all
	Symbol    string // empty is all; as it is spelled in the book
	Year      int    // of sales; 0 is all
	Accounts  []portfolio.Account
	Book      *lots.Book
	Positions []report.Position
	Unread    []portfolio.Unread // up to AsOf
}

// whole is the input with the account whose id was cut in a reply.
func (in Input) whole() Input {
	var ids []string
	for _, a := range in.Accounts {
		ids = append(ids, a.ID)
	}
	in.AccountID = reply.WholeAccount(in.AccountID, ids)
	return in
}

// Check says what of the input is wrong.
func (in Input) Check() error {
	if in.AccountID == "" {
		return nil
	}
	var ids []string
	for _, a := range in.Accounts {
		if a.ID == in.AccountID {
			return nil
		}
		ids = append(ids, a.ID)
	}
	return fmt.Errorf("there is no account %.40q; the accounts are %s", in.AccountID, reply.Quoted(ids))
}

// wanted tells whether a row is asked for.
func (in Input) wanted(account, symbol string) bool {
	return (in.AccountID == "" || in.AccountID == account) && (in.Symbol == "" || in.Symbol == symbol)
}

// unreadTickers are the symbols with a row that nobody could read, and how many rows name none.
func (in Input) unreadTickers() (tickers map[string]bool, unassigned int) {
	tickers = map[string]bool{}
	for _, u := range in.Unread {
		switch {
		case u.Symbol != "":
			tickers[u.Symbol] = true
		case in.AccountID == "" || u.Account == "" || u.Account == in.AccountID:
			unassigned++
		}
	}
	return tickers, unassigned
}

// doubts are what both tools do not know.
type doubts struct {
	Unread     []string `json:"unread_tickers"`             // that are asked for and of which some row of a file could not be read; never nil
	Unassigned int      `json:"unread_rows_without_ticker"` // rows that name none
	problems   int
}

// doubts also has symbols that no row is of: what could not be read may be the row that is missing.
func (in Input) doubts() doubts {
	unread, unassigned := in.unreadTickers()
	d := doubts{Unread: []string{}, Unassigned: unassigned}
	for _, symbol := range slices.Sorted(maps.Keys(unread)) {
		if in.Symbol == "" || in.Symbol == symbol {
			d.Unread = append(d.Unread, symbol)
		}
	}
	for _, p := range in.Book.Problems {
		if in.wanted(p.Account, p.Symbol) {
			d.problems++
		}
	}
	return d
}

// short is what a summary has of them. Its flag has the number of all.
func (d doubts) short() doubts {
	d.Unread = d.Unread[:min(len(d.Unread), maxSummary)]
	return d
}

// flags are the flags of a snapshot.
type flags struct{ list []agentformat.Flag }

func (f *flags) add(name string, severity agentformat.Severity, format string, args ...any) {
	f.list = append(f.list, agentformat.Flag{Name: name, Severity: severity, Message: fmt.Sprintf(format, args...)})
}

// addDoubts says what is not known.
func (f *flags) addDoubts(d doubts) {
	if n := len(d.Unread); n > 0 {
		f.add(reply.UnreadFlag, agentformat.Warning, "Some rows of %s could not be read%s — what is listed of them may be wrong, or lacks something: %s", english.Count(n, "ticker"), named(d.Unread), reply.HowToSettle(2))
	}
	if n := d.Unassigned; n > 0 {
		f.add(reply.UnassignedFlag, agentformat.Warning, "%s that could not be read name%s no ticker — any position may be affected", english.Count(n, "row"), map[bool]string{true: "s"}[n == 1])
	}
	if n := d.problems; n > 0 {
		f.add("history_problems", agentformat.Warning, "%s not explained by the history — lots may be wrong", english.Count(n, "transaction"))
	}
}

const maxNamed = 3 // in a message

// named writes a few tickers and the number of the others after a colon.
func named(tickers []string) string {
	var names []string
	for _, ticker := range tickers[:min(len(tickers), maxNamed)] {
		names = append(names, reply.ShortTicker(ticker))
	}
	return reply.Listed(names, len(tickers))
}

// A reply to an agent is at most so long, and so much of it is kept for a path and for what is
// around the snapshot.
const (
	maxReply  = 3 << 10
	replyRest = 300
	maxRows   = 15
	maxError  = 300
)

// shrunk is a snapshot with as many rows as fit: with takes the number of rows.
func shrunk[S interface{ Flags() []agentformat.Flag }](s S, rows int, with func(s S, n int) S) S {
	room := maxReply - replyRest - jsontext.Length(s.Flags())
	for n := min(rows, maxRows); ; n-- {
		if sent := with(s, n); n == 0 || jsontext.Length(sent) <= room {
			return sent
		}
	}
}

// number is an amount as a snapshot has it.
func number(d portfolio.Decimal) float64 { return reply.Short(agentformat.Number(d), 2) }

func quantity(d portfolio.Decimal) float64 { return reply.Short(agentformat.Number(d), 6) }

func failure(what string, err string) string {
	return what + " failed: " + jsontext.Shorten(cmp.Or(err, "unknown error"), maxError)
}
