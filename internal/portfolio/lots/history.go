package lots

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// An event is a transaction in the order in which it takes effect. A transfer between two
// accounts of the household is one event, with the account it goes to.
type event struct {
	*portfolio.Transaction
	date portfolio.Date
	rank int32
	more *more // of few events, so that the others are quick to put in order
}

// more is what other rows say of an event.
type more struct {
	to   string              // the account that a transfer goes to
	cost portfolio.Decimal   // what its arriving side says the shares cost, if it does
	odd  []portfolio.Decimal // ratios that other accounts tell of the same split
}

// events puts a history up to a day in order. Rows of one day and kind are ordered by what they
// say, so that the order of a file's rows makes no difference; of purchases, those in taxable
// accounts come first, so that a loss is deferred rather than gone where both could replace it.
func events(history []portfolio.Transaction, asOf portfolio.Date, untaxed map[string]bool) []event {
	rank := map[portfolio.Action]int32{}
	for i, action := range portfolio.Actions() {
		rank[action] = 2 * int32(i)
	}
	rank[portfolio.Reinvest] = rank[portfolio.Buy]
	list := make([]event, 0, len(history))
	for i := range history {
		t := &history[i]
		if t.Date.After(asOf) || t.Action == portfolio.Dividend {
			continue
		}
		e := event{Transaction: t, date: t.Date, rank: rank[t.Action]}
		if e.rank == rank[portfolio.Buy] && untaxed[t.Account] {
			e.rank++
		}
		list = append(list, e)
	}
	slices.SortFunc(list, compare)
	return slices.DeleteFunc(pairTransfers(mergeSplits(list)), func(e event) bool { return e.Transaction == nil })
}

func compare(a, b event) int {
	if c := a.date.Compare(b.date); c != 0 {
		return c
	}
	if c := cmp.Compare(a.rank, b.rank); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(a.Symbol, b.Symbol), strings.Compare(a.Account, b.Account),
		a.Price.Cmp(b.Price), a.Quantity.Cmp(b.Quantity), a.Fees.Cmp(b.Fees), a.Amount.Cmp(b.Amount), strings.Compare(a.Note, b.Note))
}

// splitDays is how far apart two brokers may book the same split.
const splitDays = 7

// mergeSplits leaves one of the rows in which several accounts tell the same split: a split is a
// fact of the symbol, and takes effect everywhere on its first day. No symbol splits twice on one
// day, so rows of one day tell the same one, by a broker and by hand, or differ by mistake.
func mergeSplits(list []event) []event {
	type told struct {
		first    int
		accounts []string
	}
	recent := map[string][]*told{}
	for i, e := range list {
		if e.Action != portfolio.Split {
			continue
		}
		recent[e.Symbol] = slices.DeleteFunc(recent[e.Symbol], func(t *told) bool { return e.date.Sub(list[t.first].date) > splitDays })
		same := slices.IndexFunc(recent[e.Symbol], func(t *told) bool {
			first := list[t.first]
			return first.date == e.date || alike(first.Quantity, e.Quantity) && !slices.Contains(t.accounts, e.Account)
		})
		if same < 0 {
			recent[e.Symbol] = append(recent[e.Symbol], &told{i, []string{e.Account}})
			continue
		}
		t := recent[e.Symbol][same]
		t.accounts = append(t.accounts, e.Account)
		if first := &list[t.first]; !alike(first.Quantity, e.Quantity) {
			if first.more == nil {
				first.more = &more{}
			}
			first.more.odd = append(first.more.odd, e.Quantity)
		}
		list[i].Transaction = nil
	}
	return list
}

// alike tells whether two ratios are the same but for how they were rounded.
func alike(a, b portfolio.Decimal) bool {
	return a.Sub(b).Abs().Mul(portfolio.NewDecimal(1000, 0)).Cmp(a) < 0
}

// transferDays is how long shares may be on their way between two brokers.
const transferDays = 21

// pairTransfers makes one event of the two rows of a transfer between accounts of the household:
// the same shares leave one account and come to another within some days. It takes effect on the
// earlier day, so that shares are never in two places or in none.
func pairTransfers(list []event) []event {
	type shares struct{ symbol, quantity string }
	arrivals := map[shares][]int{}
	for i, e := range list {
		if e.Transaction != nil && e.Action == portfolio.TransferIn {
			key := shares{e.Symbol, e.Quantity.String()}
			arrivals[key] = append(arrivals[key], i)
		}
	}
	if len(arrivals) == 0 {
		return list
	}
	moved := false
	for i, e := range list {
		if e.Transaction == nil || e.Action != portfolio.TransferOut {
			continue
		}
		best, bestDays := -1, transferDays+1
		for _, j := range arrivals[shares{e.Symbol, e.Quantity.String()}] {
			in := list[j]
			if in.Transaction == nil || in.Account == e.Account { // taken, or no transfer
				continue
			}
			if days := abs(in.Date.Sub(e.Date)); days < bestDays {
				best, bestDays = j, days
			}
		}
		if best < 0 {
			continue
		}
		in := list[best]
		list[i].more = &more{to: in.Account, cost: in.Cost()}
		if in.date.Before(e.date) {
			list[i].date, moved = in.date, true
		}
		list[best].Transaction = nil
	}
	if !moved {
		return list
	}
	list = slices.DeleteFunc(list, func(e event) bool { return e.Transaction == nil })
	slices.SortStableFunc(list, compare)
	return list
}

func abs(n int) int { return max(n, -n) }
