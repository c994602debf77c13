package broker

import (
	"fmt"
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
	opens                 // buys an option
	returns               // pays capital back
	merges                // shares of a company that was taken over go; cash, or the other's shares, come
	spins                 // shares of a company that was part of another come
	renames               // shares go under one symbol and come under another
	reverses              // shares go, and fewer of the same come
	other                 // it has an effect that can't be imported
)

// An entry is a row of a broker's file. Its numbers have the signs that the file gives them.
type entry struct {
	place
	does     deed
	why      string // for untracked and other: the reason, and what to do
	action   string // as the broker says it
	date     portfolio.Date
	section  string         // of the file, where it has several
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
	name     string // the security's, as the file describes it
	stock    bool   // the file says that the security is a stock
	cost     bool   // the price of transferred shares is what they cost
	of       option
	contract string // the option's own symbol, as the file writes it
	// perContract is how many shares an option is for, where the file says it.
	perContract portfolio.Decimal
	// Of what a company decided, where the file says these: the symbol or the name that it began
	// with, the new shares for one old, what rows of one event have in common, and the day on which
	// cash was paid if it is not the date.
	from, fromName string
	ratio          portfolio.Decimal
	event          string
	paid           portfolio.Date
	both           bool // shares and cash come
	unlike         bool // what looks like a split may be a spin-off
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
	reorganised   = "it changes what the account has in a way that the row does not tell; write what it did in canonical form, as MERGER, SPINOFF, RENAME, SPLIT or SELL"
	inLieu        = "a fraction of a share was paid out; write it in canonical form as SELL"
	cancelled     = "it takes back another row, or corrects it; take both out of the file and import it anew (portfolio imports remove), and write the right one in canonical form if there is one"
	otherCurrency = "amounts are in another currency than USD"
	noTicker      = "the security has no ticker symbol; write the row in canonical form with one"
)

// book makes a transaction of an entry, or skips it with the reason. What companies decided, and
// splits without a ratio, wait until all rows are known.
func (r *reading) book(e entry) {
	r.step(e.account, e.section, e.sortedBy())
	e.contract, e.symbol = e.symbol, portfolio.Symbol(e.symbol)
	r.learn(e)
	if (e.does == pays || e.does == cash) && e.symbol != "" && deedOf(e.name) == returns {
		e.does = returns // the action says that money came, and the description which
	}
	o, isOption := e.option()
	switch {
	case e.does == sweeps, (e.does == cash || e.does == moves) && e.quantity.IsZero(), e.does == unclear && e.symbol == "" && e.quantity.IsZero():
		r.known(e.place, cashAlone)
	case e.does == untracked:
		r.known(e.place, e.why)
	case isOption:
		r.bookOption(e, o)
	case e.does == unclear:
		r.doubt(e, fmt.Sprintf("the action %.60q is unknown; write the row in canonical form", e.action))
	case e.does == other:
		r.doubt(e, e.why)
	case e.does == short:
		r.doubt(e, shortSale)
	case e.isMoney():
		r.known(e.place, moneyFund)
	case e.does == merges, e.does == spins, e.does == renames, e.does == reverses:
		r.events = append(r.events, e)
	case e.symbol == "" || !ticker(e.symbol):
		r.doubt(e, noTicker)
	case e.does == cash:
		r.doubt(e, fmt.Sprintf("shares with the action %.60q, which should move cash alone; write the row in canonical form", e.action))
	case e.does == pays:
		r.pay(e)
	case e.does == returns:
		r.payBack(e)
	case e.does == splits:
		r.splits = append(r.splits, e)
	default:
		r.trade(e)
	}
}

// paidInLieu remembers that a fraction of a share was paid out, so that the shares of the position
// don't tell a ratio.
func (r *reading) paidInLieu(e entry) {
	if r.inLieu == nil {
		r.inLieu = map[position]bool{}
	}
	r.inLieu[position{e.account, e.symbol}] = true
}

// payBack books capital that was paid back. It lowers the cost of the shares that it was paid for,
// and most files do not say how many these are.
func (r *reading) payBack(e entry) {
	switch {
	case e.amount.Sign() <= 0:
		r.doubt(e, "it takes back capital that was paid, or pays nothing; correct the row that it belongs to in canonical form as RETURN_OF_CAPITAL")
	case e.quantity.Sign() <= 0:
		r.doubt(e, fmt.Sprintf("a return of capital of %s in all, and the row does not say for how many shares; write it in canonical form, where SHARES is the shares that the account had, and PRICE is what was paid for one: %s",
			e.amount, canonicalLine(e.date, e.account, portfolio.ReturnOfCapital, e.symbol, "SHARES", "PRICE")))
	default:
		r.add(e.place, portfolio.Transaction{
			Date: e.date, Account: e.account, Action: portfolio.ReturnOfCapital, Symbol: e.symbol, Quantity: e.quantity,
			Price: perShare(e.amount, e.quantity), Amount: e.amount,
		})
	}
}

// doubt skips a row and remembers that the count of the symbol's shares is not certain. A row with a
// CUSIP waits until all names are known.
func (r *reading) doubt(e entry, reason string) {
	e.symbol = portfolio.Symbol(e.symbol)
	if optionSymbol(e.symbol) {
		e.symbol = parseOption(e.symbol).underlying
	}
	if !ticker(e.symbol) {
		e.why = reason
		r.numbered = append(r.numbered, e)
		return
	}
	if reason == inLieu {
		r.paidInLieu(e)
	}
	if r.doubtful == nil {
		r.doubtful = map[position]bool{}
	}
	r.doubtful[position{e.account, e.symbol}] = true
	r.unread(e.place, e.subject(), reason)
}

// settleNumbered skips the rows that have a CUSIP. What the name tells is of that ticker: brokers write the
// number of a company that is gone, or has another. What nobody knows, and may have taken shares, may be of
// any ticker of the account.
func (r *reading) settleNumbered() {
	bought := map[position]bool{}
	for _, e := range r.numbered {
		bought[position{e.account, e.symbol}] = bought[position{e.account, e.symbol}] || e.does == buys || e.does == reinvests
	}
	for _, e := range r.numbered {
		if symbol := r.symbolOf(e); symbol != "" {
			e.symbol = symbol
			r.doubt(e, e.why)
			continue
		}
		r.unread(e.place, e.subject(), e.why)
		if e.does != buys && e.does != reinvests && !bought[position{e.account, e.symbol}] && !e.isBond() {
			e.symbol = ""
			r.doubt(e, e.why)
		}
	}
}

// isBond tells a bond by what was paid for it: its price is in percent, and at its end it pays one for one.
func (e *entry) isBond() bool {
	paid, par := e.amount.Abs(), e.quantity.Abs()
	if paid.IsZero() || par.IsZero() {
		return false
	}
	const tenth = 10 // of the price: interest and fees come with it
	percent := par.Mul(e.price.Abs()).Over(portfolio.NewDecimal(100, 0), 2)
	return paid.Cmp(par) == 0 || percent.Sub(paid).Abs().Mul(portfolio.NewDecimal(tenth, 0)).Cmp(paid) < 0
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
		// What a broker writes beside transferred shares is their value on that day, as a rule.
		if !e.cost {
			t.Price = portfolio.Decimal{}
		}
		t.Fees, t.Amount = portfolio.Decimal{}, portfolio.Decimal{}
	}
	r.add(e.place, t)
}

// ticker tells whether a symbol can be one. CUSIPs have nine characters, ISINs twelve, with
// digits among them; no ticker is like that.
func ticker(s string) bool { return len(s) < 9 || !strings.ContainsAny(s, "0123456789") }

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
