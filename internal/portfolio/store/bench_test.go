package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// history is n transactions of ten years, eight accounts and 500 symbols, the same every time.
func history(n int) []portfolio.Transaction {
	random := rand.New(rand.NewPCG(1, 1))
	transactions := make([]portfolio.Transaction, n)
	for i := range transactions {
		transactions[i] = portfolio.Transaction{
			Date:     portfolio.NewDate(2015, 1, 1+i*3650/n),
			Account:  fmt.Sprintf("account-%d", random.IntN(8)),
			Action:   portfolio.Buy,
			Symbol:   fmt.Sprintf("SYM%d", random.IntN(500)),
			Quantity: portfolio.NewDecimal(1+random.Int64N(100_000), -2),
			Price:    portfolio.NewDecimal(random.Int64N(10_000_000), -4),
			Fees:     portfolio.NewDecimal(random.Int64N(100), -2),
			Amount:   portfolio.NewDecimal(random.Int64N(10_000_000), -2),
		}
	}
	return transactions
}

// quotes are so many days of so many symbols.
func quotes(symbols, days int) []price.Quote {
	random := rand.New(rand.NewPCG(1, 1))
	var quotes []price.Quote
	for symbol := range symbols {
		for n := range days {
			number := func() portfolio.Decimal { return portfolio.NewDecimal(1+random.Int64N(10_000_000), -4) }
			quotes = append(quotes, price.Quote{Symbol: fmt.Sprintf("SYM%d", symbol), Bar: price.Bar{
				Date: portfolio.NewDate(2022, 1, 1+n), Open: number(), High: number(), Low: number(), Close: number(), Adj: number(),
			}})
		}
	}
	return quotes
}

// named is an import whose hash is of its name.
func named(name string) Import {
	return Import{Name: name, Format: "canonical CSV", Hash: sha256.Sum256([]byte(name)), At: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func openNew(tb testing.TB) *Store {
	tb.Helper()
	s, err := Open(context.Background(), filepath.Join(tb.TempDir(), "portfolio.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

var everyDay = portfolio.NewDate(9999, 12, 31)

const many = 100_000

// BenchmarkImport100k is an import into a new file, with its opening and closing.
func BenchmarkImport100k(b *testing.B) {
	transactions, dir, n := history(many), b.TempDir(), 0
	for b.Loop() {
		n++
		s, err := Open(b.Context(), filepath.Join(dir, fmt.Sprint(n)))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.ImportTransactions(b.Context(), named("a"), transactions, nil); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareLoop100k is what Import100k is compared with: a table with a column for each
// field, and a statement for each row.
func BenchmarkBareLoop100k(b *testing.B) {
	transactions, dir, n := history(many), b.TempDir(), 0
	for b.Loop() {
		n++
		s, err := Open(b.Context(), filepath.Join(dir, fmt.Sprint(n)))
		if err != nil {
			b.Fatal(err)
		}
		if err := bareLoop(b.Context(), s, transactions); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func bareLoop(ctx context.Context, s *Store, transactions []portfolio.Transaction) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if _, err := tx.ExecContext(ctx, `CREATE TABLE plain (id INTEGER PRIMARY KEY, date TEXT, account TEXT, action TEXT, symbol TEXT,
		quantity TEXT, price TEXT, fees TEXT, amount TEXT, note TEXT) STRICT`); err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO plain (date, account, action, symbol, quantity, price, fees, amount, note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	for _, t := range transactions {
		if _, err := insert.ExecContext(ctx, t.Date.String(), t.Account, string(t.Action), t.Symbol,
			t.Quantity.String(), t.Price.String(), t.Fees.String(), t.Amount.String(), t.Note); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// BenchmarkOverlap100k imports what is all known, from a file with another content.
func BenchmarkOverlap100k(b *testing.B) {
	s, transactions, n := openNew(b), history(many), 0
	if _, err := s.ImportTransactions(b.Context(), named("first"), transactions, nil); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n++
		if counts, err := s.ImportTransactions(b.Context(), named(fmt.Sprint(n)), transactions, nil); err != nil || counts.Added > 0 {
			b.Fatal(counts, err)
		}
	}
}

func BenchmarkTransactions100k(b *testing.B) {
	s := openNew(b)
	if _, err := s.ImportTransactions(b.Context(), named("a"), history(many), nil); err != nil {
		b.Fatal(err)
	}
	for _, symbols := range [][]string{nil, {"SYM7"}} {
		b.Run(fmt.Sprintf("symbols=%d", len(symbols)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Transactions(b.Context(), everyDay, symbols...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPrices is 500 symbols of 750 days.
func BenchmarkPrices(b *testing.B) {
	all := quotes(500, 750)
	b.Run("import", func(b *testing.B) {
		dir, n := b.TempDir(), 0
		for b.Loop() {
			n++
			s, err := Open(b.Context(), filepath.Join(dir, fmt.Sprint(n)))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.ImportPrices(b.Context(), named("a"), all); err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	s := openNew(b)
	if _, err := s.ImportPrices(b.Context(), named("a"), all); err != nil {
		b.Fatal(err)
	}
	for _, upTo := range []portfolio.Date{everyDay, portfolio.NewDate(2023, 1, 1)} {
		b.Run("closes="+upTo.String(), func(b *testing.B) {
			for b.Loop() {
				if closes, err := s.Closes(b.Context(), upTo); err != nil || len(closes) != 500 {
					b.Fatal(len(closes), err)
				}
			}
		})
	}
	b.Run("bars", func(b *testing.B) {
		for b.Loop() {
			if bars, err := s.Bars(b.Context(), "SYM7", everyDay); err != nil || len(bars) != 750 {
				b.Fatal(len(bars), err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "portfolio.db")
	for b.Loop() {
		s, err := Open(b.Context(), path)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
