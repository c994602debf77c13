package exitrule_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

func day(s string) portfolio.Date {
	d, err := portfolio.ParseDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

func dec(s string) portfolio.Decimal {
	d, err := portfolio.ParseDecimal(s)
	if err != nil {
		panic(err)
	}
	return d
}

// bar is a day at one price.
func bar(d portfolio.Date, p float64) price.Bar {
	paid := dec(fmt.Sprintf("%.4f", p))
	return price.Bar{Date: d, Open: paid, High: paid, Low: paid, Close: paid, Adj: paid}
}

// daily is a bar for each session up to a day, the last of which has the last price.
func daily(end portfolio.Date, prices ...float64) []price.Bar {
	bars := make([]price.Bar, len(prices))
	for i := len(prices) - 1; i >= 0; end = end.Add(-1) {
		if price.Session(end) {
			bars[i] = bar(end, prices[i])
			i--
		}
	}
	return bars
}

// monthly is a bar for each session of some months, the last of which is that of a day. All
// sessions of a month have its price.
func monthly(end portfolio.Date, prices ...float64) (bars []price.Bar) {
	last := end.Time()
	for i, p := range prices {
		first := time.Date(last.Year(), last.Month()-time.Month(len(prices)-1-i), 1, 0, 0, 0, 0, time.UTC)
		for d := portfolio.DateOf(first); d.Month() == portfolio.DateOf(first).Month() && !d.After(end); d = d.Add(1) {
			if price.Session(d) {
				bars = append(bars, bar(d, p))
			}
		}
	}
	return bars
}

func repeat(p float64, n int) []float64 {
	prices := make([]float64, n)
	for i := range prices {
		prices[i] = p
	}
	return prices
}

func primary(rules ...exitrule.Rule) exitrule.Config {
	config := exitrule.Default()
	config.Rules = rules
	config.Rules[0].Primary = true
	return config
}

var end = day("2024-05-31") // the last session of its month

func TestRules(t *testing.T) {
	wave := []float64{100, 110, 100, 110, 100, 110, 100, 110, 100}
	for _, c := range []struct {
		name      string
		rule      exitrule.Rule
		bars      []price.Bar
		triggered bool
		value     float64
		threshold float64
		gap       float64
		severity  float64
		message   string
	}{
		{
			"trend below its mean", exitrule.Rule{Name: "trend_sma10m"},
			monthly(end, append(wave, 84)...), true, 84, 102.4, 18.4 / 102.4, 0.2737247944,
			"the close of 2024-05-31 is 17.97 % below its 10-month mean of 102.40",
		},
		{
			"trend above its mean", exitrule.Rule{Name: "trend_sma10m"},
			monthly(end, append(wave, 110)...), false, 110, 105, -5.0 / 105, 0,
			"the close of 2024-05-31 is 4.76 % above its 10-month mean of 105.00",
		},
		{
			"a price that never moves is at its mean", exitrule.Rule{Name: "trend_sma10m"},
			monthly(end, repeat(100.1, 10)...), false, 100.1, 100.1, 0, 0,
			"the close of 2024-05-31 is at its 10-month mean of 100.10",
		},
		{
			"a trend of three months", exitrule.Rule{Name: "short", Like: "trend_sma10m", Months: 3},
			monthly(end, 50, 100, 100, 70), true, 70, 90, 20.0 / 90, 0.4276668661,
			"the close of 2024-05-31 is 22.22 % below its 3-month mean of 90.00",
		},
		{
			"a return of twelve months below zero", exitrule.Rule{Name: "tsmom_12"},
			monthly(end, 200, 190, 190, 190, 190, 190, 190, 190, 190, 190, 190, 190, 180), true, -0.1, 0, 0.1, 0.7544376663,
			"the 12-month return is -10.00 %",
		},
		{
			"a return of twelve months of zero", exitrule.Rule{Name: "tsmom_12"},
			monthly(end, 200, 190, 190, 190, 190, 190, 190, 190, 190, 190, 190, 190, 200), false, 0, 0, 0, 0,
			"the 12-month return is 0.00 %",
		},
		{
			"momentum in even steps has no volatility", exitrule.Rule{Name: "two", Like: "tsmom_12", Months: 2},
			monthly(end, 100, 50, 25), true, -0.75, 0, 0.75, 0.5, "the 2-month return is -75.00 %",
		},
		{
			"deceleration", exitrule.Rule{Name: "return_deceleration"},
			monthly(end, 100, 110, 121, 133.1, 133.1), true, 0, 0.1, 0.1, 1,
			"the last month's return is 0.00 %, the mean of the 3 before 10.00 %",
		},
		{
			"acceleration", exitrule.Rule{Name: "return_deceleration"},
			monthly(end, 100, 100, 100, 100, 110), false, 0.1, 0, -0.1, 0,
			"the last month's return is 10.00 %, the mean of the 3 before 0.00 %",
		},
		{
			"chandelier", exitrule.Rule{Name: "chandelier_22_3"},
			daily(end, append(repeat(100, 22), 78)...), true, 78, 97, 19.0 / 97, 0.4556494845,
			"the close is 19.59 % below 97.00, which is 3 average ranges below the highest of 22 days",
		},
		{
			"chandelier of a price that never moves", exitrule.Rule{Name: "chandelier_22_3"},
			daily(end, repeat(100, 23)...), false, 100, 100, 0, 0,
			"the close is at 100.00, which is 3 average ranges below the highest of 22 days",
		},
		{
			"ranges wider than the price", exitrule.Rule{Name: "wide", Like: "chandelier_22_3", Days: 2, Multiple: dec("3")},
			daily(end, 100, 40, 90), false, 90, -75, -1, 0,
			"the close is 100.00 % above -75.00, which is 3 average ranges below the highest of 2 days",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := primary(c.rule)
			if err := config.Check(); err != nil {
				t.Fatal(err)
			}
			v := exitrule.Evaluate(config, exitrule.Market{Bars: c.bars}, end)
			s := v.Signals[0]
			if s.Status != exitrule.StatusOK || s.Triggered != c.triggered || s.Message != c.message {
				t.Errorf("got %+v", s)
			}
			for _, n := range []struct {
				name      string
				got, want float64
			}{{"value", s.Value, c.value}, {"threshold", s.Threshold, c.threshold}, {"gap", s.Gap, c.gap}, {"severity", s.Severity, c.severity}} {
				if math.Abs(n.got-n.want) > 1e-9 {
					t.Errorf("%s is %v, want %v", n.name, n.got, n.want)
				}
			}
		})
	}
}

