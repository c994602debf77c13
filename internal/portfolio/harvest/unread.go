package harvest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// mostOfPart is the coverage in percent that is claimed as long as something is not known.
const mostOfPart = 99.9

// tellUnread says which rows nobody could read, in whatever account: a company's decision is one for
// all of them, and so is a wash sale. Their tickers are withheld.
func (h *harvester) tellUnread(r *Result, rows []portfolio.Unread) {
	r.Unread = reply.NewUnread(rows, h.AsOf, func(portfolio.Unread) bool { return true })
	h.withheld = map[string]bool{}
	for _, ticker := range r.UnreadTickers {
		h.withheld[ticker] = true
	}
}

// capCoverage keeps a coverage from claiming all: each of them beside an unread row, and that by
// positions also if some shares are in no lot, since it is told beside that by value.
func (r *Result) capCoverage() {
	if r.UnreadRowCount > 0 || len(r.UnknownCost) > 0 {
		r.DataCoveragePct = min(r.DataCoveragePct, mostOfPart)
	}
	if r.UnreadRowCount == 0 {
		return
	}
	for _, p := range []*float64{r.Metadata.CoverageByValuePct, r.Metadata.CoverageByQuantityPct} {
		if p != nil {
			*p = min(*p, mostOfPart)
		}
	}
}

// An unreadTold is what a snapshot says of rows that nobody could read.
type unreadTold struct {
	UnreadRowCount int      `json:"unread_row_count,omitempty"`
	UnreadTickers  []string `json:"unread_tickers,omitempty"`
	tickers        int      // that rows name
	unassigned     int
	named          []string
	mayBeOf        []string // withheld, since rows without a ticker may be of them
	accounts       []string // of those that name no ticker
}

func newUnreadTold(u reply.Unread) unreadTold {
	told := unreadTold{UnreadRowCount: u.UnreadRowCount, UnreadTickers: u.UnreadTickers, unassigned: u.Unassigned, mayBeOf: u.MayBeOf}
	for _, ticker := range u.UnreadTickers {
		if _, only := slices.BinarySearch(u.MayBeOf, ticker); !only {
			told.named = append(told.named, ticker)
		}
	}
	told.tickers = len(told.named)
	for _, account := range u.UnassignedAccounts {
		told.accounts = append(told.accounts, cmp.Or(account, "an unnamed account"))
	}
	return told
}

// cappedUnread is what is sent of it. The flag has the number of all.
func (u unreadTold) cappedUnread() unreadTold {
	names := []string{}
	for _, ticker := range u.UnreadTickers[:min(len(u.UnreadTickers), maxNamed)] {
		names = append(names, reply.ShortTicker(ticker))
	}
	u.UnreadTickers = names
	return u
}

// unreadVerdict is what a verdict ends with.
func (u unreadTold) unreadVerdict() (text string) {
	if u.tickers > 0 {
		text = fmt.Sprintf(", unread rows on %s", english.Count(u.tickers, "ticker"))
	}
	if u.unassigned > 0 {
		text += fmt.Sprintf(", %s without a ticker", english.Count(u.unassigned, "unread row"))
	}
	return text
}

// addUnread says of what nothing is advised, and why.
func (f *flags) addUnread(u unreadTold) {
	if n := u.UnreadRowCount - u.unassigned; n > 0 {
		f.add(reply.UnreadFlag, agentformat.Warning, "%s of %s could not be read%s — no advice on %s%s",
			english.Count(n, "row"), english.Count(u.tickers, "ticker"), f.named(u.named), english.Word(u.tickers, "it", "them"), f.how(": "+reply.HowToSettle(n)))
	}
	if n := u.unassigned; n > 0 {
		affected := "any position of the account may be affected"
		if of := len(u.mayBeOf); of > 0 {
			affected = fmt.Sprintf("%s withheld%s%s", english.Count(of, "ticker"), f.why(", since "+english.Word(n, "it", "they")+" may be of "+english.Word(of, "it", "them")), f.named(u.mayBeOf))
		}
		how := "; " + reply.HowToSettle(n)
		if u.tickers > 0 {
			how = "" // as of the others
		}
		f.add(reply.UnassignedFlag, agentformat.Warning, "%s%s %s no ticker — %s%s",
			english.Count(n, "unread row"), f.ofAccounts(u.accounts), english.Word(n, "names", "name"), affected, f.how(how))
	}
}

// ofAccounts writes a few accounts and the number of the others: " of A, B + 2 more".
func (f *flags) ofAccounts(accounts []string) string {
	var names []string
	for _, account := range accounts[:min(len(accounts), f.names)] {
		names = append(names, reply.ShortAccount(account))
	}
	if len(names) == 0 {
		return ""
	}
	return " of" + strings.TrimPrefix(reply.Listed(names, len(accounts)), ":")
}

// A summary has so many of the rows, in so many bytes of JSON each.
const (
	maxSummaryUnread = 5
	maxSummaryReason = 120
)

// shortUnread is what a summary has of it.
func shortUnread(u reply.Unread) reply.Unread {
	rows := []reply.UnreadRow{}
	for _, row := range u.UnreadRows[:min(len(u.UnreadRows), maxSummaryUnread)] {
		row.Reason = jsontext.Shorten(row.Reason, maxSummaryReason)
		rows = append(rows, row)
	}
	u.UnreadRows = rows
	u.UnreadTickers = u.UnreadTickers[:min(len(u.UnreadTickers), maxSummary)]
	u.MayBeOf = u.MayBeOf[:min(len(u.MayBeOf), maxSummary)]
	u.UnassignedAccounts = u.UnassignedAccounts[:min(len(u.UnassignedAccounts), maxSummaryUnread)]
	return u
}

// unread lists the rows.
func (m *markdown) unread(r *Result) {
	if r.UnreadRowCount == 0 {
		return
	}
	m.line("## Rows that were not read")
	m.line("There is no advice on a ticker of which a row was not read: write what the row did in the canonical form, then settle it (`portfolio unread`).")
	for _, row := range r.UnreadRows[:min(len(r.UnreadRows), maxReport)] {
		m.row("- %s: %s", plain(row.Where()), plain(row.Reason))
	}
	if more := max(r.UnreadRowCount, len(r.UnreadRows)) - min(len(r.UnreadRows), maxReport); more > 0 {
		m.row("- %d more: `portfolio unread` lists them.", more)
	}
	m.row("")
}

// roundedDown is a coverage with one decimal: 100 only when all is covered.
func roundedDown(pct float64) float64 {
	const grain = 1e-9 // far below what is left of a decimal fraction in binary
	return agentformat.Round(math.Floor(pct*10+grain)/10, 1)
}
