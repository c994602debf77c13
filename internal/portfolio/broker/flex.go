package broker

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// maxDepth bounds how deep elements may nest; those of a Flex query are five deep.
const maxDepth = 32

// An element is one row of a Flex query: all that it says is in its attributes.
type element struct {
	place
	name string
	of   map[string]string
	lots []element // that a trade closed
}

// A statement is what is collected of one FlexStatement. A query can tell the same trades as
// executions, orders and summaries, so they are booked when all are known.
type statement struct {
	account   string
	trades    []element
	actions   []element
	payments  []element
	positions []element
}

// flex reads a Flex query's XML, one element at a time. Sections that say nothing of shares, or
// repeat what others say, are passed over. Entities and document types are refused.
func (r *reading) flex(text string) error {
	if line := longElement(text); line > 0 {
		return fmt.Errorf("line %d: an element is longer than 1 MiB", line)
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it is UTF-8 by now
	var s *statement
	depth, statements := 0, 0
	for {
		line, _ := d.InputPos()
		start := d.InputOffset()
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("the file is no whole Flex query: line %d: %.200q; download it again", line, err.Error())
		}
		switch token := token.(type) {
		case xml.Directive:
			return fmt.Errorf("line %d: the file has a document type, which Flex queries have not", line)
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return fmt.Errorf("line %d: elements nest deeper than those of a Flex query", line)
			}
			if err := r.count(); err != nil {
				return err
			}
			e := element{place: place{line, text[start:d.InputOffset()]}, name: token.Name.Local, of: attributes(token.Attr)}
			if e.name == "FlexStatement" {
				s = &statement{account: e.of["accountId"]}
				statements++
			} else if s != nil {
				if err := r.flexElement(s, e); err != nil {
					return err
				}
			}
		case xml.EndElement:
			depth--
			if token.Name.Local == "FlexStatement" && s != nil {
				if err := r.flexStatement(s); err != nil {
					return err
				}
				s = nil
			}
		}
	}
	if statements == 0 {
		return errors.New("the Flex query has no statement; the broker may have refused it")
	}
	r.latestPositions()
	return nil
}

// longElement is the line of the first element that is longer than any may be. Elements are
// measured before they are parsed, from one opening to the next.
func longElement(text string) (line int) {
	for pos := 0; ; {
		n := strings.IndexByte(text[pos:], '<')
		if n > maxLine || n < 0 && len(text)-pos > maxLine {
			return strings.Count(text[:pos], "\n") + 1
		}
		if n < 0 {
			return 0
		}
		pos += n + 1
	}
}

// attributes are those of an element that are read.
func attributes(list []xml.Attr) map[string]string {
	of := map[string]string{}
	for _, a := range list {
		switch a.Name.Local {
		case "accountId", "assetCategory", "currency", "symbol", "description", "actionDescription", "levelOfDetail", "type", "notes",
			"buySell", "openCloseIndicator", "direction", "tradeDate", "dateTime", "settleDate", "reportDate", "date", "openDateTime",
			"ibOrderID", "orderID", "underlyingSymbol", "putCall", "multiplier", "actionID", "proceeds",
			"quantity", "position", "tradePrice", "ibCommission", "taxes", "netCash", "amount", "costBasisMoney":
			of[a.Name.Local] = strings.TrimSpace(a.Value)
		}
	}
	return of
}

// flexElement collects or books one element of a statement.
func (r *reading) flexElement(s *statement, e element) error {
	switch e.name {
	case "Trade", "Order", "SymbolSummary", "AssetSummary":
		if e.of["levelOfDetail"] == "CLOSED_LOT" {
			closeLot(s, e)
		} else {
			s.trades = append(s.trades, e)
		}
	case "Lot":
		closeLot(s, e)
	case "CashTransaction":
		s.payments = append(s.payments, e)
	case "OpenPosition":
		s.positions = append(s.positions, e)
	case "TradeConfirm":
		return errors.New("this Flex query is one of trade confirmations; make an activity query with trades, cash, transfers, corporate actions and open positions")
	case "CorporateAction":
		s.actions = append(s.actions, e)
	case "Transfer":
		return r.flexTransfer(s, e)
	}
	return nil
}

// closeLot gives a closed lot to the trade that it follows.
func closeLot(s *statement, lot element) {
	if n := len(s.trades); n > 0 {
		s.trades[n-1].lots = append(s.trades[n-1].lots, lot)
	}
}

