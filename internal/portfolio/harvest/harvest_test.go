package harvest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/broker"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// input is a portfolio on Friday, 2026-11-13. The history has rows of
// "date account action symbol quantity price [note]", the closes are "symbol close [date]".
func input(t *testing.T, history, closes string) Input {
	t.Helper()
	in := Input{AsOf: dayOf("2026-11-13"), Closes: map[string]price.Bar{}}
	in.Rules.Accounts = []portfolio.Account{
		{ID: "home", Kind: portfolio.Taxable, Method: portfolio.FIFO},
		{ID: "high", Kind: portfolio.Taxable, Method: portfolio.HIFO},
		{ID: "ira", Kind: portfolio.IRA, Method: portfolio.FIFO},
		{ID: "work", Kind: portfolio.K401, Method: portfolio.FIFO},
	}
	for line := range strings.Lines(history) {
		f := append(strings.Fields(line), "")
		if len(f) < 7 {
			continue
		}
		row := portfolio.Transaction{Date: dayOf(f[0]), Account: f[1], Action: portfolio.Action(f[2]), Symbol: f[3], Quantity: usd(f[4]), Price: usd(f[5]), Note: f[6]}
		if err := row.Check(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		in.History = append(in.History, row)
	}
	for line := range strings.Lines(closes) {
		f := append(strings.Fields(line), "2026-11-13")
		if len(f) < 3 {
			continue
		}
		in.Closes[f[0]] = price.Bar{Date: dayOf(f[2]), Close: usd(f[1])}
	}
	return in
}

// suggest keeps the book and looks into it.
func suggest(in Input) *Result {
	in.Book = lots.Build(in.History, in.Rules, in.AsOf)
	return Suggest(in)
}

func wantSuccess(t *testing.T, r *Result) {
	t.Helper()
	if r.Status != agentformat.StatusSuccess {
		t.Fatalf("%s: %s", r.Status, r.Error)
	}
}

func wantAmount(t *testing.T, what string, got portfolio.Decimal, want string) {
	t.Helper()
	if got.Cmp(usd(want)) != 0 {
		t.Errorf("%s is %s, want %s", what, got, want)
	}
}

func TestCandidate(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 100 30
		2026-06-01 home BUY SLV 10 41
		2026-03-02 ira BUY SLV 100 90
		2025-01-10 home BUY WIN 5 10
	`, `
		SLV 25.5
		WIN 12
	`))
	wantSuccess(t, r)
	want := []Candidate{
		{
			Ticker: "SLV", Account: "home", UnrealizedLoss: usd("-450"), HoldingPeriod: "long_term", Term: "long",
			Acquired: dayOf("2025-01-10"), HoldingSince: dayOf("2025-01-10"), LongTermFrom: dayOf("2026-01-11"),
			Quantity: usd("100"), Basis: usd("3000"), Price: usd("25.5"), PriceDate: dayOf("2026-11-13"), Value: usd("2550"),
			Method: portfolio.FIFO, FIFOReaches: true, Sale: Sale{Allowed: usd("-450")},
			Washes: []reply.Wash{}, NoBuyUntil: dayOf("2026-12-14"), Projected: []Reinvestment{},
		},
		{
			Ticker: "SLV", Account: "home", UnrealizedLoss: usd("-155"), HoldingPeriod: "short_term", Term: "short",
			Acquired: dayOf("2026-06-01"), HoldingSince: dayOf("2026-06-01"), LongTermFrom: dayOf("2027-06-02"),
			Quantity: usd("10"), Basis: usd("410"), Price: usd("25.5"), PriceDate: dayOf("2026-11-13"), Value: usd("255"),
			Method: portfolio.FIFO, FIFOReaches: true, SoldFirst: &First{Acquired: dayOf("2025-01-10")}, Sale: Sale{Allowed: usd("-155")},
			Washes: []reply.Wash{}, NoBuyUntil: dayOf("2026-12-14"), Projected: []Reinvestment{},
		},
	}
	same := cmp.Comparer(func(a, b portfolio.Decimal) bool { return a.Cmp(b) == 0 })
	days := cmp.Comparer(func(a, b portfolio.Date) bool { return a == b })
	hidden := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".lot" }, cmp.Ignore())
	if diff := cmp.Diff(want, r.Candidates, same, days, hidden); diff != "" {
		t.Error(diff)
	}
	wantAmount(t, "total", r.TotalHarvestableLoss, "-605")
	wantAmount(t, "short", r.ShortTermLoss, "-155")
	wantAmount(t, "long", r.LongTermLoss, "-450")
	wantAmount(t, "allowed", r.IfAllSold.Allowed, "-605")
	if r.CandidateCount != 2 || r.DataCoveragePct != 100 || len(r.WashSaleWarnings) != 0 {
		t.Errorf("%+v", r)
	}
	if m := r.Metadata; m.PositionsAnalyzed != 2 || m.PositionsWithLots != 2 || m.LotsAnalyzed != 3 || m.LotsAtALoss != 2 || m.PositionsUncertain != 0 {
		t.Errorf("%+v", m)
	}
}

// Long-term begins on the day after a year, by the calendar.
func TestTermBoundary(t *testing.T) {
	for bought, want := range map[string]string{"2025-11-11": "long", "2025-11-12": "long", "2025-11-13": "short"} {
		r := suggest(input(t, bought+" home BUY A 1 10", "A 5"))
		if got := r.Candidates[0].Term; got != want {
			t.Errorf("bought %s: %s, want %s", bought, got, want)
		}
	}
}

// A replacement of a wash sale has the holding period and the loss of what it replaces.
func TestTermOfReplacement(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 10 30
		2026-03-10 home SELL SLV 10 20
		2026-03-15 home BUY SLV 10 22
	`, "SLV 20"))
	c := r.Candidates[0]
	if c.Term != "long" || c.Acquired != dayOf("2026-03-15") || c.LongTermFrom.After(r.AsOf) {
		t.Errorf("%+v", c)
	}
	wantAmount(t, "deferred", c.Deferred, "100")
	wantAmount(t, "loss", c.UnrealizedLoss, "-120")
}

