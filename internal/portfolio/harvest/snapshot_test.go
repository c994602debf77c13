package harvest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

func usd(s string) portfolio.Decimal {
	d, err := portfolio.ParseDecimal(s)
	if err != nil {
		panic(err)
	}
	return d
}

func dayOf(s string) portfolio.Date {
	d, err := portfolio.ParseDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

// candidate is one that FIFO reaches, as most are.
func candidate(ticker, loss, period string) Candidate {
	return Candidate{Ticker: ticker, UnrealizedLoss: usd(loss), HoldingPeriod: period, FIFOReaches: true}
}

// harvested is a result with some candidates, as Suggest sums them up, that covers all of ten
// positions.
func harvested(candidates ...Candidate) *Result {
	r := newResult()
	r.AsOf = dayOf("2026-11-13")
	r.Candidates, r.CandidateCount = candidates, len(candidates)
	for _, c := range candidates {
		r.TotalHarvestableLoss = r.TotalHarvestableLoss.Add(c.UnrealizedLoss)
		if c.HoldingPeriod == "long_term" {
			r.LongTermLoss = r.LongTermLoss.Add(c.UnrealizedLoss)
		} else {
			r.ShortTermLoss = r.ShortTermLoss.Add(c.UnrealizedLoss)
		}
	}
	r.DataCoveragePct = 100
	r.Metadata = Metadata{PositionsAnalyzed: 10, PositionsWithLots: 10}
	return r
}

// jsonKeys are the keys of a value's JSON object.
func jsonKeys(t *testing.T, v any) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(jsonObject(t, v)))
}

func jsonObject(t *testing.T, v any) map[string]any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestSnapshotSuccess(t *testing.T) {
	r := harvested(candidate("SLV", "-3000.5", "long_term"), candidate("XYZ", "-999.75", "short_term"))
	r.DataCoveragePct = 53.8
	s := r.Snapshot().Capped()
	if want := "$4,000 harvestable losses across 2 lots (75% long-term), 54% data coverage"; s.Verdict != want {
		t.Errorf("verdict %q, want %q", s.Verdict, want)
	}
	if s.TotalHarvestableLoss != -4000.25 || s.LongTermLoss != -3000.5 || s.ShortTermLoss != -999.75 || s.DataCoveragePct != 53.8 {
		t.Errorf("%+v", s)
	}
	if s.NoBuyUntil != dayOf("2026-12-14") {
		t.Errorf("no buy until %s", s.NoBuyUntil)
	}
}

func TestSnapshotNoCandidates(t *testing.T) {
	s := harvested().Snapshot().Capped()
	if want := "No tax-loss harvesting candidates found (10 positions analyzed)"; s.Verdict != want || s.CandidateCount != 0 {
		t.Errorf("verdict %q, want %q", s.Verdict, want)
	}
}

func TestSnapshotError(t *testing.T) {
	s := Failed(errors.New("the book is damaged")).Snapshot().Capped()
	if want := "Tax harvest analysis failed: the book is damaged"; s.Verdict != want || s.Status != "error" {
		t.Errorf("%s: verdict %q, want %q", s.Status, s.Verdict, want)
	}
	late := harvested(candidate("AAA", "-10", "short_term")) // it failed after all that was found
	late.Status, late.Error, late.WashSaleWarnings = agentformat.StatusError, "the book is damaged", []Warning{{Ticker: "AAA"}}
	if diff := cmp.Diff(jsonObject(t, s), jsonObject(t, late.Snapshot().Capped()), cmpopts.IgnoreMapEntries(func(key string, _ any) bool { return key == "as_of" })); diff != "" {
		t.Errorf("what was found before it failed is told:\n%s", diff)
	}
	for key, value := range jsonObject(t, s) {
		if list, ok := value.([]any); ok && len(list) > 0 {
			t.Errorf("%s is %v", key, list)
		}
		if number, ok := value.(float64); ok && number != 0 {
			t.Errorf("%s is %v", key, number)
		}
	}
	if s := (&Result{}).Snapshot(); s.Verdict != "Tax harvest analysis failed: unknown error" || s.Status != "error" {
		t.Errorf("a result without a status: %s: %q", s.Status, s.Verdict)
	}
}

func TestSnapshotTickerConsolidation(t *testing.T) {
	s := harvested(
		candidate("AAA", "-10", "short_term"), candidate("BBB", "-100.1", "short_term"),
		candidate("AAA", "-20", "short_term"), candidate("BBB", "-0.2", "short_term"),
		candidate("AAA", "-30", "short_term"),
	).Snapshot().Capped()
	want := []Ticker{
		{"BBB", -100.3, 2, []string{"short_term"}, false},
		{"AAA", -60, 3, []string{"short_term"}, false},
	}
	if diff := cmp.Diff(want, s.TopCandidates); diff != "" {
		t.Error(diff)
	}
}

