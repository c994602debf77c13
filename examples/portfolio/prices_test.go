package sample

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

var update = flag.Bool("update", false, "write prices.csv again")

// A knot is a price that a made-up security comes near to on a day.
type knot struct {
	day   string
	price float64
}

// A security is how its prices are made up. Its knots are in the shares of the last day.
type security struct {
	symbol string
	noise  float64 // of a day
	yield  float64 // dividends of a year, paid by the quarter
	split  string  // the first day of the new shares, 10 for one
	knots  []knot
}

const splitRatio = 10

func securities() []security {
	return []security{
		{"BND", 0.001, 0.036, "", []knot{
			{"2024-01-02", 73.5}, {"2024-04-25", 71.5}, {"2024-09-16", 75.3}, {"2025-01-10", 71.8}, {"2025-06-02", 73.2}, {"2025-10-15", 74.4}, {"2026-03-02", 74}, {"2026-11-13", 73.4},
		}},
		{"GLD", 0.004, 0, "", []knot{
			{"2024-01-02", 190}, {"2024-04-15", 220}, {"2024-10-25", 250}, {"2024-12-30", 241}, {"2025-04-21", 310}, {"2025-08-15", 307}, {"2025-10-17", 385}, {"2026-02-10", 400}, {"2026-06-15", 428}, {"2026-11-13", 424},
		}},
		{"INTC", 0.009, 0, "", []knot{
			{"2024-01-02", 47.5}, {"2024-04-15", 37}, {"2024-07-15", 33}, {"2024-08-12", 22}, {"2024-12-20", 21}, {"2025-06-16", 23}, {"2025-10-15", 25.5}, {"2026-03-16", 27}, {"2026-11-13", 24.2},
		}},
		{"KO", 0.003, 0.028, "", []knot{
			{"2024-01-02", 59}, {"2024-06-03", 63}, {"2024-09-03", 71}, {"2025-01-08", 62.5}, {"2025-05-01", 71}, {"2025-10-01", 69}, {"2026-02-10", 75.5}, {"2026-06-15", 73}, {"2026-11-13", 69},
		}},
		{"NVDA", 0.01, 0, "2024-06-10", []knot{
			{"2024-01-02", 48}, {"2024-02-13", 72}, {"2024-03-25", 92}, {"2024-05-01", 86}, {"2024-06-10", 121}, {"2024-08-07", 103}, {"2024-11-07", 142}, {"2025-04-08", 101}, {"2025-08-12", 178}, {"2025-12-01", 188}, {"2026-03-16", 184}, {"2026-08-17", 209}, {"2026-11-13", 205},
		}},
		{"SLV", 0.006, 0, "", []knot{
			{"2024-01-02", 22}, {"2024-02-28", 21.2}, {"2024-05-20", 29}, {"2024-08-07", 25}, {"2024-10-22", 31.5}, {"2024-12-30", 27}, {"2025-02-11", 29}, {"2025-06-16", 33}, {"2025-10-14", 37}, {"2025-12-31", 39}, {"2026-03-10", 42}, {"2026-05-19", 46.5}, {"2026-07-15", 44}, {"2026-09-01", 41}, {"2026-10-15", 37.2}, {"2026-11-13", 34},
		}},
		{"SPY", 0.003, 0.012, "", []knot{
			{"2024-01-02", 470}, {"2024-07-15", 560}, {"2024-08-05", 522}, {"2024-12-05", 605}, {"2025-02-19", 612}, {"2025-04-08", 502}, {"2025-06-27", 615}, {"2025-10-28", 683}, {"2026-02-10", 690}, {"2026-03-30", 662}, {"2026-07-15", 720}, {"2026-11-13", 742},
		}},
		{"VTI", 0.003, 0.013, "", []knot{
			{"2024-01-02", 235}, {"2024-07-15", 278}, {"2024-08-05", 258}, {"2024-12-05", 300}, {"2025-02-19", 302}, {"2025-04-08", 246}, {"2025-06-27", 303}, {"2025-10-28", 337}, {"2026-02-10", 340}, {"2026-03-30", 326}, {"2026-07-15", 355}, {"2026-11-13", 366},
		}},
	}
}

func date(t *testing.T, s string) portfolio.Date {
	t.Helper()
	d, err := portfolio.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// trend is the way between the knots, in logarithms.
func trend(t *testing.T, knots []knot, d portfolio.Date) float64 {
	for i := 1; i < len(knots); i++ {
		from, to := date(t, knots[i-1].day), date(t, knots[i].day)
		if !d.After(to) {
			part := float64(d.Sub(from)) / float64(to.Sub(from))
			return math.Log(knots[i-1].price) + part*math.Log(knots[i].price/knots[i-1].price)
		}
	}
	t.Fatalf("%s is after the last knot", d)
	return 0
}

// generate makes up the prices: the same ones each time.
func generate(t *testing.T) string {
	var b strings.Builder
	b.WriteString("date,symbol,open,high,low,close,adj_close\n")
	last := date(t, "2026-11-13")
	for i, s := range securities() {
		random := rand.New(rand.NewPCG(2024, uint64(i)))
		wave, before := 0.0, s.knots[0].price
		for d := date(t, "2024-01-02"); !d.After(last); d = price.NextSession(d) {
			wave = 0.88*wave + s.noise*random.NormFloat64()
			closes := math.Exp(trend(t, s.knots, d) + wave)
			open := before * (1 + s.noise*0.4*random.NormFloat64())
			high := max(open, closes) * (1 + s.noise*random.Float64())
			low := min(open, closes) * (1 - s.noise*random.Float64())
			quartersLeft := (last.Month() - d.Month()) / 3
			adjusted := closes * math.Pow(1-s.yield/4, float64(quartersLeft))
			shares := 1.0
			if s.split != "" && d.Before(date(t, s.split)) {
				shares = splitRatio
			}
			fmt.Fprintf(&b, "%s,%s,%.2f,%.2f,%.2f,%.2f,%.4f\n", d, s.symbol, open*shares, high*shares, low*shares, closes*shares, adjusted)
			before = closes
		}
	}
	return b.String()
}

// The prices are those that are made up here; -update writes them.
func TestPrices(t *testing.T) {
	want := generate(t)
	if *update {
		if err := os.WriteFile("prices.csv", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("prices.csv")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Error(diff)
	}
	const most = 600_000
	if len(got) > most {
		t.Errorf("prices.csv has %d bytes, more than %d", len(got), most)
	}
}
