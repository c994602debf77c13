// Package money writes amounts for people.
package money

import "strconv"

// Price writes an amount in cents.
func Price(cents int) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	rest := strconv.Itoa(cents % 100)
	if len(rest) == 1 {
		rest = "0" + rest
	}
	return sign + strconv.Itoa(cents/100) + "." + rest + " EUR"
}

// Refund writes an amount in cents that is paid back: it is shown as taken off.
func Refund(cents int) string {
	if cents == 0 {
		return "none"
	}
	sign := "-"
	if cents < 0 {
		sign, cents = "+", -cents
	}
	rest := strconv.Itoa(cents % 100)
	if len(rest) == 1 {
		rest = "0" + rest
	}
	return sign + strconv.Itoa(cents/100) + "." + rest + " EUR"
}
