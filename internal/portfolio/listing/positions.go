package listing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
	"github.com/signalbox-dev/signalbox/internal/portfolio/report"
)

// A Position is what an account holds of a symbol. Amounts are exact; what is not known is null.
type Position struct {
	Symbol     string            `json:"symbol"`
	Account    string            `json:"account"`
	Quantity   portfolio.Decimal `json:"quantity"`
	InLots     portfolio.Decimal `json:"in_lots"`
	Basis      *string           `json:"basis"` // of what is in lots
	Price      *string           `json:"price"`
	PricedOn   *portfolio.Date   `json:"priced_on"`
	Value      *string           `json:"value"`
	Gain       *string           `json:"gain"`                         // of what is in lots
	Unknown    portfolio.Decimal `json:"unknown_cost_shares,omitzero"` // that are in no lot: nothing says what they cost
	UnreadRows bool              `json:"unread_rows,omitempty"`        // of the symbol: the position may be wrong

	report.Position `json:"-"`
}

// A Lot is an open lot. Amounts are exact.
type Lot struct {
	Account      string            `json:"account"`
	Symbol       string            `json:"symbol"`
	Acquired     portfolio.Date    `json:"acquired"`
	Quantity     portfolio.Decimal `json:"quantity"`
	Basis        string            `json:"basis"`
	HoldingSince portfolio.Date    `json:"holding_since"`
	Deferred     string            `json:"deferred_loss_in_basis"`
	UnreadRows   bool              `json:"unread_rows,omitempty"` // of the symbol: the lot may be wrong
}

// Held are the positions that are asked for, by symbol and account.
func (in Input) Held() []Position {
	unread, _ := in.unreadTickers()
	list := []Position{}
	for _, p := range in.Positions {
		if !in.wanted(p.Account, p.Symbol) {
			continue
		}
		row := Position{
			Symbol: p.Symbol, Account: p.Account, Quantity: p.Quantity, InLots: p.InLots, UnreadRows: unread[p.Symbol], Position: p,
		}
		if p.InLots.Cmp(p.Quantity) < 0 {
			row.Unknown = p.Quantity.Sub(p.InLots)
		}
		if row.costKnown() {
			row.Basis = new(p.Basis.Money())
		}
		if !p.PricedOn.IsZero() {
			row.Price, row.PricedOn, row.Value = new(p.Price.Money()), &p.PricedOn, new(p.Value().Money())
			if row.costKnown() {
				row.Gain = new(p.Gain().Money())
			}
		}
		list = append(list, row)
	}
	return list
}

// costKnown tells whether anything is known of what was paid.
func (p Position) costKnown() bool { return p.Unknown.IsZero() || p.InLots.Sign() > 0 }

// Lots are the open lots that are asked for.
func (in Input) Lots() []Lot {
	unread, _ := in.unreadTickers()
	list := []Lot{}
	for _, l := range in.Book.LotRows() {
		if in.wanted(l.Account, l.Symbol) {
			list = append(list, Lot{l.Account, l.Symbol, l.Acquired, l.Quantity, l.Basis.Money(), l.HoldingSince, l.Deferred.Money(), unread[l.Symbol]})
		}
	}
	return list
}

// A PositionsResult is everything that list_positions finds. Value and gain are of the positions that
// have a price; the gain is of what is in lots, and null if some are held and no cost is known.
type PositionsResult struct {
	Status        string             `json:"status"`
	Error         string             `json:"error,omitempty"`
	AsOf          portfolio.Date     `json:"as_of"`
	AccountID     string             `json:"account_id,omitempty"`
	Symbol        string             `json:"symbol,omitempty"`
	PositionCount int                `json:"position_count"`
	LotCount      int                `json:"lot_count"`
	Value         portfolio.Decimal  `json:"value"`
	Gain          *portfolio.Decimal `json:"gain"`
	Positions     []Position         `json:"positions"`
	Lots          []Lot              `json:"lots"`
	Disclaimer    string             `json:"disclaimer"`
	doubts

	asked string // the account as it was asked for
}

// FailedPositions is the result of a call that failed.
func FailedPositions(err error) *PositionsResult {
	return &PositionsResult{Status: agentformat.StatusError, Error: err.Error(), Positions: []Position{}, Lots: []Lot{}, Disclaimer: reply.Disclaimer, doubts: doubts{Unread: []string{}}}
}

