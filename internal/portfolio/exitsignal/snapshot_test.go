package exitsignal

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

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
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

// assessed is a result with an assessment and some signals, and nothing to sell.
func assessed(overall string, signals ...exitrule.Signal) *Result {
	r := newResult("SLV")
	r.AsOf = dayOf("2024-05-31")
	r.OverallAssessment = overall
	r.Signals = append(r.Signals, signals...)
	return r
}

// signal is one of a rule that was evaluated.
func signal(name string, triggered bool) exitrule.Signal {
	return exitrule.Signal{RuleName: name, Triggered: triggered, Status: exitrule.StatusOK}
}

func failedSignal(name string) exitrule.Signal {
	return exitrule.Signal{RuleName: name, Status: exitrule.StatusError, Message: "no prices"}
}

// selling is the result with a sale of some shares.
func selling(r *Result, sell, shares string) *Result {
	r.TradeEligible = true
	r.Position.Shares = usd(shares)
	r.Sizing = &exitrule.Plan{Sell: usd(sell)}
	r.RecommendedActions = []exitrule.Order{{Action: exitrule.ActionSell, Ticker: r.Ticker, Quantity: usd(sell), OrderType: exitrule.OrderMarket}}
	return r
}

// test_snapshot_success_hold
func TestSnapshotSuccessHold(t *testing.T) {
	s := assessed("HOLD (no rule triggered)", signal("trend_sma10m", false)).Snapshot()
	if s.Verdict != "SLV: HOLD (no rule triggered)" || s.TradeEligible || s.Status != "success" {
		t.Errorf("got %+v", s)
	}
}

// Without a sizing nothing is to be sold, however many shares there are.
func TestSnapshotWithoutSizing(t *testing.T) {
	r := assessed("EXIT (a)")
	r.Position.Shares = usd("100")
	if s := r.Snapshot(); s.SellQuantity != 0 || s.Shares != 100 {
		t.Errorf("sell %v of %v", s.SellQuantity, s.Shares)
	}
}

// The verdict names a sale only if it may be made, and there is an order for it.
func TestSnapshotVerdictOfATrade(t *testing.T) {
	barred := selling(assessed("EXIT (a)"), "50", "100")
	barred.TradeEligible = false
	idle := selling(assessed("EXIT (a)"), "50", "100")
	idle.RecommendedActions = nil
	for name, r := range map[string]*Result{"not eligible": barred, "without an order": idle} {
		if got := r.Snapshot().Verdict; got != "SLV: EXIT (a)" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// test_snapshot_success_exit
func TestSnapshotSuccessExit(t *testing.T) {
	s := selling(assessed("EXIT (trend_sma10m)", signal("trend_sma10m", true)), "50", "100").Snapshot()
	if s.Verdict != "SLV: EXIT (trend_sma10m) — sell 50 of 100 shares" {
		t.Errorf("got %q", s.Verdict)
	}
	if s.SellQuantity != 50 || s.Shares != 100 || !s.TradeEligible {
		t.Errorf("got %+v", s)
	}
}

// test_snapshot_error
func TestSnapshotError(t *testing.T) {
	s := Failed("SLV", errors.New("no prices and no transactions")).Snapshot()
	if s.Verdict != "Exit signal check failed for SLV: no prices and no transactions" || len(s.Signals) != 0 || s.Signals == nil {
		t.Errorf("got %+v", s)
	}
	if s.OverallAssessment != "UNKNOWN" || s.SignalCount != 0 {
		t.Errorf("got %+v", s)
	}
	late := selling(assessed("EXIT (a)", signal("a", true)), "50", "100") // it failed after all that was found
	late.Status, late.Error, late.LastPrice, late.Tax = agentformat.StatusError, "the disk is full", usd("20"), &Tax{Disallowed: usd("1")}
	for _, s := range []Snapshot{s, late.Snapshot()} {
		if s.TradeEligible || s.SignalCount != 0 || len(s.Signals) != 0 || s.Shares != 0 || s.SellQuantity != 0 || s.LastPrice != 0 || s.Tax != nil {
			t.Errorf("of a failure: %+v", s)
		}
		if s.RecommendedActions == nil || len(s.RecommendedActions) != 0 {
			t.Errorf("of a failure: the actions are %#v", s.RecommendedActions)
		}
	}
	empty := (&Result{}).Snapshot()
	if empty.Verdict != "Exit signal check failed for unknown: unknown error" || empty.Status != "error" {
		t.Errorf("of nothing: %+v", empty)
	}
}

// test_snapshot_signals_summarized
func TestSnapshotSignalsSummarized(t *testing.T) {
	full := exitrule.Signal{RuleName: "trend_sma10m", Triggered: true, Severity: 0.8, IsPrimary: true, Status: "ok", Value: 90, Threshold: 100, Gap: 0.1, Message: "below"}
	s := assessed("EXIT", full, exitrule.Signal{}).Snapshot()
	want := []Signal{
		{RuleName: "trend_sma10m", Triggered: true, Severity: 0.8, IsPrimary: true, Status: "ok"},
		{RuleName: "unknown", Status: "ok"},
	}
	if diff := cmp.Diff(want, s.Signals); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"is_primary", "rule_name", "severity", "status", "triggered"}, jsonKeys(t, s.Signals[0])); diff != "" {
		t.Error(diff)
	}
}

