// Package broker reads the files that brokers give their customers, and the canonical form in
// which a customer writes what no broker's file says. A file's format is recognised from what is
// in it.
//
// Nothing is dropped in silence: a row either becomes a transaction, a holding or a lot, or it is
// in File.Skipped with its line and the reason. What a broker's file says in all (its rounded
// total) is taken before quantity times price. The value of transferred shares is not their cost,
// so a transfer comes without one, unless the file says what they cost and when they were bought.
// CUSIPs and descriptions never become symbols.
//
// What a company decided is told by several rows: shares that go, shares that come, cash. They are
// put together when all rows are known, and read only if they say all that right books need; if
// not, each is unread with the symbols of both companies, and says what to write.
//
// Dates are those on which a row takes effect: the trade, not its settlement; where a broker
// writes "as of", the day after these words. A split counts from the day on which it was booked,
// which is the first with the new shares.
package broker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/safetext"
)

// The formats, as File.Format has them.
const (
	CanonicalCSV  = "canonical CSV"
	CanonicalJSON = "canonical JSON"
	Schwab        = "Schwab CSV"
	Fidelity      = "Fidelity CSV"
	Vanguard      = "Vanguard CSV"
	ETrade        = "E*TRADE CSV"
	Flex          = "IBKR Flex XML"
	OFX           = "OFX"
)

// Options are what a file can't say of itself.
type Options struct {
	Account string // the account of rows for which the file names none
}

// A File is what was read of a file. Rows of one day, account and symbol are in the order in which
// they happened, as far as the file tells: one whose dates descend is read from its end. The order
// of the rest says nothing.
type File struct {
	Format       string
	Transactions []portfolio.Transaction // each passes Transaction.Check
	Holdings     []Holding
	Lots         []Lot
	Skipped      []Skipped // by line
}

// A Holding is a position as the broker reports it, to check ours against.
type Holding struct {
	Account  string
	Symbol   string
	Quantity portfolio.Decimal
	AsOf     portfolio.Date // no day where the file says none
}

// A Lot is an open lot as the broker keeps it, to check ours against.
type Lot struct {
	Account  string
	Symbol   string
	Acquired portfolio.Date
	Quantity portfolio.Decimal
	Basis    portfolio.Decimal
	AsOf     portfolio.Date // no day where the file says none
}

// Skipped is a row that became nothing. Its texts are escaped: they can be printed as they are.
type Skipped struct {
	Line   int
	Text   string // the row's beginning
	Reason string
	Known  bool // it was understood and has no effect here; otherwise the user has to look
	// What the row is about, as far as it says. A row that is not Known may change what its account
	// has of the symbol, from that day on.
	Date            portfolio.Date
	Account, Symbol string
}

// Errors that a caller can do something about.
var (
	ErrNoAccount     = errors.New("the file does not say whose account it is; name the account with --account")
	ErrUnknownFormat = errors.New("the file's format is not known")
)

// Limits of a file. They are far above what brokers write, and keep a file that is none of theirs
// from taking all memory.
const (
	maxBytes = 256 << 20
	maxRows  = 2_000_000
	maxLine  = 1 << 20
	maxText  = 200 // of a skipped row

	maxAccount = 64 // bytes of an account's name, as Transaction.Check has it
)

// Read reads a file of any of the formats. It reads all of r, up to 256 MiB.
func Read(r io.Reader, options Options) (File, error) {
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(r, maxBytes+1))
	switch {
	case err != nil:
		return File{}, fmt.Errorf("the file can't be read: %w", err)
	case n > maxBytes:
		return File{}, fmt.Errorf("the file is larger than %d MiB; export shorter periods", maxBytes>>20)
	}
	return parse(text.String(), options)
}

func parse(text string, options Options) (File, error) {
	text, err := decode(text)
	if err != nil {
		return File{}, err
	}
	reading := &reading{options: options, interned: map[string]string{}}
	if err := reading.recognise(text); err != nil {
		return File{}, err
	}
	reading.turnRound()
	reading.settleNumbered()
	reading.settleEvents()
	reading.settleSplits()
	file := reading.file
	slices.SortStableFunc(file.Skipped, func(a, b Skipped) int { return a.Line - b.Line })
	if len(file.Transactions)+len(file.Holdings)+len(file.Lots) == 0 {
		for _, s := range file.Skipped {
			if !s.Known {
				return File{}, fmt.Errorf("nothing in the file could be read as %s; line %d: %s", file.Format, s.Line, s.Reason)
			}
		}
	}
	return file, nil
}

// decode makes valid UTF-8 of a file. Bytes of other code pages stand in descriptions, which
// nothing is made of, so they are replaced.
func decode(text string) (string, error) {
	head := text[:min(len(text), 64)]
	if strings.HasPrefix(head, "\xff\xfe") || strings.HasPrefix(head, "\xfe\xff") || strings.Contains(head, "\x00") {
		return "", errors.New("the file is not text in UTF-8 (it looks like UTF-16, or like a spreadsheet); save it as CSV in UTF-8")
	}
	if strings.HasPrefix(head, "PK\x03\x04") {
		return "", errors.New("the file is a spreadsheet or an archive, not text; save it as CSV in UTF-8")
	}
	return strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "\uFFFD"), nil
}

