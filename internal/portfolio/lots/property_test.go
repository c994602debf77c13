package lots

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

var histories = flag.Int("histories", 10_000, "generated histories for each property")

// kinds of the generated accounts; C is a spouse's, with another method.
var household = Rules{Accounts: []portfolio.Account{
	{ID: "A", Kind: portfolio.Taxable, Method: portfolio.FIFO},
	{ID: "C", Kind: portfolio.Taxable, Method: portfolio.HIFO},
	{ID: "R", Kind: portfolio.IRA, Method: portfolio.FIFO},
	{ID: "K", Kind: portfolio.K401, Method: portfolio.FIFO},
}}

// A generator makes histories that are possible: nothing is sold that is not held. An account
// buys a symbol at most once a day, so that lots are told apart by their day, and a split is the
// first of its day.
type generator struct {
	*rand.Rand
	held     map[place]int
	bought   map[string]bool
	history  []portfolio.Transaction
	rich     bool           // with splits, transfers, fees, named lots and a 401(k)
	moved    portfolio.Date // of the last transfer: one a day
	fraction int            // quantities are whole over this
}

func (g *generator) date() portfolio.Date { return portfolio.NewDate(2023, 11, 1).Add(g.IntN(180)) }

func generate(seed uint64, rich bool, fraction int) []portfolio.Transaction {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), held: map[place]int{}, bought: map[string]bool{}, rich: rich, fraction: fraction}
	days := make([]portfolio.Date, 4+g.IntN(20))
	for i := range days {
		days[i] = g.date()
	}
	slices.SortFunc(days, portfolio.Date.Compare)
	for _, d := range days {
		g.step(d)
	}
	return g.history
}

func (g *generator) step(d portfolio.Date) {
	accounts := 3
	if g.rich {
		accounts = 4
	}
	at := place{household.Accounts[g.IntN(accounts)].ID, []string{"X", "X", "Y"}[g.IntN(3)]}
	row := portfolio.Transaction{Date: d, Account: at.account, Symbol: at.symbol, Price: portfolio.NewDecimal(int64(500+g.IntN(1500)), -2)}
	if g.rich {
		row.Fees = portfolio.NewDecimal(int64(g.IntN(300)), -2)
	}
	switch choice := g.IntN(10); {
	case choice < 4 && g.held[at] > 0:
		n := 1 + g.IntN(g.held[at])
		g.held[at] -= n
		row.Action, row.Quantity = portfolio.Sell, g.shares(n)
		if g.rich && g.IntN(3) == 0 {
			row.Note = "lot:" + g.history[g.IntN(len(g.history))].Date.String()
		}
	case choice == 8 && g.rich && g.held[at] > 0 && taxable(at.account) && g.moved != d:
		n := 1 + g.IntN(g.held[at])
		other := place{map[string]string{"A": "C", "C": "A"}[at.account], at.symbol}
		g.held[at], g.held[other], g.moved = g.held[at]-n, g.held[other]+n, d
		row.Action, row.Quantity, row.Price, row.Fees = portfolio.TransferOut, g.shares(n), portfolio.Decimal{}, portfolio.Decimal{}
		g.history = append(g.history, row)
		row.Action, row.Account = portfolio.TransferIn, other.account
	case choice == 9 && g.rich && endOf(g.history).Before(d):
		row.Account = "A" // two accounts that tell a split within a week tell the same one
		row.Action, row.Quantity = portfolio.Split, portfolio.NewDecimal(int64(2+g.IntN(2)), 0)
		ratio := 2
		if row.Quantity.Cmp(portfolio.NewDecimal(3, 0)) == 0 {
			ratio = 3
		}
		for p := range g.held {
			if p.symbol == at.symbol {
				g.held[p] *= ratio
			}
		}
	case g.bought[at.account+at.symbol+d.String()]:
		return
	default:
		n := 1 + g.IntN(20)
		g.held[at] += n
		g.bought[at.account+at.symbol+d.String()] = true
		row.Action, row.Quantity = portfolio.Buy, g.shares(n)
		if g.IntN(4) == 0 {
			row.Action = portfolio.Reinvest
		}
	}
	g.history = append(g.history, row)
}

func (g *generator) shares(n int) portfolio.Decimal {
	return portfolio.NewDecimal(int64(n), 0).Over(portfolio.NewDecimal(int64(g.fraction), 0), 4)
}

func lines(history []portfolio.Transaction) string {
	var b strings.Builder
	for _, t := range history {
		fmt.Fprintf(&b, "%s %s %s %s %s %s\n", t.Date, t.Account, t.Action, t.Symbol, t.Quantity, t.Price)
	}
	return b.String()
}

func endOf(history []portfolio.Transaction) (end portfolio.Date) {
	for _, t := range history {
		if t.Date.After(end) {
			end = t.Date
		}
	}
	return end
}

// count returns how many histories there are: with -short fewer.
func count() int {
	if testing.Short() {
		return min(*histories, 500)
	}
	return *histories
}