// test_snapshot_actions_capped
func TestSnapshotActionsCapped(t *testing.T) {
	r := selling(assessed("EXIT"), "10", "100")
	for range 4 {
		r.RecommendedActions = append(r.RecommendedActions, exitrule.Order{})
	}
	s := r.Snapshot()
	if len(s.RecommendedActions) != 5 {
		t.Errorf("%d actions before the cap", len(s.RecommendedActions))
	}
	want := []Action{
		{Action: "sell", Ticker: "SLV", Quantity: 10, OrderType: "market"},
		{Action: "unknown", Ticker: "SLV", OrderType: "unknown"},
		{Action: "unknown", Ticker: "SLV", OrderType: "unknown"},
	}
	if diff := cmp.Diff(want, s.Capped().RecommendedActions); diff != "" {
		t.Error(diff)
	}
}

// test_snapshot_safe_float
func TestSnapshotSafeFloat(t *testing.T) {
	for _, severity := range []float64{0, math.NaN(), math.Inf(1), math.Inf(-1)} {
		s := assessed("HOLD", exitrule.Signal{RuleName: "a", Severity: severity}).Snapshot()
		if s.Signals[0].Severity != 0 {
			t.Errorf("%v became %v", severity, s.Signals[0].Severity)
		}
	}
}

// The source's error snapshot lacks shares and sell_quantity.
func TestSnapshotErrorKeyConsistency(t *testing.T) {
	failure := jsonKeys(t, Failed("SLV", errors.New("no")).Snapshot())
	success := jsonKeys(t, selling(assessed("EXIT"), "1", "2").Snapshot())
	if diff := cmp.Diff(success, failure); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{
		"ticker", "status", "verdict", "overall_assessment", "signal_count", "signals", "trade_eligible", "recommended_actions", "shares", "sell_quantity",
	} {
		if !slices.Contains(failure, key) {
			t.Errorf("there is no %s", key)
		}
	}
}

func TestSnapshotSignalsCapped(t *testing.T) {
	r := assessed("HOLD")
	for i := range 7 {
		r.Signals = append(r.Signals, signal(fmt.Sprintf("rule_%d", i), false))
	}
	s := r.Snapshot().Capped()
	if len(s.Signals) != 5 || s.SignalCount != 7 || s.Signals[4].RuleName != "rule_4" {
		t.Errorf("got %+v", s)
	}
}

