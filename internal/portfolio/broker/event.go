package broker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// learn remembers which ticker a security's name has. Where a company is gone, brokers have a CUSIP
// in its place.
func (r *reading) learn(e entry) {
	name := nameKey(e.name)
	if name == "" || e.symbol == "" || !ticker(e.symbol) || optionSymbol(e.symbol) || e.of != (option{}) {
		return
	}
	if r.tickers == nil {
		r.tickers = map[string]string{}
	}
	if known, ok := r.tickers[name]; ok && known != e.symbol {
		r.tickers[name] = ""
		return
	}
	r.tickers[name] = e.symbol
}

func nameKey(name string) string { return strings.Join(strings.Fields(strings.ToUpper(name)), " ") }

// symbolOf is the ticker of a row's security: its own, or that of the rows with the same name. A
// broker writes what happened behind the name. It is empty if it can't be told.
func (r *reading) symbolOf(e entry) string {
	if e.symbol != "" && ticker(e.symbol) {
		return e.symbol
	}
	const shortest, longest = 2, 20 // words: one may be any company's
	words := strings.Fields(strings.ToUpper(shorten(e.name, maxText)))
	for words = words[:min(len(words), longest)]; len(words) >= shortest; words = words[:len(words)-1] {
		if symbol := r.tickers[strings.Join(words, " ")]; symbol != "" {
			return symbol
		}
	}
	return ""
}

// An event is what a company decided, as the rows of one account tell it: shares that go, shares
// that come, cash.
type event struct {
	does             deed
	rows             []entry
	date             portfolio.Date
	account          string
	old, into        string // symbols, empty if they can't be told
	gone, came, cash portfolio.Decimal
	ratio            portfolio.Decimal // that the file says
	paid             portfolio.Date    // the day of the cash
	both             bool              // shares and cash come, or may come
	mixed            bool              // its rows are those of several events, or contradict each other
}

// settleEvents makes transactions of what companies decided. An event that lacks a figure for right
// books is unread, with what to write.
func (r *reading) settleEvents() {
	type key struct {
		does    deed
		account string
		date    portfolio.Date
	}
	var keys []key
	groups := map[key][]entry{}
	for _, e := range r.events {
		k := key{e.does, e.account, e.date}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], e)
	}
	var events []event
	loose := map[string]bool{} // accounts with shares of a merger for which none went
	for _, k := range keys {
		for _, rows := range r.apart(groups[k]) {
			v := r.eventOf(rows)
			loose[k.account] = loose[k.account] || k.does == merges && v.gone.IsZero() && !v.came.IsZero()
			events = append(events, v)
		}
	}
	for _, v := range events {
		v.both = v.both || loose[v.account] && v.came.IsZero()
		r.settleEvent(v)
	}
}

// apart parts the rows of one day by event. Those that the file numbers are one if they are whole;
// the others are parted by symbol if each part is whole then.
func (r *reading) apart(rows []entry) [][]entry {
	whole, rest := r.wholeBy(rows, func(e entry) string { return e.event })
	if bySymbol, left := r.wholeBy(rest, r.symbolOf); len(left) == 0 {
		return append(whole, bySymbol...)
	}
	return append(whole, rest)
}

// wholeBy parts rows by a key: those that make a whole event together, and the rest.
func (r *reading) wholeBy(rows []entry, by func(entry) string) (whole [][]entry, rest []entry) {
	var keys []string
	parts := map[string][]entry{}
	for _, e := range rows {
		k := by(e)
		if parts[k] == nil {
			keys = append(keys, k)
		}
		parts[k] = append(parts[k], e)
	}
	for _, k := range keys {
		if k != "" && r.eventOf(parts[k]).whole() {
			whole = append(whole, parts[k])
		} else {
			rest = append(rest, parts[k]...)
		}
	}
	return whole, rest
}

// whole tells whether an event has what such events have, so that no other row belongs to it.
func (v event) whole() bool {
	exchanged := !v.gone.IsZero() && !v.came.IsZero()
	switch v.does {
	case merges:
		return exchanged || !v.gone.IsZero() && !v.cash.IsZero()
	case renames:
		return exchanged || v.old != "" && v.into != ""
	case reverses:
		return exchanged || v.ratio.Sign() > 0
	}
	return true
}

