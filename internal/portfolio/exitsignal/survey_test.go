package exitsignal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"
)

// An order is for one account: each sale and each stop names its own.
func TestOrdersNameAccounts(t *testing.T) {
	r := Check(input("90", trade("2023-01-10 second BUY SLV 30 80"), trade("2023-01-10 main BUY SLV 40 80"), trade("2023-01-10 ira BUY SLV 30.5 80")))
	var got []string
	for _, o := range r.RecommendedActions {
		got = append(got, fmt.Sprint(o.Action, " ", o.Quantity, " ", o.AccountID))
	}
	if diff := cmp.Diff([]string{"sell 40 main", "sell 30 second", "sell 5 ira", "stop 25 ira"}, got); diff != "" {
		t.Error(diff)
	}
	s := r.Snapshot()
	sent := s.Capped()
	if len(sent.RecommendedActions) != 3 || sent.ActionsOmitted != 1 || sent.RecommendedActions[2].AccountID != "ira" {
		t.Errorf("%+v, %d omitted", sent.RecommendedActions, sent.ActionsOmitted)
	}
	if diff := cmp.Diff([]AccountOrder{{"main", 40, 0}, {"second", 30, 0}, {"ira", 5, 25}}, sent.Accounts); diff != "" {
		t.Error(diff)
	}
	many := newResult("SLV")
	for i := range 9 {
		many.RecommendedActions = append(many.RecommendedActions, exitrule.Order{Action: exitrule.ActionSell, AccountID: fmt.Sprint(i), Quantity: usd("1")})
	}
	if s := many.Snapshot(); !slices.Contains(flagNames(many), "more_orders") || s.Capped().AccountsOmitted != 3 {
		t.Errorf("%v, %d omitted", flagNames(many), s.Capped().AccountsOmitted)
	}
	if diff := cmp.Diff([]string{
		"Sell 75 of 100.5 shares of SLV: 40 in main (taxable), 30 in second (taxable), 5 in ira (ira).",
		"After that, a stop at 89.48 on 25 of the rest, good till cancelled: 25 in ira; look again on 2024-07-01.",
	}, r.ActionLines()); diff != "" {
		t.Error(diff)
	}
	unknown := input("90")
	unknown.Shares = new(usd("10"))
	for _, o := range Check(unknown).RecommendedActions {
		if o.AccountID != "" {
			t.Errorf("nobody knows where they are: %+v", o)
		}
	}
}

// What a company made of another symbol is held although nobody bought it by its name.
func TestRenamedTickerIsKnown(t *testing.T) {
	renamed := portfolio.Transaction{Date: dayOf("2023-06-01"), Account: "main", Action: portfolio.Rename, Symbol: "OLD", Into: "SLV"}
	in := input("90", trade("2023-01-10 main BUY OLD 40 80"), renamed, trade("2023-01-10 main BUY XYZ 1 1"))
	var symbols []string
	for _, row := range in.related() {
		symbols = append(symbols, row.Symbol)
	}
	if diff := cmp.Diff([]string{"OLD", "OLD"}, symbols); diff != "" {
		t.Error(diff)
	}
	in.Market.Bars = nil
	if r := Check(in); r.Status != agentformat.StatusSuccess {
		t.Errorf("%s: %s", r.Status, r.Error)
	}
}

// surveyed checks tickers whose last month's price, beside a year at 100, is given; "" has no prices.
func surveyed(t *testing.T, prices map[string]string, tickers ...string) *Survey {
	t.Helper()
	in := input("100")
	for ticker := range prices {
		in.History = append(in.History, trade("2023-01-10 main BUY "+ticker+" 60 120"), trade("2023-01-10 ira BUY "+ticker+" 40 80"))
	}
	in.History = append(in.History, trade("2024-05-20 ira BUY BAD 20 97"))
	return CheckAll(in, tickers, func(ticker string) (exitrule.Market, error) {
		market := exitrule.Market{Others: in.Market.Others}
		if prices[ticker] != "" {
			market.Bars = monthBars(append(year("100"), prices[ticker])...)
		}
		return market, nil
	})
}