// Fractions of shares are written as they are, and no number has an endless tail.
func TestSnapshotNumbers(t *testing.T) {
	r := selling(assessed("EXIT", exitrule.Signal{RuleName: "a", Severity: 0.123456}), "0.45", "0.9")
	stop := usd("88.5")
	r.RecommendedActions = append(r.RecommendedActions, exitrule.Order{Action: exitrule.ActionStop, Quantity: usd("0.45"), OrderType: exitrule.OrderStop, StopPrice: &stop})
	r.LastPrice = usd("90.123456789")
	r.Tax = &Tax{ShortTermGain: usd("-10.005001"), LongTermGain: usd("3"), Disallowed: usd("1.5"), NoBuyUntil: dayOf("2024-07-01")}
	s := r.Snapshot()
	if s.Signals[0].Severity != 0.1235 {
		t.Errorf("the severity is %v", s.Signals[0].Severity)
	}
	if s.Verdict != "SLV: EXIT — sell 0.45 of 0.9 shares" || s.LastPrice != 90.123457 || s.RecommendedActions[1].StopPrice != 88.5 {
		t.Errorf("got %+v", s)
	}
	if diff := cmp.Diff(&Taxes{ShortTermGain: -10.01, LongTermGain: 3, Disallowed: 1.5, NoBuyUntil: dayOf("2024-07-01")}, s.Tax, cmp.Comparer(func(a, b portfolio.Date) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// flagNames are the names of a result's flags in their order.
func flagNames(r *Result) (names []string) {
	for _, f := range agentformat.Respond(r.Status, r.Snapshot(), agentformat.File{}).Flags {
		names = append(names, f.Name)
	}
	return names
}

func wantFlag(t *testing.T, r *Result, want agentformat.Flag) {
	t.Helper()
	flags := r.Snapshot().Flags()
	if !slices.Contains(flags, want) {
		t.Errorf("there is no %+v among %+v", want, flags)
	}
}

// test_signal_error_flag
func TestSignalErrorFlag(t *testing.T) {
	r := Failed("SLV", errors.New("no prices"))
	wantFlag(t, r, agentformat.Flag{Name: "signal_error", Severity: "error", Message: "Exit signal check failed for SLV: no prices"})
	if names := flagNames(r); len(names) != 1 {
		t.Errorf("got %v", names)
	}
	if flags := (Snapshot{}).Flags(); len(flags) != 1 || flags[0].Message != "Exit signal evaluation failed" {
		t.Errorf("of nothing: %+v", flags)
	}
}

// test_primary_rule_error_flag
func TestPrimaryRuleErrorFlag(t *testing.T) {
	wantFlag(t, assessed("ERROR (too short)"), agentformat.Flag{Name: "primary_rule_error", Severity: "error", Message: "Primary rule failed — cannot determine exit status"})
}

// test_strong_exit_flag
func TestStrongExitFlag(t *testing.T) {
	r := assessed("STRONG EXIT (a, b)")
	wantFlag(t, r, agentformat.Flag{Name: "strong_exit", Severity: "warning", Message: "Both momentum and regime signals triggered — strong exit signal"})
	if diff := cmp.Diff([]string{"strong_exit"}, flagNames(r)); diff != "" {
		t.Error(diff)
	}
}

// test_exit_signal_flag
func TestExitSignalFlag(t *testing.T) {
	wantFlag(t, assessed("EXIT (a)"), agentformat.Flag{Name: "exit_signal", Severity: "warning", Message: "Primary momentum signal triggered — exit recommended"})
}

// test_monitor_flag
func TestMonitorFlag(t *testing.T) {
	wantFlag(t, assessed("MONITOR (b)"), agentformat.Flag{Name: "monitor", Severity: "info", Message: "Secondary signal triggered — monitoring, no action yet"})
}

// test_hold_flag
func TestHoldFlag(t *testing.T) {
	wantFlag(t, assessed("HOLD (no rule triggered)"), agentformat.Flag{Name: "hold", Severity: "success", Message: "No exit signals triggered — position holds"})
}

// test_trade_recommended_flag
func TestTradeRecommendedFlag(t *testing.T) {
	wantFlag(t, selling(assessed("EXIT (a)"), "50", "100"), agentformat.Flag{Name: "trade_recommended", Severity: "info", Message: "Recommended: sell 50 shares (50% of position)"})
	wantFlag(t, selling(assessed("EXIT (a)"), "1", "3"), agentformat.Flag{Name: "trade_recommended", Severity: "info", Message: "Recommended: sell 1 shares (33% of position)"})
	wantFlag(t, selling(assessed("EXIT (a)"), "7", "0"), agentformat.Flag{Name: "trade_recommended", Severity: "info", Message: "Recommended: sell 7 shares (0% of position)"})
	for _, r := range []*Result{assessed("EXIT (a)"), selling(assessed("EXIT (a)"), "0", "100")} {
		if slices.Contains(flagNames(r), "trade_recommended") {
			t.Errorf("a trade of nothing: %v", flagNames(r))
		}
	}
}

// test_rule_evaluation_error_flag
func TestRuleEvaluationErrorFlag(t *testing.T) {
	wantFlag(t, assessed("HOLD", signal("a", false), failedSignal("b")), agentformat.Flag{Name: "rule_evaluation_error", Severity: "warning", Message: "Rule failed to evaluate: b"})
	wantFlag(t, assessed("HOLD", failedSignal("a"), failedSignal("b")), agentformat.Flag{Name: "rule_evaluation_error", Severity: "warning", Message: "Rules failed to evaluate: a, b"})
}

// test_flag_sort_order
func TestFlagSortOrder(t *testing.T) {
	for _, c := range []struct {
		result *Result
		want   []string
	}{
		{selling(assessed("ERROR", failedSignal("a")), "1", "2"), []string{"primary_rule_error", "rule_evaluation_error", "trade_recommended"}},
		{selling(assessed("HOLD", failedSignal("a")), "1", "2"), []string{"rule_evaluation_error", "trade_recommended", "hold"}},
		{selling(assessed("EXIT", failedSignal("a")), "1", "2"), []string{"rule_evaluation_error", "exit_signal", "trade_recommended"}},
	} {
		if diff := cmp.Diff(c.want, flagNames(c.result)); diff != "" {
			t.Error(diff)
		}
	}
}

// test_primary_errored_no_signal_error
func TestPrimaryErroredNoSignalError(t *testing.T) {
	if diff := cmp.Diff([]string{"primary_rule_error"}, flagNames(assessed("ERROR (too short)"))); diff != "" {
		t.Error(diff)
	}
}

// The source cuts the signals before it looks for failed ones, so that a sixth rule fails unseen.
func TestFailedSixthRuleIsNotHidden(t *testing.T) {
	r := assessed("HOLD (no rule triggered; failed: rule_6)")
	for i := range 5 {
		r.Signals = append(r.Signals, signal(fmt.Sprintf("rule_%d", i+1), false))
	}
	r.Signals = append(r.Signals, failedSignal("rule_6"))
	response := agentformat.Respond(r.Status, r.Snapshot(), agentformat.File{})
	if len(response.Snapshot.Signals) != 5 {
		t.Errorf("%d signals are sent", len(response.Snapshot.Signals))
	}
	want := []agentformat.Flag{
		{Name: "rule_evaluation_error", Severity: "warning", Message: "Rule failed to evaluate: rule_6"},
		{Name: "hold", Severity: "success", Message: "No exit signals triggered — position holds"},
	}
	if diff := cmp.Diff(want, response.Flags); diff != "" {
		t.Error(diff)
	}
}

// The source has no flag at all for an assessment that it does not know.
func TestUnknownAssessment(t *testing.T) {
	r := assessed("PANIC (now)")
	wantFlag(t, r, agentformat.Flag{Name: "unknown_assessment", Severity: "info", Message: "The assessment PANIC (now) is not known — cannot determine exit status"})
	r.OverallAssessment = ""
	wantFlag(t, r, agentformat.Flag{Name: "unknown_assessment", Severity: "info", Message: "The assessment UNKNOWN is not known — cannot determine exit status"})
}

// More failed rules than there is room for are counted.
func TestManyFailedRules(t *testing.T) {
	r := assessed("HOLD")
	for i := range 30 {
		r.Signals = append(r.Signals, failedSignal(fmt.Sprintf("a_rule_%02d", i)))
	}
	message := r.Snapshot().Flags()[0].Message
	if !strings.HasSuffix(message, "a_rule_08 + 21 more") {
		t.Errorf("got %q", message)
	}
}

var _ agentformat.Snapshot[Snapshot] = Snapshot{}

// What a sale would lose to the wash-sale rule is a flag, with the day from which it would not.
func TestWashSaleRiskFlag(t *testing.T) {
	r := selling(assessed("EXIT"), "5", "10")
	r.Tax = &Tax{Disallowed: usd("345.47"), PermanentlyDisallowed: usd("100"), WashFreeFrom: dayOf("2026-11-28")}
	for _, f := range r.Snapshot().Flags() {
		if f.Name == "wash_sale_risk" {
			if f.Severity != agentformat.Warning || f.Message != "$345 of the loss would be disallowed ($100 for good) if sold before 2026-11-28" {
				t.Errorf("%+v", f)
			}
			return
		}
	}
	t.Error("no flag")
}
