// Package beancount writes a portfolio's history as a file of beancount, so that people can go on
// there: accounts, commodities, purchases as lots, sales of named lots, dividends, transfers and what
// companies decided. It is a function from a history to a text.
//
// A cost is what was paid: losses that wash sales moved into a basis are not in it, because no
// transaction paid them. What a sale lost to the rule is told beside it. What nobody could read, and
// what the history does not explain, is a comment.
package beancount

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/lots"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Input is what is written.
type Input struct {
	AsOf    portfolio.Date
	History []portfolio.Transaction // up to AsOf; rows of one day in their order
	Book    *lots.Book              // of it: which lots were sold
	Rules   lots.Rules
	Unread  []portfolio.Unread
}

// Write writes the whole file.
func Write(w io.Writer, in Input) error {
	x := &exporter{
		Input: in, names: newNames(), methods: map[string]portfolio.Method{}, held: map[place][]*lot{}, lots: map[place]portfolio.Decimal{}, unknown: map[place]portfolio.Decimal{},
		sold: map[sale][]lots.Disposal{}, untold: map[sale]portfolio.Decimal{}, paid: map[place][]portfolio.Date{}, done: map[*portfolio.Transaction]bool{}, told: map[decision]telling{},
	}
	for _, a := range in.Rules.Accounts {
		x.methods[a.ID] = a.Method
	}
	for _, d := range in.Book.Disposals {
		at := sale{place{d.Account, d.Symbol}, d.Sold, d.Action}
		x.sold[at] = append(x.sold[at], d)
	}
	for _, u := range in.Book.Untold {
		at := sale{place: place{u.Account, u.Symbol}, on: u.Sold}
		x.untold[at] = x.untold[at].Add(u.Quantity)
	}
	for _, t := range in.History {
		if t.Action == portfolio.Dividend {
			at := place{t.Account, t.Symbol}
			x.paid[at] = append(x.paid[at], t.Date)
		}
	}
	x.replay()
	if x.over {
		return errors.New("companies' decisions make more lots or shares than can be written; `portfolio doctor` says which rows are odd")
	}
	var head strings.Builder
	x.header(&head)
	_, err := io.WriteString(w, head.String()+x.out.String())
	return err
}

// A place is one symbol in one account.
type place struct{ account, symbol string }

// A sale is all that left a place on a day for cash.
type sale struct {
	place
	on portfolio.Date
	by portfolio.Action // a sale, or a merger for cash
}

// A lot is what is left of a purchase, under the label that it has in the file.
type lot struct {
	label    string
	acquired portfolio.Date
	quantity portfolio.Decimal
	cost     portfolio.Decimal // of quantity
}

// transit is where shares are between two accounts of the household.
const transit = "\x00transit" // no account is called so

type exporter struct {
	Input
	names   *names
	methods map[string]portfolio.Method
	held    map[place][]*lot
	lots    map[place]portfolio.Decimal // how many shares they have
	unknown map[place]portfolio.Decimal // shares of which nobody knows the cost
	sold    map[sale][]lots.Disposal
	untold  map[sale]portfolio.Decimal // what the book took of shares of unknown cost, whatever took them
	done    map[*portfolio.Transaction]bool
	told    map[decision]telling // another account's row may tell the same
	paid    map[place][]portfolio.Date
	labels  int
	made    int  // lots that companies' decisions made
	over    bool // those, or their shares, are more than can be written
	out     strings.Builder
}

// header says what the file is, and opens all that the transactions used.
func (x *exporter) header(w *strings.Builder) {
	first := x.AsOf
	for _, t := range x.History {
		if t.Date.Before(first) {
			first = t.Date
		}
	}
	fmt.Fprintf(w, "; A portfolio's transactions up to %s. Costs are what was paid, fees included.\n", x.AsOf)
	fmt.Fprintf(w, "; Wash sales are not booked: metadata of a sale says what was disallowed of its loss.\n")
	fmt.Fprintf(w, "; Deposits and withdrawals are not known, so cash is not what the account has.\n\n")
	fmt.Fprintf(w, "option \"operating_currency\" \"USD\"\noption \"inferred_tolerance_default\" \"USD:0.005\"\n\n")
	for _, n := range x.names.accounts {
		fmt.Fprintf(w, "%s open %s\n", first, n.name)
		if n.of != "" {
			fmt.Fprintf(w, "  account-id: %s\n", quoted(n.of))
		}
	}
	fmt.Fprintln(w)
	for _, n := range x.names.commodities {
		fmt.Fprintf(w, "%s commodity %s\n  symbol: %s\n", first, n.name, quoted(n.of))
	}
	fmt.Fprintln(w)
	for _, u := range x.Unread {
		x.note(w, "not read: %s", strings.Join(slices.DeleteFunc([]string{u.Date.String(), u.Account, u.Symbol, u.Text, u.Reason}, func(s string) bool { return s == "" }), " | "))
	}
	if len(x.Unread) > 0 {
		fmt.Fprintln(w)
	}
}

// note writes a comment of one line.
func (x *exporter) note(w *strings.Builder, format string, args ...any) {
	fmt.Fprintf(w, "; %s\n", safetext.Escape(fmt.Sprintf(format, args...)))
}

// quoted is a text of a file as a string of beancount.
func quoted(s string) string {
	return `"` + inString.Replace(safetext.Escape(s)) + `"`
}

