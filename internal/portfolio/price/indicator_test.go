package price_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/markcheno/go-talib"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// walk is a random walk of highs, lows and closes.
func walk(seed uint64, n int) (high, low, closes []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	last := 20 + 200*r.Float64()
	for range n {
		open := last * (1 + 0.005*r.NormFloat64()) // a gap over night
		last = open * (1 + 0.015*r.NormFloat64())
		high = append(high, max(open, last)*(1+0.005*r.Float64()))
		low = append(low, min(open, last)*(1-0.005*r.Float64()))
		closes = append(closes, last)
	}
	return high, low, closes
}

// The same bars in go-talib. It has 0 where we have NaN, because there is too little before: up
// to n-1 for windows, up to n for ATR and ROC. Windows of one value are left out because its Max
// has none, and small ones of StdDev because it takes the difference of two sums of squares,
// which leaves fewer than nine digits.
func TestIndicatorsAsInTalib(t *testing.T) {
	for seed := range uint64(5) {
		high, low, closes := walk(seed, 1500)
		for _, n := range []int{10, 14, 22, 200} {
			t.Run(fmt.Sprint("StdDev", n, "/", seed), func(t *testing.T) {
				same(t, price.StdDev(closes, n), talib.StdDev(closes, n, 1), n-1)
			})
		}
		for _, n := range []int{2, 3, 10, 14, 22, 200} {
			for _, test := range []struct {
				name      string
				got, want []float64
				first     int
			}{
				{"SMA", price.SMA(closes, n), talib.Sma(closes, n), n - 1},
				{"Highest", price.Highest(high, n), talib.Max(high, n), n - 1},
				{"ROC", price.ROC(closes, n), talib.Rocp(closes, n), n},
				{"ATR", price.ATR(high, low, closes, n), talib.Atr(high, low, closes, n), n},
			} {
				t.Run(fmt.Sprint(test.name, n, "/", seed), func(t *testing.T) { same(t, test.got, test.want, test.first) })
			}
		}
	}
}

func same(t *testing.T, got, want []float64, first int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, want %d", len(got), len(want))
	}
	for i := range got {
		switch {
		case i < first:
			if !math.IsNaN(got[i]) || want[i] != 0 {
				t.Fatalf("at %d: %v and %v, want NaN and 0: it is too early for a value", i, got[i], want[i])
			}
		// What is left of two nearly equal numbers has fewer digits: a change of 1e-4 is known
		// to 1e-12 of itself at best.
		case !(math.Abs(got[i]-want[i]) <= 1e-9*max(math.Abs(want[i]), 1e-4)):
			t.Fatalf("at %d: %v, want %v", i, got[i], want[i])
		}
	}
}

