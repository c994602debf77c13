// Package portfolio has the words of a private portfolio: calendar dates, exact
// amounts, transactions and accounts. It does no I/O and reads no clock. What is
// made of them is in the packages below it:
//
//	broker    reads the files of brokers
//	store     keeps what was read, in one SQLite file
//	settings  accounts and rules, from YAML
//	lots      who bought and sold what, wash sales, realised gains
//	price     daily prices, a market's calendar, indicators
//	exitrule  rules that say when to leave a position
//	harvest   the tool that looks for losses
//	exitsignal the tool that checks exit rules
//	listing   the tools that list positions and gains
//	report    the same for people, as a page
//	beancount the history for another program
//	answer    answers questions from a store: the reading and writing around the above
//	mcpserver the tools over the Model Context Protocol
//	cli       the command line
package portfolio

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// An Action is what a transaction does.
type Action string

// The actions of the canonical format.
const (
	Buy         Action = "BUY"
	Sell        Action = "SELL"
	Reinvest    Action = "REINVEST" // shares bought with a dividend
	Split       Action = "SPLIT"    // Quantity is the new shares for one old
	Dividend    Action = "DIVIDEND"
	TransferIn  Action = "TRANSFER_IN"
	TransferOut Action = "TRANSFER_OUT"
	// ReturnOfCapital pays Amount, or Price for a share, out of what the account's shares cost.
	ReturnOfCapital Action = "RETURN_OF_CAPITAL"
	// Spinoff gives Ratio shares of Into for one of Symbol, and BasisShare of its cost with them.
	Spinoff Action = "SPINOFF"
	// Merger takes Quantity shares of Symbol, which are all of the account's. For cash alone, Into is
	// empty and Price or Amount is what was paid, as in a sale. For shares, there are Ratio shares of
	// Into for one. If cash comes with them, it is Price for one share of Symbol, or Amount in all, and
	// IntoPrice is what one share of Into was worth.
	Merger Action = "MERGER"
	// Rename makes Into of Symbol, share for share, in all accounts.
	Rename Action = "RENAME"
	// BuyCall buys the right to buy Quantity shares of Symbol. It is no position here, but may
	// take a loss away.
	BuyCall Action = "BUY_CALL"
)

// Actions are all of them. On a day, those that a company decides come before those that an owner
// does.
func Actions() []Action {
	return []Action{
		Split, Rename, Spinoff, Merger, ReturnOfCapital,
		Buy, Reinvest, TransferOut, TransferIn, Sell, Dividend, BuyCall,
	}
}

// A Transaction is one row of an account's history.
type Transaction struct {
	Date     Date
	Time     Clock // of the day, where the source says it
	Account  string
	Action   Action
	Symbol   string
	Quantity Decimal
	Price    Decimal // of one share
	Fees     Decimal
	// Amount is what was paid or received in all, fees included, where the source says so: a
	// broker's rounded total is right and quantity times price is not. Zero is not said.
	Amount Decimal
	// FreeOfCost tells that shares which came in cost nothing. A transfer that has neither this nor
	// a cost says nothing of it.
	FreeOfCost bool
	Order      string  // the broker's id of the order that this is a fill of
	Ratio      Decimal // shares of Into for one of Symbol
	BasisShare Decimal // the part of the cost that goes to Into, from 0 to 1
	Into       string  // the symbol that a company's decision leads to
	IntoPrice  Decimal // what one share of Into was worth
	Note       string
}

// An Unread is a row of a file that does something, though nobody could read what. Its texts can be
// printed as they are. What the row does not say is empty.
type Unread struct {
	Date    Date
	Account string
	Symbol  string
	Line    int
	Text    string // the row's beginning
	Reason  string // and what the user can do
	// Original is set in a copy that a list has for another ticker which the row may concern: it is the place
	// of the row itself in that list, counted from 1.
	Original int
}

// Cost is what the shares cost, fees included.
func (t Transaction) Cost() Decimal {
	if !t.Amount.IsZero() {
		return t.Amount
	}
	return t.Quantity.Mul(t.Price).Add(t.Fees)
}

