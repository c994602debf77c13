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

var histories = flag.Int("histories", 1_000, "generated histories for each property; 10000 for the full measure")

// kinds of the generated accounts; C is a spouse's, with another method.
var household = Rules{Accounts: []portfolio.Account{
	{ID: "A", Kind: portfolio.Taxable, Method: portfolio.FIFO},
	{ID: "C", Kind: portfolio.Taxable, Method: portfolio.HIFO},
	{ID: "R", Kind: portfolio.IRA, Method: portfolio.FIFO},
	{ID: "K", Kind: portfolio.K401, Method: portfolio.FIFO},
}}

// A generator makes histories that are possible: nothing is sold that is not held. A plain one buys
// and sells, each symbol and account once a day. A rich one does everything, several times a day.
// What a company decides comes on a day before anything else is done.
type generator struct {
	*rand.Rand
	held     map[place]int
	done     map[string]bool
	history  []portfolio.Transaction
	rich     bool
	moved    portfolio.Date    // of the last transfer: one a day
	fraction int               // quantities are whole over this
	renamed  map[string]string // what X, Y and Z are called now, if not so
}

func (g *generator) date() portfolio.Date { return portfolio.NewDate(2023, 11, 1).Add(g.IntN(180)) }

func generate(seed uint64, rich bool, fraction int) []portfolio.Transaction {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), held: map[place]int{}, done: map[string]bool{}, renamed: map[string]string{}, rich: rich, fraction: fraction}
	steps := 4 + g.IntN(20)
	if rich {
		steps *= 2
	}
	dates := make([]portfolio.Date, steps)
	for i := range dates {
		dates[i] = g.date()
		if i > 0 && rich && g.IntN(4) == 0 {
			dates[i] = dates[i-1]
		}
	}
	slices.SortFunc(dates, portfolio.Date.Compare)
	for _, d := range dates {
		g.step(d)
	}
	if rich {
		g.disorder()
	}
	return g.history
}

// disorder gives the rows of some days their times, in which they were made, and puts the rows of some
// days in another order.
func (g *generator) disorder() {
	for first := 0; first < len(g.history); {
		last := first
		for last < len(g.history) && g.history[last].Date == g.history[first].Date {
			last++
		}
		day := g.history[first:last]
		timed, mixed := g.IntN(2) == 0, g.IntN(3) == 0
		for i := range day {
			if timed || g.IntN(3) == 0 {
				day[i].Time = portfolio.NewClock(10, i, 0)
			}
		}
		if mixed && !slices.ContainsFunc(day, func(t portfolio.Transaction) bool { return t.Action == portfolio.TransferOut || decided(t.Action) }) {
			g.Shuffle(len(day), func(i, j int) { day[i], day[j] = day[j], day[i] })
		}
		first = last
	}
}

func (g *generator) step(d portfolio.Date) {
	accounts, symbols := 3, []string{"X", "X", "Y"}
	if g.rich {
		accounts, symbols = 4, []string{"X", "X", "X", "Y", "Z"}
	}
	at := place{household.Accounts[g.IntN(accounts)].ID, g.name(symbols[g.IntN(len(symbols))])}
	row := portfolio.Transaction{Date: d, Account: at.account, Symbol: at.symbol, Price: portfolio.NewDecimal(int64(500+g.IntN(1500)), -2)}
	if g.rich {
		row.Fees = portfolio.NewDecimal(int64(g.IntN(300)), -2)
	}
	switch choice := g.IntN(20); {
	case choice < 8 && g.held[at] > 0:
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
	case choice == 13 && g.rich && g.moved != d: // not on the day of a transfer, whose other side it could be
		n := 1 + g.IntN(20)
		g.held[at], g.moved = g.held[at]+n, d
		row.Action, row.Quantity, row.Price, row.Fees = portfolio.TransferIn, g.shares(n), portfolio.Decimal{}, portfolio.Decimal{}
		if g.IntN(4) == 0 {
			row.Note = "lot:" + g.date().String()
		}
	case choice == 9 && g.rich:
		row.Action, row.Quantity = portfolio.BuyCall, g.shares(1+g.IntN(20))
	case choice < 13 && g.rich && endOf(g.history).Before(d):
		row.Fees = portfolio.Decimal{}
		if !g.decision(&row, at) {
			return
		}
	case !g.rich && g.done[at.account+at.symbol+d.String()]:
		return
	default:
		n := 1 + g.IntN(20)
		g.held[at] += n
		g.done[at.account+at.symbol+d.String()] = true
		row.Action, row.Quantity = portfolio.Buy, g.shares(n)
		if g.IntN(4) == 0 {
			row.Action = portfolio.Reinvest
		} else if g.rich && g.IntN(3) == 0 {
			row.Order = []string{"o1", "o2"}[g.IntN(2)]
			g.history = append(g.history, row)
			g.held[at] += n
			row.Price = row.Price.Add(portfolio.NewDecimal(int64(g.IntN(3)), -2))
		}
	}
	g.history = append(g.history, row)
}

