package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/safetext"
)

// maxUnread is how many rows that nobody could read a file may have. One with more is none of a
// broker's, and every answer would have to look at them.
const maxUnread = 50_000

// An UnreadRow is a row that nobody could read, as it is kept.
type UnreadRow struct {
	ID int64
	portfolio.Unread
	Import  int64     // the first that has it
	File    string    // of that import; to be escaped before it is printed
	Settled time.Time // when somebody said that it is dealt with; zero is open
}

// ErrNoUnread is what there is to say of an id that no unread row has.
var ErrNoUnread = errors.New("there is no such unread row")

func checkUnread(file Import, rows []portfolio.Unread) error {
	if len(rows) > maxUnread {
		return fmt.Errorf("more than %d rows of %s could not be read, so it is not taken: look whether it is the right file, or split it", maxUnread, safetext.Escape(file.Name))
	}
	for i, row := range rows {
		for _, text := range [...]string{row.Account, row.Symbol, row.Text, row.Reason} {
			if slices.ContainsFunc([]rune(text), unicode.IsControl) {
				return unfit("unread row", i, file, errors.New("it has characters that can't be printed"))
			}
		}
		if _, err := portfolio.ParseDate(row.Date.String()); err != nil && !row.Date.IsZero() {
			return unfit("unread row", i, file, err)
		}
	}
	return nil
}

// An unreadKey is what an unread row is known by. The n-th in a file is the n-th in the store.
type unreadKey struct{ date, account, symbol, text string }

func unreadDay(day portfolio.Date) string {
	if day.IsZero() {
		return ""
	}
	return day.String()
}

// saveUnread keeps the rows of an import. One that is there already, of another file, stays as it is,
// also if it is settled.
func saveUnread(ctx context.Context, tx *sql.Tx, id int64, rows []portfolio.Unread) error {
	if len(rows) == 0 {
		return nil
	}
	stored := map[unreadKey][]int64{}
	found, err := tx.QueryContext(ctx, "SELECT id, date, account, symbol, text FROM unread_rows ORDER BY id")
	if err != nil {
		return err
	}
	err = eachRow(found, func(found *sql.Rows) error {
		var row int64
		var k unreadKey
		err := found.Scan(&row, &k.date, &k.account, &k.symbol, &k.text)
		stored[k] = append(stored[k], row)
		return err
	})
	if err != nil {
		return err
	}
	for _, row := range rows {
		k := unreadKey{unreadDay(row.Date), row.Account, row.Symbol, row.Text}
		if len(stored[k]) == 0 {
			result, err := tx.ExecContext(ctx, "INSERT INTO unread_rows (date, account, symbol, line, text, reason) VALUES (?, ?, ?, ?, ?, ?)",
				k.date, k.account, k.symbol, row.Line, k.text, row.Reason)
			if err != nil {
				return err
			}
			fresh, err := result.LastInsertId()
			if err != nil {
				return err
			}
			stored[k] = []int64{fresh}
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO unread_sources (unread, import) VALUES (?, ?)", stored[k][0], id); err != nil {
			return err
		}
		stored[k] = stored[k][1:]
	}
	return nil
}

// removeUnread takes out what only this import has.
func removeUnread(ctx context.Context, tx *sql.Tx, id int64) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM unread_sources WHERE import = ?", id); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM unread_rows WHERE id NOT IN (SELECT unread FROM unread_sources)")
	return err
}

// Unread are the rows that nobody could read, up to and on a day or of none, by their ids: those that
// are open, and those that are settled.
func (s *Store) Unread(ctx context.Context, upTo portfolio.Date) ([]UnreadRow, error) {
	var list []UnreadRow
	err := s.read(ctx, func(rows *sql.Rows) error {
		var row UnreadRow
		var date string
		var settled sql.NullString
		err := rows.Scan(&row.ID, &date, &row.Account, &row.Symbol, &row.Line, &row.Text, &row.Reason, &settled, &row.Import, &row.File)
		if err != nil {
			return err
		}
		if date != "" {
			if err := row.Date.UnmarshalText([]byte(date)); err != nil {
				return s.damaged(err)
			}
		}
		if settled.Valid {
			if row.Settled, err = time.Parse(time.RFC3339Nano, settled.String); err != nil {
				return s.damaged(err)
			}
		}
		list = append(list, row)
		return nil
	}, `SELECT row.id, row.date, row.account, row.symbol, row.line, row.text, row.reason, row.settled, imports.id, imports.name
		FROM unread_rows AS row JOIN imports ON imports.id = (SELECT min(import) FROM unread_sources WHERE unread = row.id)
		WHERE row.date <= ? ORDER BY row.id`, upTo.String())
	return list, err
}

// Settle says of unread rows that they are dealt with: all of them or, with an error, none.
func (s *Store) Settle(ctx context.Context, at time.Time, ids ...int64) error {
	return s.mark(ctx, at.UTC().Format(time.RFC3339Nano), ids)
}

// Reopen takes back what Settle said.
func (s *Store) Reopen(ctx context.Context, ids ...int64) error { return s.mark(ctx, nil, ids) }

func (s *Store) mark(ctx context.Context, settled any, ids []int64) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			result, err := tx.ExecContext(ctx, "UPDATE unread_rows SET settled = ? WHERE id = ?", settled, id)
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); err != nil || n == 0 {
				return cmp.Or(err, fmt.Errorf("%d: %w", id, ErrNoUnread))
			}
		}
		return nil
	})
}
