// Package harvest is the tool suggest_tax_loss_harvest: its parameters, result, snapshot and flags.
// The command line and the MCP server call the same functions.
package harvest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// The orders of candidates.
const (
	SortLoss   = "loss"   // the largest loss first; the default
	SortTicker = "ticker" // by name
	SortDate   = "date"   // the oldest purchase first
	SortTerm   = "term"   // short-term first
)

// Params are the parameters of suggest_tax_loss_harvest. Empty ones have their defaults:
// any loss, nothing carried over, largest loss first, all accounts, today, summary, inline.
type Params struct {
	MinLoss   *portfolio.Decimal
	Carryover *portfolio.Decimal
	SortBy    string
	AccountID string
	AsOf      portfolio.Date
	Format    string
	Output    string
}

// Check says what of the parameters that every reply depends on is wrong.
func (p Params) Check() error {
	return reply.Check(p.Format, p.Output, reply.FormatFull, reply.FormatSummary, reply.FormatReport, reply.FormatAgent)
}

// Input is all that suggest_tax_loss_harvest looks at.
type Input struct {
	AsOf      portfolio.Date
	MinLoss   *portfolio.Decimal // of a lot; nil is any
	Carryover *portfolio.Decimal // losses of earlier years, short- and long-term together; nil is none
	SortBy    string             // empty is SortLoss
	AccountID string             // empty is all taxable accounts
	Book      *lots.Book         // of History by Rules on AsOf
	Closes    map[string]price.Bar
	History   []portfolio.Transaction
	Holdings  []broker.Holding
	Unread    []portfolio.Unread // up to AsOf; what is not known of their tickers
	Rules     lots.Rules
	Filing    string // as in settings; settings.MarriedSeparately halves the deduction limit
}

// A Result is everything that suggest_tax_loss_harvest finds. Losses are less than zero;
// what is disallowed of them is more than zero.
type Result struct {
	Status               string             `json:"status"`
	Error                string             `json:"error,omitempty"`
	AsOf                 portfolio.Date     `json:"as_of"`
	AccountID            string             `json:"account_id,omitempty"`
	SortBy               string             `json:"sort_by"`
	MinLoss              *portfolio.Decimal `json:"min_loss,omitempty"`
	FilingStatus         string             `json:"filing_status,omitempty"`
	TotalHarvestableLoss portfolio.Decimal  `json:"total_harvestable_loss"`
	ShortTermLoss        portfolio.Decimal  `json:"short_term_loss"`
	LongTermLoss         portfolio.Decimal  `json:"long_term_loss"`
	IfAllSold            Sale               `json:"if_all_sold"`
	Realized             Realized           `json:"realized_gains_this_year"`
	Carryover            *portfolio.Decimal `json:"carryover"`       // losses of earlier years; nil is not said
	Netting              Netting            `json:"if_all_sold_net"` // where the losses go
	CandidateCount       int                `json:"candidate_count"`
	DataCoveragePct      float64            `json:"data_coverage_pct"` // by positions; 100 only if all their shares are in lots
	Metadata             Metadata           `json:"metadata"`
	WashSaleWarnings     []Warning          `json:"wash_sale_warnings"`
	Candidates           []Candidate        `json:"candidates"`
	NoCandidates         string             `json:"no_candidates_because"` // one of the reasons below, if any
	MissingPrices        []string           `json:"missing_prices"`        // tickers
	StalePrices          []Price            `json:"stale_prices"`
	UnknownCost          []string           `json:"unknown_cost"` // tickers of which some shares are in no lot
	Unreconciled         []Mismatch         `json:"unreconciled"`
	ProblemCount         int                `json:"problem_count"`
	Problems             []Problem          `json:"problems"` // the first few
	OpenWindows          []Window           `json:"open_windows"`
	reply.Unread
	Disclaimer string `json:"disclaimer"`

	asked string // the account as it was asked for
}

