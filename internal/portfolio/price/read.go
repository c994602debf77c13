package price

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A File is what a price file says.
type File struct {
	Format  string    // canonical, yahoo, stooq, stooq-bulk or yahoo-chart
	Quotes  []Quote   // by symbol and day, of each day one
	Skipped []Skipped // by line
	More    int       // how many more were skipped than Skipped has room for
}

// Skipped is a row of a price file that gave no quote.
type Skipped struct {
	Line   int    // from 1; in chart JSON the number of the entry
	Text   string // the beginning of the row as it is in the file: to be escaped before it is printed
	Reason string // safe to print
}

// What callers can tell apart when a file can't be read.
var (
	ErrEmpty         = errors.New("there is nothing in it")
	ErrWebPage       = errors.New("this is a web page, not prices: the download wants a login or has failed; open its address in a browser")
	ErrUnknownFormat = errors.New("this is no known price file")
	ErrNoSymbol      = errors.New("the file does not say whose prices it has: name the symbol")
	ErrTooLarge      = errors.New("this is too large for a price file: split it")
)

// Limits of what is read, so that no file takes all memory.
const (
	maxInput   = 256 << 20
	maxLine    = 1 << 20
	maxChart   = 8 << 20 // a symbol's whole history has 1 to 2
	maxQuotes  = 4 << 20
	maxSkipped = 10_000
	maxText    = 120 // bytes of a skipped row that are kept
)

// Read reads a price file in any of these forms, recognised by what is in it:
//
//	canonical    date,symbol,open,high,low,close,adj_close
//	yahoo        Date,Open,High,Low,Close,Adj Close,Volume
//	stooq        Date,Open,High,Low,Close,Volume
//	stooq-bulk   <TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>
//	yahoo-chart  the JSON of Yahoo's charts
//
// Columns are found by their names, in any order and case; those it has no use for are passed
// over. An adjusted close that is missing is the close. Files that name no symbol have the
// prices of the symbol given. Rows come in any order; of two for the same day the later one in
// the file counts. Every row that gives no quote is in Skipped, but for blank ones and for
// repetitions that say the same.
//
// Yahoo's closes are adjusted for splits, and Stooq's for dividends too, back from the last one:
// what was paid on an earlier day is not in such a file.
func Read(r io.Reader, symbol string) (File, error) {
	in := newLines(r)
	first, err := in.start()
	if err != nil {
		return File{}, err
	}
	if first == '{' {
		return readChart(in, symbol)
	}
	return readTable(in, symbol)
}

// readTable reads CSV.
func readTable(in *lines, symbol string) (File, error) {
	header, err := in.next()
	if errors.Is(err, errLongLine) {
		err = unknownHeader(string(header))
	}
	if err != nil {
		return File{}, err
	}
	cols, err := columnsOf(string(header))
	if err != nil {
		return File{}, err
	}
	t := table{columns: cols, symbols: map[string]string{}}
	if cols.symbol < 0 {
		if t.only, err = ParseSymbol(symbol); err != nil {
			return File{}, err
		}
	}
	rows := newCollector("line")
	for {
		line, err := in.next()
		switch {
		case errors.Is(err, io.EOF):
			return rows.file(cols.format), nil
		case errors.Is(err, errLongLine):
			rows.skip(in.number, string(line), err)
			continue
		case err != nil:
			return File{}, err
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		text := string(line)
		quote, err := t.row(text)
		if err != nil {
			rows.skip(in.number, text, err)
		} else if err := rows.add(in.number, quote); err != nil {
			return File{}, err
		}
	}
}

// ParseSymbol reads a symbol as prices are kept by.
func ParseSymbol(s string) (string, error) {
	s = portfolio.Symbol(s)
	if s == "" {
		return "", ErrNoSymbol
	}
	if !portfolio.IsSymbol(s) {
		return "", fmt.Errorf("%.40q is no symbol", s)
	}
	return s, nil
}

// check says what is wrong with a bar, if anything is.
func (b Bar) check() error {
	for _, p := range []struct {
		name  string
		price portfolio.Decimal
	}{{"open", b.Open}, {"high", b.High}, {"low", b.Low}, {"close", b.Close}, {"adjusted close", b.Adj}} {
		if p.price.Sign() <= 0 {
			return fmt.Errorf("the %s is %s; a price is more than zero", p.name, p.price)
		}
	}
	switch {
	case b.High.Cmp(b.Low) < 0:
		return fmt.Errorf("the high %s is below the low %s", b.High, b.Low)
	case b.Open.Cmp(b.Low) < 0 || b.Open.Cmp(b.High) > 0:
		return fmt.Errorf("the open %s is not between the low %s and the high %s", b.Open, b.Low, b.High)
	case b.Close.Cmp(b.Low) < 0 || b.Close.Cmp(b.High) > 0:
		return fmt.Errorf("the close %s is not between the low %s and the high %s", b.Close, b.Low, b.High)
	}
	return nil
}
