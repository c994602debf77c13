package broker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A deed is what a row of a broker's file does, in words that all brokers share.
type deed int

const (
	unclear   deed = iota // nobody told what it does
	buys                  //
	sells                 //
	reinvests             // a dividend in shares
	pays                  // a dividend
	moves                 // shares or cash in or out, by the sign of the quantity
	splits                // the quantity is what came to the shares that were there
	cash                  // money alone
	sweeps                // money alone, into what the broker keeps it in
	untracked             // understood, and of no effect here
	short                 //
	other                 // it has an effect that can't be imported
)

// An entry is a row of a broker's file. Its numbers have the signs that the file gives them.
type entry struct {
	place
	does     deed
	why      string // for untracked and other: the reason, and what to do
	action   string // as the broker says it
	date     portfolio.Date
	booked   portfolio.Date // by which the file is sorted, if that is not the date
	time     portfolio.Clock
	account  string
	symbol   string
	quantity portfolio.Decimal
	price    portfolio.Decimal
	fees     portfolio.Decimal
	amount   portfolio.Decimal
	order    string
	note     string
}

func (e *entry) sortedBy() portfolio.Date {
	if e.booked.IsZero() {
		return e.date
	}
	return e.booked
}

func (e *entry) subject() subject { return subject{e.date, e.account, e.symbol} }

// What rows are skipped for, and what a user can do.
const (
	cashAlone     = "it moves cash alone"
	optionsRow    = "options are not tracked"
	moneyFund     = "a money market fund is cash here"
	shortSale     = "short sales are not tracked; positions and wash sales of this symbol may be wrong"
	assigned      = "shares that an option brought or took have the premium in their price; write them in canonical form as BUY or SELL with that price"
	reorganised   = "mergers, spin-offs, exchanges and changes of a name are not read; write what they did in canonical form"
	capitalReturn = "a return of capital lowers the basis of the shares, which is not read"
	inLieu        = "a fraction of a share was paid out; write it in canonical form as SELL"
	cancelled     = "it takes back another row, or corrects it; leave both out or write the right one in canonical form"
	otherCurrency = "amounts are in another currency than USD"
	noTicker      = "the security has no ticker symbol; write the row in canonical form with one"
)

// book makes a transaction of an entry, or skips it with the reason.
func (r *reading) book(e entry) {
	r.step(e.account, e.sortedBy())
	e.symbol = portfolio.Symbol(e.symbol)
	switch {
	case e.does == sweeps, (e.does == cash || e.does == moves) && e.quantity.IsZero(), e.does == unclear && e.symbol == "" && e.quantity.IsZero():
		r.known(e.place, cashAlone)
	case e.does == untracked:
		r.known(e.place, e.why)
	case optionSymbol(e.symbol):
		r.known(e.place, optionsRow)
	case e.does == unclear:
		r.doubt(e, fmt.Sprintf("the action %.60q is unknown; write the row in canonical form", e.action))
	case e.does == other:
		r.doubt(e, e.why)
	case e.does == short:
		r.doubt(e, shortSale)
	case moneyMarket(e.symbol):
		r.known(e.place, moneyFund)
	case e.symbol == "" || !ticker(e.symbol):
		r.doubt(e, noTicker)
	case e.does == cash:
		r.doubt(e, fmt.Sprintf("shares with the action %.60q, which should move cash alone; write the row in canonical form", e.action))
	case e.does == pays:
		r.pay(e)
	case e.does == splits:
		r.splits = append(r.splits, e)
	default:
		r.trade(e)
	}
}

// doubt skips a row and remembers that the count of the symbol's shares is not certain.
func (r *reading) doubt(e entry, reason string) {
	e.symbol = portfolio.Symbol(e.symbol)
	if r.doubtful == nil {
		r.doubtful = map[position]bool{}
	}
	r.doubtful[position{e.account, e.symbol}] = true
	r.unread(e.place, e.subject(), reason)
}

func (r *reading) pay(e entry) {
	if e.amount.Sign() <= 0 {
		r.known(e.place, "it takes a dividend back, or pays nothing")
		return
	}
	r.add(e.place, portfolio.Transaction{Date: e.date, Account: e.account, Action: portfolio.Dividend, Symbol: e.symbol, Amount: e.amount})
}

