// Package report shows a portfolio to a person: what needs deciding first, then the figures
// behind it, as one HTML page or as Markdown. Both are functions of [Data]: they read no clock,
// no file and no network, and the same data gives the same bytes.
//
// The page is one file that needs nothing else. It has no script, forbids itself every request,
// and shows everything without them. Names and texts come from files of others; they are
// escaped for the page and cleaned of what does not show.
package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// Data is what a report shows. Every list can be empty: the report then says so in a sentence.
// Amounts are US dollars.
type Data struct {
	AsOf       portfolio.Date
	Generated  time.Time
	Accounts   []portfolio.Account
	Positions  []Position
	Gains      []Year
	Exits      []Exit
	Harvest    Harvest
	Calendar   []Window
	Unread     []Unread
	Notes      []string // one sentence each: problems of the history, old prices, coverage
	Disclaimer string
}

// A Position is what an account holds of a symbol.
type Position struct {
	Symbol   string
	Account  string
	Quantity portfolio.Decimal
	InLots   portfolio.Decimal // the shares whose cost is known: Basis, Short and Long are theirs
	Basis    portfolio.Decimal
	Price    portfolio.Decimal
	PricedOn portfolio.Date    // no day is no price, and then there is no value and no gain
	Short    portfolio.Decimal // the unrealised gain on lots held for a year or less
	Long     portfolio.Decimal // and on those held for longer
	Unread   bool              // some row of the symbol could not be read, so this may be wrong
}

// An Unread is a row of a file that nobody could read. What it does not say is empty.
type Unread struct {
	Date    portfolio.Date
	Symbol  string
	Account string
	Reason  string
	Text    string
}

// Value is what all the shares are worth.
func (p Position) Value() portfolio.Decimal { return p.Quantity.Mul(p.Price) }

// Gain is the unrealised gain on the shares whose cost is known.
func (p Position) Gain() portfolio.Decimal { return p.Short.Add(p.Long) }

// A Year is the gains that were realised in it, losses less than zero.
type Year struct {
	Year       int
	Short      portfolio.Decimal // with the disallowed losses left out, as a return reports it
	Long       portfolio.Decimal
	Disallowed portfolio.Decimal // all that wash sales took, more than zero
	Permanent  portfolio.Decimal // the part of it that no basis got
	Unsettled  portfolio.Decimal // allowed here, though the law does not say so for sure
	Unread     []string          // symbols that were sold, and of which some row could not be read
}

// An Exit is what the exit rules say of a held ticker.
type Exit struct {
	Ticker     string
	Assessment string // short, for a badge: STRONG EXIT, EXIT, MONITOR, HOLD, ERROR
	Verdict    string
	Flags      []agentformat.Flag
	Signals    []Signal
	Actions    []string // one sentence each
	Tax        string   // what a recommended sale means in tax; empty where there is none
	Prices     []Point  // adjusted closes, by day
	Mean       []Point  // their 10-month mean, by day
	Marks      []Mark   // by day
}

// A Signal is what one rule says.
type Signal struct {
	Rule      string
	Primary   bool
	Triggered bool
	Severity  float64 // 0 to 1
	Error     string  // why the rule could not be evaluated; empty is that it could
}

// A Point is a day's value. What can be no price is not drawn: zero and less, NaN, infinities.
type Point struct {
	Date  portfolio.Date
	Value float64
}

// A Mark is a month's end on which the primary rule turned.
type Mark struct {
	Date portfolio.Date
	Exit bool // to exit; else back
}

// Harvest is the losses that could be realised now. Losses are more than zero.
type Harvest struct {
	Verdict    string
	Flags      []agentformat.Flag
	Total      portfolio.Decimal
	Short      portfolio.Decimal
	Long       portfolio.Decimal
	Candidates []Candidate
}

// A Candidate is a lot at a loss.
type Candidate struct {
	Symbol        string
	Account       string
	Acquired      portfolio.Date
	Long          bool
	Quantity      portfolio.Decimal
	Basis         portfolio.Decimal
	Value         portfolio.Decimal
	Loss          portfolio.Decimal
	Washed        portfolio.Decimal // of Loss: what a sale of this lot alone would not bring now, by purchases that were made
	WashedWithAll portfolio.Decimal // of Loss: the same, if all candidates are sold
	Permanent     portfolio.Decimal // of Washed: what would be lost for good
	Unsettled     portfolio.Decimal // of Loss, not in Washed: what the law does not say for sure
	WashedBy      []Purchase
	WashFree      portfolio.Date   // the first day on which no purchase made so far washes it; no day if none does
	BuyAgain      portfolio.Date   // the first day on which buying again washes nothing of a sale now
	Reinvestments []portfolio.Date // dividends expected to buy shares before BuyAgain
	Reached       bool             // the account's method sells this lot before others
}

// A Window is a sale at a loss with the days around it in which a purchase washes it.
type Window struct {
	Symbol        string
	Account       string
	Sale          portfolio.Date
	Planned       bool // not sold: this is what a sale on that day would mean
	Loss          portfolio.Decimal
	Purchases     []Purchase       // inside the window, in any account
	Reinvestments []portfolio.Date // expected, inside the window
}

// windowDays is how far the wash-sale rule reaches on either side of a sale.
const windowDays = 30

// First is the first day of the window.
func (w Window) First() portfolio.Date { return w.Sale.Add(-windowDays) }

// Last is the last day of the window.
func (w Window) Last() portfolio.Date { return w.Sale.Add(windowDays) }

// BuyAgain is the first day on which buying again washes nothing.
func (w Window) BuyAgain() portfolio.Date { return w.Last().Add(1) }

// A Purchase is shares that were bought.
type Purchase struct {
	Account  string
	Date     portfolio.Date
	Quantity portfolio.Decimal
}

// worst is the severity that the flags come to. No flags say nothing, so they are worth
// knowing rather than an all-clear.
func worst(flags []agentformat.Flag) agentformat.Severity {
	if len(flags) == 0 {
		return agentformat.Info
	}
	return sorted(flags)[0].Severity
}

func sorted(flags []agentformat.Flag) []agentformat.Flag {
	flags = slices.Clone(flags)
	agentformat.SortFlags(flags)
	return flags
}

// urgent tells whether somebody has to decide something.
func urgent(s agentformat.Severity) bool {
	return s == agentformat.Error || s == agentformat.Warning
}

// byUrgency has the exits with the worst first; of one severity, those that more rules agree on.
func byUrgency(exits []Exit) []Exit {
	order := []agentformat.Severity{agentformat.Error, agentformat.Warning, agentformat.Info, agentformat.Success}
	rank := func(e Exit) int {
		if i := slices.Index(order, worst(e.Flags)); i >= 0 {
			return i
		}
		return slices.Index(order, agentformat.Info)
	}
	triggered := func(e Exit) (n int) {
		for _, s := range e.Signals {
			if s.Triggered {
				n++
			}
		}
		return n
	}
	exits = slices.Clone(exits)
	slices.SortStableFunc(exits, func(a, b Exit) int {
		return cmp.Or(rank(a)-rank(b), triggered(b)-triggered(a), cmp.Compare(a.Ticker, b.Ticker))
	})
	return exits
}