func TestIndicatorsByHand(t *testing.T) {
	values := []float64{1, 2, 4, 8, 2}
	none := math.NaN()
	for _, test := range []struct {
		name      string
		got, want []float64
	}{
		{"SMA", price.SMA(values, 2), []float64{none, 1.5, 3, 6, 5}},
		{"SMA of one", price.SMA(values, 1), values},
		{"SMA of too many", price.SMA(values, 6), []float64{none, none, none, none, none}},
		{"SMA of none", price.SMA(values, 0), []float64{none, none, none, none, none}},
		{"SMA of nothing", price.SMA(nil, 3), []float64{}},
		{"StdDev", price.StdDev(values, 2), []float64{none, 0.5, 1, 2, 3}},
		{"StdDev of one", price.StdDev(values, 1), []float64{0, 0, 0, 0, 0}},
		{"Highest", price.Highest(values, 3), []float64{none, none, 4, 8, 8}},
		{"Highest below zero", price.Highest([]float64{-3, -2, -5}, 2), []float64{none, -2, -2}},
		{"ROC", price.ROC(values, 2), []float64{none, none, 3, 3, -0.5}},
		{"ROC from zero", price.ROC([]float64{0, 1, 2}, 1), []float64{none, none, 1}},
		{"ROC of none", price.ROC(values, 0), []float64{none, none, none, none, none}},
		{"ROC of more than there is", price.ROC(values, math.MaxInt), []float64{none, none, none, none, none}},
		// True ranges 3 (gap up from 10 to 13), 2, 6 (gap down from 12 to 6).
		{"ATR", price.ATR([]float64{11, 13, 13, 7}, []float64{9, 12, 11, 6}, []float64{10, 13, 12, 6.5}, 2), []float64{none, none, 2.5, 4.25}},
		{"ATR of one", price.ATR([]float64{11, 13}, []float64{9, 12}, []float64{10, 13}, 1), []float64{none, 3}},
		{"ATR of none", price.ATR([]float64{11, 13}, []float64{9, 12}, []float64{10, 13}, 0), []float64{none, none}},
		{"ATR of unequal lengths", price.ATR([]float64{11, 13, 13}, []float64{9, 12}, []float64{10, 13}, 1), []float64{none, 3}},
	} {
		if diff := cmp.Diff(test.want, test.got, cmp.Comparer(equalFloats)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func equalFloats(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b)
}

// What comes later changes nothing before it, to the bit.
func TestIndicatorsDoNotLookAhead(t *testing.T) {
	high, low, closes := walk(7, 400)
	for name, indicator := range map[string]func(n int) []float64{
		"SMA":     func(n int) []float64 { return price.SMA(closes[:n], 22) },
		"StdDev":  func(n int) []float64 { return price.StdDev(closes[:n], 22) },
		"Highest": func(n int) []float64 { return price.Highest(high[:n], 22) },
		"ROC":     func(n int) []float64 { return price.ROC(closes[:n], 22) },
		"ATR":     func(n int) []float64 { return price.ATR(high[:n], low[:n], closes[:n], 22) },
	} {
		whole := indicator(len(closes))
		for n := range closes {
			if !slices.EqualFunc(indicator(n), whole[:n], equalFloats) {
				t.Errorf("%s of the first %d differs from that of all", name, n)
				break
			}
		}
	}
}

// sessionBars is a bar for each session from one day to another.
func sessionBars(from, to portfolio.Date) []price.Bar {
	var bars []price.Bar
	for d := price.NextSession(from.Add(-1)); !d.After(to); d = price.NextSession(d) {
		p := portfolio.NewDecimal(int64(len(bars)+1), 0)
		bars = append(bars, price.Bar{Date: d, Open: p, High: p, Low: p, Close: p, Adj: p})
	}
	return bars
}

func days(bars []price.Bar) []string {
	var s []string
	for _, b := range bars {
		s = append(s, b.Date.String())
	}
	return s
}

func TestMonthEnds(t *testing.T) {
	day := func(s string) portfolio.Date {
		d, err := portfolio.ParseDate(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, test := range []struct {
		name           string
		from, to, asOf string
		want           []string
	}{
		{"in the middle of a month", "2024-01-10", "2024-04-15", "2024-04-15", []string{"2024-01-31", "2024-02-29", "2024-03-28"}},
		{"on the last session, before Good Friday and a weekend", "2024-02-01", "2024-03-28", "2024-03-28", []string{"2024-02-29", "2024-03-28"}},
		{"on the last day, after the last session", "2024-02-01", "2024-03-28", "2024-03-31", []string{"2024-02-29", "2024-03-28"}},
		{"on the session before the last", "2024-02-01", "2024-03-28", "2024-03-27", []string{"2024-02-29"}},
		{"on the last session, its bar not there yet", "2024-02-01", "2024-03-27", "2024-03-28", []string{"2024-02-29"}},
		{"in the next month, the last bar never came", "2024-02-01", "2024-03-27", "2024-04-01", []string{"2024-02-29", "2024-03-27"}},
		{"bars after the day", "2024-02-01", "2024-06-30", "2024-03-01", []string{"2024-02-29"}},
		{"bars after the day only", "2024-02-01", "2024-06-30", "2024-01-31", nil},
		{"over a year's end", "2023-12-29", "2024-01-31", "2024-01-31", []string{"2023-12-29", "2024-01-31"}},
		{"no bars", "2024-02-02", "2024-02-01", "2024-02-01", nil},
	} {
		got := days(price.MonthEnds(sessionBars(day(test.from), day(test.to)), day(test.asOf)))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// Whatever comes later, the months that were complete on a day stay as they were.
func TestMonthEndsDoNotLookAhead(t *testing.T) {
	bars := sessionBars(portfolio.NewDate(2023, 11, 1), portfolio.NewDate(2024, 9, 10))
	last := portfolio.NewDate(2024, 9, 12)
	before := []string(nil)
	for asOf := bars[0].Date; !asOf.After(last); asOf = asOf.Add(1) {
		known := bars[:countUpTo(bars, asOf)]
		got := days(price.MonthEnds(known, asOf))
		if diff := cmp.Diff(got, days(price.MonthEnds(bars, asOf))); diff != "" {
			t.Fatalf("on %s later bars are seen: %s", asOf, diff)
		}
		if len(got) < len(before) || !slices.Equal(got[:len(before)], before) {
			t.Fatalf("on %s the months are %v, the day before they were %v", asOf, got, before)
		}
		before = got
	}
}

func countUpTo(bars []price.Bar, day portfolio.Date) int {
	n, _ := slices.BinarySearchFunc(bars, day.Add(1), func(b price.Bar, d portfolio.Date) int { return b.Date.Compare(d) })
	return n
}
