package exitsignal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

func notRead(account, ticker string) portfolio.Unread {
	return portfolio.Unread{Date: dayOf("2024-02-01"), Account: account, Symbol: ticker, Reason: "a merger; write it as MERGER"}
}

// Of a ticker with an unread row the rules' verdict is told, and no order. Rows of others, and of days
// to come, change nothing; one that names no ticker is told if its account holds this one.
func TestUnreadRowGivesNoOrders(t *testing.T) {
	later := notRead("main", "SLV")
	later.Date = dayOf("2024-06-01")
	for _, c := range []struct {
		name  string
		rows  []portfolio.Unread
		sells bool
		flags string
	}{
		{"none", nil, true, "exit_signal trade_recommended"},
		{"of the ticker", []portfolio.Unread{notRead("main", "SLV")}, false, "exit_signal unread_rows"},
		{"of the ticker in an account that has none", []portfolio.Unread{notRead("ira", "SLV")}, false, "exit_signal unread_rows"},
		{"of another ticker, and of a day to come", []portfolio.Unread{notRead("main", "GLD"), later}, true, "exit_signal trade_recommended"},
		{"of no ticker", []portfolio.Unread{notRead("main", ""), notRead("", "")}, true, "exit_signal unread_rows_no_ticker trade_recommended"},
		{"of no ticker in another account", []portfolio.Unread{notRead("ira", "")}, true, "exit_signal trade_recommended"},
	} {
		in := input("50", trade("2023-01-10 main BUY SLV 100 60"))
		in.Unread = c.rows
		r := Check(in)
		s := r.Snapshot()
		if r.Assessment != exitrule.Exit || r.TradeEligible != c.sells || (len(r.RecommendedActions) > 0) != c.sells || (r.Sizing != nil) != c.sells || (r.Tax != nil) != c.sells {
			t.Errorf("%s: %+v", c.name, r)
		}
		if s.TradeEligible != c.sells || (s.SellQuantity > 0) != c.sells || strings.Contains(s.Verdict, "sell ") != c.sells || strings.Contains(s.Verdict, "no orders: rows of it were not read") == c.sells {
			t.Errorf("%s: %+v", c.name, s)
		}
		if got := strings.Join(flagNames(r), " "); got != c.flags {
			t.Errorf("%s: %s", c.name, got)
		}
		if told := len(r.ActionLines()) + len(r.TaxLines()); (told > 0) != c.sells {
			t.Errorf("%s: %v %v", c.name, r.ActionLines(), r.TaxLines())
		}
	}
	in := input("50", trade("2023-01-10 main BUY SLV 100 60"))
	in.Unread = []portfolio.Unread{notRead("main", "SLV")}
	for _, format := range []string{reply.FormatSummary, reply.FormatFull} {
		data, err := json.Marshal(Reply(Check(in), Params{Format: format}, agentformat.File{}).Body)
		if err != nil || !strings.Contains(string(data), `"unread_row_count":1`) || !strings.Contains(string(data), "not read: 2024-02-01, SLV in main: a merger; write it as MERGER") {
			t.Errorf("%s: %v, %s", format, err, data)
		}
	}
}

// A snapshot tells no sale of a ticker with an unread row, whatever the result has.
func TestUnreadSnapshotSellsNothing(t *testing.T) {
	r := Check(input("50", trade("2023-01-10 main BUY SLV 100 60")))
	r.Unread = reply.NewUnread([]portfolio.Unread{notRead("main", "SLV")}, r.AsOf, func(portfolio.Unread) bool { return true })
	s := r.Snapshot()
	if !r.TradeEligible || s.TradeEligible || len(s.RecommendedActions) > 0 || s.SellQuantity != 0 || s.Tax != nil || s.UnreadRowCount != 1 || strings.Contains(s.Verdict, "sell ") {
		t.Errorf("%+v", s)
	}
}

// However many rows there are, and whatever they say, an agent's reply stays small.
func TestUnreadReplyIsBounded(t *testing.T) {
	hostile := strings.Repeat("&", 32)
	in := input("50", trade("2023-01-10 main BUY SLV 100 60"))
	in.Ticker, in.History[0].Symbol = hostile, hostile
	for range 5000 {
		row := notRead("main", hostile)
		row.Reason = strings.Repeat("\x1b<&\u202e\"\\é", 500)
		none := row
		none.Symbol = ""
		in.Unread = append(in.Unread, row, none)
	}
	r := Check(in)
	file := agentformat.File{Path: "/" + strings.Repeat("d", 149)}
	data, err := json.Marshal(Reply(r, Params{Format: reply.FormatAgent}, file).Body)
	if err != nil || len(data) > 2048 || r.Snapshot().UnreadRowCount != 5000 || !strings.Contains(string(data), `"unread_rows_no_ticker"`) {
		t.Errorf("%v, %d bytes: %s", err, len(data), data)
	}
	if len(r.UnreadRows) != 100 || len(r.Notes) > 20 {
		t.Errorf("%d rows, %d notes", len(r.UnreadRows), len(r.Notes))
	}
}

// A row without a ticker that may be of this one withholds orders as one of it does, and counts once.
func TestUnreadRowThatMayBeOfIt(t *testing.T) {
	in := input("50", trade("2023-01-10 main BUY SLV 100 60"))
	copied := notRead("main", "SLV")
	copied.Original = 1
	in.Unread = []portfolio.Unread{notRead("main", ""), copied}
	r := Check(in)
	s := r.Snapshot()
	if r.UnreadRowCount != 1 || s.UnreadRowCount != 1 || s.TradeEligible || !strings.HasSuffix(s.Verdict, "no orders: a row without a ticker may be of it") {
		t.Errorf("%+v, %+v", r.Unread, s)
	}
	if got := strings.Join(flagNames(r), " "); got != "exit_signal unread_rows" {
		t.Error(got)
	}
	if got, want := told(t, r, reply.UnreadFlag), "warning: 1 row without a ticker, that may be of it, could not be read — no orders: import what it did as CSV (if anything), then settle it: `portfolio unread`"; got != want {
		t.Error(got)
	}
}
