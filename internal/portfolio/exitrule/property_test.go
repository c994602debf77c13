package exitrule_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/exitrule"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// cases returns how many each property is tried on: with -short fewer.
func cases() int {
	if testing.Short() {
		return 1_000
	}
	return 10_000
}

// sessions are those of three years.
func sessions() (days []portfolio.Date) {
	for d := day("2021-01-04"); d.Before(day("2024-01-01")); d = price.NextSession(d) {
		days = append(days, d)
	}
	return days
}

// walk is bars at random: a price that drifts, jumps and now and then stands still, with days
// missing, and closes that a split or dividends make differ from the adjusted ones.
func walk(r *rand.Rand, days []portfolio.Date) []price.Bar {
	bars := make([]price.Bar, 0, len(days))
	p, volatility, factor := math.Exp(r.Float64()*8-1), r.Float64()*0.05, 0.2+r.Float64()
	holes := r.IntN(3) * r.IntN(10)
	for _, d := range days {
		if r.IntN(1000) < holes {
			continue
		}
		if r.IntN(300) == 0 {
			volatility = r.Float64() * 0.08 * float64(r.IntN(2))
		}
		if r.IntN(200) == 0 {
			factor = 0.2 + r.Float64()
		}
		p = max(p*math.Exp(r.NormFloat64()*volatility), 0.01)
		wide := 1 + r.Float64()*volatility
		fixed := func(f float64) portfolio.Decimal { return portfolio.NewDecimal(max(int64(f*1e4), 1), -4) }
		bars = append(bars, price.Bar{
			Date: d, Open: fixed(p), High: fixed(p * wide), Low: fixed(p / wide), Close: fixed(p), Adj: fixed(p * factor),
		})
	}
	return bars
}

// everyRule has all rules, with shorter spans than their own, so that histories at random are long
// enough for most.
func everyRule(r *rand.Rand) exitrule.Config {
	band := portfolio.NewDecimal(int64(r.IntN(3)), -2)
	config := exitrule.Default()
	config.Basket = []string{"AAA", "BBB"}
	config.Stop.Days = 2 + r.IntN(6)
	config.Rules = []exitrule.Rule{
		{Name: "trend_sma10m", Months: 2 + r.IntN(9)},
		{Name: "tsmom_12", Months: 1 + r.IntN(12)},
		{Name: "return_deceleration", Months: 1 + r.IntN(3)},
		{Name: "chandelier_22_3", Days: 2 + r.IntN(6), Multiple: portfolio.NewDecimal(int64(1+r.IntN(6)), 0)},
		{Name: "regime_index_200d", Days: 2 + r.IntN(60), Band: &band},
		{Name: "regime_basket"},
	}
	for i := range config.Rules {
		config.Rules[i].Primary = r.IntN(4) == 0
	}
	config.Rules[r.IntN(len(config.Rules))].Primary = true
	return config
}

