package broker

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A record is one aggregate of an OFX file with the values in it, whatever they nest in.
type record struct {
	place
	start    int // where in the file
	name     string
	account  string
	currency string
	asOf     portfolio.Date
	of       map[string]string
}

// A security is what the list at a file's end says of one.
type security struct {
	ticker, name string
	price        string
	stock        bool
	option       option
	perContract  string
	underlying   string // its id, of an option
}

// An ofxReader goes through the tags of an OFX file. OFX 1 is SGML, in which a tag with a value
// has no end; OFX 2 is XML, in which it has. Both are read as: a tag that text follows is a value,
// any other begins an aggregate.
type ofxReader struct {
	r           *reading
	text        string
	open        []string // aggregates, and tags without a value that nobody closed
	record      *record
	records     []record
	securities  map[string]security // by id
	account     string
	currency    string
	asOf        portfolio.Date
	investments bool
	timed       bool // trades have their true time of day
}

// ofx reads an OFX or QFX file with investment statements. Securities are named at its end, so
// records are booked when all is read.
func (r *reading) ofx(text string) error {
	o := &ofxReader{r: r, text: text, securities: map[string]security{}}
	if err := o.tags(); err != nil {
		return err
	}
	if !o.investments {
		return errors.New("the OFX file has no investment statement; a bank's or card's statement has nothing to import")
	}
	o.timed = o.trueTimes()
	for _, rec := range o.records {
		if err := o.book(rec); err != nil {
			return err
		}
	}
	return nil
}

// tags calls begin, value and end for the tags of a file.
func (o *ofxReader) tags() error {
	text := o.text
	lines := lineCounter{text: text, line: 1}
	for pos := 0; ; {
		i := strings.IndexByte(text[pos:], '<')
		if i < 0 {
			break
		}
		pos += i
		start := pos
		n := strings.IndexByte(text[pos:min(len(text), pos+maxLine)], '>')
		if n < 0 {
			return fmt.Errorf("line %d: a tag is not closed; the file may have been cut", lines.at(int64(pos)))
		}
		name := strings.ToUpper(strings.TrimSpace(text[pos+1 : pos+n]))
		pos += n + 1
		next := strings.IndexByte(text[pos:], '<')
		if next < 0 {
			next = len(text) - pos
		}
		value := strings.TrimSpace(text[pos : pos+next])
		switch {
		case name == "" || name[0] == '?' || name[0] == '!':
		case name[0] == '/':
			if err := o.end(name[1:], pos); err != nil {
				return err
			}
		case value != "":
			o.value(name, unescape(value))
		case strings.HasSuffix(name, "/"):
		default:
			if err := o.begin(name, start, lines.at(int64(start))); err != nil {
				return err
			}
		}
	}
	return o.finish(len(text))
}

// unescape replaces the few entities that OFX has.
func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&nbsp;", " ", "&amp;", "&").Replace(s)
}

// underlyingID is where the second id of a record is kept: an option's is that of the shares.
const underlyingID = "UNIQUEID of the underlying"

// recorded tells whether an aggregate is one that is booked.
func recorded(name string) bool {
	switch name {
	case "BUYSTOCK", "BUYMF", "BUYOTHER", "BUYDEBT", "BUYOPT", "SELLSTOCK", "SELLMF", "SELLOTHER", "SELLDEBT", "SELLOPT",
		"REINVEST", "INCOME", "SPLIT", "TRANSFER", "JRNLFUND", "JRNLSEC", "INVBANKTRAN", "INVEXPENSE", "MARGININTEREST", "RETOFCAP", "CLOSUREOPT",
		"POSSTOCK", "POSMF", "POSOTHER", "POSDEBT", "POSOPT", "STOCKINFO", "MFINFO", "OTHERINFO", "DEBTINFO", "OPTINFO":
		return true
	}
	return false
}

