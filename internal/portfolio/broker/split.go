package broker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A position is one symbol in one account.
type position struct{ account, symbol string }

// A change is what happens to a position: a split, or shares that come or go.
type change struct {
	date  portfolio.Date
	split *entry
	by    portfolio.Decimal
}

// rank orders the changes of a day: its split is before its trades, and shares come before they
// go.
func (c change) rank() int {
	if c.split != nil {
		return -2
	}
	return -c.by.Sign()
}

// settleSplits turns splits of which a file says only how many shares came into ratios, from the shares that the position has by
// the file itself. This is right only if the file has the position from its beginning and all of
// its rows could be read; what is not a usual ratio is not believed.
func (r *reading) settleSplits() {
	if len(r.splits) == 0 {
		return
	}
	changes := map[position][]change{}
	for i := range r.splits {
		s := &r.splits[i]
		at := position{s.account, s.symbol}
		changes[at] = append(changes[at], change{s.date, s, s.quantity})
	}
	for _, t := range r.file.Transactions {
		at := position{t.Account, t.Symbol}
		if list, splits := changes[at]; splits {
			changes[at] = append(list, change{t.Date, nil, effect(t)})
		}
	}
	ratios := map[*entry]portfolio.Decimal{}
	for at, list := range changes {
		slices.SortStableFunc(list, func(a, b change) int { return cmp.Or(a.date.Compare(b.date), a.rank()-b.rank()) })
		var held portfolio.Decimal
		believed := !r.doubtful[at]
		for _, c := range list {
			if c.split != nil && believed {
				if ratio, ok := usualRatio(held, held.Add(c.by)); ok {
					ratios[c.split] = ratio
				}
			}
			held = held.Add(c.by)
			believed = believed && held.Sign() >= 0
		}
	}
	for i := range r.splits {
		s := &r.splits[i]
		ratio, ok := ratios[s]
		if !ok {
			r.unread(s.place, s.subject(), fmt.Sprintf("the split's ratio can't be told from the shares in this file; write it in canonical form: %s,%s,SPLIT,%s,RATIO,,, where RATIO is the new shares for one old", s.date, s.account, s.symbol))
			continue
		}
		r.add(s.place, portfolio.Transaction{
			Date: s.date, Account: s.account, Action: portfolio.Split, Symbol: s.symbol, Quantity: ratio,
			Note: fmt.Sprintf("worked out from %s new shares", s.quantity),
		})
	}
}

// effect is what a transaction does to the number of shares.
func effect(t portfolio.Transaction) portfolio.Decimal {
	switch t.Action {
	case portfolio.Buy, portfolio.Reinvest, portfolio.TransferIn:
		return t.Quantity
	case portfolio.Sell, portfolio.TransferOut:
		return t.Quantity.Neg()
	case portfolio.Split, portfolio.Dividend:
	}
	return portfolio.Decimal{}
}

// The splits that companies make: up to 50 shares for one, and 3 for 2, 4 for 3, 5 for 4, 6 for 5.
const (
	mostNew = 50
	mostOld = 5
)

// usualRatio is after over before if it is a ratio that companies choose.
func usualRatio(before, after portfolio.Decimal) (portfolio.Decimal, bool) {
	if before.Sign() <= 0 || after.Cmp(before) <= 0 {
		return portfolio.Decimal{}, false
	}
	for d := int64(1); d <= mostOld; d++ {
		scaled := after.Mul(portfolio.NewDecimal(d, 0))
		n := scaled.Over(before, 0)
		if n.Cmp(portfolio.NewDecimal(mostNew, 0)) <= 0 && before.Mul(n).Cmp(scaled) == 0 {
			return splitRatio(n, portfolio.NewDecimal(d, 0)), true
		}
	}
	return portfolio.Decimal{}, false
}

// splitRatio is how many new shares there are for one old, as exact as a decimal can be.
func splitRatio(shares, forOld portfolio.Decimal) portfolio.Decimal {
	const decimals = 18
	return shares.Over(forOld, decimals)
}