// TestNoLookAhead: what a rule says of a day is the same whether or not there are later prices, of
// the ticker and of the others. On the way, every number is one that JSON can hold.
func TestNoLookAhead(t *testing.T) {
	days := sessions()
	var pool [][]price.Bar // of other symbols, made once: the time is for the tickers
	for seed := range uint64(50) {
		pool = append(pool, walk(rand.New(rand.NewPCG(seed, 5)), days))
	}
	seen := map[exitrule.Assessment]int{}
	triggered := map[string]int{}
	for seed := range uint64(cases()) {
		r := rand.New(rand.NewPCG(seed, 6))
		config := everyRule(r)
		if err := config.Check(); err != nil {
			t.Fatal(err)
		}
		start := r.IntN(300)
		days := days[start : start+30+r.IntN(300)]
		asOf := days[r.IntN(len(days))].Add(r.IntN(3))
		other := func() []price.Bar {
			bars := before(pool[r.IntN(len(pool))], days[len(days)-1])
			return bars[max(len(bars)-len(days), 0):]
		}
		whole := exitrule.Market{Bars: walk(r, days), Others: map[string][]price.Bar{"SPY": other(), "AAA": other(), "BBB": other()}}
		prefix := exitrule.Market{Bars: before(whole.Bars, asOf), Others: map[string][]price.Bar{}}
		for symbol, bars := range whole.Others {
			prefix.Others[symbol] = before(bars, asOf)
		}
		then, now := exitrule.Evaluate(config, prefix, asOf), exitrule.Evaluate(config, whole, asOf)
		if !reflect.DeepEqual(then, now) {
			t.Fatalf("seed %d, on %s: with later prices\n%+v\nwithout\n%+v", seed, asOf, now, then)
		}
		seen[now.Assessment]++
		for _, s := range now.Signals {
			checkSignal(t, seed, s)
			if s.Triggered {
				triggered[s.RuleName]++
			}
		}
		if now.Stop.Sign() < 0 || now.Stop.Sign() > 0 && now.Stop.Cmp(now.Last.Close) >= 0 {
			t.Fatalf("seed %d: the stop is %s at a price of %s", seed, now.Stop, now.Last.Close)
		}
	}
	// The property says little about a rule or an assessment that never comes up.
	for _, a := range []exitrule.Assessment{exitrule.Error, exitrule.StrongExit, exitrule.Exit, exitrule.Monitor, exitrule.Hold} {
		if seen[a] < cases()/100 {
			t.Errorf("%s came up %d times", a, seen[a])
		}
	}
	if len(triggered) != 6 {
		t.Errorf("rules that triggered: %v", triggered)
	}
}

func before(bars []price.Bar, asOf portfolio.Date) []price.Bar {
	i, _ := slices.BinarySearchFunc(bars, asOf.Add(1), func(b price.Bar, d portfolio.Date) int { return b.Date.Compare(d) })
	return bars[:i:i]
}

func checkSignal(t *testing.T, seed uint64, s exitrule.Signal) {
	t.Helper()
	for _, f := range []float64{s.Severity, s.Value, s.Threshold, s.Gap} {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			t.Fatalf("seed %d: %+v", seed, s)
		}
	}
	switch {
	case s.Message == "",
		s.Severity < 0 || s.Severity > 1,
		s.Triggered != (s.Severity > 0),
		s.Status == exitrule.StatusError && s.Triggered,
		s.Status == exitrule.StatusOK && s.Triggered != (s.Gap > 1e-9):
		t.Fatalf("seed %d: %+v", seed, s)
	}
}

// TestSizing holds every plan against what must be true of all.
func TestSizing(t *testing.T) {
	stops, sales := 0, 0
	for seed := range uint64(cases()) {
		r := rand.New(rand.NewPCG(seed, 7))
		config, v := sizing(r)
		if err := config.Check(); err != nil {
			t.Fatal(err)
		}
		var parts []portfolio.Decimal
		for range 1 + r.IntN(3) {
			parts = append(parts, portfolio.NewDecimal(r.Int64N(1_000_000)*int64(r.IntN(2))+max(r.Int64N(40)-1, 0), -int32(r.IntN(8))))
		}
		if r.IntN(20) == 0 {
			parts[0] = parts[0].Neg()
		}
		plan := exitrule.Size(config, v, "ABC", parts...)
		checkOrders(t, seed, config, v, plan)
		checkPlan(t, seed, config, v, plan, parts)
		if len(plan.Orders) > 0 {
			sales++
			// A wider gap never sells less.
			v.Gap += r.Float64() * 0.1
			if wider := exitrule.Size(config, v, "ABC", parts...); wider.Sell.Cmp(plan.Sell) < 0 {
				t.Fatalf("seed %d: a gap of %v sells %s, a gap of %v sells %s", seed, plan.Gap, plan.Sell, wider.Gap, wider.Sell)
			}
		}
		if len(plan.Orders) > 1 {
			stops++
		}
	}
	if stops < cases()/10 || sales < cases()/10 {
		t.Errorf("%d sales and %d stops say little", sales, stops)
	}
}