// detailed are the elements of the finest of the levels that there are.
func detailed(list []element, levels ...string) (fine, coarse []element) {
	level := func(e element) string {
		if e.name != "Trade" && e.of["levelOfDetail"] == "" {
			return e.name
		}
		return e.of["levelOfDetail"]
	}
	for _, l := range levels {
		if slices.ContainsFunc(list, func(e element) bool { return level(e) == l }) {
			for _, e := range list {
				if level(e) == l {
					fine = append(fine, e)
				} else {
					coarse = append(coarse, e)
				}
			}
			return fine, coarse
		}
	}
	return nil, list
}

func (r *reading) flexStatement(s *statement) error {
	trades, again := detailed(s.trades, "EXECUTION", "", "ORDER", "Order")
	for _, e := range again {
		r.known(e.place, "it sums up other rows")
	}
	if len(trades) == 0 && len(again) > 0 {
		return errors.New("the Flex query has sums of trades alone; choose executions in its settings")
	}
	for _, e := range trades {
		if err := r.flexTrade(s, e); err != nil {
			return err
		}
	}
	for _, section := range []struct {
		rows []element
		book func(*statement, element) error
	}{{s.actions, r.flexAction}, {s.payments, r.flexPayment}} {
		rows, again := detailed(section.rows, "DETAIL", "CorporateAction", "CashTransaction", "SUMMARY")
		for _, e := range again {
			r.known(e.place, "it sums up other rows")
		}
		for _, e := range rows {
			if err := section.book(s, e); err != nil {
				return err
			}
		}
	}
	for _, e := range s.positions {
		if err := r.flexPosition(s, e); err != nil {
			return err
		}
	}
	return nil
}

// flexEntry starts an entry with what all elements have.
func (r *reading) flexEntry(s *statement, e element) (entry, error) {
	named := e.of["accountId"]
	if named == "" || named == "-" {
		named = strings.Trim(s.account, "-")
	}
	account, err := r.mustHaveAccount(named)
	// Classes of shares have a blank where others write a point.
	symbol := strings.ReplaceAll(e.of["symbol"], " ", ".")
	if symbol == "--" {
		symbol = ""
	}
	out := entry{place: e.place, account: account, symbol: symbol, action: e.name, section: e.name, name: e.of["description"], stock: e.of["assetCategory"] == "STK"}
	var unread error // it is said where the date is needed
	out.date = e.day(&unread, "tradeDate", "reportDate", "date", "settleDate", "dateTime")
	if category := e.of["assetCategory"]; category != "" && category != "STK" && category != "FUND" {
		out.does, out.why = untracked, fmt.Sprintf("securities of the category %.20q are not tracked", category)
		switch category {
		case "OPT", "FOP", "FSFOP":
			out.why = optionsRow
		case "CASH":
			out.does = sweeps
		}
	} else if currency := e.of["currency"]; currency != "" && currency != "USD" {
		out.does, out.why = other, otherCurrency
	}
	return out, err
}

// number reads an attribute of an element; what can't be read is told by err.
func (e element) number(name string, err *error) portfolio.Decimal {
	n, wrong := amount(e.of[name])
	if wrong != nil && *err == nil {
		*err = fmt.Errorf("the %s %w", name, wrong)
	}
	return n
}

// day reads the first of the named attributes that there is. A time may follow the date.
func (e element) day(err *error, names ...string) portfolio.Date {
	for _, name := range names {
		if s := e.of[name]; s != "" {
			date, _ := cutMoment(s)
			d, wrong := day(date)
			if wrong != nil && *err == nil {
				*err = fmt.Errorf("the %s %w", name, wrong)
			}
			return d
		}
	}
	if *err == nil {
		*err = fmt.Errorf("there is no %s", names[0])
	}
	return portfolio.Date{}
}

// cutMoment parts a date from the time that may follow it.
func cutMoment(s string) (date, clock string) {
	i := strings.IndexAny(s, ";, T")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeft(s[i:], ";, T")
}