// The wash-sale rule looks at the household, whatever account is asked for.
func TestAccount(t *testing.T) {
	history := `
		2025-01-10 home BUY SLV 10 30
		2025-01-10 high BUY SLV 10 30
		2026-11-02 ira BUY SLV 4 20
		2025-01-10 other BUY SLV 10 30
	`
	in := input(t, history, "SLV 20")
	in.AccountID = "high"
	r := suggest(in)
	wantSuccess(t, r)
	if r.CandidateCount != 1 || r.Candidates[0].Account != "high" || r.Metadata.PositionsAnalyzed != 1 {
		t.Errorf("%+v", r.Candidates)
	}
	wantAmount(t, "disallowed", r.IfAllSold.Disallowed, "40")
	in.AccountID = ""
	if r := suggest(in); r.CandidateCount != 3 {
		t.Errorf("an account that nobody described is taxable: %+v", r.Candidates)
	}
}

func TestRefuses(t *testing.T) {
	negative := usd("-1")
	for want, change := range map[string]func(*Input){
		`sort_by is loss, ticker, date or term, not "size"`:                                                                    func(in *Input) { in.SortBy = "size" },
		`min_loss is an amount of zero or more, not -1`:                                                                        func(in *Input) { in.MinLoss = &negative },
		`there is no account "nobody"; the taxable accounts are "high", "home"`:                                                func(in *Input) { in.AccountID = "nobody" },
		`account "ira" is of the kind ira, where losses can't be harvested; ask for a taxable account, or for none to see all`: func(in *Input) { in.AccountID = "ira" },
		`there is no as_of date`: func(in *Input) { in.AsOf = portfolio.Date{} },
	} {
		in := input(t, "2025-01-10 home BUY SLV 10 30", "SLV 20")
		change(&in)
		if r := suggest(in); r.Status != agentformat.StatusError || r.Error != want {
			t.Errorf("%s: %s\nwant %s", r.Status, r.Error, want)
		}
	}
}

