package answer

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
	"github.com/signalbox-dev/signalbox/internal/portfolio/store"
	"github.com/signalbox-dev/signalbox/safetext"
)

// An Imported is what became of one file, also where the import fails.
type Imported struct {
	File    string    `json:"file"`
	Format  string    `json:"format,omitempty"`
	Added   int       `json:"added"`
	Known   int       `json:"known"`
	Changed int       `json:"changed,omitempty"`
	Skipped []Skipped `json:"skipped"` // never nil
	// LotsDiffer says where the broker's own lots, if the file has any, are not as ours.
	LotsDiffer []string `json:"lots_differ,omitempty"`
	Error      string   `json:"error,omitempty"` // why nothing came of the file, for whoever shows it
}

// Unread is how many rows somebody has to look at.
func (i Imported) Unread() (n int) {
	for _, row := range i.Skipped {
		if !row.Known {
			n++
		}
	}
	return n
}

// count takes over what the store did.
func (i *Imported) count(c store.Counts) { i.Added, i.Known, i.Changed = c.Added, c.Known, c.Changed }

// A Skipped is a row that became nothing.
type Skipped struct {
	Line   int    `json:"line"`
	Text   string `json:"text"` // safe to print
	Reason string `json:"reason"`
	Known  bool   `json:"no_effect"` // it was understood; otherwise somebody has to look
	// What the row says of itself, as far as it could be read.
	Date    portfolio.Date `json:"date,omitzero"`
	Account string         `json:"account,omitempty"`
	Symbol  string         `json:"symbol,omitempty"`
}

// ImportTransactions reads a broker's file, in the format that its content shows, and keeps the
// transactions that are not there yet, and the rows that nobody could read. The account is for a file that names none. The same file is
// another import if it is for another account. A broker's own lots are held against ours once the
// transactions are in.
func (s *Service) ImportTransactions(ctx context.Context, path string, r io.Reader, account string) (Imported, error) {
	result := Imported{File: path, Skipped: []Skipped{}}
	hash := sha256.New()
	file, err := broker.Read(io.TeeReader(r, hash), broker.Options{Account: account})
	if err != nil {
		return result, err
	}
	result.Format = file.Format
	for _, row := range file.Skipped {
		result.Skipped = append(result.Skipped, skippedRow(row, account))
	}
	if account != "" {
		fmt.Fprintf(hash, "\x00account %s", account)
	}
	counts, err := s.Store.ImportTransactions(ctx, store.Import{
		Name: filepath.Base(path), Format: file.Format, Hash: [32]byte(hash.Sum(nil)), At: s.Now(), Unread: result.Unread(),
	}, file.Transactions, file.Holdings, unreadRows(result.Skipped)...)
	result.count(counts)
	if err == nil && len(file.Lots) > 0 {
		var state State
		if state, err = s.Load(ctx, file.Lots[0].AsOf); err == nil {
			result.LotsDiffer = state.CompareLots(file.Lots)
		}
	}
	return result, err
}

// ImportPrices reads a file of daily prices and keeps them; those of a day that is there already
// are replaced. The symbol is for a file that names none; without one it is the file's name. The
// same file is another import if it is of another symbol.
func (s *Service) ImportPrices(ctx context.Context, path string, r io.Reader, symbol string) (Imported, error) {
	name := filepath.Base(path)
	if symbol == "" {
		symbol = strings.ToUpper(strings.TrimSuffix(name, filepath.Ext(name)))
	}
	result := Imported{File: path, Skipped: []Skipped{}}
	hash := sha256.New()
	file, err := price.Read(io.TeeReader(r, hash), symbol)
	if err != nil {
		return result, err
	}
	result.Format, result.Skipped = file.Format, skippedPrices(file)
	if n := len(file.Quotes); n > 0 && file.Quotes[0].Symbol == file.Quotes[n-1].Symbol { // they are by symbol
		result.Format += " of " + file.Quotes[0].Symbol
	}
	fmt.Fprintf(hash, "\x00symbol %s", symbol)
	counts, err := s.Store.ImportPrices(ctx, store.Import{
		Name: name, Format: result.Format, Hash: [32]byte(hash.Sum(nil)), At: s.Now(), Unread: result.Unread(),
	}, file.Quotes)
	result.count(counts)
	return result, err
}

// ImportFetched keeps prices that were downloaded for a symbol, from a day on. Each download is an
// import of its own.
func (s *Service) ImportFetched(ctx context.Context, symbol string, from portfolio.Date, file price.File) (Imported, error) {
	const format = "fetched"
	at := s.Now()
	hash := sha256.Sum256(fmt.Appendf(nil, "fetched %s %s %s", symbol, from, at.Format(time.RFC3339Nano)))
	counts, err := s.Store.ImportPrices(ctx, store.Import{Name: symbol, Format: format, Hash: hash, At: at}, file.Quotes)
	result := Imported{File: symbol, Format: format, Skipped: skippedPrices(file)}
	result.count(counts)
	return result, err
}

// ImportAccounts puts a file of accounts and rules in the place of the one before, as a whole, and returns
// the accounts as they are then. A file without accounts does not take the place of one that has some: it
// is taken for a mistake.
func (s *Service) ImportAccounts(ctx context.Context, path string, file settings.File) ([]Account, error) {
	state, err := s.Load(ctx, portfolio.Date{})
	if err != nil {
		return nil, err
	}
	if n := len(state.Settings.Accounts); n > 0 && len(file.Accounts) == 0 {
		accounts := "1 account"
		if n > 1 {
			accounts = fmt.Sprintf("%d accounts", n)
		}
		return nil, fmt.Errorf("%s describes no account, and would take the place of %s: it has to have them all", safetext.Escape(path), accounts)
	}
	state.Settings = file.Settings
	return state.Accounts(), s.Store.SaveSettings(ctx, file.Document)
}

// skippedPrices are rows of prices that could not be read, and how many more there were.
func skippedPrices(file price.File) []Skipped {
	list := []Skipped{}
	for _, row := range file.Skipped {
		list = append(list, Skipped{Line: row.Line, Text: safetext.Escape(row.Text), Reason: row.Reason})
	}
	if file.More > 0 {
		list = append(list, Skipped{Reason: fmt.Sprintf("%d more rows could not be read", file.More)})
	}
	return list
}
