package broker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// The columns of the canonical form, in the order of canonicalColumns.
const (
	dateColumn = iota
	accountColumn
	actionColumn
	symbolColumn
	quantityColumn
	priceColumn
	feesColumn
	noteColumn
	orderColumn
	ratioColumn
	shareColumn
	intoColumn
	intoPriceColumn
	columnCount
)

func canonicalColumns() []string {
	return []string{"date", "account", "action", "symbol", "quantity", "price", "fees", "note", "order", "ratio", "basis_share", "into", "into_price"}
}

// canonicalLine is a row of the canonical form for a user to copy. What the user has to find out
// stands in it as a word in capitals. It has the first columns alone if the others are empty.
func canonicalLine(date portfolio.Date, account string, action portfolio.Action, symbol string, rest ...string) string {
	fields := append([]string{date.String(), account, string(action), symbol}, rest...)
	width := noteColumn + 1
	if len(fields) > width {
		width = columnCount
	}
	for len(fields) < width {
		fields = append(fields, "")
	}
	for i, f := range fields {
		if strings.ContainsAny(f, "\",") {
			fields[i] = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
		}
	}
	return strings.Join(fields, ",")
}

// canonicalRow is the fields of a row in the order of canonicalColumns.
type canonicalRow [columnCount]string

// canonical reads the canonical CSV. A column that it does not know is an error: a misspelled one
// would be lost in silence.
func (r *reading) canonical(t *table, c columns, width int) error {
	r.file.Format = CanonicalCSV
	names := canonicalColumns()
	var at [columnCount]int
	for i, name := range names {
		at[i] = -1
		if column, ok := c[name]; ok {
			at[i] = column
		}
	}
	for name := range c {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the column %.40q is not one of a canonical file; they are %s", name, strings.Join(names, ","))
		}
	}
	if at[accountColumn] < 0 && r.options.Account == "" {
		return ErrNoAccount
	}
	const shortestRow = 16 // bytes, so that no file of line ends makes a large list
	r.file.Transactions = make([]portfolio.Transaction, 0, min(strings.Count(t.rest, "\n")+1, len(t.rest)/shortestRow, maxRows))
	for {
		row, ok := t.next()
		if !ok {
			return nil
		}
		if err := r.count(); err != nil {
			return err
		}
		var fields canonicalRow
		for i, column := range at {
			if column >= 0 && column < len(row.fields) {
				fields[i] = strings.TrimSpace(row.fields[column])
			}
		}
		fault := row.fault
		if fault == "" && len(row.fields) > width {
			fault = fmt.Sprintf("the row has %d fields and the header has %d; a comma in a number or a note needs quotes", len(row.fields), width)
		}
		if fault != "" {
			r.unread(row.place, r.canonicalSubject(&fields), fault)
			continue
		}
		r.canonicalRow(row.place, &fields)
	}
}

// canonicalSubject is what a row is about that is wrong elsewhere.
func (r *reading) canonicalSubject(fields *canonicalRow) subject {
	date, _, _ := moment(fields[dateColumn])
	return subject{date, cmp.Or(fields[accountColumn], r.options.Account), fields[symbolColumn]}
}

// canonicalRow makes a transaction of a row, or skips it.
func (r *reading) canonicalRow(at place, fields *canonicalRow) {
	t := portfolio.Transaction{
		Account: r.intern(cmp.Or(fields[accountColumn], r.options.Account)), Action: action(fields[actionColumn]), Symbol: portfolio.Symbol(fields[symbolColumn]),
		Order: fields[orderColumn], Into: portfolio.Symbol(fields[intoColumn]), Note: note(fields[noteColumn]),
	}
	var err error
	if t.Date, t.Time, err = moment(fields[dateColumn]); err != nil {
		r.unread(at, about(t), err.Error())
		return
	}
	r.step(t.Account, "", t.Date)
	for _, n := range []struct {
		to     *portfolio.Decimal
		column int
	}{
		{&t.Quantity, quantityColumn}, {&t.Price, priceColumn}, {&t.Fees, feesColumn},
		{&t.Ratio, ratioColumn}, {&t.BasisShare, shareColumn}, {&t.IntoPrice, intoPriceColumn},
	} {
		s := fields[n.column]
		if s == "" {
			continue
		}
		if *n.to, err = amount(s); err != nil {
			r.unread(at, about(t), "the "+canonicalColumns()[n.column]+" "+err.Error())
			return
		}
	}
	t.FreeOfCost = t.Action == portfolio.TransferIn && fields[priceColumn] != "" && t.Cost().IsZero()
	if reason := refused(&t, fields); reason != "" {
		r.unread(at, about(t), reason)
		return
	}
	r.take(t)
}

