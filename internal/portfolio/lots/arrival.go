package lots

import (
	"slices"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// An arrival is shares of which nobody said what they cost, and the day on which they came: they were
// bought on it or before it. If the transfer says when they were bought, it is that day. What becomes
// of them keeps it.
type arrival struct {
	day      portfolio.Date
	told     bool // they were bought on that day
	quantity portfolio.Decimal
}

// compareArrivals is the order in which they go: those that may be older first.
func compareArrivals(a, b arrival) int {
	if a.day != b.day || a.told == b.told {
		return a.day.Compare(b.day)
	}
	if b.told {
		return -1
	}
	return 1
}

// arrivals are some in their order, each day once or twice, and none of no shares.
type arrivals []arrival

func (a *arrivals) add(some ...arrival) {
	for _, one := range some {
		list := *a
		i, found := slices.BinarySearchFunc(list, one, compareArrivals)
		switch {
		case one.quantity.Sign() <= 0:
		case found:
			list[i].quantity = list[i].quantity.Add(one.quantity)
		default:
			*a = slices.Insert(list, i, one)
		}
	}
}

// cut takes out up to n shares of the first day.
func (a *arrivals) cut(n portfolio.Decimal) arrival {
	first := &(*a)[0]
	part := *first
	part.quantity = part.quantity.Min(n)
	if first.quantity = first.quantity.Sub(part.quantity); first.quantity.IsZero() {
		*a = (*a)[1:]
	}
	return part
}

func (a arrivals) total() (sum portfolio.Decimal) {
	for _, one := range a {
		sum = sum.Add(one.quantity)
	}
	return sum
}

// mayPrecede tells whether some may have been bought before a day, though they count as bought later.
func (a arrivals) mayPrecede(day portfolio.Date) bool {
	return slices.ContainsFunc(a, func(one arrival) bool { return !one.told && one.day.After(day) })
}

// scaled are as many shares as a company makes of them.
func (a arrivals) scaled(scale func(portfolio.Decimal) portfolio.Decimal) arrivals {
	other := slices.Clone(a)
	for i := range other {
		other[i].quantity = scale(other[i].quantity)
	}
	return other
}
