package agentsig

import (
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

// quote puts agent text into an error message: in quotes, safe to print, and
// no longer than a message can bear.
func quote(s string) string {
	const most = 200
	s, whole := safetext.Prefix(s, most)
	if !whole {
		s += "…"
	}
	return "'" + safetext.Escape(s) + "'"
}

// lookAlike returns the ASCII character that r can be taken for, and 0 if
// there is none among the characters that signals are made of.
func lookAlike(r rune) byte {
	switch {
	case r < utf8.RuneSelf:
		return 0
	case r >= 0xff01 && r <= 0xff5e: // full width
		return byte(r - 0xff01 + '!')
	case r >= 0x1d400 && r <= 0x1d6a3: // mathematical letters
		n := (r - 0x1d400) % 52
		if n < 26 {
			return byte('A' + n)
		}
		return byte('a' + n - 26)
	}
	return lookAlikes[r]
}

var lookAlikes = map[rune]byte{
	// Cyrillic
	'А': 'A', 'В': 'B', 'С': 'C', 'Е': 'E', 'Н': 'H', 'І': 'I', 'К': 'K', 'М': 'M', 'О': 'O',
	'Р': 'P', 'Ѕ': 'S', 'Т': 'T', 'У': 'Y', 'Х': 'X', 'Ү': 'Y', 'Ԍ': 'G', 'Ԝ': 'W',
	'а': 'a', 'с': 'c', 'е': 'e', 'һ': 'h', 'і': 'i', 'о': 'o', 'р': 'p', 'ѕ': 's', 'у': 'y',
	'х': 'x', 'ԁ': 'd', 'ԍ': 'g', 'ԝ': 'w',
	// Greek
	'Α': 'A', 'Β': 'B', 'Ε': 'E', 'Η': 'H', 'Ι': 'I', 'Κ': 'K', 'Μ': 'M', 'Ν': 'N', 'Ο': 'O',
	'Ρ': 'P', 'Τ': 'T', 'Υ': 'Y', 'Χ': 'X', 'Ζ': 'Z', 'ο': 'o', 'ν': 'v', 'ι': 'i',
	// others
	'ſ': 's', 'ı': 'i', 0x212a: 'K', 'Ⅰ': 'I', 'Ⅴ': 'V', 'Ⅹ': 'X', 'Ϲ': 'C',
	'∶': ':', '꞉': ':', '։': ':', '‿': '_', 'ˍ': '_',
	'‐': '-', '‑': '-', '–': '-', '−': '-',
	0xa0: ' ', 0x2002: ' ', 0x2003: ' ', 0x2007: ' ', 0x2009: ' ', 0x202f: ' ', 0x3000: ' ',
}