func (o *ofxReader) begin(name string, start, line int) error {
	if len(o.open) > 4*maxDepth {
		return fmt.Errorf("line %d: tags nest deeper than those of OFX", line)
	}
	o.open = append(o.open, name)
	switch {
	case name == "INVSTMTRS":
		o.investments, o.account, o.currency, o.asOf = true, "", "", portfolio.Date{}
	case recorded(name) && o.record == nil:
		o.record = &record{place: place{line: line}, start: start, name: name, of: map[string]string{}}
	}
	return nil
}

func (o *ofxReader) value(name, value string) {
	if o.record != nil {
		of := o.record.of
		if _, twice := of[name]; twice && name == "UNIQUEID" {
			name = underlyingID
		}
		if _, twice := of[name]; !twice && len(of) < maxFields {
			of[name] = value
		}
		return
	}
	switch name {
	case "ACCTID":
		if slices.Contains(o.open, "INVACCTFROM") {
			o.account = value
		}
	case "CURDEF":
		o.currency = strings.ToUpper(value)
	case "DTASOF":
		o.asOf, _ = ofxDay(value)
	}
}

// end closes an aggregate and what was left open in it. The end of a value is no aggregate's.
func (o *ofxReader) end(name string, until int) error {
	i := len(o.open) - 1
	for i >= 0 && o.open[i] != name {
		i--
	}
	if i < 0 {
		return nil
	}
	closesRecord := o.record != nil && slices.Contains(o.open[i:], o.record.name)
	o.open = o.open[:i]
	if closesRecord {
		return o.finish(until)
	}
	return nil
}

// finish keeps the record that is open, if one is.
func (o *ofxReader) finish(until int) error {
	rec := o.record
	if rec == nil {
		return nil
	}
	o.record = nil
	rec.text = strings.Join(strings.Fields(shorten(o.text[rec.start:until], maxText)), " ")
	rec.account, rec.currency, rec.asOf = o.account, o.currency, o.asOf
	if strings.HasSuffix(rec.name, "INFO") {
		o.securities[rec.of["UNIQUEID"]] = security{
			ticker: rec.of["TICKER"], name: rec.of["SECNAME"], price: rec.of["UNITPRICE"], stock: rec.name == "STOCKINFO",
			option:      option{call: rec.of["OPTTYPE"] == "CALL", put: rec.of["OPTTYPE"] == "PUT"},
			perContract: rec.of["SHPERCTRCT"], underlying: rec.of[underlyingID],
		}
		return nil
	}
	o.records = append(o.records, *rec)
	return o.r.count()
}

// ofxDay reads 20240131, 20240131120000, 20240131120000.000[-5:EST].
func ofxDay(s string) (portfolio.Date, error) {
	if len(s) < len("20060102") {
		return portfolio.Date{}, fmt.Errorf("%.40q is no date", s)
	}
	return day(s[:len("20060102")])
}

// ofxClock is the time of day in a moment. Midnight is none.
func ofxClock(s string) portfolio.Clock {
	const day, second = len("20060102"), len("20060102150405")
	if len(s) < second {
		return portfolio.Clock{}
	}
	clock, err := portfolio.ParseClock(s[day:day+2] + ":" + s[day+2:day+4] + ":" + s[day+4:second])
	if err != nil || clock == portfolio.NewClock(0, 0, 0) {
		return portfolio.Clock{}
	}
	return clock
}

// trueTimes tells whether trades have the time at which they were made. Brokers that do not know it
// write the same for all, noon as a rule, or two an hour apart in summer and winter.
func (o *ofxReader) trueTimes() bool {
	seen := map[portfolio.Clock]bool{}
	for i := range o.records {
		if clock := ofxClock(o.records[i].of["DTTRADE"]); !clock.IsZero() {
			seen[clock] = true
		}
	}
	var minutes []string
	for clock := range seen {
		minutes = append(minutes, clock.String()[len("15"):])
	}
	return len(seen) > 2 || len(seen) == 2 && minutes[0] != minutes[1]
}

// clock is the time of a trade, if it has one. Noon is what a row has that has none.
func (o *ofxReader) clock(rec record) portfolio.Clock {
	clock := ofxClock(rec.of["DTTRADE"])
	if !o.timed || clock == portfolio.NewClock(12, 0, 0) {
		return portfolio.Clock{}
	}
	return clock
}