// clock is the time of day in an attribute, if it is on that day: 20240102;093005,
// 2024-01-02, 09:30:05 EST. Midnight is no time.
func (e element) clock(name string, on portfolio.Date) portfolio.Clock {
	date, text := cutMoment(e.of[name])
	if d, err := day(date); err != nil || d != on {
		return portfolio.Clock{}
	}
	text, _, _ = strings.Cut(text, " ")
	if len(text) == len("150405") && !strings.Contains(text, ":") {
		text = text[:2] + ":" + text[2:4] + ":" + text[4:]
	}
	clock, err := portfolio.ParseClock(text)
	if err != nil || clock == portfolio.NewClock(0, 0, 0) {
		return portfolio.Clock{}
	}
	return clock
}

// order is the id of a trade's order; 0 is none.
func (e element) order() string {
	id := cmp.Or(e.of["ibOrderID"], e.of["orderID"])
	if strings.Trim(id, "0-") == "" {
		return ""
	}
	return id
}

func (r *reading) flexTrade(s *statement, e element) error {
	t, err := r.flexEntry(s, e)
	if err != nil {
		return err
	}
	bought := e.of["assetCategory"] == "OPT" && e.of["buySell"] == "BUY" && !strings.Contains(e.of["openCloseIndicator"], "C")
	if t.does != unclear && !bought {
		r.book(t)
		return nil
	}
	var wrong error
	t.date = e.day(&wrong, "tradeDate", "dateTime")
	t.time, t.order = e.clock("dateTime", t.date), e.order()
	t.quantity, t.price = e.number("quantity", &wrong), e.number("tradePrice", &wrong)
	t.fees = e.number("ibCommission", &wrong).Add(e.number("taxes", &wrong)).Neg()
	t.amount = e.number("netCash", &wrong)
	if wrong != nil {
		r.doubt(t, wrong.Error())
		return nil
	}
	t.action = e.of["buySell"]
	if t.does, t.why = flexDeed(e); bought {
		t.of = option{strings.ReplaceAll(e.of["underlyingSymbol"], " ", "."), e.of["putCall"] == "C", e.of["putCall"] == "P"}
		t.symbol, t.perContract = e.of["symbol"], e.number("multiplier", &wrong)
		if t.of == (option{}) {
			t.of = parseOption(t.symbol)
		}
		if t.does != buys { // the row of the shares that it brought says so
			t.does, t.why = untracked, optionsRow
		}
	}
	if t.does != sells || !r.flexNamedLots(t, e.lots) {
		r.book(t)
	}
	return nil
}

func flexDeed(e element) (does deed, why string) {
	codes := strings.Split(e.of["notes"], ";")
	opens := e.of["openCloseIndicator"]
	switch side := e.of["buySell"]; {
	case strings.Contains(side, "Ca."), slices.Contains(codes, "Ca"), slices.Contains(codes, "Co"):
		return other, cancelled
	case slices.Contains(codes, "A"), slices.Contains(codes, "Ex"):
		return other, assigned
	case side == "BUY" && strings.Contains(opens, "C"), side == "SELL" && strings.Contains(opens, "O"):
		return short, ""
	case side == "BUY" && slices.Contains(codes, "R"):
		return reinvests, ""
	case side == "BUY":
		return buys, ""
	case side == "SELL":
		return sells, ""
	}
	return unclear, ""
}

// flexNamedLots books a sale as one for each lot that the broker says it closed, so that our lots
// are the broker's. It does so only if the lots are all of the sale.
func (r *reading) flexNamedLots(t entry, lots []element) bool {
	var wrong error
	var sum portfolio.Decimal
	type closed struct {
		opened   portfolio.Date
		quantity portfolio.Decimal
	}
	var parts []closed
	for _, l := range lots {
		c := closed{l.day(&wrong, "openDateTime"), l.number("quantity", &wrong).Abs()}
		sum = sum.Add(c.quantity)
		if i := slices.IndexFunc(parts, func(p closed) bool { return p.opened == c.opened }); i >= 0 {
			parts[i].quantity = parts[i].quantity.Add(c.quantity)
		} else {
			parts = append(parts, c)
		}
	}
	if wrong != nil || len(parts) == 0 || sum.Cmp(t.quantity.Abs()) != 0 {
		return false
	}
	rest := t
	rest.quantity, rest.fees, rest.amount = t.quantity.Abs(), t.fees.Abs(), t.amount.Abs()
	for _, p := range parts {
		part := rest
		part.quantity = p.quantity
		part.fees = rest.fees.Share(p.quantity, rest.quantity)
		part.amount = rest.amount.Share(p.quantity, rest.quantity)
		part.note = "lot:" + p.opened.String()
		r.book(part)
		rest.quantity, rest.fees, rest.amount = rest.quantity.Sub(part.quantity), rest.fees.Sub(part.fees), rest.amount.Sub(part.amount)
	}
	return true
}

