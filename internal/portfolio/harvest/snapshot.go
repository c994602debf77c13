package harvest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
)

// A Snapshot is what an agent decides from. It has whole lists and unrounded numbers;
// [Snapshot.Capped] is what is sent.
type Snapshot struct {
	Status                 string   `json:"status"`
	Verdict                string   `json:"verdict"`
	TotalHarvestableLoss   float64  `json:"total_harvestable_loss"`
	ShortTermLoss          float64  `json:"short_term_loss"`
	LongTermLoss           float64  `json:"long_term_loss"`
	CandidateCount         int      `json:"candidate_count"`
	TopCandidates          []Ticker `json:"top_candidates"`
	CandidatesOmitted      int      `json:"candidates_omitted"` // tickers
	Lots                   []Offer  `json:"lots"`
	LotsOmitted            int      `json:"lots_omitted"`
	WashSaleTickerCount    int      `json:"wash_sale_ticker_count"`
	WashSaleTickers        []string `json:"wash_sale_tickers"`
	WashSaleTickersOmitted int      `json:"wash_sale_tickers_omitted"`
	DataCoveragePct        float64  `json:"data_coverage_pct"`
	CoverageByValuePct     *float64 `json:"coverage_by_value_pct"`
	CoverageByQuantityPct  *float64 `json:"coverage_by_quantity_pct"`
	PositionsAnalyzed      int      `json:"positions_analyzed"`
	PositionsWithLots      int      `json:"positions_with_lots"`
	// What the wash-sale rule makes of it if all candidates are sold today.
	DisallowedIfSold float64        `json:"disallowed_if_sold"`
	AllowedIfSold    float64        `json:"allowed_if_sold"`
	Realized         YearToDate     `json:"realized_gains_this_year"`
	Carryover        float64        `json:"carryover"`
	OffsetsGains     float64        `json:"offsets_gains"` // of what is allowed, and so are the next two
	UnderLimit       float64        `json:"under_limit"`
	CarriesOver      float64        `json:"carries_over"`
	NoBuyUntil       portfolio.Date `json:"no_buy_until"`
	WashFreeFrom     portfolio.Date `json:"wash_free_from"` // the first day on which no purchase made so far washes any of them
	AsOf             portfolio.Date `json:"as_of"`
	Disclaimer       string         `json:"disclaimer"`
	// DisallowedNote tells what is disallowed of a lot from what is of all of them, if anything is.
	DisallowedNote string `json:"disallowed_note,omitempty"`
	AccountID      string `json:"account_id,omitempty"` // whole, if a part of it was asked for
	unreadTold

	caveats caveats
	inline  bool // no file is told of beside it, so that there is more room
	filed   bool // a file has all of it
	shown   int  // lots that are shown beside the flags: all, or fewer in a reply to an agent
}

// A Ticker is the candidates of one ticker.
type Ticker struct {
	Ticker         string   `json:"ticker"`
	TotalLoss      float64  `json:"total_loss"`
	LotCount       int      `json:"lot_count"`
	HoldingPeriods []string `json:"holding_periods"`
	WashSaleRisk   bool     `json:"wash_sale_risk"`
}

// caveats are what only flags tell.
type caveats struct {
	year         year
	because      string // why there are no candidates
	filtered     int    // lots
	filteredLoss float64
	minLoss      string
	uncertain    int // positions
	permanent    float64
	unsettled    float64
	call         string // one that makes it so
	missing      []string
	stale        []string
	staleLoss    float64        // of candidates at an old price
	expected     []Reinvestment // that could wash candidates
	allWashed    bool           // nothing is allowed if all are sold today
	unread       int            // positions of a ticker with an unread row
	unknown      []string       // tickers of which some shares are in no lot
	unreconciled []string       // tickers
	open         []Window
	problems     int
}

// The caps of a snapshot, and the longest texts in it in bytes of JSON.
const (
	maxTickers   = 5
	maxNamed     = 3 // in a message
	maxErrorText = 400
)

// A reply to an agent is at most so long, and so much of it is kept for a path and for what is
// around the snapshot.
const (
	maxReply  = 3 << 10
	replyRest = 300
)

// inlineRest is kept for what is around the snapshot where there is no path.
const inlineRest = 100

