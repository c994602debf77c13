package harvest

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
)

// The limits that flags go by: unrounded numbers are held against them.
const (
	deductionLimit          = 3000.0 // dollars of losses a year against other income
	deductionLimitSeparated = 1500.0
	lowCoverage             = 50.0 // percent
	goodCoverage            = 75.0
	fullCoverage            = 100.0
	mostlyShort             = 50.0
)

// maxFlags is how long flags are, in bytes of JSON, before they say less, where a file is told of, and mostFlags before those
// are left out that warn of nothing.
const (
	maxFlags  = 1150
	mostFlags = 1450
)

// Flags says what the snapshot means. If that comes to very much, messages explain less, then name fewer things,
// or none, and the
// last of those that only inform are left out.
func (s Snapshot) Flags() []agentformat.Flag {
	most := maxFlags
	if s.inline {
		most += replyRest - inlineRest
	}
	for _, f := range []flags{{names: maxNamed, words: 2}, {names: maxNamed, words: 1}, {names: maxNamed}, {names: 1}} {
		if list := f.of(s); jsontext.Length(list) <= most {
			return list
		}
	}
	list := flags{}.of(s)
	for jsontext.Length(list) > mostFlags && list[len(list)-1].Severity == agentformat.Info {
		list = list[:len(list)-1]
	}
	return list
}

// of are the flags of a snapshot.
func (f flags) of(s Snapshot) []agentformat.Flag {
	switch {
	case s.Status != agentformat.StatusSuccess:
		f.add("harvest_error", agentformat.Error, "%s", cmp.Or(s.Verdict, "Tax harvest analysis failed"))
		return f.list
	case s.CandidateCount == 0:
		f.addNoCandidates(s)
		f.addWindows(s.caveats.open)
		f.addDoubts(s)
	default:
		f.addOmitted(s)
		f.addLosses(s)
		f.addWashes(s)
		f.addWindows(s.caveats.open)
		f.addDoubts(s)
		if len(f.list) == 0 {
			f.add("harvest_available", agentformat.Info, "%s in harvestable losses across %d lots", reply.Dollars(s.TotalHarvestableLoss), s.CandidateCount)
		}
	}
	agentformat.SortFlags(f.list)
	return f.list
}

type flags struct {
	list  []agentformat.Flag
	names int // that a message has
	words int // 1 if it explains, 2 if it does so at length
}

func (f *flags) add(name string, severity agentformat.Severity, format string, args ...any) {
	f.list = append(f.list, agentformat.Flag{Name: name, Severity: severity, Message: fmt.Sprintf(format, args...)})
}

// why is what a message says besides, if there is room.
func (f *flags) why(text string) string {
	if f.words == 0 {
		return ""
	}
	return text
}

// how is what to do, which a message says as long as it names anything.
func (f *flags) how(text string) string {
	if f.names == 0 {
		return ""
	}
	return text
}

// more is what a message says besides, if there is much room.
func (f *flags) more(text string) string {
	if f.words < 2 {
		return ""
	}
	return text
}

// addOmitted says how to see the lots that are not shown.
func (f *flags) addOmitted(s Snapshot) {
	n := len(s.Lots) - s.shown
	if n == 0 {
		return
	}
	how := "ask by account_id or with output=file, or leave out small ones by a higher min_loss"
	if s.filed {
		how = "the file has them"
	}
	f.add("lots_omitted", agentformat.Info, "%s not shown: %s", english.Count(n, "lot"), how)
}

// addNoCandidates says why there are none. That all is well is said only if everything is known.
func (f *flags) addNoCandidates(s Snapshot) {
	c := s.caveats
	switch {
	case c.because == noLotData:
		f.add(noLotData, agentformat.Warning, "No transaction history in taxable accounts — whether there are losses is unknown; import your broker's transactions")
	case c.because == noOpenLots:
		f.add(noOpenLots, agentformat.Info, "No open lots in taxable accounts — there is nothing to sell that has a known cost")
	case c.because == filteredOut:
		f.add(filteredOut, agentformat.Info, "%s with %s in losses below the minimum of %s a lot", english.Count(c.filtered, "lot"), reply.Dollars(c.filteredLoss), c.minLoss)
	case c.uncertain > 0:
		or := ""
		if s.UnreadRowCount > 0 {
			or = ", or with rows that were not read"
		}
		f.add("no_known_candidates", agentformat.Info, "No unrealized losses among the lots with a current price — of %s, %d without lots or a current price%s",
			english.Count(s.PositionsAnalyzed, "position"), c.uncertain, or)
	case s.UnreadRowCount > 0:
		f.add("no_known_candidates", agentformat.Info, "No unrealized losses among the lots that are known — some rows were not read")
	default:
		f.add("no_candidates", agentformat.Success, "No unrealized losses to harvest — all lots are at a gain or break-even")
	}
}

// addLosses says how much the losses matter.
func (f *flags) addLosses(s Snapshot) {
	limit := s.caveats.year.limit
	loss, short := math.Abs(s.TotalHarvestableLoss), math.Abs(s.ShortTermLoss)
	if loss >= limit && s.caveats.year.meets {
		f.add("significant_harvest", agentformat.Info, "%s harvestable losses meet or exceed %s annual deduction limit", reply.Dollars(loss), reply.Dollars(limit))
	}
	if short > 0 && loss > 0 {
		if pct := short / loss * 100; pct >= mostlyShort {
			f.add("mostly_short_term", agentformat.Info, "%.0f%% of losses are short-term (higher tax offset value)", pct)
		}
	}
	f.addYear(s.caveats.year)
}

