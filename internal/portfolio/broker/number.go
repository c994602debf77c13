package broker

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// maxExponent bounds numbers in scientific notation, which brokers use for tiny amounts.
const maxExponent = 12

// amount reads a number as tables have it: 1234.5, $1,234.50, -$12.00, (12.00), 1.5E-4. Nothing
// and a dash are 0.
func amount(s string) (portfolio.Decimal, error) {
	if n, err := portfolio.ParseDecimal(s); err == nil {
		return n, nil
	}
	s = strings.TrimSpace(s)
	if strings.Trim(s, "-") == "" {
		return portfolio.Decimal{}, nil
	}
	digits, negative := s, false
	if strings.HasPrefix(digits, "(") && strings.HasSuffix(digits, ")") {
		digits, negative = digits[1:len(digits)-1], true
	}
	digits = strings.Replace(digits, "$", "", 1)
	digits = strings.TrimSpace(digits)
	if rest, found := strings.CutPrefix(digits, "-"); found && !negative {
		digits, negative = rest, true
	}
	digits = strings.TrimPrefix(digits, "+")
	mantissa, exponent, scientific := strings.Cut(strings.ToUpper(digits), "E")
	plain, ok := ungroup(mantissa)
	if !ok || strings.HasPrefix(plain, "-") {
		return portfolio.Decimal{}, fmt.Errorf("%.40q is %w", s, portfolio.ErrNotANumber)
	}
	n, err := portfolio.ParseDecimal(plain)
	if err != nil {
		return n, fmt.Errorf("%.40q is %w", s, portfolio.ErrNotANumber)
	}
	if scientific {
		e, err := strconv.Atoi(exponent)
		if err != nil || e < -maxExponent || e > maxExponent {
			return n, fmt.Errorf("%.40q is %w", s, portfolio.ErrNotANumber)
		}
		n = n.Mul(portfolio.NewDecimal(1, int32(e)))
	}
	if negative {
		n = n.Neg()
	}
	return n, nil
}

// ungroup takes the commas out of a number if they stand between thousands. A comma elsewhere may
// be a decimal point in another country, so it is refused.
func ungroup(s string) (string, bool) {
	whole, fraction, point := strings.Cut(s, ".")
	groups := strings.Split(whole, ",")
	for i, group := range groups {
		if len(groups) > 1 && (i == 0 && (group == "" || len(group) > 3) || i > 0 && len(group) != 3) {
			return "", false
		}
	}
	s = strings.Join(groups, "")
	if point {
		s += "." + fraction
	}
	return s, !strings.Contains(fraction, ",")
}

// day reads a date as American brokers write it: 01/31/2024, 1/31/24, 01-31-2024, Jan-31-2024,
// 2024-01-31, 20240131.
func day(s string) (portfolio.Date, error) {
	wrong := fmt.Errorf("%.40q is no date", s)
	parts := strings.FieldsFunc(s, func(c rune) bool { return c == '/' || c == '-' })
	switch {
	case len(parts) == 1 && len(s) == len("20060102"):
		parts = []string{s[:4], s[4:6], s[6:]}
	case len(parts) != 3 || len(s) != len(parts[0])+len(parts[1])+len(parts[2])+2:
		return portfolio.Date{}, wrong
	case len(parts[0]) != 4:
		parts = []string{parts[2], parts[0], parts[1]}
	}
	year, err := strconv.ParseUint(parts[0], 10, 14)
	if err != nil {
		return portfolio.Date{}, wrong
	}
	if len(parts[0]) == 2 {
		if year += 2000; year >= 2070 {
			year -= 100
		}
	}
	month, err := strconv.ParseUint(parts[1], 10, 8)
	if name, nameErr := time.Parse("Jan", parts[1]); nameErr == nil {
		month, err = uint64(name.Month()), nil
	}
	if err != nil || len(parts[2]) > 2 {
		return portfolio.Date{}, wrong
	}
	d, err := portfolio.ParseDate(fmt.Sprintf("%04d-%02d-%02s", year, month, parts[2]))
	if err != nil {
		return portfolio.Date{}, wrong
	}
	return d, nil
}