// decision makes what a company decides of a row, if it can. An account's name makes no difference to
// a fact of the symbol; two that tell it within a week tell the same one.
func (g *generator) decision(row *portfolio.Transaction, at place) bool {
	into := g.name([]string{"X", "Y", "Z"}[g.IntN(3)])
	for into == at.symbol {
		into = []string{"X", "Y", "Z"}[g.IntN(3)]
	}
	many := 1 + g.IntN(3)
	price := row.Price
	switch g.IntN(5) {
	case 0:
		row.Account = "A"
		row.Action, row.Quantity = portfolio.Split, portfolio.NewDecimal(int64(many+1), 0)
		for p := range g.held {
			if p.symbol == at.symbol {
				g.held[p] *= many + 1
			}
		}
	case 1:
		row.Account = "A"
		if g.IntN(8) > 0 { // else a name that another had, or has
			into = fmt.Sprintf("N%d", len(g.history))
		}
		for _, symbol := range []string{"X", "Y", "Z"} {
			if g.name(symbol) == at.symbol {
				g.renamed[symbol] = into
			}
		}
		row.Action, row.Into, row.Quantity, row.Price = portfolio.Rename, into, portfolio.Decimal{}, portfolio.Decimal{}
		g.toOther(at.symbol, into, 1)
		for p := range g.held {
			if p.symbol == at.symbol {
				g.held[p] = 0
			}
		}
	case 2:
		row.Account = "A"
		row.Action, row.Into, row.Quantity, row.Price = portfolio.Spinoff, into, portfolio.Decimal{}, portfolio.Decimal{}
		row.Ratio, row.BasisShare = portfolio.NewDecimal(int64(many), 0), portfolio.NewDecimal(int64(1+g.IntN(99)), -2)
		g.toOther(at.symbol, into, many)
	case 3:
		n := g.held[at]
		if n == 0 {
			return false
		}
		row.Action, row.Quantity = portfolio.Merger, g.shares(n)
		g.held[at] = 0
		if g.IntN(3) == 0 {
			return true
		}
		row.Into, row.Ratio, row.Price = into, portfolio.NewDecimal(int64(many), 0), portfolio.Decimal{}
		g.held[place{at.account, into}] += many * n
		if g.IntN(2) == 0 {
			row.Price, row.IntoPrice = price.Mul(portfolio.NewDecimal(int64(1+g.IntN(9)), -1)), portfolio.NewDecimal(int64(1+g.IntN(1000)), -2)
		}
	default:
		if g.held[at] == 0 {
			return false
		}
		row.Action, row.Quantity = portfolio.ReturnOfCapital, g.shares(1+g.IntN(g.held[at]))
		row.Price = price.Mul(portfolio.NewDecimal(int64(1+g.IntN(9)), -1))
	}
	return true
}

// name is what a symbol is called now.
func (g *generator) name(symbol string) string {
	if now, ok := g.renamed[symbol]; ok {
		return now
	}
	return symbol
}

// toOther gives all accounts shares of another symbol.
func (g *generator) toOther(symbol, into string, each int) {
	for _, a := range household.Accounts {
		g.held[place{a.ID, into}] += each * g.held[place{a.ID, symbol}]
	}
}

func (g *generator) shares(n int) portfolio.Decimal {
	return portfolio.NewDecimal(int64(n), 0).Over(portfolio.NewDecimal(int64(g.fraction), 0), 4)
}

