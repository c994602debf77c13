package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A priceChart is a price with its mean and the days on which the rule turned.
type priceChart struct {
	ID, Title, Desc string
	Height          float64
	Width           int    // of the box that the lines are drawn in, and that is stretched
	Line, Mean      string // paths
	Y, X            []tick
	Turns           []turn
	Log             bool
	Last, LastMean  tick // the label is empty where there is no mean
}

type turn struct {
	X, Y, Title string
	Exit        bool
}

const (
	priceHeight = 150.0
	priceWidth  = 1000
	// priceColumns is how many places across a line is drawn with. Each has its lowest and its
	// highest price, so no peak is lost, and a page of many tickers stays small.
	priceColumns = 110
	// labelApart is the least distance between two labels.
	labelApart = 14.0
)

// newPriceChart is nil if there are fewer than two prices to draw.
func newPriceChart(id string, e exitView) *priceChart {
	prices := drawable(e.Prices, func(Point) bool { return true })
	if len(prices) < 2 {
		return nil
	}
	days := span{prices[0].Date, prices[len(prices)-1].Date}
	mean := drawable(e.Mean, func(p Point) bool { return days.has(p.Date) })
	low, high := math.Inf(1), 0.0
	for _, list := range [][]Point{prices, mean} {
		for _, p := range list {
			low, high = min(low, p.Value), max(high, p.Value)
		}
	}
	y := newAxis(low, high, priceHeight)
	c := &priceChart{
		ID: id, Title: "Price of " + e.Ticker, Height: priceHeight, Width: priceWidth,
		Line: path(thin(prices, days), days, y), Mean: path(mean, days, y),
		Y: y.ticks(), X: days.ticks(), Log: y.log,
	}
	last := prices[len(prices)-1]
	c.Last = tick{Label: quote(last.Value)}
	at := y.at(last.Value)
	if len(mean) > 0 {
		lastMean := mean[len(mean)-1]
		c.LastMean.Label = quote(lastMean.Value)
		atMean := y.at(lastMean.Value)
		at, atMean = apart(at, atMean)
		c.LastMean.At = pixels(atMean)
	}
	c.Last.At = pixels(at)
	c.turns(e.Marks, prices, days, y)
	c.describe(e, days, low, high)
	return c
}

// Prices outside of these are mistakes of a file.
const (
	leastPrice = 1e-12
	mostPrice  = 1e18
)

// drawable leaves out what has no place on an axis.
func drawable(points []Point, also func(Point) bool) []Point {
	var list []Point
	for _, p := range points {
		if p.Value >= leastPrice && p.Value <= mostPrice && also(p) {
			list = append(list, p)
		}
	}
	return list
}

// thin keeps the first and the last point, and the lowest and the highest of each column.
func thin(points []Point, days span) []Point {
	if len(points) <= 2*priceColumns {
		return points
	}
	column := func(p Point) int { return int(days.at(p.Date) * priceColumns) }
	kept := []Point{points[0]}
	for i := 1; i < len(points)-1; {
		lowest, highest, next := i, i, i
		for ; next < len(points)-1 && column(points[next]) == column(points[i]); next++ {
			if points[next].Value < points[lowest].Value {
				lowest = next
			}
			if points[next].Value > points[highest].Value {
				highest = next
			}
		}
		kept = append(kept, points[min(lowest, highest)])
		if lowest != highest {
			kept = append(kept, points[max(lowest, highest)])
		}
		i = next
	}
	return append(kept, points[len(points)-1])
}

func path(points []Point, days span, y axis) string {
	var b strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&b, "%s%.0f %.1f", command, days.at(p.Date)*priceWidth, y.at(p.Value))
	}
	return b.String()
}

// apart moves two labels from each other until both can be read, inside the chart.
func apart(a, b float64) (float64, float64) {
	if math.Abs(a-b) >= labelApart {
		return a, b
	}
	middle := min(max((a+b)/2, labelApart/2), priceHeight-labelApart/2)
	if a <= b {
		return middle - labelApart/2, middle + labelApart/2
	}
	return middle + labelApart/2, middle - labelApart/2
}

// turns puts marks on the price of their day, or of the last day before it.
func (c *priceChart) turns(marks []Mark, prices []Point, days span, y axis) {
	for _, m := range marks {
		if !days.has(m.Date) {
			continue
		}
		price := prices[0]
		for _, p := range prices {
			if p.Date.After(m.Date) {
				break
			}
			price = p
		}
		c.Turns = append(c.Turns, turn{percent(days.at(m.Date)), pixels(y.at(price.Value)), turned(m), m.Exit})
	}
}

func turned(m Mark) string {
	if m.Exit {
		return "Turned to exit on " + m.Date.String()
	}
	return "Turned back on " + m.Date.String()
}

// mostTurns is how many turns a description names: those before are in the drawing.
const mostTurns = 6

func (c *priceChart) describe(e exitView, days span, low, high float64) {
	var b strings.Builder
	fmt.Fprintf(&b, "Adjusted close from %s to %s, between %s and %s; last %s", days.first, days.last, quote(low), quote(high), c.Last.Label)
	if c.LastMean.Label != "" {
		fmt.Fprintf(&b, ", 10-month mean %s", c.LastMean.Label)
	}
	b.WriteString(".")
	if c.Log {
		b.WriteString(" The scale is logarithmic.")
	}
	var shown []Mark
	for _, m := range e.Marks {
		if days.has(m.Date) {
			shown = append(shown, m)
		}
	}
	for _, m := range shown[max(len(shown)-mostTurns, 0):] {
		b.WriteString(" " + turned(m) + ".")
	}
	c.Desc = b.String()
}

// lastPrice is the last price of a series, for reports without charts.
func lastPrice(points []Point) (Point, bool) {
	points = drawable(points, func(Point) bool { return true })
	if len(points) == 0 {
		return Point{}, false
	}
	return points[len(points)-1], true
}

// lastTurn is the last turn on or before a day.
func lastTurn(marks []Mark, day portfolio.Date) (Mark, bool) {
	var last Mark
	for _, m := range marks {
		if !m.Date.After(day) {
			last = m
		}
	}
	return last, !last.Date.IsZero()
}