// The index is through its threshold when it is more than the band below its mean.
func TestIndexRegime(t *testing.T) {
	for _, c := range []struct {
		last float64
		band string
		want bool
	}{
		{last: 99.2, want: false}, // within the band of 1 %
		{last: 98.9, want: true},
		{last: 99.2, band: "0", want: true},
		{last: 98.9, band: "0.05", want: false},
	} {
		rule := exitrule.Rule{Name: "regime_index_200d"}
		if c.band != "" {
			band := dec(c.band)
			rule.Band = &band
		}
		config := primary(exitrule.Rule{Name: "trend_sma10m"}, rule)
		market := exitrule.Market{
			Bars:   monthly(end, repeat(100, 10)...),
			Others: map[string][]price.Bar{"SPY": daily(end, append(repeat(100, 199), c.last)...)},
		}
		v := exitrule.Evaluate(config, market, end)
		want := exitrule.Hold
		if c.want {
			want = exitrule.Monitor
		}
		if v.Signals[1].Triggered != c.want || v.Assessment != want {
			t.Errorf("%v with band %q: %s, %+v", c.last, c.band, v.Text, v.Signals[1])
		}
	}
}

// The basket's return is the mean of its members', whatever their prices.
func TestBasketRegime(t *testing.T) {
	config := primary(exitrule.Rule{Name: "trend_sma10m"}, exitrule.Rule{Name: "regime_basket"})
	config.Basket = []string{"AAA", "BBB"}
	market := exitrule.Market{Bars: monthly(end, repeat(100, 10)...), Others: map[string][]price.Bar{
		"AAA": monthly(end, 1000, 1000, 1000, 1100),
		"BBB": monthly(end, 1, 1, 1, 0.88),
	}}
	s := exitrule.Evaluate(config, market, end).Signals[1]
	if !s.Triggered || math.Abs(s.Value+0.01) > 1e-9 {
		t.Errorf("+10 %% and -12 %%: %+v", s)
	}
	delete(market.Others, "BBB")
	v := exitrule.Evaluate(config, market, end)
	if s := v.Signals[1]; s.Status != exitrule.StatusError || s.Triggered || !strings.Contains(s.Message, "BBB of the basket: there are no prices") {
		t.Errorf("without a member: %+v", s)
	}
	if v.Text != "HOLD (no rule triggered; failed: regime_basket)" {
		t.Errorf("got %q", v.Text)
	}
}