// Why there are no candidates, other than that no lot is known to be at a loss. They are flags, too.
const (
	noLotData   = "no_lot_data"
	noOpenLots  = "no_open_lots"
	filteredOut = "filtered_out"
)

// Metadata says what was looked at.
type Metadata struct {
	PositionsAnalyzed  int `json:"positions_analyzed"`  // in taxable accounts
	PositionsWithLots  int `json:"positions_with_lots"` // and without an unread row
	PositionsUnread    int `json:"positions_unread"`    // of a ticker with an unread row
	PositionsUncertain int `json:"positions_uncertain"` // shares without a lot, no current price, or an unread row
	LotsAnalyzed       int `json:"lots_analyzed"`
	LotsAtALoss        int `json:"lots_at_a_loss"`
	// LotsFiltered of them are below the minimum, and LossFiltered in all.
	LotsFiltered int               `json:"lots_filtered"`
	LossFiltered portfolio.Decimal `json:"loss_filtered"`
	// CoverageByValuePct is the part of the priced value that is in lots, of tickers without an unread row.
	CoverageByValuePct *float64 `json:"coverage_by_value_pct"`
	// CoverageByQuantityPct is how far lots and broker agree on the number of shares, on average
	// over the positions that a broker reports.
	CoverageByQuantityPct *float64 `json:"coverage_by_quantity_pct"`
}

// A Sale is what the wash-sale rule makes of a sale today, as far as purchases of the past
// 30 days are concerned.
type Sale struct {
	Disallowed portfolio.Decimal `json:"disallowed"`             // all that is disallowed
	Permanent  portfolio.Decimal `json:"permanently_disallowed"` // the part of it that is lost for good
	Unsettled  portfolio.Decimal `json:"unsettled"`              // allowed here, but the law does not say so for sure
	Allowed    portfolio.Decimal `json:"allowed_loss"`           // less than zero
}

// A Candidate is an open lot at a loss. What the wash-sale rule makes of it holds if it is
// sold alone.
type Candidate struct {
	Ticker         string            `json:"ticker"`
	Account        string            `json:"account"`
	UnrealizedLoss portfolio.Decimal `json:"unrealized_loss"`
	HoldingPeriod  string            `json:"holding_period"` // short_term or long_term
	Term           string            `json:"term"`           // short or long, as realised gains have it
	WashSaleRisk   bool              `json:"wash_sale_risk"`
	Acquired       portfolio.Date    `json:"acquired"`
	HoldingSince   portfolio.Date    `json:"holding_since"`
	LongTermFrom   portfolio.Date    `json:"long_term_from"`
	Quantity       portfolio.Decimal `json:"quantity"`
	Basis          portfolio.Decimal `json:"basis"`
	Deferred       portfolio.Decimal `json:"deferred_loss_in_basis"`
	Price          portfolio.Decimal `json:"price"`
	PriceDate      portfolio.Date    `json:"price_date"`
	Value          portfolio.Decimal `json:"value"`
	Method         portfolio.Method  `json:"method"`
	// FIFOReaches tells whether a sale that names no lot comes to this one before any lot at a
	// gain, by the account's method.
	FIFOReaches bool `json:"fifo_reaches"`
	// SoldFirst is what a sale of these shares takes first if it names no lot: nil if that is this lot.
	SoldFirst *First `json:"sold_first,omitempty"`
	// StalePrice tells that the price is old, so that the loss is not known.
	StalePrice bool `json:"stale_price,omitempty"`
	Sale
	Washes []reply.Wash `json:"washes"`
	// DisallowedIfAllSold is what is disallowed of it if all candidates are sold today.
	DisallowedIfAllSold portfolio.Decimal `json:"disallowed_if_all_sold"`
	// WashFreeFrom is the first day on which no purchase made so far washes a sale.
	WashFreeFrom portfolio.Date `json:"wash_free_from,omitzero"`
	// NoBuyUntil is the first day on which a purchase no longer washes a sale of today.
	NoBuyUntil portfolio.Date `json:"no_buy_until"`
	// Projected are the reinvestments to be expected before NoBuyUntil.
	Projected []Reinvestment `json:"projected_reinvestments"`

	lot lots.Lot
}