// Proceeds is what a sale brought, after fees.
func (t Transaction) Proceeds() Decimal {
	if !t.Amount.IsZero() {
		return t.Amount
	}
	return t.Quantity.Mul(t.Price).Sub(t.Fees)
}

// NamedLot is the day in a note that names the lot to sell or move, "lot:2024-03-01", or the
// day on which transferred shares were bought. It stands as a word of its own; the first counts.
func (t Transaction) NamedLot() (Date, bool) {
	apart := func(c rune) bool { return strings.ContainsRune(" .,;()[]", c) }
	for word := range strings.FieldsFuncSeq(t.Note, apart) {
		text, marked := strings.CutPrefix(word, "lot:")
		if !marked {
			continue
		}
		if day, err := ParseDate(text); err == nil {
			return day, true
		}
	}
	return Date{}, false
}

// The longest texts of a transaction, in bytes.
const (
	maxSymbol  = 32
	maxAccount = 64
	maxNote    = 512
	maxOrder   = 64
)

// The ratios that splits have.
var leastRatio, mostRatio = NewDecimal(1, -6), NewDecimal(1, 6)

// Check says what is wrong with a transaction, if anything is.
func (t Transaction) Check() error {
	switch {
	case t.Date.IsZero():
		return errors.New("there is no date")
	case !slices.Contains(Actions(), t.Action):
		return fmt.Errorf("the action %.32q is unknown; the actions are %s", t.Action, actionNames())
	case t.Account == "":
		return errors.New("there is no account")
	case t.Symbol == "":
		return errors.New("there is no symbol")
	case len(t.Account) > maxAccount || !printable(t.Account):
		return fmt.Errorf("the account's name is longer than %d bytes or has characters that can't be printed", maxAccount)
	case !IsSymbol(t.Symbol):
		return fmt.Errorf("%.40q is no symbol", t.Symbol)
	case len(t.Note) > maxNote || !printable(t.Note):
		return fmt.Errorf("the note is longer than %d bytes or has characters that can't be printed", maxNote)
	case len(t.Order) > maxOrder || !printable(t.Order):
		return fmt.Errorf("the order's id is longer than %d bytes or has characters that can't be printed", maxOrder)
	case t.Quantity.Sign() < 0 || t.Quantity.IsZero() && !t.Action.countsNothing():
		return fmt.Errorf("the quantity of a %s is more than zero, not %s", t.Action, t.Quantity)
	case t.Action == Split && !isRatio(t.Quantity):
		return fmt.Errorf("a split gives %s to %s new shares for one old, not %s", leastRatio, mostRatio, t.Quantity)
	case t.Price.Sign() < 0:
		return fmt.Errorf("the price %s is less than zero", t.Price)
	case t.Amount.Sign() < 0:
		return fmt.Errorf("the amount %s is less than zero", t.Amount)
	}
	return t.checkInto()
}

// checkInto says what is wrong with the symbol that a company's decision leads to, and what comes of it.
func (t Transaction) checkInto() error {
	leads := t.Action == Spinoff || t.Action == Rename || t.Action == Merger && t.Into != ""
	one := NewDecimal(1, 0)
	switch {
	case !leads && (t.Into != "" || !t.Ratio.IsZero() || !t.BasisShare.IsZero() || !t.IntoPrice.IsZero()):
		return fmt.Errorf("a %s leads to no other symbol, and has no ratio, basis_share or into_price", t.Action)
	case !leads:
		return nil
	case !IsSymbol(t.Into):
		return fmt.Errorf("into is the symbol that the %s leads to, not %.40q", t.Action, t.Into)
	case t.Into == t.Symbol:
		return fmt.Errorf("the %s leads from %s to itself", t.Action, t.Symbol)
	case t.Action != Rename && !isRatio(t.Ratio):
		return fmt.Errorf("ratio is how many shares of %s came for one of %s, from %s to %s, not %s", t.Into, t.Symbol, leastRatio, mostRatio, t.Ratio)
	case t.Action == Rename && !t.Ratio.IsZero() && t.Ratio.Cmp(one) != 0:
		return fmt.Errorf("a RENAME is share for share; write a SPLIT of %s besides", t.Ratio)
	case t.Action == Spinoff && (t.BasisShare.Sign() <= 0 || t.BasisShare.Cmp(one) >= 0):
		return fmt.Errorf("basis_share is the part of the cost that goes to %s, between 0 and 1, not %s; the company says it in its Form 8937", t.Into, t.BasisShare)
	case t.Action != Spinoff && !t.BasisShare.IsZero():
		return fmt.Errorf("a %s takes the whole cost along, and has no basis_share", t.Action)
	case t.IntoPrice.Sign() < 0:
		return fmt.Errorf("into_price %s is less than zero", t.IntoPrice)
	case t.Action == Merger && t.IntoPrice.IsZero() && (!t.Price.IsZero() || !t.Amount.IsZero()):
		return fmt.Errorf("of a MERGER for shares and cash, into_price says what one share of %s was worth on that day: the gain can't be told without it", t.Into)
	}
	return nil
}

