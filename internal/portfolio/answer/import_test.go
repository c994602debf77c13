package answer

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
)

var days = cmp.Comparer(func(a, b portfolio.Date) bool { return a == b })

const transactionRows = `date,account,action,symbol,quantity,price,fees,note
2024-01-02,,BUY,Y,10,1,,
2024-01-33,,BUY,Y,10,1,,
`

// A file that was imported adds nothing again, but the same file for another account does. An import
// counts the rows that could not be read.
func TestImportTransactions(t *testing.T) {
	s := service(t)
	for i, c := range []struct {
		account      string
		added, known int
	}{{"A", 1, 0}, {"A", 0, 1}, {"B", 1, 0}} {
		got, err := s.ImportTransactions(t.Context(), "dir/rows.csv", strings.NewReader(transactionRows), c.account)
		if err != nil || got.File != "dir/rows.csv" || got.Format != "canonical CSV" || got.Added != c.added || got.Known != c.known || got.Unread() != 1 {
			t.Errorf("import %d: %+v, %v", i, got, err)
		}
	}
	imports, err := s.Store.Imports(t.Context())
	if err != nil || len(imports) != 4 { // with the two of the portfolio
		t.Fatalf("%+v, %v", imports, err)
	}
	if last := imports[3]; last.Name != "rows.csv" || last.Unread != 1 || last.Added != 1 {
		t.Errorf("the last import: %+v", last)
	}
}

// Rows that are understood and have no effect are told, and nobody has to look at them.
func TestImportSkips(t *testing.T) {
	s := service(t)
	file, err := os.ReadFile("../broker/testdata/schwab.csv")
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.ImportTransactions(t.Context(), "schwab.csv", strings.NewReader(string(file)), "A")
	known := 0
	for _, row := range got.Skipped {
		if row.Known {
			known++
		}
	}
	if err != nil || got.Added == 0 || known == 0 || got.Unread() == 0 || got.Unread()+known != len(got.Skipped) {
		t.Errorf("%d known, %d unread: %+v, %v", known, got.Unread(), got, err)
	}
}

// A broker's lots are held against those that the file's own transactions make.
func TestImportComparesLots(t *testing.T) {
	s := service(t)
	flex := func(cost string) string {
		return `<FlexQueryResponse queryName="q" type="AF"><FlexStatements count="1">
<FlexStatement accountId="U1" fromDate="20260101" toDate="20261112"><Trades>
<Trade accountId="U1" currency="USD" assetCategory="STK" symbol="KO" tradeDate="20260302" quantity="10" tradePrice="60" netCash="-600" buySell="BUY" openCloseIndicator="O" levelOfDetail="EXECUTION" />
</Trades><OpenPositions>
<OpenPosition accountId="U1" currency="USD" assetCategory="STK" symbol="KO" reportDate="20261112" position="10" costBasisMoney="` + cost + `" openDateTime="20260302;101500" levelOfDetail="LOT" />
</OpenPositions></FlexStatement></FlexStatements></FlexQueryResponse>`
	}
	for cost, differ := range map[string]int{"600": 0, "700": 1} {
		got, err := s.ImportTransactions(t.Context(), "flex.xml", strings.NewReader(flex(cost)), "")
		if err != nil || len(got.LotsDiffer) != differ {
			t.Errorf("a cost of %s: %+v, %v", cost, got, err)
		}
	}
}

// What can't be read keeps nothing, and its lists are lists.
func TestImportRefuses(t *testing.T) {
	s := service(t)
	want := Imported{File: "odd.bin", Skipped: []Skipped{}}
	got, err := s.ImportTransactions(t.Context(), "odd.bin", strings.NewReader("a,b\n1,2\n"), "")
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, broker.ErrUnknownFormat) {
		t.Errorf("transactions: %v\n%s", err, diff)
	}
	got, err = s.ImportPrices(t.Context(), "odd.bin", strings.NewReader(""), "")
	if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, price.ErrEmpty) {
		t.Errorf("prices: %v\n%s", err, diff)
	}
	if imports, err := s.Store.Imports(t.Context()); err != nil || len(imports) != 2 {
		t.Errorf("%+v, %v", imports, err)
	}
}