// addWashes says what stands in the way of the losses.
func (f *flags) addWashes(s Snapshot) {
	c := s.caveats
	if n := s.WashSaleTickerCount; n > 0 {
		f.add("wash_sale_risk", agentformat.Warning, "Wash sale risk on %s%s", english.Count(n, "ticker"), f.named(s.WashSaleTickers))
	}
	if c.allWashed {
		when := fmt.Sprintf("today; nothing bought so far washes it from %s on", s.WashFreeFrom)
		if f.words == 0 {
			when = fmt.Sprintf("before %s", s.WashFreeFrom)
		}
		f.add("all_washed_now", agentformat.Warning, "Nothing of the %s is allowed if sold %s", reply.Dollars(s.TotalHarvestableLoss), when)
	}
	if n := len(c.expected); n > 0 {
		f.add("reinvestment_expected", agentformat.Warning, "%s expected%s%s", english.Count(n, "reinvestment"), f.why(", none made yet: it would wash a part of the loss, so turn it off before a sale"), f.namedReinvestments(c.expected))
	}
	if c.permanent > 0 {
		f.add("wash_sale_permanent", agentformat.Warning, "%s would be lost for good if sold now: an IRA bought within 30 days", reply.Dollars(c.permanent))
	}
	if c.unsettled > 0 {
		f.add("wash_sale_unsettled", agentformat.Info, "%s may be disallowed: the law on %s is unsettled", reply.Dollars(c.unsettled), c.unsettledBy())
	}
	if list := s.toName(); len(list) > 0 {
		f.add("name_the_lot", agentformat.Info, "%s must be named in a sale%s%s", english.Count(len(list), "lot"), f.why(", or the account's method sells another first")+f.more(" (not needed if all shares of it there are sold together)"), f.namedLots(list))
	}
}

// addWindows says what must not be bought for the sake of losses that are taken already.
func (f *flags) addWindows(windows []Window) {
	n := len(windows)
	if n == 0 {
		return
	}
	var names []string
	for _, w := range windows[:min(n, f.names)] {
		names = append(names, fmt.Sprintf("%s through %s", reply.ShortTicker(w.Ticker), w.Until))
	}
	if len(names) == 0 {
		f.add("window_open", agentformat.Warning, "Recent losses of %s can be washed", english.Count(n, "ticker"))
		return
	}
	f.add("window_open", agentformat.Warning, "No purchase of%s: it would wash a loss taken already", strings.TrimPrefix(reply.Listed(names, n), ":"))
}

// addDoubts says what is not known.
func (f *flags) addDoubts(s Snapshot) {
	c := s.caveats
	f.addUnread(s.unreadTold)
	known := s.CandidateCount > 0 || s.PositionsAnalyzed > 0 && c.because != noLotData
	switch coverage := s.DataCoveragePct; {
	case !known:
	case coverage < lowCoverage:
		f.add("low_coverage", agentformat.Warning, "Only %s%% of positions have FIFO lot data — losses may be understated%s", coverageText(coverage), f.why(c.unreadPositions("; ")))
	case coverage < goodCoverage:
		f.add("moderate_coverage", agentformat.Info, "%s%% lot coverage — %s", coverageText(coverage), s.uncovered())
	}
	f.addPrices(c)
	if n := len(c.unknown); n > 0 {
		f.add("unknown_cost", agentformat.Warning, "Nothing says what some shares of %s cost%s%s", english.Count(n, "ticker"), f.named(c.unknown), f.how(" — "+reply.HowToPrice))
	}
	if n := len(c.unreconciled); n > 0 {
		f.add("unreconciled", agentformat.Warning, "The broker reports other quantities of %s%s", english.Count(n, "ticker"), f.named(c.unreconciled))
	}
	if c.problems > 0 {
		f.add("history_problems", agentformat.Warning, "%s not explained by the history — lots may be wrong", english.Count(c.problems, "transaction"))
	}
}

// addPrices says which losses are not known for want of a price. Coverage says nothing of them.
func (f *flags) addPrices(c caveats) {
	if n := len(c.missing); n > 0 {
		f.add("missing_prices", agentformat.Warning, "No price for %s%s%s", english.Count(n, "ticker"), f.named(c.missing), f.why(" — coverage counts lots, not prices"))
	}
	if n := len(c.stale); n > 0 {
		rest := ""
		if c.staleLoss != 0 {
			rest = fmt.Sprintf(" — %s of the losses rest on them", reply.Dollars(c.staleLoss))
		}
		f.add("stale_prices", agentformat.Warning, "Prices over %d sessions old for %s%s%s", exitrule.MaxAge, english.Count(n, "ticker"), f.named(c.stale), f.why(rest))
	}
}

// uncovered says why positions are not covered: a row that was not read is no missing history.
func (s Snapshot) uncovered() string {
	missing := s.PositionsAnalyzed - s.PositionsWithLots
	if s.caveats.unread == 0 {
		return fmt.Sprintf("%d positions missing transaction history", missing)
	}
	if missing -= s.caveats.unread; missing > 0 {
		return fmt.Sprintf("%s missing transaction history%s", english.Count(missing, "position"), s.caveats.unreadPositions(", "))
	}
	return s.caveats.unreadPositions("")
}

// unreadPositions says how many positions have unread rows, after a text if there are any.
func (c caveats) unreadPositions(after string) string {
	if c.unread == 0 {
		return ""
	}
	return fmt.Sprintf("%s%s with unread rows", after, english.Count(c.unread, "position"))
}

// namedReinvestments is named for them: ": A in X about 2024-03-01".
func (f *flags) namedReinvestments(list []Reinvestment) string {
	var names []string
	for _, p := range list[:min(len(list), f.names)] {
		names = append(names, fmt.Sprintf("%s in %s about %s", reply.ShortTicker(p.Ticker), reply.ShortAccount(p.Account), p.Date))
	}
	return reply.Listed(names, len(list))
}
