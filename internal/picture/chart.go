package picture

import (
	"fmt"
	"time"
)

// Timeline is what happened when, a row for each task, from the left to the right.
type Timeline struct {
	Height int
	Ticks  []Tick
	Rows   []Row
	Left   int // rows that are not drawn, since there are too many
}

// Tick is a time on the axis. X is in percent of the width.
type Tick struct{ X, Label string }

// Row is what happened on one task.
type Row struct {
	Label        string
	LabelY, BarY int
	Bars         []Bar
	Marks        []Mark
}

// Bar is a stretch of time, or an amount. X and Width are in percent of the width.
type Bar struct{ X, Width, Look, Title string }

// Mark is a moment.
type Mark struct{ X, Look, Title string }

// Stretch is something that happened on a task.
type Stretch struct {
	Row      string // the row's label
	From, To time.Time
	Moment   bool
	Look     string // a class
	Title    string
}

const (
	maxRows    = 40
	maxInRow   = 200
	rowHeight  = 38
	axisHeight = 22
	leastWidth = 0.4 // percent: what was there can be seen
)

// Lay places what happened between two times. Rows are in the order of the first that happened on them; of too many rows the last
// ones are drawn, and of one row what happened last.
func Lay(stretches []Stretch, from, to time.Time) Timeline {
	rows, order := map[string][]Stretch{}, []string{}
	for _, s := range stretches {
		if rows[s.Row] == nil {
			order = append(order, s.Row)
		}
		rows[s.Row] = append(rows[s.Row], s)
	}
	t := Timeline{Left: max(0, len(order)-maxRows)}
	whole := max(to.Sub(from), time.Second)
	at := func(x time.Time) float64 { return min(100, max(0, 100*float64(x.Sub(from))/float64(whole))) }
	for i, label := range order[t.Left:] {
		top := axisHeight + i*rowHeight
		row := Row{Label: label, LabelY: top + 14, BarY: top + 19}
		all := rows[label]
		for _, s := range all[max(0, len(all)-maxInRow):] {
			if s.Moment {
				row.Marks = append(row.Marks, Mark{percent(at(s.From)), s.Look, s.Title})
				continue
			}
			x := min(at(s.From), 100-leastWidth)
			row.Bars = append(row.Bars, Bar{percent(x), percent(max(leastWidth, at(s.To)-x)), s.Look, s.Title})
		}
		t.Rows = append(t.Rows, row)
	}
	t.Height = axisHeight + len(t.Rows)*rowHeight
	step := stepOf(whole)
	for d := time.Duration(0); d <= whole/20*19; d += step {
		t.Ticks = append(t.Ticks, Tick{percent(100 * float64(d) / float64(whole)), since(d)})
	}
	return t
}

// stepOf is how far the ticks of an axis are apart: there are few of them.
func stepOf(whole time.Duration) time.Duration {
	for _, step := range []time.Duration{
		time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
		30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour,
	} {
		if whole <= 4*step {
			return step
		}
	}
	const day = 24 * time.Hour
	return (whole/4/day + 1) * day
}

// since says how long after the start a tick is.
func since(d time.Duration) string {
	switch {
	case d == 0:
		return "start"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// Bars is amounts, a row for each.
type Bars struct {
	Height int
	Rows   []AmountRow
	Left   int // that are not drawn
}

// AmountRow is one amount.
type AmountRow struct {
	Label, Amount string
	LabelY, BarY  int
	Width         string // in percent
}

// Amount is what a bar shows.
type Amount struct {
	Label, Words string
	Value        float64
}

const (
	maxBars   = 20
	barHeight = 38
)

// Measure makes a bar of each amount, the widest of the largest one.
func Measure(amounts []Amount) Bars {
	most := 0.0
	for _, a := range amounts {
		most = max(most, a.Value)
	}
	return Share(amounts, most)
}

// Share makes a bar of each amount, as wide as its part of the whole is.
func Share(amounts []Amount, whole float64) Bars {
	b := Bars{Left: max(0, len(amounts)-maxBars)}
	for i, a := range amounts[:len(amounts)-b.Left] {
		width := 0.0
		if whole > 0 && a.Value > 0 {
			width = min(100, max(leastWidth, 100*a.Value/whole))
		}
		b.Rows = append(b.Rows, AmountRow{Label: a.Label, Amount: a.Words, LabelY: i*barHeight + 14, BarY: i*barHeight + 19, Width: percent(width)})
	}
	b.Height = len(b.Rows) * barHeight
	return b
}

func percent(x float64) string { return fmt.Sprintf("%.2f%%", x) }
