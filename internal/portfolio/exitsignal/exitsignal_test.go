package exitsignal

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio/reply"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// monthBars has a bar for each session of the months up to May 2024, all of a month at one price.
func monthBars(prices ...string) (bars []price.Bar) {
	for i, p := range prices {
		first := time.Date(2024, time.Month(5-(len(prices)-1-i)), 1, 0, 0, 0, 0, time.UTC)
		for d := first; d.Month() == first.Month(); d = d.AddDate(0, 0, 1) {
			if day := portfolio.DateOf(d); price.Session(day) {
				bars = append(bars, price.Bar{Date: day, Open: usd(p), High: usd(p), Low: usd(p), Close: usd(p), Adj: usd(p)})
			}
		}
	}
	return bars
}

func year(p string) []string { return slices.Repeat([]string{p}, 12) }

// input is SLV on the last session of May 2024: a year at 100, the last month at another
// price, and a calm index.
func input(last string, history ...portfolio.Transaction) Input {
	return Input{
		Ticker: "SLV",
		AsOf:   dayOf("2024-05-31"),
		Config: exitrule.Default(),
		Market: exitrule.Market{
			Bars:   monthBars(append(year("100"), last)...),
			Others: map[string][]price.Bar{"SPY": monthBars(year("500")...)},
		},
		History: history,
		Rules: lots.Rules{Accounts: []portfolio.Account{
			{ID: "ira", Kind: portfolio.IRA, Method: portfolio.FIFO},
			{ID: "main", Kind: portfolio.Taxable, Method: portfolio.FIFO},
			{ID: "second", Kind: portfolio.Taxable, Method: portfolio.HIFO},
		}},
	}
}

// trade is one row of a history: "2023-01-10 main BUY SLV 100 20".
func trade(row string) portfolio.Transaction {
	f := strings.Fields(row)
	return portfolio.Transaction{
		Date: dayOf(f[0]), Account: f[1], Action: portfolio.Action(f[2]), Symbol: f[3], Quantity: usd(f[4]), Price: usd(f[5]),
	}
}

