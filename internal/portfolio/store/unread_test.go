package store

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

func unreadRow(day int, account, symbol, text string) portfolio.Unread {
	row := portfolio.Unread{Account: account, Symbol: symbol, Line: day + 1, Text: text, Reason: "a merger; write it as MERGER"}
	if day > 0 {
		row.Date = portfolio.NewDate(2024, 1, day)
	}
	return row
}

func countUnread(name string, rows ...portfolio.Unread) Import {
	file := named(name)
	file.Unread = len(rows)
	return file
}

func keepUnread(t *testing.T, s *Store, name string, rows ...portfolio.Unread) {
	t.Helper()
	if _, err := s.ImportTransactions(t.Context(), countUnread(name, rows...), nil, nil, rows...); err != nil {
		t.Fatal(err)
	}
}

// unreadTexts are the ids and texts up to a day; those that are settled have a mark.
func unreadTexts(t *testing.T, s *Store, upTo portfolio.Date) string {
	t.Helper()
	rows, err := s.Unread(t.Context(), upTo)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, row := range rows {
		said := fmt.Sprintf("%d %s", row.ID, row.Text)
		if !row.Settled.IsZero() {
			said += " settled"
		}
		list = append(list, said)
	}
	return strings.Join(list, ", ")
}

// A row comes back as it was, with its file. The same row of an overlapping file is there once, and
// two that say the same in one file are two.
func TestUnreadRows(t *testing.T) {
	s := openNew(t)
	a, b, none := unreadRow(5, "home", "X", "row a"), unreadRow(9, "", "", "row b"), unreadRow(0, "home", "", `row "c" \ é`)
	keepUnread(t, s, "first", a, b)
	keepUnread(t, s, "overlap", b, a, a, none)
	keepUnread(t, s, "again", a, a)
	other := a
	other.Account = "ira"
	keepUnread(t, s, "another account", other)
	for upTo, want := range map[portfolio.Date]string{
		everyDay:                        `1 row a, 2 row b, 3 row a, 4 row "c" \ é, 5 row a`,
		portfolio.NewDate(2024, 1, 8):   `1 row a, 3 row a, 4 row "c" \ é, 5 row a`,
		portfolio.NewDate(2023, 12, 31): `4 row "c" \ é`,
	} {
		if got := unreadTexts(t, s, upTo); got != want {
			t.Errorf("up to %s: %s, want %s", upTo, got, want)
		}
	}
	rows, err := s.Unread(t.Context(), everyDay)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(UnreadRow{ID: 2, Unread: b, Import: 1, File: "first"}, rows[1], dates); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(UnreadRow{ID: 4, Unread: none, Import: 2, File: "overlap"}, rows[3], dates); diff != "" {
		t.Error(diff)
	}
	imports, err := s.Imports(t.Context())
	for _, row := range imports {
		if row.Unkept != 0 || row.Unread == 0 {
			t.Errorf("%+v", row)
		}
	}
	if err != nil || s.Check(t.Context()) != nil {
		t.Error(err)
	}
}

// What is settled stays so when the row comes again, until it is opened again. An id that there is
// not changes nothing.
func TestSettleUnread(t *testing.T) {
	s := openNew(t)
	a, b := unreadRow(5, "home", "X", "a"), unreadRow(6, "home", "Y", "b")
	keepUnread(t, s, "first", a, b)
	at := time.Date(2026, 11, 13, 9, 8, 7, 6, time.FixedZone("", 3600))
	if err := s.Settle(t.Context(), at, 1, 7); !errors.Is(err, ErrNoUnread) || !strings.HasPrefix(err.Error(), "7: ") {
		t.Error(err)
	}
	if got := unreadTexts(t, s, everyDay); got != "1 a, 2 b" {
		t.Error(got)
	}
	if err := s.Settle(t.Context(), at, 1); err != nil {
		t.Fatal(err)
	}
	keepUnread(t, s, "second", a)
	if got := unreadTexts(t, s, everyDay); got != "1 a settled, 2 b" {
		t.Error(got)
	}
	if rows, err := s.Unread(t.Context(), everyDay); err != nil || !rows[0].Settled.Equal(at) {
		t.Error(rows, err)
	}
	if err := s.Reopen(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := unreadTexts(t, s, everyDay); got != "1 a, 2 b" {
		t.Error(got)
	}
	if err := s.Reopen(t.Context(), 9); !errors.Is(err, ErrNoUnread) {
		t.Error(err)
	}
}

// A row goes with the last import that has it, and its id is not given to another.
func TestRemoveImportTakesUnreadRows(t *testing.T) {
	s := openNew(t)
	a, b, c := unreadRow(5, "home", "X", "a"), unreadRow(6, "home", "Y", "b"), unreadRow(7, "home", "Z", "c")
	keepUnread(t, s, "first", a, b)
	keepUnread(t, s, "second", b, c)
	if err := s.Settle(t.Context(), named("").At, 2); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		id   int64
		want string
	}{{1, "2 b settled, 3 c"}, {2, ""}} {
		if err := s.RemoveImport(t.Context(), step.id); err != nil {
			t.Fatal(err)
		}
		if got := unreadTexts(t, s, everyDay); got != step.want {
			t.Errorf("after import %d: %q, want %q", step.id, got, step.want)
		}
	}
	keepUnread(t, s, "first", a)
	if got := unreadTexts(t, s, everyDay); got != "4 a" {
		t.Error(got)
	}
}

