package reply

import (
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
)

// A Wash is a purchase that washes a part of a loss.
type Wash struct {
	Purchase
	Quantity portfolio.Decimal `json:"quantity"`
	Loss     portfolio.Decimal `json:"disallowed"` // more than zero
}

// A Purchase is one that washes.
type Purchase struct {
	Account   string         `json:"account"`
	Ticker    string         `json:"ticker"`
	Bought    portfolio.Date `json:"bought"`
	Permanent bool           `json:"permanent"`      // by an IRA
	Unsettled bool           `json:"unsettled"`      // by a 401(k), of a similar fund, or a call
	Call      bool           `json:"call,omitempty"` // the right to buy was bought, not shares
}

// NewWash is a wash as a reply has it.
func NewWash(w lots.Wash) Wash {
	return Wash{Purchase{w.Account, w.Symbol, w.Bought, w.Permanent, w.Unsettled, w.Call}, w.Quantity, w.Loss}
}