// Snapshot is what an agent needs of the result. Tickers are consolidated.
func (r *Result) Snapshot() Snapshot {
	s := Snapshot{
		Status: cmp.Or(r.Status, agentformat.StatusError), AsOf: r.AsOf, Disclaimer: reply.Disclaimer,
		TopCandidates: []Ticker{}, Lots: []Offer{}, WashSaleTickers: []string{},
	}
	if s.Status != agentformat.StatusSuccess {
		s.Verdict = "Tax harvest analysis failed: " + jsontext.Shorten(cmp.Or(r.Error, "unknown error"), maxErrorText)
		return s
	}
	s.TotalHarvestableLoss = agentformat.Number(r.TotalHarvestableLoss)
	s.ShortTermLoss = agentformat.Number(r.ShortTermLoss)
	s.LongTermLoss = agentformat.Number(r.LongTermLoss)
	s.CandidateCount = r.CandidateCount
	s.DataCoveragePct = agentformat.Number(r.DataCoveragePct)
	s.CoverageByValuePct = r.Metadata.CoverageByValuePct
	s.CoverageByQuantityPct = r.Metadata.CoverageByQuantityPct
	s.PositionsAnalyzed = r.Metadata.PositionsAnalyzed
	s.PositionsWithLots = r.Metadata.PositionsWithLots
	s.DisallowedIfSold = agentformat.Number(r.IfAllSold.Disallowed)
	s.AllowedIfSold = agentformat.Number(r.IfAllSold.Allowed)
	s.Realized = YearToDate{agentformat.Number(r.Realized.ShortTerm), agentformat.Number(r.Realized.LongTerm)}
	s.Carryover = agentformat.Number(r.Carryover)
	net := r.netting()
	s.OffsetsGains, s.UnderLimit, s.CarriesOver = agentformat.Number(net.OffsetsGains), agentformat.Number(net.UnderLimit), agentformat.Number(net.CarriesOver)
	if r.CandidateCount > 0 && !r.AsOf.IsZero() {
		s.NoBuyUntil = r.AsOf.Add(lots.WashDays + 1)
	}
	for _, c := range r.Candidates {
		if c.WashFreeFrom.After(s.WashFreeFrom) {
			s.WashFreeFrom = c.WashFreeFrom
		}
	}
	s.TopCandidates, s.Lots = byTicker(r.Candidates), offers(r.Candidates)
	for _, w := range r.WashSaleWarnings {
		s.WashSaleTickers = append(s.WashSaleTickers, tickerName(w.Ticker))
	}
	s.shown = len(s.Lots)
	s.WashSaleTickerCount = len(s.WashSaleTickers)
	s.caveats = r.caveats()
	s.unreadTold = newUnreadTold(r.Unread)
	if s.DisallowedIfSold > 0 || slices.ContainsFunc(s.Lots, func(o Offer) bool { return o.Disallowed > 0 }) {
		s.DisallowedNote = "in lots: if that lot alone is sold; disallowed_if_sold: all sold together; what is not for good moves to the basis of the replacement"
	}
	s.AccountID = reply.CompletedAccount(r.asked, r.AccountID)
	s.Verdict = s.verdict() + s.unreadVerdict()
	return s
}

func unreconciledTickers(list []Mismatch) (tickers []string) {
	for _, m := range list {
		if !slices.Contains(tickers, m.Ticker) {
			tickers = append(tickers, m.Ticker)
		}
	}
	return tickers
}

