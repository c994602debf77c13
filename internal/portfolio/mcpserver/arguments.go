package mcpserver

import (
	"encoding/json"

	"github.com/signalbox-dev/signalbox/internal/mcpserver"
	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// date reads a day; the zero value if it is missing.
func date(a *mcpserver.Arguments, name string) portfolio.Date {
	raw, given := a.Value(name)
	if !given {
		return portfolio.Date{}
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		a.Say("%s is a string such as \"2026-01-31\", not %s", name, mcpserver.Shown(raw))
		return portfolio.Date{}
	}
	day, err := portfolio.ParseDate(s)
	if err != nil {
		a.Say("%s: %v", name, err)
	}
	return day
}

// number reads the digits as they were sent, so that nothing is rounded on the way.
func number(a *mcpserver.Arguments, name string) *portfolio.Decimal {
	raw, given := a.Value(name)
	if !given {
		return nil
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		a.Say("%s is a number, not %s", name, mcpserver.Shown(raw))
		return nil
	}
	n, err := portfolio.ParseDecimal(string(raw))
	if err != nil {
		a.Say("%s is a number in plain digits, such as 1250.5: %v", name, err)
		return nil
	}
	allowed := a.Property(name)
	if allowed.ExclusiveMinimum != nil && n.Cmp(portfolio.NewDecimal(int64(*allowed.ExclusiveMinimum), 0)) <= 0 {
		a.Say("%s is more than %d, not %s", name, *allowed.ExclusiveMinimum, n)
		return nil
	}
	if allowed.Minimum != nil && n.Cmp(portfolio.NewDecimal(int64(*allowed.Minimum), 0)) < 0 {
		a.Say("%s is at least %d, not %s", name, *allowed.Minimum, n)
		return nil
	}
	return &n
}
