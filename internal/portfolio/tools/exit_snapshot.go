package tools

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

// An ExitSnapshot is what an agent decides from. It has the same keys on success and on failure.
type ExitSnapshot struct {
	Ticker             string         `json:"ticker"`
	Status             string         `json:"status"`
	Verdict            string         `json:"verdict"`
	Assessment         string         `json:"assessment"`
	OverallAssessment  string         `json:"overall_assessment"`
	AsOf               portfolio.Date `json:"as_of"`
	SignalCount        int            `json:"signal_count"`
	Signals            []ExitSignal   `json:"signals"`
	TradeEligible      bool           `json:"trade_eligible"`
	RecommendedActions []ExitAction   `json:"recommended_actions"`
	Shares             float64        `json:"shares"`
	SellQuantity       float64        `json:"sell_quantity"`
	LastPrice          float64        `json:"last_price"`
	Tax                *ExitTaxes     `json:"tax"` // nil if nothing is to be sold, or nothing is known of what was paid
}

// An ExitSignal is a signal in short.
type ExitSignal struct {
	RuleName  string  `json:"rule_name"`
	Triggered bool    `json:"triggered"`
	Severity  float64 `json:"severity"`
	IsPrimary bool    `json:"is_primary"`
	Status    string  `json:"status"`
}

// An ExitAction is an order in short.
type ExitAction struct {
	Action    string  `json:"action"`
	Ticker    string  `json:"ticker"`
	Quantity  float64 `json:"quantity"`
	OrderType string  `json:"order_type"`
	StopPrice float64 `json:"stop_price,omitempty"`
}

// ExitTaxes is what a sale means in tax, in short.
type ExitTaxes struct {
	ShortTermGain float64        `json:"short_term_gain"`
	LongTermGain  float64        `json:"long_term_gain"`
	Disallowed    float64        `json:"disallowed"`
	Permanently   float64        `json:"permanently_disallowed"`
	NoBuyUntil    portfolio.Date `json:"no_buy_until,omitzero"`
	WashFreeFrom  portfolio.Date `json:"wash_free_from,omitzero"`
}

// How much a snapshot has. Texts are counted in bytes of JSON.
const (
	maxExitSignals = 5
	maxExitActions = 3

	maxExitTicker  = 32
	maxExitName    = 24 // of a rule
	maxExitWord    = 16 // a state or a kind of order
	maxExitOverall = 120
	maxExitVerdict = 220
	maxExitNames   = 100 // of rules that failed, together
)

// A reply to an agent is at most so long, and so much of it is kept for a path and for what is
// around the snapshot.
const (
	maxExitReply  = 2048
	exitReplyRest = 280
)

// Snapshot is the result as an agent needs it, before anything is cut.
func (r *ExitResult) Snapshot() ExitSnapshot {
	s := ExitSnapshot{
		Ticker:            shorten(cmp.Or(r.Ticker, "unknown"), maxExitTicker),
		Status:            shorten(cmp.Or(r.Status, agentformat.StatusError), maxExitWord),
		Assessment:        shorten(cmp.Or(string(r.Assessment), "UNKNOWN"), maxExitWord),
		OverallAssessment: shorten(cmp.Or(r.OverallAssessment, "UNKNOWN"), maxExitOverall),
		AsOf:              r.AsOf,
		Signals:           []ExitSignal{}, RecommendedActions: []ExitAction{},
	}
	if r.Status != agentformat.StatusSuccess {
		s.Verdict = shorten(fmt.Sprintf("Exit signal check failed for %s: %s", s.Ticker, cmp.Or(r.Error, "unknown error")), maxExitVerdict)
		return s
	}
	s.SignalCount = len(r.Signals)
	for _, signal := range r.Signals {
		s.Signals = append(s.Signals, ExitSignal{
			RuleName:  shorten(cmp.Or(signal.RuleName, "unknown"), maxExitName),
			Triggered: signal.Triggered,
			Severity:  agentformat.Round(signal.Severity, 4),
			IsPrimary: signal.IsPrimary,
			Status:    shorten(cmp.Or(signal.Status, exitrule.StatusOK), maxExitWord),
		})
	}
	s.TradeEligible = r.TradeEligible
	for _, order := range r.RecommendedActions {
		action := ExitAction{
			Action:    shorten(cmp.Or(order.Action, "unknown"), maxExitWord),
			Ticker:    shorten(cmp.Or(order.Ticker, s.Ticker), maxExitTicker),
			Quantity:  quantity(order.Quantity),
			OrderType: shorten(cmp.Or(order.OrderType, "unknown"), maxExitWord),
		}
		if order.StopPrice != nil {
			action.StopPrice = agentformat.Round(order.StopPrice.Float(), 6)
		}
		s.RecommendedActions = append(s.RecommendedActions, action)
	}
	s.Shares = quantity(r.Position.Shares)
	if r.Sizing != nil {
		s.SellQuantity = quantity(r.Sizing.Sell)
	}
	s.LastPrice = agentformat.Round(r.LastPrice.Float(), 6)
	if r.Tax != nil {
		s.Tax = &ExitTaxes{
			ShortTermGain: cents(r.Tax.ShortTermGain), LongTermGain: cents(r.Tax.LongTermGain), Disallowed: cents(r.Tax.Disallowed),
			Permanently: cents(r.Tax.PermanentlyDisallowed), NoBuyUntil: r.Tax.NoBuyUntil, WashFreeFrom: r.Tax.WashFreeFrom,
		}
	}
	s.Verdict = s.Ticker + ": " + s.OverallAssessment
	if s.TradeEligible && len(s.RecommendedActions) > 0 {
		s.Verdict += fmt.Sprintf(" — sell %s of %s shares", plainNumber(s.SellQuantity), plainNumber(s.Shares))
	}
	return s
}