func TestSortBy(t *testing.T) {
	in := input(t, `
		2026-10-01 home BUY CCC 10 30
		2024-01-10 home BUY BBB 10 22
		2025-01-10 home BUY AAA 10 25
	`, "AAA 20\nBBB 20\nCCC 20")
	for by, want := range map[string]string{"": "CCC AAA BBB", SortLoss: "CCC AAA BBB", SortTicker: "AAA BBB CCC", SortDate: "BBB AAA CCC", SortTerm: "CCC AAA BBB"} {
		in.SortBy = by
		var got []string
		for _, c := range suggest(in).Candidates {
			got = append(got, c.Ticker)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %q: %v, want %s", by, got, want)
		}
	}
}

func TestMinLoss(t *testing.T) {
	in := input(t, `
		2025-01-10 home BUY AAA 10 25
		2025-01-10 home BUY BBB 10 30
	`, "AAA 20\nBBB 20")
	minimum := usd("100")
	in.MinLoss = &minimum
	r := suggest(in)
	if r.CandidateCount != 1 || r.Candidates[0].Ticker != "BBB" || r.Metadata.LotsFiltered != 1 {
		t.Errorf("%+v", r)
	}
	wantNoFlag(t, r, "filtered_out")
	minimum = usd("100.01")
	r = suggest(in)
	if r.NoCandidates != filteredOut || r.CandidateCount != 0 {
		t.Errorf("%+v", r)
	}
	wantOnlyFlag(t, r, agentformat.Flag{Name: "filtered_out", Severity: agentformat.Info, Message: "2 lots with $150 in losses below the minimum of $100.01 a lot"})
	if v := r.Snapshot().Verdict; v != "No tax-loss harvesting candidates found (2 positions analyzed): all lots at a loss are below the minimum" {
		t.Error(v)
	}
}

func TestNoLotData(t *testing.T) {
	for name, history := range map[string]string{
		"nothing":         "",
		"later":           "2026-11-14 home BUY SLV 10 30",
		"in the IRA only": "2025-01-10 ira BUY SLV 10 30",
	} {
		r := suggest(input(t, history, "SLV 20"))
		wantSuccess(t, r)
		wantOnlyFlag(t, r, agentformat.Flag{
			Name: "no_lot_data", Severity: agentformat.Warning,
			Message: "No transaction history in taxable accounts — whether there are losses is unknown; import your broker's transactions",
		})
		if v := r.Snapshot().Verdict; v != "No tax-loss harvesting candidates found (0 positions analyzed): there is no transaction history" {
			t.Errorf("%s: %s", name, v)
		}
	}
}

func TestNoOpenLots(t *testing.T) {
	r := suggest(input(t, "2025-01-10 home BUY SLV 10 30\n2025-02-10 home SELL SLV 10 20", "SLV 20"))
	wantOnlyFlag(t, r, agentformat.Flag{
		Name: "no_open_lots", Severity: agentformat.Info,
		Message: "No open lots in taxable accounts — there is nothing to sell that has a known cost",
	})
	r = suggest(input(t, "2025-01-10 home TRANSFER_IN SLV 10 0", "SLV 20"))
	if r.NoCandidates != noOpenLots || r.Metadata.PositionsAnalyzed != 1 {
		t.Errorf("%+v", r)
	}
	wantFlag(t, r, agentformat.Flag{Name: "low_coverage", Severity: agentformat.Warning, Message: "Only 0% of positions have FIFO lot data — losses may be understated"})
}

