package reply

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
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

// Short is a number to so many decimals; one that is more than there is in the world has fewer digits.
func Short(f float64, decimals int) float64 {
	if math.Abs(f) >= 1e15 {
		return agentformat.Number(strconv.FormatFloat(f, 'g', 3, 64))
	}
	return agentformat.Round(f, decimals)
}

// Listed writes the first few of so many names after a colon: ": A, B + 2 more".
func Listed(names []string, all int) string {
	if len(names) == 0 {
		return ""
	}
	list := ": " + strings.Join(names, ", ")
	if more := all - len(names); more > 0 {
		list += fmt.Sprintf(" + %d more", more)
	}
	return list
}

// ShortTicker and ShortAccount cut names from files to 16 and 24 bytes of JSON. They keep both ends,
// since long names are often alike in the first.
func ShortTicker(s string) string { return jsontext.ShortenMiddle(s, 16, 5) }

// ShortAccount is described with ShortTicker.
func ShortAccount(s string) string { return jsontext.ShortenMiddle(s, 24, 8) }
