package report

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A lossChart has a bar for each symbol, cut by term, with the washed parts hatched.
type lossChart struct {
	Title, Desc string
	Height      int
	Bars        []bar
	More        string // a sentence on what is not drawn
}

type bar struct {
	LabelY, BarY  int
	Label, Amount string
	Parts         []part
}

type part struct {
	X, Width string
	Class    string
	Washed   bool
	Title    string
}

const (
	mostBars  = 15
	barRow    = 40    // a line of text and a bar below it
	labelRoom = 10    // letters of a symbol that a phone has room for, beside what is said of it
	leastPart = 0.004 // of the width: what is there can be seen
)

// newLossChart is nil if there is no loss.
func newLossChart(losses []loss) *lossChart {
	if len(losses) == 0 || losses[0].total().Sign() <= 0 {
		return nil
	}
	shown := losses[:min(len(losses), mostBars)]
	c := &lossChart{Title: "Losses by ticker", Height: len(shown) * barRow}
	widest := losses[0].total()
	for i, l := range shown {
		b := bar{LabelY: i*barRow + 14, BarY: i*barRow + 20, Label: short(l.Symbol, labelRoom), Amount: inChart(l.total())}
		if l.washed().Sign() > 0 {
			b.Amount += ", " + inChart(l.washed()) + " washed"
		}
		at := 0.0
		for _, p := range []struct {
			loss  portfolio.Decimal
			class string
			wash  bool
		}{
			{l.Short.Sub(l.WashedShort), "short", false}, {l.WashedShort, "short", true},
			{l.Long.Sub(l.WashedLong), "long", false}, {l.WashedLong, "long", true},
		} {
			if p.loss.Sign() <= 0 {
				continue
			}
			title := fmt.Sprintf("%s, %s-term: %s", l.Symbol, p.class, dollars(p.loss))
			if p.wash {
				title += ", would be washed"
			}
			width := max(p.loss.Float()/widest.Float(), leastPart)
			b.Parts = append(b.Parts, part{percent(at), percent(width), p.class, p.wash, title})
			at += width
		}
		c.Bars = append(c.Bars, b)
	}
	c.Desc = fmt.Sprintf("%s at a loss; the largest is %s with %s.",
		english.Count(len(losses), "symbol"), losses[0].Symbol, dollars(widest))
	if len(losses) > mostBars {
		var rest portfolio.Decimal
		for _, l := range losses[mostBars:] {
			rest = rest.Add(l.total())
		}
		c.More = fmt.Sprintf("%s with %s in all are in the table only.",
			english.Count(len(losses)-mostBars, "smaller symbol"), dollars(rest))
	}
	return c
}