// asJSON is a part of a result as it is sent.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSignals(t *testing.T) {
	r := Check(input("96", trade("2023-01-10 main BUY SLV 40 80"), trade("2024-03-01 main BUY SLV 60 110")))
	if r.Status != agentformat.StatusSuccess || r.Assessment != exitrule.Exit || r.OverallAssessment != "EXIT (trend_sma10m)" || !r.TradeEligible {
		t.Fatalf("got %+v", r)
	}
	for _, c := range []struct {
		name string
		got  any
		want string
	}{
		{"position", r.Position, `{"shares":"100","held":"100","accounts":[{"account_id":"main","kind":"taxable","shares":"100"}]}`},
		{"sizing", []any{r.Sizing.Method, r.Sizing.Fraction, r.Sizing.Sell, r.Sizing.Keep}, `["steps","0.5","50","50"]`},
		{"actions", r.RecommendedActions, `[{"action":"sell","account_id":"main","ticker":"SLV","quantity":"50","order_type":"market","time_in_force":"day"},` +
			`{"action":"stop","account_id":"main","ticker":"SLV","quantity":"50","order_type":"stop","time_in_force":"good_till_cancelled","stop_price":"95.79","condition":"after the sale is filled","review_date":"2024-07-01"}]`},
		{"tax", r.Tax, `{"sale_date":"2024-05-31","price":"96","sales":[{"account_id":"main","kind":"taxable","shares":"50"}],` +
			`"short_term_gain":"-140","long_term_gain":"640","disallowed":"0","permanently_disallowed":"0","unsettled":"0",` +
			`"quantity_untaxed":"0","quantity_without_cost":"0","no_buy_until":"2024-07-01","lots":[` +
			`{"account_id":"main","acquired":"2023-01-10","holding_since":"2023-01-10","quantity":"40","proceeds":"3840","basis":"3200","gain":"640","term":"long","disallowed":"0","permanently_disallowed":"0","unsettled":"0","washes":[]},` +
			`{"account_id":"main","acquired":"2024-03-01","holding_since":"2024-03-01","quantity":"10","proceeds":"960","basis":"1100","gain":"-140","term":"short","disallowed":"0","permanently_disallowed":"0","unsettled":"0","washes":[]}]}`},
		{"price", []any{r.LastPrice, r.LastPriceDate}, `["96","2024-05-31"]`},
		{"notes", r.Notes, `[]`},
	} {
		if diff := cmp.Diff(c.want, asJSON(t, c.got)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if !strings.Contains(r.Disclaimer, "not tax or investment advice") {
		t.Errorf("the disclaimer is %q", r.Disclaimer)
	}
}

// A gap of nine percentage points, and an index that fell as well.
func TestSignalsStrong(t *testing.T) {
	in := input("90", trade("2023-01-10 main BUY SLV 100 80"))
	in.Market.Others["SPY"] = monthBars(append(year("500"), "400")...)
	r := Check(in)
	if r.Assessment != exitrule.StrongExit || r.Sizing.Sell.String() != "75" {
		t.Errorf("got %s, %+v", r.OverallAssessment, r.Sizing)
	}
	if diff := cmp.Diff([]string{"strong_exit", "trade_recommended"}, flagNames(r)); diff != "" {
		t.Error(diff)
	}
}

// What a wash sale would take of the loss, and whether for good.
func TestSignalsWash(t *testing.T) {
	bought := trade("2023-01-10 main BUY SLV 100 120")
	for _, c := range []struct {
		name                             string
		purchase                         string
		disallowed, permanent, unsettled string
		washes                           int
	}{
		{"in the same account", "2024-05-20 main BUY SLV 10 97", "240", "0", "0", 1},
		{"in another account", "2024-05-20 second REINVEST SLV 20 97", "480", "0", "0", 1},
		{"in an IRA", "2024-05-20 ira BUY SLV 20 97", "480", "480", "0", 1},
		{"of an identical symbol", "2024-05-20 second BUY SIVR 10 97", "240", "0", "0", 1},
		{"of a similar symbol", "2024-05-20 second BUY PSLV 10 97", "0", "0", "240", 1},
		{"of another symbol", "2024-05-20 second BUY GLD 10 97", "0", "0", "0", 0},
		{"31 days before", "2024-04-30 second BUY SLV 10 97", "0", "0", "0", 0},
		{"30 days before", "2024-05-01 second BUY SLV 10 97", "240", "0", "0", 1},
		{"after the day", "2024-06-03 second BUY SLV 10 97", "0", "0", "0", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input("96", bought, trade(c.purchase))
			in.AccountID = "main"
			in.Rules.Identical = [][]string{{"SLV", "SIVR"}}
			in.Rules.Similar = [][]string{{"SLV", "PSLV"}}
			r := Check(in)
			got := []string{r.Tax.Disallowed.String(), r.Tax.PermanentlyDisallowed.String(), r.Tax.Unsettled.String()}
			if diff := cmp.Diff([]string{c.disallowed, c.permanent, c.unsettled}, got); diff != "" {
				t.Error(diff)
			}
			if washes := r.Tax.Lots[0].Washes; len(washes) != c.washes {
				t.Errorf("washes: %+v", washes)
			}
			if s := r.Snapshot(); s.Tax == nil || s.Tax.LongTermGain >= 0 || s.Tax.NoBuyUntil != dayOf("2024-07-01") {
				t.Errorf("the snapshot has %+v", s.Tax)
			}
		})
	}
}

// Taxable accounts sell first, by their ids; retirement accounts have no gain.
func TestSignalsAccounts(t *testing.T) {
	r := Check(input("90",
		trade("2023-01-10 ira BUY SLV 50 80"), trade("2023-01-10 second BUY SLV 20 70"), trade("2023-02-10 second BUY SLV 20 85"), trade("2023-01-10 main BUY SLV 10 80")))
	want := `[{"account_id":"main","kind":"taxable","shares":"10"},{"account_id":"second","kind":"taxable","shares":"40"},{"account_id":"ira","kind":"ira","shares":"25"}]`
	if diff := cmp.Diff(want, asJSON(t, r.Tax.Sales)); diff != "" {
		t.Error(diff)
	}
	if r.Tax.LongTermGain.String() != "600" || r.Tax.QuantityUntaxed.String() != "25" || !r.Tax.NoBuyUntil.IsZero() {
		t.Errorf("got %s", asJSON(t, r.Tax))
	}
	if first := r.Tax.Lots[1]; first.AccountID != "second" || first.Basis.String() != "1700" {
		t.Errorf("the account sells its dearest lot first, not %+v", first)
	}
	in := input("90", trade("2023-01-10 ira BUY SLV 50 80"), trade("2023-01-10 main BUY SLV 10 80"))
	in.AccountID = "ira"
	r = Check(in)
	if r.Position.Shares.String() != "50" || r.Sizing.Sell.String() != "37" || len(r.Tax.Lots) != 0 || r.Tax.QuantityUntaxed.String() != "37" {
		t.Errorf("in one account: %s", asJSON(t, r))
	}
}

