// Package store keeps what was imported in one SQLite file: transactions, holdings, prices and
// the settings. The file is its owner's alone, several processes use it at once, and what an
// import says it added is on the disk when it returns.
//
// Transactions and prices are many and small, and SQLite takes longer over a row than over what
// is in it. So they are kept as text, many lines a row and a tab between the fields; the views
// transactions and prices show them with a column for each field, to the sqlite3 program too.
//
// A transaction is known by what it says of the trade: its nine fields, and not the time and the
// order that only some files have of it. Two that say the same in one file are two
// transactions; the same two in another file are those two again. So a file adds what it has
// more often than the store, in whatever order overlapping files come.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/signalbox-dev/signalbox/safetext"
)

// What can be wrong with a file, for callers to tell apart.
var (
	ErrNotOurs = errors.New("not a portfolio database")
	ErrNewer   = errors.New("made by a newer version of this program")
	ErrDamaged = errors.New("damaged")
	ErrBusy    = errors.New("in use by another program")
)

// A Store is an open file. Its methods may be called at the same time.
type Store struct {
	path     string // as errors show it
	db       *sql.DB
	patience time.Duration // with another process that has a lock
}

// Limits of waiting and of what is open. SQLite waits for a lock without looking at the
// context, so it waits for short turns.
const (
	lockTurn       = 200 * time.Millisecond
	lockPause      = 10 * time.Millisecond
	lockPatience   = 10 * time.Second // far longer than any import
	maxConnections = 4
)

// Open opens the file at path, and makes it, with its directory, if it is not there. A file
// that this program did not make is refused and left as it is.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := touch(path); err != nil {
		return nil, fmt.Errorf("the database can't be opened: %w", err)
	}
	connector, err := sqlite.NewConnector(dataSource(path))
	if err != nil {
		return nil, err
	}
	s := &Store{path: safetext.Escape(path), db: sql.OpenDB(connector), patience: lockPatience}
	s.db.SetMaxOpenConns(maxConnections)
	if err := s.prepare(ctx, path); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	return s, nil
}

// Close closes the file. What was imported is safe without it.
func (s *Store) Close() error { return s.db.Close() }

// touch makes an empty file, for its owner alone: SQLite would make one for everybody. Only a
// plain file goes on to SQLite.
func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		return f.Close()
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is %w, it is no plain file", safetext.Escape(path), ErrNotOurs)
	}
	return err
}

// dataSource is the address of a file, with what every connection to it is set to. Only full
// synchronisation has a commit on the disk when it returns.
func dataSource(path string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	options := url.Values{"_txlock": {"immediate"}, "_error_rc": {"1"}, "_defensive": {"1"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", lockTurn.Milliseconds()),
		"foreign_keys(1)", "synchronous(FULL)", "trusted_schema(0)",
	}}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: options.Encode()}).String()
}

// prepare looks whose the file is before anything is written to it, and brings it to the
// present schema.
func (s *Store) prepare(ctx context.Context, path string) error {
	if err := s.migrate(ctx); err != nil {
		return err
	}
	// The files beside it get the mode of the first.
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(name, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the database can't be made its owner's alone: %w", err)
		}
	}
	return s.patiently(ctx, func() error {
		_, err := s.db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		return err
	})
}

// write runs change in a transaction that no other writer is in. An error undoes all of it.
func (s *Store) write(ctx context.Context, change func(*sql.Tx) error) error {
	var tx *sql.Tx
	err := s.patiently(ctx, func() (err error) {
		tx, err = s.db.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		// A context that is done has undone it already.
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			err = errors.Join(err, undo)
		}
		return s.explain(ctx, err)
	}
	return s.explain(ctx, tx.Commit())
}

// read calls each for the rows of a query, which are of one moment.
func (s *Store) read(ctx context.Context, each func(*sql.Rows) error, query string, args ...any) error {
	var rows *sql.Rows
	err := s.patiently(ctx, func() (err error) {
		rows, err = s.db.QueryContext(ctx, query, args...)
		return err
	})
	if err != nil {
		return err
	}
	return s.explain(ctx, eachRow(rows, each))
}

// eachRow calls each for all rows and closes them.
func eachRow(rows *sql.Rows, each func(*sql.Rows) error) error {
	var err error
	for err == nil && rows.Next() {
		err = each(rows)
	}
	return errors.Join(err, rows.Err(), rows.Close())
}

// patiently runs do until no other process is in its way.
func (s *Store) patiently(ctx context.Context, do func() error) error {
	patience := time.NewTimer(s.patience)
	defer patience.Stop()
	for {
		err := do()
		if code(err) != sqlite3.SQLITE_BUSY {
			return s.explain(ctx, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C:
			return s.explain(ctx, err)
		case <-time.After(lockPause):
		}
	}
}

// explain says of an error of SQLite which file it is about and what can be done.
func (s *Store) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch code(err) {
	case 0:
		return err
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s is %w, or its beginning is overwritten; choose another file, or put a backup in its place", s.path, ErrNotOurs)
	case sqlite3.SQLITE_CORRUPT:
		return s.damaged(err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("database %s is %w; try again when that is done", s.path, ErrBusy)
	}
	return fmt.Errorf("database %s: %w", s.path, err)
}

// damaged says what of the file can't be read.
func (s *Store) damaged(err error) error {
	return fmt.Errorf("database %s is %w (%w); put a backup in its place, or import the files again into a new one", s.path, ErrDamaged, err)
}

// code is SQLite's code of an error, and 0 of others.
func code(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}
