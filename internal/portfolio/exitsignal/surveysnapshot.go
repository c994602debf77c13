package exitsignal

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// A SurveySnapshot is what an agent decides from when it asked for all positions: those to leave, and
// those of which nothing can be said. The others are counted.
type SurveySnapshot struct {
	Status           string         `json:"status"`
	Verdict          string         `json:"verdict"`
	AsOf             portfolio.Date `json:"as_of"`
	PositionsChecked int            `json:"positions_checked"`
	Counts
	Exits         []Leaving `json:"exits"`
	ExitsOmitted  int       `json:"exits_omitted"`
	Failed        []Unsaid  `json:"errors"`
	FailedOmitted int       `json:"errors_omitted"`
	// Holding are the first tickers that hold, by name, as far as there is room: those that are counted beside.
	Holding []string `json:"hold_tickers,omitempty"`

	AccountID string `json:"account_id,omitempty"` // whole, if a part of it was asked for

	washed  []string // tickers of which a sale would be washed
	unread  []string // tickers with rows that nobody could read
	unknown []string // tickers of which shares are to be sold whose cost nobody knows
}

// A Leaving is a position to leave.
type Leaving struct {
	Ticker       string         `json:"ticker"`
	Assessment   string         `json:"assessment"`
	Shares       float64        `json:"shares"`
	SellQuantity float64        `json:"sell_quantity"`
	Accounts     []AccountOrder `json:"accounts"`
	Omitted      int            `json:"accounts_omitted,omitempty"`
	StopPrice    float64        `json:"stop_price,omitempty"`
	Gain         float64        `json:"gain"`                            // of the sale, short- and long-term together
	WithoutCost  float64        `json:"quantity_without_cost,omitempty"` // whose gain is unknown, and not in it
	Disallowed   float64        `json:"disallowed"`
	WashFreeFrom portfolio.Date `json:"wash_free_from,omitzero"`
}

// An AccountOrder is what an account sells, and how many shares get a stop then.
type AccountOrder struct {
	AccountID string  `json:"account_id"`
	Sell      float64 `json:"sell"`
	Stop      float64 `json:"stop"`
}

// An Unsaid is a position without a verdict.
type Unsaid struct {
	Ticker string `json:"ticker"`
	Why    string `json:"why"`
}

const (
	maxLeaving  = 8
	maxUnsaid   = 4
	maxWhy      = 110
	whyEnd      = 50 // of it are kept for its end, which says what to do
	maxHolding  = 20
	maxFlagText = 60 // of tickers, together

	maxSurveyFlags = 900 // before no tickers are named
)

// Snapshot is the survey as an agent needs it, before anything is cut.
func (s *Survey) Snapshot() SurveySnapshot {
	short := SurveySnapshot{
		Status: jsontext.Shorten(cmp.Or(s.Status, agentformat.StatusError), maxWord), AsOf: s.AsOf, PositionsChecked: s.PositionsChecked, Counts: s.Counts,
		Exits: []Leaving{}, Failed: []Unsaid{},
	}
	if s.Status != agentformat.StatusSuccess {
		short.Verdict = jsontext.Shorten("Exit signal check failed for all positions: "+cmp.Or(s.Error, "unknown error"), maxVerdict)
		return short
	}
	for _, r := range s.Results {
		ticker := jsontext.Shorten(r.Ticker, maxTicker)
		switch r.rank() {
		case rankStrong, rankExit:
			short.Exits = append(short.Exits, r.leaving(ticker))
		case rankError:
			short.Failed = append(short.Failed, Unsaid{ticker, jsontext.ShortenMiddle(r.why(), maxWhy, whyEnd)})
		case rankHold:
			short.Holding = append(short.Holding, ticker)
		}
		if r.Tax != nil && r.Tax.Disallowed.Sign() > 0 {
			short.washed = append(short.washed, ticker)
		}
		if r.Tax != nil && r.Tax.QuantityWithoutCost.Sign() > 0 {
			short.unknown = append(short.unknown, ticker)
		}
		for _, f := range r.Snapshot().Flags() {
			if f.Name == reply.UnreadFlag {
				short.unread = append(short.unread, ticker)
			}
		}
	}
	short.AccountID = reply.CompletedAccount(s.asked, s.AccountID)
	short.Verdict = short.verdict()
	return short
}

func (r *Result) leaving(ticker string) Leaving {
	l := Leaving{Ticker: ticker, Assessment: string(r.Assessment), Shares: quantity(r.Position.Shares), Accounts: accountOrders(r.RecommendedActions)}
	if r.TradeEligible && r.Sizing != nil {
		l.SellQuantity = quantity(r.Sizing.Sell)
	}
	for _, o := range r.RecommendedActions {
		if o.StopPrice != nil {
			l.StopPrice = agentformat.Round(o.StopPrice.Float(), 6)
		}
	}
	if r.Tax != nil {
		l.Gain, l.Disallowed, l.WashFreeFrom = cents(r.Tax.ShortTermGain.Add(r.Tax.LongTermGain)), cents(r.Tax.Disallowed), r.Tax.WashFreeFrom
		l.WithoutCost = quantity(r.Tax.QuantityWithoutCost)
	}
	return l
}

// accountOrders are orders by account, in their order.
func accountOrders(orders []exitrule.Order) []AccountOrder {
	list := []AccountOrder{}
	at := map[string]int{}
	for _, o := range orders {
		if o.AccountID == "" {
			continue
		}
		i, known := at[o.AccountID]
		if !known {
			i = len(list)
			at[o.AccountID] = i
			list = append(list, AccountOrder{AccountID: reply.ShortAccount(o.AccountID)})
		}
		if o.Action == exitrule.ActionSell {
			list[i].Sell = quantity(o.Quantity)
		} else {
			list[i].Stop = quantity(o.Quantity)
		}
	}
	return list
}

