package exitsignal

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

// A Snapshot is what an agent decides from. It has the same keys on success and on failure.
type Snapshot struct {
	Ticker             string         `json:"ticker"`
	Status             string         `json:"status"`
	Verdict            string         `json:"verdict"`
	Assessment         string         `json:"assessment"`
	OverallAssessment  string         `json:"overall_assessment"`
	AsOf               portfolio.Date `json:"as_of"`
	SignalCount        int            `json:"signal_count"`
	Signals            []Signal       `json:"signals"`
	TradeEligible      bool           `json:"trade_eligible"`
	RecommendedActions []Action       `json:"recommended_actions"`
	ActionsOmitted     int            `json:"actions_omitted"`
	Accounts           []AccountOrder `json:"accounts"` // all of the actions by account, if there are more than are sent
	AccountsOmitted    int            `json:"accounts_omitted,omitempty"`
	Shares             float64        `json:"shares"`
	SellQuantity       float64        `json:"sell_quantity"`
	LastPrice          float64        `json:"last_price"`
	Tax                *Taxes         `json:"tax"`                        // nil if nothing is to be sold, or nothing is known of what was paid
	UnreadRowCount     int            `json:"unread_row_count,omitempty"` // of the ticker: there are no orders then

	AccountID string `json:"account_id,omitempty"` // whole, if a part of it was asked for

	unassigned int  // unread rows that name no ticker, in an account that holds this one
	mayBe      bool // no unread row names the ticker: those that are counted name none, and may be of it
	problems   int  // transactions of it that the history does not explain
	unsettled  float64
	requested  float64 // shares; none if none were asked for
	held       float64
	sizing     string // what the sizing notes
}

// A Signal is a signal in short.
type Signal struct {
	RuleName  string  `json:"rule_name"`
	Triggered bool    `json:"triggered"`
	Severity  float64 `json:"severity"`
	IsPrimary bool    `json:"is_primary"`
	Status    string  `json:"status"`
}

// An Action is an order in short.
type Action struct {
	Action    string  `json:"action"`
	AccountID string  `json:"account_id,omitempty"`
	Ticker    string  `json:"ticker"`
	Quantity  float64 `json:"quantity"`
	OrderType string  `json:"order_type"`
	StopPrice float64 `json:"stop_price,omitempty"`
}

// Taxes is what a sale means in tax, in short.
type Taxes struct {
	ShortTermGain float64        `json:"short_term_gain"`
	LongTermGain  float64        `json:"long_term_gain"`
	Disallowed    float64        `json:"disallowed"`
	Permanently   float64        `json:"permanently_disallowed"`
	NoBuyUntil    portfolio.Date `json:"no_buy_until,omitzero"`
	WashFreeFrom  portfolio.Date `json:"wash_free_from,omitzero"`
	// WithoutCost are shares to sell whose cost nobody knows: the gains are of the others alone.
	WithoutCost float64 `json:"quantity_without_cost,omitempty"`
}

// How much a snapshot has. Texts are counted in bytes of JSON.
const (
	maxSignals = 5
	maxActions = 3

	maxAccounts = 6

	maxTicker  = 32
	maxName    = 24 // of a rule
	maxWord    = 16 // a state or a kind of order
	maxOverall = 120
	maxVerdict = 220
	maxNames   = 100 // of rules that failed, together
	maxFlags   = 560 // before fewer of them are named
)

// A reply to an agent is at most so long, and so much of it is kept for a path and for what is
// around the snapshot.
const (
	maxReply  = 2048
	replyRest = 280
)