// What could not be shown again is refused, and with it the whole file.
func TestUnfitUnread(t *testing.T) {
	s := openNew(t)
	good, late := unreadRow(5, "home", "X", "a"), unreadRow(5, "home", "X", "a")
	late.Date = everyDay.Add(1)
	for _, bad := range []portfolio.Unread{late, unreadRow(5, "a\tb", "X", "a"), unreadRow(5, "home", "X", "\x1b[2J")} {
		if _, err := s.ImportTransactions(t.Context(), named("bad"), history(1), nil, good, bad); err == nil || !strings.HasPrefix(err.Error(), "unread row 2 of bad can't be kept: ") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := s.ImportTransactions(t.Context(), named("many"), history(1), nil, make([]portfolio.Unread, maxUnread+1)...); err == nil || !strings.Contains(err.Error(), "look whether it is the right file") {
		t.Error(err)
	}
	if all, err := s.Transactions(t.Context(), everyDay); len(all) != 0 || err != nil {
		t.Error(all, err)
	}
}

// A file that the first schema made is brought to the present one: what was there is the same, a file
// that overlaps with it is known again though it says more of each row now, and what an import only
// counted is told.
func TestMigrateFromFirstSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	const lines = "2024-01-02\thome\tBUY\tX\t10\t10.5\t0\t0\t\n2024-01-02\thome\tBUY\tX\t10\t10.5\t0\t0\t\n2024-03-04\thome\tTRANSFER_IN\tY\t5\t0\t0\t0\ta note"
	for _, query := range []string{
		migrations()[0],
		fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 1", applicationID),
		"INSERT INTO imports VALUES (1, 'transactions', 'old.csv', 'canonical CSV', '" + strings.Repeat("ab", 32) + "', '2024-05-06T07:08:09Z', 3, 0, 0, 2)",
		"INSERT INTO imports VALUES (2, 'prices', 'p.csv', 'canonical', '" + strings.Repeat("cd", 32) + "', '2024-05-06T07:08:09Z', 3, 0, 0, 4)",
		"INSERT INTO transaction_batches VALUES (1, 1, '" + lines + "')",
		"INSERT INTO holdings VALUES ('home', '2024-05-06', 'X', '20')",
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(query, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := reopen(t, path)
	buy := portfolio.Transaction{Date: portfolio.NewDate(2024, 1, 2), Account: "home", Action: portfolio.Buy, Symbol: "X", Quantity: number("10"), Price: number("10.5")}
	in := portfolio.Transaction{Date: portfolio.NewDate(2024, 3, 4), Account: "home", Action: portfolio.TransferIn, Symbol: "Y", Quantity: number("5"), Note: "a note"}
	want := []portfolio.Transaction{buy, buy, in}
	got, err := s.Transactions(t.Context(), everyDay)
	if diff := cmp.Diff(want, got, decimals, dates); diff != "" || err != nil {
		t.Fatal(err, diff)
	}
	imports, err := s.Imports(t.Context())
	if err != nil || len(imports) != 2 || imports[0].Unkept != 2 || imports[1].Unkept != 0 {
		t.Errorf("%+v, %v", imports, err)
	}
	timed, ordered, free := buy, buy, in
	timed.Time, ordered.Order, free.FreeOfCost = portfolio.NewClock(10, 15, 0), "7", true
	counts, err := s.ImportTransactions(t.Context(), named("now"), []portfolio.Transaction{timed, ordered, free, timed}, nil)
	if err != nil || counts != (Counts{Added: 1, Known: 3}) {
		t.Errorf("%+v, %v", counts, err)
	}
	got, err = s.Transactions(t.Context(), everyDay)
	if diff := cmp.Diff(append(want, timed), got, decimals, dates); diff != "" || err != nil {
		t.Error(err, diff)
	}
	keepUnread(t, s, "unread", unreadRow(3, "home", "X", "a"))
	if holdings, err := s.Holdings(t.Context(), everyDay); err != nil || len(holdings) != 1 || unreadTexts(t, s, everyDay) != "1 a" || s.Check(t.Context()) != nil {
		t.Error(holdings, err)
	}
	reopen(t, path)
}

// A row is known by its nine fields, and by the symbol that it leads to: two companies that are spun
// off on one day are two rows.
func TestKeyOfTransactions(t *testing.T) {
	s := openNew(t)
	spin := func(into, ratio string) portfolio.Transaction {
		return portfolio.Transaction{Date: portfolio.NewDate(2024, 4, 2), Account: "home", Action: portfolio.Spinoff, Symbol: "GE", Into: into, Ratio: number(ratio), BasisShare: number("0.2")}
	}
	for _, step := range []struct {
		name string
		file []portfolio.Transaction
		want Counts
	}{
		{"one", []portfolio.Transaction{spin("GEV", "0.25")}, Counts{Added: 1}},
		{"both", []portfolio.Transaction{spin("GEHC", "0.3333"), spin("GEV", "0.25")}, Counts{Added: 1, Known: 1}},
		{"another ratio", []portfolio.Transaction{spin("GEV", "0.26")}, Counts{Known: 1}},
	} {
		if got, err := s.ImportTransactions(t.Context(), named(step.name), step.file, nil); err != nil || got != step.want {
			t.Errorf("%s: %+v, %v, want %+v", step.name, got, err, step.want)
		}
	}
	all, err := s.Transactions(t.Context(), everyDay)
	if err != nil || len(all) != 2 || all[0].Into != "GEV" || all[1].Into != "GEHC" {
		t.Errorf("%+v, %v", all, err)
	}
	for _, line := range []string{"a\tb", strings.Repeat("\t", 6), strings.Repeat("\t", 16), "2024-01-02\ta\tBUY\tX\t1\t1\t0\t0\t\tnoon", "2024-01-02\ta\tBUY\tX\t1\t1\t0\t0\t\t\t\tmany"} {
		if got, err := newLineReader().transaction(line); err == nil {
			t.Errorf("%q was read as %+v", line, got)
		}
	}
}
