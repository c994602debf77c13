// Package exitsignal is the tool check_exit_signals: its parameters, result, snapshot and flags.
// The command line and the MCP server call the same functions.
package exitsignal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
)

// Params are the parameters of check_exit_signals. Empty ones have their defaults: all
// shares, all accounts, today, summary, inline.
type Params struct {
	Ticker    string
	Shares    *portfolio.Decimal
	AccountID string
	AsOf      portfolio.Date
	Format    string
	Output    string
}

// Check says what of the parameters that every reply depends on is wrong.
func (p Params) Check() error {
	return reply.Check(p.Format, p.Output, reply.FormatSummary, reply.FormatFull, reply.FormatAgent)
}

// Input is all that check_exit_signals looks at. The ticker is spelled as it is in History.
type Input struct {
	Ticker    string
	Shares    *portfolio.Decimal // how many to work with; nil is all that are held
	AccountID string             // empty is all accounts
	AsOf      portfolio.Date
	Config    exitrule.Config
	Market    exitrule.Market
	History   []portfolio.Transaction // of the household; other symbols matter to wash sales
	Unread    []portfolio.Unread      // up to AsOf; what is not known of their tickers
	Rules     lots.Rules
}

// A Result is everything that check_exit_signals finds.
type Result struct {
	Status             string              `json:"status"`
	Error              string              `json:"error,omitempty"`
	Ticker             string              `json:"ticker"`
	AccountID          string              `json:"account_id,omitempty"`
	AsOf               portfolio.Date      `json:"as_of"`
	Assessment         exitrule.Assessment `json:"assessment"`
	OverallAssessment  string              `json:"overall_assessment"` // begins with the assessment
	Signals            []exitrule.Signal   `json:"signals"`
	TradeEligible      bool                `json:"trade_eligible"`
	RecommendedActions []exitrule.Order    `json:"recommended_actions"`
	Position           Position            `json:"position"`
	Sizing             *exitrule.Plan      `json:"sizing"` // nil if there is no exit
	Tax                *Tax                `json:"tax"`    // nil if nothing is to be sold, or nothing is known of what was paid
	LastPrice          portfolio.Decimal   `json:"last_price,omitzero"`
	LastPriceDate      portfolio.Date      `json:"last_price_date,omitzero"`
	ProblemCount       int                 `json:"problem_count"` // transactions of it that the history does not explain
	Notes              []string            `json:"notes"`
	reply.Unread                           // of the ticker, or of none in an account that holds it
	Disclaimer         string              `json:"disclaimer"`

	asked string // the account as it was asked for
}

// A Position is what the sizing is of.
type Position struct {
	Shares    portfolio.Decimal  `json:"shares"` // those to work with
	Held      portfolio.Decimal  `json:"held"`   // by the history
	Requested *portfolio.Decimal `json:"requested,omitempty"`
	Accounts  []Holding          `json:"accounts"` // of Shares, in the order in which they are sold
}

// A Holding is shares in one account: of a position, or of a sale.
type Holding struct {
	AccountID string            `json:"account_id"`
	Kind      portfolio.Kind    `json:"kind"`
	Shares    portfolio.Decimal `json:"shares"`
}

const disclaimer = reply.Disclaimer + " Nothing was ordered: check the figures with your broker before you trade."

// Failed is the result of a check that failed.
func Failed(ticker string, err error) *Result {
	r := newResult(ticker)
	r.Status, r.Error = agentformat.StatusError, err.Error()
	return r
}

func newResult(ticker string) *Result {
	return &Result{
		Status:             agentformat.StatusSuccess,
		Ticker:             ticker,
		Signals:            []exitrule.Signal{},
		RecommendedActions: []exitrule.Order{},
		Position:           Position{Accounts: []Holding{}},
		Notes:              []string{},
		Unread:             reply.NewUnread(nil, portfolio.Date{}, nil),
		Disclaimer:         disclaimer,
	}
}

// FileName is what the file of a result is called, before its time.
func (r *Result) FileName() string { return "exit_signals_" + r.Ticker }

// Check checks a ticker by the rules and says what to sell of the position, if anything. Of a ticker
// with a row that nobody could read it says what the rules say, and not what to sell. A
// check that comes to no verdict has succeeded: its assessment is ERROR. It fails only if what was
// asked for can't be understood, or nothing is known of the ticker.
//
// Shares that are asked for are a part of those held. More are taken only if there is no history
// of the ticker to hold against them.
func Check(in Input) *Result {
	traded := slices.ContainsFunc(in.History, func(t portfolio.Transaction) bool {
		return (t.Symbol == in.Ticker || t.Into == in.Ticker) && !t.Date.After(in.AsOf)
	})
	asked := in.AccountID
	in.AccountID = reply.WholeAccount(asked, in.accountIDs())
	if err := in.check(traded); err != nil {
		return Failed(in.Ticker, err)
	}
	r := newResult(in.Ticker)
	r.asked = asked
	r.AccountID, r.AsOf = in.AccountID, in.AsOf
	history := in.related()
	book := lots.Build(history, in.Rules, in.AsOf)
	for _, s := range book.Splits[in.Ticker] {
		in.Market.Splits = append(in.Market.Splits, exitrule.Split{Date: s.Date, Ratio: s.Ratio.Float()})
	}
	verdict := exitrule.Evaluate(in.Config, in.Market, in.AsOf)
	r.Assessment, r.OverallAssessment, r.Signals = verdict.Assessment, verdict.Text, verdict.Signals
	r.LastPrice, r.LastPriceDate = verdict.Last.Close, verdict.Last.Date

	if traded {
		in.position(r, book)
	} else if in.Shares != nil {
		r.Position.Shares, r.Position.Requested = *in.Shares, in.Shares
		r.note("there is no history of %s, so the %s shares are taken as said", in.Ticker, in.Shares)
	}
	in.tellUnread(r)
	if !verdict.Exits() || r.withheld() {
		return r
	}
	parts := make([]portfolio.Decimal, 0, len(r.Position.Accounts))
	for _, a := range r.Position.Accounts {
		parts = append(parts, a.Shares)
	}
	if !traded {
		parts = append(parts, r.Position.Shares)
	}
	plan := exitrule.Size(in.Config, verdict, in.Ticker, parts...)
	if plan.Note != "" {
		r.note("%s", plan.Note)
	}
	r.Sizing = &plan
	if len(plan.Orders) == 0 {
		return r
	}
	r.TradeEligible, r.RecommendedActions = true, plan.Orders
	if traded {
		r.RecommendedActions = plan.ByAccount(r.Position.ids()...)
		r.Tax = in.tax(r, plan.Sales, history, book)
	}
	return r
}

