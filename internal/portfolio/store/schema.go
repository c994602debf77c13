package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// applicationID marks a file as ours, in its header. It is "SbPf".
const applicationID = 0x53625066

// migrations lead from each version of the schema to the next; the first makes it. Those that
// were published are never changed.
func migrations() []string {
	return []string{schema1, schema2}
}

// A line of a batch or of a year has no quotes around it and no escapes: it has no tabs and no
// newlines in its fields. The views make JSON of the lines, which SQLite can take apart.
const schema1 = `
CREATE TABLE imports (
	id      INTEGER PRIMARY KEY,
	kind    TEXT NOT NULL, -- transactions or prices
	name    TEXT NOT NULL,
	format  TEXT NOT NULL,
	hash    TEXT NOT NULL,
	at      TEXT NOT NULL,
	added   INTEGER NOT NULL,
	known   INTEGER NOT NULL,
	changed INTEGER NOT NULL,
	unread  INTEGER NOT NULL,
	UNIQUE (kind, hash)
) STRICT;

CREATE TABLE transaction_batches (
	id     INTEGER PRIMARY KEY,
	import INTEGER NOT NULL REFERENCES imports,
	lines  TEXT NOT NULL -- date, account, action, symbol, quantity, price, fees, amount, note
) STRICT;

CREATE VIEW transactions AS
SELECT batch.import, line.value ->> 0 AS date, line.value ->> 1 AS account, line.value ->> 2 AS action,
	line.value ->> 3 AS symbol, line.value ->> 4 AS quantity, line.value ->> 5 AS price,
	line.value ->> 6 AS fees, line.value ->> 7 AS amount, line.value ->> 8 AS note
FROM transaction_batches AS batch, json_each('[["' || replace(replace(replace(replace(batch.lines,
	'\', '\\'), '"', '\"'), char(9), '","'), char(10), '"],["') || '"]]') AS line
ORDER BY batch.id, line.key;

CREATE TABLE price_years (
	symbol TEXT NOT NULL,
	year   INTEGER NOT NULL,
	first  TEXT NOT NULL, -- the first day of the lines
	lines  TEXT NOT NULL, -- date, open, high, low, close, adj_close; by day
	PRIMARY KEY (symbol, year)
) STRICT;

CREATE VIEW prices AS
SELECT year.symbol, line.value ->> 0 AS date, line.value ->> 1 AS open, line.value ->> 2 AS high,
	line.value ->> 3 AS low, line.value ->> 4 AS close, line.value ->> 5 AS adj_close
FROM price_years AS year, json_each('[["' || replace(replace(year.lines,
	char(9), '","'), char(10), '"],["') || '"]]') AS line
ORDER BY year.symbol, year.year, line.key;

CREATE TABLE holdings (
	account  TEXT NOT NULL,
	as_of    TEXT NOT NULL,
	symbol   TEXT NOT NULL,
	quantity TEXT NOT NULL,
	PRIMARY KEY (account, as_of, symbol)
) STRICT, WITHOUT ROWID;

CREATE TABLE settings (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	document BLOB NOT NULL
) STRICT;
`

// schema2 keeps what a transaction says beyond the nine fields, which lines of before do not have,
// and the rows that nobody could read. A row that several files have is there once.
const schema2 = `
DROP VIEW transactions;
CREATE VIEW transactions AS
SELECT batch.import, line.value ->> 0 AS date, line.value ->> 1 AS account, line.value ->> 2 AS action,
	line.value ->> 3 AS symbol, line.value ->> 4 AS quantity, line.value ->> 5 AS price,
	line.value ->> 6 AS fees, line.value ->> 7 AS amount, line.value ->> 8 AS note,
	nullif(line.value ->> 9, '') AS time, nullif(line.value ->> 10, '') AS "order",
	nullif(line.value ->> 11, '') AS ratio, nullif(line.value ->> 12, '') AS basis_share,
	nullif(line.value ->> 13, '') AS "into", nullif(line.value ->> 14, '') AS into_price,
	nullif(line.value ->> 15, '') AS free_of_cost
FROM transaction_batches AS batch, json_each('[["' || replace(replace(replace(replace(batch.lines,
	'\', '\\'), '"', '\"'), char(9), '","'), char(10), '"],["') || '"]]') AS line
ORDER BY batch.id, line.key;

CREATE TABLE unread_rows (
	id      INTEGER PRIMARY KEY AUTOINCREMENT, -- none is used again: people write them down
	date    TEXT NOT NULL, -- empty where the row does not say it; so are account and symbol
	account TEXT NOT NULL,
	symbol  TEXT NOT NULL,
	line    INTEGER NOT NULL, -- in the first file that had it
	text    TEXT NOT NULL,
	reason  TEXT NOT NULL,
	settled TEXT -- when somebody said that it is dealt with; NULL is open
) STRICT;

CREATE TABLE unread_sources (
	unread INTEGER NOT NULL REFERENCES unread_rows,
	import INTEGER NOT NULL REFERENCES imports,
	PRIMARY KEY (unread, import)
) STRICT, WITHOUT ROWID;
`

// migrate brings an empty or older file to the present schema, and refuses others. It reads
// before it locks, so that a file which is refused is not written to.
func (s *Store) migrate(ctx context.Context) error {
	steps, version := migrations(), 0
	err := s.patiently(ctx, func() error {
		tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		version, err = s.version(ctx, tx)
		return errors.Join(err, tx.Rollback())
	})
	if err != nil || version == len(steps) {
		return err
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		version, err := s.version(ctx, tx) // another process may have been quicker
		if err != nil {
			return err
		}
		for _, step := range steps[version:] {
			if _, err := tx.ExecContext(ctx, step); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps)))
		return err
	})
}

// version is the version of the file's schema; an empty file has 0.
func (s *Store) version(ctx context.Context, tx *sql.Tx) (version int, err error) {
	var application, objects int
	err = errors.Join(
		tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application),
		tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
		tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects))
	empty := application == 0 && version == 0 && objects == 0
	switch {
	case err != nil:
		return 0, err
	case !empty && application != applicationID:
		return 0, fmt.Errorf("%s is %w, but another program's; choose another file", s.path, ErrNotOurs)
	case version < 0 || version > len(migrations()):
		return 0, fmt.Errorf("database %s was %w: its schema is %d, and this one reads up to %d; update this program", s.path, ErrNewer, version, len(migrations()))
	}
	return version, nil
}
