package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/safetext"
)

// An Import is a file that was read.
type Import struct {
	Name   string // without its directory; as it is, so to be escaped before it is printed
	Format string
	// Hash is of the content. Where a reader is told something that the content does not say,
	// such as an account, the hash is of that too: the same hash is not imported again.
	Hash [32]byte
	At   time.Time
	// Unread is how many rows of the file could not be read.
	Unread int
}

// Counts are what an import did.
type Counts struct {
	Added   int
	Known   int // there already, and the same
	Changed int // there already with other numbers, and replaced; of prices alone
}

// A Kind is what an import was of.
type Kind string

// The kinds of imports.
const (
	Transactions Kind = "transactions"
	Prices       Kind = "prices"
)

// An ImportRow is an import that was done.
type ImportRow struct {
	ID int64
	Import
	Counts
	Kind Kind
	// Unkept is how many of its unread rows are not kept: a version of before counted them only.
	Unkept int
}

// Imports are all imports, in their order. The same content is there once.
func (s *Store) Imports(ctx context.Context) ([]ImportRow, error) {
	var imports []ImportRow
	err := s.read(ctx, func(rows *sql.Rows) error {
		var row ImportRow
		var hash, at string
		err := rows.Scan(&row.ID, &row.Kind, &row.Name, &row.Format, &hash, &at, &row.Added, &row.Known, &row.Changed, &row.Unread, &row.Unkept)
		if err != nil {
			return err
		}
		if n, err := hex.Decode(row.Hash[:], []byte(hash)); err != nil || n != len(row.Hash) {
			return s.damaged(fmt.Errorf("%.80q is no hash", hash))
		}
		if row.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return s.damaged(err)
		}
		imports = append(imports, row)
		return nil
	}, `SELECT id, kind, name, format, hash, at, added, known, changed, unread, CASE kind WHEN 'transactions'
		THEN max(0, unread - (SELECT count(*) FROM unread_sources WHERE import = imports.id)) ELSE 0 END FROM imports ORDER BY id`)
	return imports, err
}

// What there is to say of an import that can't be removed.
var (
	ErrNoImport = errors.New("there is no such import")
	ErrPrices   = errors.New("it is of prices, which are mended by importing the right ones")
)

// RemoveImport takes out the transactions that an import added, and the unread rows that no other
// import has. Imports after it that had some of the transactions too can be read again, and then add
// those.
func (s *Store) RemoveImport(ctx context.Context, id int64) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM transaction_batches WHERE import = ?", id); err != nil {
			return err
		}
		if err := removeUnread(ctx, tx, id); err != nil {
			return err
		}
		var kind Kind
		err := tx.QueryRowContext(ctx, "SELECT kind FROM imports WHERE id = ?", id).Scan(&kind)
		if err == nil && kind == Prices {
			return ErrPrices
		}
		result, err := tx.ExecContext(ctx, "DELETE FROM imports WHERE id = ? AND kind = ?", id, string(Transactions))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, ErrNoImport)
		}
		// No content has this hash, so nothing is taken for known because of it.
		_, err = tx.ExecContext(ctx, "UPDATE imports SET hash = printf('%064x', id) WHERE kind = ? AND id > ? AND known > 0", string(Transactions), id)
		return err
	})
}

// imported tells whether an import was done before.
func imported(ctx context.Context, tx *sql.Tx, kind Kind, hash [32]byte) (done bool, err error) {
	err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM imports WHERE kind = ? AND hash = ?)",
		string(kind), hex.EncodeToString(hash[:])).Scan(&done)
	return done, err
}

// record notes an import and returns its id.
func record(ctx context.Context, tx *sql.Tx, kind Kind, file Import, counts Counts) (int64, error) {
	result, err := tx.ExecContext(ctx, "INSERT INTO imports (kind, name, format, hash, at, added, known, changed, unread) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		string(kind), file.Name, file.Format, hex.EncodeToString(file.Hash[:]), file.At.UTC().Format(time.RFC3339Nano),
		counts.Added, counts.Known, counts.Changed, file.Unread)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// unfit says which entry of a file can't be kept.
func unfit(what string, i int, file Import, err error) error {
	return fmt.Errorf("%s %d of %s can't be kept: %w", what, i+1, safetext.Escape(file.Name), err)
}
