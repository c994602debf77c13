package lots

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// An event is a transaction in the order in which it takes effect. A transfer between two
// accounts of the household is one event, with the account it goes to.
type event struct {
	*portfolio.Transaction
	date  portfolio.Date
	row   int32 // its place in the history, or in the day
	owner bool  // it is the owner's row, and no company's decision
	done  bool
	more  *more // of few events, so that the others are quick to put in order
	lot   *lot  // what a purchase brings, before its row has come
}

// more is what other rows say of an event.
type more struct {
	to   string            // the account that a transfer goes to
	cost portfolio.Decimal // what its arriving side says the shares cost
	said bool              // it says so
	date portfolio.Date    // of its arriving side
	row  int32             // and its row
	odd  []string          // what other accounts tell of the same decision
}

// events puts a history up to a day in order: by day, what companies decide first, then as the rows
// come. Where all rows of an owner, of one day, account and symbol, have a time, they come by it.
// What can't be put together is a problem.
func events(history []portfolio.Transaction, asOf portfolio.Date) ([]event, []Problem) {
	list := make([]event, 0, len(history))
	for i := range history {
		t := &history[i]
		if t.Date.After(asOf) || t.Action == portfolio.Dividend {
			continue
		}
		list = append(list, event{Transaction: t, date: t.Date, row: int32(i), owner: !decided(t.Action)})
	}
	slices.SortFunc(list, compare)
	byTime(list)
	list, problems := pairTransfers(mergeDecisions(list))
	return slices.DeleteFunc(list, func(e event) bool { return e.Transaction == nil }), problems
}

// decided tells of an action that a company decides.
func decided(a portfolio.Action) bool {
	return a == portfolio.Split || a == portfolio.Rename || a == portfolio.Spinoff || a == portfolio.Merger || a == portfolio.ReturnOfCapital
}