func (r *Result) caveats() caveats {
	c := caveats{
		year: r.year(), because: r.NoCandidates,
		filtered: r.Metadata.LotsFiltered, filteredLoss: agentformat.Number(r.Metadata.LossFiltered),
		uncertain: r.Metadata.PositionsUncertain,
		permanent: agentformat.Number(r.IfAllSold.Permanent), unsettled: agentformat.Number(r.IfAllSold.Unsettled),
		missing: r.MissingPrices, unknown: r.UnknownCost, unreconciled: unreconciledTickers(r.Unreconciled), problems: r.ProblemCount, open: r.OpenWindows,
	}
	if r.MinLoss != nil {
		c.minLoss = strings.TrimSuffix("$"+r.MinLoss.Cents(), ".00")
	}
	c.unread = r.Metadata.PositionsUnread
	c.allWashed = r.IfAllSold.Disallowed.Sign() > 0 && r.IfAllSold.Allowed.IsZero()
	var stale portfolio.Decimal
	seen := map[Reinvestment]bool{}
	for i := range r.Candidates {
		candidate := &r.Candidates[i]
		c.addCall(candidate.Washes)
		if candidate.StalePrice {
			stale = stale.Add(candidate.UnrealizedLoss)
		}
		for _, p := range candidate.Projected {
			if !seen[p] {
				seen[p] = true
				c.expected = append(c.expected, p)
			}
		}
	}
	c.staleLoss = agentformat.Number(stale)
	for _, p := range r.StalePrices {
		c.stale = append(c.stale, p.Ticker)
	}
	return c
}

// addCall keeps the first call that may take a loss away.
func (c *caveats) addCall(washes []reply.Wash) {
	i := slices.IndexFunc(washes, func(w reply.Wash) bool { return w.Call })
	if i >= 0 && c.call == "" {
		c.call = fmt.Sprintf("calls (%s, bought %s)", reply.ShortTicker(washes[i].Ticker), washes[i].Bought)
	}
}

// unsettledBy says what the law says nothing of.
func (c caveats) unsettledBy() string { return cmp.Or(c.call, "401(k)s and similar funds") }

func tickerName(s string) string { return cmp.Or(strings.TrimSpace(s), "unknown") }

// byTicker sums candidates up, the largest loss first.
func byTicker(candidates []Candidate) []Ticker {
	type sum struct {
		loss    portfolio.Decimal
		lots    int
		risk    bool
		periods map[string]bool
	}
	sums := map[string]*sum{}
	for _, c := range candidates {
		ticker := tickerName(c.Ticker)
		s, ok := sums[ticker]
		if !ok {
			s = &sum{periods: map[string]bool{}}
			sums[ticker] = s
		}
		s.loss = s.loss.Add(c.UnrealizedLoss)
		s.lots++
		s.risk = s.risk || c.WashSaleRisk
		s.periods[cmp.Or(c.HoldingPeriod, "unknown")] = true
	}
	order := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(sums[b].loss.Abs().Cmp(sums[a].loss.Abs()), strings.Compare(a, b))
	})
	tickers := make([]Ticker, len(order))
	for i, ticker := range order {
		s := sums[ticker]
		tickers[i] = Ticker{ticker, agentformat.Number(s.loss), s.lots, slices.Sorted(maps.Keys(s.periods)), s.risk}
	}
	return tickers
}

func (s Snapshot) verdict() string {
	if s.CandidateCount == 0 {
		verdict := fmt.Sprintf("No tax-loss harvesting candidates found (%d positions analyzed)", s.PositionsAnalyzed)
		switch s.caveats.because {
		case noLotData:
			verdict += ": there is no transaction history"
		case noOpenLots:
			verdict += ": there are no open lots"
		case filteredOut:
			verdict += ": all lots at a loss are below the minimum"
		}
		return verdict
	}
	loss, long := math.Abs(s.TotalHarvestableLoss), 0.0
	if loss > 0 {
		long = math.Abs(s.LongTermLoss) / loss * 100
	}
	verdict := fmt.Sprintf("%s harvestable losses across %d lots (%.0f%% long-term), %s%% data coverage",
		reply.Dollars(loss), s.CandidateCount, long, coverageText(s.DataCoveragePct))
	if s.WashSaleTickerCount > 0 {
		verdict += fmt.Sprintf(", wash sale risk on %s", english.Count(s.WashSaleTickerCount, "ticker"))
	}
	if s.caveats.staleLoss != 0 {
		verdict += fmt.Sprintf(", %s of it at old prices", reply.Dollars(s.caveats.staleLoss))
	}
	return verdict
}

