package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/safetext"
)

// clean makes a text of somebody else's file safe to show: what does not show is spelt out.
func clean(s string) string { return safetext.Escape(s) }

func cleanAll(list []string) []string {
	var cleaned []string
	for _, s := range list {
		cleaned = append(cleaned, clean(s))
	}
	return cleaned
}

// short cuts a name to so many letters, for a chart's label.
func short(s string, letters int) string {
	runes := []rune(s)
	if len(runes) <= letters {
		return s
	}
	return string(runes[:letters-1]) + "…"
}

// dollars is an amount in a sentence: -$1,234.50.
func dollars(d portfolio.Decimal) string {
	if d.Sign() < 0 {
		return "-$" + d.Neg().Cents()
	}
	return "$" + d.Cents()
}

// gain is an amount of which the sign is the point: +$1,234.50.
func gain(d portfolio.Decimal) string {
	if d.Sign() > 0 {
		return "+" + dollars(d)
	}
	return dollars(d)
}

// inChart is an amount as short as a chart's label has to be.
func inChart(d portfolio.Decimal) string {
	if f := math.Abs(d.Float()); f < 1e9 {
		return dollars(d)
	}
	return "$" + compact(d.Float())
}

// compact is a large number in a few letters, whatever its size.
func compact(f float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, " tn"}, {1e9, " bn"}, {1e6, " m"}} {
		if math.Abs(f) >= unit.size && math.Abs(f) < unit.size*1000 {
			return strconv.FormatFloat(f/unit.size, 'f', 1, 64) + unit.name
		}
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// quote is a price of an axis or a label, with the decimals that its size asks for.
func quote(f float64) string {
	switch {
	case f >= 1e6:
		return compact(f)
	case f >= 10_000:
		return group(strconv.FormatFloat(f, 'f', 0, 64))
	case f >= 1000:
		return group(strconv.FormatFloat(f, 'f', 1, 64))
	case f >= 1:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case f >= 0.001:
		return strconv.FormatFloat(f, 'f', 4, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// group sets the thousands of a positive number apart.
func group(s string) string {
	whole, fraction, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		return whole + "." + fraction
	}
	return whole
}

// names lists the first few, and the number of the others.
func names(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

func days(dates []portfolio.Date) string {
	var list []string
	for _, d := range dates {
		list = append(list, d.String())
	}
	return strings.Join(list, ", ")
}

func purchases(list []Purchase) string {
	var said []string
	for _, p := range list {
		said = append(said, fmt.Sprintf("%s on %s in %s", p.Quantity, p.Date, clean(p.Account)))
	}
	return strings.Join(said, "; ")
}