func isRatio(r Decimal) bool { return r.Cmp(leastRatio) >= 0 && r.Cmp(mostRatio) <= 0 }

// countsNothing tells of an action that may leave out how many shares it is about.
func (a Action) countsNothing() bool { return a == Dividend || a == Spinoff || a == Rename }

func actionNames() string {
	names := make([]string, 0, len(Actions()))
	for _, a := range Actions() {
		names = append(names, string(a))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Symbol is a ticker as it is kept: in capitals, and with a point before the class of a share,
// which some write with a slash.
func Symbol(s string) string {
	return strings.ReplaceAll(strings.ToUpper(strings.TrimSpace(s)), "/", ".")
}

// IsSymbol tells whether s can be a ticker: no blanks, so that it stands in a file name, a table
// and a sentence.
func IsSymbol(s string) bool {
	for _, c := range s {
		if c <= ' ' || c > '~' || strings.ContainsRune(`"'<>\,;`, c) {
			return false
		}
	}
	return s != "" && len(s) <= maxSymbol
}

func printable(s string) bool { return safetext.Escape(s) == s }

// A Kind is what an account is for the tax office.
type Kind string

// The kinds of accounts.
const (
	Taxable Kind = "taxable"
	IRA     Kind = "ira"
	Roth    Kind = "roth"
	K401    Kind = "401k"
)

// A Method picks the lots that a sale takes when it names none.
type Method string

// The methods: first in, first out, and highest cost first.
const (
	FIFO Method = "fifo"
	HIFO Method = "hifo"
)

// An Account is what its owner says of it.
type Account struct {
	ID       string `json:"id"`
	Kind     Kind   `json:"kind"`
	Owner    string `json:"owner"`
	Method   Method `json:"method"`
	Reinvest *bool  `json:"reinvest,omitempty"` // whether dividends buy shares; nil is not said
}

// Unlisted is what is taken of an account that nobody described.
func Unlisted(id string) Account {
	return Account{ID: id, Kind: Taxable, Method: FIFO}
}

// Check says what is wrong with an account, if anything is.
func (a Account) Check() error {
	switch {
	case a.ID == "" || len(a.ID) > maxAccount || !printable(a.ID):
		return fmt.Errorf("an account's id is 1 to %d printable bytes, not %.80q", maxAccount, a.ID)
	case !slices.Contains([]Kind{Taxable, IRA, Roth, K401}, a.Kind):
		return fmt.Errorf("account %s: the kind is taxable, ira, roth or 401k, not %.40q", a.ID, a.Kind)
	case !slices.Contains([]Method{FIFO, HIFO}, a.Method):
		return fmt.Errorf("account %s: the method is fifo or hifo, not %.40q", a.ID, a.Method)
	case len(a.Owner) > maxAccount || !printable(a.Owner):
		return fmt.Errorf("account %s: the owner's name is at most %d printable bytes", a.ID, maxAccount)
	}
	return nil
}