func (s SurveySnapshot) verdict() string {
	positions := english.Count(s.PositionsChecked, "position")
	switch leave := s.StrongExits + s.Counts.Exits; {
	case s.PositionsChecked == 0:
		return "No positions are held"
	case leave == 0 && s.Errors == 0:
		return fmt.Sprintf("No exits among %s", positions)
	case s.Errors == 0:
		return fmt.Sprintf("%d of %s to leave: %s", leave, positions, listed(s.leavingTickers(), maxFlagText))
	case leave == 0:
		return fmt.Sprintf("No exits known among %s; no verdict on %d", positions, s.Errors)
	default:
		return fmt.Sprintf("%d of %s to leave: %s; no verdict on %d", leave, positions, listed(s.leavingTickers(), maxFlagText), s.Errors)
	}
}

func (s SurveySnapshot) leavingTickers() (tickers []string) {
	for _, l := range s.Exits {
		tickers = append(tickers, l.Ticker)
	}
	return tickers
}

// Flags says what the survey means. If that comes to very much, no tickers are named.
func (s SurveySnapshot) Flags() []agentformat.Flag {
	if list := s.flags(maxFlagText); jsontext.Length(list) <= maxSurveyFlags {
		return list
	}
	return s.flags(0)
}

func (s SurveySnapshot) flags(most int) []agentformat.Flag {
	var flags []agentformat.Flag
	add := func(name string, severity agentformat.Severity, format string, args ...any) {
		flags = append(flags, agentformat.Flag{Name: name, Severity: severity, Message: fmt.Sprintf(format, args...)})
	}
	tickers := func(n int, names []string) string {
		if most == 0 {
			return english.Count(n, "position")
		}
		return fmt.Sprintf("%s: %s", english.Count(n, "position"), listed(names, most))
	}
	if s.Status != agentformat.StatusSuccess {
		add("signal_error", agentformat.Error, "%s", cmp.Or(s.Verdict, "Exit signal evaluation failed"))
		return flags
	}
	var strong, exits, failed []string
	for _, l := range s.Exits {
		if l.Assessment == string(exitrule.StrongExit) {
			strong = append(strong, l.Ticker)
		} else {
			exits = append(exits, l.Ticker)
		}
	}
	for _, u := range s.Failed {
		failed = append(failed, u.Ticker)
	}
	if len(failed) > 0 {
		add("primary_rule_error", agentformat.Error, "No verdict on %s", tickers(len(failed), failed))
	}
	if len(s.unread) > 0 {
		how := ""
		if most > 0 {
			how = " — " + reply.HowToSettle(2)
		}
		add(reply.UnreadFlag, agentformat.Warning, "Rows that nobody could read, so no orders, on %s%s", tickers(len(s.unread), s.unread), how)
	}
	if len(strong) > 0 {
		add("strong_exit", agentformat.Warning, "Strong exit from %s", tickers(len(strong), strong))
	}
	if len(exits) > 0 {
		add("exit_signal", agentformat.Warning, "Exit from %s", tickers(len(exits), exits))
	}
	if len(s.washed) > 0 {
		add("wash_sale_risk", agentformat.Warning, "A part of the loss would be disallowed on %s", tickers(len(s.washed), s.washed))
	}
	if len(s.unknown) > 0 {
		add("unknown_cost", agentformat.Warning, "Shares to sell have no known cost, so the gain is unknown, on %s", tickers(len(s.unknown), s.unknown))
	}
	if s.Monitors > 0 {
		add("monitor", agentformat.Info, "Secondary signal triggered on %s — monitoring, no action yet", english.Count(s.Monitors, "position"))
	}
	switch {
	case s.PositionsChecked == 0:
		add("no_positions", agentformat.Info, "No positions are held — import your broker's transactions")
	case s.Holds == s.PositionsChecked:
		add("hold", agentformat.Success, "No exit signals triggered — all positions hold")
	}
	agentformat.SortFlags(flags)
	return flags
}

// Capped is the snapshot as it is sent: a few positions, fewer if the reply would be too long.
func (s SurveySnapshot) Capped() SurveySnapshot {
	room := maxReply - replyRest - jsontext.Length(s.Flags())
	exits, failed := len(s.Exits), len(s.Failed)
	s.Exits, s.Failed = slices.Clone(s.Exits[:min(exits, maxLeaving)]), s.Failed[:min(failed, maxUnsaid)]
	s.Holding = s.Holding[:min(len(s.Holding), maxHolding)]
	for i, l := range s.Exits {
		kept := min(len(l.Accounts), maxAccounts)
		s.Exits[i].Accounts, s.Exits[i].Omitted = l.Accounts[:kept], len(l.Accounts)-kept
	}
	for {
		s.ExitsOmitted, s.FailedOmitted = exits-len(s.Exits), failed-len(s.Failed)
		switch {
		case jsontext.Length(s) <= room:
			return s
		case len(s.Holding) > 0:
			s.Holding = s.Holding[:len(s.Holding)-1]
		case len(s.Failed) > 1:
			s.Failed = s.Failed[:len(s.Failed)-1]
		case len(s.Exits) > 0:
			s.Exits = s.Exits[:len(s.Exits)-1]
		case len(s.Failed) > 0:
			s.Failed = s.Failed[:len(s.Failed)-1]
		case s.AccountID != "":
			s.AccountID = ""
		default:
			return s
		}
	}
}
