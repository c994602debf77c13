// Package lots says who bought and sold what: open lots, realised gains, and the losses that
// the wash-sale rule takes away (IRC 1091). It is a function from a history to a book.
//
// A lot is what is left of one purchase. A sale takes lots of its own account: those that its
// note names, else the oldest first or the dearest first. Shares of unknown cost count as bought on
// the day on which they came in, before the lots of that day; the dearest first takes them last. Rows of one day count in their order, or
// by their time. Fills of one order are one purchase. A loss is disallowed as far as
// substantially identical shares were bought within 30 days before or after the sale in any
// account of the household: share for share, earliest loss first, earliest purchase first, each
// bought share once. The disallowed loss moves to the basis of the replacement, whose holding
// period grows by the days that the sold shares were held. What one sale took of one purchase, held
// for the same time, has one loss, the same for each of its shares. In an IRA it is lost for good. Shares
// of the same purchase as the sold ones replace nothing, nor do shares that were sold before or
// together with them.
package lots

import (
	"slices"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A Lot is shares of one purchase that are still held. One purchase can be several lots: a
// replacement of a wash sale has a basis and a holding period of its own.
type Lot struct {
	ID           int // in its book
	Purchase     int // the same for all lots of one purchase
	Account      string
	Symbol       string
	Acquired     portfolio.Date
	HoldingSince portfolio.Date // earlier than Acquired by what a wash sale added
	Quantity     portfolio.Decimal
	Basis        portfolio.Decimal
	Deferred     portfolio.Decimal // the part of Basis that is a disallowed loss
	Reinvested   bool
}

// Long tells whether a sale of the lot on a day is long-term.
func (l Lot) Long(on portfolio.Date) bool { return !on.Before(l.HoldingSince.LongTermFrom()) }

// The terms in a word.
const (
	ShortTerm = "short"
	LongTerm  = "long"
)

// A Disposal is what one sale took of one purchase, held for the same time, at a gain or at a loss:
// a row of Form 8949, or a part of one. Sales in retirement accounts are none. The Action says what
// it was: a SELL; a MERGER, whose Proceeds are the cash, and whose Basis is the part of the cost that
// the cash stands against; a RETURN_OF_CAPITAL, of which the part beyond the cost is a gain with no
// basis, while the shares are still held.
type Disposal struct {
	Sale         int // the same for all that one sale took
	Action       portfolio.Action
	Purchase     int // the same for all lots of one purchase
	Account      string
	Symbol       string
	Acquired     portfolio.Date
	HoldingSince portfolio.Date
	Sold         portfolio.Date
	Quantity     portfolio.Decimal
	Proceeds     portfolio.Decimal
	Basis        portfolio.Decimal
	Disallowed   portfolio.Decimal // all that is disallowed of a loss
	Permanent    portfolio.Decimal // the part of it that no basis got
	Unsettled    portfolio.Decimal // not disallowed here, but the law does not say so for sure
	Washes       []Wash
}

// Rows are the disposals as a form has them: what one sale took of one purchase, short- or
// long-term, at a gain or at a loss, is one row, though a wash sale may have given the purchase
// several bases.
func (b *Book) Rows() (rows []Disposal) {
	type kind struct {
		purchase   int
		long, loss bool
	}
	at := map[kind]int{} // of one sale
	for _, d := range b.Disposals {
		if len(rows) > 0 && rows[len(rows)-1].Sale != d.Sale {
			clear(at)
		}
		key := kind{d.Purchase, d.Long(), d.atLoss()}
		i, ok := at[key]
		if !ok {
			at[key] = len(rows)
			d.Washes = slices.Clip(d.Washes) // what is added is not the book's
			rows = append(rows, d)
			continue
		}
		row := &rows[i]
		row.Quantity, row.Proceeds, row.Basis = row.Quantity.Add(d.Quantity), row.Proceeds.Add(d.Proceeds), row.Basis.Add(d.Basis)
		row.Disallowed, row.Permanent, row.Unsettled = row.Disallowed.Add(d.Disallowed), row.Permanent.Add(d.Permanent), row.Unsettled.Add(d.Unsettled)
		row.Washes = append(row.Washes, d.Washes...)
	}
	return rows
}

// LotRows are the lots with those of one purchase together that are held for the same time.
func (b *Book) LotRows() (rows []Lot) {
	for _, l := range b.Lots {
		if i := len(rows) - 1; i >= 0 && rows[i].Purchase == l.Purchase && rows[i].Account == l.Account && rows[i].HoldingSince == l.HoldingSince {
			rows[i].Quantity, rows[i].Basis, rows[i].Deferred = rows[i].Quantity.Add(l.Quantity), rows[i].Basis.Add(l.Basis), rows[i].Deferred.Add(l.Deferred)
			continue
		}
		rows = append(rows, l)
	}
	return rows
}

// Gain is proceeds less basis, before anything is disallowed.
func (d Disposal) Gain() portfolio.Decimal { return d.Proceeds.Sub(d.Basis) }

func (d Disposal) atLoss() bool { return d.Gain().Sign() < 0 }

// Term is the gain's or loss's term in a word.
func (d Disposal) Term() string {
	if d.Long() {
		return LongTerm
	}
	return ShortTerm
}

// Long tells whether the gain or loss is long-term.
func (d Disposal) Long() bool { return !d.Sold.Before(d.HoldingSince.LongTermFrom()) }

// OpenUntil is the last day on which a purchase still takes something of a loss away, if that day has
// not passed.
func (d Disposal) OpenUntil(asOf portfolio.Date) portfolio.Date {
	if last := d.Sold.Add(WashDays); d.Gain().Add(d.Disallowed).Sign() < 0 && !last.Before(asOf) {
		return last
	}
	return portfolio.Date{}
}

// A Wash is a loss that one purchase takes away.
type Wash struct {
	Account   string // of the purchase
	Symbol    string
	Bought    portfolio.Date
	Quantity  portfolio.Decimal // bought shares that replace sold ones
	Loss      portfolio.Decimal // disallowed, more than zero
	Permanent bool              // an IRA bought: nobody gets the loss
	Unsettled bool              // a 401(k), a similar fund or a call was bought: the loss is not counted as disallowed
	Call      bool              // what was bought is the right to buy so many shares
}

// A Position is how many shares an account has by its transactions. Those without a lot came in
// with a transfer that said nothing of their cost.
type Position struct {
	Account  string
	Symbol   string
	Quantity portfolio.Decimal
	InLots   portfolio.Decimal
}

// A Problem is a transaction that the history does not explain.
type Problem struct {
	Date    portfolio.Date
	Account string
	Symbol  string
	Text    string
}

// Untold is what was sold in a taxable account and is in no row of gains, because nobody knows what
// it cost.
type Untold struct {
	Account  string
	Symbol   string
	Sold     portfolio.Date
	Quantity portfolio.Decimal
	Proceeds portfolio.Decimal
}

// A Split is one that took effect.
type Split struct {
	Date  portfolio.Date
	Ratio portfolio.Decimal // new shares for one old
}

// LastSplit is the day of a symbol's last split, or no day. Prices from before it are of other
// shares than those that are held.
func (b *Book) LastSplit(symbol string) (day portfolio.Date) {
	if splits := b.Splits[symbol]; len(splits) > 0 {
		day = splits[len(splits)-1].Date
	}
	return day
}

// Rules are what a book is kept by.
type Rules struct {
	Accounts  []portfolio.Account // what is not in it is taxable, first in first out
	Identical [][]string          // symbols that are one for the wash-sale rule
	Similar   [][]string          // symbols of which nobody knows: labelled, not disallowed
}

// A Book is what a history comes to on a day.
type Book struct {
	AsOf      portfolio.Date
	Lots      []Lot              // open, by symbol, account and day
	Disposals []Disposal         // by day of sale
	Positions []Position         // by symbol and account; none that are empty
	Splits    map[string][]Split // of each symbol, by day
	Problems  []Problem
	Untold    []Untold // sales, or parts of them, that no lot explains

	groups   groups
	recent   map[string][]*lot // of a group, the purchases that a loss of that day can be washed by
	doubtful []purchase
	unknown  map[place]*holding // those that have shares of unknown cost
}

// UnknownBefore tells whether a sale that names no lot takes shares of unknown cost before a lot of
// that day. If it does not, and there are such shares, it takes the lot, but nobody knows whether that
// is right.
func (b *Book) UnknownBefore(account, symbol string, acquired portfolio.Date) bool {
	h := b.unknown[place{account, symbol}]
	return h != nil && h.unknownBefore(acquired)
}