// Capped is the snapshot with the first few of each list, fewer if the reply would be too long,
// and amounts in cents.
func (s Snapshot) Capped() Snapshot {
	tickers, washed, lots := s.TopCandidates, s.WashSaleTickers, s.Lots
	rest := replyRest
	if s.inline {
		rest = inlineRest
	}
	room := maxReply - rest - jsontext.Length(s.Flags())
	for _, amount := range []*float64{
		&s.TotalHarvestableLoss, &s.ShortTermLoss, &s.LongTermLoss, &s.DisallowedIfSold, &s.AllowedIfSold,
		&s.Realized.ShortTerm, &s.Realized.LongTerm, &s.Carryover, &s.OffsetsGains, &s.UnderLimit, &s.CarriesOver,
	} {
		*amount = reply.Short(*amount, 2)
	}
	s.DataCoveragePct = roundedDown(s.DataCoveragePct)
	s.unreadTold = s.cappedUnread()
	s.CoverageByValuePct = roundedPct(s.CoverageByValuePct)
	s.CoverageByQuantityPct = roundedPct(s.CoverageByQuantityPct)
	s.TopCandidates = slices.Clone(tickers[:min(len(tickers), maxTickers)])
	for i := range s.TopCandidates {
		t := &s.TopCandidates[i]
		t.Ticker, t.TotalLoss = reply.ShortTicker(t.Ticker), reply.Short(t.TotalLoss, 2)
	}
	s.WashSaleTickers = slices.Clone(washed[:min(len(washed), maxTickers)])
	for i, ticker := range s.WashSaleTickers {
		s.WashSaleTickers[i] = reply.ShortTicker(ticker)
	}
	s.Lots = slices.Clone(lots[:min(s.shown, maxOffers)])
	for i, o := range s.Lots {
		s.Lots[i] = o.sent()
	}
	for {
		s.CandidatesOmitted = len(tickers) - len(s.TopCandidates)
		s.WashSaleTickersOmitted = len(washed) - len(s.WashSaleTickers)
		s.LotsOmitted = len(lots) - len(s.Lots)
		if jsontext.Length(s) <= room || !s.shrink() {
			return s
		}
	}
}

// toAgent is the snapshot whose flags know which lots are shown: as many as there is room for beside what flags
// say then.
func (s Snapshot) toAgent() Snapshot {
	for s.shown = min(s.shown, maxOffers); len(s.Capped().Lots) < s.shown; {
		s.shown--
	}
	return s
}

// shrink takes one from a list, from the one that an agent misses least as it is now, and in the end what
// only explains; what washes a lot goes before all.
func (s *Snapshot) shrink() bool {
	for i := range slices.Backward(s.Lots) {
		if s.Lots[i].WashedBy != nil {
			s.Lots[i].WashedBy = nil
			return true
		}
	}
	switch top, wash, offered := len(s.TopCandidates), len(s.WashSaleTickers), len(s.Lots); {
	case offered > 5, offered > 2 && wash <= 1 && top <= 3, offered > 0 && wash <= 1 && top <= 1:
		s.Lots = s.Lots[:offered-1]
	case wash > 1:
		s.WashSaleTickers = s.WashSaleTickers[:wash-1]
	case top > 1:
		s.TopCandidates = s.TopCandidates[:top-1]
	case len(s.UnreadTickers) > 1:
		s.UnreadTickers = s.UnreadTickers[:1]
	case s.DisallowedNote+s.AccountID != "":
		s.DisallowedNote, s.AccountID = "", ""
	default:
		return false
	}
	return true
}

func roundedPct(p *float64) *float64 {
	if p == nil {
		return nil
	}
	return new(roundedDown(*p))
}

// coverageText is a coverage in whole percent. It is rounded, but not up to a limit that it does
// not reach: 49.96 is 49.
func coverageText(pct float64) string {
	rounded := math.RoundToEven(pct)
	for _, limit := range []float64{lowCoverage, goodCoverage, fullCoverage} {
		if pct < limit && rounded >= limit {
			rounded = math.Floor(pct)
		}
	}
	return strconv.FormatFloat(rounded, 'f', 0, 64)
}

// named writes a few tickers and the number of the others after a colon: ": A, B, C + 2 more".
func (f *flags) named(tickers []string) string {
	var names []string
	for _, ticker := range tickers[:min(len(tickers), f.names)] {
		names = append(names, reply.ShortTicker(tickerName(ticker)))
	}
	return reply.Listed(names, len(tickers))
}
