package listing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// A Gain is what a sale realised of a purchase: a row of Form 8949. Amounts are exact.
type Gain struct {
	Account    string            `json:"account"`
	Symbol     string            `json:"symbol"`
	Acquired   portfolio.Date    `json:"acquired"`
	Sold       portfolio.Date    `json:"sold"`
	Quantity   portfolio.Decimal `json:"quantity"`
	Proceeds   string            `json:"proceeds"`
	Basis      string            `json:"basis"`
	Gain       string            `json:"gain"` // proceeds less basis
	Disallowed string            `json:"disallowed"`
	Permanent  string            `json:"permanently_disallowed"`
	Unsettled  string            `json:"unsettled"`
	Adjusted   string            `json:"adjusted_gain"` // without what is disallowed
	Term       string            `json:"term"`
	Action     portfolio.Action  `json:"action,omitempty"` // what it was, if it was no sale: MERGER, RETURN_OF_CAPITAL
	// WindowOpenUntil is the last day on which a purchase still washes what is left of the loss: the day after
	// is the first that is free.
	WindowOpenUntil portfolio.Date `json:"window_open_until,omitzero"`
	UnreadRows      bool           `json:"unread_rows,omitempty"` // of the symbol: the row may be wrong

	lots.Disposal `json:"-"`
}

// Gains are the rows that are asked for, by the day of their sale.
func (in Input) Gains() []Gain {
	unread, _ := in.unreadTickers()
	list := []Gain{}
	for _, d := range in.Book.Rows() {
		if !in.wanted(d.Account, d.Symbol) || in.Year != 0 && d.Sold.Year() != in.Year {
			continue
		}
		list = append(list, Gain{
			Account: d.Account, Symbol: d.Symbol, Acquired: d.Acquired, Sold: d.Sold,
			Quantity: d.Quantity, Proceeds: d.Proceeds.Money(), Basis: d.Basis.Money(), Gain: d.Gain().Money(),
			Disallowed: d.Disallowed.Money(), Permanent: d.Permanent.Money(), Unsettled: d.Unsettled.Money(),
			Adjusted: d.Gain().Add(d.Disallowed).Money(), Term: d.Term(),
			Action: otherThanSale(d.Action), WindowOpenUntil: d.OpenUntil(in.AsOf), UnreadRows: unread[d.Symbol], Disposal: d,
		})
	}
	return list
}

func otherThanSale(a portfolio.Action) portfolio.Action {
	if a == portfolio.Sell {
		return ""
	}
	return a
}

// Untold are the sales that are asked for and in no row, because nobody knows what the shares cost.
func (in Input) Untold() []lots.Untold {
	return slices.DeleteFunc(slices.Clone(in.Book.Untold), func(u lots.Untold) bool {
		return !in.wanted(u.Account, u.Symbol) || in.Year != 0 && u.Sold.Year() != in.Year
	})
}

// An UnknownGain is a sale of which nobody knows what the shares cost.
type UnknownGain struct {
	Account  string            `json:"account"`
	Symbol   string            `json:"symbol"`
	Sold     portfolio.Date    `json:"sold"`
	Quantity portfolio.Decimal `json:"quantity"`
	Proceeds string            `json:"proceeds"`
}

// A GainsResult is everything that list_gains finds.
type GainsResult struct {
	Status    string            `json:"status"`
	Error     string            `json:"error,omitempty"`
	AsOf      portfolio.Date    `json:"as_of"`
	AccountID string            `json:"account_id,omitempty"`
	Symbol    string            `json:"symbol,omitempty"`
	Year      int               `json:"year"`
	GainCount int               `json:"gain_count"`
	Short     portfolio.Decimal `json:"short_term_gain"` // net, after what is disallowed
	Long      portfolio.Decimal `json:"long_term_gain"`
	// What the wash-sale rule disallows, what of it is lost for good, and what may be.
	Disallowed   portfolio.Decimal `json:"disallowed"`
	Permanent    portfolio.Decimal `json:"permanently_disallowed"`
	Unsettled    portfolio.Decimal `json:"unsettled"`
	Gains        []Gain            `json:"gains"`
	UnknownGains []UnknownGain     `json:"unknown_gains"`
	Disclaimer   string            `json:"disclaimer"`
	doubts

	asked string // the account as it was asked for
}

// FailedGains is the result of a call that failed.
func FailedGains(err error) *GainsResult {
	return &GainsResult{Status: agentformat.StatusError, Error: err.Error(), Gains: []Gain{}, UnknownGains: []UnknownGain{}, Disclaimer: reply.Disclaimer, doubts: doubts{Unread: []string{}}}
}

