package exitsignal

import (
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// Tax is what a recommended sale means in tax, if it is made at the last price. Gains are
// before anything is disallowed, losses are less than zero, and what is disallowed of them is more
// than zero.
type Tax struct {
	SaleDate              portfolio.Date    `json:"sale_date"`
	Price                 portfolio.Decimal `json:"price"`
	Sales                 []Holding         `json:"sales"` // which account sells how much
	ShortTermGain         portfolio.Decimal `json:"short_term_gain"`
	LongTermGain          portfolio.Decimal `json:"long_term_gain"`
	Disallowed            portfolio.Decimal `json:"disallowed"`
	PermanentlyDisallowed portfolio.Decimal `json:"permanently_disallowed"` // the part of it that is lost for good
	Unsettled             portfolio.Decimal `json:"unsettled"`              // allowed here, but the law does not say so for sure
	QuantityUntaxed       portfolio.Decimal `json:"quantity_untaxed"`       // in retirement accounts
	QuantityWithoutCost   portfolio.Decimal `json:"quantity_without_cost"`  // whose gain is unknown
	// NoBuyUntil is the first day on which a purchase no longer washes a loss of the sale.
	NoBuyUntil portfolio.Date `json:"no_buy_until,omitzero"`
	// WashFreeFrom is the first day on which no purchase made so far washes the sale.
	WashFreeFrom portfolio.Date `json:"wash_free_from,omitzero"`
	Lots         []Lot          `json:"lots"`
}

// A Lot is what a sale takes of one lot.
type Lot struct {
	AccountID             string            `json:"account_id"`
	Acquired              portfolio.Date    `json:"acquired"`
	HoldingSince          portfolio.Date    `json:"holding_since"`
	Quantity              portfolio.Decimal `json:"quantity"`
	Proceeds              portfolio.Decimal `json:"proceeds"`
	Basis                 portfolio.Decimal `json:"basis"`
	Gain                  portfolio.Decimal `json:"gain"`
	Term                  string            `json:"term"` // short or long
	Disallowed            portfolio.Decimal `json:"disallowed"`
	PermanentlyDisallowed portfolio.Decimal `json:"permanently_disallowed"`
	Unsettled             portfolio.Decimal `json:"unsettled"`
	Washes                []reply.Wash      `json:"washes"`
}

// tax adds the sales to the history and keeps the book of that: the engine that works out what
// was sold also works out what would be. The history is that up to the day, and the book is its own:
// the sales are the last of the day, so they take what the day left.
func (in Input) tax(r *Result, sales []portfolio.Decimal, history []portfolio.Transaction, book *lots.Book) *Tax {
	tax := &Tax{SaleDate: in.AsOf, Price: r.LastPrice, Sales: []Holding{}, Lots: []Lot{}}
	made := 0
	for _, d := range book.Disposals {
		made = max(made, d.Sale)
	}
	for i, quantity := range sales {
		if quantity.IsZero() {
			continue
		}
		account := r.Position.Accounts[i]
		tax.Sales = append(tax.Sales, Holding{account.AccountID, account.Kind, quantity})
		if account.Kind == portfolio.Taxable {
			tax.QuantityWithoutCost = tax.QuantityWithoutCost.Add(quantity)
		} else {
			tax.QuantityUntaxed = tax.QuantityUntaxed.Add(quantity)
		}
		history = append(history, portfolio.Transaction{
			Date: tax.SaleDate, Account: account.AccountID, Action: portfolio.Sell, Symbol: in.Ticker, Quantity: quantity, Price: r.LastPrice,
		})
	}
	for _, d := range lots.Build(history, in.Rules, tax.SaleDate).Disposals {
		if d.Sale > made && d.Sold == tax.SaleDate && d.Symbol == in.Ticker {
			tax.add(d)
		}
	}
	if tax.QuantityWithoutCost.Sign() > 0 {
		r.note("%s of the shares to sell came in without their cost, so their gain is unknown", tax.QuantityWithoutCost)
	}
	return tax
}

func (t *Tax) add(d lots.Disposal) {
	lot := Lot{
		AccountID: d.Account, Acquired: d.Acquired, HoldingSince: d.HoldingSince, Quantity: d.Quantity,
		Proceeds: d.Proceeds, Basis: d.Basis, Gain: d.Gain(), Term: d.Term(),
		Disallowed: d.Disallowed, PermanentlyDisallowed: d.Permanent, Unsettled: d.Unsettled, Washes: []reply.Wash{},
	}
	if d.Long() {
		t.LongTermGain = t.LongTermGain.Add(lot.Gain)
	} else {
		t.ShortTermGain = t.ShortTermGain.Add(lot.Gain)
	}
	for _, w := range d.Washes {
		lot.Washes = append(lot.Washes, reply.NewWash(w))
		if free := w.Bought.Add(lots.WashDays + 1); free.After(t.WashFreeFrom) {
			t.WashFreeFrom = free
		}
	}
	t.Disallowed = t.Disallowed.Add(d.Disallowed)
	t.PermanentlyDisallowed = t.PermanentlyDisallowed.Add(d.Permanent)
	t.Unsettled = t.Unsettled.Add(d.Unsettled)
	t.QuantityWithoutCost = t.QuantityWithoutCost.Sub(d.Quantity)
	if lot.Gain.Sign() < 0 {
		t.NoBuyUntil = t.SaleDate.Add(lots.WashDays + 1)
	}
	t.Lots = append(t.Lots, lot)
}
