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
//	tools     the two tools that agents call
//	report    the same for people, as a page
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
)

// Actions are all of them, in the order in which a day's transactions take effect: shares
// are there before they leave, and a split comes before everything.
func Actions() []Action {
	return []Action{Split, Buy, Reinvest, TransferOut, TransferIn, Sell, Dividend}
}

// A Transaction is one row of an account's history.
type Transaction struct {
	Date     Date
	Account  string
	Action   Action
	Symbol   string
	Quantity Decimal
	Price    Decimal // of one share
	Fees     Decimal
	// Amount is what was paid or received in all, fees included, where the source says so: a
	// broker's rounded total is right and quantity times price is not. Zero is not said.
	Amount Decimal
	Note   string
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
)

// The ratios that splits have.
var leastRatio, mostRatio = NewDecimal(1, -6), NewDecimal(1, 6)

// Check says what is wrong with a transaction, if anything is.
func (t Transaction) Check() error {
	switch {
	case t.Date.IsZero():
		return errors.New("there is no date")
	case !slices.Contains(Actions(), t.Action):
		return fmt.Errorf("the action %.32q is unknown; the actions are BUY, SELL, REINVEST, SPLIT, DIVIDEND, TRANSFER_IN and TRANSFER_OUT", t.Action)
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
	case t.Quantity.Sign() < 0 || t.Quantity.IsZero() && t.Action != Dividend:
		return fmt.Errorf("the quantity of a %s is more than zero, not %s", t.Action, t.Quantity)
	case t.Action == Split && (t.Quantity.Cmp(leastRatio) < 0 || t.Quantity.Cmp(mostRatio) > 0):
		return fmt.Errorf("a split gives %s to %s new shares for one old, not %s", leastRatio, mostRatio, t.Quantity)
	case t.Price.Sign() < 0:
		return fmt.Errorf("the price %s is less than zero", t.Price)
	case t.Amount.Sign() < 0:
		return fmt.Errorf("the amount %s is less than zero", t.Amount)
	}
	return nil
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
