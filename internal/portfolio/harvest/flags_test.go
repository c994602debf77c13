package harvest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio/settings"
)

// flag is the flag of a name among those of a result.
func flag(r *Result, name string) (agentformat.Flag, bool) {
	for _, f := range r.Snapshot().Flags() {
		if f.Name == name {
			return f, true
		}
	}
	return agentformat.Flag{}, false
}

func wantFlag(t *testing.T, r *Result, want agentformat.Flag) {
	t.Helper()
	got, ok := flag(r, want.Name)
	if !ok {
		t.Fatalf("no %s among %v", want.Name, r.Snapshot().Flags())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func wantOnlyFlag(t *testing.T, r *Result, want agentformat.Flag) {
	t.Helper()
	if diff := cmp.Diff([]agentformat.Flag{want}, r.Snapshot().Flags()); diff != "" {
		t.Error(diff)
	}
}

func wantNoFlag(t *testing.T, r *Result, names ...string) {
	t.Helper()
	for _, name := range names {
		if f, ok := flag(r, name); ok {
			t.Errorf("unexpected %v", f)
		}
	}
}

// losing is a result with one long-term loss.
func losing(loss string) *Result {
	return harvested(candidate("AAA", "-"+loss, "long_term"))
}

func covering(pct float64) *Result {
	r := losing("100")
	r.DataCoveragePct = pct
	r.Metadata.PositionsAnalyzed, r.Metadata.PositionsWithLots = 100, int(pct)
	return r
}

func TestErrorFlag(t *testing.T) {
	wantOnlyFlag(t, Failed(errors.New("no prices")), agentformat.Flag{Name: "harvest_error", Severity: agentformat.Error, Message: "Tax harvest analysis failed: no prices"})
	if diff := cmp.Diff([]agentformat.Flag{{Name: "harvest_error", Severity: agentformat.Error, Message: "Tax harvest analysis failed"}}, (Snapshot{}).Flags()); diff != "" {
		t.Errorf("without a verdict: %s", diff)
	}
}

func TestNoCandidatesFlag(t *testing.T) {
	wantOnlyFlag(t, harvested(), agentformat.Flag{Name: "no_candidates", Severity: agentformat.Success, Message: "No unrealized losses to harvest — all lots are at a gain or break-even"})
}

// What is in doubt is told beside the all-clear on what is known.
func TestNoCandidatesFlagInDoubt(t *testing.T) {
	r := harvested()
	r.DataCoveragePct, r.ProblemCount = 60, 2
	r.Metadata.PositionsWithLots = 6
	r.StalePrices = []Price{{Ticker: "AAA"}}
	var names []string
	for _, f := range r.Snapshot().Flags() {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"stale_prices", "history_problems", "moderate_coverage", "no_candidates"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestSignificantHarvestFlag(t *testing.T) {
	wantFlag(t, losing("3500"), agentformat.Flag{Name: "significant_harvest", Severity: agentformat.Info, Message: "$3,500 harvestable losses meet or exceed $3,000 annual deduction limit"})
}

func TestBelowSignificantThreshold(t *testing.T) {
	wantNoFlag(t, losing("2000"), "significant_harvest")
}

func TestMostlyShortTermFlag(t *testing.T) {
	r := harvested(candidate("AAA", "-80", "short_term"), candidate("BBB", "-20", "long_term"))
	wantFlag(t, r, agentformat.Flag{Name: "mostly_short_term", Severity: agentformat.Info, Message: "80% of losses are short-term (higher tax offset value)"})
}

func TestWashSaleRiskFlag(t *testing.T) {
	r := losing("100")
	for i, want := range []string{
		"Wash sale risk on 1 ticker: T0",
		"Wash sale risk on 2 tickers: T0, T1",
		"Wash sale risk on 3 tickers: T0, T1, T2",
		"Wash sale risk on 4 tickers: T0, T1, T2 + 1 more",
	} {
		r.WashSaleWarnings = append(r.WashSaleWarnings, Warning{Ticker: fmt.Sprintf("T%d", i)})
		wantFlag(t, r, agentformat.Flag{Name: "wash_sale_risk", Severity: agentformat.Warning, Message: want})
	}
}

func TestLowCoverageFlag(t *testing.T) {
	wantFlag(t, covering(40), agentformat.Flag{Name: "low_coverage", Severity: agentformat.Warning, Message: "Only 40% of positions have FIFO lot data — losses may be understated"})
}

func TestModerateCoverageFlag(t *testing.T) {
	wantFlag(t, covering(54), agentformat.Flag{Name: "moderate_coverage", Severity: agentformat.Info, Message: "54% lot coverage — 46 positions missing transaction history"})
}

func TestGoodCoverageNoFlag(t *testing.T) {
	wantNoFlag(t, covering(80), "low_coverage", "moderate_coverage")
}

func TestAvailableFallback(t *testing.T) {
	wantOnlyFlag(t, losing("1234.5"), agentformat.Flag{Name: "harvest_available", Severity: agentformat.Info, Message: "$1,234 in harvestable losses across 1 lots"})
}

func TestFlagSortOrder(t *testing.T) {
	r := harvested(candidate("AAA", "-5000", "short_term"))
	r.DataCoveragePct = 40
	r.WashSaleWarnings = []Warning{{Ticker: "AAA"}}
	var names []string
	for _, f := range r.Snapshot().Flags() {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"wash_sale_risk", "low_coverage", "significant_harvest", "mostly_short_term"}, names); diff != "" {
		t.Error(diff)
	}
	r = harvested()
	r.ProblemCount = 2
	flags := r.Snapshot().Flags()
	if len(flags) != 2 || flags[0].Severity != agentformat.Warning || flags[1].Severity != agentformat.Success {
		t.Errorf("%v", flags)
	}
}

func TestBoundary3000(t *testing.T) {
	wantFlag(t, losing("3000"), agentformat.Flag{Name: "significant_harvest", Severity: agentformat.Info, Message: "$3,000 harvestable losses meet or exceed $3,000 annual deduction limit"})
}

func TestBoundaryCoverage50(t *testing.T) {
	wantNoFlag(t, covering(50), "low_coverage")
	wantFlag(t, covering(50), agentformat.Flag{Name: "moderate_coverage", Severity: agentformat.Info, Message: "50% lot coverage — 50 positions missing transaction history"})
}

func TestBoundaryCoverage75(t *testing.T) {
	wantNoFlag(t, covering(75), "low_coverage", "moderate_coverage")
}

func TestBoundarySt50pct(t *testing.T) {
	r := harvested(candidate("AAA", "-50", "short_term"), candidate("BBB", "-50", "long_term"))
	wantFlag(t, r, agentformat.Flag{Name: "mostly_short_term", Severity: agentformat.Info, Message: "50% of losses are short-term (higher tax offset value)"})
	r = harvested(candidate("AAA", "-49.999", "short_term"), candidate("BBB", "-50", "long_term"))
	wantNoFlag(t, r, "mostly_short_term")
}

// What is shown is rounded, what is compared is not.
func TestFlagsCompareRawValues(t *testing.T) {
	wantNoFlag(t, losing("2999.996"), "significant_harvest")
	wantFlag(t, covering(49.96), agentformat.Flag{Name: "low_coverage", Severity: agentformat.Warning, Message: "Only 49% of positions have FIFO lot data — losses may be understated"})
	wantFlag(t, covering(74.99), agentformat.Flag{Name: "moderate_coverage", Severity: agentformat.Info, Message: "74% lot coverage — 26 positions missing transaction history"})
	for pct, want := range map[float64]string{0: "0", 0.4: "0", 49.4: "49", 49.5: "49", 50: "50", 53.8: "54", 74.96: "74", 99.6: "99", 100: "100"} {
		if got := coverageText(pct); got != want {
			t.Errorf("%v%% is shown as %s, want %s", pct, got, want)
		}
	}
}

func TestMarriedSeparately(t *testing.T) {
	r := losing("1500")
	wantNoFlag(t, r, "significant_harvest")
	r.FilingStatus = settings.MarriedSeparately
	wantFlag(t, r, agentformat.Flag{Name: "significant_harvest", Severity: agentformat.Info, Message: "$1,500 harvestable losses meet or exceed $1,500 annual deduction limit"})
	r.Candidates[0].UnrealizedLoss, r.TotalHarvestableLoss = usd("-1499.999"), usd("-1499.999")
	wantNoFlag(t, r, "significant_harvest")
}

// Flags see the whole snapshot, so they count and name what the caps leave out.
func TestFlagsSeeUncapped(t *testing.T) {
	r := losing("100")
	for i := range 8 {
		r.WashSaleWarnings = append(r.WashSaleWarnings, Warning{Ticker: fmt.Sprintf("T%d", i)})
	}
	r.MissingPrices = []string{"A", "B", "C", "D", "E", "F"}
	response := agentformat.Respond(r.Status, r.Snapshot(), agentformat.File{})
	if len(response.Snapshot.WashSaleTickers) != 5 {
		t.Errorf("%v", response.Snapshot.WashSaleTickers)
	}
	want := []agentformat.Flag{
		{Name: "wash_sale_risk", Severity: agentformat.Warning, Message: "Wash sale risk on 8 tickers: T0, T1, T2 + 5 more"},
		{Name: "missing_prices", Severity: agentformat.Warning, Message: "No price for 6 tickers: A, B, C + 3 more — coverage counts lots, not prices"},
	}
	if diff := cmp.Diff(want, response.Flags); diff != "" {
		t.Error(diff)
	}
}

// The all-clear is given only if everything is known.
func TestNoAllClearInDoubt(t *testing.T) {
	r := harvested()
	r.Metadata.PositionsUncertain = 3
	wantOnlyFlag(t, r, agentformat.Flag{
		Name: "no_known_candidates", Severity: agentformat.Info,
		Message: "No unrealized losses among the lots with a current price — of 10 positions, 3 without lots or a current price",
	})
	for _, because := range []string{noLotData, noOpenLots, filteredOut} {
		r := harvested()
		r.NoCandidates = because
		wantNoFlag(t, r, "no_candidates", "no_known_candidates")
		if _, ok := flag(r, because); !ok {
			t.Errorf("no %s", because)
		}
	}
}