// A file that names no symbol is of the one that is given, else of its own name. The same file is
// another one for another symbol, and a price that changed is replaced.
func TestImportPrices(t *testing.T) {
	s := service(t)
	const head, day = "Date,Open,High,Low,Close,Adj Close,Volume\n", "2026-11-10,9,9,9,9,9,100\n"
	for i, c := range []struct {
		symbol, rows          string
		format                string
		added, known, changed int
	}{
		{"", head + day, "yahoo of GLD", 1, 0, 0},
		{"", head + day, "yahoo of GLD", 0, 1, 0},
		{"KO", head + day, "yahoo of KO", 1, 0, 0},
		{"", head + strings.ReplaceAll(day, "9,", "8,"), "yahoo of GLD", 0, 0, 1},
	} {
		got, err := s.ImportPrices(t.Context(), "dir/gld.csv", strings.NewReader(c.rows), c.symbol)
		want := Imported{File: "dir/gld.csv", Format: c.format, Added: c.added, Known: c.known, Changed: c.changed, Skipped: []Skipped{}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("import %d: %v\n%s", i, err, diff)
		}
	}
	got, err := s.ImportPrices(t.Context(), "gld.csv", strings.NewReader(head+day+"2026-11-11,\x1b[31m,9,9,9,9,1\n"), "")
	if err != nil || got.Unread() != 1 || strings.Contains(got.Skipped[0].Text, "\x1b") {
		t.Errorf("a row that is none: %+v, %v", got, err)
	}
	imports, err := s.Store.Imports(t.Context())
	if err != nil || len(imports) != 6 { // with the two of the portfolio
		t.Fatalf("%+v, %v", imports, err)
	}
	if last := imports[5]; last.Name != "gld.csv" || last.Unread != 1 {
		t.Errorf("the last import: %+v", last)
	}
}

// Rows of a download that can't be used are told beside those that can.
func TestImportFetched(t *testing.T) {
	s := service(t)
	nine := portfolio.NewDecimal(9, 0)
	bar := price.Bar{Date: portfolio.NewDate(2026, 11, 10), Open: nine, High: nine, Low: nine, Close: nine, Adj: nine}
	file := price.File{Quotes: []price.Quote{{Symbol: "KO", Bar: bar}}, Skipped: []price.Skipped{{Line: 2, Text: "{}", Reason: "there is no date"}}, More: 3}
	got, err := s.ImportFetched(t.Context(), "KO", portfolio.NewDate(2026, 1, 1), file)
	want := Imported{File: "KO", Format: "fetched", Added: 1, Skipped: []Skipped{
		{Line: 2, Text: "{}", Reason: "there is no date"}, {Reason: "3 more rows could not be read"},
	}}
	if diff := cmp.Diff(want, got, days); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// A file takes the place of the one before as a whole, but one without accounts not of one that has some.
func TestImportAccounts(t *testing.T) {
	s := service(t)
	for _, c := range []struct{ file, ids, problem string }{
		{"filing: joint", "home", ""},
		{"accounts: [{id: a, kind: ira, owner: me}]", "a, home", ""},
		{"filing: single", "", "dir/it\\x1b.yaml describes no account, and would take the place of 1 account: it has to have them all"},
		{"accounts: [{id: home, kind: taxable, owner: me}, {id: b, kind: ira, owner: me}]", "home, b", ""},
		{"", "", "dir/it\\x1b.yaml describes no account, and would take the place of 2 accounts: it has to have them all"},
	} {
		before, err := s.Store.Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		file, err := settings.Read(strings.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		accounts, err := s.ImportAccounts(t.Context(), "dir/it\x1b.yaml", file)
		var ids []string
		for _, a := range accounts {
			ids = append(ids, a.ID)
		}
		problem, want := "", c.file
		if err != nil {
			problem, want = err.Error(), string(before)
		}
		if got := strings.Join(ids, ", "); got != c.ids || problem != c.problem {
			t.Errorf("%q: %q, %q", c.file, got, problem)
		}
		if saved, err := s.Store.Settings(t.Context()); err != nil || string(saved) != want {
			t.Errorf("%q: %q is kept, %v", c.file, saved, err)
		}
	}
}
