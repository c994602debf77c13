package harvest

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// An Offer is a candidate as an agent needs it in order to act: which lot of which account to sell,
// and what the wash-sale rule makes of that. Its amounts hold if the lot is sold alone.
type Offer struct {
	Ticker       string         `json:"ticker"`
	Account      string         `json:"account"`
	Acquired     portfolio.Date `json:"acquired"`
	Shares       float64        `json:"shares"`
	Loss         float64        `json:"loss"`
	Term         string         `json:"term"`
	Disallowed   float64        `json:"disallowed"` // of the loss, if it is sold now
	Permanent    float64        `json:"permanently_disallowed,omitempty"`
	NoBuyUntil   portfolio.Date `json:"no_buy_until"`            // the first day on which a purchase is free
	WashFreeFrom portfolio.Date `json:"wash_free_from,omitzero"` // the first day on which nothing bought so far washes the sale
	NameTheLot   bool           `json:"name_the_lot,omitempty"`  // or the account sells a gain first
}

const (
	maxOffers      = 10
	maxAccountText = 24
	maxAccountTail = 8
)

// offers are all candidates, in the order that was asked for.
func offers(candidates []Candidate) []Offer {
	list := make([]Offer, len(candidates))
	for i, c := range candidates {
		list[i] = Offer{
			Ticker: tickerName(c.Ticker), Account: c.Account, Acquired: c.Acquired,
			Shares: agentformat.Number(c.Quantity), Loss: agentformat.Number(c.UnrealizedLoss), Term: cmp.Or(c.Term, "unknown"),
			Disallowed: agentformat.Number(c.Disallowed), Permanent: agentformat.Number(c.Permanent),
			NoBuyUntil: c.NoBuyUntil, WashFreeFrom: c.WashFreeFrom, NameTheLot: !c.FIFOReaches,
		}
	}
	return list
}

// sent is the offer as it is sent: amounts in cents, names cut.
func (o Offer) sent() Offer {
	o.Ticker, o.Account = shortTicker(o.Ticker), shortAccount(o.Account)
	o.Shares, o.Loss = short(o.Shares, 6), short(o.Loss, 2)
	o.Disallowed, o.Permanent = short(o.Disallowed, 2), short(o.Permanent, 2)
	return o
}

// short is a number to so many decimals; one that is more than there is in the world has fewer digits.
func short(f float64, decimals int) float64 {
	if math.Abs(f) >= 1e15 {
		return agentformat.Number(strconv.FormatFloat(f, 'g', 3, 64))
	}
	return agentformat.Round(f, decimals)
}

// shortAccount keeps both ends of an account's id: the numbers of one broker often begin alike.
func shortAccount(s string) string {
	return jsontext.ShortenMiddle(s, maxAccountText, maxAccountTail)
}

// toName are the offers whose lot a sale has to name.
func (s Snapshot) toName() (list []Offer) {
	for _, o := range s.Lots {
		if o.NameTheLot {
			list = append(list, o)
		}
	}
	return list
}

// namedLots is named for lots: ": A in X of 2024-03-01 + 2 more".
func (f *flags) namedLots(list []Offer) string {
	var names []string
	for _, o := range list[:min(len(list), f.names)] {
		names = append(names, fmt.Sprintf("%s in %s of %s", shortTicker(o.Ticker), shortAccount(o.Account), o.Acquired))
	}
	return listed(names, len(list))
}

// listed writes the first few of so many names: ": A, B + 2 more".
func listed(names []string, all int) string {
	if len(names) == 0 {
		return ""
	}
	list := ": " + strings.Join(names, ", ")
	if more := all - len(names); more > 0 {
		list += fmt.Sprintf(" + %d more", more)
	}
	return list
}