// Too few, too old and too patchy prices are errors that say what there is and what is needed.
func TestFailures(t *testing.T) {
	ten := monthly(end, repeat(100, 10)...)
	patchy := monthly(end, repeat(100, 12)...)
	hole := make([]price.Bar, 0, len(patchy))
	for _, b := range patchy {
		if b.Date.Month() != day("2024-02-01").Month() {
			hole = append(hole, b)
		}
	}
	cut := make([]price.Bar, 0, len(patchy))
	for _, b := range patchy {
		if d := b.Date; d.Before(day("2024-02-20")) || d.After(day("2024-03-01")) {
			cut = append(cut, b)
		}
	}
	for _, c := range []struct {
		name string
		rule string
		bars []price.Bar
		asOf string
		want string
	}{
		{"no prices", "trend_sma10m", nil, "2024-05-31", "there are no prices up to 2024-05-31; import some"},
		{"only later prices", "trend_sma10m", ten, "2023-01-31", "there are no prices up to 2023-01-31; import some"},
		{"nine months", "trend_sma10m", monthly(end, repeat(100, 9)...), "2024-05-31", "there are 9 complete months of prices in a row up to 2024-05-31, and 10 are needed; import more"},
		{"the tenth is not over", "trend_sma10m", ten, "2024-05-30", "there are 9 complete months of prices in a row up to 2024-05-30, and 10 are needed; import more"},
		{"twelve months are eleven returns", "tsmom_12", monthly(end, repeat(100, 12)...), "2024-05-31", "there are 12 complete months of prices in a row up to 2024-05-31, and 13 are needed; import more"},
		{"four months", "return_deceleration", monthly(end, repeat(100, 4)...), "2024-05-31", "there are 4 complete months of prices in a row up to 2024-05-31, and 5 are needed; import more"},
		{"a month is missing", "trend_sma10m", hole, "2024-05-31", "there are 3 complete months of prices in a row up to 2024-05-31, and 10 are needed; import more"},
		{"a month's end is missing", "trend_sma10m", cut, "2024-05-31", "there are 3 complete months of prices in a row up to 2024-05-31, and 10 are needed; import more"},
		{"twenty-two days are twenty-one ranges", "chandelier_22_3", daily(end, repeat(100, 22)...), "2024-05-31", "there are 22 daily prices up to 2024-05-31, and 23 are needed; import more"},
		{"a bar a month", "chandelier_22_3", price.MonthEnds(monthly(end, repeat(100, 30)...), end), "2024-05-31", "the last 23 prices are spread over"},
		{"six sessions old", "trend_sma10m", ten, "2024-06-10", "the last price is of 2024-05-31, 6 sessions before 2024-06-10; import newer ones"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := exitrule.Evaluate(primary(exitrule.Rule{Name: c.rule}), exitrule.Market{Bars: c.bars}, day(c.asOf))
			s := v.Signals[0]
			if s.Status != exitrule.StatusError || s.Triggered || s.Severity != 0 || !strings.Contains(s.Message, c.want) {
				t.Errorf("got %+v", s)
			}
			if v.Assessment != exitrule.Error || !strings.HasPrefix(v.Text, "ERROR (") || !strings.Contains(v.Text, c.want) {
				t.Errorf("got %q", v.Text)
			}
		})
	}
	for asOf, want := range map[string]exitrule.Assessment{
		"2024-06-07": exitrule.Hold,  // five sessions
		"2024-06-09": exitrule.Hold,  // a Sunday later
		"2024-06-10": exitrule.Error, // six
	} {
		if v := exitrule.Evaluate(primary(exitrule.Rule{Name: "trend_sma10m"}), exitrule.Market{Bars: ten}, day(asOf)); v.Assessment != want {
			t.Errorf("on %s: %s, want %s", asOf, v.Text, want)
		}
	}
	// The last session's close may not have come yet: the month before is the last complete one.
	if v := exitrule.Evaluate(primary(exitrule.Rule{Name: "trend_sma10m"}), exitrule.Market{Bars: patchy[:len(patchy)-1]}, end); v.Assessment != exitrule.Hold {
		t.Errorf("before the last session's close: %s", v.Text)
	}
}