func lines(history []portfolio.Transaction) string {
	var b strings.Builder
	for _, t := range history {
		fmt.Fprintf(&b, "%s %s %s %s %s %s %s %s %s %s %s %s %s %s\n", t.Date, t.Time, t.Account, t.Action, t.Symbol, t.Quantity, t.Price, t.Fees, t.Note, t.Order, t.Into, t.Ratio, t.BasisShare, t.IntoPrice)
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
		return min(*histories, 300)
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

// What came in is sold or still there, under whatever name, and as many as companies made of it.
func TestQuantityIsConserved(t *testing.T) {
	forHistories(t, true, func(history []portfolio.Transaction) string {
		want := map[place]portfolio.Decimal{}
		for _, row := range inOrder(history) {
			at := place{row.Account, row.Symbol}
			switch row.Action {
			case portfolio.Sell, portfolio.TransferOut:
				want[at] = want[at].Sub(row.Quantity)
			case portfolio.Buy, portfolio.Reinvest, portfolio.TransferIn:
				want[at] = want[at].Add(row.Quantity)
			case portfolio.Merger:
				want[at] = want[at].Sub(row.Quantity)
				at.symbol = row.Into
				want[at] = want[at].Add(row.Quantity.Mul(row.Ratio))
			case portfolio.Split, portfolio.Rename, portfolio.Spinoff:
				for _, a := range household.Accounts {
					old, other := place{a.ID, row.Symbol}, place{a.ID, row.Into}
					switch row.Action {
					case portfolio.Split:
						want[old] = want[old].Mul(row.Quantity)
					case portfolio.Rename:
						want[old], want[other] = portfolio.Decimal{}, want[other].Add(want[old])
					default:
						want[other] = want[other].Add(want[old].Mul(row.Ratio))
					}
				}
			case portfolio.Dividend, portfolio.ReturnOfCapital, portfolio.BuyCall:
			}
		}
		b := Build(history, household, endOf(history))
		for _, p := range b.Positions {
			at := place{p.Account, p.Symbol}
			inLots := sum(b.Lots, func(l Lot) (none portfolio.Decimal) {
				if l.Account == p.Account && l.Symbol == p.Symbol {
					return l.Quantity
				}
				return none
			})
			if p.Quantity.Cmp(want[at]) != 0 || p.InLots.Cmp(inLots) != 0 {
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
// still there, or was paid back as capital. Of that, what is beyond the basis is a gain.
func TestBasisIsConserved(t *testing.T) {
	forHistories(t, true, func(history []portfolio.Transaction) string {
		b := Build(history, household, endOf(history))
		if slices.ContainsFunc(b.Problems, func(p Problem) bool { return strings.Contains(p.Text, "nobody knows whether the payment") }) {
			return "" // what was paid back on shares of unknown cost is in no basis
		}
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
		returned := sum(history, func(t portfolio.Transaction) (none portfolio.Decimal) {
			if taxable(t.Account) && t.Action == portfolio.ReturnOfCapital {
				return t.Proceeds()
			}
			return none
		}).Sub(sum(b.Disposals, func(d Disposal) (none portfolio.Decimal) {
			if d.Action == portfolio.ReturnOfCapital {
				return d.Proceeds
			}
			return none
		}))
		if in, left := paid.Add(deferred), out.Add(open).Add(returned); in.Cmp(left) != 0 {
			return fmt.Sprintf("%s paid and %s deferred in, %s out, %s returned and %s open", paid, deferred, out, returned, open)
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

// The order of days makes no difference, nor that of rows that have a time.
func TestOrderMakesNoDifference(t *testing.T) {
	shuffle := rand.New(rand.NewPCG(7, 7))
	forHistories(t, true, func(history []portfolio.Transaction) string {
		want := Build(history, household, endOf(history))
		var other []portfolio.Transaction
		for _, i := range shuffle.Perm(400) {
			d := portfolio.NewDate(2023, 11, 1).Add(i)
			for _, row := range history {
				if row.Date == d {
					other = append(other, row)
				}
			}
		}
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
			if l.Account != "A" || l.HoldingSince != l.Acquired || l.Basis.IsZero() {
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