func quantity(d portfolio.Decimal) float64 { return agentformat.Round(d.Float(), 6) }

func cents(d portfolio.Decimal) float64 { return agentformat.Round(d.Float(), 2) }

// plainNumber is a number as JSON has it, without an exponent as far as people count.
func plainNumber(f float64) string {
	if f >= 1e15 {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// Flags says what the snapshot means. It goes by the words with which the assessment begins.
func (s ExitSnapshot) Flags() []agentformat.Flag {
	var flags []agentformat.Flag
	add := func(name string, severity agentformat.Severity, format string, args ...any) {
		flags = append(flags, agentformat.Flag{Name: name, Severity: severity, Message: fmt.Sprintf(format, args...)})
	}
	if s.Status != agentformat.StatusSuccess {
		add("signal_error", agentformat.Error, "%s", cmp.Or(s.Verdict, "Exit signal evaluation failed"))
		return flags
	}
	var failed []string
	for _, signal := range s.Signals {
		if signal.Status == exitrule.StatusError {
			failed = append(failed, signal.RuleName)
		}
	}
	if len(failed) > 0 {
		add("rule_evaluation_error", agentformat.Warning, "Rule%s failed to evaluate: %s", plural(len(failed)), listed(failed, maxExitNames))
	}
	switch begins := func(a exitrule.Assessment) bool { return strings.HasPrefix(s.OverallAssessment, string(a)) }; {
	case begins(exitrule.StrongExit):
		add("strong_exit", agentformat.Warning, "Both momentum and regime signals triggered — strong exit signal")
	case begins(exitrule.Exit):
		add("exit_signal", agentformat.Warning, "Primary momentum signal triggered — exit recommended")
	case begins(exitrule.Monitor):
		add("monitor", agentformat.Info, "Secondary signal triggered — monitoring, no action yet")
	case begins(exitrule.Hold):
		add("hold", agentformat.Success, "No exit signals triggered — position holds")
	case begins(exitrule.Error):
		add("primary_rule_error", agentformat.Error, "Primary rule failed — cannot determine exit status")
	default:
		add("unknown_assessment", agentformat.Info, "The assessment %s is not known — cannot determine exit status", shorten(s.OverallAssessment, maxExitTicker))
	}
	if s.TradeEligible && s.SellQuantity > 0 {
		percentage := 0.0
		if s.Shares > 0 {
			percentage = s.SellQuantity / s.Shares * 100
		}
		add("trade_recommended", agentformat.Info, "Recommended: sell %s shares (%.0f%% of position)", plainNumber(s.SellQuantity), percentage)
	}
	if s.Tax != nil && s.Tax.Disallowed > 0 {
		add("wash_sale_risk", agentformat.Warning, "%s of the loss would be disallowed (%s for good) if sold before %s",
			dollars(s.Tax.Disallowed), dollars(s.Tax.Permanently), s.Tax.WashFreeFrom)
	}
	agentformat.SortFlags(flags)
	return flags
}

// listed writes as many names as there is room for, and the number of the others.
func listed(names []string, most int) string {
	list := names[0]
	for i, name := range names[1:] {
		if len(list)+len(", ")+len(name) > most {
			return fmt.Sprintf("%s + %d more", list, len(names)-1-i)
		}
		list += ", " + name
	}
	return list
}

// Capped is the snapshot as it is sent: a few signals, fewer if the reply would be too long.
func (s ExitSnapshot) Capped() ExitSnapshot {
	room := maxExitReply - exitReplyRest - jsonLength(s.Flags())
	s.Signals = s.Signals[:min(len(s.Signals), maxExitSignals)]
	s.RecommendedActions = s.RecommendedActions[:min(len(s.RecommendedActions), maxExitActions)]
	for len(s.Signals) > 0 && jsonLength(s) > room {
		s.Signals = s.Signals[:len(s.Signals)-1]
	}
	return s
}
