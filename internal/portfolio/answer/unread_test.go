package answer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitsignal"
	"github.com/signalbox-dev/signalbox/internal/portfolio/harvest"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
)

// What a row says is taken as far as it can be a day, an account and a ticker. The account is that of
// the call where the row names none.
func TestSkippedRow(t *testing.T) {
	day := portfolio.NewDate(2024, 5, 4)
	for _, c := range []struct {
		row  broker.Skipped
		want Skipped
	}{
		{broker.Skipped{Line: 3, Text: "t", Reason: "r", Known: true, Date: day, Account: "mine", Symbol: "brk/b"}, Skipped{Line: 3, Text: "t", Reason: "r", Known: true, Date: day, Account: "mine", Symbol: "BRK.B"}},
		{broker.Skipped{}, Skipped{Account: "said"}},
		{broker.Skipped{Account: "a\x1b", Symbol: "AAPL 240119C", Date: portfolio.NewDate(12024, 1, 1)}, Skipped{}},
		{broker.Skipped{Account: strings.Repeat("a", 65), Symbol: strings.Repeat("A", 33)}, Skipped{}},
	} {
		if diff := cmp.Diff(c.want, skippedRow(c.row, "said"), days); diff != "" {
			t.Errorf("%+v: %s", c.row, diff)
		}
	}
	hostile := Skipped{Text: strings.Repeat("&", 5000), Reason: strings.Repeat("<", 5000)}
	rows := unreadRows([]Skipped{{Known: true}, hostile})
	if len(rows) != 1 || len(rows[0].Text) > maxUnreadText || len(rows[0].Reason) > maxUnreadReason {
		t.Errorf("%+v", rows)
	}
}

// keep puts a row of SLV into the store.
func keep(t *testing.T, s *Service, row portfolio.Unread) {
	t.Helper()
	if _, err := s.Store.ImportTransactions(t.Context(), store.Import{Name: "u", Hash: [32]byte{9}, Unread: 1}, nil, nil, row); err != nil {
		t.Fatal(err)
	}
}