func (r *reading) flexPayment(s *statement, e element) error {
	t, err := r.flexEntry(s, e)
	if err != nil {
		return err
	}
	if kind := e.of["type"]; kind != "Dividends" && kind != "Payment In Lieu Of Dividends" {
		t.does = sweeps
	}
	if t.does == unclear {
		var wrong error
		t.does = pays
		t.date = e.day(&wrong, "settleDate", "dateTime", "reportDate")
		t.amount = e.number("amount", &wrong)
		if deedOf(e.of["description"]) == returns {
			t.does, t.quantity = returns, paidShares(e.of["description"], t.amount)
		}
		if wrong != nil {
			r.unread(t.place, t.subject(), wrong.Error())
			return nil
		}
	}
	r.book(t)
	return nil
}

// paidPrice is the price in "MERGED(Acquisition) FOR USD 25.00 PER SHARE", or 0.
func paidPrice(text string) portfolio.Decimal {
	before, _, found := strings.Cut(strings.ToUpper(text), " PER SHARE")
	price, err := portfolio.ParseDecimal(before[strings.LastIndexByte(before, ' ')+1:])
	if !found || err != nil || price.Sign() < 0 {
		return portfolio.Decimal{}
	}
	return price
}

// paidShares is how many whole shares were paid for, by "CASH DIVIDEND USD 0.50 PER SHARE", or 0.
func paidShares(text string, amount portfolio.Decimal) portfolio.Decimal {
	price := paidPrice(text)
	if price.IsZero() || amount.Sign() <= 0 {
		return portfolio.Decimal{}
	}
	shares := amount.Over(price, 0)
	if shares.Mul(price).Sub(amount).Abs().Cmp(portfolio.NewDecimal(5, -3)) > 0 { // amounts are in cents
		return portfolio.Decimal{}
	}
	return shares
}

func (r *reading) flexTransfer(s *statement, e element) error {
	t, err := r.flexEntry(s, e)
	if err != nil {
		return err
	}
	if t.does == unclear {
		var wrong error
		t.does = moves
		t.date = e.day(&wrong, "date", "dateTime", "reportDate")
		t.quantity = e.number("quantity", &wrong)
		if e.of["direction"] == "OUT" {
			t.quantity = t.quantity.Abs().Neg()
		}
		if wrong != nil {
			r.doubt(t, wrong.Error())
			return nil
		}
	}
	r.book(t)
	return nil
}

// flexAction books what companies decided. The text of a row says which company it began with, and
// often how many shares came for how many; the rows of one event have its beginning in common.
func (r *reading) flexAction(s *statement, e element) error {
	t, err := r.flexEntry(s, e)
	if err != nil {
		return err
	}
	kind := e.of["type"]
	text := e.of["actionDescription"]
	origin := flexText(text)
	if origin.symbol == "" {
		text = e.of["description"]
		origin = flexText(text)
	}
	if t.does == unclear {
		t.does, t.why, t.action = other, reorganised, "CorporateAction "+kind
		t.does = flexEvent(kind, t.does)
	}
	t.symbol, t.from = strings.TrimSuffix(t.symbol, ".OLD"), strings.TrimSuffix(origin.symbol, ".OLD")
	if t.does == untracked && (kind == "SO" || kind == "RI") {
		t.does, t.why = other, reorganised // what came is not tracked; a part of the cost may have gone with it
	}
	if t.does == other || t.does == untracked || t.does == sweeps {
		t.quantity = portfolio.NewDecimal(1, 0) // it is about shares, whatever it says
		r.book(t)
		if t.does == other && t.from != "" && t.from != t.symbol {
			t.symbol = t.from
			r.book(t)
		}
		return nil
	}
	var wrong error
	t.date = e.day(&wrong, "reportDate", "dateTime")
	t.quantity, t.amount = e.number("quantity", &wrong), e.number("proceeds", &wrong)
	t.paid = e.day(&wrong, "dateTime", "reportDate")
	t.event = orWord(e.of["actionID"], origin.event)
	t.both = origin.cash && origin.ok
	if price := paidPrice(text); t.does == merges && t.amount.IsZero() && t.quantity.Sign() < 0 {
		t.amount = price.Mul(t.quantity.Abs()) // not every query has the proceeds
	}
	t.name = ""
	if origin.ok {
		t.ratio, t.note = splitRatio(origin.shares, origin.old), fmt.Sprintf("%s for %s", origin.shares, origin.old)
	}
	if wrong != nil {
		r.doubt(t, wrong.Error())
		return nil
	}
	r.book(t)
	return nil
}

