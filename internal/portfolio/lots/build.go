package lots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

type place struct{ account, symbol string }

// A keeper goes through a history and keeps the book.
type keeper struct {
	book      *Book
	accounts  map[string]portfolio.Account
	holdings  map[place]*holding
	bySymbol  map[string][]*holding
	groups    groups
	washing   map[string]*washing // by group
	purchases int
	bought    int // rows that bought something
	sales     int
	rows      map[row]sold // of the sale that is being written down

	day    []event            // the rows of a day
	coming map[place][]*event // those of its rows that bring shares, where one was asked for
	orders map[order]int      // the purchase that an order of the day is

	today    []*loss // of one day: what is sold on it replaces nothing that is sold on it
	losses   []*loss // of all days, with what no purchase washed
	doubtful []purchase
	mergers  []Problem         // where and when a symbol ended
	work     int               // of companies' decisions so far
	renamed  map[string]*event // what made an old name of a name
}

// An order is what several rows of a day can be fills of.
type order struct{ account, symbol, id string }

// Build keeps the book of a history up to and including a day. Rows of different days come in any
// order. Those of one day come in theirs: a sale takes what earlier rows brought.
func Build(history []portfolio.Transaction, rules Rules, asOf portfolio.Date) *Book {
	k := &keeper{
		book:     &Book{AsOf: asOf, Splits: map[string][]Split{}},
		accounts: map[string]portfolio.Account{},
		holdings: map[place]*holding{},
		bySymbol: map[string][]*holding{},
		groups:   newGroups(rules),
		washing:  map[string]*washing{},
		rows:     map[row]sold{},
		orders:   map[order]int{},
		renamed:  map[string]*event{},
	}
	for _, a := range rules.Accounts {
		k.accounts[a.ID] = a
	}
	list, problems := events(history, asOf)
	k.book.Problems = problems
	sales := 0
	for _, e := range list {
		if e.Action == portfolio.Sell {
			sales++
		}
	}
	k.book.Disposals = make([]Disposal, 0, 2*sales) // a sale often takes several lots
	days(list, k.live)
	k.label(asOf.Add(1))
	k.close()
	return k.book
}

// live takes one day: what companies decided, then what was bought on it for the wash-sale rule, which
// knows days alone, then what the owner did, row by row.
func (k *keeper) live(day []event) {
	k.day, k.coming = day, nil
	clear(k.orders)
	for len(day) > 0 && !day[0].owner {
		k.decide(&day[0])
		day = day[1:]
	}
	// Of purchases on one day, those in taxable accounts come first, so that a loss is deferred rather
	// than gone where both could replace it.
	var untaxed []*event
	for i := range day {
		switch e := &day[i]; {
		case !buys(e.Action):
		case k.account(e.Account).Kind == portfolio.Taxable:
			k.buy(e)
		default:
			untaxed = append(untaxed, e)
		}
	}
	for _, e := range untaxed {
		k.buy(e)
	}
	for i := range day {
		k.take(&day[i])
	}
	k.wash()
}

func buys(a portfolio.Action) bool { return a == portfolio.Buy || a == portfolio.Reinvest }

// take does what an owner's row says, once.
func (k *keeper) take(e *event) {
	if e.done {
		return
	}
	e.done = true
	switch e.Action {
	case portfolio.Buy, portfolio.Reinvest:
		if old, ok := k.renamed[e.Symbol]; ok && old.Account != e.Account && e.date.Sub(old.date) <= WashDays {
			k.problem(e, "by account %s, %s has the name %s since %s, and this row has the old name; if it is the same security, write a RENAME for this account too", old.Account, e.Symbol, old.Into, old.date)
		}
		k.holding(e.Account, e.Symbol).place(e.lot)
	case portfolio.Sell:
		h := k.holding(e.Account, e.Symbol)
		taken, _ := k.remove(e, h)
		k.dispose(e, h, taken)
	case portfolio.TransferIn:
		k.arrive(e)
	case portfolio.TransferOut:
		k.leave(e)
	case portfolio.BuyCall:
		k.doubtful = append(k.doubtful, purchase{e.Date, e.Account, e.Symbol, k.account(e.Account).Kind, e.Quantity, true})
	case portfolio.Dividend, portfolio.Split, portfolio.Rename, portfolio.Spinoff, portfolio.Merger, portfolio.ReturnOfCapital:
	}
}

