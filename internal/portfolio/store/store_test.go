package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
)

var decimals = cmp.Comparer(func(a, b portfolio.Decimal) bool { return a.Cmp(b) == 0 })
var dates = cmp.Options{
	cmp.Comparer(func(a, b portfolio.Date) bool { return a == b }),
	cmp.Comparer(func(a, b portfolio.Clock) bool { return a == b }),
}

func number(text string) portfolio.Decimal {
	d, err := portfolio.ParseDecimal(text)
	if err != nil {
		panic(err)
	}
	return d
}

// bought is a purchase of some shares on a day of 2024.
func bought(yearDay int, symbol, quantity string) portfolio.Transaction {
	return portfolio.Transaction{Date: portfolio.NewDate(2024, 1, yearDay), Account: "taxable", Action: portfolio.Buy, Symbol: symbol, Quantity: number(quantity), Price: number("10.5")}
}

func run(t *testing.T, s *Store, query string) {
	t.Helper()
	if _, err := s.db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func reopen(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// The file, what SQLite puts beside it, and a directory made for it are the owner's alone; so is
// a file that was not before. Any name will do for the file.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	dir := filepath.Join(t.TempDir(), "made", "here")
	path := filepath.Join(dir, "odd ?name#100%.db")
	s := reopen(t, path)
	if _, err := s.ImportTransactions(t.Context(), named("a"), history(10), nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]os.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600}
	for name, mode := range want {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	for name := range want {
		if err := os.Chmod(name, want[name]|0o044); err != nil {
			t.Fatal(err)
		}
	}
	reopen(t, path)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s after it was opened again: %v, %v", name, info, err)
		}
	}
}

// A file that is not ours is refused, with a reason, and not touched.
func TestRefused(t *testing.T) {
	foreign := func(queries string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), queries); err != nil {
				t.Fatal(err)
			}
		}
	}
	text := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	newer := func(t *testing.T, path string) {
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		run(t, s, "PRAGMA user_version = 1000")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		make func(*testing.T, string)
		want error
		says string
	}{
		{"text", text(strings.Repeat("date,account,action\n", 1000)), ErrNotOurs, "choose another file"},
		{"short text", text("hello\n"), ErrNotOurs, "choose another file"},
		{"header alone", text("SQLite format 3\x00"), ErrNotOurs, "choose another file"},
		{"another program's", foreign("CREATE TABLE x (y)"), ErrNotOurs, "another program's"},
		{"another program's with the same version", foreign("CREATE TABLE x (y); PRAGMA user_version = 1"), ErrNotOurs, "another program's"},
		{"another program's mark", foreign("PRAGMA application_id = 7"), ErrNotOurs, "another program's"},
		{"newer", newer, ErrNewer, "update this program"},
		{"directory", func(t *testing.T, path string) { _ = os.Mkdir(path, 0o755) }, ErrNotOurs, "no plain file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			test.make(t, path)
			before, _ := os.ReadFile(path)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), path)
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			after, _ := os.ReadFile(path)
			now, err := os.Stat(path)
			if err != nil || !bytes.Equal(before, after) || info.Mode() != now.Mode() {
				t.Errorf("the file was changed: %v, %v before, %v", err, info, now)
			}
		})
	}
}

// Damage is found by Check, wherever it is, and never passes for data.
func TestDamaged(t *testing.T) {
	fill := func(t *testing.T) (*Store, string) {
		path := filepath.Join(t.TempDir(), "portfolio.db")
		s := reopen(t, path)
		holdings := []broker.Holding{{Account: "a", Symbol: "X", Quantity: number("1"), AsOf: everyDay}}
		if _, err := s.ImportTransactions(t.Context(), named("a"), history(5000), holdings); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ImportPrices(t.Context(), named("b"), quotes(3, 400)); err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s, path
	}
	for _, query := range []string{
		"UPDATE transaction_batches SET lines = 'nonsense' WHERE id = 3",
		"UPDATE transaction_batches SET lines = lines || char(10) WHERE id = 3",
		"UPDATE transaction_batches SET lines = replace(lines, 'SYM', 'SYM' || char(9)) WHERE id = 3",
		"UPDATE price_years SET lines = replace(lines, '.', ',') WHERE symbol = 'SYM1'",
		"UPDATE holdings SET quantity = '1e5'",
		"UPDATE imports SET hash = 'abc'",
		"UPDATE imports SET at = 'today'",
	} {
		s, _ := fill(t)
		run(t, s, query)
		if err := s.Check(t.Context()); !errors.Is(err, ErrDamaged) {
			t.Errorf("after %s: %v", query, err)
		}
	}
	s, path := fill(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 2; page < len(data)/4096; page += 7 {
		copy(data[page*4096:], bytes.Repeat([]byte{0xa5}, 600))
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), path)
	if err == nil {
		err = s.Check(t.Context())
		defer s.Close()
	}
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "backup") {
		t.Errorf("with pages overwritten: %v", err)
	}
}

// What was saved is there when the file is opened again.
func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portfolio.db")
	s := reopen(t, path)
	if got, err := s.Settings(t.Context()); got != nil || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, document := range []string{"accounts: []\n", "", "\xff\x00"} {
		if err := s.SaveSettings(t.Context(), []byte(document)); err != nil {
			t.Fatal(err)
		}
		if got, err := reopen(t, path).Settings(t.Context()); string(got) != document || err != nil {
			t.Errorf("%q, %v, want %q", got, err, document)
		}
	}
}

// A context that is done ends what waits for another writer, and what works. Waiting also ends
// by itself, and readers need not.
func TestCancel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portfolio.db")
	s, other := reopen(t, path), reopen(t, path)
	tx, err := other.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(t.Context(), lockTurn/4)
	defer cancel()
	if err := s.SaveSettings(waiting, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting ended with %v", err)
	}
	s.patience = time.Millisecond
	if err := s.SaveSettings(t.Context(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("patience ended with %v", err)
	}
	if _, err := s.Settings(t.Context()); err != nil {
		t.Errorf("a reader was kept waiting: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}

	transactions := history(20 * batchLines)
	looks := 0
	if _, err := s.ImportTransactions(&probe{Context: t.Context(), at: func() error { looks++; return nil }}, named("all"), transactions, nil); err != nil {
		t.Fatal(err)
	}
	if looks < 20 {
		t.Fatalf("an import looked at its context only %d times", looks)
	}
	s = openNew(t)
	for stop := range looks {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		_, err := s.ImportTransactions(&probe{Context: ctx, at: func() error {
			if n++; n > stop {
				cancel()
			}
			return ctx.Err()
		}}, named("all"), transactions, nil)
		cancel()
		if err == nil {
			break // the last look may be after the commit
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at look %d: %v", stop, err)
		}
		if got, err := s.Transactions(t.Context(), everyDay); len(got) != 0 || err != nil {
			t.Fatalf("stopped at look %d: %d transactions are there, %v", stop, len(got), err)
		}
	}
}

// A probe is a context that runs something whenever it is looked at.
type probe struct {
	context.Context
	at   func() error
	turn sync.Mutex // database/sql looks too, from elsewhere
}

func (p *probe) Err() error {
	p.turn.Lock()
	defer p.turn.Unlock()
	return p.at()
}