// given is why gifts and inheritances are not read: a price alone can't say what they are for tax.
const given = "gifts and inheritances are not read: a gift has its giver's cost for a gain and may have another for a loss (IRC 1015), and inherited shares are long-term from the first day " +
	"with their value on the day of death as cost (IRC 1014, 1223(9)); leave them to tax software. This symbol gets no advice while the row is open"

// refused says why a row is no transaction, if it is none.
func refused(t *portfolio.Transaction, fields *canonicalRow) string {
	switch t.Action {
	case "GIFT", "INHERIT", "INHERITED", "INHERITANCE":
		return given
	}
	switch {
	case t.Action == portfolio.TransferIn && saysGiven(t.Note):
		return given
	case t.Account == "":
		return "the row names no account; name the account of such rows with --account"
	}
	err := t.Check()
	if err == nil || t.Action == portfolio.Spinoff || t.Action == portfolio.Merger || t.Action == portfolio.Rename {
		if reason := lacking(t, fields); reason != "" {
			return reason
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// lacking says what a row lacks that Transaction.Check does not ask for, or can't tell from a zero.
func lacking(t *portfolio.Transaction, fields *canonicalRow) string {
	lacks := func(column int) bool { return fields[column] == "" }
	switch {
	case t.Fees.Sign() < 0:
		return "fees are zero or more: they add to what was paid and lessen what was received"
	case lacks(priceColumn) && (t.Action == portfolio.Buy || t.Action == portfolio.Sell || t.Action == portfolio.Reinvest):
		return "a " + string(t.Action) + " has a price; write 0 if nothing was paid"
	case lacks(priceColumn) && t.Action == portfolio.ReturnOfCapital:
		return "a RETURN_OF_CAPITAL has a price: what was paid back for one share"
	case lacks(priceColumn) && lacks(intoColumn) && t.Action == portfolio.Merger:
		return "a MERGER has a price (the cash for one share), or into and ratio (the new shares for one), or both with into_price; write 0 if nothing was paid"
	case lacks(intoColumn) && t.Action == portfolio.Spinoff:
		return "a SPINOFF has into: the symbol of the new company"
	case lacks(intoColumn) && t.Action == portfolio.Rename:
		return "a RENAME has into: the new symbol"
	case lacks(ratioColumn) && (t.Action == portfolio.Spinoff || t.Action == portfolio.Merger && t.Into != ""):
		return fmt.Sprintf("a %s has a ratio: the shares of %.40s that came for one of %.40s", t.Action, t.Into, t.Symbol)
	case lacks(shareColumn) && t.Action == portfolio.Spinoff:
		return fmt.Sprintf("a SPINOFF has a basis_share: the part of the cost that goes to %.40s, between 0 and 1; the company says it in its Form 8937", t.Into)
	}
	return ""
}

// saysGiven tells whether a note says that shares were a gift or inherited.
func saysGiven(note string) bool {
	apart := func(c rune) bool { return c < 'A' || c > 'z' || c > 'Z' && c < 'a' }
	for word := range strings.FieldsFuncSeq(note, apart) {
		switch strings.ToLower(word) {
		case "gift", "gifts", "gifted", "inherit", "inherited", "inheritance":
			return true
		}
	}
	return false
}

// moment reads 2024-01-31 and 2024-01-31T15:04:05.
func moment(s string) (portfolio.Date, portfolio.Clock, error) {
	const day = len("2006-01-02")
	var clock portfolio.Clock
	if len(s) > day && (s[day] == 'T' || s[day] == ' ') {
		var err error
		if clock, err = portfolio.ParseClock(s[day+1:]); err != nil {
			return portfolio.Date{}, clock, err
		}
		s = s[:day]
	}
	date, err := portfolio.ParseDate(s)
	return date, clock, err
}

// note is a note on one line, that does not hold on to the text of the file.
func note(s string) string {
	if strings.ContainsAny(s, "\r\n") {
		return strings.Join(strings.Fields(s), " ")
	}
	return strings.Clone(s)
}

// action is the action that a word means, without a copy of the word.
func action(word string) portfolio.Action {
	for _, a := range [...]portfolio.Action{ // the usual ones first
		portfolio.Buy, portfolio.Sell, portfolio.Reinvest, portfolio.Dividend, portfolio.Split, portfolio.TransferIn, portfolio.TransferOut,
		portfolio.ReturnOfCapital, portfolio.Spinoff, portfolio.Merger, portfolio.Rename, portfolio.BuyCall,
		"GIFT", "INHERIT", "INHERITED", "INHERITANCE",
	} {
		if strings.EqualFold(word, string(a)) {
			return a
		}
	}
	return portfolio.Action(strings.Clone(word))
}

// canonicalJSON reads an array of objects with the names of the canonical columns. Numbers may be
// strings.
func (r *reading) canonicalJSON(text string) error {
	in := strings.NewReader(text)
	d := json.NewDecoder(in)
	lines := lineCounter{text: text, line: 1}
	broken := func(err error) error {
		rest := text[min(d.InputOffset(), int64(len(text))):]
		begins := len(text) - len(strings.TrimLeft(rest, ", \t\r\n"))
		return brokenJSON(lines.at(int64(begins)), err)
	}
	if _, err := d.Token(); err != nil { // the bracket
		return broken(err)
	}
	for d.More() {
		if err := r.count(); err != nil {
			return err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return broken(err)
		}
		at := place{lines.at(d.InputOffset() - int64(len(raw))), string(raw)}
		fields, err := jsonFields(raw)
		if err != nil {
			of := subject{}
			if fields != nil {
				of = r.canonicalSubject(fields)
			}
			r.unread(at, of, err.Error())
			continue
		}
		r.canonicalRow(at, fields)
	}
	if _, err := d.Token(); err != nil {
		return broken(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d: something stands after the end of the JSON array", lines.at(d.InputOffset()))
	}
	return nil
}

func brokenJSON(line int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("line %d: the JSON array is not closed; the file may have been cut", line)
	}
	return fmt.Errorf("line %d: the file is no JSON array: %w", line, err)
}

// jsonFields reads one object. A name that it does not know is an error, as an unknown column is;
// the fields that could be read come with it.
func jsonFields(raw []byte) (*canonicalRow, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, errors.New("it is no JSON object")
	}
	fields := &canonicalRow{}
	seen := [columnCount]bool{}
	var first error
	for _, name := range slices.Sorted(maps.Keys(object)) {
		i := slices.Index(canonicalColumns(), strings.ToLower(name))
		var err error
		switch {
		case i < 0:
			err = fmt.Errorf("%.40q is none of the names %s", name, strings.Join(canonicalColumns(), ", "))
		case seen[i]:
			err = fmt.Errorf("%s is there twice", canonicalColumns()[i])
		default:
			seen[i] = true
			fields[i], err = jsonField(canonicalColumns()[i], object[name])
		}
		if first == nil {
			first = err
		}
	}
	return fields, first
}

// jsonField is a text or a number as text.
func jsonField(name string, value json.RawMessage) (string, error) {
	switch {
	case bytes.Equal(value, []byte("null")):
		return "", nil
	case value[0] == '"':
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return "", fmt.Errorf("%s can't be read", name)
		}
		return strings.TrimSpace(s), nil
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		return string(value), nil
	}
	return "", fmt.Errorf("%s is neither a text nor a number", name)
}

// A lineCounter turns offsets that grow into lines.
type lineCounter struct {
	text string
	done int
	line int
}

func (c *lineCounter) at(offset int64) int {
	to := min(int(offset), len(c.text))
	if to > c.done {
		c.line += strings.Count(c.text[c.done:to], "\n")
		c.done = to
	}
	return c.line
}