func (k *keeper) problem(e *event, format string, args ...any) {
	k.book.Problems = append(k.book.Problems, Problem{e.Date, e.Account, e.Symbol, fmt.Sprintf(format, args...)})
}

func (k *keeper) account(id string) portfolio.Account {
	if owner, ok := k.accounts[id]; ok {
		return owner
	}
	return portfolio.Unlisted(id)
}

func (k *keeper) holding(account, symbol string) *holding {
	at := place{account, symbol}
	if h, ok := k.holdings[at]; ok {
		return h
	}
	h := &holding{account: k.account(account), symbol: symbol}
	k.holdings[at] = h
	k.bySymbol[symbol] = append(k.bySymbol[symbol], h)
	return h
}

// buy makes the lot of a purchase, which lies nowhere until its row comes. The fills of an order are
// one purchase.
func (k *keeper) buy(e *event) {
	fill := order{e.Account, e.Symbol, e.Order}
	number := k.orders[fill]
	if number == 0 || e.Action != portfolio.Buy {
		k.purchases++
		number = k.purchases
	}
	if e.Order != "" && e.Action == portfolio.Buy {
		k.orders[fill] = number
	}
	e.lot = &lot{bought: e.Date, Lot: Lot{
		Purchase: number, Account: e.Account, Symbol: e.Symbol, Acquired: e.Date, HoldingSince: e.Date,
		Quantity: e.Quantity, Basis: e.Cost(), Reinvested: e.Action == portfolio.Reinvest,
	}}
	k.note(k.account(e.Account).Kind, e.lot)
}

func (k *keeper) checkNamed(e *event, h *holding, day portfolio.Date, naming bool) {
	switch {
	case naming && !h.names(day, e.Quantity):
		k.problem(e, "the note names the lot of %s, which does not have %s shares; the account's method picks the rest", day, e.Quantity)
	case !naming && strings.Contains(strings.ToLower(e.Note), "lot:"):
		k.problem(e, "the note %.60q names no lot that can be read; write lot:YYYY-MM-DD", e.Note)
	}
}

// remove takes the shares of a row out of a holding, and those of them that came in without their
// cost. What earlier rows did not bring, later rows of the day do, and that is said.
func (k *keeper) remove(e *event, h *holding) (taken []*lot, unknown arrivals) {
	odd := false
	day, naming := e.NamedLot()
	if naming && day == e.date {
		for !h.names(day, e.Quantity) && k.bring(e, h, &odd) {
		}
	}
	k.checkNamed(e, h, day, naming)
	taken, unknown, missing := h.take(day, naming, e.Quantity)
	for missing.Sign() > 0 && k.bring(e, h, &odd) {
		var lots []*lot
		var others arrivals
		lots, others, missing = h.take(day, naming, missing)
		taken = append(taken, lots...)
		unknown.add(others...)
	}
	if odd {
		k.problem(e, "some of the %s shares come in by later rows of this day, which are taken to be earlier; put the rows in the order of the day, or give each its time", e.Quantity)
	}
	k.explain(e, unknown, missing)
	if len(h.unknown) > 0 && h.account.Kind == portfolio.Taxable {
		if naming {
			k.doubt(e, h, slices.DeleteFunc(slices.Clone(taken), func(l *lot) bool { return l.Acquired == day }))
		} else {
			k.doubt(e, h, taken)
		}
	}
	return taken, unknown
}

// doubt says that shares of unknown cost which stay may be those that went, and not the lots that
// nobody named.
func (k *keeper) doubt(e *event, h *holding, taken []*lot) {
	if len(taken) == 0 {
		return
	}
	oldest := slices.MinFunc(taken, compareAge)
	switch {
	case h.account.Method == portfolio.HIFO:
		k.problem(e, "%s other shares came in without their cost, which can't be compared, so nobody knows which are the dearest; lots of known cost are taken first; "+toName, h.unknown.total())
	case h.unknown.mayPrecede(oldest.Acquired):
		k.problem(e, "%s other shares that came in without their cost may have been bought before the lot of %s, so nobody knows which of them went; that lot is taken first; "+toName, h.unknown.total(), oldest.Acquired)
	}
}

const toName = "name the lot with a note lot:YYYY-MM-DD, or give the transfer a price and such a note"

