package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// SaveSettings keeps a document in place of the one before. What is in it is the caller's.
func (s *Store) SaveSettings(ctx context.Context, document []byte) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO settings (one, document) VALUES (1, ?)", append([]byte{}, document...))
		return err
	})
}

// Settings is the document that was saved last, or nil.
func (s *Store) Settings(ctx context.Context) (document []byte, err error) {
	err = s.read(ctx, func(rows *sql.Rows) error { return rows.Scan(&document) }, "SELECT document FROM settings")
	return document, err
}

// Check reads the whole file and says what is damaged, if anything is.
func (s *Store) Check(ctx context.Context) error {
	var found []error
	err := s.read(ctx, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		if text != "ok" {
			found = append(found, errors.New(text))
		}
		return err
	}, "PRAGMA integrity_check(10)")
	if err == nil && len(found) > 0 {
		err = s.damaged(errors.Join(found...))
	}
	if err != nil {
		return err
	}
	everyDay := portfolio.NewDate(9999, 12, 31)
	_, transactions := s.Transactions(ctx, everyDay)
	_, holdings := s.Holdings(ctx, everyDay)
	_, imports := s.Imports(ctx)
	_, unread := s.Unread(ctx, everyDay)
	return errors.Join(transactions, holdings, imports, unread, s.checkPrices(ctx))
}

// checkPrices reads all prices.
func (s *Store) checkPrices(ctx context.Context) error {
	reader := newLineReader()
	return s.read(ctx, func(rows *sql.Rows) error {
		var lines string
		if err := rows.Scan(&lines); err != nil {
			return err
		}
		for line := range strings.SplitSeq(lines, "\n") {
			if _, err := reader.bar(line); err != nil {
				return s.damaged(err)
			}
		}
		return nil
	}, "SELECT lines FROM price_years")
}
