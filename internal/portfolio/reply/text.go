package reply

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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