func (o *ofxReader) book(rec record) error {
	account, err := o.r.mustHaveAccount(rec.account)
	if err != nil {
		return err
	}
	of := o.securities[rec.of["UNIQUEID"]]
	e := entry{place: rec.place, action: rec.name, account: account, symbol: of.ticker, name: of.name, stock: of.stock}
	e.does, e.why = ofxDeed(rec)
	if rec.name == "BUYOPT" || rec.name == "CLOSUREOPT" {
		o.option(&e, rec, of)
	}
	var wrong error
	number := func(name string) portfolio.Decimal {
		n, err := amount(rec.of[name])
		if err != nil && wrong == nil {
			wrong = fmt.Errorf("the %s %w", name, err)
		}
		return n
	}
	e.quantity, e.price, e.amount = number("UNITS"), number("UNITPRICE"), number("TOTAL")
	e.fees = number("COMMISSION").Add(number("FEES")).Add(number("TAXES")).Add(number("LOAD"))
	if e.does != cash && e.does != untracked {
		if currency := strings.ToUpper(rec.of["CURSYM"]); currency != "" && currency != "USD" || currency == "" && rec.currency != "" && rec.currency != "USD" {
			e.does, e.why = other, otherCurrency
		}
	}
	position := strings.HasPrefix(rec.name, "POS")
	e.time = o.clock(rec)
	if e.date, err = ofxDay(rec.of["DTTRADE"]); err != nil && wrong == nil && e.does != cash && e.does != untracked && !position {
		wrong = fmt.Errorf("the DTTRADE %w", err)
	}
	switch {
	case wrong != nil:
		o.r.doubt(e, wrong.Error())
	case position && e.does == moves:
		o.hold(rec, e)
	case e.does == splits:
		o.split(rec, e)
	default:
		if rec.name == "TRANSFER" {
			o.transfer(&e, rec, of)
		}
		o.r.book(e)
	}
	return nil
}

// option reads what an option's record is about.
func (o *ofxReader) option(e *entry, rec record, of security) {
	e.of = parseOption(of.ticker)
	if of.option != (option{}) {
		e.of.call, e.of.put = of.option.call, of.option.put
	}
	if underlying := o.securities[of.underlying].ticker; underlying != "" {
		e.of.underlying = portfolio.Symbol(underlying)
	}
	e.perContract, _ = amount(orWord(rec.of["SHPERCTRCT"], of.perContract))
}

// transfer reads the direction of a transfer, and what the shares cost and when they were bought, if
// it says both: a cost without its day would make them shares of this day. Rows of what a company
// decided are transfers too in some files, and say so in words.
func (o *ofxReader) transfer(e *entry, rec record, of security) {
	if rec.of["TFERACTION"] == "OUT" {
		e.quantity = e.quantity.Abs().Neg()
	}
	if e.does != moves {
		return
	}
	if does := deedOf(rec.of["MEMO"]); does != unclear && does != returns {
		e.does, e.fromName = does, originName(rec.of["MEMO"])
		return
	}
	bought, err := ofxDay(rec.of["DTPURCHASE"])
	if err != nil {
		return
	}
	e.note = "lot:" + bought.String()
	basis, err := amount(rec.of["AVGCOSTBASIS"])
	if err == nil && rec.of["AVGCOSTBASIS"] != "" && basis.Sign() >= 0 && e.quantity.Sign() > 0 {
		reference := e.price
		if reference.IsZero() {
			reference, _ = amount(of.price)
		}
		e.price, e.cost = costOfOne(basis, e.quantity, reference.Abs()), true
	}
}

