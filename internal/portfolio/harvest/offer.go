package harvest

import (
	"cmp"
	"fmt"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// An Offer is a candidate as an agent needs it in order to act: which lot of which account to sell,
// and what the wash-sale rule makes of that. Its amounts hold if the lot is sold alone; the snapshot says so
// where that matters.
type Offer struct {
	Ticker       string         `json:"ticker"`
	Account      string         `json:"account"`
	Acquired     portfolio.Date `json:"acquired"`
	Shares       float64        `json:"shares"`
	Loss         float64        `json:"loss"`
	Term         string         `json:"term"`
	Disallowed   float64        `json:"disallowed"`                       // of the loss, if it is sold now
	Permanent    *float64       `json:"permanently_disallowed,omitempty"` // of what is disallowed, if anything is
	NoBuyUntil   portfolio.Date `json:"no_buy_until"`                     // the first day on which a purchase is free
	WashFreeFrom portfolio.Date `json:"wash_free_from,omitzero"`          // the first day on which nothing bought so far washes the sale
	NameTheLot   bool           `json:"name_the_lot,omitempty"`           // or the account sells another one first
	// Reinvestment is the first day on which a dividend is expected to buy, and so to wash a part of the loss.
	Reinvestment portfolio.Date `json:"reinvestment_expected,omitzero"`
	// WashedBy is the purchase that washes the most of it, if any does.
	WashedBy *Washer `json:"washed_by,omitempty"`
	// StalePrice is the day of the price, if it is old: the loss is not known.
	StalePrice portfolio.Date `json:"stale_price_of,omitzero"`

	first *First
}

// A Washer is a purchase that washes a loss.
type Washer struct {
	Account string         `json:"account"`
	Bought  portfolio.Date `json:"bought"`
	Shares  float64        `json:"shares"`
}

// washer is the purchase that washes the most, and the first of those that wash alike. What the law does not
// say for sure is none.
func washer(washes []reply.Wash) *Washer {
	var most *reply.Wash
	for i := range washes {
		if w := &washes[i]; !w.Unsettled && (most == nil || w.Loss.Cmp(most.Loss) > 0) {
			most = w
		}
	}
	if most == nil {
		return nil
	}
	return &Washer{most.Account, most.Bought, agentformat.Number(most.Quantity)}
}

// maxOffers is how many are sent.
const maxOffers = 10

// offers are all candidates, in the order that was asked for.
func offers(candidates []Candidate) []Offer {
	list := make([]Offer, len(candidates))
	for i, c := range candidates {
		list[i] = Offer{
			Ticker: tickerName(c.Ticker), Account: c.Account, Acquired: c.Acquired,
			Shares: agentformat.Number(c.Quantity), Loss: agentformat.Number(c.UnrealizedLoss), Term: cmp.Or(c.Term, "unknown"),
			Disallowed: agentformat.Number(c.Disallowed), WashedBy: washer(c.Washes),
			NoBuyUntil: c.NoBuyUntil, WashFreeFrom: c.WashFreeFrom, NameTheLot: c.SoldFirst != nil, first: c.SoldFirst,
		}
		if c.Disallowed.Sign() > 0 {
			list[i].Permanent = new(agentformat.Number(c.Permanent))
		}
		for _, p := range c.Projected {
			if list[i].Reinvestment.IsZero() || p.Date.Before(list[i].Reinvestment) {
				list[i].Reinvestment = p.Date
			}
		}
		if c.StalePrice {
			list[i].StalePrice = c.PriceDate
		}
	}
	return list
}

// sent is the offer as it is sent: amounts in cents, names cut.
func (o Offer) sent() Offer {
	o.Ticker, o.Account = reply.ShortTicker(o.Ticker), reply.ShortAccount(o.Account)
	o.Shares, o.Loss = reply.Short(o.Shares, 6), reply.Short(o.Loss, 2)
	o.Disallowed = reply.Short(o.Disallowed, 2)
	if o.Permanent != nil {
		o.Permanent = new(reply.Short(*o.Permanent, 2))
	}
	if w := o.WashedBy; w != nil {
		o.WashedBy = &Washer{reply.ShortAccount(w.Account), w.Bought, reply.Short(w.Shares, 6)}
	}
	return o
}

// toName are those of the offers that are shown whose lot a sale has to name.
func (s Snapshot) toName() (list []Offer) {
	for _, o := range s.Lots[:s.shown] {
		if o.NameTheLot {
			list = append(list, o)
		}
	}
	return list
}

// namedLots is named for lots, with what is sold instead of each: ": A in X of 2024-03-01 (first: that of
// 2024-01-02, a gain) + 2 more".
func (f *flags) namedLots(list []Offer) string {
	var names []string
	for _, o := range list[:min(len(list), f.names)] {
		names = append(names, fmt.Sprintf("%s in %s of %s (first: %s)", reply.ShortTicker(o.Ticker), reply.ShortAccount(o.Account), o.Acquired, o.first))
	}
	return reply.Listed(names, len(list))
}