var inString = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// replay goes through the history by days. On a day, companies' decisions come first. A sale or
// transfer that lacks shares waits for the rest of its day.
func (x *exporter) replay() {
	rows := make([]*portfolio.Transaction, 0, len(x.History))
	for i := range x.History {
		if !x.History[i].Date.After(x.AsOf) {
			rows = append(rows, &x.History[i])
		}
	}
	slices.SortStableFunc(rows, func(a, b *portfolio.Transaction) int {
		return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(decided(a.Action), decided(b.Action)))
	})
	for len(rows) > 0 && !x.over {
		n := 1
		for n < len(rows) && rows[n].Date == rows[0].Date {
			n++
		}
		x.day(rows[:n], rows[n:])
		rows = rows[n:]
	}
}

// decided is the place of a company's decision on its day; an owner's rows come after.
func decided(a portfolio.Action) int {
	order := []portfolio.Action{portfolio.Split, portfolio.Rename, portfolio.Spinoff, portfolio.Merger, portfolio.ReturnOfCapital}
	if i := slices.Index(order, a); i >= 0 {
		return i
	}
	return len(order)
}

func (x *exporter) day(today, later []*portfolio.Transaction) {
	var waiting []*portfolio.Transaction
	for _, t := range today {
		takes := t.Action == portfolio.Sell || t.Action == portfolio.TransferOut
		if takes && x.has(place{t.Account, t.Symbol}).Cmp(t.Quantity) < 0 {
			waiting = append(waiting, t)
			continue
		}
		x.row(t, later, today)
	}
	for _, t := range waiting {
		x.row(t, later, today)
	}
}

// has is how many shares are in a place.
func (x *exporter) has(at place) portfolio.Decimal {
	return x.lots[at].Add(x.unknown[at])
}

func (x *exporter) row(t *portfolio.Transaction, later, today []*portfolio.Transaction) {
	if x.done[t] || x.over {
		return
	}
	x.done[t] = true
	switch t.Action {
	case portfolio.Buy, portfolio.Reinvest:
		x.buy(t)
	case portfolio.Sell:
		x.sell(t, t.Quantity, t.Proceeds())
	case portfolio.Dividend:
		x.dividend(t)
	case portfolio.TransferOut:
		x.leave(t, later, today)
	case portfolio.TransferIn:
		x.arrive(t, later, today)
	case portfolio.Split, portfolio.Rename, portfolio.Spinoff:
		x.everywhere(t)
	case portfolio.Merger:
		x.merge(t)
	case portfolio.ReturnOfCapital:
		x.returnCapital(t)
	default:
		x.note(&x.out, "not told: %s %s in %s: %s of %s is no position here", t.Date, t.Action, t.Account, t.Quantity, t.Symbol)
	}
}

// An entry is a transaction of the file.
type entry struct {
	x     *exporter
	lines []string
}

func (x *exporter) entry(t *portfolio.Transaction) *entry {
	e := &entry{x: x, lines: []string{fmt.Sprintf("%s * %s %s", t.Date, quoted(string(t.Action)), quoted(t.Symbol))}}
	if !t.Time.IsZero() {
		e.meta("time", quoted(t.Time.String()))
	}
	if t.Order != "" {
		e.meta("order", quoted(t.Order))
	}
	if t.Note != "" {
		e.meta("note", quoted(t.Note))
	}
	return e
}

func (e *entry) meta(key, value string) { e.lines = append(e.lines, "  "+key+": "+value) }

func (e *entry) post(account, what string) {
	e.lines = append(e.lines, strings.TrimRight("  "+account+"  "+what, " "))
}

func (e *entry) cash(account string, amount portfolio.Decimal) {
	e.post(e.x.names.account("Assets", account, "Cash"), amount.Money()+" USD")
}

// rest takes what the other postings leave over.
func (e *entry) rest(kind, account, name string) {
	e.post(e.x.names.account(kind, account, name), "")
}

func (e *entry) end() { e.x.out.WriteString(strings.Join(e.lines, "\n") + "\n\n") }

// add puts a lot into an account.
func (e *entry) add(at place, acquired portfolio.Date, quantity, cost portfolio.Decimal) {
	x := e.x
	x.labels++
	l := &lot{fmt.Sprintf("lot-%d", x.labels), acquired, quantity, cost}
	x.held[at], x.lots[at] = append(x.held[at], l), x.lots[at].Add(quantity)
	e.post(x.shares(at), fmt.Sprintf("%s %s %s", quantity, x.names.commodity(at.symbol), l.spec()))
}

// spec is a new lot's cost, day and label: the cost of one share where that can be written out, else
// that of all.
func (l *lot) spec() string {
	const decimals = 6
	if each := l.cost.Over(l.quantity, decimals); each.Mul(l.quantity).Cmp(l.cost) == 0 {
		return fmt.Sprintf("{%s USD, %s, %s}", each.Money(), l.acquired, quoted(l.label))
	}
	return fmt.Sprintf("{{%s USD, %s, %s}}", l.cost.Money(), l.acquired, quoted(l.label))
}

// shares is the account that holds the lots of a place.
func (x *exporter) shares(at place) string {
	if at.account == transit {
		return x.names.fixed("Assets:In-Transit")
	}
	return x.names.account("Assets", at.account, "Shares")
}
