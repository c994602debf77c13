package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// symbolYear is what one row of SQLite has the prices of.
type symbolYear struct {
	symbol string
	year   int
}

// ImportPrices adds a file's prices: all of them or, with an error, none. Where there is a price
// of the same day, the later import is right: prices are adjusted again after every dividend.
func (s *Store) ImportPrices(ctx context.Context, file Import, quotes []price.Quote) (Counts, error) {
	years, err := priceLines(ctx, file, quotes)
	if err != nil {
		return Counts{}, err
	}
	var counts Counts
	err = s.write(ctx, func(tx *sql.Tx) error {
		if done, err := imported(ctx, tx, Prices, file.Hash); done || err != nil {
			counts = Counts{Known: len(quotes)}
			return err
		}
		if counts, err = mergeYears(ctx, tx, years); err != nil {
			return err
		}
		_, err := record(ctx, tx, Prices, file, counts)
		return err
	})
	if err != nil {
		return Counts{}, err
	}
	return counts, nil
}

// priceLines are the quotes as the store keeps them.
func priceLines(ctx context.Context, file Import, quotes []price.Quote) (map[symbolYear][]string, error) {
	years := map[symbolYear][]string{}
	var w lineWriter
	for i, q := range quotes {
		if i%batchLines == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !storable(q.Symbol) {
			return nil, unfit("price", i, file, errors.New("it has no symbol that can be printed"))
		}
		w.text = w.text[:0]
		if err := w.bar(q.Bar); err != nil {
			return nil, unfit("price", i, file, err)
		}
		key := symbolYear{q.Symbol, q.Date.Year()}
		years[key] = append(years[key], string(w.text))
	}
	return years, nil
}

// mergeYears puts lines to those that are there.
func mergeYears(ctx context.Context, tx *sql.Tx, years map[symbolYear][]string) (counts Counts, err error) {
	find, err := tx.PrepareContext(ctx, "SELECT lines FROM price_years WHERE symbol = ? AND year = ?")
	if err != nil {
		return counts, err
	}
	defer func() { _ = find.Close() }() // it ends with the transaction at the latest
	put, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO price_years (symbol, year, first, lines) VALUES (?, ?, ?, ?)")
	if err != nil {
		return counts, err
	}
	defer func() { _ = put.Close() }()
	keys := slices.SortedFunc(maps.Keys(years), func(a, b symbolYear) int {
		return cmp.Or(strings.Compare(a.symbol, b.symbol), a.year-b.year)
	})
	for _, key := range keys {
		var stored string
		if err := find.QueryRowContext(ctx, key.symbol, key.year).Scan(&stored); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return counts, err
		}
		lines, c := mergeDays(stored, years[key])
		counts.Added += c.Added
		counts.Known += c.Known
		counts.Changed += c.Changed
		if c.Added+c.Changed == 0 {
			continue
		}
		if _, err := put.ExecContext(ctx, key.symbol, key.year, day(lines[0]), strings.Join(lines, "\n")); err != nil {
			return counts, err
		}
	}
	return counts, nil
}

// mergeDays puts lines to stored ones; there is one of a day, and the later is right. They come
// out by day.
func mergeDays(stored string, lines []string) (merged []string, counts Counts) {
	days := make(map[string]string, len(lines))
	if stored != "" {
		for line := range strings.SplitSeq(stored, "\n") {
			days[day(line)] = line
		}
	}
	for _, line := range lines {
		old, known := days[day(line)]
		switch {
		case !known:
			counts.Added++
		case old == line:
			counts.Known++
		default:
			counts.Changed++
		}
		days[day(line)] = line
	}
	return slices.Sorted(maps.Values(days)), counts
}

// Bars are a symbol's prices up to and on a day, by day.
func (s *Store) Bars(ctx context.Context, symbol string, upTo portfolio.Date) ([]price.Bar, error) {
	var bars []price.Bar
	reader := newLineReader()
	err := s.read(ctx, func(rows *sql.Rows) error {
		var lines string
		if err := rows.Scan(&lines); err != nil {
			return err
		}
		for line := range strings.SplitSeq(lines, "\n") {
			bar, err := reader.bar(line)
			if err != nil {
				return s.damaged(err)
			}
			if bar.Date.After(upTo) {
				break
			}
			bars = append(bars, bar)
		}
		return nil
	}, "SELECT lines FROM price_years WHERE symbol = ? AND first <= ? ORDER BY year", symbol, upTo.String())
	return bars, err
}

// Closes are the last bars of all symbols up to and on a day. A symbol without one is not there.
func (s *Store) Closes(ctx context.Context, upTo portfolio.Date) (map[string]price.Bar, error) {
	closes := map[string]price.Bar{}
	reader, last := newLineReader(), upTo.String()
	err := s.read(ctx, func(rows *sql.Rows) error {
		var symbol, lines string
		if err := rows.Scan(&symbol, &lines); err != nil {
			return err
		}
		bar, err := reader.bar(lastLine(lines, last))
		if err != nil {
			return s.damaged(err)
		}
		closes[symbol] = bar
		return nil
	}, `SELECT symbol, lines FROM price_years JOIN
		(SELECT symbol, max(year) AS year FROM price_years WHERE first <= ? GROUP BY symbol) USING (symbol, year)`, last)
	return closes, err
}

// lastLine is the last of lines up to a day, of which there is one.
func lastLine(lines, upTo string) string {
	begin := func(i int) int { return strings.LastIndexByte(lines[:i], '\n') + 1 }
	end := sort.Search(len(lines), func(i int) bool { return day(lines[begin(i):]) > upTo })
	if end == 0 {
		return lines // damaged: there is no such line
	}
	if end < len(lines) {
		end-- // the newline between
	}
	return lines[begin(end):end]
}