// flexEvent is what a type of corporate action does, where it is read.
func flexEvent(kind string, otherwise deed) deed {
	switch kind {
	case "TC":
		return merges
	case "SO":
		return spins
	case "IC":
		return renames
	case "FS", "RS": // their text says the ratio
		return reverses
	}
	return otherwise
}

// A flexOrigin is what the text of a corporate action says.
type flexOrigin struct {
	symbol      string // before it
	event       string // what the rows of the event have in common
	shares, old portfolio.Decimal
	ok          bool // there are so many shares for so many old
	cash        bool // there is cash
}

// flexText reads "SLV(US46428Q1094) SPLIT 2 FOR 1 (SLV, ISHARES SILVER TRUST, US46428Q1094)": the
// symbol before, what happened, and in the last brackets the security of this row.
func flexText(text string) (o flexOrigin) {
	text = strings.ToUpper(text)
	symbol, rest, found := strings.Cut(text, "(")
	symbol = strings.ReplaceAll(strings.TrimSpace(symbol), " ", ".")
	if !found || !portfolio.IsSymbol(symbol) || !ticker(symbol) {
		return o
	}
	o.symbol, o.event = symbol, text
	if i := strings.LastIndex(text, " ("); i > 0 {
		o.event = text[:i]
	}
	what := strings.Fields(strings.TrimPrefix(o.event, symbol))
	o.cash = slices.Contains(what, "USD") || slices.Contains(what, "CASH")
	words := strings.Fields(rest)
	for i := 1; i+1 < len(words); i++ {
		if words[i] != "FOR" {
			continue
		}
		shares, err := portfolio.ParseDecimal(words[i-1])
		if err != nil {
			continue
		}
		if old, err := portfolio.ParseDecimal(words[i+1]); err == nil && shares.Sign() > 0 && old.Sign() > 0 {
			o.shares, o.old, o.ok = shares, old, true
			return o
		}
	}
	return o
}

func (r *reading) flexPosition(s *statement, e element) error {
	t, err := r.flexEntry(s, e)
	if err != nil {
		return err
	}
	if t.does != unclear {
		r.book(t)
		return nil
	}
	var wrong error
	asOf := e.day(&wrong, "reportDate")
	quantity := e.number("position", &wrong)
	symbol := strings.ToUpper(t.symbol)
	if e.of["levelOfDetail"] != "LOT" {
		if wrong != nil {
			r.unread(e.place, subject{asOf, t.account, symbol}, wrong.Error())
			return nil
		}
		r.report(e.place, Holding{t.account, symbol, quantity, asOf})
		return nil
	}
	lot := Lot{t.account, symbol, e.day(&wrong, "openDateTime"), quantity, e.number("costBasisMoney", &wrong), asOf}
	of := subject{asOf, lot.Account, lot.Symbol}
	switch {
	case wrong != nil:
		r.unread(e.place, of, wrong.Error())
	case lot.Quantity.Sign() < 0:
		r.unread(e.place, of, shortSale)
	case r.named(e.place, of):
		lot.Account, lot.Symbol = r.intern(lot.Account), r.intern(lot.Symbol)
		r.file.Lots = append(r.file.Lots, lot)
	}
	return nil
}

// latestPositions leaves the last day's positions of each account. A query by day repeats them.
func (r *reading) latestPositions() {
	last := map[string]portfolio.Date{}
	for _, h := range r.file.Holdings {
		if h.AsOf.After(last[h.Account]) {
			last[h.Account] = h.AsOf
		}
	}
	for _, l := range r.file.Lots {
		if l.AsOf.After(last[l.Account]) {
			last[l.Account] = l.AsOf
		}
	}
	r.file.Holdings = slices.DeleteFunc(r.file.Holdings, func(h Holding) bool { return h.AsOf != last[h.Account] })
	r.file.Lots = slices.DeleteFunc(r.file.Lots, func(l Lot) bool { return l.AsOf != last[l.Account] })
}
