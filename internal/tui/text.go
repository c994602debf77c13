package tui

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
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
		text, full := clip(s.text, width)
		width -= columns(text)
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

// cell returns text in exactly width columns.
func cell(style, text string, width int) line {
	if width <= 0 {
		return nil
	}
	text = cut(text, width)
	return line{{style, text}, {plain, strings.Repeat(" ", width-columns(text))}}
}

// justify puts right at the right end of a line, and cuts left if it has to.
func justify(left, right line, width int) line {
	room := width - right.width() - 2
	if room <= 0 {
		return append(left, right...)
	}
	var l line
	for _, s := range left {
		s.text = cut(s.text, room)
		room -= columns(s.text)
		l = append(l, s)
	}
	return append(append(l, span{plain, strings.Repeat(" ", room+2)}), right...)
}

// cut returns text in no more than width columns; what is cut off is marked.
func cut(text string, width int) string {
	if s, whole := clip(text, width); whole {
		return s
	}
	if width <= 0 {
		return ""
	}
	s, _ := clip(text, width-1)
	return s + "…"
}

// maxMarks is how many marks a character keeps: more of them than any script
// needs would run over the lines above and below.
const maxMarks = 3

// clip returns what of text fits into width columns, safe to print, and whether
// that is all of it.
func clip(text string, width int) (string, bool) {
	text = agentsig.Escape(text)
	var b strings.Builder
	marks := 0
	for _, r := range text {
		w := runeWidth(r)
		switch {
		case w > width:
			return b.String(), false
		case w > 0:
			marks = maxMarks
		case marks == 0:
			continue
		default:
			marks--
		}
		width -= w
		b.WriteRune(r)
	}
	return b.String(), true
}

// columns returns how many columns text takes once it is safe to print.
func columns(text string) int {
	n := 0
	for _, r := range agentsig.Escape(text) {
		n += runeWidth(r)
	}
	return n
}

// runeWidth returns how many columns a graphic character takes. Where terminals
// differ it is the larger number, so that no line is wider than it was taken for.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me), r >= 0x1160 && r <= 0x11ff:
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// wide are the characters that take two columns: East Asian ones and emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x2329, 0x232a, 1}, {0x23e9, 0x23ec, 1}, {0x23f0, 0x23f3, 3},
		{0x25fd, 0x25fe, 1}, {0x2614, 0x2615, 1}, {0x2630, 0x2637, 1}, {0x2648, 0x2653, 1}, {0x267f, 0x2693, 20},
		{0x268a, 0x268f, 1}, {0x26a1, 0x26a1, 1}, {0x26aa, 0x26ab, 1}, {0x26bd, 0x26be, 1}, {0x26c4, 0x26c5, 1},
		{0x26ce, 0x26d4, 6}, {0x26ea, 0x26ea, 1}, {0x26f2, 0x26f3, 1}, {0x26f5, 0x26fa, 5}, {0x26fd, 0x26fd, 1},
		{0x2705, 0x2705, 1}, {0x270a, 0x270b, 1}, {0x2728, 0x2728, 1}, {0x274c, 0x274e, 2}, {0x2753, 0x2755, 1},
		{0x2757, 0x2757, 1}, {0x2795, 0x2797, 1}, {0x27b0, 0x27bf, 15}, {0x2b1b, 0x2b1c, 1}, {0x2b50, 0x2b55, 5},
		{0x2e80, 0xa4cf, 1}, {0xa960, 0xa97f, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe10, 0xfe19, 1},
		{0xfe30, 0xfe6f, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18dff, 1}, {0x1aff0, 0x1b2ff, 1}, {0x1d300, 0x1d37f, 1}, {0x1f004, 0x1f004, 1}, {0x1f0cf, 0x1f0cf, 1},
		{0x1f18e, 0x1f18e, 1}, {0x1f191, 0x1f19a, 1}, {0x1f1e6, 0x1f6ff, 1}, {0x1f7e0, 0x1f7ff, 1}, {0x1f900, 0x1f9ff, 1},
		{0x1fa70, 0x1faff, 1}, {0x20000, 0x3fffd, 1},
	},
}

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

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
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
