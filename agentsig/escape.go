package agentsig

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes text from an agent safe to print: control characters, terminal
// escapes, invisible and direction-changing characters and invalid UTF-8 are
// written as escapes such as \x1b and \u202e. Newlines are escaped too. Text
// without any of these comes back as it is.
func Escape(s string) string { return escape(s, "") }

// EscapeLines is like [Escape], but leaves newlines and tabs alone.
func EscapeLines(s string) string { return escape(s, "\n\t") }

func escape(s, keep string) string {
	clean := func(r rune, size int) bool {
		if r == utf8.RuneError && size <= 1 {
			return false
		}
		return r == ' ' || strings.ContainsRune(keep, r) || unicode.IsGraphic(r) && !invisible(r)
	}
	i := 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !clean(r, size) {
			break
		}
		i += size
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case clean(r, size):
			b.WriteString(s[i : i+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// quote puts agent text into an error message: in quotes, safe to print, and
// no longer than a message can bear.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		cut := most
		for !utf8.RuneStart(s[cut]) && cut > most-utf8.UTFMax {
			cut--
		}
		s = s[:cut] + "…"
	}
	return "'" + Escape(s) + "'"
}

// invisible reports whether a character takes no place of its own on a screen,
// or changes the place of others.
func invisible(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0, // control characters
		r == 0xad, r == 0x34f, r == 0x61c, r == 0x180e,
		r >= 0x115f && r <= 0x1160, r >= 0x17b4 && r <= 0x17b5,
		r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
		r == 0x3164, r == 0xffa0, r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
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