// Shares that are asked for are a part of what is held, where that is known.
func TestSignalsShares(t *testing.T) {
	held := []portfolio.Transaction{trade("2023-01-10 main BUY SLV 30 80"), trade("2023-01-10 second BUY SLV 30 80")}
	for _, c := range []struct {
		name         string
		shares       string
		history      []portfolio.Transaction
		used, sell   string
		accounts     int
		note         string
		withTax, due bool
	}{
		{"a part", "40", held, "40", "20", 2, "", true, true},
		{"of the first account", "20", held, "20", "10", 1, "", true, true},
		{"more than is held", "1000", held, "60", "30", 2, "1000 shares were asked for, and 60 are held", true, true},
		{"without a history", "1000", nil, "1000", "500", 0, "there is no history of SLV, so the 1000 shares are taken as said", false, true},
		{"of other symbols", "10", []portfolio.Transaction{trade("2023-01-10 main BUY GLD 30 80")}, "10", "5", 0, "there is no history of SLV", false, true},
		{"when all are sold", "10", append(held, trade("2023-02-10 main SELL SLV 30 80"), trade("2023-02-10 second SELL SLV 30 80")), "0", "0", 0, "nothing is held", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input("96", c.history...)
			shares := usd(c.shares)
			in.Shares = &shares
			r := Check(in)
			if r.Position.Shares.String() != c.used || r.Sizing.Sell.String() != c.sell || len(r.Position.Accounts) != c.accounts {
				t.Errorf("got %s", asJSON(t, r))
			}
			if !strings.Contains(strings.Join(r.Notes, "\n"), c.note) || c.note == "" && len(r.Notes) > 0 {
				t.Errorf("notes %q", r.Notes)
			}
			if (r.Tax != nil) != c.withTax || r.TradeEligible != c.due {
				t.Errorf("tax %+v, eligible %v", r.Tax, r.TradeEligible)
			}
		})
	}
}

// Without a position there is still an assessment, and nothing to trade.
func TestSignalsNothingHeld(t *testing.T) {
	r := Check(input("96"))
	if r.Status != agentformat.StatusSuccess || r.Assessment != exitrule.Exit || r.TradeEligible || len(r.RecommendedActions) != 0 {
		t.Errorf("got %s", asJSON(t, r))
	}
	if diff := cmp.Diff([]string{"exit_signal", "sizing"}, flagNames(r)); diff != "" {
		t.Error(diff)
	}
	if v := r.Snapshot().Verdict; v != "SLV: EXIT (trend_sma10m)" {
		t.Errorf("got %q", v)
	}
}

// A rising price is held, and nothing is said of sizes.
func TestSignalsHold(t *testing.T) {
	r := Check(input("110", trade("2023-01-10 main BUY SLV 30 80")))
	if r.Assessment != exitrule.Hold || r.TradeEligible || r.Sizing != nil || r.Tax != nil || r.Position.Shares.String() != "30" {
		t.Errorf("got %s", asJSON(t, r))
	}
}

// Too little is known for a verdict: an ERROR, never a HOLD, and no failure of the tool either.
func TestSignalsNoVerdict(t *testing.T) {
	bought := trade("2023-01-10 main BUY SLV 30 80")
	for name, change := range map[string]func(*Input){
		"no prices":      func(in *Input) { in.Market.Bars = nil },
		"short history":  func(in *Input) { in.Market.Bars = monthBars(year("100")[:9]...) },
		"old prices":     func(in *Input) { in.AsOf = dayOf("2024-06-10") },
		"prices to come": func(in *Input) { in.AsOf = dayOf("2023-03-01") },
	} {
		in := input("110", bought)
		change(&in)
		r := Check(in)
		if r.Status != agentformat.StatusSuccess || r.Assessment != exitrule.Error || r.TradeEligible || !strings.HasPrefix(r.OverallAssessment, "ERROR (") {
			t.Errorf("%s: %s", name, asJSON(t, r))
		}
		names := flagNames(r)
		if names[0] != "primary_rule_error" || slices.Contains(names, "signal_error") || slices.Contains(names, "hold") {
			t.Errorf("%s: %v", name, names)
		}
		if r.Position.Shares.String() != "30" {
			t.Errorf("%s: %s shares", name, r.Position.Shares)
		}
	}
}

