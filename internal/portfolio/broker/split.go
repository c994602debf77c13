package broker

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A position is one symbol in one account.
type position struct{ account, symbol string }

// A change is what happens to a position: a split whose ratio is looked for, or one that is known,
// or shares that come or go.
type change struct {
	date  portfolio.Date
	split *entry
	by    portfolio.Decimal
	times portfolio.Decimal // if it is not zero
	lost  bool              // how many shares there are now can't be told
}

// rank orders the changes of a day: what companies decide is before the trades, and shares come
// before they go.
func (c change) rank() int {
	if c.split != nil || c.lost || !c.times.IsZero() {
		return -2
	}
	return -c.by.Sign()
}

// settleSplits turns splits of which a file says only how many shares came into ratios, from the
// shares that the position has by the file itself. This is right only if the file has the position
// from its beginning and all of its rows could be read; what is not a usual ratio is not believed.
func (r *reading) settleSplits() {
	if len(r.splits) == 0 {
		return
	}
	changes := map[position][]change{}
	for i := range r.splits {
		s := &r.splits[i]
		at := position{s.account, s.symbol}
		changes[at] = append(changes[at], change{date: s.date, split: s, by: s.quantity})
	}
	for _, t := range r.file.Transactions {
		for _, symbol := range [...]string{t.Symbol, t.Into} {
			at := position{t.Account, symbol}
			if list, splits := changes[at]; splits && symbol != "" {
				changes[at] = append(list, effect(t, symbol))
			}
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
			if !c.times.IsZero() {
				held = held.Mul(c.times)
			}
			held = held.Add(c.by)
			believed = believed && !c.lost && held.Sign() >= 0
		}
	}
	for i := range r.splits {
		s := &r.splits[i]
		ratio, ok := ratios[s]
		if !ok {
			r.unreadSplit(*s)
			continue
		}
		r.add(s.place, portfolio.Transaction{
			Date: s.date, Account: s.account, Action: portfolio.Split, Symbol: s.symbol, Quantity: ratio,
			Note: fmt.Sprintf("worked out from %s new shares", s.quantity),
		})
	}
}

// unreadSplit skips a split without a ratio. Where the broker has the same word for the first shares
// of a company that was part of another, any position of the account may be the parent.
func (r *reading) unreadSplit(e entry) {
	if !e.unlike {
		r.unread(e.place, e.subject(), "the split's ratio can't be told from the shares in this file; "+splitAdvice(e))
		return
	}
	reason := "shares came, and the row does not tell a split from a spin-off. If the account had shares of " + e.symbol + " before, it is a split: " + splitAdvice(e) +
		" If it had none, it is a spin-off from another company, OLD, whose Form 8937 says BASIS_SHARE: " +
		canonicalLine(e.date, e.account, portfolio.Spinoff, "OLD", "", "", "", "", "", "RATIO", "BASIS_SHARE", e.symbol)
	r.unread(e.place, e.subject(), reason)
	r.unread(e.place, subject{e.date, e.account, ""}, reason)
}

// splitAdvice says how a split is written.
func splitAdvice(e entry) string {
	return "write it in canonical form, where RATIO is the new shares for one old: " + canonicalLine(e.date, e.account, portfolio.Split, orWord(e.symbol, "SYMBOL"), "RATIO")
}

// effect is what a transaction does to the number of shares that its account has of a symbol.
func effect(t portfolio.Transaction, symbol string) change {
	c := change{date: t.Date}
	switch t.Action {
	case portfolio.Buy, portfolio.Reinvest, portfolio.TransferIn:
		c.by = t.Quantity
	case portfolio.Sell, portfolio.TransferOut:
		c.by = t.Quantity.Neg()
	case portfolio.Split:
		c.times = t.Quantity
	case portfolio.Merger:
		if c.by = t.Quantity.Neg(); symbol == t.Into {
			c.by = t.Quantity.Mul(t.Ratio)
		}
	case portfolio.Spinoff:
		c.lost = symbol == t.Into // how many came is for the other symbol's shares
	case portfolio.Rename:
		c.lost = true
	case portfolio.Dividend, portfolio.ReturnOfCapital, portfolio.BuyCall:
	}
	return c
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
			return splitRatio(n, portfolio.NewDecimal(d, 0)), !mayBeMore(before, after)
		}
	}
	return portfolio.Decimal{}, false
}

// mayBeMore tells whether another ratio gives as many whole shares and a fraction, which is paid out days
// later: 4 for 3 may be 3 for 2.
func mayBeMore(before, after portfolio.Decimal) bool {
	if !whole(after) {
		return false
	}
	for _, other := range [...][2]int64{{6, 5}, {5, 4}, {4, 3}, {3, 2}, {5, 3}, {5, 2}} {
		exact := before.Mul(portfolio.NewDecimal(other[0], 0)).Over(portfolio.NewDecimal(other[1], 0), 3)
		if exact.Cmp(after) > 0 && exact.Floor(0).Cmp(after) == 0 {
			return true
		}
	}
	return false
}

func whole(shares portfolio.Decimal) bool { return shares.Floor(0).Cmp(shares) == 0 }

// reverseRatio is the ratio of a reverse split, if it is one that companies choose: one new share for
// 2 to 10 old, or for 15, 20 and so on up to 1000. A fraction that was paid out spoils it, as a rule;
// where the next smaller one gives as many whole shares, it can't be told.
func reverseRatio(old, shares portfolio.Decimal) (portfolio.Decimal, bool) {
	if shares.Sign() <= 0 || old.Cmp(shares) <= 0 {
		return portfolio.Decimal{}, false
	}
	const few, step, most = 10, 5, 1000
	number := func(n int64) portfolio.Decimal { return portfolio.NewDecimal(n, 0) }
	n := old.Over(shares, 0)
	steps := n.Over(number(step), 0)
	if n.Cmp(number(most)) > 0 || shares.Mul(n).Cmp(old) != 0 || n.Cmp(number(few)) > 0 && steps.Mul(number(step)).Cmp(n) != 0 {
		return portfolio.Decimal{}, false
	}
	smaller := n.Sub(number(1))
	if n.Cmp(number(few)) > 0 {
		smaller = n.Sub(number(step))
	}
	if whole(shares) && smaller.Cmp(number(1)) > 0 && old.Cmp(smaller.Mul(shares.Add(number(1)))) < 0 {
		return portfolio.Decimal{}, false
	}
	return splitRatio(shares, old), true
}

// splitRatio is how many new shares there are for one old, as exact as a decimal can be.
func splitRatio(shares, forOld portfolio.Decimal) portfolio.Decimal {
	const decimals = 18
	return shares.Over(forOld, decimals)
}