func (r *reading) eventOf(rows []entry) event {
	first := rows[0]
	v := event{does: first.does, rows: rows, date: first.date, account: first.account}
	set := func(to *string, symbol string) {
		v.mixed = v.mixed || *to != "" && symbol != "" && *to != symbol
		if symbol != "" {
			*to = symbol
		}
	}
	for _, e := range rows {
		symbol := r.symbolOf(e)
		switch e.quantity.Sign() {
		case -1:
			v.gone = v.gone.Sub(e.quantity)
			set(&v.old, symbol)
		case 1:
			v.came = v.came.Add(e.quantity)
			set(&v.into, symbol)
		}
		set(&v.old, e.from)
		if v.old == "" && e.fromName != "" {
			v.old = r.symbolOf(entry{name: e.fromName})
		}
		if e.ratio.Sign() > 0 {
			v.ratio = e.ratio
		}
		if !e.amount.IsZero() {
			v.paid = e.paid
		}
		v.both = v.both || e.both
		v.mixed = v.mixed || e.amount.Sign() < 0
		v.cash = v.cash.Add(e.amount)
	}
	// Cash without shares is for those that went.
	for _, e := range rows {
		if e.quantity.IsZero() && v.old == "" {
			v.old = r.symbolOf(e)
		}
	}
	return v
}

func (r *reading) settleEvent(v event) {
	switch v.does {
	case merges:
		r.merge(v)
	case renames:
		r.rename(v)
	case reverses:
		r.reverse(v)
	default:
		r.unreadEvent(v, "a spin-off: a part of what the old shares cost goes to the new ones, and no broker's file says how much",
			canonicalLine(v.date, v.account, portfolio.Spinoff, orWord(v.old, "OLD"), "", "", "", "", "", orWord(ratioText(v.ratio), "RATIO"), "BASIS_SHARE", orWord(v.into, "NEW")))
	}
}

func (r *reading) merge(v event) {
	t := portfolio.Transaction{Date: v.date, Account: v.account, Action: portfolio.Merger, Symbol: v.old, Quantity: v.gone}
	ratio, exact := r.eventRatio(v)
	clear := !v.mixed && v.old != "" && v.gone.Sign() > 0
	switch {
	case clear && v.old == v.into && v.gone.Cmp(v.came) == 0 && v.cash.IsZero():
		r.nothing(v, "the shares stay what they were: as many, under the same symbol")
		return
	case clear && v.came.IsZero() && v.cash.Sign() > 0 && !v.both && v.ratio.IsZero():
		if t.Amount = v.cash; !v.paid.IsZero() {
			t.Date = v.paid
		}
		t.Price = perShare(v.cash, v.gone)
		r.event(v, t)
		return
	case clear && v.cash.IsZero() && !v.both && v.into != "" && v.old != v.into && exact:
		t.Into, t.Ratio = v.into, ratio
		r.event(v, t)
		r.fraction(v, ratio)
		return
	}
	var price, shares, into, worth string
	quantity := "QUANTITY"
	if v.gone.Sign() > 0 {
		quantity = v.gone.String()
	}
	if v.came.IsZero() || v.both || !v.cash.IsZero() {
		price = "PRICE"
		if v.gone.Sign() > 0 && v.cash.Sign() > 0 {
			price = perShare(v.cash, v.gone).String()
		}
	}
	if !v.came.IsZero() || v.both || v.gone.IsZero() && v.cash.IsZero() {
		shares, into = "RATIO", orWord(v.into, "NEW")
		if exact {
			shares = ratioText(ratio)
		}
		if price != "" {
			worth = "INTO_PRICE"
		}
	}
	why := "a merger, and its rows lack a figure"
	if worth != "" {
		why = "a merger for shares and cash: the gain depends on what a new share was worth on that day, which the file does not say"
	}
	r.unreadEvent(v, why, canonicalLine(v.date, v.account, portfolio.Merger, orWord(v.old, "OLD"), quantity, price, "", "", "", shares, "", into, worth))
}

func perShare(amount, shares portfolio.Decimal) portfolio.Decimal {
	const decimals = 6
	return amount.Over(shares, decimals)
}

func ratioText(ratio portfolio.Decimal) string {
	if ratio.Sign() <= 0 {
		return ""
	}
	return ratio.String()
}