func TestSignalsRefuses(t *testing.T) {
	bought := trade("2023-01-10 main BUY SLV 30 80")
	minus := usd("-5")
	for _, c := range []struct {
		change func(*Input)
		want   string
	}{
		{func(in *Input) { in.Ticker = " " }, "there is no ticker; name the one to check"},
		{func(in *Input) { in.AsOf = portfolio.Date{} }, "there is no as_of date"},
		{func(in *Input) { in.Shares = &minus }, "shares is more than zero, not -5; short positions are not worked out"},
		{func(in *Input) { in.Shares = &portfolio.Decimal{} }, "shares is more than zero, not 0"},
		{func(in *Input) { in.Market.Bars, in.History = nil, nil }, `nothing is known of "SLV" up to 2024-05-31: there are no prices and no transactions`},
		{func(in *Input) { in.AccountID = "other" }, `there is no account "other"; the accounts are "ira", "main", "second"`},
		{func(in *Input) { in.Config.Rules = nil }, "the settings of exit signals: there are 1 to 32 exit rules, not 0"},
	} {
		in := input("96", bought)
		c.change(&in)
		r := Check(in)
		if r.Status != agentformat.StatusError || !strings.HasPrefix(r.Error, c.want) {
			t.Errorf("got %s %q, want %q", r.Status, r.Error, c.want)
		}
	}
}

// A sale of the same day stays what it was, and the recommended one takes the lots after it. What
// was bought later is not known yet.
func TestSignalsAfterSaleOfTheDay(t *testing.T) {
	r := Check(input("96",
		trade("2023-01-10 main BUY SLV 40 80"), trade("2024-03-01 main BUY SLV 60 110"), trade("2024-05-31 main SELL SLV 40 97"),
		trade("2024-06-01 second BUY SLV 40 97")))
	if r.Tax.SaleDate != dayOf("2024-05-31") || len(r.Tax.Lots) != 1 || r.Tax.Lots[0].Acquired != dayOf("2024-03-01") || r.Tax.ShortTermGain.String() != "-420" || !r.Tax.Disallowed.IsZero() {
		t.Errorf("got %s", asJSON(t, r.Tax))
	}
}

// Shares that another symbol became are a position, with the cost and the day of the old ones.
func TestSignalsAfterMerger(t *testing.T) {
	merger := trade("2024-02-01 main MERGER OLD 40 0")
	merger.Into, merger.Ratio = "SLV", usd("2")
	r := Check(input("96", trade("2023-01-10 main BUY OLD 40 200"), merger))
	if r.Position.Held.String() != "80" || r.Tax == nil || len(r.Tax.Lots) != 1 || r.Tax.Lots[0].Acquired != dayOf("2023-01-10") || r.Tax.LongTermGain.String() != "-160" {
		t.Errorf("got %s", asJSON(t, r))
	}
}

// Shares whose cost nobody said have no gain, and that is said.
func TestSignalsWithoutCost(t *testing.T) {
	r := Check(input("96", trade("2023-01-10 main BUY SLV 10 80"), trade("2024-03-01 main TRANSFER_IN SLV 30 0")))
	if r.Position.Shares.String() != "40" || r.Tax.QuantityWithoutCost.String() != "10" || r.Tax.LongTermGain.String() != "160" {
		t.Errorf("got %s", asJSON(t, r))
	}
	if diff := cmp.Diff([]string{"10 of the shares to sell came in without their cost, so their gain is unknown"}, r.Notes); diff != "" {
		t.Error(diff)
	}
}

// The tool leaves its input as it is.
func TestSignalsIsPure(t *testing.T) {
	in := input("96", trade("2024-03-01 main BUY SLV 60 110"), trade("2023-01-10 main BUY SLV 40 80"))
	in.History = slices.Grow(in.History, 10)
	before := asJSON(t, in)
	first := asJSON(t, Check(in))
	if asJSON(t, in) != before || !in.History[:3][2].Date.IsZero() {
		t.Error("the input has changed")
	}
	if second := asJSON(t, Check(in)); second != first {
		t.Errorf("first %s\nthen %s", first, second)
	}
}

// A usual reply has room for all five signals, and a path.
func TestReplyKeepsFiveSignals(t *testing.T) {
	in := input("90", trade("2023-01-10 main BUY SLV 12345 120"), trade("2024-05-20 main BUY SLV 100 97"))
	in.Config.Rules = []exitrule.Rule{
		{Name: "trend_sma10m", Primary: true}, {Name: "tsmom_12"}, {Name: "return_deceleration"}, {Name: "chandelier_22_3"},
		{Name: "regime_index_200d"}, {Name: "regime_basket"},
	}
	in.Config.Basket = []string{"QQQ"}
	path := "/home/someone/portfolio/logs/exit_signals/exit_signals_SLV_20240531_160509.json"
	body := Reply(Check(in), Params{Format: reply.FormatAgent}, agentformat.File{Path: path}).Body
	text := asJSON(t, body)
	if n := len(body.(agentformat.Response[Snapshot]).Snapshot.Signals); n != 5 || len(text) > 2048 {
		t.Errorf("%d signals in %d bytes: %s", n, len(text), text)
	}
}
