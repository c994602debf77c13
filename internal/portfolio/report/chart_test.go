package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// walk is prices on consecutive days that end today.
func walk(values ...float64) []Point {
	var points []Point
	for i, v := range values {
		points = append(points, Point{today.Add(i - len(values) + 1), v})
	}
	return points
}

func chart(e Exit) *priceChart { return newPriceChart("c", e.view("a")) }

// However few points are drawn, the first, the last, the lowest and the highest are among them.
func TestThin(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		points, _, _ := series(random, 1+random.IntN(12), 100, 0, 0.02)
		drawn := thin(points, span{points[0].Date, today})
		if len(drawn) > 2*priceColumns+4 {
			t.Fatalf("%d points are drawn", len(drawn))
		}
		limits := func(list []Point) (low, high float64) {
			low = math.Inf(1)
			for _, p := range list {
				low, high = min(low, p.Value), max(high, p.Value)
			}
			return low, high
		}
		low, high := limits(points)
		if l, h := limits(drawn); l != low || h != high || drawn[0] != points[0] || drawn[len(drawn)-1] != points[len(points)-1] {
			t.Fatalf("between %v and %v became between %v and %v", low, high, l, h)
		}
		for i := 1; i < len(drawn); i++ {
			if !drawn[i-1].Date.Before(drawn[i].Date) {
				t.Fatalf("%v is drawn after %v", drawn[i], drawn[i-1])
			}
		}
	}
}

func TestPriceChart(t *testing.T) {
	e := Exit{Ticker: "VTI", Prices: walk(100, 104, 108, 102, 98), Mean: walk(99, 100, 101), Marks: []Mark{{today.Add(-2), true}, {today.Add(-400), false}}}
	c := chart(e)
	if c.Last.Label != "98.00" || c.LastMean.Label != "101.00" || c.Log {
		t.Errorf("last %q, mean %q, log %v", c.Last.Label, c.LastMean.Label, c.Log)
	}
	if !strings.HasPrefix(c.Line, "M0 ") || !strings.Contains(c.Line, "L1000 ") {
		t.Errorf("the line is not from side to side: %s", c.Line)
	}
	want := []turn{{"50.00%", pixels(newAxis(98, 108, priceHeight).at(108)), "Turned to exit on 2025-03-12", true}}
	if diff := cmp.Diff(want, c.Turns); diff != "" {
		t.Error(diff)
	}
	if want := "Adjusted close from 2025-03-10 to 2025-03-14, between 98.00 and 108.00; last 98.00, 10-month mean 101.00. Turned to exit on 2025-03-12."; c.Desc != want {
		t.Errorf("described as %q, want %q", c.Desc, want)
	}
}

// A price that grew many times over is drawn on a logarithmic scale, and the page says so.
func TestPriceChartLog(t *testing.T) {
	for ratio, log := range map[float64]bool{2.9: false, 3: true, 50: true, 1e9: true} {
		c := chart(Exit{Prices: walk(10, 10*ratio)})
		if c.Log != log || strings.Contains(c.Desc, "logarithmic") != log {
			t.Errorf("%v times: log is %v", ratio, c.Log)
		}
	}
}

// Whatever a file says, a chart has finite places, and few ticks that lie in it.
func TestPriceChartAnyValues(t *testing.T) {
	notFinite := regexp.MustCompile(`NaN|Inf`)
	random := rand.New(rand.NewPCG(11, 12))
	odd := []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, 1e308, 1e-12, 1e18, math.Nextafter(42, 43), 42}
	for range 5000 {
		var values []float64
		for range 2 + random.IntN(6) {
			v := math.Exp(random.Float64()*80 - 40)
			if random.IntN(2) == 0 {
				v = odd[random.IntN(len(odd))]
			}
			values = append(values, v)
		}
		c := chart(Exit{Prices: walk(values...), Mean: walk(values[1:]...)})
		if c == nil {
			continue
		}
		if said := fmt.Sprintf("%+v", *c); notFinite.MatchString(said) {
			t.Fatalf("%v: %s", values, said)
		}
		if len(c.Y) > mostTicks {
			t.Fatalf("%v: %d ticks", values, len(c.Y))
		}
		for _, tick := range append(c.Y, c.Last) {
			if y, err := strconv.ParseFloat(tick.At, 64); err != nil || y < 0 || y > priceHeight {
				t.Fatalf("%v: a label at %s", values, tick.At)
			}
		}
	}
}

func TestAxisTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{98, 108, "98 100 102 104 106 108"},
		{0.11, 0.29, "0.15 0.2 0.25"},
		{175, 285, "180 200 220 240 260 280"},
		{150, 640, "150 200 300 500"},
		{1, 1000, "1 10 100 1,000"},
		{12_000, 13_000, "12,000 12,200 12,400 12,600 12,800 13,000"},
		{1e-3, 1e12, ""},
	} {
		var labels []string
		for _, tick := range newAxis(c.low, c.high, 100).ticks() {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); c.want != "" && got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
		if len(labels) < 2 || len(labels) > mostTicks {
			t.Errorf("%v to %v: %q", c.low, c.high, labels)
		}
	}
}

func TestSpanTicks(t *testing.T) {
	for _, c := range []struct {
		days int
		want string
	}{
		{10, ""}, {60, "Feb Mar"}, {365, "Apr Jul Oct 2025"}, {3 * 365, "2023 2024 2025"}, {20 * 365, "2010 2015 2020 2025"},
	} {
		var labels []string
		for _, tick := range (span{today.Add(-c.days), today}).ticks() {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%d days: %s, want %s", c.days, got, c.want)
		}
	}
}

// Bars are cut by term, and the washed part of each is told apart.
func TestLossChart(t *testing.T) {
	h := Harvest{Candidates: []Candidate{
		{Symbol: "B", Loss: cents(10000)},
		{Symbol: "A", Loss: cents(20000), Long: true},
		{Symbol: "A", Loss: cents(20000), WashedWithAll: cents(5000)},
	}}
	c := newLossChart(h.losses())
	var got []string
	for _, b := range c.Bars {
		got = append(got, b.Label+" "+b.Amount)
		for _, p := range b.Parts {
			got = append(got, fmt.Sprintf("%s+%s %s %v", p.X, p.Width, p.Class, p.Washed))
		}
	}
	want := []string{
		"A $400.00, $50.00 washed", "0.00%+37.50% short false", "37.50%+12.50% short true", "50.00%+50.00% long false",
		"B $100.00", "0.00%+25.00% short false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if newLossChart(nil) != nil || newLossChart([]loss{{Symbol: "A"}}) != nil {
		t.Error("there is a chart of no loss")
	}
	if c := newLossChart(hostile().Harvest.losses()); len(c.Bars) != mostBars || !strings.HasPrefix(c.More, "45 smaller symbols with $") {
		t.Errorf("%d bars, %q", len(c.Bars), c.More)
	}
}

