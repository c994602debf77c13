package broker

import (
	"bytes"
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
	columnCount
)

func canonicalColumns() []string {
	return []string{"date", "account", "action", "symbol", "quantity", "price", "fees", "note"}
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
		if row.fault != "" {
			r.unread(row.place, row.fault)
			continue
		}
		if len(row.fields) > width {
			r.unread(row.place, fmt.Sprintf("the row has %d fields and the header has %d; a comma in a number or a note needs quotes", len(row.fields), width))
			continue
		}
		var fields canonicalRow
		for i, column := range at {
			if column >= 0 && column < len(row.fields) {
				fields[i] = strings.TrimSpace(row.fields[column])
			}
		}
		r.canonicalRow(row.place, &fields)
	}
}

// canonicalRow makes a transaction of a row, or skips it.
func (r *reading) canonicalRow(at place, fields *canonicalRow) {
	t := portfolio.Transaction{
		Account: fields[accountColumn], Action: action(fields[actionColumn]), Symbol: portfolio.Symbol(fields[symbolColumn]),
		Note: note(fields[noteColumn]),
	}
	var err error
	if t.Date, err = portfolio.ParseDate(fields[dateColumn]); err != nil {
		r.unread(at, err.Error())
		return
	}
	for _, n := range []struct {
		to     *portfolio.Decimal
		column int
	}{{&t.Quantity, quantityColumn}, {&t.Price, priceColumn}, {&t.Fees, feesColumn}} {
		s := fields[n.column]
		if s == "" {
			continue
		}
		if *n.to, err = amount(s); err != nil {
			r.unread(at, "the "+canonicalColumns()[n.column]+" "+err.Error())
			return
		}
	}
	if t.Account == "" {
		if t.Account = r.options.Account; t.Account == "" {
			r.unread(at, "the row names no account; name the account of such rows with --account")
			return
		}
	}
	if t.Fees.Sign() < 0 && t.Check() == nil {
		r.unread(at, "fees are zero or more: they add to what was paid and lessen what was received")
		return
	}
	traded := t.Action == portfolio.Buy || t.Action == portfolio.Sell || t.Action == portfolio.Reinvest
	if traded && fields[priceColumn] == "" && t.Check() == nil {
		r.unread(at, "a "+string(t.Action)+" has a price; write 0 if nothing was paid")
		return
	}
	r.add(at, t)
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
	for _, a := range [...]portfolio.Action{
		portfolio.Buy, portfolio.Sell, portfolio.Reinvest, portfolio.Dividend, portfolio.Split, portfolio.TransferIn, portfolio.TransferOut,
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
			r.unread(at, err.Error())
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

// jsonFields reads one object. A name that it does not know is an error, as an unknown column is.
func jsonFields(raw []byte) (*canonicalRow, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, errors.New("it is no JSON object")
	}
	fields := &canonicalRow{}
	seen := [columnCount]bool{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := object[name]
		i := slices.Index(canonicalColumns(), strings.ToLower(name))
		switch {
		case i >= 0 && seen[i]:
			return nil, fmt.Errorf("%s is there twice", canonicalColumns()[i])
		case i >= 0:
			seen[i] = true
		}
		switch {
		case i < 0:
			return nil, fmt.Errorf("%.40q is none of the names %s", name, strings.Join(canonicalColumns(), ", "))
		case bytes.Equal(value, []byte("null")):
			continue
		case value[0] == '"':
			var s string
			if err := json.Unmarshal(value, &s); err != nil {
				return nil, fmt.Errorf("%s can't be read", canonicalColumns()[i])
			}
			fields[i] = strings.TrimSpace(s)
		case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
			fields[i] = string(value)
		default:
			return nil, fmt.Errorf("%s is neither a text nor a number", canonicalColumns()[i])
		}
	}
	return fields, nil
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
