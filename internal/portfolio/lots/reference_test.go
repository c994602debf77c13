package lots

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// The rule once more, as it reads: share by share, with the whole history in sight. Whole shares,
// no splits, no fees.
type share struct {
	purchase int
	account  string
	symbol   string
	bought   portfolio.Date
	since    portfolio.Date
	basis    portfolio.Decimal
	sold     portfolio.Date
	used     bool
}

func reference(history []portfolio.Transaction) (sales []string, open []string) {
	var shares []*share
	for i, row := range history {
		for n := row.Quantity.Float(); row.Action != portfolio.Sell && n > 0; n-- {
			shares = append(shares, &share{purchase: i, account: row.Account, symbol: row.Symbol, bought: row.Date, since: row.Date, basis: row.Price})
		}
	}
	slices.SortStableFunc(shares, acquiredBefore)
	rows := slices.Clone(history)
	slices.SortStableFunc(rows, func(a, b portfolio.Transaction) int {
		if c := a.Date.Compare(b.Date); c != 0 {
			return c
		}
		if c := cmpString(a.Symbol+a.Account, b.Symbol+b.Account); c != 0 {
			return c
		}
		if c := a.Price.Cmp(b.Price); c != 0 {
			return c
		}
		return a.Quantity.Cmp(b.Quantity)
	})
	for i := 0; i < len(rows); {
		day := rows[i].Date
		type lost struct {
			*share
			price portfolio.Decimal
			sale  int
		}
		var losses []lost
		disallowed, permanent := map[int]portfolio.Decimal{}, map[int]portfolio.Decimal{}
		first := i
		for ; i < len(rows) && rows[i].Date == day; i++ {
			for n := rows[i].Quantity.Float(); rows[i].Action == portfolio.Sell && n > 0; n-- {
				s := pick(shares, rows[i])
				s.sold = day
				if taxable(s.account) && rows[i].Price.Cmp(s.basis) < 0 {
					losses = append(losses, lost{s, rows[i].Price, i})
				}
			}
		}
		slices.SortStableFunc(losses, func(a, b lost) int { return acquiredBefore(a.share, b.share) })
		for _, l := range losses {
			for _, r := range shares {
				heldAfter := r.sold.IsZero() && !r.bought.After(day) || r.bought.After(day)
				if r.symbol != l.symbol || r.used || !heldAfter || r.purchase == l.purchase || abs(r.bought.Sub(day)) > 30 {
					continue
				}
				loss := l.basis.Sub(l.price)
				r.used = true
				disallowed[l.sale] = disallowed[l.sale].Add(loss)
				if taxable(r.account) {
					r.basis, r.since = r.basis.Add(loss), r.since.Add(-day.Sub(l.since))
				} else {
					permanent[l.sale] = permanent[l.sale].Add(loss)
				}
				break
			}
		}
		for j := first; j < i; j++ {
			if rows[j].Action == portfolio.Sell && taxable(rows[j].Account) {
				sales = append(sales, fmt.Sprintf("%s %s %s %s %s", day, rows[j].Account, rows[j].Symbol, disallowed[j], permanent[j]))
			}
		}
	}
	for _, s := range shares {
		if s.sold.IsZero() {
			open = append(open, fmt.Sprintf("%s %s %s %s %s", s.account, s.symbol, s.bought, s.since, s.basis))
		}
	}
	slices.Sort(open)
	return sales, open
}

func acquiredBefore(a, b *share) int {
	if c := a.bought.Compare(b.bought); c != 0 {
		return c
	}
	return cmpString(a.symbol+a.account, b.symbol+b.account)
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// pick is the share that a sale takes next.
func pick(shares []*share, sale portfolio.Transaction) (best *share) {
	for _, s := range shares {
		if s.account != sale.Account || s.symbol != sale.Symbol || !s.sold.IsZero() || s.bought.After(sale.Date) {
			continue
		}
		if best == nil || sale.Account == "C" && s.basis.Cmp(best.basis) > 0 {
			best = s
		}
	}
	return best
}

func TestReference(t *testing.T) {
	washed := 0
	for seed := range uint64(count()) {
		history := generate(seed, false, 1)
		b := Build(history, household, endOf(history))
		var sales, open []string
		for i := 0; i < len(b.Disposals); {
			d := b.Disposals[i]
			var disallowed, permanent portfolio.Decimal
			row := saleOf(history, d)
			for left := row.Quantity; left.Sign() > 0; i++ {
				left = left.Sub(b.Disposals[i].Quantity)
				disallowed, permanent = disallowed.Add(b.Disposals[i].Disallowed), permanent.Add(b.Disposals[i].Permanent)
			}
			if disallowed.Sign() > 0 {
				washed++
			}
			sales = append(sales, fmt.Sprintf("%s %s %s %s %s", d.Sold, d.Account, d.Symbol, disallowed, permanent))
		}
		for _, l := range b.Lots {
			for n := l.Quantity.Float(); n > 0; n-- {
				open = append(open, fmt.Sprintf("%s %s %s %s %s", l.Account, l.Symbol, l.Acquired, l.HoldingSince, l.Basis.Over(l.Quantity, 6)))
			}
		}
		slices.Sort(open)
		wantSales, wantOpen := reference(history)
		if diff := cmp.Diff(wantSales, sales) + cmp.Diff(wantOpen, open); diff != "" {
			t.Fatalf("seed %d (-reference +book):\n%s\n%s", seed, diff, lines(history))
		}
	}
	if washed < count()/2 {
		t.Errorf("only %d washed sales in %d histories", washed, count())
	}
}

// saleOf finds the sale that a disposal belongs to: sales of one day, account and symbol are told
// apart by their price.
func saleOf(history []portfolio.Transaction, d Disposal) portfolio.Transaction {
	for _, row := range history {
		if row.Action == portfolio.Sell && row.Date == d.Sold && row.Account == d.Account && row.Symbol == d.Symbol && row.Price.Mul(d.Quantity).Cmp(d.Proceeds) == 0 {
			return row
		}
	}
	return portfolio.Transaction{}
}
