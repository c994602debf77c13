package store

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
)

// Every field comes back as it was, and the view shows the same.
func TestTransactions(t *testing.T) {
	s := openNew(t)
	first := []portfolio.Transaction{
		{Date: portfolio.NewDate(2024, 2, 29), Account: `Müller "joint" \ IRA`, Action: portfolio.Sell, Symbol: "BRK.B", Quantity: number("0.000000000000000001"),
			Price: number("412.3400"), Fees: number("-0.01"), Amount: number("123456789012345678901234567.89"), Note: `lot:2020-01-02, "x" \n 'y' [,] ` + "\u65e5\u672c"},
		bought(40, "VTI", "10"),
		{Date: portfolio.NewDate(2024, 1, 2), Account: "b", Action: portfolio.Dividend, Symbol: "VTI", Amount: number("7.5")},
		{Date: portfolio.NewDate(2024, 5, 1), Time: portfolio.NewClock(0, 0, 0), Account: "b", Action: portfolio.Buy, Symbol: "KO", Quantity: number("1"), Order: `7 "\`},
		{Date: portfolio.NewDate(2024, 5, 1), Account: "b", Action: portfolio.Spinoff, Symbol: "BIG", Ratio: number("0.5"), BasisShare: number("0.125"), Into: "VXUS", IntoPrice: number("3")},
		{Date: portfolio.NewDate(2024, 5, 1), Account: "b", Action: portfolio.TransferIn, Symbol: "KO", Quantity: number("1"), Order: "8", FreeOfCost: true, Note: "x"},
	}
	second := []portfolio.Transaction{bought(1, "VXUS", "3.5"), bought(100, "VTI", "1")}
	for i, file := range [][]portfolio.Transaction{first, second} {
		if got, err := s.ImportTransactions(t.Context(), named(fmt.Sprint(i)), file, nil); err != nil || got != (Counts{Added: len(file)}) {
			t.Fatal(got, err)
		}
	}
	all := slices.Concat(first, second)
	for _, test := range []struct {
		upTo    portfolio.Date
		symbols []string
		want    []portfolio.Transaction
	}{
		{everyDay, nil, all},
		{all[1].Date, nil, []portfolio.Transaction{all[1], all[2], all[6]}},
		{all[1].Date.Add(-1), nil, []portfolio.Transaction{all[2], all[6]}},
		{everyDay, []string{"VTI"}, []portfolio.Transaction{all[1], all[2], all[7]}},
		{everyDay, []string{"VXUS", "BRK.B", "NONE"}, []portfolio.Transaction{all[0], all[4], all[6]}}, // with what leads to one
		{all[1].Date, []string{"VTI"}, []portfolio.Transaction{all[1], all[2]}},
		{portfolio.Date{}, nil, []portfolio.Transaction{}},
	} {
		got, err := s.Transactions(t.Context(), test.upTo, test.symbols...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got, decimals, dates); diff != "" {
			t.Errorf("up to %s, %v: %s", test.upTo, test.symbols, diff)
		}
	}
	var view []portfolio.Transaction
	err := s.read(t.Context(), func(rows *sql.Rows) error {
		var x portfolio.Transaction
		var file int
		var date, quantity, price, fees, amount string
		var more [7]sql.NullString
		err := rows.Scan(&file, &date, &x.Account, &x.Action, &x.Symbol, &quantity, &price, &fees, &amount, &x.Note,
			&more[0], &more[1], &more[2], &more[3], &more[4], &more[5], &more[6])
		for i, said := range more {
			if said.Valid == (said.String == "") {
				t.Errorf("column %d of %s is empty", i, x.Symbol)
			}
		}
		if more[0].Valid {
			x.Time, _ = portfolio.ParseClock(more[0].String)
		}
		x.Order, x.Into, x.FreeOfCost = more[1].String, more[4].String, more[6].String == "1"
		for at, n := range map[int]*portfolio.Decimal{2: &x.Ratio, 3: &x.BasisShare, 5: &x.IntoPrice} {
			if more[at].Valid {
				*n = number(more[at].String)
			}
		}
		x.Quantity, x.Price, x.Fees, x.Amount = number(quantity), number(price), number(fees), number(amount)
		_ = x.Date.UnmarshalText([]byte(date))
		view = append(view, x)
		return err
	}, "SELECT * FROM transactions")
	if diff := cmp.Diff(all, view, decimals, dates); diff != "" || err != nil {
		t.Errorf("the view: %v %s", err, diff)
	}
}

// The n-th of a kind in a file is the n-th in the store. Numbers are the same however they are
// written.
func TestOverlap(t *testing.T) {
	s := openNew(t)
	a, b, c := bought(1, "A", "1"), bought(2, "B", "2"), bought(3, "C", "3")
	same := a
	same.Quantity, same.Price = number("1.000"), number("10.50")
	for _, step := range []struct {
		name string
		file []portfolio.Transaction
		want Counts
	}{
		{"january", []portfolio.Transaction{a, b}, Counts{Added: 2}},
		{"january", []portfolio.Transaction{a, b}, Counts{Known: 2}},
		{"the same in another order", []portfolio.Transaction{b, same}, Counts{Known: 2}},
		{"one twice", []portfolio.Transaction{a, c, a}, Counts{Added: 2, Known: 1}},
		{"once again", []portfolio.Transaction{a, b, c}, Counts{Known: 3}},
		{"twice again", []portfolio.Transaction{a, a, b, b}, Counts{Added: 1, Known: 3}},
		{"empty", nil, Counts{}},
	} {
		if got, err := s.ImportTransactions(t.Context(), named(step.name), step.file, nil); err != nil || got != step.want {
			t.Errorf("%s: %+v, %v, want %+v", step.name, got, err, step.want)
		}
	}
	got, err := s.Transactions(t.Context(), everyDay)
	if diff := cmp.Diff([]portfolio.Transaction{a, b, c, a, b}, got, decimals, dates); diff != "" || err != nil {
		t.Error(err, diff)
	}
	var names []string
	imports, err := s.Imports(t.Context())
	for _, row := range imports {
		names = append(names, fmt.Sprintf("%s %s %d %d", row.Name, row.Kind, row.Added, row.Known))
		if want := named(row.Name); row.Import != want {
			t.Errorf("got %+v, want %+v", row.Import, want)
		}
	}
	want := "january transactions 2 0, the same in another order transactions 0 2, one twice transactions 2 1, once again transactions 0 3, twice again transactions 1 3, empty transactions 0 0"
	if got := strings.Join(names, ", "); got != want || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// What could not be read back is refused, and with it the whole file.
func TestUnfit(t *testing.T) {
	long, late, tab, none := bought(1, "A", "1"), bought(1, "A", "1"), bought(1, "A", "1"), bought(1, "", "1")
	long.Amount = number("0.123456789012345678").Mul(number("0.123456789012345678"))
	late.Date = everyDay.Add(1)
	tab.Note = "a\tb"
	s := openNew(t)
	for _, bad := range []portfolio.Transaction{long, late, tab, none} {
		_, err := s.ImportTransactions(t.Context(), named("bad\x1b.csv"), []portfolio.Transaction{bought(1, "A", "1"), bad}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), `transaction 2 of bad\x1b.csv can't be kept: `) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for _, bad := range []broker.Holding{{Symbol: "A"}, {Account: "a", Symbol: "A\n"}, {Account: "a", Symbol: "A", AsOf: everyDay.Add(1)}} {
		if _, err := s.ImportTransactions(t.Context(), named("bad"), history(1), []broker.Holding{bad}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	if got, err := s.Transactions(t.Context(), everyDay); len(got) != 0 || err != nil {
		t.Error(got, err)
	}
}

// An import that fails at its last statement leaves nothing behind.
func TestAllOrNothing(t *testing.T) {
	s := openNew(t)
	run(t, s, "CREATE TRIGGER full BEFORE INSERT ON holdings BEGIN SELECT RAISE(ABORT, 'no room'); END")
	holdings := []broker.Holding{{Account: "a", Symbol: "X", Quantity: number("1"), AsOf: everyDay}}
	if _, err := s.ImportTransactions(t.Context(), named("a"), history(10), holdings); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Fatal(err)
	}
	run(t, s, "DROP TRIGGER full")
	if got, err := s.ImportTransactions(t.Context(), named("a"), history(10), holdings); err != nil || got != (Counts{Added: 10}) {
		t.Error(got, err)
	}
}

// Each account has its newest snapshot, which is of one file.
func TestHoldings(t *testing.T) {
	s := openNew(t)
	day := portfolio.NewDate(2025, 2, 1)
	holding := func(account, symbol, quantity string, asOf portfolio.Date) broker.Holding {
		return broker.Holding{Account: account, Symbol: symbol, Quantity: number(quantity), AsOf: asOf}
	}
	for i, file := range [][]broker.Holding{
		{holding("a", "X", "10", day), holding("a", "Y", "5", day), holding("b", "X", "1", day.Add(5))},
		{holding("a", "X", "12", day.Add(10)), holding("a", "X", "0.5", day.Add(10))},
		{holding("b", "Z", "-2", day.Add(5))},
		{holding("c", "X", "7", portfolio.Date{})},
	} {
		if _, err := s.ImportTransactions(t.Context(), named(fmt.Sprint(i)), nil, file); err != nil {
			t.Fatal(err)
		}
	}
	imported := portfolio.DateOf(named("").At)
	for _, test := range []struct {
		upTo portfolio.Date
		want []broker.Holding
	}{
		{day.Add(-1), nil},
		{day.Add(9), []broker.Holding{holding("a", "X", "10", day), holding("a", "Y", "5", day), holding("b", "Z", "-2", day.Add(5))}},
		{everyDay, []broker.Holding{holding("a", "X", "12.5", day.Add(10)), holding("b", "Z", "-2", day.Add(5)), holding("c", "X", "7", imported)}},
	} {
		got, err := s.Holdings(t.Context(), test.upTo)
		if diff := cmp.Diff(test.want, got, decimals, dates); diff != "" || err != nil {
			t.Errorf("up to %s: %v %s", test.upTo, err, diff)
		}
	}
}

var histories = flag.Int("histories", 0, "how many histories TestImportingAgainChangesNothing tries; 10000 for the full measure, and 0 for the usual number")

// Whatever files come, overlapping, again and in any order, the store has each transaction as
// often as the file that has it most often, and the counts say what was added.
func TestImportingAgainChangesNothing(t *testing.T) {
	s, ctx := openNew(t), context.Background() // which nothing has to watch
	s.db.SetMaxOpenConns(1)
	run(t, s, "PRAGMA synchronous = OFF")
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	tried := someHistories
	if *histories > 0 {
		tried = *histories
	}
	if testing.Short() {
		tried /= 5 // and rapid tries one in five of them
	}
	if err := checks.Value.Set(fmt.Sprint(tried)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Value.Set(before) }()

	pool := []portfolio.Transaction{bought(1, "A", "1"), bought(1, "A", "2"), bought(2, "A", "1"), bought(1, "B", "1")}
	rapid.Check(t, func(rt *rapid.T) {
		run(t, s, "DELETE FROM transaction_batches; DELETE FROM imports")
		files := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, len(pool)-1), 0, 5), 1, 3).Draw(rt, "files")
		order := rapid.SliceOfN(rapid.IntRange(0, len(files)-1), 1, 4).Draw(rt, "order")
		var most [4]int
		for i, n := range order {
			var has [4]int
			var file []portfolio.Transaction
			for _, which := range files[n] {
				has[which]++
				file = append(file, pool[which])
			}
			added := 0
			for which := range has {
				added += max(0, has[which]-most[which])
				most[which] = max(has[which], most[which])
			}
			name := fmt.Sprint(n) // the same content again
			if rapid.Bool().Draw(rt, "another content") {
				name = fmt.Sprint("import ", i)
			}
			want := Counts{Added: added, Known: len(file) - added}
			if got, err := s.ImportTransactions(ctx, named(name), file, nil); err != nil || got != want {
				rt.Fatalf("import %d of file %v: %+v, %v, want %+v", i, file, got, err, want)
			}
		}
		all, err := s.Transactions(ctx, everyDay)
		var got [4]int
		for _, x := range all {
			got[slices.IndexFunc(pool, func(y portfolio.Transaction) bool { return cmp.Equal(x, y, decimals, dates) })]++
		}
		if got != most || err != nil {
			rt.Fatalf("%v are there, %v, want %v", got, err, most)
		}
	})
}

// What an import added can be taken back, and what later files had of it too comes with them again.
func TestRemoveImport(t *testing.T) {
	s := openNew(t)
	one, two := bought(1, "VTI", "10"), bought(2, "VTI", "20")
	read := func(name string, rows ...portfolio.Transaction) Counts {
		t.Helper()
		counts, err := s.ImportTransactions(t.Context(), named(name), rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		return counts
	}
	read("first", one)
	read("second", one, two)
	read("third", two)
	imports, err := s.Imports(t.Context())
	if err != nil || len(imports) != 3 {
		t.Fatal(imports, err)
	}
	if err := s.RemoveImport(t.Context(), imports[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := read("second", one, two); got != (Counts{Added: 1, Known: 1}) {
		t.Error(got)
	}
	all, err := s.Transactions(t.Context(), everyDay)
	if err != nil || len(all) != 2 {
		t.Error(all, err)
	}
	if err := s.RemoveImport(t.Context(), imports[0].ID); !errors.Is(err, ErrNoImport) {
		t.Error(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Imports(t.Context()); err != nil {
		t.Error(err)
	}
}