func (r *reading) trade(e entry) {
	t := portfolio.Transaction{
		Date: e.date, Time: e.time, Account: e.account, Symbol: e.symbol, Quantity: e.quantity.Abs(),
		Price: e.price.Abs(), Fees: e.fees.Abs(), Amount: e.amount.Abs(), Order: e.order, Note: e.note,
	}
	switch e.does {
	case buys, reinvests:
		if e.quantity.Sign() < 0 {
			r.doubt(e, cancelled)
			return
		}
		t.Action = portfolio.Buy
		if e.does == reinvests {
			t.Action = portfolio.Reinvest
		}
	case sells:
		t.Action = portfolio.Sell
	default:
		t.Action = portfolio.TransferIn
		if e.quantity.Sign() < 0 {
			t.Action = portfolio.TransferOut
		}
		// What a broker writes beside transferred shares is their value on that day.
		t.Price, t.Fees, t.Amount = portfolio.Decimal{}, portfolio.Decimal{}, portfolio.Decimal{}
	}
	r.add(e.place, t)
}

// ticker tells whether a symbol can be one. CUSIPs have nine characters, ISINs twelve, with
// digits among them; no ticker is like that.
func ticker(s string) bool { return len(s) < 9 || !strings.ContainsAny(s, "0123456789") }

// optionSymbol tells whether a symbol is an option's: -SLV240119C22, SLV 01/19/2024 22.00 C.
func optionSymbol(s string) bool {
	if strings.HasPrefix(s, "-") && len(s) > 1 {
		return true
	}
	words := strings.Fields(s)
	return len(words) > 1 && strings.ContainsAny(s, "0123456789")
}

// moneyMarket tells whether a symbol is a money market fund's. Their symbols have five letters,
// the last two XX; brokers have some more for the cash itself.
func moneyMarket(s string) bool {
	return len(s) == 5 && strings.HasSuffix(s, "XX") || slices.Contains([]string{"FCASH", "CORE", "CASH", "USD"}, s)
}

// mustHaveAccount is the account of a file's rows: what the file names, else the option.
func (r *reading) mustHaveAccount(named string) (string, error) {
	if named = strings.TrimSpace(named); named != "" {
		return named, nil
	}
	if r.options.Account == "" {
		return "", ErrNoAccount
	}
	return r.options.Account, nil
}

// cells are the fields of a table's row, and what was wrong with the first that could not be read.
type cells struct {
	columns columns
	row     row
	err     error
}

func (c *cells) get(names ...string) string { return c.columns.get(c.row.fields, names...) }

func (c *cells) number(names ...string) portfolio.Decimal {
	n, err := amount(c.get(names...))
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("the %s %w", names[0], err)
	}
	return n
}

func (c *cells) day(name string) portfolio.Date {
	d, err := day(c.get(name))
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("the %s %w", name, err)
	}
	return d
}

// report takes a holding, or skips its row.
func (r *reading) report(at place, h Holding) {
	of := subject{h.AsOf, h.Account, h.Symbol}
	switch {
	case h.Quantity.Sign() < 0:
		r.unread(at, of, shortSale)
	case h.Symbol == "" || !ticker(h.Symbol):
		r.unread(at, of, noTicker)
	case r.named(at, of):
		h.Account, h.Symbol = r.intern(h.Account), r.intern(h.Symbol)
		r.file.Holdings = append(r.file.Holdings, h)
	}
}

// named tells whether an account and a symbol are such as a transaction may have; if not, the row
// is skipped.
func (r *reading) named(at place, of subject) bool {
	err := portfolio.Transaction{Date: portfolio.NewDate(2000, 1, 1), Account: of.account, Action: portfolio.Dividend, Symbol: of.symbol}.Check()
	if err != nil {
		r.unread(at, of, err.Error())
	}
	return err == nil
}

// each calls do for every row of a table that is none of the prose around it. An entry is booked
// unless one of its cells could not be read.
func (r *reading) each(t *table, c columns, do func(*cells) entry) error {
	for {
		row, ok := t.next()
		if !ok {
			return nil
		}
		if err := r.count(); err != nil {
			return err
		}
		if row.fault != "" {
			r.unread(row.place, subject{}, row.fault)
			continue
		}
		if prose(row.fields) {
			continue
		}
		cells := &cells{columns: c, row: row}
		e := do(cells)
		e.place = row.place
		if cells.err != nil {
			r.doubt(e, cells.err.Error())
			continue
		}
		r.book(e)
	}
}