// Old prices of the ticker leave no verdict, even if no primary rule looks at them.
func TestOldPricesLeaveNoVerdict(t *testing.T) {
	market := exitrule.Market{
		Bars:   daily(day("2024-05-01"), repeat(100, 300)...),
		Others: map[string][]price.Bar{"SPY": daily(end, repeat(100, 300)...)},
	}
	v := exitrule.Evaluate(primary(exitrule.Rule{Name: "regime_index_200d"}), market, end)
	if v.Assessment != exitrule.Error || v.Signals[0].Status != exitrule.StatusOK {
		t.Errorf("got %s, %+v", v.Text, v.Signals)
	}
}

// Prices that numbers can't be made of are a failure, and no number of JSON is lost to them.
func TestPricesOutOfProportion(t *testing.T) {
	for name, spoil := range map[string]func(*price.Bar){
		"no adjusted close": func(b *price.Bar) { b.Adj = portfolio.Decimal{} },
		"no close":          func(b *price.Bar) { b.Close = portfolio.Decimal{} },
	} {
		bars := daily(end, repeat(100, 400)...)
		for i := range bars {
			spoil(&bars[i])
		}
		config := primary(exitrule.Rule{Name: "chandelier_22_3"}, exitrule.Rule{Name: "tsmom_12", Primary: true})
		v := exitrule.Evaluate(config, exitrule.Market{Bars: bars}, end)
		if v.Assessment != exitrule.Error || v.Signals[0].Message != "the prices are out of any proportion; look at them" || v.Stop.Sign() < 0 {
			t.Errorf("%s: %s, %+v", name, v.Text, v.Signals)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A missing index is the failure of its rule, and leaves a verdict.
func TestMissingIndex(t *testing.T) {
	falling := exitrule.Market{Bars: monthly(end, 100, 100, 100, 100, 100, 100, 100, 100, 100, 90)}
	v := exitrule.Evaluate(exitrule.Default(), falling, end)
	if v.Assessment != exitrule.Exit || v.Text != "EXIT (trend_sma10m; failed: regime_index_200d)" {
		t.Errorf("got %q", v.Text)
	}
	if s := v.Signals[1]; s.Status != exitrule.StatusError || s.Message != "index SPY: there are no prices up to 2024-05-31; import some" {
		t.Errorf("got %+v", s)
	}
}

// TestAssessment goes through the states of a primary and two secondary rules.
func TestAssessment(t *testing.T) {
	const calm, triggered, failed = 0, 1, 2
	config := primary(exitrule.Rule{Name: "trend_sma10m"}, exitrule.Rule{Name: "regime_basket"}, exitrule.Rule{Name: "regime_index_200d"})
	config.Basket = []string{"AAA"}
	bars := map[int][]price.Bar{
		calm:      monthly(end, append(repeat(100, 11), 110)...),
		triggered: monthly(end, append(repeat(100, 11), 90)...),
		failed:    monthly(end, 100), // too short for any rule
	}
	for state := range 3 * 3 * 3 {
		p, s1, s2 := state%3, state/3%3, state/9
		want := exitrule.Hold
		switch {
		case p == failed:
			want = exitrule.Error
		case p == triggered && (s1 == triggered || s2 == triggered) && s1 != failed && s2 != failed:
			want = exitrule.StrongExit
		case p == triggered:
			want = exitrule.Exit
		case s1 == triggered || s2 == triggered:
			want = exitrule.Monitor
		}
		v := exitrule.Evaluate(config, exitrule.Market{Bars: bars[p], Others: map[string][]price.Bar{"AAA": bars[s1], "SPY": bars[s2]}}, end)
		if v.Assessment != want || !strings.HasPrefix(v.Text, string(want)+" (") {
			t.Errorf("primary %d, secondary %d %d: %s, want %s", p, s1, s2, v.Text, want)
		}
		if v.Exits() != (want == exitrule.Exit || want == exitrule.StrongExit) {
			t.Errorf("%s exits: %v", want, v.Exits())
		}
	}
}

// One primary rule that failed leaves no verdict, whatever the others say.
func TestAnyPrimaryFailure(t *testing.T) {
	config := primary(exitrule.Rule{Name: "trend_sma10m"}, exitrule.Rule{Name: "tsmom_12", Primary: true})
	v := exitrule.Evaluate(config, exitrule.Market{Bars: monthly(end, append(repeat(100, 9), 90)...)}, end)
	if !v.Signals[0].Triggered || v.Assessment != exitrule.Error {
		t.Errorf("got %q", v.Text)
	}
}

// One of several primary rules is enough for an exit.
func TestOnePrimaryIsEnough(t *testing.T) {
	config := primary(exitrule.Rule{Name: "trend_sma10m"}, exitrule.Rule{Name: "tsmom_12", Primary: true})
	market := exitrule.Market{Bars: monthly(end, append([]float64{50}, append(repeat(100, 11), 90)...)...)}
	if v := exitrule.Evaluate(config, market, end); v.Text != "EXIT (trend_sma10m)" {
		t.Errorf("got %q", v.Text)
	}
}

func TestStop(t *testing.T) {
	// A range of 2 every day, so that the average is 2.
	ranging := daily(end, repeat(100, 40)...)
	for i := range ranging {
		ranging[i].High, ranging[i].Low = dec("101"), dec("99")
	}
	scaled := func(factor string) []price.Bar {
		bars := append([]price.Bar{}, ranging...)
		for i := range bars {
			bars[i].Adj = bars[i].Close.Mul(dec(factor))
		}
		return bars
	}
	fallen := append([]price.Bar{}, ranging...)
	for _, i := range []int{37, 38, 39} {
		fallen[i] = bar(fallen[i].Date, 80)
	}
	for _, c := range []struct {
		name string
		bars []price.Bar
		set  func(*exitrule.Config)
		want string
	}{
		{"three ranges below the highest", ranging, nil, "95"},
		{"in the prices that are paid", scaled("0.25"), nil, "95"},
		{"rounded down to the tick", ranging, func(c *exitrule.Config) { c.Tick = dec("0.3") }, "94.8"},
		{"a percentage", ranging, func(c *exitrule.Config) { c.Stop.Method, c.Stop.Fraction = exitrule.StopPercent, dec("0.083") }, "91.7"},
		{"a price that never moves has no range", daily(end, repeat(100, 40)...), nil, "90"},
		{"too few days for a range", daily(end, repeat(100, 5)...), nil, "90"},
		{"below a price that has fallen through", fallen, nil, "72.29"},
		{"no stop is zero or less", daily(end, repeat(0.01, 40)...), nil, "0"},
	} {
		config := exitrule.Default()
		if c.set != nil {
			c.set(&config)
		}
		v := exitrule.Evaluate(config, exitrule.Market{Bars: c.bars}, end)
		if v.Stop.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, v.Stop, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := exitrule.Default().Check(); err != nil {
		t.Fatal(err)
	}
	minus := dec("-0.1")
	for _, c := range []struct {
		set  func(*exitrule.Config)
		want string
	}{
		{func(c *exitrule.Config) { c.Rules = nil }, "there are 1 to 32 exit rules, not 0; the rules are trend_sma10m, tsmom_12"},
		{func(c *exitrule.Config) { c.Rules[0].Primary = false }, "no exit rule is primary"},
		{func(c *exitrule.Config) { c.Rules[1].Name = "trend_sma10m" }, "two exit rules have the name trend_sma10m"},
		{func(c *exitrule.Config) { c.Rules[0].Name = "moon" }, `"moon" is no exit rule; they are trend_sma10m`},
		{func(c *exitrule.Config) { c.Rules[0].Name = "a\x1b[31m" }, "the name of an exit rule"},
		{func(c *exitrule.Config) { c.Rules[0].Days = 5 }, "exit rule trend_sma10m: days is no parameter of trend_sma10m"},
		{func(c *exitrule.Config) { c.Rules[1].Months = 5 }, "months is no parameter"},
		{func(c *exitrule.Config) { c.Rules[0].Multiple = dec("2") }, "multiple is no parameter"},
		{func(c *exitrule.Config) { c.Rules[0].Band = &minus }, "band is no parameter"},
		{func(c *exitrule.Config) { c.Rules[1].Band = &minus }, "band is a fraction from 0 to 0.5, not -0.1"},
		{func(c *exitrule.Config) { c.Rules[0].Months = 1 }, "months is 2 to 120, not 1"},
		{func(c *exitrule.Config) { c.Rules[1].Days = -1 }, "days is 2 to 1000, not -1"},
		{func(c *exitrule.Config) { c.Index = "" }, "needs the symbol of an index"},
		{func(c *exitrule.Config) { c.Index = "S P Y" }, `the index "S P Y" is no symbol`},
		{func(c *exitrule.Config) { c.Basket = []string{"QQQ", ""} }, `"" in the basket is no symbol`},
		{func(c *exitrule.Config) { c.Basket = make([]string, 101) }, "the basket has 101 symbols; at most 100"},
		{func(c *exitrule.Config) { c.Rules[1].Name = "regime_basket" }, "needs a basket of symbols"},
		{func(c *exitrule.Config) { c.Tick = dec("0") }, "the tick of stop prices is more than zero, not 0"},
		{func(c *exitrule.Config) { c.Sizing.Method = "all" }, `the method of sizing is steps, linear or volatility_target, not "all"`},
		{func(c *exitrule.Config) { c.Sizing.Fraction = dec("0") }, "sizing sells a fraction more than 0"},
		{func(c *exitrule.Config) { c.Sizing.WideFraction = dec("0.4") }, "not 0.5 and 0.4"},
		{func(c *exitrule.Config) { c.Sizing.WideGap = dec("0") }, "the wide gap of sizing"},
		{func(c *exitrule.Config) { c.Sizing.TargetVolatility = dec("0") }, "the target volatility"},
		{func(c *exitrule.Config) { c.Stop.Method = "mental" }, `the method of stops is chandelier or percent, not "mental"`},
		{func(c *exitrule.Config) { c.Stop.Days = 1 }, "the days of stops"},
		{func(c *exitrule.Config) { c.Stop.Multiple = dec("0") }, "the multiple of stops"},
		{func(c *exitrule.Config) { c.Stop.Fraction = dec("1") }, "a stop is a fraction"},
	} {
		config := exitrule.Default()
		c.set(&config)
		if err := config.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestSymbols(t *testing.T) {
	config := exitrule.Default()
	config.Basket = []string{"QQQ", "IWM", "SPY"}
	if diff := cmp.Diff([]string{"SPY"}, config.Symbols()); diff != "" {
		t.Error(diff)
	}
	config.Rules = append(config.Rules, exitrule.Rule{Name: "b", Like: "regime_basket"})
	if diff := cmp.Diff([]string{"IWM", "QQQ", "SPY"}, config.Symbols()); diff != "" {
		t.Error(diff)
	}
}

// Prices that fall by a split's ratio on its day are not adjusted, and say nothing of the trend.
func TestSplits(t *testing.T) {
	end := portfolio.NewDate(2024, 5, 31)
	bars := monthly(end, 100, 101, 102, 103, 104, 105, 106, 107, 54, 55, 56, 57, 58)
	fall := slices.IndexFunc(bars, func(b price.Bar) bool { return b.Adj.Float() < 60 })
	split := func(i int, ratio float64) exitrule.Market {
		return exitrule.Market{Bars: bars, Splits: []exitrule.Split{{bars[i].Date, ratio}}}
	}
	for _, c := range []struct {
		name   string
		market exitrule.Market
		want   string
	}{
		{"not adjusted", split(fall, 2), "not adjusted for the split"},
		{"adjusted", split(fall-1, 2), ""},
		{"too small to be seen", split(fall, 1.2), ""},
		{"no price after it", exitrule.Market{Bars: bars, Splits: []exitrule.Split{{end.Add(1), 2}}}, "before the split of 2024-06-01"},
		{"no prices at all", exitrule.Market{Splits: []exitrule.Split{{end, 2}}}, "there are no prices up to"},
		{"before all prices", exitrule.Market{Bars: bars, Splits: []exitrule.Split{{bars[0].Date.Add(-400), 2}}}, ""},
	} {
		v := exitrule.Evaluate(exitrule.Config{Rules: []exitrule.Rule{{Name: "trend_sma10m", Primary: true}}}, c.market, end.Add(2))
		if failed := v.Assessment == exitrule.Error; failed != (c.want != "") || !strings.Contains(v.Signals[0].Message, c.want) {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}
