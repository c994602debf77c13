package reply

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Alternatives writes what is allowed: "a, b or c".
func Alternatives(allowed []string) string {
	last := len(allowed) - 1
	return strings.Join(allowed[:last], ", ") + " or " + allowed[last]
}

// Plural is the ending of a word that counts so many.
func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

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

// Dollars writes an amount without cents: $12,345. What is more than there is in the world is
// written short.
func Dollars(amount float64) string {
	if math.Abs(amount) >= 1e15 {
		return fmt.Sprintf("$%.3g", math.Abs(amount))
	}
	digits := strconv.FormatFloat(math.Abs(amount), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return "$" + digits
}

// JSONLength is how long a value is in JSON. The numbers of a snapshot are all finite, so there is
// no value that JSON does not have.
func JSONLength(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(text)
}