// Snapshot is the result as an agent needs it, before anything is cut.
func (r *Result) Snapshot() Snapshot {
	s := Snapshot{
		Ticker:            jsontext.Shorten(cmp.Or(r.Ticker, "unknown"), maxTicker),
		Status:            jsontext.Shorten(cmp.Or(r.Status, agentformat.StatusError), maxWord),
		Assessment:        jsontext.Shorten(cmp.Or(string(r.Assessment), "UNKNOWN"), maxWord),
		OverallAssessment: jsontext.Shorten(cmp.Or(r.OverallAssessment, "UNKNOWN"), maxOverall),
		AsOf:              r.AsOf,
		Signals:           []Signal{}, RecommendedActions: []Action{}, Accounts: []AccountOrder{},
	}
	if r.Status != agentformat.StatusSuccess {
		s.Verdict = jsontext.Shorten(fmt.Sprintf("Exit signal check failed for %s: %s", s.Ticker, cmp.Or(r.Error, "unknown error")), maxVerdict)
		return s
	}
	s.SignalCount = len(r.Signals)
	for _, signal := range r.Signals {
		s.Signals = append(s.Signals, Signal{
			RuleName:  jsontext.Shorten(cmp.Or(signal.RuleName, "unknown"), maxName),
			Triggered: signal.Triggered,
			Severity:  agentformat.Round(signal.Severity, 4),
			IsPrimary: signal.IsPrimary,
			Status:    jsontext.Shorten(cmp.Or(signal.Status, exitrule.StatusOK), maxWord),
		})
	}
	s.TradeEligible = r.TradeEligible
	for _, order := range r.RecommendedActions {
		action := Action{
			Action:    jsontext.Shorten(cmp.Or(order.Action, "unknown"), maxWord),
			AccountID: reply.ShortAccount(order.AccountID),
			Ticker:    jsontext.Shorten(cmp.Or(order.Ticker, s.Ticker), maxTicker),
			Quantity:  quantity(order.Quantity),
			OrderType: jsontext.Shorten(cmp.Or(order.OrderType, "unknown"), maxWord),
		}
		if order.StopPrice != nil {
			action.StopPrice = agentformat.Round(order.StopPrice.Float(), 6)
		}
		s.RecommendedActions = append(s.RecommendedActions, action)
	}
	if len(r.RecommendedActions) > maxActions {
		s.Accounts = accountOrders(r.RecommendedActions)
	}
	s.Shares = quantity(r.Position.Shares)
	if r.Sizing != nil {
		s.SellQuantity, s.sizing = quantity(r.Sizing.Sell), jsontext.Shorten(r.Sizing.Note, maxOverall)
	}
	s.LastPrice = agentformat.Round(r.LastPrice.Float(), 6)
	if r.Tax != nil {
		s.Tax = &Taxes{
			ShortTermGain: cents(r.Tax.ShortTermGain), LongTermGain: cents(r.Tax.LongTermGain), Disallowed: cents(r.Tax.Disallowed),
			Permanently: cents(r.Tax.PermanentlyDisallowed), NoBuyUntil: r.Tax.NoBuyUntil, WashFreeFrom: r.Tax.WashFreeFrom,
			WithoutCost: quantity(r.Tax.QuantityWithoutCost),
		}
		s.unsettled = cents(r.Tax.Unsettled)
	}
	s.problems, s.held = r.ProblemCount, quantity(r.Position.Held)
	if r.Position.Requested != nil {
		s.requested = quantity(*r.Position.Requested)
	}
	s.AccountID = reply.CompletedAccount(r.asked, r.AccountID)
	s.Verdict = s.Ticker + ": " + s.OverallAssessment
	if s.TradeEligible && len(s.RecommendedActions) > 0 {
		s.Verdict += fmt.Sprintf(" — sell %s of %s shares", plainNumber(s.SellQuantity), plainNumber(s.Shares))
	}
	return s.withhold(r.Unread)
}

func quantity(d portfolio.Decimal) float64 { return agentformat.Round(d.Float(), 6) }

// cents is an amount as texts for people have it.
func cents(d portfolio.Decimal) float64 { return reply.Short(d.Float(), 2) }