// forHistories runs a property over generated histories, and shows the first that breaks it.
func forHistories(t *testing.T, rich bool, property func(history []portfolio.Transaction) string) {
	t.Helper()
	for seed := range uint64(count()) {
		history := generate(seed, rich, []int{1, 8}[seed%2])
		if wrong := property(history); wrong != "" {
			t.Fatalf("seed %d: %s\n%s", seed, wrong, lines(history))
		}
	}
}

func sum[T any](list []T, of func(T) portfolio.Decimal) (total portfolio.Decimal) {
	for _, x := range list {
		total = total.Add(of(x))
	}
	return total
}

// What came in is sold or still there.
func TestQuantityIsConserved(t *testing.T) {
	forHistories(t, true, func(history []portfolio.Transaction) string {
		want := map[place]portfolio.Decimal{}
		for _, row := range history {
			at := place{row.Account, row.Symbol}
			switch row.Action {
			case portfolio.Sell, portfolio.TransferOut:
				want[at] = want[at].Sub(row.Quantity)
			case portfolio.Split:
				for p := range want {
					if p.symbol == row.Symbol {
						want[p] = want[p].Mul(row.Quantity)
					}
				}
			default:
				want[at] = want[at].Add(row.Quantity)
			}
		}
		b := Build(history, household, endOf(history))
		for _, p := range b.Positions {
			at := place{p.Account, p.Symbol}
			if p.Quantity.Cmp(want[at]) != 0 || p.InLots.Cmp(want[at]) != 0 {
				return fmt.Sprintf("%v: %s, %s in lots, want %s", at, p.Quantity, p.InLots, want[at])
			}
			delete(want, at)
		}
		for at, q := range want {
			if !q.IsZero() {
				return fmt.Sprintf("%v: none, want %s", at, q)
			}
		}
		return ""
	})
}

func taxable(account string) bool { return account == "A" || account == "C" }

// What was paid, and what losses moved into bases, is in the bases of what was sold and of what is
// still there.
func TestBasisIsConserved(t *testing.T) {
	forHistories(t, true, func(history []portfolio.Transaction) string {
		b := Build(history, household, endOf(history))
		paid := sum(history, func(t portfolio.Transaction) (none portfolio.Decimal) {
			if taxable(t.Account) && (t.Action == portfolio.Buy || t.Action == portfolio.Reinvest) {
				return t.Cost()
			}
			return none
		})
		deferred := sum(b.Disposals, func(d Disposal) portfolio.Decimal { return d.Disallowed.Sub(d.Permanent) })
		out := sum(b.Disposals, func(d Disposal) portfolio.Decimal { return d.Basis })
		open := sum(b.Lots, func(l Lot) (none portfolio.Decimal) {
			if taxable(l.Account) {
				return l.Basis
			}
			return none
		})
		if in, left := paid.Add(deferred), out.Add(open); in.Cmp(left) != 0 {
			return fmt.Sprintf("%s paid and %s deferred in, %s out and %s open", paid, deferred, out, open)
		}
		return ""
	})
}

// What a loss comes to is allowed, deferred or lost for good; what is deferred is what bases got.
func TestLossIsConserved(t *testing.T) {
	forHistories(t, true, func(history []portfolio.Transaction) string {
		b := Build(history, household, endOf(history))
		for _, d := range b.Disposals {
			loss := d.Gain().Neg()
			if loss.Sign() < 0 {
				loss = portfolio.Decimal{}
			}
			deferred := sum(d.Washes, func(w Wash) (none portfolio.Decimal) {
				if w.Permanent || w.Unsettled {
					return none
				}
				return w.Loss
			})
			allowed := loss.Sub(d.Disallowed)
			if allowed.Cmp(d.Unsettled) < 0 || deferred.Add(d.Permanent).Cmp(d.Disallowed) != 0 || allowed.Add(deferred).Add(d.Permanent).Cmp(loss) != 0 {
				return fmt.Sprintf("%+v", d)
			}
		}
		return ""
	})
}

// Rows and lots that are put together come to the same.
func TestRowsAreTheSame(t *testing.T) {
	forHistories(t, true, func(history []portfolio.Transaction) string {
		b := Build(history, household, endOf(history))
		type key struct {
			sale, purchase int
			long, loss     bool
		}
		seen := map[key]bool{}
		for _, d := range b.Rows() {
			k := key{d.Sale, d.Purchase, d.Long(), d.atLoss()}
			if lost := d.Gain().Neg(); d.Disallowed.Sign() > 0 && d.Disallowed.Cmp(lost) > 0 {
				return fmt.Sprintf("more is disallowed than was lost: %+v", d)
			}
			if seen[k] {
				return fmt.Sprintf("two rows of %+v", k)
			}
			seen[k] = true
		}
		for _, of := range []func(Disposal) portfolio.Decimal{
			func(d Disposal) portfolio.Decimal { return d.Quantity }, func(d Disposal) portfolio.Decimal { return d.Proceeds },
			func(d Disposal) portfolio.Decimal { return d.Basis }, func(d Disposal) portfolio.Decimal { return d.Disallowed },
			func(d Disposal) portfolio.Decimal { return d.Permanent },
		} {
			if sum(b.Rows(), of).Cmp(sum(b.Disposals, of)) != 0 {
				return "rows and disposals differ"
			}
		}
		for _, of := range []func(Lot) portfolio.Decimal{
			func(l Lot) portfolio.Decimal { return l.Quantity }, func(l Lot) portfolio.Decimal { return l.Basis },
		} {
			if sum(b.LotRows(), of).Cmp(sum(b.Lots, of)) != 0 {
				return "lots and their rows differ"
			}
		}
		return ""
	})
}

