// Package jsontext makes texts of strangers fit into JSON that may only be so long: escaped, and cut by the bytes that
// JSON has them in.
package jsontext

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Shorten makes text from files safe to print, and cuts it so that JSON has it in at most so many
// bytes.
func Shorten(s string, most int) string { return ShortenMiddle(s, most, 0) }

// ShortenMiddle is Shorten, with so many of the bytes kept for the end of the text.
func ShortenMiddle(s string, most, tail int) string {
	if len(s) > 2*most { // neither escaping nor JSON makes text shorter
		s = s[:most] + s[len(s)-most:]
	}
	s = safetext.Escape(s)
	total := 0
	for _, r := range s {
		total += jsonBytes(r)
	}
	if total <= most {
		return s
	}
	head, size := 0, tail+len("…")
	for i, r := range s {
		if size += jsonBytes(r); size > most {
			head = i
			break
		}
	}
	end := len(s)
	for size = 0; end > head; {
		r, n := utf8.DecodeLastRuneInString(s[:end])
		if size += jsonBytes(r); size > tail {
			break
		}
		end -= n
	}
	return s[:head] + "…" + s[end:]
}

// jsonBytes is how long a printable character is in JSON, which may be escaped for HTML, too.
func jsonBytes(r rune) int {
	switch r {
	case '"', '\\':
		return len(`\"`)
	case '<', '>', '&':
		return len(`\u0026`)
	}
	return utf8.RuneLen(r)
}

// Length is how long a value is in JSON. It is for values that JSON has: all numbers are finite.
func Length(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(text)
}
