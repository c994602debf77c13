// Package price has daily prices: bars, the files they come in, the market's calendar, and the
// indicators that exit rules are made of.
package price

import "github.com/signalbox-dev/signalbox/internal/portfolio"

// A Bar is one day of one symbol. Close is what was paid on that day, for tax; Adj is the close
// adjusted for splits and dividends, for signals, and never zero.
type Bar struct {
	Date                   portfolio.Date
	Open, High, Low, Close portfolio.Decimal
	Adj                    portfolio.Decimal
}

// A Quote is a bar with its symbol, as price files have it.
type Quote struct {
	Symbol string
	Bar
}
