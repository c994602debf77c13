// Package safetext makes text of strangers safe to print. Agents, models, files and archives say what they
// like: control characters that a terminal acts upon, characters that nobody sees, accents piled over the lines above.
// [Escape] writes all of these so that they can be read and do nothing; [Width] and [Cut] then lay the text out in columns.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMarks is how many accents a character keeps. More of them than any script needs would run over the
// lines above and below.
const MaxMarks = 3

// Escape returns text that a terminal, a page or a log shows as it is, in one line. Control characters,
// terminal escapes, invisible and direction-changing characters and invalid UTF-8 are written as escapes
// such as \x1b and \u202e; so are newlines and tabs, accents that have no character to stand on, and those
// beyond [MaxMarks]. Text without any of these comes back as it is. A backslash is not escaped: the result is
// for readers, and can't be turned back.
func Escape(s string) string { return escape(s, "") }

// EscapeLines is like [Escape], but leaves newlines and tabs alone.
func EscapeLines(s string) string { return escape(s, "\n\t") }

func escape(s, keep string) string {
	var b strings.Builder
	done, room := 0, 0 // what of s is in b; how many more accents the last character may have
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		switch {
		case strings.ContainsRune(keep, r):
			room = 0
			continue
		case !visible(r, size):
			room = 0
		case RuneWidth(r) > 0:
			room = MaxMarks
			continue
		case room > 0:
			room--
			continue
		}
		b.WriteString(s[done:i])
		writeEscape(&b, s[i:i+size], r)
		done = i + size
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func visible(r rune, size int) bool {
	return (r != utf8.RuneError || size > 1) && unicode.IsGraphic(r) && !Invisible(r)
}

func writeEscape(b *strings.Builder, piece string, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\r':
		b.WriteString(`\r`)
	case len(piece) == 1:
		fmt.Fprintf(b, `\x%02x`, piece[0])
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// Invisible reports whether a character takes no place of its own on a screen and belongs to no other
// one, or changes the place of others. An accent is not invisible.
func Invisible(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0, // control characters
		r == 0xad, r == 0x34f, r == 0x61c, r >= 0x180b && r <= 0x180f,
		r >= 0x115f && r <= 0x1160, r >= 0x17b4 && r <= 0x17b5,
		r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
		r == 0x3164, r == 0xffa0, r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}