func TestAllAtAGain(t *testing.T) {
	in := input(t, "2025-01-10 home BUY SLV 10 20\n2025-01-10 home BUY WIN 10 20", "SLV 20\nWIN 30")
	wantOnlyFlag(t, suggest(in), agentformat.Flag{Name: "no_candidates", Severity: agentformat.Success, Message: "No unrealized losses to harvest — all lots are at a gain or break-even"})
	delete(in.Closes, "WIN")
	wantNoFlag(t, suggest(in), "no_candidates")
	in.History = append(in.History, portfolio.Transaction{Date: dayOf("2025-01-10"), Account: "home", Action: portfolio.TransferIn, Symbol: "SLV", Quantity: usd("1")})
	in.Closes["WIN"] = price.Bar{Date: in.AsOf, Close: usd("30")}
	r := suggest(in)
	wantNoFlag(t, r, "no_candidates")
	wantFlag(t, r, agentformat.Flag{
		Name: "no_known_candidates", Severity: agentformat.Info,
		Message: "No unrealized losses among the lots with a current price — of 2 positions, 1 without lots or a current price",
	})
}

func TestPrices(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY NONE 10 30
		2025-01-10 home BUY ZERO 10 30
		2025-01-10 home BUY OLD 10 30
		2025-01-10 home BUY WEEK 10 30
		2025-01-10 home BUY SPLIT 10 30
		2026-11-12 home SPLIT SPLIT 0.1 0
		2025-01-10 home BUY LATER 10 30
		2025-01-10 ira BUY IRAS 10 30
	`, `
		ZERO 0
		OLD 20 2026-11-05
		WEEK 20 2026-11-06
		SPLIT 20 2026-11-11
		LATER 20 2026-11-14
	`))
	if diff := cmp.Diff([]string{"LATER", "NONE", "SPLIT", "ZERO"}, r.MissingPrices); diff != "" {
		t.Error(diff)
	}
	if len(r.StalePrices) != 1 || r.StalePrices[0].Ticker != "OLD" || r.StalePrices[0].Date != dayOf("2026-11-05") {
		t.Errorf("%v", r.StalePrices)
	}
	if r.CandidateCount != 2 || r.Metadata.PositionsUncertain != 5 {
		t.Errorf("%d candidates, %+v", r.CandidateCount, r.Metadata)
	}
	wantFlag(t, r, agentformat.Flag{Name: "missing_prices", Severity: agentformat.Warning, Message: "No price for 4 tickers: LATER, NONE, SPLIT + 1 more — coverage counts lots, not prices"})
	wantFlag(t, r, agentformat.Flag{Name: "stale_prices", Severity: agentformat.Warning, Message: "Prices over 5 sessions old for 1 ticker: OLD — $100 of the losses rest on them"})
}

func TestCoverage(t *testing.T) {
	in := input(t, `
		2025-01-10 home BUY FULL 10 30
		2025-01-10 home TRANSFER_IN HALF 10 0
		2025-01-10 home BUY HALF 10 1
		2025-01-10 home TRANSFER_IN NONE 10 0
	`, "FULL 60\nHALF 10\nNONE 20")
	r := suggest(in)
	if got := r.DataCoveragePct; got != 200.0/3 {
		t.Errorf("by positions %v", got)
	}
	// 600 + 100 of 600 + 200 + 200 reply.Dollars
	if got := r.Metadata.CoverageByValuePct; got == nil || *got != 70 {
		t.Errorf("by value %v", *got)
	}
	if r.Metadata.CoverageByQuantityPct != nil {
		t.Error("nobody reported a quantity")
	}
}

func TestReconciles(t *testing.T) {
	in := input(t, `
		2025-01-10 home BUY SAME 10 1
		2025-01-10 home BUY LESS 10 1
		2025-01-10 home BUY SOLD 10 1
		2025-01-10 home BUY MOVED 10 1
		2026-11-11 home BUY MOVED 5 1
		2025-01-10 home BUY CUT 10 1
		2026-11-11 high SPLIT CUT 2 0
		2026-11-12 home DIVIDEND SAME 1 1
		2025-01-10 high BUY SAME 10 1
	`, "SAME 2\nLESS 2\nSOLD 2\nMOVED 2\nCUT 2\nNEW 2")
	report := func(account, symbol, quantity, day string) broker.Holding {
		return broker.Holding{Account: account, Symbol: symbol, Quantity: usd(quantity), AsOf: dayOf(day)}
	}
	in.Holdings = []broker.Holding{
		report("home", "SAME", "99", "2026-09-30"), // an old report
		report("home", "SAME", "10", "2026-10-30"),
		report("home", "LESS", "20", "2026-10-30"),
		report("home", "MOVED", "10", "2026-10-30"), // bought since
		report("home", "CUT", "10", "2026-10-30"),   // split since
		report("home", "NEW", "5", "2026-10-30"),    // the history has none
		report("home", "SHORT", "-5", "2026-10-30"),
		report("home", "SAME", "7", "2026-11-20"), // after the day
		report("ira", "SAME", "7", "2026-10-30"),
	}
	r := suggest(in)
	same := cmp.Comparer(func(a, b portfolio.Decimal) bool { return a.Cmp(b) == 0 })
	want := []Mismatch{
		{"home", "LESS", usd("10"), usd("20")},
		{"home", "NEW", usd("0"), usd("5")},
		{"home", "SOLD", usd("10"), usd("0")},
	}
	if diff := cmp.Diff(want, r.Unreconciled, same); diff != "" {
		t.Error(diff)
	}
	// SAME 100, LESS 50, NEW 0, SOLD 0
	if got := r.Metadata.CoverageByQuantityPct; got == nil || *got != 37.5 {
		t.Errorf("by quantity %v", got)
	}
	if r.Metadata.PositionsAnalyzed != 7 || r.Metadata.PositionsWithLots != 6 {
		t.Errorf("%+v", r.Metadata)
	}
	wantFlag(t, r, agentformat.Flag{Name: "unreconciled", Severity: agentformat.Warning, Message: "The broker reports other quantities of 3 tickers: LESS, NEW, SOLD"})
	wantNoFlag(t, r, "no_candidates")
}

func TestProblems(t *testing.T) {
	var history strings.Builder
	history.WriteString("2025-01-10 home BUY SLV 10 30\n")
	for i := range 30 {
		fmt.Fprintf(&history, "2025-02-10 home SELL T%d 10 30\n", i)
	}
	r := suggest(input(t, history.String(), "SLV 20"))
	if r.ProblemCount != 30 || len(r.Problems) != reply.MaxProblems || r.Problems[0].Text == "" {
		t.Errorf("%d, %d", r.ProblemCount, len(r.Problems))
	}
	wantFlag(t, r, agentformat.Flag{Name: "history_problems", Severity: agentformat.Warning, Message: "30 transactions not explained by the history — lots may be wrong"})
}

// The result is the same for the same input, and the input is left alone.
func TestIsPure(t *testing.T) {
	in := input(t, `
		2025-01-10 home BUY SLV 10 30
		2025-02-10 home BUY SLV 10 40
		2026-11-02 ira BUY SLV 10 20
		2026-08-20 home REINVEST SLV 1 20
		2026-05-20 home REINVEST SLV 1 20
	`, "SLV 19")
	in.Book = lots.Build(in.History, in.Rules, in.AsOf)
	history := slices.Clone(in.History)
	first, second := jsonObject(t, Suggest(in)), jsonObject(t, Suggest(in))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	if !slices.EqualFunc(history, in.History, func(a, b portfolio.Transaction) bool { return a.Date == b.Date && a.Action == b.Action }) {
		t.Error("the history changed")
	}
}

// Shares of which nobody says what they cost are named, though their position has lots.
func TestUnknownCost(t *testing.T) {
	r := suggest(input(t, `
		2025-01-10 home BUY SLV 100 30
		2025-02-10 home TRANSFER_IN SLV 50 0
	`, `
		SLV 25.5
	`))
	wantFlag(t, r, agentformat.Flag{Name: "unknown_cost", Severity: agentformat.Warning, Message: "Nothing says what some shares of 1 ticker cost: SLV — get cost and purchase day from the old broker; import TRANSFER_IN with price and note lot:DATE in its place"})
}