// ListGains lists what was realised.
func ListGains(in Input) *GainsResult {
	asked := in.AccountID
	in = in.whole()
	if err := in.Check(); err != nil {
		return FailedGains(err)
	}
	r := &GainsResult{
		Status: agentformat.StatusSuccess, AsOf: in.AsOf, AccountID: in.AccountID, Symbol: in.Symbol, Year: in.Year,
		Gains: in.Gains(), UnknownGains: []UnknownGain{}, Disclaimer: reply.Disclaimer,
	}
	r.GainCount = len(r.Gains)
	for _, g := range r.Gains {
		if adjusted := g.Disposal.Gain().Add(g.Disposal.Disallowed); g.Long() {
			r.Long = r.Long.Add(adjusted)
		} else {
			r.Short = r.Short.Add(adjusted)
		}
		r.Disallowed, r.Permanent, r.Unsettled = r.Disallowed.Add(g.Disposal.Disallowed), r.Permanent.Add(g.Disposal.Permanent), r.Unsettled.Add(g.Disposal.Unsettled)
	}
	for _, u := range in.Untold() {
		r.UnknownGains = append(r.UnknownGains, UnknownGain{u.Account, u.Symbol, u.Sold, u.Quantity, u.Proceeds.Money()})
	}
	r.doubts, r.asked = in.doubts(), asked
	return r
}

// A GainsSnapshot is what an agent decides from.
type GainsSnapshot struct {
	Status       string         `json:"status"`
	Verdict      string         `json:"verdict"`
	AsOf         portfolio.Date `json:"as_of"`
	Year         int            `json:"year"`
	GainCount    int            `json:"gain_count"`
	Short        float64        `json:"short_term_gain"`
	Long         float64        `json:"long_term_gain"`
	Disallowed   float64        `json:"disallowed"`
	Permanent    float64        `json:"permanently_disallowed"`
	Unsettled    float64        `json:"unsettled"`
	UnknownCount int            `json:"unknown_gain_count"`
	Gains        []GainRow      `json:"gains"` // the last sale first
	Omitted      int            `json:"gains_omitted"`
	AccountID    string         `json:"account_id,omitempty"` // whole, if a part of it was asked for

	open    []string // symbols whose window is open
	until   portfolio.Date
	unknown []string
	doubts  doubts
}

// A GainRow is a gain in short.
type GainRow struct {
	Symbol     string         `json:"symbol"`
	Account    string         `json:"account"`
	Acquired   portfolio.Date `json:"acquired"`
	Sold       portfolio.Date `json:"sold"`
	Shares     float64        `json:"shares"`
	Gain       float64        `json:"adjusted_gain"`
	Disallowed float64        `json:"disallowed,omitempty"`
	Term       string         `json:"term"`
	OpenUntil  portfolio.Date `json:"window_open_until,omitzero"`
	UnreadRows bool           `json:"unread_rows,omitempty"` // of the symbol: the row may be wrong
}

// Snapshot is the result as an agent needs it, before anything is cut.
func (r *GainsResult) Snapshot() GainsSnapshot {
	s := GainsSnapshot{Status: cmp.Or(r.Status, agentformat.StatusError), AsOf: r.AsOf, Year: r.Year, Gains: []GainRow{}}
	if s.Status != agentformat.StatusSuccess {
		s.Verdict = failure("Listing gains", r.Error)
		return s
	}
	s.GainCount, s.UnknownCount = r.GainCount, len(r.UnknownGains)
	s.Short, s.Long, s.Disallowed = number(r.Short), number(r.Long), number(r.Disallowed)
	s.Permanent, s.Unsettled = number(r.Permanent), number(r.Unsettled)
	s.doubts, s.AccountID = r.doubts, reply.CompletedAccount(r.asked, r.AccountID)
	for _, g := range slices.Backward(r.Gains) {
		s.Gains = append(s.Gains, GainRow{
			reply.ShortTicker(g.Symbol), reply.ShortAccount(g.Account), g.Acquired, g.Sold, quantity(g.Quantity),
			number(g.Disposal.Gain().Add(g.Disposal.Disallowed)), number(g.Disposal.Disallowed), g.Term, g.WindowOpenUntil, g.UnreadRows,
		})
		if !g.WindowOpenUntil.IsZero() && !slices.Contains(s.open, g.Symbol) {
			s.open = append(s.open, g.Symbol)
		}
		if g.WindowOpenUntil.After(s.until) {
			s.until = g.WindowOpenUntil
		}
	}
	for _, u := range r.UnknownGains {
		if !slices.Contains(s.unknown, u.Symbol) {
			s.unknown = append(s.unknown, u.Symbol)
		}
	}
	s.Verdict = s.verdict()
	return s
}

