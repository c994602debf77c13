package reply

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// UnreadFlag is the flag of tickers of which some row could not be read, and UnassignedFlag that of
// rows which name no ticker.
const (
	UnreadFlag     = "unread_rows"
	UnassignedFlag = "unread_rows_no_ticker"
)

// How much a result tells of rows that could not be read.
const (
	maxUnreadRows   = 100
	maxUnreadReason = 200 // bytes of JSON
)

// An UnreadRow is a row of a file that nobody could read. What it does not say is empty.
type UnreadRow struct {
	Ticker  string         `json:"ticker,omitempty"`
	Account string         `json:"account,omitempty"`
	Date    portfolio.Date `json:"date,omitzero"`
	Reason  string         `json:"reason"`
}

// Unread is what a result says of rows that nobody could read. What is not known is not advised on.
type Unread struct {
	UnreadRowCount int         `json:"unread_row_count"`
	UnreadRows     []UnreadRow `json:"unread_rows"` // the first, by ticker and day; never nil
	// UnreadTickers are all that some row names or may be of, in order, and MayBeOf those of them that none names:
	// rows without a ticker may be of them, since the account had them then. Neither is nil.
	UnreadTickers []string `json:"unread_tickers"`
	MayBeOf       []string `json:"unread_may_be_of"`
	// Unassigned are how many rows name no ticker, and UnassignedAccounts where they are: any position
	// of these may be affected. An account that is not said either is empty.
	Unassigned         int      `json:"unread_rows_without_ticker"`
	UnassignedAccounts []string `json:"unread_accounts"`
}

// NewUnread says it of the rows up to a day, or of none, that are counted. A row and its copies count as one.
func NewUnread(all []portfolio.Unread, asOf portfolio.Date, counted func(portfolio.Unread) bool) Unread {
	u := Unread{UnreadRows: []UnreadRow{}, UnreadTickers: []string{}, MayBeOf: []string{}, UnassignedAccounts: []string{}}
	unnamed := func(row portfolio.Unread) bool {
		return row.Symbol == "" || row.Original > 0 && all[row.Original-1].Symbol == ""
	}
	var rows []portfolio.Unread
	for i, row := range all {
		if row.Date.After(asOf) || !counted(row) {
			continue
		}
		row.Original = cmp.Or(row.Original, i+1)
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b portfolio.Unread) int {
		if (a.Symbol == "") != (b.Symbol == "") {
			return strings.Compare(b.Symbol, a.Symbol) // those without a ticker are the last
		}
		return cmp.Or(strings.Compare(a.Symbol, b.Symbol), a.Date.Compare(b.Date), strings.Compare(a.Account, b.Account))
	})
	seen, named := map[int]bool{}, map[string]bool{}
	for _, row := range rows {
		known := seen[row.Original]
		seen[row.Original] = true
		if len(u.UnreadRows) < maxUnreadRows && (!known || row.Symbol != "") {
			u.UnreadRows = append(u.UnreadRows, UnreadRow{row.Symbol, row.Account, row.Date, jsontext.Shorten(row.Reason, maxUnreadReason)})
		}
		switch {
		case !unnamed(row):
			named[row.Symbol] = true
		case !known:
			u.Unassigned++
			u.UnassignedAccounts = append(u.UnassignedAccounts, row.Account)
		}
		if row.Symbol != "" {
			u.UnreadTickers = append(u.UnreadTickers, row.Symbol)
		}
	}
	u.UnreadRowCount = len(seen)
	u.UnreadTickers = slices.Compact(u.UnreadTickers)
	for _, ticker := range u.UnreadTickers {
		if !named[ticker] {
			u.MayBeOf = append(u.MayBeOf, ticker)
		}
	}
	slices.Sort(u.UnassignedAccounts)
	u.UnassignedAccounts = slices.Compact(u.UnassignedAccounts)
	return u
}

// HowToSettle says what to do about so many rows.
func HowToSettle(n int) string {
	return english.Word(n, "import what it did as CSV (if anything), then settle it: `portfolio unread`",
		"import what they did as CSV (if anything), then settle them: `portfolio unread`")
}

// HowToPrice says what to do about shares of unknown cost.
const HowToPrice = "get cost and purchase day from the old broker; import TRANSFER_IN with price and note lot:DATE in its place"

// Where says whose row it is: "2024-01-02, X in home", as far as the row says it.
func (row UnreadRow) Where() string {
	where := cmp.Or(row.Ticker, "no ticker")
	if row.Account != "" {
		where += " in " + row.Account
	}
	if !row.Date.IsZero() {
		where = row.Date.String() + ", " + where
	}
	return where
}