func (in Input) check(traded bool) error {
	switch {
	case strings.TrimSpace(in.Ticker) == "":
		return errors.New("there is no ticker; name the one to check")
	case in.AsOf.IsZero():
		return errors.New("there is no as_of date")
	case in.Shares != nil && in.Shares.Sign() <= 0:
		return fmt.Errorf("shares is more than zero, not %s; short positions are not worked out", in.Shares)
	case len(in.Market.Bars) == 0 && !traded:
		return fmt.Errorf("nothing is known of %.40q up to %s: there are no prices and no transactions; import some, or look at the spelling", in.Ticker, in.AsOf)
	}
	if err := in.Config.Check(); err != nil {
		return fmt.Errorf("the settings of exit signals: %w", err)
	}
	return in.checkAccount()
}

func (in Input) checkAccount() error {
	listed := slices.ContainsFunc(in.Rules.Accounts, func(a portfolio.Account) bool { return a.ID == in.AccountID })
	used := func(t portfolio.Transaction) bool { return t.Account == in.AccountID }
	if in.AccountID != "" && !listed && !slices.ContainsFunc(in.History, used) {
		return fmt.Errorf("there is no account %.40q; the accounts are %s", in.AccountID, reply.Quoted(in.accountIDs()))
	}
	return nil
}

// accountIDs are all that are known, in order.
func (in Input) accountIDs() []string {
	ids := map[string]bool{}
	for _, a := range in.Rules.Accounts {
		ids[a.ID] = true
	}
	for i := range in.History {
		ids[in.History[i].Account] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// related is the history up to the day of what the wash-sale rule, or a company's decision, can connect
// with the ticker.
func (in Input) related() []portfolio.Transaction {
	families := newFamilies(in.Rules, in.History)
	family := families.of(in.Ticker)
	var history []portfolio.Transaction
	for _, t := range in.History {
		if !t.Date.After(in.AsOf) && families.of(t.Symbol) == family {
			history = append(history, t)
		}
	}
	return history
}

func (in Input) kind(account string) portfolio.Kind {
	for _, a := range in.Rules.Accounts {
		if a.ID == account {
			return a.Kind
		}
	}
	return portfolio.Unlisted(account).Kind
}

// position finds the shares to work with: those of taxable accounts first, each kind by the
// account's id.
func (in Input) position(r *Result, book *lots.Book) {
	p := &r.Position
	for _, held := range book.Positions {
		if held.Symbol == in.Ticker && (in.AccountID == "" || in.AccountID == held.Account) {
			p.Held = p.Held.Add(held.Quantity)
			p.Accounts = append(p.Accounts, Holding{held.Account, in.kind(held.Account), held.Quantity})
		}
	}
	slices.SortStableFunc(p.Accounts, func(a, b Holding) int {
		if untaxed := a.Kind != portfolio.Taxable; untaxed != (b.Kind != portfolio.Taxable) {
			if untaxed {
				return 1
			}
			return -1
		}
		return strings.Compare(a.AccountID, b.AccountID)
	})
	odd := &r.ProblemCount
	for _, problem := range book.Problems {
		if problem.Symbol != in.Ticker {
			continue
		}
		if *odd++; *odd <= reply.MaxProblems {
			r.note("%s, account %.40q: %s", problem.Date, problem.Account, problem.Text)
		}
	}
	if more := *odd - reply.MaxProblems; more > 0 {
		r.note("%s more not explained by the history", english.Count(more, "transaction"))
	}
	p.Shares = p.Held
	if in.Shares == nil {
		return
	}
	p.Requested = in.Shares
	if in.Shares.Cmp(p.Held) > 0 {
		r.note("%s shares were asked for, and %s are held", in.Shares, p.Held)
		return
	}
	p.Shares = *in.Shares
	open := *in.Shares
	for i := range p.Accounts {
		p.Accounts[i].Shares = p.Accounts[i].Shares.Min(open)
		open = open.Sub(p.Accounts[i].Shares)
	}
	p.Accounts = slices.DeleteFunc(p.Accounts, func(a Holding) bool { return a.Shares.IsZero() })
}

// ids are the accounts of a position, in the order of their shares.
func (p Position) ids() (ids []string) {
	for _, a := range p.Accounts {
		ids = append(ids, a.AccountID)
	}
	return ids
}