// What an import could not read is in every answer, until it is settled, and again once it is open
// again. On a day before the row it is not there yet.
func TestUnreadUntilSettled(t *testing.T) {
	s := service(t)
	row := portfolio.Unread{Date: s.AsOf.Add(-10), Account: "home", Symbol: "SLV", Line: 2, Text: "row", Reason: "why"}
	keep(t, s, row)
	check := func(when string, asOf portfolio.Date, want bool) {
		t.Helper()
		state, err := s.Load(t.Context(), asOf)
		if err != nil || len(state.Unread) > 0 != want || state.UnreadTickers()["SLV"] != want {
			t.Errorf("%s: %+v, %v", when, state.Unread, err)
		}
		exit, _ := s.Exit(t.Context(), exitsignal.Params{Ticker: "slv", AsOf: asOf})
		losses, _ := s.Harvest(t.Context(), harvest.Params{AsOf: asOf})
		if (exit.UnreadRowCount > 0) != want || (losses.UnreadRowCount > 0) != want || want && len(losses.Candidates) > 0 {
			t.Errorf("%s: exit %+v, harvest %+v", when, exit.Unread, losses.Unread)
		}
	}
	check("open", portfolio.Date{}, true)
	check("on a day before", s.AsOf.Add(-11), false)
	if err := s.Store.Settle(t.Context(), s.Now(), 1); err != nil {
		t.Fatal(err)
	}
	check("settled", portfolio.Date{}, false)
	if err := s.Store.Reopen(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	check("open again", portfolio.Date{}, true)
	r := s.SuggestTaxLossHarvest(t.Context(), harvest.Params{Format: reply.FormatAgent})
	if got := body(t, r)["snapshot"].(map[string]any); got["unread_row_count"] != 1.0 || got["candidate_count"] != 0.0 || got["data_coverage_pct"] != 0.0 {
		t.Errorf("%v", got)
	}
}

// An import keeps what it could not read, once.
func TestImportKeepsUnreadRows(t *testing.T) {
	s := service(t)
	for _, name := range []string{"a.csv", "b.csv"} {
		got, err := s.ImportTransactions(t.Context(), name, strings.NewReader(transactionRows+"2024-03-04,,BUY,"+strings.ToUpper(name[:1])+",1,1,,\n"), "A")
		if err != nil || got.Unread() != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	rows, err := s.Store.Unread(t.Context(), s.AsOf)
	if err != nil || len(rows) != 1 || rows[0].Account != "A" || rows[0].Line != 3 || rows[0].File != "a.csv" || !strings.Contains(rows[0].Text, "2024-01-33") || rows[0].Reason == "" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// Of rows that an older version only counted, the answer says so, and what to do.
func TestUnreadThatWasNotKept(t *testing.T) {
	s := service(t)
	if _, err := s.Store.ImportTransactions(t.Context(), store.Import{Name: "old\x1b.csv", Hash: [32]byte{9}, Unread: 2}, nil, nil); err != nil {
		t.Fatal(err)
	}
	state, err := s.Load(t.Context(), portfolio.Date{})
	const want = "2 rows of old\\x1b.csv that could not be read are not kept, since an older version of this program read it: `portfolio imports remove 3`, then import the file again"
	if err != nil || len(state.Unread) != 1 || state.Unread[0].Reason != want {
		t.Errorf("%+v, %v", state.Unread, err)
	}
	losses := state.Harvest(harvest.Params{})
	if losses.Unassigned != 1 || len(losses.Candidates) != 1 || losses.DataCoveragePct != 99.9 {
		t.Errorf("%+v", losses)
	}
}

// What is not known of a symbol is not known of what became of it later, and known of what left it
// before the row.
func TestUnreadSpreads(t *testing.T) {
	s := service(t)
	day := s.AsOf.Add(-100)
	decided := func(action portfolio.Action, date portfolio.Date, symbol, into string) portfolio.Transaction {
		row := portfolio.Transaction{Date: date, Account: "home", Action: action, Symbol: symbol, Into: into}
		if action == portfolio.Spinoff {
			row.Ratio, row.BasisShare = portfolio.NewDecimal(1, 0), portfolio.NewDecimal(5, -1)
		}
		return row
	}
	history := []portfolio.Transaction{
		decided(portfolio.Rename, day.Add(20), "NEW", "NEWER"), decided(portfolio.Rename, day, "SLV", "NEW"),
		decided(portfolio.Spinoff, day.Add(-2), "SLV", "EARLY"), decided(portfolio.Rename, day.Add(30), "NEWER", "SLV"), decided(portfolio.Rename, day, "ELSE", "OTHER"),
	}
	if _, err := s.Store.ImportTransactions(t.Context(), store.Import{Name: "h", Hash: [32]byte{8}}, history, nil); err != nil {
		t.Fatal(err)
	}
	keep(t, s, portfolio.Unread{Date: day.Add(-1), Account: "home", Symbol: "SLV", Text: "row", Reason: "why"})
	state, err := s.Load(t.Context(), portfolio.Date{})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, row := range state.Unread {
		told = append(told, row.Symbol+": "+row.Reason)
	}
	want := []string{"SLV: why", "NEW: it is of SLV, of which NEW came: why", "NEWER: it is of SLV, of which NEWER came: why"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if r := s.CheckExitSignals(t.Context(), exitsignal.Params{Ticker: "NEWER", Format: reply.FormatFull}); !strings.Contains(fmt.Sprint(body(t, r)), "of which NEWER came") {
		t.Errorf("%v", body(t, r))
	}
}

// A row of an account and a day that names no ticker is of each ticker that the account had then, or had
// sold or given away shortly before. Of what it bought later, of other accounts and of other days it is
// not. A row that says less withholds nothing.
func TestUnreadWithoutTicker(t *testing.T) {
	s := service(t)
	day := s.AsOf.Add(-100)
	row := func(after int, account string, action portfolio.Action, symbol string) portfolio.Transaction {
		ten := portfolio.NewDecimal(10, 0)
		return portfolio.Transaction{Date: day.Add(after), Account: account, Action: action, Symbol: symbol, Quantity: ten, Price: ten}
	}
	bare := row(-50, "home", portfolio.TransferIn, "BARE")
	bare.Price = portfolio.Decimal{}
	sold := row(-50, "home", portfolio.TransferIn, "UNTOLD")
	sold.Price = portfolio.Decimal{}
	renamed := portfolio.Transaction{Date: day.Add(9), Account: "home", Action: portfolio.Rename, Symbol: "GONE", Into: "WENT"}
	history := []portfolio.Transaction{
		row(-50, "home", portfolio.Buy, "HELD"), row(0, "home", portfolio.Buy, "TODAY"), row(1, "home", portfolio.Buy, "LATER"),
		row(-50, "home", portfolio.Buy, "LATE"), row(-7, "home", portfolio.Sell, "LATE"),
		row(-50, "home", portfolio.Buy, "PAST"), row(-8, "home", portfolio.Sell, "PAST"),
		row(-50, "home", portfolio.Buy, "SOLD"), row(5, "home", portfolio.Sell, "SOLD"),
		row(-50, "home", portfolio.Buy, "GONE"), row(5, "home", portfolio.TransferOut, "GONE"), row(6, "away", portfolio.TransferIn, "GONE"), renamed,
		row(-50, "away", portfolio.Buy, "AWAY"), bare, sold, row(5, "home", portfolio.Sell, "UNTOLD"),
	}
	if _, err := s.Store.ImportTransactions(t.Context(), store.Import{Name: "h", Hash: [32]byte{8}}, history, nil); err != nil {
		t.Fatal(err)
	}
	rows := []portfolio.Unread{
		{Date: day, Account: "home", Text: "spin-off", Reason: "why"}, {Date: day.Add(2), Account: "home", Text: "another", Reason: "why"},
		{Account: "away", Text: "no day"}, {Date: day, Text: "no account"},
	}
	if _, err := s.Store.ImportTransactions(t.Context(), store.Import{Name: "u", Hash: [32]byte{9}, Unread: len(rows)}, nil, nil, rows...); err != nil {
		t.Fatal(err)
	}
	state, err := s.Load(t.Context(), portfolio.Date{})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, row := range state.Unread {
		if row.Symbol != "" {
			of[row.Symbol] += row.Text
		}
	}
	want := map[string]string{}
	for _, symbol := range []string{"SLV", "HELD", "TODAY", "LATE", "SOLD", "GONE", "WENT", "BARE", "UNTOLD"} {
		want[symbol] = "spin-off"
	}
	want["LATER"] = "another"
	if diff := cmp.Diff(want, of); diff != "" {
		t.Error(diff)
	}
	losses, _ := s.Harvest(t.Context(), harvest.Params{})
	if losses.UnreadRowCount != len(rows) || losses.Unassigned != len(rows) || len(losses.MayBeOf) != len(want) {
		t.Errorf("%d rows, %d without a ticker, of %v", losses.UnreadRowCount, losses.Unassigned, losses.MayBeOf)
	}
	for ticker, told := range map[string]bool{"SLV": true, "AWAY": false} {
		exit, _ := s.Exit(t.Context(), exitsignal.Params{Ticker: ticker})
		if got := slices.Contains(exit.UnreadTickers, ticker); got != told {
			t.Errorf("%s: %+v", ticker, exit.Unread)
		}
	}
}

// What is not known of a symbol is not known of those that are one with it for the wash-sale rule.
func TestUnreadOfTwins(t *testing.T) {
	day := portfolio.NewDate(2026, 5, 4)
	history := []portfolio.Transaction{
		{Date: day, Action: portfolio.Rename, Symbol: "OLD", Into: "NEW"},
		{Date: day.Add(50), Action: portfolio.Spinoff, Symbol: "LIKE", Into: "PART"},
	}
	row := func(after int, symbol string) portfolio.Unread {
		return portfolio.Unread{Date: day.Add(after), Account: "a", Symbol: symbol, Reason: "why"}
	}
	for _, c := range []struct {
		row       portfolio.Unread
		identical [][]string
		want      []string
	}{
		{row(30, "NEW"), nil, []string{"NEW: why", "OLD: it is of NEW, which was OLD before: why"}},
		{row(31, "NEW"), nil, []string{"NEW: why"}},
		{row(-5, "NEW"), nil, []string{"NEW: why", "OLD: it is of NEW, which was OLD before: why"}},
		{row(31, "A"), [][]string{{"A", "NEW"}, {"B", "OLD"}}, []string{"A: why", "NEW: it is of A, which is one with NEW for wash sales: why"}},
		{row(40, "B"), [][]string{{"B", "LIKE"}}, []string{"B: why", "LIKE: it is of B, which is one with LIKE for wash sales: why", "PART: it is of B, of which PART came: why"}},
		{row(0, ""), [][]string{{"B", "LIKE"}}, []string{": why"}},
	} {
		var got []string
		for _, row := range spread([]portfolio.Unread{c.row}, history, c.identical) {
			got = append(got, row.Symbol+": "+row.Reason)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.row, diff)
		}
	}
}

// Many rows of many names that follow one another make as many rows more as there are names, at most.
func TestSpreadIsBounded(t *testing.T) {
	const names = 2000
	day := portfolio.NewDate(2026, 1, 2)
	var history []portfolio.Transaction
	var rows []portfolio.Unread
	for i := range names {
		name := fmt.Sprintf("N%d", i)
		history = append(history, portfolio.Transaction{Date: day.Add(i), Action: portfolio.Rename, Symbol: name, Into: fmt.Sprintf("N%d", i+1)})
		rows = append(rows, portfolio.Unread{Date: day, Symbol: name}, portfolio.Unread{Date: day.Add(1), Symbol: "N0"})
	}
	all := spread(rows, history, nil)
	if got, most := len(all)-len(rows), names; got > most || got == 0 {
		t.Errorf("%d rows become %d more, want 1 to %d", len(rows), got, most)
	}
}