// plainNumber is a number as JSON has it, without an exponent as far as people count.
func plainNumber(f float64) string {
	if f >= 1e15 {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// Flags says what the snapshot means. It goes by the words with which the assessment begins. If that
// comes to very much, one of the rules that failed is named, and flags for which the reply has no room are
// counted.
func (s Snapshot) Flags() []agentformat.Flag {
	if list := s.flags(maxNames); jsontext.Length(list) <= maxFlags {
		return list
	}
	all := s.flags(0)
	room := maxReply - replyRest - jsontext.Length(s.least())
	list := all
	for n := len(all) - 1; n > 0 && jsontext.Length(list) > room; n-- {
		list = append(slices.Clone(all[:n]), agentformat.Flag{
			Name: "more_flags", Severity: agentformat.Info, Message: fmt.Sprintf("%d more: format=summary has them", len(all)-n),
		})
	}
	return list
}

// least is the snapshot with as little as is sent of it.
func (s Snapshot) least() Snapshot {
	s.ActionsOmitted, s.AccountsOmitted = len(s.RecommendedActions), len(s.Accounts)
	s.Signals, s.AccountID = []Signal{}, ""
	s.RecommendedActions, s.Accounts = s.RecommendedActions[:min(s.ActionsOmitted, 1)], s.Accounts[:min(s.AccountsOmitted, 1)]
	return s
}

func (s Snapshot) flags(names int) []agentformat.Flag {
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
		add("rule_evaluation_error", agentformat.Warning, "%s failed to evaluate: %s", english.Word(len(failed), "Rule", "Rules"), listed(failed, names))
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
		add("unknown_assessment", agentformat.Info, "The assessment %s is not known — cannot determine exit status", jsontext.Shorten(s.OverallAssessment, maxTicker))
	}
	if s.TradeEligible && s.SellQuantity > 0 {
		percentage := 0.0
		if s.Shares > 0 {
			percentage = s.SellQuantity / s.Shares * 100
		}
		add("trade_recommended", agentformat.Info, "Recommended: sell %s shares (%.0f%% of position)", plainNumber(s.SellQuantity), percentage)
	}
	if more := len(s.Accounts) - maxAccounts; more > 0 {
		add("more_orders", agentformat.Info, "Orders in %s: format=summary has them", english.Count(more, "more account"))
	}
	if s.Tax != nil && s.Tax.Disallowed > 0 {
		add("wash_sale_risk", agentformat.Warning, "%s of the loss would be disallowed (%s for good) if sold before %s",
			reply.Dollars(s.Tax.Disallowed), reply.Dollars(s.Tax.Permanently), s.Tax.WashFreeFrom)
	}
	if n := s.UnreadRowCount; n > 0 {
		whose := " of it"
		if s.mayBe {
			whose = " without a ticker, that may be of it,"
		}
		how := ": " + reply.HowToSettle(n)
		if names == 0 {
			how = " (`portfolio unread`)"
		}
		add(reply.UnreadFlag, agentformat.Warning, "%s%s could not be read — no orders%s", english.Count(n, "row"), whose, how)
	}
	if n := s.unassigned; n > 0 {
		add(reply.UnassignedFlag, agentformat.Warning, "%s without a ticker may affect it: see `portfolio unread`", english.Count(n, "unread row"))
	}
	s.addNotes(add)
	agentformat.SortFlags(flags)
	return flags
}

// addNotes says what the notes say, as far as it changes what is to be done.
func (s Snapshot) addNotes(add func(name string, severity agentformat.Severity, format string, args ...any)) {
	if s.Tax != nil && s.Tax.WithoutCost > 0 {
		add("unknown_cost", agentformat.Warning, "%s of %s shares to sell have no known cost: the gain is unknown", plainNumber(s.Tax.WithoutCost), plainNumber(s.SellQuantity))
	}
	if s.problems > 0 {
		add("history_problems", agentformat.Warning, "%s of it not explained by the history", english.Count(s.problems, "transaction"))
	}
	switch {
	case s.requested <= s.held:
	case s.Shares < s.requested:
		add("shares_not_held", agentformat.Warning, "%s shares were asked for, %s are held", plainNumber(s.requested), plainNumber(s.held))
	default:
		add("no_history", agentformat.Info, "No history of it: the shares are taken as said")
	}
	if s.sizing != "" {
		add("sizing", agentformat.Info, "%s", s.sizing)
	}
	if s.unsettled > 0 {
		add("wash_sale_unsettled", agentformat.Info, "%s may be disallowed: the law is unsettled", reply.Dollars(s.unsettled))
	}
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

// Capped is the snapshot as it is sent: a few signals and actions, fewer if the reply would be too long.
func (s Snapshot) Capped() Snapshot {
	room := maxReply - replyRest - jsontext.Length(s.Flags())
	s.Signals = s.Signals[:min(len(s.Signals), maxSignals)]
	actions := len(s.RecommendedActions)
	s.RecommendedActions = s.RecommendedActions[:min(actions, maxActions)]
	accounts := len(s.Accounts)
	s.Accounts = s.Accounts[:min(accounts, maxAccounts)]
	for {
		s.ActionsOmitted, s.AccountsOmitted = actions-len(s.RecommendedActions), accounts-len(s.Accounts)
		switch {
		case jsontext.Length(s) <= room:
			return s
		case len(s.Signals) > 0:
			s.Signals = s.Signals[:len(s.Signals)-1]
		case len(s.RecommendedActions) > 1:
			s.RecommendedActions = s.RecommendedActions[:len(s.RecommendedActions)-1]
		case len(s.Accounts) > 1:
			s.Accounts = s.Accounts[:len(s.Accounts)-1]
		case s.AccountID != "":
			s.AccountID = ""
		default:
			return s
		}
	}
}