// No bought share takes more than one loss away.
func TestShareReplacesOnce(t *testing.T) {
	forHistories(t, false, func(history []portfolio.Transaction) string {
		left := map[string]portfolio.Decimal{}
		for _, row := range history {
			if row.Action != portfolio.Sell {
				left[row.Account+row.Symbol+row.Date.String()] = row.Quantity
			}
		}
		for _, d := range Build(history, household, endOf(history)).Disposals {
			for _, w := range d.Washes {
				key := w.Account + w.Symbol + w.Bought.String()
				if left[key] = left[key].Sub(w.Quantity); left[key].Sign() < 0 {
					return fmt.Sprintf("%+v takes more than was bought", w)
				}
				if abs(w.Bought.Sub(d.Sold)) > 30 || w.Symbol != d.Symbol {
					return fmt.Sprintf("%+v does not replace %+v", w, d)
				}
			}
		}
		return ""
	})
}

// A history in which one share is two, from some day on, comes to the same money.
func TestSplitChangesNothing(t *testing.T) {
	two := portfolio.NewDecimal(2, 0)
	forHistories(t, false, func(history []portfolio.Transaction) string {
		day := history[len(history)/2].Date
		split := []portfolio.Transaction{{Date: day, Account: "A", Action: portfolio.Split, Symbol: "X", Quantity: two}}
		for _, row := range history {
			if row.Symbol == "X" && !row.Date.Before(day) {
				row.Quantity, row.Price = row.Quantity.Mul(two), row.Price.Mul(portfolio.NewDecimal(5, -1))
			}
			split = append(split, row)
		}
		plain, other := Build(history, household, endOf(history)), Build(split, household, endOf(history))
		money := func(b *Book) (list []string) {
			for _, d := range b.Disposals {
				list = append(list, fmt.Sprintf("%s %s %s %s %s %s %s %v", d.Account, d.Symbol, d.Sold, d.Proceeds, d.Basis, d.Disallowed, d.Permanent, d.Long()))
			}
			for _, l := range b.Lots {
				list = append(list, fmt.Sprintf("%s %s %s %s %s", l.Account, l.Symbol, l.Acquired, l.HoldingSince, l.Basis))
			}
			return list
		}
		return cmp.Diff(money(plain), money(other))
	})
}

// The order of rows makes no difference.
func TestOrderMakesNoDifference(t *testing.T) {
	shuffle := rand.New(rand.NewPCG(7, 7))
	forHistories(t, true, func(history []portfolio.Transaction) string {
		want := Build(history, household, endOf(history))
		other := slices.Clone(history)
		shuffle.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		got := Build(other, household, endOf(history))
		return cmp.Diff(gainLines(want), gainLines(got)) + cmp.Diff(lotLines(want), lotLines(got))
	})
}

// What is more than 30 days past does not change with what comes after.
func TestPastStays(t *testing.T) {
	forHistories(t, true, func(history []portfolio.Transaction) string {
		cut := history[len(history)/2].Date
		settled := func(b *Book) (list []string) {
			for i, d := range b.Disposals {
				if d.Sold.Before(cut.Add(-WashDays)) {
					list = append(list, gainLines(b)[i])
				}
			}
			return list
		}
		return cmp.Diff(settled(Build(history, household, cut)), settled(Build(history, household, endOf(history))))
	})
}

// If a lot were sold now, what would be washed is what is washed when it is sold now.
func TestIfSold(t *testing.T) {
	washed := 0
	forHistories(t, true, func(history []portfolio.Transaction) string {
		end := endOf(history).Add(1)
		b := Build(history, household, end)
		for _, l := range b.Lots {
			if l.Account != "A" || l.HoldingSince != l.Acquired {
				continue
			}
			loss := l.Basis
			sale := portfolio.Transaction{Date: end, Account: "A", Action: portfolio.Sell, Symbol: l.Symbol, Quantity: l.Quantity, Note: "lot:" + l.Acquired.String()}
			sold := Build(append(slices.Clone(history), sale), household, end)
			d := sold.Disposals[len(sold.Disposals)-1]
			if d.Basis.Cmp(loss) != 0 {
				continue // another piece of the same purchase went
			}
			got := b.IfSold(Sale{l, loss})[0]
			washed += len(got)
			if diff := cmp.Diff(fmt.Sprint(d.Washes), fmt.Sprint(got)); diff != "" {
				return fmt.Sprintf("%+v: %s", l, diff)
			}
		}
		return ""
	})
	if washed < count()/10 {
		t.Errorf("only %d washes", washed)
	}
}