// ListPositions lists what is held.
func ListPositions(in Input) *PositionsResult {
	asked := in.AccountID
	in = in.whole()
	if err := in.Check(); err != nil {
		return FailedPositions(err)
	}
	r := &PositionsResult{
		Status: agentformat.StatusSuccess, AsOf: in.AsOf, AccountID: in.AccountID, Symbol: in.Symbol,
		Positions: in.Held(), Lots: in.Lots(), Disclaimer: reply.Disclaimer,
	}
	r.PositionCount, r.LotCount = len(r.Positions), len(r.Lots)
	var gain portfolio.Decimal
	known := false
	for _, p := range r.Positions {
		if p.Price != nil {
			r.Value = r.Value.Add(p.Position.Value())
		}
		if p.Gain != nil {
			gain, known = gain.Add(p.Position.Gain()), true
		}
	}
	if known || len(r.Positions) == 0 {
		r.Gain = &gain
	}
	r.doubts, r.asked = in.doubts(), asked
	return r
}

// A PositionsSnapshot is what an agent decides from.
type PositionsSnapshot struct {
	Status        string         `json:"status"`
	Verdict       string         `json:"verdict"`
	AsOf          portfolio.Date `json:"as_of"`
	PositionCount int            `json:"position_count"`
	LotCount      int            `json:"lot_count"`
	Value         float64        `json:"value"`
	Gain          *float64       `json:"gain"`
	Positions     []PositionRow  `json:"positions"` // the largest value first
	Omitted       int            `json:"positions_omitted"`
	AccountID     string         `json:"account_id,omitempty"` // whole, if a part of it was asked for

	unpriced, stale, unknown []string
	doubts                   doubts
}

// A PositionRow is a position in short. What is not known is null.
type PositionRow struct {
	Symbol     string   `json:"symbol"`
	Account    string   `json:"account"`
	Shares     float64  `json:"shares"`
	Basis      *float64 `json:"basis"`
	Value      *float64 `json:"value"`
	Gain       *float64 `json:"gain"`
	Unknown    float64  `json:"unknown_cost_shares,omitempty"` // basis and gain are of the others
	UnreadRows bool     `json:"unread_rows,omitempty"`         // of the symbol: the row may be wrong
}

// Snapshot is the result as an agent needs it, before anything is cut.
func (r *PositionsResult) Snapshot() PositionsSnapshot {
	s := PositionsSnapshot{Status: cmp.Or(r.Status, agentformat.StatusError), AsOf: r.AsOf, Positions: []PositionRow{}}
	if s.Status != agentformat.StatusSuccess {
		s.Verdict = failure("Listing positions", r.Error)
		return s
	}
	s.PositionCount, s.LotCount, s.Value, s.Gain, s.doubts = r.PositionCount, r.LotCount, number(r.Value), known(r.Gain), r.doubts
	s.AccountID = reply.CompletedAccount(r.asked, r.AccountID)
	rows := slices.Clone(r.Positions)
	slices.SortStableFunc(rows, func(a, b Position) int { return b.Position.Value().Cmp(a.Position.Value()) })
	once := func(list []string, symbol string) []string {
		if slices.Contains(list, symbol) {
			return list
		}
		return append(list, symbol)
	}
	for _, p := range rows {
		row := PositionRow{Symbol: reply.ShortTicker(p.Symbol), Account: reply.ShortAccount(p.Account), Shares: quantity(p.Quantity), Unknown: quantity(p.Unknown), UnreadRows: p.UnreadRows}
		if p.Basis != nil {
			row.Basis = new(number(p.Position.Basis))
		}
		if p.Gain != nil {
			row.Gain = new(number(p.Position.Gain()))
		}
		if p.Price == nil {
			s.unpriced = once(s.unpriced, p.Symbol)
		} else {
			row.Value = new(number(p.Position.Value()))
			if price.SessionsBetween(*p.PricedOn, r.AsOf) > exitrule.MaxAge {
				s.stale = once(s.stale, p.Symbol)
			}
		}
		if !p.Unknown.IsZero() {
			s.unknown = once(s.unknown, p.Symbol)
		}
		s.Positions = append(s.Positions, row)
	}
	s.Verdict = s.verdict()
	return s
}

// known is an amount, or null if nobody knows it.
func known(d *portfolio.Decimal) *float64 {
	if d == nil {
		return nil
	}
	return new(number(*d))
}