// checkOrders: a sale, then perhaps a stop, each of more than nothing.
func checkOrders(t *testing.T, seed uint64, config exitrule.Config, v exitrule.Verdict, plan exitrule.Plan) {
	t.Helper()
	for i, o := range plan.Orders {
		switch {
		case i > 1,
			o.Ticker != "ABC",
			o.Quantity.Sign() <= 0,
			!config.Fractional && o.Quantity.Decimals() > 0,
			o.Quantity.Decimals() > 6,
			i == 0 && (o.Action != exitrule.ActionSell || o.OrderType != exitrule.OrderMarket || o.TimeInForce != exitrule.ForDay || o.StopPrice != nil),
			i == 0 && o.Quantity.Cmp(plan.Sell) != 0,
			i == 1 && (o.Action != exitrule.ActionStop || o.OrderType != exitrule.OrderStop || o.TimeInForce != exitrule.GoodTillCancelled || o.Condition == ""),
			i == 1 && (o.StopPrice.Cmp(v.Stop) != 0 || v.Stop.Sign() <= 0),
			i == 1 && (!o.ReviewDate.After(v.AsOf) || !price.Session(o.ReviewDate)):
			t.Fatalf("seed %d: order %d of %+v", seed, i, plan)
		}
	}
}

// checkPlan: a sale exactly if one is due, of what is there, and about the fraction of it.
func checkPlan(t *testing.T, seed uint64, config exitrule.Config, v exitrule.Verdict, plan exitrule.Plan, parts []portfolio.Decimal) {
	t.Helper()
	one := portfolio.NewDecimal(1, 0)
	var held, sellable, sold, ordered portfolio.Decimal
	short := false
	for i, part := range parts {
		held = held.Add(part)
		short = short || part.Sign() < 0
		whole := part.Floor(6)
		if !config.Fractional {
			whole = part.Floor(0)
		}
		sellable = sellable.Add(whole)
		sold = sold.Add(plan.Sales[i])
		if plan.Sales[i].Sign() < 0 || !short && plan.Sales[i].Cmp(whole) > 0 {
			t.Fatalf("seed %d: %s of %s is sold: %+v", seed, plan.Sales[i], part, plan)
		}
	}
	for _, o := range plan.Orders {
		ordered = ordered.Add(o.Quantity)
	}
	due := v.Exits() && !short && sellable.Sign() > 0
	wanted := held.Mul(plan.Fraction)
	switch {
	case due != (len(plan.Orders) > 0),
		sold.Cmp(plan.Sell) != 0,
		plan.Sell.Add(plan.Keep).Cmp(held) != 0,
		!due && (!plan.Sell.IsZero() || plan.Note == ""),
		due && ordered.Cmp(sellable) > 0,
		due && (plan.Fraction.Cmp(config.Sizing.Fraction) < 0 || plan.Fraction.Cmp(one) > 0),
		due && plan.Sell.Cmp(wanted) > 0 && plan.Sell.Cmp(one) > 0,
		due && wanted.Sub(plan.Sell).Cmp(one) >= 0 && plan.Sell.Cmp(sellable) != 0:
		t.Fatalf("seed %d: %s held, %s, %+v", seed, held, v.Assessment, plan)
	}
}

// sizing is a configuration and a verdict at random.
func sizing(r *rand.Rand) (exitrule.Config, exitrule.Verdict) {
	hundredths := func(from, to int64) portfolio.Decimal { return portfolio.NewDecimal(from+r.Int64N(to-from+1), -2) }
	config := exitrule.Default()
	config.Fractional = r.IntN(2) == 0
	config.Sizing.Method = []string{exitrule.Steps, exitrule.Linear, exitrule.VolatilityTarget}[r.IntN(3)]
	config.Sizing.Fraction = hundredths(1, 60)
	config.Sizing.WideFraction = hundredths(60, 100)
	config.Sizing.WideGap = hundredths(1, 20)
	config.Sizing.TargetVolatility = hundredths(1, 40)
	v := exitrule.Verdict{
		AsOf:       day("2024-01-01").Add(r.IntN(400)),
		Assessment: []exitrule.Assessment{exitrule.Exit, exitrule.StrongExit, exitrule.Exit, exitrule.Hold, exitrule.Monitor, exitrule.Error, ""}[r.IntN(7)],
		Gap:        r.Float64() * 0.2,
		Volatility: r.Float64() * float64(r.IntN(2)),
		Stop:       portfolio.NewDecimal(r.Int64N(10_000)*int64(r.IntN(4)), -2),
	}
	return config, v
}
