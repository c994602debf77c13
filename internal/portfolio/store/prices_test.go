package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

func quote(symbol string, date portfolio.Date, close string) price.Quote {
	return price.Quote{Symbol: symbol, Bar: price.Bar{Date: date, Open: number("1"), High: number("3"), Low: number("0.5"), Close: number(close), Adj: number("1.25")}}
}

// A later import replaces what was there of a day, and adds the rest in its place.
func TestImportPrices(t *testing.T) {
	s := openNew(t)
	day := portfolio.NewDate(2024, 12, 30)
	for _, step := range []struct {
		name string
		file []price.Quote
		want Counts
	}{
		{"two", []price.Quote{quote("A", day.Add(1), "2"), quote("B", day, "5"), quote("A", day.Add(2), "3")}, Counts{Added: 3}},
		{"two", []price.Quote{quote("A", day.Add(1), "7"), quote("B", day, "7"), quote("A", day.Add(2), "7")}, Counts{Known: 3}},
		{"more", []price.Quote{quote("A", day.Add(3), "4"), quote("A", day.Add(2), "3.00"), quote("A", day.Add(1), "2.5"), quote("A", day, "1")}, Counts{Added: 2, Known: 1, Changed: 1}},
		{"a day twice", []price.Quote{quote("C", day, "1"), quote("C", day, "1"), quote("C", day, "2")}, Counts{Added: 1, Known: 1, Changed: 1}},
	} {
		if got, err := s.ImportPrices(t.Context(), named(step.name), step.file); err != nil || got != step.want {
			t.Errorf("%s: %+v, %v, want %+v", step.name, got, err, step.want)
		}
	}
	all := []price.Quote{quote("A", day, "1"), quote("A", day.Add(1), "2.5"), quote("A", day.Add(2), "3"), quote("A", day.Add(3), "4"), quote("B", day, "5"), quote("C", day, "2")}
	var bars []price.Bar
	for _, q := range all[:4] {
		bars = append(bars, q.Bar)
	}
	for days := -1; days < 5; days++ {
		got, err := s.Bars(t.Context(), "A", day.Add(days))
		want := bars[:min(days+1, len(bars))]
		if diff := cmp.Diff(want, got, decimals, dates); diff != "" && len(want)+len(got) > 0 || err != nil {
			t.Errorf("up to %s: %v %s", day.Add(days), err, diff)
		}
	}
	var view []string
	err := s.read(t.Context(), func(rows *sql.Rows) error {
		var f [7]string
		err := rows.Scan(&f[0], &f[1], &f[2], &f[3], &f[4], &f[5], &f[6])
		view = append(view, strings.Join(f[:], " "))
		return err
	}, "SELECT symbol, date, open, high, low, close, adj_close FROM prices")
	want := []string{
		"A 2024-12-30 1 3 0.5 1 1.25", "A 2024-12-31 1 3 0.5 2.5 1.25", "A 2025-01-01 1 3 0.5 3 1.25", "A 2025-01-02 1 3 0.5 4 1.25",
		"B 2024-12-30 1 3 0.5 5 1.25", "C 2024-12-30 1 3 0.5 2 1.25",
	}
	if diff := cmp.Diff(want, view); diff != "" || err != nil {
		t.Errorf("the view: %v %s", err, diff)
	}
}

// Closes are what the last of Bars is, on every day and also around the years' ends.
func TestCloses(t *testing.T) {
	s := openNew(t)
	all := slices.DeleteFunc(quotes(5, 800), func(q price.Quote) bool {
		_, month, dom := q.Date.Time().Date()
		switch q.Symbol {
		case "SYM1":
			return dom%5 > 0
		case "SYM2":
			return month == 1
		case "SYM3":
			return q.Date.Year() != 2023
		}
		return false
	})
	if _, err := s.ImportPrices(t.Context(), named("a"), all); err != nil {
		t.Fatal(err)
	}
	for day := range 820 {
		if day > 40 && day%365 > 40 && day%23 > 0 {
			continue // the beginnings of the years, and a few days between
		}
		upTo := portfolio.NewDate(2021, 12, 25+day)
		want := map[string]price.Bar{}
		for _, q := range all {
			if !q.Date.After(upTo) {
				want[q.Symbol] = q.Bar
			}
		}
		got, err := s.Closes(t.Context(), upTo)
		if diff := cmp.Diff(want, got, decimals, dates); diff != "" || err != nil {
			t.Fatalf("up to %s: %v %s", upTo, err, diff)
		}
	}
}

// A file with a price that can't be kept is refused as a whole.
func TestUnfitPrices(t *testing.T) {
	s := openNew(t)
	day := portfolio.NewDate(2024, 1, 2)
	long := quote("A", day, "1")
	long.Adj = number("0.123456789012345678").Mul(number("0.1"))
	for i, bad := range []price.Quote{quote("", day, "1"), quote("A\tB", day, "1"), quote("A\n", day, "1"), quote("A", portfolio.Date{}, "1"), long} {
		_, err := s.ImportPrices(t.Context(), named(fmt.Sprint(i)), []price.Quote{quote("A", day, "1"), bad})
		if err == nil || !strings.Contains(err.Error(), "price 2 of ") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if closes, err := s.Closes(t.Context(), everyDay); len(closes) != 0 || err != nil {
		t.Error(closes, err)
	}
}
