package plan

import (
	"strings"
	"unicode"
)

// wide has the characters that take two columns of a terminal: East Asian ones,
// and those that are shown as emoji by themselves.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23ec, 1}, {0x23f0, 0x23f3, 3}, {0x25fd, 0x25fe, 1},
		{0x2614, 0x2615, 1}, {0x2648, 0x2653, 1}, {0x267f, 0x2693, 0x14}, {0x26a1, 0x26a1, 1}, {0x26aa, 0x26ab, 1},
		{0x26bd, 0x26be, 1}, {0x26c4, 0x26c5, 1}, {0x26ce, 0x26d4, 6}, {0x26ea, 0x26ea, 1}, {0x26f2, 0x26f3, 1},
		{0x26f5, 0x26fa, 5}, {0x26fd, 0x2705, 8}, {0x270a, 0x270b, 1}, {0x2728, 0x274c, 0x24}, {0x274e, 0x274e, 1},
		{0x2753, 0x2755, 1}, {0x2757, 0x2757, 1}, {0x2795, 0x2797, 1}, {0x27b0, 0x27bf, 0xf}, {0x2b1b, 0x2b1c, 1},
		{0x2b50, 0x2b55, 5}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xa960, 0xa97c, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x16fe0, 0x18cff, 1}, {0x1aff0, 0x1b2ff, 1}, {0x1f000, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// textColumns is how many columns of a terminal a text takes.
func textColumns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// cut shortens a text that takes more columns than there are, at the end of a
// word if that does not cost much of it.
func cut(s string, columns int) string {
	if textColumns(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	n, end := 0, 0
	for i, r := range s {
		if n += runeColumns(r); n > columns-1 {
			end = i
			break
		}
	}
	short := s[:end]
	if i := strings.LastIndexByte(short, ' '); i > len(short)*3/4 && s[end] != ' ' {
		short = short[:i]
	}
	return strings.TrimRight(short, " ,;:.-") + "…"
}

// pad fills a text up with blanks.
func pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-textColumns(s)))
}