func (s GainsSnapshot) verdict() string {
	when := ""
	if s.Year != 0 {
		when = fmt.Sprintf(" in %d", s.Year)
	}
	if s.GainCount+s.UnknownCount == 0 {
		return "Nothing was sold" + when + " in a taxable account"
	}
	verdict := fmt.Sprintf("Realised%s: %s short-term, %s long-term, in %s", when, signed(s.Short), signed(s.Long), english.Count(s.GainCount, "row"))
	if s.Disallowed > 0 {
		verdict += fmt.Sprintf(", %s disallowed", reply.Dollars(s.Disallowed))
	}
	if s.UnknownCount > 0 {
		verdict += fmt.Sprintf("; %s of unknown cost not counted", english.Count(s.UnknownCount, "sale"))
	}
	return verdict
}

func signed(f float64) string {
	if f < 0 {
		return "-" + reply.Dollars(f)
	}
	return reply.Dollars(f)
}

// Flags says what the snapshot means.
func (s GainsSnapshot) Flags() []agentformat.Flag {
	var f flags
	if s.Status != agentformat.StatusSuccess {
		f.add("gains_error", agentformat.Error, "%s", cmp.Or(s.Verdict, "Listing gains failed"))
		return f.list
	}
	if n := s.UnknownCount; n > 0 {
		f.add("unknown_cost", agentformat.Warning, "Nothing says what the shares of %s cost%s — import what is older, or: %s", english.Count(n, "sale"), named(s.unknown), reply.HowToPrice)
	}
	f.addDoubts(s.doubts)
	if n := len(s.open); n > 0 {
		f.add("window_open", agentformat.Warning, "Losses of %s can still be washed by a purchase up to %s%s", english.Count(n, "ticker"), s.until, named(s.open))
	}
	if s.Disallowed > 0 {
		f.add("wash_sales", agentformat.Info, "%s of losses disallowed, %s of it for good", reply.Dollars(s.Disallowed), reply.Dollars(s.Permanent))
	}
	if s.Unsettled > 0 {
		f.add("wash_sale_unsettled", agentformat.Info, "%s may be disallowed: the law is unsettled", reply.Dollars(s.Unsettled))
	}
	switch {
	case s.GainCount+s.UnknownCount == 0:
		f.add("no_gains", agentformat.Info, "%s", s.Verdict)
	case len(f.list) == 0:
		f.add("gains_known", agentformat.Success, "Every sale's gain is known")
	}
	agentformat.SortFlags(f.list)
	return f.list
}

// Capped is the snapshot with as many rows as fit.
func (s GainsSnapshot) Capped() GainsSnapshot {
	return shrunk(s, len(s.Gains), func(s GainsSnapshot, n int) GainsSnapshot {
		s.Gains, s.Omitted = s.Gains[:n], len(s.Gains)-n
		return s
	})
}

// A GainsSummary is the result in short: totals and the last rows.
type GainsSummary struct {
	Format       string             `json:"format"`
	Verdict      string             `json:"verdict"`
	*GainsResult                    // its rows are cut
	Omitted      int                `json:"gains_omitted"`
	Flags        []agentformat.Flag `json:"flags"`
	reply.FileKeys
}

const maxSummary = 20

type fullGains struct {
	*GainsResult
	Format string `json:"format"`
	reply.FileKeys
}

// GainsReply answers in the format that was asked for.
func GainsReply(r *GainsResult, params Params, file agentformat.File) reply.Reply {
	if err := params.Check(); err != nil {
		r = FailedGains(err)
	}
	snapshot := r.Snapshot()
	return reply.New(params.Format, r.Status, r.Error, snapshot, file, func(told reply.FileKeys) any {
		if params.Format == reply.FormatFull {
			return fullGains{r, reply.FormatFull, told}
		}
		short := *r
		short.doubts = r.short()
		omitted := max(len(r.Gains)-maxSummary, 0)
		short.Gains = r.Gains[omitted:]
		short.UnknownGains = r.UnknownGains[max(len(r.UnknownGains)-maxSummary, 0):]
		return GainsSummary{reply.FormatSummary, snapshot.Verdict, &short, omitted, snapshot.Flags(), told}
	})
}

// FileName is what the file of a result is called, before its time.
func (r *GainsResult) FileName() string {
	return strings.TrimSuffix("gains_"+fmt.Sprint(r.Year), "_0")
}
