package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// Charts have no size of their own: across they are measured in percent of the room they get,
// down in pixels. So lines stretch with the page and letters never do.

// percent writes a share of a chart's width.
func percent(share float64) string {
	return strconv.FormatFloat(share*100, 'f', 2, 64) + "%"
}

func pixels(y float64) string { return strconv.FormatFloat(y, 'f', 1, 64) }

// A tick is a labelled place on an axis.
type tick struct{ At, Label string }

// logFrom is how many times its lowest a price has to reach before equal heights mean equal
// percentages: below that a straight scale shows the same and reads easier.
const logFrom = 3.0

// An axis maps values to pixels from the top.
type axis struct {
	low, high float64 // what is at the bottom and at the top, as logarithms if Log
	height    float64
	log       bool
}

// newAxis has room for values from low to high, both above zero.
func newAxis(low, high, height float64) axis {
	a := axis{low, high, height, high/low >= logFrom}
	if a.log {
		a.low, a.high = math.Log(low), math.Log(high)
	}
	room := (a.high - a.low) * 0.04
	if !a.log {
		room = max(room, low*0.001) // a price that stands still has a height, too
	}
	a.low, a.high = a.low-room, a.high+room
	return a
}

func (a axis) at(value float64) float64 {
	if a.log {
		value = math.Log(value)
	}
	return a.height * (a.high - value) / (a.high - a.low)
}

func (a axis) ticks() []tick {
	var ticks []tick
	for _, v := range a.values() {
		if y := a.at(v); y >= 0 && y <= a.height {
			ticks = append(ticks, tick{pixels(y), axisLabel(v)})
		}
	}
	return ticks
}

// axisLabel is a round number without the zeros that a price would have.
func axisLabel(v float64) string {
	if v >= 1e6 || v < 1e-4 {
		return compact(v)
	}
	return group(strconv.FormatFloat(v, 'g', 6, 64))
}

const mostTicks = 6

// values are round numbers on the axis, at most mostTicks of them.
func (a axis) values() []float64 {
	if !a.log {
		return roundSteps(a.low, a.high)
	}
	first, last := int(math.Floor(a.low/math.Ln10)), int(math.Ceil(a.high/math.Ln10))
	for _, heads := range [][]float64{{1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}, {1}} {
		var list []float64
		for e := first; e <= last; e++ {
			for _, head := range heads {
				if v := head * math.Pow10(e); math.Log(v) >= a.low && math.Log(v) <= a.high {
					list = append(list, v)
				}
			}
		}
		if len(list) <= mostTicks {
			return list
		}
	}
	var list []float64
	every := (last-first)/mostTicks + 1
	for e := first; e <= last; e += every {
		list = append(list, math.Pow10(e))
	}
	return list
}

// roundSteps are multiples of 1, 2, 2.5 or 5 times a power of ten.
func roundSteps(low, high float64) []float64 {
	power := math.Floor(math.Log10((high - low) / mostTicks))
	for _, head := range []float64{1, 2, 2.5, 5, 10, 20} {
		step := head * math.Pow(10, power)
		from, to := math.Ceil(low/step), math.Floor(high/step)
		if to-from >= mostTicks {
			continue
		}
		var list []float64
		for n := from; n <= to; n++ {
			list = append(list, n*step)
		}
		return list
	}
	return nil
}

// A span is the days that a chart shows.
type span struct{ first, last portfolio.Date }

func (s span) at(d portfolio.Date) float64 {
	return float64(d.Sub(s.first)) / float64(max(s.last.Sub(s.first), 1))
}

func (s span) has(d portfolio.Date) bool { return !d.Before(s.first) && !d.After(s.last) }

// ticks are the first days of years, quarters or months, as many as are easily read.
func (s span) ticks() []tick {
	months := s.last.Month() - s.first.Month()
	every := 1
	for _, n := range []int{1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000} {
		every = n
		if months/n < mostTicks {
			break
		}
	}
	var ticks []tick
	for m := (s.first.Month()/every + 1) * every; ; m += every {
		day := portfolio.NewDate(m/12, time.Month(m%12+1), 1)
		if !s.has(day) {
			return ticks
		}
		label := day.Time().Format("Jan")
		if m%12 == 0 {
			label = fmt.Sprint(m / 12)
		}
		ticks = append(ticks, tick{percent(s.at(day)), label})
	}
}