// A First is the lot that an account's method sells first.
type First struct {
	Acquired    portfolio.Date `json:"acquired,omitzero"`
	AtAGain     bool           `json:"at_a_gain"`
	UnknownCost bool           `json:"unknown_cost,omitempty"` // shares in no lot: what their sale brings nobody knows
}

// String says which it is: "that of 2024-01-02, a gain".
func (f First) String() string {
	switch {
	case f.UnknownCost:
		return "shares of unknown cost"
	case f.AtAGain:
		return "that of " + f.Acquired.String() + ", a gain"
	}
	return "that of " + f.Acquired.String()
}

// A Reinvestment is a purchase that a coming dividend is likely to make.
type Reinvestment struct {
	Account string         `json:"account"`
	Ticker  string         `json:"ticker"`
	Date    portfolio.Date `json:"date"`
}

// A Warning is what could wash a ticker's losses: all of its candidates sold today,
// together with those of other tickers.
type Warning struct {
	Ticker string `json:"ticker"`
	Lots   int    `json:"lots"`
	Sale
	Purchases []reply.Purchase `json:"purchases"`
	Projected []Reinvestment   `json:"projected_reinvestments"`
}

// A Price is the day of a ticker's last price.
type Price struct {
	Ticker string         `json:"ticker"`
	Date   portfolio.Date `json:"date"`
}

// A Mismatch is a position of which lots and broker say different things.
type Mismatch struct {
	Account  string            `json:"account"`
	Ticker   string            `json:"ticker"`
	InLots   portfolio.Decimal `json:"in_lots"`
	Reported portfolio.Decimal `json:"reported"`
}

// A Problem is a transaction that the history does not explain.
type Problem struct {
	Date    portfolio.Date `json:"date"`
	Account string         `json:"account"`
	Ticker  string         `json:"ticker"`
	Text    string         `json:"text"`
}

// A Window is a ticker of which a purchase would wash a loss that is taken already, up to a day.
type Window struct {
	Ticker string         `json:"ticker"`
	Until  portfolio.Date `json:"until"` // the last such day
}

// Failed is the result of an analysis that failed.
func Failed(err error) *Result {
	r := newResult()
	r.Status, r.Error = agentformat.StatusError, err.Error()
	return r
}

func newResult() *Result {
	return &Result{
		Status:           agentformat.StatusSuccess,
		WashSaleWarnings: []Warning{},
		Candidates:       []Candidate{},
		MissingPrices:    []string{},
		StalePrices:      []Price{},
		UnknownCost:      []string{},
		Unreconciled:     []Mismatch{},
		Problems:         []Problem{},
		OpenWindows:      []Window{},
		Unread:           reply.NewUnread(nil, portfolio.Date{}, nil),
		Disclaimer:       reply.Disclaimer,
	}
}

// Suggest looks for lots in taxable accounts that are at a loss, and for what the wash-sale rule
// would make of their sale today.
func Suggest(in Input) *Result {
	in.SortBy = cmp.Or(in.SortBy, SortLoss)
	asked := in.AccountID
	in.AccountID = reply.WholeAccount(asked, in.accountIDs())
	h := newHarvester(in)
	if err := h.check(); err != nil {
		return Failed(err)
	}
	r := newResult()
	r.AsOf, r.AccountID, r.SortBy, r.MinLoss = in.AsOf, in.AccountID, in.SortBy, in.MinLoss
	r.asked = asked
	r.FilingStatus, r.Carryover = in.Filing, in.Carryover
	h.tellUnread(r, in.Unread)
	h.analyzePositions(r)
	switch {
	case !h.hasHistory():
		r.NoCandidates = noLotData
		return r
	case !slices.ContainsFunc(in.Book.Lots, h.inScope):
		r.NoCandidates = noOpenLots
	default:
		h.findCandidates(r)
	}
	r.Realized = h.realized()
	r.OpenWindows = h.windows()
	r.Netting = r.netting()
	r.ProblemCount = len(in.Book.Problems)
	for _, p := range in.Book.Problems[:min(len(in.Book.Problems), reply.MaxProblems)] {
		r.Problems = append(r.Problems, Problem{p.Date, p.Account, p.Symbol, p.Text})
	}
	return r
}