func (s PositionsSnapshot) verdict() string {
	if s.PositionCount == 0 {
		return fmt.Sprintf("No positions are held on %s", s.AsOf)
	}
	gain := "gain unknown"
	if s.Gain != nil {
		gain = signed(*s.Gain) + " unrealised"
	}
	verdict := fmt.Sprintf("%s worth %s, %s", english.Count(s.PositionCount, "position"), reply.Dollars(s.Value), gain)
	if n := len(s.unknown); n > 0 && s.Gain != nil {
		verdict += fmt.Sprintf(" without shares of unknown cost (%s)", english.Count(n, "ticker"))
	}
	if n := len(s.unpriced); n > 0 {
		verdict += fmt.Sprintf("; %s without a price not counted", english.Count(n, "ticker"))
	}
	return verdict
}

// Flags says what the snapshot means.
func (s PositionsSnapshot) Flags() []agentformat.Flag {
	var f flags
	if s.Status != agentformat.StatusSuccess {
		f.add("positions_error", agentformat.Error, "%s", cmp.Or(s.Verdict, "Listing positions failed"))
		return f.list
	}
	f.addDoubts(s.doubts)
	if n := len(s.unknown); n > 0 {
		f.add("unknown_cost", agentformat.Warning, "Nothing says what some shares of %s cost%s — %s", english.Count(n, "ticker"), named(s.unknown), reply.HowToPrice)
	}
	if n := len(s.unpriced); n > 0 {
		f.add("missing_prices", agentformat.Warning, "No price for %s%s", english.Count(n, "ticker"), named(s.unpriced))
	}
	if n := len(s.stale); n > 0 {
		f.add("stale_prices", agentformat.Warning, "Prices over %d sessions old for %s%s", exitrule.MaxAge, english.Count(n, "ticker"), named(s.stale))
	}
	switch {
	case s.PositionCount == 0:
		f.add("no_positions", agentformat.Info, "No positions are held — import your broker's transactions, or ask for others")
	case len(f.list) == 0:
		f.add("positions_known", agentformat.Success, "Every position's cost and price is known")
	}
	agentformat.SortFlags(f.list)
	return f.list
}

// Capped is the snapshot with as many rows as fit.
func (s PositionsSnapshot) Capped() PositionsSnapshot {
	return shrunk(s, len(s.Positions), func(s PositionsSnapshot, n int) PositionsSnapshot {
		s.Positions, s.Omitted = s.Positions[:n], len(s.Positions)-n
		return s
	})
}

// A PositionsSummary is the result in short: totals and the first rows, without lots.
type PositionsSummary struct {
	Status        string             `json:"status"`
	Format        string             `json:"format"`
	AsOf          portfolio.Date     `json:"as_of"`
	Verdict       string             `json:"verdict"`
	PositionCount int                `json:"position_count"`
	LotCount      int                `json:"lot_count"`
	Value         portfolio.Decimal  `json:"value"`
	Gain          *portfolio.Decimal `json:"gain"`
	Positions     []Position         `json:"positions"`
	Omitted       int                `json:"positions_omitted"`
	Flags         []agentformat.Flag `json:"flags"`
	Disclaimer    string             `json:"disclaimer"`
	doubts
	reply.FileKeys
}

type fullPositions struct {
	*PositionsResult
	Format string `json:"format"`
	reply.FileKeys
}

// PositionsReply answers in the format that was asked for.
func PositionsReply(r *PositionsResult, params Params, file agentformat.File) reply.Reply {
	if err := params.Check(); err != nil {
		r = FailedPositions(err)
	}
	snapshot := r.Snapshot()
	return reply.New(params.Format, r.Status, r.Error, snapshot, file, func(told reply.FileKeys) any {
		if params.Format == reply.FormatFull {
			return fullPositions{r, reply.FormatFull, told}
		}
		n := min(len(r.Positions), maxSummary)
		return PositionsSummary{
			Status: r.Status, Format: reply.FormatSummary, AsOf: r.AsOf, Verdict: snapshot.Verdict, PositionCount: r.PositionCount, LotCount: r.LotCount,
			Value: r.Value, Gain: r.Gain, Positions: r.Positions[:n], Omitted: len(r.Positions) - n, Flags: snapshot.Flags(), Disclaimer: r.Disclaimer,
			doubts: r.short(), FileKeys: told,
		}
	})
}

// FileName is what the file of a result is called, before its time.
func (r *PositionsResult) FileName() string { return strings.TrimSuffix("positions_"+r.Symbol, "_") }