// costOfOne is what one share cost. Some brokers write the cost of all as the average; the share's
// price tells which it is, where the file has one.
func costOfOne(basis, quantity, price portfolio.Decimal) portfolio.Decimal {
	one := perShare(basis, quantity)
	if basis.Sign() <= 0 || one.Sign() <= 0 || price.Sign() <= 0 {
		return basis
	}
	// The nearer by its factor: basis/price against price/one, or the reverse if one is above.
	if basis.Mul(one).Cmp(price.Mul(price)) > 0 && quantity.Cmp(portfolio.NewDecimal(1, 0)) > 0 {
		return one
	}
	return basis
}

func (o *ofxReader) hold(rec record, e entry) {
	if isMoney(portfolio.Symbol(e.symbol), e.name, e.price, e.stock) {
		o.r.known(e.place, moneyFund)
		return
	}
	quantity := e.quantity
	if rec.of["POSTYPE"] == "SHORT" {
		quantity = quantity.Abs().Neg()
	}
	asOf := rec.asOf
	if asOf.IsZero() {
		asOf, _ = ofxDay(rec.of["DTPRICEASOF"])
	}
	o.r.report(e.place, Holding{e.account, strings.ToUpper(e.symbol), quantity, asOf})
}

// split books a split, whose ratio the file says.
func (o *ofxReader) split(rec record, e entry) {
	shares, err := amount(orWord(rec.of["NUMERATOR"], rec.of["NEWUNITS"]))
	old, err2 := amount(orWord(rec.of["DENOMINATOR"], rec.of["OLDUNITS"]))
	e.symbol = strings.ToUpper(e.symbol)
	switch {
	case err != nil || err2 != nil || shares.Sign() <= 0 || old.Sign() <= 0:
		o.r.doubt(e, "the split has no ratio; "+splitAdvice(e))
	case e.symbol == "" || !ticker(e.symbol):
		o.r.doubt(e, noTicker)
	default:
		o.r.add(e.place, portfolio.Transaction{
			Date: e.date, Account: e.account, Action: portfolio.Split, Symbol: e.symbol, Quantity: splitRatio(shares, old),
			Note: fmt.Sprintf("%s for %s", shares, old),
		})
		if paid, err := amount(rec.of["FRACCASH"]); err != nil || !paid.IsZero() {
			o.r.doubt(e, inLieu)
		}
	}
}

func ofxDeed(rec record) (does deed, why string) {
	switch rec.name {
	case "BUYSTOCK", "BUYMF", "BUYOTHER":
		if rec.of["BUYTYPE"] == "BUYTOCOVER" || rec.of["SUBACCTSEC"] == "SHORT" {
			return short, ""
		}
		return buys, ""
	case "SELLSTOCK", "SELLMF", "SELLOTHER":
		if rec.of["SELLTYPE"] == "SELLSHORT" || rec.of["SUBACCTSEC"] == "SHORT" {
			return short, ""
		}
		return sells, ""
	case "REINVEST":
		return reinvests, ""
	case "INCOME":
		if kind := rec.of["INCOMETYPE"]; kind == "INTEREST" || kind == "MISC" {
			return cash, ""
		}
		if deedOf(rec.of["MEMO"]) == returns {
			return returns, ""
		}
		return pays, ""
	case "SPLIT":
		return splits, ""
	case "TRANSFER":
		if rec.of["POSTYPE"] == "SHORT" {
			return short, ""
		}
		return moves, ""
	case "POSSTOCK", "POSMF", "POSOTHER":
		return moves, ""
	case "JRNLFUND", "INVBANKTRAN", "INVEXPENSE", "MARGININTEREST":
		return cash, ""
	case "JRNLSEC":
		return untracked, "shares changed their place within the account"
	case "RETOFCAP":
		return returns, ""
	case "BUYOPT":
		if rec.of["OPTBUYTYPE"] == "BUYTOCLOSE" {
			return untracked, optionsRow
		}
		return opens, ""
	case "CLOSUREOPT":
		if rec.of["OPTACTION"] == "EXPIRE" {
			return untracked, optionsRow
		}
		return other, assigned
	case "SELLOPT", "POSOPT":
		return untracked, optionsRow
	case "BUYDEBT", "SELLDEBT", "POSDEBT":
		return untracked, "bonds are not tracked"
	}
	return unclear, ""
}