// eventRatio is how many new shares came for one old. It is exact if the file says it, or if the
// shares tell it and no fraction of one was paid out. Whole shares tell a simple ratio alone: 24 for 100
// may be 0.2425 for one, and the rest is paid out days later, in the next file.
func (r *reading) eventRatio(v event) (ratio portfolio.Decimal, exact bool) {
	if v.gone.Sign() <= 0 || v.came.Sign() <= 0 {
		return v.ratio, false
	}
	if v.ratio.Sign() > 0 {
		left := v.left(v.ratio)
		return v.ratio, left.Sign() >= 0 && left.Cmp(portfolio.NewDecimal(1, 0)) < 0
	}
	const decimals = 6 // companies say no more
	ratio = v.came.Over(v.gone, decimals)
	if whole(v.came) && !simpleRatio(v.came, v.gone) {
		return ratio, false
	}
	return ratio, ratio.Mul(v.gone).Cmp(v.came) == 0 && !r.inLieu[position{v.account, v.old}] && !r.inLieu[position{v.account, v.into}]
}

// simpleRatio tells whether shares came one, two, ... for one old, or for two up to ten.
func simpleRatio(came, gone portfolio.Decimal) bool {
	const most = 10
	for d := int64(1); d <= most; d++ {
		scaled := came.Mul(portfolio.NewDecimal(d, 0))
		if n := scaled.Over(gone, 0); n.Sign() > 0 && n.Cmp(portfolio.NewDecimal(most, 0)) <= 0 && gone.Mul(n).Cmp(scaled) == 0 {
			return true
		}
	}
	return false
}

// left is how many shares should have come beyond those that did, to what brokers count by.
func (v event) left(ratio portfolio.Decimal) portfolio.Decimal {
	const decimals = 3
	return v.gone.Mul(ratio).Sub(v.came).Round(decimals)
}

// fraction says that a part of a share was paid out, if so many came that one was.
func (r *reading) fraction(v event, ratio portfolio.Decimal) {
	left := v.left(ratio)
	if v.gone.IsZero() || v.came.IsZero() || left.Sign() <= 0 {
		return
	}
	e := v.rows[0]
	e.symbol = v.into
	r.doubt(e, fmt.Sprintf("%s of a share did not come, and was paid out; write it in canonical form, where PRICE is what one share was paid at: %s",
		left, canonicalLine(v.date, v.account, portfolio.Sell, v.into, left.String(), "PRICE")))
}

func (r *reading) rename(v event) {
	if v.gone.IsZero() && v.old != "" {
		v.gone = v.came
	}
	switch {
	case !v.mixed && v.old != "" && v.old == v.into && v.gone.Cmp(v.came) == 0:
		r.nothing(v, "the name changed, or the number behind it; the symbol did not")
	case !v.mixed && v.old != "" && v.into != "" && v.gone.Cmp(v.came) == 0 && v.cash.IsZero():
		r.event(v, portfolio.Transaction{Date: v.date, Account: v.account, Action: portfolio.Rename, Symbol: v.old, Into: v.into})
	default:
		r.unreadEvent(v, "a change of a name; it did nothing if the symbol is the same, and then you can settle the row",
			canonicalLine(v.date, v.account, portfolio.Rename, orWord(v.old, "OLD"), "", "", "", "", "", "", "", orWord(v.into, "NEW")))
	}
}

// reverse books a split that two rows tell: the old shares go, the new ones come; or one row whose
// text says the ratio. If the symbol changed with it, that is a rename besides.
func (r *reading) reverse(v event) {
	if v.old == "" && v.into != "" && sameCompany(v.rows) {
		v.old = v.into
	}
	ratio, ok := v.ratio, v.ratio.Sign() > 0
	if !ok && !r.inLieu[position{v.account, v.old}] && !r.inLieu[position{v.account, v.into}] {
		ratio, ok = reverseRatio(v.gone, v.came)
	}
	if v.mixed || !ok || v.old == "" || v.into == "" || !v.cash.IsZero() {
		why := "a split, and its ratio can't be told from its rows"
		if v.old != "" && v.into != "" && v.old != v.into {
			why += ", and a RENAME of " + v.old + " into " + v.into + " besides"
		}
		r.unreadEvent(v, why, canonicalLine(v.date, v.account, portfolio.Split, orWord(v.old, orWord(v.into, "OLD")), "RATIO"))
		return
	}
	list := []portfolio.Transaction{{
		Date: v.date, Account: v.account, Action: portfolio.Split, Symbol: v.old, Quantity: ratio,
		Note: orWord(v.rows[0].note, fmt.Sprintf("%s new shares for %s", v.came, v.gone)),
	}}
	if v.old != v.into {
		list = append(list, portfolio.Transaction{Date: v.date, Account: v.account, Action: portfolio.Rename, Symbol: v.old, Into: v.into})
	}
	r.event(v, list...)
	r.fraction(v, ratio)
}

