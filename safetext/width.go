package safetext

import (
	"unicode"
	"unicode/utf8"
)

// Width returns how many columns of a terminal a text takes that [Escape] has returned.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += RuneWidth(r)
	}
	return n
}

// Cut returns a text as [Escape] does, in so many columns at most. What is cut off is marked with an ellipsis.
func Cut(s string, columns int) string {
	cut, whole := Clip(s, columns)
	if whole || columns <= 0 {
		return cut
	}
	cut, _ = Clip(s, columns-1)
	return cut + "…"
}

// Clip returns what of a text fits into so many columns, as [Escape] writes it, and whether that is all of
// it. It looks at no more of a long text than it needs.
func Clip(s string, columns int) (clipped string, whole bool) {
	const longest = (1 + MaxMarks) * utf8.UTFMax // a column: a character and its accents
	columns = max(columns, 0)
	if columns < len(s)/longest {
		s = s[:longest*(columns+1)]
	}
	s = Escape(s)
	for i, r := range s {
		if columns -= RuneWidth(r); columns < 0 {
			return s[:i], false
		}
	}
	return s, true
}

// RuneWidth returns how many columns a visible character takes: none for an accent. Where terminals differ it is the
// larger number, so that no line is wider than it was taken for.
func RuneWidth(r rune) int {
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