func compare(a, b event) int {
	if c := a.date.Compare(b.date); c != 0 {
		return c
	}
	if a.owner != b.owner {
		if b.owner {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.row, b.row)
}

// days goes through the events day by day.
func days(list []event, visit func(day []event)) {
	for first := 0; first < len(list); {
		last := first + 1
		for last < len(list) && list[last].date == list[first].date {
			last++
		}
		visit(list[first:last])
		first = last
	}
}

// byTime orders the owner's rows of a day, account and symbol that all have a time. They change
// places among themselves; other rows stay where they are.
func byTime(list []event) {
	days(list, func(day []event) {
		if !slices.ContainsFunc(day, func(e event) bool { return !e.Time.IsZero() }) {
			return
		}
		rows := map[place][]int{}
		for i, e := range day {
			if e.owner {
				at := place{e.Account, e.Symbol}
				rows[at] = append(rows[at], i)
			}
		}
		for _, at := range rows {
			if slices.ContainsFunc(at, func(i int) bool { return day[i].Time.IsZero() }) {
				continue
			}
			ordered := make([]*portfolio.Transaction, len(at))
			for n, i := range at {
				ordered[n] = day[i].Transaction
			}
			slices.SortStableFunc(ordered, func(a, b *portfolio.Transaction) int { return a.Time.Compare(b.Time) })
			for n, i := range at {
				day[i].Transaction = ordered[n]
			}
		}
	})
}

// splitDays is how far apart two brokers may book the same decision of a company.
const splitDays = 7

// mergeDecisions leaves one of the rows in which several accounts tell the same split, spin-off or
// new name: it is a fact of the symbol, and takes effect everywhere on its first day. No symbol
// splits twice on one day, so rows of one day tell the same, by a broker and by hand, or differ by
// mistake.
func mergeDecisions(list []event) []event {
	type fact struct {
		action       portfolio.Action
		symbol, into string
	}
	type told struct {
		first    int
		accounts map[string]bool
	}
	recent := map[fact][]*told{}
	rows := newRowsOf(list)
	for i, e := range list {
		rows.add(i, e)
		if e.Action != portfolio.Split && e.Action != portfolio.Spinoff && e.Action != portfolio.Rename {
			continue
		}
		key := fact{e.Action, e.Symbol, e.Into}
		recent[key] = slices.DeleteFunc(recent[key], func(t *told) bool { return e.date.Sub(list[t.first].date) > splitDays })
		same := slices.IndexFunc(recent[key], func(t *told) bool {
			first := list[t.first]
			return first.date == e.date || sameDecision(first, e) && !t.accounts[e.Account]
		})
		if same < 0 {
			recent[key] = append(recent[key], &told{i, map[string]bool{e.Account: true}})
			continue
		}
		t := recent[key][same]
		t.accounts[e.Account] = true
		first := &list[t.first]
		if !sameDecision(*first, e) {
			if first.more == nil {
				first.more = &more{}
			}
			first.more.odd = append(first.more.odd, e.terms())
		}
		if e.Action == portfolio.Rename {
			rows.renameLate(t.first, e)
		}
		list[i].Transaction = nil
	}
	return list
}

// renameLate gives the new name to what an account did between the day on which the first account
// told it and its own.
func (r *rowsOf) renameLate(first int, told event) {
	at := place{told.Account, told.Symbol}
	into := r.at[place{told.Account, told.Into}]
	late, _ := slices.BinarySearch(r.at[at], first+1)
	for _, i := range r.at[at][late:] {
		if r.list[i].Transaction != nil {
			renamed := *r.list[i].Transaction
			renamed.Symbol = told.Into
			r.list[i].Transaction = &renamed
			into = append(into, i)
		}
	}
	r.at[at] = r.at[at][:late]
	slices.Sort(into)
	r.at[place{told.Account, told.Into}] = into
}

// rowsOf are the rows of each account and symbol that have been seen, if a symbol has a new name.
type rowsOf struct {
	list []event
	at   map[place][]int
}

func newRowsOf(list []event) *rowsOf {
	if !slices.ContainsFunc(list, func(e event) bool { return e.Action == portfolio.Rename }) {
		return nil
	}
	return &rowsOf{list, map[place][]int{}}
}

func (r *rowsOf) add(i int, e event) {
	if r != nil {
		r.at[place{e.Account, e.Symbol}] = append(r.at[place{e.Account, e.Symbol}], i)
	}
}

// terms are what a decision says, in words.
func (e event) terms() string {
	if e.Action == portfolio.Spinoff {
		return fmt.Sprintf("%s for one with %s of the cost", e.Ratio, e.BasisShare)
	}
	return e.Quantity.String()
}

func sameDecision(a, b event) bool {
	return alike(a.Quantity, b.Quantity) && alike(a.Ratio, b.Ratio) && alike(a.BasisShare, b.BasisShare) || a.Action == portfolio.Rename
}

// alike tells whether two ratios are the same but for how they were rounded.
func alike(a, b portfolio.Decimal) bool {
	return a.Cmp(b) == 0 || a.Sub(b).Abs().Mul(portfolio.NewDecimal(1000, 0)).Cmp(a) < 0
}

// transferDays is how long shares may be on their way between two brokers.
const transferDays = 21

// A pairing finds the two sides of transfers between accounts of the household.
type pairing struct {
	list  []event
	ins   map[string][]int // the arriving rows of a symbol, by day
	outs  map[string][]int
	extra []event
	moved bool
	work  int // rows looked at so far
	over  *Problem
}

// mostPairing is how many rows are looked at for other sides of transfers: more than any household
// moves, and little enough that no file takes minutes.
const mostPairing = 20_000_000

// tooMuch tells whether more was looked at than that, and keeps where it ended.
func (p *pairing) tooMuch(i int) bool {
	if p.work <= mostPairing {
		return false
	}
	if e := p.list[i]; p.over == nil {
		p.over = &Problem{e.date, e.Account, e.Symbol,
			"there are more transfers than can be put together: this one and others that may be between accounts of the household are taken as from and to outside of it"}
	}
	return true
}

// pairTransfers makes one event of the two rows of a transfer between accounts of the household:
// the same shares leave one account and come to another within some days, at once or in parts. It
// takes effect on the earlier day, so that shares are never in two places or in none.
func pairTransfers(list []event) ([]event, []Problem) {
	p := &pairing{list: list, ins: map[string][]int{}, outs: map[string][]int{}}
	for i, e := range list {
		switch {
		case e.Transaction == nil:
		case e.Action == portfolio.TransferIn:
			p.ins[e.Symbol] = append(p.ins[e.Symbol], i)
		case e.Action == portfolio.TransferOut:
			p.outs[e.Symbol] = append(p.outs[e.Symbol], i)
		}
	}
	if len(p.ins) == 0 || len(p.outs) == 0 {
		return list, nil
	}
	for i, e := range list {
		if p.open(i, portfolio.TransferOut) {
			if j := p.twin(i, p.ins[e.Symbol]); j >= 0 {
				p.pair(&p.list[i], list[j], list[j].Cost())
				p.list[j].Transaction = nil
			}
		}
	}
	for i, e := range list {
		if p.open(i, portfolio.TransferOut) {
			p.arriveInParts(i, p.parts(i, p.ins[e.Symbol]))
		}
	}
	for i, e := range list {
		if p.open(i, portfolio.TransferIn) {
			p.leaveInParts(i, p.parts(i, p.outs[e.Symbol]))
		}
	}
	var problems []Problem
	if p.over != nil {
		problems = append(problems, *p.over)
	}
	if !p.moved {
		return list, problems
	}
	list = slices.DeleteFunc(append(list, p.extra...), func(e event) bool { return e.Transaction == nil })
	for i := range list {
		if e := &list[i]; e.Action == portfolio.TransferOut && e.more != nil && e.more.date.Before(e.date) {
			e.date, e.row = e.more.date, e.more.row
		}
	}
	slices.SortStableFunc(list, compare)
	return list, problems
}

// open tells of a row of that kind that has no other side yet.
func (p *pairing) open(i int, action portfolio.Action) bool {
	e := p.list[i]
	return e.Transaction != nil && e.Action == action && e.more == nil
}

// near are the open rows of the other side within the window.
func (p *pairing) near(i int, others []int) (list []int) {
	if p.tooMuch(i) {
		return nil
	}
	e := p.list[i]
	first := sort.Search(len(others), func(n int) bool { return !p.list[others[n]].date.Before(e.date.Add(-transferDays)) })
	for _, j := range others[first:] {
		o := p.list[j]
		p.work++
		if o.date.Sub(e.date) > transferDays {
			break
		}
		if o.Transaction != nil && o.more == nil && o.Account != e.Account {
			list = append(list, j)
		}
	}
	return list
}

func (p *pairing) apart(i, j int) int { return abs(p.list[i].Date.Sub(p.list[j].Date)) }

// twin is the nearest row of the other side with as many shares.
func (p *pairing) twin(i int, others []int) int {
	best := -1
	for _, j := range p.near(i, others) {
		if p.list[j].Quantity.Cmp(p.list[i].Quantity) == 0 && (best < 0 || p.apart(i, j) < p.apart(i, best)) {
			best = j
		}
	}
	return best
}

// mostParts is among how many of the nearest rows the parts of a transfer are looked for: each
// more doubles the work.
const mostParts = 12

// parts are rows of the other side that together have as many shares, the nearest first: of one
// account if there are such.
func (p *pairing) parts(i int, others []int) []int {
	near := slices.DeleteFunc(p.near(i, others), func(j int) bool { return p.list[j].Quantity.Cmp(p.list[i].Quantity) >= 0 })
	slices.SortStableFunc(near, func(a, b int) int { return p.apart(i, a) - p.apart(i, b) })
	var tried []string
	for _, j := range near {
		account := p.list[j].Account
		if slices.Contains(tried, account) || len(tried) == mostParts {
			continue
		}
		tried = append(tried, account)
		of := slices.DeleteFunc(slices.Clone(near), func(n int) bool { return p.list[n].Account != account })
		if found := p.fit(of[:min(len(of), mostParts)], p.list[i].Quantity); found != nil {
			return found
		}
	}
	return p.fit(near[:min(len(near), mostParts)], p.list[i].Quantity)
}

// fit is a choice of rows that have exactly so many shares together.
func (p *pairing) fit(rows []int, shares portfolio.Decimal) []int {
	p.work++
	if len(rows) == 0 || shares.Sign() <= 0 {
		return nil
	}
	left := shares.Sub(p.list[rows[0]].Quantity)
	if left.IsZero() {
		return rows[:1]
	}
	if rest := p.fit(rows[1:], left); rest != nil {
		return append([]int{rows[0]}, rest...)
	}
	return p.fit(rows[1:], shares)
}

// pair makes a leaving row one event with its arriving side.
func (p *pairing) pair(out *event, in event, cost portfolio.Decimal) {
	out.more = &more{to: in.Account, cost: cost, said: in.FreeOfCost || !cost.IsZero(), date: in.date, row: in.row}
	p.moved = p.moved || in.date.Before(out.date)
}

// arriveInParts makes one event of each part of what left at once.
func (p *pairing) arriveInParts(i int, parts []int) {
	whole := p.list[i]
	for n, j := range parts {
		part := *whole.Transaction
		part.Quantity = p.list[j].Quantity
		out := whole
		out.Transaction = &part
		p.pair(&out, p.list[j], p.list[j].Cost())
		if n == 0 {
			p.list[i] = out
		} else {
			p.extra, p.moved = append(p.extra, out), true
		}
		p.list[j].Transaction = nil
	}
}

// leaveInParts lets what left in parts arrive at once.
func (p *pairing) leaveInParts(i int, parts []int) {
	if len(parts) == 0 {
		return
	}
	in := p.list[i]
	cost, quantity := in.Cost(), in.Quantity
	for _, j := range parts {
		part := cost.Share(p.list[j].Quantity, quantity)
		cost, quantity = cost.Sub(part), quantity.Sub(p.list[j].Quantity)
		p.pair(&p.list[j], in, part)
	}
	p.list[i].Transaction = nil
}

func abs(n int) int { return max(n, -n) }