// recognise finds the format and reads the file as such.
func (r *reading) recognise(text string) error {
	start := strings.TrimLeft(text, " \t\r\n")
	head := strings.ToLower(start[:min(len(start), 4096)])
	switch {
	case start == "":
		return errors.New("the file is empty")
	case strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html"):
		return errors.New("the file is a web page, not data; the broker's site may have asked to log in: download it again")
	case strings.HasPrefix(head, "ofxheader") || strings.HasPrefix(head, "<ofx>") || strings.HasPrefix(head, "<?") && strings.Contains(head, "<ofx>"):
		r.file.Format = OFX
		return r.ofx(text)
	case strings.HasPrefix(head, "<") && strings.Contains(head, "<flexqueryresponse"):
		r.file.Format = Flex
		return r.flex(text)
	case strings.HasPrefix(head, "<"):
		return unknownFormat(start)
	case strings.HasPrefix(head, "["):
		r.file.Format = CanonicalJSON
		return r.canonicalJSON(text)
	case strings.HasPrefix(head, "{"):
		return unknownFormat(start)
	}
	return r.csv(text)
}

// unknownFormat shows what was found and what is known.
func unknownFormat(found string) error {
	line, _, _ := strings.Cut(found, "\n")
	return fmt.Errorf("%w: it begins %q. Known are CSV files of Schwab, Fidelity, Vanguard and E*TRADE, Flex queries of IBKR (XML), OFX and QFX, a JSON array, and CSV with the columns %s",
		ErrUnknownFormat, shorten(strings.TrimSpace(line), 120), strings.Join(canonicalColumns(), ","))
}

// A place is where in the file something stands.
type place struct {
	line int
	text string
}

// A reading is the state while one file is read.
type reading struct {
	options  Options
	file     File
	rows     int
	interned map[string]string
	account  string // of all rows, where the file has one alone
	dates    struct {
		last     map[[2]string]portfolio.Date // by account and section
		up, down int                          // how often the next was later, or earlier
	}
	splits   []entry
	events   []entry
	numbered []entry           // unread rows that have a CUSIP where a ticker should be; why is the reason
	tickers  map[string]string // by a security's name, where the file has both; empty where it has two
	doubtful map[position]bool // of which some row could not be read
	inLieu   map[position]bool // of which a fraction of a share was paid out
}

// count says when there are more rows than a reading takes.
func (r *reading) count() error {
	if r.rows++; r.rows > maxRows {
		return fmt.Errorf("the file has more than %d rows; split it", maxRows)
	}
	return nil
}

// intern returns s without holding on to the text of the file.
func (r *reading) intern(s string) string {
	if known, ok := r.interned[s]; ok {
		return known
	}
	s = strings.Clone(s)
	r.interned[s] = s
	return s
}

// add takes a transaction, or skips its row with what is wrong with it.
func (r *reading) add(at place, t portfolio.Transaction) {
	if err := t.Check(); err != nil {
		r.unread(at, about(t), err.Error())
		return
	}
	r.take(t)
}

// take keeps a transaction that passes Transaction.Check.
func (r *reading) take(t portfolio.Transaction) {
	t.Account, t.Symbol = r.intern(t.Account), r.intern(t.Symbol)
	if t.Into != "" {
		t.Into = r.intern(t.Into)
	}
	if t.Order != "" {
		t.Order = r.intern(t.Order)
	}
	r.file.Transactions = append(r.file.Transactions, t)
}

// step notes how the dates of a file, or of a section of it, go on: those that its rows are sorted by.
func (r *reading) step(account, section string, date portfolio.Date) {
	if date.IsZero() {
		return
	}
	if r.dates.last == nil {
		r.dates.last = map[[2]string]portfolio.Date{}
	}
	at := [2]string{account, section}
	if before, seen := r.dates.last[at]; seen {
		switch date.Compare(before) {
		case 1:
			r.dates.up++
		case -1:
			r.dates.down++
		}
	}
	r.dates.last[at] = date
}

// turnRound puts rows in the order in which they happened, if the file's dates descend. A file
// whose direction can't be told stays as it is.
func (r *reading) turnRound() {
	if r.dates.down > 2*r.dates.up {
		slices.Reverse(r.file.Transactions)
	}
}

// A subject is what a row is about, as far as it says.
type subject struct {
	date            portfolio.Date
	account, symbol string
}

// about is what a transaction is about.
func about(t portfolio.Transaction) subject { return subject{t.Date, t.Account, t.Symbol} }

// known skips a row that has no effect here.
func (r *reading) known(at place, reason string) {
	r.file.Skipped = append(r.file.Skipped, skipped(at, reason, true))
}

// unread skips a row that the user has to look at. What can't be an account or a symbol is left out
// of what it is about.
func (r *reading) unread(at place, of subject, reason string) {
	s := skipped(at, reason, false)
	s.Date = of.date
	s.Account = r.intern(safetext.Escape(shorten(cmp.Or(of.account, r.account), maxAccount)))
	if symbol := portfolio.Symbol(of.symbol); portfolio.IsSymbol(symbol) {
		s.Symbol = r.intern(symbol)
	}
	r.file.Skipped = append(r.file.Skipped, s)
}

func skipped(at place, reason string, known bool) Skipped {
	text := safetext.Escape(shorten(strings.TrimSpace(at.text), maxText))
	return Skipped{Line: at.line, Text: strings.Clone(text), Reason: safetext.Escape(reason), Known: known}
}

// shorten cuts s to so many bytes, at a character's end.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
