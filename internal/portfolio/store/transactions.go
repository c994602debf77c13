package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
)

// batchLines is how many transactions are in one row of SQLite.
const batchLines = 1000

// ImportTransactions adds what a file has and the store has not: all of it or, with an error,
// nothing. The counts are of transactions. Holdings are what the broker says an account has on
// a day; they take the place of what was said of that day before. The rows that nobody could read
// are kept besides.
func (s *Store) ImportTransactions(ctx context.Context, file Import, transactions []portfolio.Transaction, holdings []broker.Holding, unread ...portfolio.Unread) (Counts, error) {
	lines, err := transactionLines(ctx, file, transactions)
	if err != nil {
		return Counts{}, err
	}
	if err := checkUnread(file, unread); err != nil {
		return Counts{}, err
	}
	quantities, err := snapshots(file, holdings)
	if err != nil {
		return Counts{}, err
	}
	var counts Counts
	err = s.write(ctx, func(tx *sql.Tx) error {
		if done, err := imported(ctx, tx, Transactions, file.Hash); done || err != nil {
			counts = Counts{Known: len(lines)}
			return err
		}
		fresh, err := unknown(ctx, tx, lines)
		if err != nil {
			return err
		}
		counts = Counts{Added: len(fresh), Known: len(lines) - len(fresh)}
		id, err := record(ctx, tx, Transactions, file, counts)
		if err != nil {
			return err
		}
		if err := addBatches(ctx, tx, id, fresh); err != nil {
			return err
		}
		if err := saveUnread(ctx, tx, id, unread); err != nil {
			return err
		}
		return saveHoldings(ctx, tx, quantities)
	})
	if err != nil {
		return Counts{}, err
	}
	return counts, nil
}

// transactionLines are the transactions as the store keeps them.
func transactionLines(ctx context.Context, file Import, transactions []portfolio.Transaction) ([]string, error) {
	const usualLine = 80
	w := lineWriter{text: make([]byte, 0, usualLine*len(transactions))}
	ends := make([]int, 0, len(transactions))
	for i, t := range transactions {
		if i%batchLines == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := w.transaction(t); err != nil {
			return nil, unfit("transaction", i, file, err)
		}
		ends = append(ends, len(w.text))
	}
	text, begin := string(w.text), 0
	lines := make([]string, len(ends))
	for i, end := range ends {
		lines[i], begin = text[begin:end], end
	}
	return lines, nil
}

// unknown are the lines that the store does not have, or not as often, in their order.
func unknown(ctx context.Context, tx *sql.Tx, lines []string) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT lines FROM transaction_batches")
	if err != nil {
		return nil, err
	}
	var stored map[string]int
	err = eachRow(rows, func(rows *sql.Rows) error {
		var batch string
		if err := rows.Scan(&batch); err != nil {
			return err
		}
		if stored == nil {
			stored = make(map[string]int, len(lines))
			for _, line := range lines {
				stored[key(line)] = 0
			}
		}
		for line := range strings.SplitSeq(batch, "\n") {
			known := key(line)
			if n, ok := stored[known]; ok {
				stored[known] = n + 1
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if stored == nil { // there is nothing yet
		return lines, nil
	}
	fresh := make([]string, 0, len(lines))
	for _, line := range lines {
		known := key(line)
		if n := stored[known]; n > 0 {
			stored[known] = n - 1
			continue
		}
		fresh = append(fresh, line)
	}
	return fresh, nil
}

// addBatches adds lines to the end.
func addBatches(ctx context.Context, tx *sql.Tx, id int64, lines []string) error {
	insert, err := tx.PrepareContext(ctx, "INSERT INTO transaction_batches (import, lines) VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }() // it ends with the transaction at the latest
	for batch := range slices.Chunk(lines, batchLines) {
		if _, err := insert.ExecContext(ctx, id, strings.Join(batch, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// Transactions are those up to and on a day, in the order in which they were imported: all, or
// those of some symbols and those that lead to one of them.
func (s *Store) Transactions(ctx context.Context, upTo portfolio.Date, symbols ...string) ([]portfolio.Transaction, error) {
	var batches []string
	lines := 0
	err := s.read(ctx, func(rows *sql.Rows) error {
		var batch string
		err := rows.Scan(&batch)
		batches = append(batches, batch)
		lines += strings.Count(batch, "\n") + 1
		return err
	}, "SELECT lines FROM transaction_batches ORDER BY id")
	if err != nil {
		return nil, err
	}
	if len(symbols) > 0 {
		lines = 0 // nobody knows how many
	}
	transactions := make([]portfolio.Transaction, 0, lines)
	reader := newLineReader()
	for _, batch := range batches {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for line := range strings.SplitSeq(batch, "\n") {
			if len(symbols) > 0 && !slices.Contains(symbols, field(line, 3)) && !slices.Contains(symbols, into(line)) {
				continue
			}
			t, err := reader.transaction(line)
			if err != nil {
				return nil, s.damaged(err)
			}
			if !t.Date.After(upTo) {
				transactions = append(transactions, t)
			}
		}
	}
	return transactions, nil
}