func TestSnapshotTopCandidatesCapped(t *testing.T) {
	var candidates []Candidate
	for i := range 10 {
		candidates = append(candidates, candidate(fmt.Sprintf("T%d", i), fmt.Sprintf("-%d", i+1), "short_term"))
	}
	whole := harvested(candidates...).Snapshot()
	s := whole.Capped()
	if len(s.TopCandidates) != 5 || s.TopCandidates[0].Ticker != "T9" || s.CandidatesOmitted != 5 {
		t.Errorf("%d omitted, %v", s.CandidatesOmitted, s.TopCandidates)
	}
	if len(whole.TopCandidates) != 10 {
		t.Errorf("capping changed the snapshot to %d tickers", len(whole.TopCandidates))
	}
}

func TestSnapshotWashSaleInVerdict(t *testing.T) {
	r := harvested(candidate("AAA", "-10", "short_term"))
	r.WashSaleWarnings = []Warning{{Ticker: "AAA"}}
	if v := r.Snapshot().Verdict; !strings.HasSuffix(v, ", wash sale risk on 1 ticker") {
		t.Error(v)
	}
	for i := range 6 {
		r.WashSaleWarnings = append(r.WashSaleWarnings, Warning{Ticker: fmt.Sprint(i)})
	}
	s := r.Snapshot().Capped()
	if !strings.HasSuffix(s.Verdict, ", wash sale risk on 7 tickers") || s.WashSaleTickerCount != 7 || len(s.WashSaleTickers) != 5 || s.WashSaleTickersOmitted != 2 {
		t.Errorf("%+v", s)
	}
}

func TestSnapshotSafeFloat(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		r := &Result{Status: "success", DataCoveragePct: v, Candidates: []Candidate{{Ticker: "AAA"}}, CandidateCount: 1}
		r.Metadata.CoverageByValuePct = &v
		s := r.Snapshot()
		if s.DataCoveragePct != 0 || s.TotalHarvestableLoss != 0 || s.TopCandidates[0].TotalLoss != 0 {
			t.Errorf("%v: %+v", v, s)
		}
		jsonKeys(t, s.Capped())
	}
}

func TestSnapshotErrorKeyConsistency(t *testing.T) {
	failed := jsonKeys(t, Failed(errors.New("no")).Snapshot().Capped())
	found := jsonKeys(t, harvested(candidate("AAA", "-10", "short_term")).Snapshot().Capped())
	if diff := cmp.Diff(found, failed); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{
		"status", "verdict", "total_harvestable_loss", "short_term_loss", "long_term_loss", "candidate_count", "top_candidates",
		"wash_sale_ticker_count", "wash_sale_tickers", "data_coverage_pct", "positions_analyzed", "positions_with_lots",
		"candidates_omitted", "wash_sale_tickers_omitted",
	} {
		if !slices.Contains(failed, key) {
			t.Errorf("no %s", key)
		}
	}
	object := jsonObject(t, Failed(errors.New("no")).Snapshot().Capped())
	for _, list := range []string{"top_candidates", "wash_sale_tickers"} {
		if object[list] == nil {
			t.Errorf("%s is null", list)
		}
	}
}

func TestSnapshotHoldingPeriods(t *testing.T) {
	s := harvested(candidate("AAA", "-10", "short_term"), candidate("AAA", "-10", "long_term"), candidate("BBB", "-1", "")).Snapshot()
	if diff := cmp.Diff([]string{"long_term", "short_term"}, s.TopCandidates[0].HoldingPeriods); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"unknown"}, s.TopCandidates[1].HoldingPeriods); diff != "" {
		t.Error(diff)
	}
}

func TestSnapshotTickerNormalization(t *testing.T) {
	r := harvested(candidate("", "-10", "short_term"), candidate("  ", "-5", "short_term"), candidate(" AAA ", "-1", "short_term"))
	r.WashSaleWarnings = []Warning{{Ticker: " "}}
	s := r.Snapshot()
	if len(s.TopCandidates) != 2 || s.TopCandidates[0].Ticker != "unknown" || s.TopCandidates[0].LotCount != 2 || s.TopCandidates[1].Ticker != "AAA" {
		t.Errorf("%v", s.TopCandidates)
	}
	if s.WashSaleTickers[0] != "unknown" {
		t.Errorf("%q", s.WashSaleTickers)
	}
}

// One lot at risk puts its ticker at risk.
func TestSnapshotWashSaleRisk(t *testing.T) {
	risky := candidate("AAA", "-10", "short_term")
	risky.WashSaleRisk = true
	s := harvested(risky, candidate("AAA", "-10", "short_term"), candidate("BBB", "-1", "short_term")).Snapshot()
	if !s.TopCandidates[0].WashSaleRisk || s.TopCandidates[1].WashSaleRisk {
		t.Errorf("%v", s.TopCandidates)
	}
}

// Amounts are numbers with two decimals, coverage has one, and is rounded down.
func TestSnapshotRounds(t *testing.T) {
	r := harvested(candidate("AAA", "-2999.996", "short_term"))
	r.DataCoveragePct = 49.96
	s := r.Snapshot().Capped()
	if s.TotalHarvestableLoss != -3000 || s.TopCandidates[0].TotalLoss != -3000 || s.DataCoveragePct != 49.9 {
		t.Errorf("%+v", s)
	}
}

var _ agentformat.Snapshot[Snapshot] = Snapshot{}