// bring does the next of the day's later rows that brings shares to a holding, if there is one. It is
// odd, unless it is a transfer that arrived in an earlier row.
func (k *keeper) bring(e *event, h *holding, odd *bool) bool {
	if k.coming == nil {
		k.coming = map[place][]*event{}
		for i := range k.day {
			switch d := &k.day[i]; {
			case buys(d.Action) || d.Action == portfolio.TransferIn:
				at := place{d.Account, d.Symbol}
				k.coming[at] = append(k.coming[at], d)
			case d.Action == portfolio.TransferOut && d.more != nil:
				at := place{d.more.to, d.Symbol}
				k.coming[at] = append(k.coming[at], d)
			}
		}
	}
	at := place{h.account.ID, h.symbol}
	for len(k.coming[at]) > 0 {
		next := k.coming[at][0]
		k.coming[at] = k.coming[at][1:]
		if next.done {
			continue
		}
		k.take(next)
		*odd = *odd || next.more == nil || next.more.date == e.date && next.more.row > e.row
		return true
	}
	return false
}

// A row is what of a sale is one disposal: shares of one purchase that were held for the same time,
// at a gain or at a loss.
type row struct {
	purchase int
	since    portfolio.Date
	loss     bool
}

type sold struct {
	disposal int
	loss     *loss
}

// write adds what a sale took of a lot to the disposals. If it is alone, the sale took no other.
func (k *keeper) write(d Disposal, alone bool) {
	key := row{d.Purchase, d.HoldingSince, d.atLoss()}
	at, ok := sold{}, false
	if !alone {
		at, ok = k.rows[key]
	}
	if !ok {
		at.disposal = len(k.book.Disposals)
		k.book.Disposals = append(k.book.Disposals, d)
		if key.loss {
			at.loss = &loss{
				disposal: at.disposal, symbol: d.Symbol, purchase: d.Purchase, acquired: d.Acquired, sold: d.Sold, held: d.Sold.Sub(d.HoldingSince),
			}
			k.today = append(k.today, at.loss)
		}
		if !alone {
			k.rows[key] = at
		}
	} else {
		all := &k.book.Disposals[at.disposal]
		all.Quantity, all.Proceeds, all.Basis = all.Quantity.Add(d.Quantity), all.Proceeds.Add(d.Proceeds), all.Basis.Add(d.Basis)
	}
	if key.loss {
		at.loss.shares, at.loss.amount = at.loss.shares.Add(d.Quantity), at.loss.amount.Sub(d.Gain())
	}
}

// dispose writes down what the taken lots were sold for. Of retirement accounts nothing is
// reported.
func (k *keeper) dispose(e *event, h *holding, taken []*lot) {
	if h.account.Kind != portfolio.Taxable {
		return
	}
	k.sales++
	clear(k.rows)
	proceeds, quantity := e.Proceeds(), e.Quantity
	for _, l := range taken {
		part := proceeds.Share(l.Quantity, quantity)
		proceeds, quantity = proceeds.Sub(part), quantity.Sub(l.Quantity)
		k.write(k.disposal(e, l, part, l.Basis), len(taken) == 1)
	}
	k.untold(e, quantity, proceeds)
}

// disposal is what an event took of a lot.
func (k *keeper) disposal(e *event, l *lot, proceeds, basis portfolio.Decimal) Disposal {
	return Disposal{
		Sale: k.sales, Action: e.Action, Purchase: l.Purchase, Account: e.Account, Symbol: e.Symbol, Acquired: l.Acquired, HoldingSince: l.HoldingSince, Sold: e.Date,
		Quantity: l.Quantity, Proceeds: proceeds, Basis: basis,
	}
}

// untold writes down what was paid for shares that no lot explains.
func (k *keeper) untold(e *event, quantity, proceeds portfolio.Decimal) {
	if quantity.Sign() > 0 {
		k.book.Untold = append(k.book.Untold, Untold{e.Account, e.Symbol, e.Date, quantity, proceeds})
	}
}