// The few that matter come first, with what to do in which account; the others are counted.
func TestSurvey(t *testing.T) {
	s := surveyed(t, map[string]string{"BAD": "90", "WORSE": "96", "FINE": "120", "DARK": ""}, "BAD", "DARK", "FINE", "WORSE")
	if s.Status != agentformat.StatusSuccess {
		t.Fatalf("%s: %s", s.Status, s.Error)
	}
	var order []string
	for _, r := range s.Results {
		order = append(order, r.Ticker)
	}
	if diff := cmp.Diff([]string{"BAD", "WORSE", "DARK", "FINE"}, order); diff != "" {
		t.Error(diff)
	}
	if want := (Counts{Exits: 2, Errors: 1, Holds: 1}); s.Counts != want || s.PositionsChecked != 4 {
		t.Errorf("%+v of %d", s.Counts, s.PositionsChecked)
	}
	got := asJSON(t, s.Snapshot().Capped())
	want := `{"status":"success","verdict":"2 of 4 positions to leave: BAD, WORSE; no verdict on 1","as_of":"2024-05-31","positions_checked":4,` +
		`"strong_exit_count":0,"exit_count":2,"error_count":1,"monitor_count":0,"hold_count":1,"exits":[` +
		`{"ticker":"BAD","assessment":"EXIT","shares":120,"sell_quantity":90,"accounts":[{"account_id":"main","sell":60,"stop":0},{"account_id":"ira","sell":30,"stop":30}],` +
		`"stop_price":89.48,"gain":-1800,"disallowed":600,"wash_free_from":"2024-06-20"},` +
		`{"ticker":"WORSE","assessment":"EXIT","shares":100,"sell_quantity":50,"accounts":[{"account_id":"main","sell":50,"stop":10},{"account_id":"ira","sell":0,"stop":40}],` +
		`"stop_price":95.79,"gain":-1200,"disallowed":0}],"exits_omitted":0,` +
		`"errors":[{"ticker":"DARK","why":"there are no prices up to 2024-05-31; import some"}],"errors_omitted":0,"hold_tickers":["FINE"]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, f := range s.Snapshot().Flags() {
		names = append(names, f.Name+": "+f.Message)
	}
	if diff := cmp.Diff([]string{
		"primary_rule_error: No verdict on 1 position: DARK",
		"exit_signal: Exit from 2 positions: BAD, WORSE",
		"wash_sale_risk: A part of the loss would be disallowed on 1 position: BAD",
	}, names); diff != "" {
		t.Error(diff)
	}
	if leave := s.Leaving(); len(leave) != 2 || leave[0].Lines()[0] != "Sell 90 of 120 shares of BAD: 60 in main (taxable), 30 in ira (ira)." {
		t.Errorf("%+v", leave)
	}
}

// One ticker is checked the same way whether it is asked for or not.
func TestSurveyAgreesWithCheck(t *testing.T) {
	s := surveyed(t, map[string]string{"BAD": "90", "WORSE": "96"}, "BAD", "WORSE")
	in := input("90", trade("2023-01-10 main BUY BAD 60 120"), trade("2023-01-10 ira BUY BAD 40 80"), trade("2024-05-20 ira BUY BAD 20 97"))
	in.Ticker = "BAD"
	if diff := cmp.Diff(asJSON(t, Check(in)), asJSON(t, s.Results[0])); diff != "" {
		t.Error(diff)
	}
}

func TestSurveyOfNothing(t *testing.T) {
	s := surveyed(t, nil)
	if flags := s.Snapshot().Flags(); s.Snapshot().Verdict != "No positions are held" || len(flags) != 1 || flags[0].Name != "no_positions" {
		t.Errorf("%+v", s.Snapshot())
	}
	s = surveyed(t, map[string]string{"FINE": "120"}, "FINE")
	if flags := s.Snapshot().Flags(); s.Snapshot().Verdict != "No exits among 1 position" || len(flags) != 1 || flags[0].Name != "hold" {
		t.Errorf("%+v, %v", s.Snapshot(), flags)
	}
}

func TestSurveyFails(t *testing.T) {
	in := input("100", trade("2023-01-10 main BUY SLV 60 120"))
	none := func(string) (exitrule.Market, error) { return exitrule.Market{}, errors.New("the disk is gone") }
	for want, change := range map[string]func(*Input){
		"the disk is gone":               func(*Input) {},
		"shares are of one ticker":       func(in *Input) { in.Shares = new(usd("1")) },
		`there is no account "nobody's"`: func(in *Input) { in.AccountID = "nobody's" },
		"there is no as_of date":         func(in *Input) { in.AsOf = portfolio.Date{} },
	} {
		one := in
		change(&one)
		s := CheckAll(one, []string{"SLV"}, none)
		if s.Status != agentformat.StatusError || !strings.Contains(s.Error, want) {
			t.Errorf("%s: %s", s.Status, s.Error)
		}
		got := SurveyReply(s, Params{Format: reply.FormatAgent}, agentformat.File{})
		if text := asJSON(t, got.Body); !got.Failed || !strings.Contains(text, `"flag":"signal_error"`) || !strings.Contains(text, `"exits":[]`) {
			t.Errorf("%s", text)
		}
	}
}

// With every position at its worst, a survey's reply to an agent stays within 2 KB, and its summary small.
func TestSurveySize(t *testing.T) {
	big := usd("-987654321.123456")
	s := &Survey{Status: agentformat.StatusSuccess, AsOf: dayOf("2024-05-31")}
	for i := range 600 {
		r := newResult(fmt.Sprintf("%s%03d", strings.Repeat("&", 29), i))
		r.Assessment = []exitrule.Assessment{exitrule.StrongExit, exitrule.Exit, exitrule.Error, exitrule.Monitor}[i%4]
		r.OverallAssessment = strings.Repeat("<", 300)
		for a := range 12 {
			id := strings.Repeat("\"", 60) + fmt.Sprint(a)
			r.RecommendedActions = append(r.RecommendedActions,
				exitrule.Order{Action: exitrule.ActionSell, AccountID: id, Quantity: big}, exitrule.Order{Action: exitrule.ActionStop, AccountID: id, Quantity: big, StopPrice: &big})
		}
		r.Tax = &Tax{LongTermGain: big, Disallowed: big.Neg(), QuantityWithoutCost: big.Neg(), WashFreeFrom: dayOf("2024-07-01")}
		s.Results = append(s.Results, r)
		s.count(r)
	}
	s.PositionsChecked, s.asked, s.AccountID = len(s.Results), "x", strings.Repeat("\"", 60)
	file := agentformat.File{Path: "/" + strings.Repeat("d", 149)}
	for format, most := range map[string]int{reply.FormatAgent: 2048, reply.FormatSummary: 100 << 10} {
		data, err := json.Marshal(SurveyReply(s, Params{Format: format}, file).Body)
		if err != nil || len(data) > most {
			t.Errorf("%s: %d bytes, %v", format, len(data), err)
		}
		t.Logf("%s: %d bytes", format, len(data))
	}
	sent := s.Snapshot().Capped()
	if len(sent.Exits)+sent.ExitsOmitted != 300 || len(sent.Failed)+sent.FailedOmitted != 150 {
		t.Errorf("%d + %d, %d + %d", len(sent.Exits), sent.ExitsOmitted, len(sent.Failed), sent.FailedOmitted)
	}
	// A usual portfolio's exits are all there.
	few := surveyed(t, map[string]string{"A": "90", "B": "91", "C": "92", "D": "93", "E": ""}, "A", "B", "C", "D", "E").Snapshot().Capped()
	if len(few.Exits) != 4 || len(few.Failed) != 1 {
		t.Errorf("%d exits, %d errors", len(few.Exits), len(few.Failed))
	}
}

var _ agentformat.Snapshot[SurveySnapshot] = SurveySnapshot{}

// What has no verdict says what to do, however long the reason is; the tickers that hold are named as far as
// there is room.
func TestSurveySaysWhatToDo(t *testing.T) {
	s := &Survey{Status: agentformat.StatusSuccess, AsOf: dayOf("2024-05-31"), Results: []*Result{}}
	failed := newResult("WMT")
	failed.Status, failed.Error = agentformat.StatusError, "index SPY: "+strings.Repeat("there are 0 complete months of prices ", 4)+"and 10 are needed; import more"
	s.Results = append(s.Results, failed)
	for i := range 30 {
		r := newResult(fmt.Sprintf("T%02d", i))
		r.Status, r.Assessment = agentformat.StatusSuccess, exitrule.Hold
		s.Results = append(s.Results, r)
	}
	short := s.Snapshot().Capped()
	if why := short.Failed[0].Why; !strings.HasSuffix(why, "and 10 are needed; import more") || !strings.HasPrefix(why, "index SPY: there are 0") || len(why) > maxWhy {
		t.Error(why)
	}
	if len(short.Holding) != maxHolding || short.Holding[0] != "T00" {
		t.Errorf("%v", short.Holding)
	}
}
