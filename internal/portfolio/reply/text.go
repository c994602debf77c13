package reply

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentformat"
	"github.com/signalbox-dev/signalbox/internal/jsontext"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// Alternatives writes what is allowed: "a, b or c".
func Alternatives(allowed []string) string {
	last := len(allowed) - 1
	return strings.Join(allowed[:last], ", ") + " or " + allowed[last]
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

// Short is a number to so many decimals, rounded as texts for people have it: the digits that it is
// written with count, and half a unit goes to the even one. One that is more than there is in the world
// has fewer digits.
func Short(f float64, decimals int) float64 {
	if math.Abs(f) >= 1e15 {
		return agentformat.Number(strconv.FormatFloat(f, 'g', 3, 64))
	}
	d, err := portfolio.ParseDecimal(strconv.FormatFloat(f, 'f', -1, 64))
	if err != nil { // no number, or one with more digits than any amount has
		return agentformat.Round(f, decimals)
	}
	return d.Round(int32(decimals)).Float()
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

// Quoted names a few of the accounts that there are, for an error.
func Quoted(ids []string) string {
	const most = 10
	if len(ids) == 0 {
		return "none"
	}
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, fmt.Sprintf("%.40q", id))
	}
	list := strings.Join(names, ", ")
	if more := len(ids) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// ShortTicker and ShortAccount cut names from files to 16 and 24 bytes of JSON. They keep both ends,
// since long names are often alike in the first.
func ShortTicker(s string) string { return jsontext.ShortenMiddle(s, 16, 5) }

// ShortAccount is described with ShortTicker.
func ShortAccount(s string) string { return jsontext.ShortenMiddle(s, 24, 8) }

// WholeAccount is the account that an id means. An id that [ShortAccount] cut is taken back if it can be
// of one account alone; any other stays as it is.
func WholeAccount(id string, known []string) string {
	whole := id
	for _, other := range known {
		switch {
		case other == id:
			return id
		case ShortAccount(other) != id || other == whole:
		case whole != id:
			return id // it could be of two
		default:
			whole = other
		}
	}
	return whole
}

// CompletedAccount is what a snapshot says of an account that was asked for by an id that was cut: the
// whole id, if it is not longer than ids are.
func CompletedAccount(asked, whole string) string {
	const most = 64 // bytes of JSON
	if asked == whole {
		return ""
	}
	return jsontext.ShortenMiddle(whole, most, 8)
}