// A window is 30 days on either side of its sale, and buying is free on the 31st.
func TestCalendarChart(t *testing.T) {
	bought := []Purchase{{"ira", today.Add(-5), shares(3)}} // in both windows of its symbol, and drawn once
	windows := []Window{
		{Symbol: "A", Sale: today, Planned: true},
		{Symbol: "B", Sale: today.Add(-10), Purchases: bought, Reinvestments: []portfolio.Date{today.Add(4)}},
		{Symbol: "B", Sale: today.Add(-20), Purchases: bought},
		{Symbol: "OLD", Sale: today.Add(-200)},
	}
	c := newCalendarChart(today, windows)
	at := func(days int) string { return percent(float64(days+calendarDays) / (2 * calendarDays)) }
	if c.Today.At != "50.00%" || len(c.Rows) != 2 {
		t.Fatalf("today is at %s, and there are %d rows", c.Today.At, len(c.Rows))
	}
	width := percent(61.0 / (2 * calendarDays))
	a, b := c.Rows[0], c.Rows[1]
	if diff := cmp.Diff([]windowBar{{at(-30), width, true, "2025-02-12 to 2025-04-13"}}, a.Bars); diff != "" || a.Remark != "if sold, buy again from 2025-04-14" {
		t.Errorf("%s\n%s", a.Remark, diff)
	}
	if diff := cmp.Diff([]windowBar{{at(-40), width, false, "2025-02-02 to 2025-04-03"}, {at(-50), width, false, "2025-01-23 to 2025-03-24"}}, b.Bars); diff != "" || b.Remark != "buy again from 2025-04-04" {
		t.Errorf("%s\n%s", b.Remark, diff)
	}
	want := []calendarMark{
		{at(-5), "bought", "Bought 3 on 2025-03-09 in ira"}, {at(4), "reinvest", "A dividend is expected to buy on 2025-03-18"},
		{at(-10), "sold", "Sold on 2025-03-04"}, {at(-20), "sold", "Sold on 2025-02-22"}, {at(21), "again", "Buy again from 2025-04-04"},
	}
	if diff := cmp.Diff(want, b.Marks); diff != "" {
		t.Error(diff)
	}
	if newCalendarChart(today, windows[3:]) != nil {
		t.Error("there is a chart of a window long ago")
	}
	if c := newCalendarChart(today, hostile().Calendar); len(c.Rows) != mostRows || c.More != "30 more symbols are in the table only." {
		t.Errorf("%d rows, %q", len(c.Rows), c.More)
	}
}

// Text and its ground differ enough to be read, and so do lines and areas, by day and by night.
func TestContrast(t *testing.T) {
	dark := strings.Index(pageStyle, "prefers-color-scheme: dark")
	print := strings.Index(pageStyle, "@media print")
	for name, css := range map[string]string{"light": pageStyle[:dark], "dark": pageStyle[dark:print], "print": pageStyle[print:]} {
		luminance := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
			rgb, err := strconv.ParseUint(m[2], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			linear := func(shift uint) float64 {
				c := float64(rgb>>shift&255) / 255
				if c <= 0.04045 {
					return c / 12.92
				}
				return math.Pow((c+0.055)/1.055, 2.4)
			}
			luminance[m[1]] = 0.2126*linear(16) + 0.7152*linear(8) + 0.0722*linear(0)
		}
		for _, c := range []struct {
			colours, grounds string
			least            float64
		}{
			{"ink soft blue amber red green", "paper panel", 4.5},
			{"blue", "blue-tint", 4.5}, {"amber", "amber-tint", 4.5}, {"red", "red-tint", 4.5}, {"green", "green-tint", 4.5},
			{"short long", "paper", 3}, {"short", "long", 1.5},
		} {
			for _, colour := range strings.Fields(c.colours) {
				for _, ground := range strings.Fields(c.grounds) {
					a, okA := luminance[colour]
					b, okB := luminance[ground]
					ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05)
					if !okA || !okB || ratio < c.least {
						t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", name, colour, ground, ratio, c.least)
					}
				}
			}
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{dollars(cents(-123450)), "-$1,234.50"},
		{gain(cents(123450)), "+$1,234.50"},
		{gain(cents(0)), "$0.00"},
		{inChart(cents(99_999_999_999)), "$999,999,999.99"},
		{inChart(cents(123_456_789_012)), "$1.2 bn"},
		{quote(0.01234), "0.0123"},
		{quote(12.345), "12.35"},
		{quote(12345.6), "12,346"},
		{quote(1e7), "10.0 m"},
		{short("ABCDEFGHIJK", 10), "ABCDEFGHI…"},
		{names([]string{"A", "B", "C"}, 2), "A, B and 1 more"},
		{english.Count(1, "lot"), "1 lot"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