// sameCompany tells whether the names of all rows begin with the same word.
func sameCompany(rows []entry) bool {
	word := func(e entry) string {
		first, _, _ := strings.Cut(nameKey(e.name), " ")
		return first
	}
	return word(rows[0]) != "" && !slices.ContainsFunc(rows, func(e entry) bool { return word(e) != word(rows[0]) })
}

// event takes the transactions of an event. The other rows have told their part.
func (r *reading) event(v event, list ...portfolio.Transaction) {
	for _, t := range list {
		if err := t.Check(); err != nil {
			r.unreadEvent(v, err.Error(), "")
			return
		}
	}
	for _, t := range list {
		r.take(t)
	}
	for _, e := range v.rows[1:] {
		r.known(e.place, fmt.Sprintf("it is another row of what line %d tells: %s of %s", v.rows[0].line, list[0].Action, list[0].Symbol))
	}
}

// nothing skips the rows of an event that changed nothing here.
func (r *reading) nothing(v event, reason string) {
	for _, e := range v.rows {
		r.known(e.place, reason)
	}
}

// unreadEvent skips the rows of an event. Both companies' symbols are unread by it, also one that no
// row has for its own; where the old company is not named, any position of the account may be it.
func (r *reading) unreadEvent(v event, why, line string) {
	const shown = 8
	reason := why
	if len(v.rows) > 1 {
		var list []string
		for _, e := range v.rows[:min(len(v.rows), shown)] {
			list = append(list, fmt.Sprintf("%d (%.40s)", e.line, orWord(r.symbolOf(e), orWord(e.symbol, "no symbol"))))
		}
		reason += "; its rows are in lines " + strings.Join(list, ", ")
	}
	if line != "" {
		reason += "; write it in canonical form" + explain(line, v) + ": " + line
	}
	covered := map[string]bool{}
	for _, e := range v.rows {
		e.symbol = r.symbolOf(e)
		covered[e.symbol] = true
		r.doubt(e, reason)
	}
	for _, symbol := range []string{v.old, v.into} {
		if !covered[symbol] {
			covered[symbol] = true
			e := v.rows[0]
			e.symbol = symbol
			r.doubt(e, reason)
		}
	}
}

// explain says what the words in capitals of a canonical line stand for.
func explain(line string, v event) string {
	into := orWord(v.into, "NEW")
	var list []string
	for _, w := range []struct{ word, means string }{
		{"OLD", "the symbol of the company that the shares were of"},
		{"NEW", "the symbol of the company that they are of now"},
		{"QUANTITY", "the shares that went"},
		{"PRICE", "the cash for one of them"},
		{"RATIO", "the new shares for one old, as the company says it"},
		{"BASIS_SHARE", "the part of the cost that goes to " + into + ", between 0 and 1, which the company says in its Form 8937"},
		{"INTO_PRICE", "what one share of " + into + " was worth on that day"},
	} {
		if slices.Contains(strings.Split(line, ","), w.word) {
			list = append(list, w.word+" is "+w.means)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return ", where " + strings.Join(list, "; ")
}

// originName is the company in "SPINOFF FROM PARENT CORP", if a text names one.
func originName(text string) string {
	text = strings.ToUpper(text)
	if _, name, found := strings.Cut(text, " FROM "); found && deedOf(text) == spins {
		return name
	}
	return ""
}

// deedOf reads from a description what a company decided.
func deedOf(text string) deed {
	text = strings.ToUpper(text)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	}
	switch {
	case has("SPINOFF", "SPIN-OFF", "SPIN OFF"):
		return spins
	case has("REVERSE SPLIT", "REVERSE STOCK SPLIT"):
		return reverses
	case has("RETURN OF CAPITAL"):
		return returns
	case has("NAME CHANGE", "SYMBOL CHANGE", "CHANGE OF NAME"):
		return renames
	case has("MERGER", "ACQUISITION"):
		return merges
	}
	return unclear
}
