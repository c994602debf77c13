package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Styles: those of the sixteen ANSI colours that can be read on light and on dark
// backgrounds.
const (
	plain     = ""
	bold      = "1"
	dim       = "2"
	red       = "31"
	green     = "32"
	yellow    = "33"
	magenta   = "35"
	cyan      = "36"
	important = "1;35"
)

// span is text in one style. The text may be anybody's: it is made safe when it is
// drawn, and nowhere else does it reach a screen.
type span struct{ style, text string }

// line is a line of a screen.
type line []span

// draw returns the line in no more than width columns; what is cut off is marked.
func (l line) draw(width int, color bool) string {
	whole := l.width() <= width
	if !whole {
		width--
	}
	if width < 0 {
		return ""
	}
	var b strings.Builder
	blank := 0 // columns that are written once something follows
	for i, s := range l {
		text, full := safetext.Clip(s.text, width)
		width -= safetext.Width(text)
		last := !whole && (!full || width == 0 && l[i+1:].width() > 0)
		if last {
			text += "…"
		}
		bare := strings.TrimRight(text, " ")
		if bare != "" {
			b.WriteString(strings.Repeat(" ", blank))
			blank = 0
			b.WriteString(paint(s.style, bare, color))
		}
		blank += len(text) - len(bare)
		if last {
			break
		}
	}
	return b.String()
}

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += columns(s.text)
	}
	return n
}

func paint(style, text string, color bool) string {
	if !color || style == plain {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// cell returns text in exactly width columns; in more if nothing is cut.
func (v *view) cell(style, text string, width int) line {
	if v.Whole {
		width = max(width, columns(text))
	}
	if width <= 0 {
		return nil
	}
	text = safetext.Cut(text, width)
	return line{{style, text}, {plain, strings.Repeat(" ", width-columns(text))}}
}

// justify puts right at the right end of a line, and cuts left if it has to; if nothing is cut, the line is longer.
func (v *view) justify(left, right line) line {
	room := v.Width - right.width() - 2
	if v.Whole {
		room = max(room, left.width())
	}
	if room <= 0 {
		return append(left, right...)
	}
	var l line
	for _, s := range left {
		s.text = safetext.Cut(s.text, room)
		room -= columns(s.text)
		l = append(l, s)
	}
	return append(append(l, span{plain, strings.Repeat(" ", room+2)}), right...)
}

// oneLine is a text without line ends: they are blanks where there is one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// columns returns how many columns text takes once it is safe to print.
func columns(text string) int { return safetext.Width(safetext.Escape(text)) }

// elapsed says how long something takes in at most seven columns, as long as it
// takes less than a hundred days; nothing if it is not known when it began.
func elapsed(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	d := max(to.Sub(from), 0)
	s, m, h := int(d.Seconds()), int(d.Minutes()), int(d.Hours())
	switch {
	case m == 0:
		return fmt.Sprintf("%ds", s)
	case h == 0:
		return fmt.Sprintf("%dm %02ds", m, s%60)
	case h < 24:
		return fmt.Sprintf("%dh %02dm", h, m%60)
	}
	return fmt.Sprintf("%dd %02dh", h/24, h%24)
}

// cost says what was paid, or else how many tokens were used; nothing if neither
// is known.
func cost(u delivery.Usage) string {
	switch {
	case u.CostUSD >= 0.005:
		return fmt.Sprintf("$%.2f", u.CostUSD)
	case u.CostUSD > 0:
		return "< $0.01"
	case u.Tokens() > 0:
		return tokens(u.Tokens()) + " tokens"
	}
	return ""
}

// costs says all that is known of what a run cost.
func costs(u delivery.Usage) string {
	var known []string
	if u.CostUSD > 0 {
		known = append(known, cost(u))
	}
	if u.Tokens() > 0 {
		known = append(known, tokens(u.InputTokens)+" tokens in", tokens(u.OutputTokens)+" out")
	}
	if len(known) == 0 {
		return ""
	}
	return "cost: " + strings.Join(known, ", ")
}

func tokens(n int64) string {
	for _, unit := range []struct {
		size int64
		sign string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		switch {
		case n >= 100*unit.size:
			return fmt.Sprintf("%d%s", n/unit.size, unit.sign)
		case n >= unit.size:
			return fmt.Sprintf("%d.%d%s", n/unit.size, n%unit.size*10/unit.size, unit.sign)
		}
	}
	return fmt.Sprint(n)
}