// A harvester has the input and what is looked up in it often.
type harvester struct {
	Input
	accounts map[string]portfolio.Account
	moved    map[place]portfolio.Date // when shares last came or went; only if there are holdings
	withheld map[string]bool          // tickers of which some row could not be read
}

func newHarvester(in Input) *harvester {
	h := &harvester{Input: in, accounts: map[string]portfolio.Account{}, moved: map[place]portfolio.Date{}}
	for _, a := range in.Rules.Accounts {
		h.accounts[a.ID] = a
	}
	for i := range in.History {
		t := &in.History[i]
		at := place{t.Account, t.Symbol}
		switch {
		case t.Date.After(in.AsOf) || t.Action == portfolio.Dividend:
		case t.Action != portfolio.Split && len(in.Holdings) > 0 && t.Date.After(h.moved[at]):
			h.moved[at] = t.Date
		}
	}
	return h
}

func (h *harvester) account(id string) portfolio.Account {
	if a, ok := h.accounts[id]; ok {
		return a
	}
	return portfolio.Unlisted(id)
}

// candidateAccount tells whether losses in an account are looked for.
func (h *harvester) candidateAccount(id string) bool {
	return (h.AccountID == "" || h.AccountID == id) && h.account(id).Kind == portfolio.Taxable
}

func (h *harvester) inScope(l lots.Lot) bool { return h.candidateAccount(l.Account) }

func (h *harvester) hasHistory() bool {
	return slices.ContainsFunc(h.History, func(t portfolio.Transaction) bool {
		return !t.Date.After(h.AsOf) && h.candidateAccount(t.Account)
	})
}

func (h *harvester) check() error {
	orders := []string{SortLoss, SortTicker, SortDate, SortTerm}
	switch {
	case h.AsOf.IsZero():
		return errors.New("there is no as_of date")
	case !slices.Contains(orders, h.SortBy):
		return fmt.Errorf("sort_by is %s, not %.40q", reply.Alternatives(orders), h.SortBy)
	case h.MinLoss != nil && h.MinLoss.Sign() < 0:
		return fmt.Errorf("min_loss is an amount of zero or more, not %s", h.MinLoss)
	case h.Carryover != nil && h.Carryover.Sign() < 0:
		return fmt.Errorf("carryover is the losses that earlier years left, an amount of zero or more, not %s", h.Carryover)
	case h.AccountID == "":
		return nil
	}
	if kind := h.account(h.AccountID).Kind; kind != portfolio.Taxable {
		return fmt.Errorf("account %.40q is of the kind %s, where losses can't be harvested; ask for a taxable account, or for none to see all", h.AccountID, kind)
	}
	if _, listed := h.accounts[h.AccountID]; !listed && len(h.History) > 0 && !h.hasHistory() {
		return fmt.Errorf("there is no account %.40q; the taxable accounts are %s", h.AccountID, h.taxableAccounts())
	}
	return nil
}

// accountIDs are all that are known, in order.
func (in Input) accountIDs() []string {
	names := map[string]bool{}
	for _, a := range in.Rules.Accounts {
		names[a.ID] = true
	}
	for i := range in.History {
		names[in.History[i].Account] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// taxableAccounts names a few, for an error.
func (h *harvester) taxableAccounts() string {
	return reply.Quoted(slices.DeleteFunc(h.accountIDs(), func(id string) bool { return h.account(id).Kind != portfolio.Taxable }))
}