// explain says what is odd about shares that went and were not in any lot.
func (k *keeper) explain(e *event, unknown arrivals, missing portfolio.Decimal) {
	if len(unknown) > 0 {
		k.problem(e, "%s of the %s shares came in without their cost, so their gain is unknown; give the transfer a price and a note lot:YYYY-MM-DD", unknown.total(), e.Quantity)
	}
	if missing.Sign() > 0 {
		k.problem(e, "%s of the %s shares are not in the history; import what is older (short sales are not tracked)", missing, e.Quantity)
	}
}

// arrive takes in shares from outside the household's accounts. They were not bought now, so they
// replace nothing, unless their note says that they were bought within the window.
func (k *keeper) arrive(e *event) {
	h := k.holding(e.Account, e.Symbol)
	cost := e.Cost()
	day, named := e.NamedLot()
	told := named && !day.After(e.Date)
	if !told {
		day = e.Date
	}
	if cost.IsZero() && !e.FreeOfCost {
		h.unknown.add(arrival{day, told, e.Quantity})
		return
	}
	k.purchases++
	arrived := &lot{Lot: Lot{
		Purchase: k.purchases, Account: e.Account, Symbol: e.Symbol, Acquired: day, HoldingSince: day,
		Quantity: e.Quantity, Basis: cost,
	}}
	if named {
		arrived.bought = day
		k.note(h.account.Kind, arrived)
	}
	h.place(arrived)
}

// leave takes shares out of an account, and into another of the household's as they are.
func (k *keeper) leave(e *event) {
	from := k.holding(e.Account, e.Symbol)
	taken, unknown := k.remove(e, from)
	if e.more == nil {
		return
	}
	to := k.holding(e.more.to, e.Symbol)
	if (from.account.Kind == portfolio.Taxable) != (to.account.Kind == portfolio.Taxable) {
		k.problem(e, "shares went from %s (%s) to %s (%s); a contribution or distribution in kind is not worked out", e.Account, from.account.Kind, e.more.to, to.account.Kind)
	}
	var cost portfolio.Decimal
	for _, l := range taken {
		cost = cost.Add(l.Basis)
	}
	if e.more.said && e.more.cost.Cmp(cost) != 0 {
		k.problem(e, "the shares arrived in %s at a cost of %s; those that left cost %s, which is kept", e.more.to, e.more.cost.Money(), cost.Money())
	}
	for _, l := range taken {
		l.Account, l.gone = e.more.to, false
		to.place(l)
		if to.account.Kind != portfolio.K401 {
			k.remember(l)
		}
		l.from = nil
	}
	to.unknown.add(unknown...)
}

// close writes down what is left.
func (k *keeper) close() {
	b := k.book
	k.checkMergers()
	b.groups, b.recent, b.unknown = k.groups, map[string][]*lot{}, map[place]*holding{}
	b.doubtful = slices.DeleteFunc(k.doubtful, func(p purchase) bool { return p.date.Before(b.AsOf.Add(-WashDays)) })
	for name, w := range k.washing {
		w.recent.walk(b.AsOf.Add(-WashDays), b.AsOf, func(l *lot) (keep, more bool) {
			if l.waits() {
				b.recent[name] = append(b.recent[name], l)
			}
			return true, true
		})
	}
	var open []*lot
	for at, h := range k.holdings {
		quantity, inLots := h.unknown.total(), portfolio.Decimal{}
		for _, s := range h.days {
			for _, l := range s.lots {
				inLots = inLots.Add(l.Quantity)
			}
			open = append(open, s.lots...)
		}
		if len(h.unknown) > 0 {
			b.unknown[at] = h
		}
		if quantity = quantity.Add(inLots); quantity.Sign() > 0 {
			b.Positions = append(b.Positions, Position{at.account, at.symbol, quantity, inLots})
		}
	}
	slices.SortFunc(open, func(x, y *lot) int {
		return cmp.Or(strings.Compare(x.Symbol, y.Symbol), strings.Compare(x.Account, y.Account), x.Acquired.Compare(y.Acquired),
			x.Purchase-y.Purchase, x.HoldingSince.Compare(y.HoldingSince), x.Basis.Cmp(y.Basis), compareAge(x, y))
	})
	b.Lots = make([]Lot, len(open))
	for i, l := range open {
		l.ID = i + 1
		b.Lots[i] = l.Lot
	}
	slices.SortFunc(b.Positions, func(x, y Position) int {
		return cmp.Or(strings.Compare(x.Symbol, y.Symbol), strings.Compare(x.Account, y.Account))
	})
}
