package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/internal/portfolio/price"
)

// How many fields a line has.
const (
	transactionFields = 9
	moreFields        = 7 // that only some transactions have
	barFields         = 6
)

// A lineWriter writes lines. The same values always make the same line, so lines can be
// compared.
type lineWriter struct {
	text []byte
	day  portfolio.Date // of the last line, since many lines have the same
	date string
}

// transaction writes t without an end.
func (w *lineWriter) transaction(t portfolio.Transaction) error {
	if err := t.Check(); err != nil {
		return err
	}
	if err := w.begin(t.Date); err != nil {
		return err
	}
	for _, text := range [...]string{t.Account, string(t.Action), t.Symbol} {
		w.field(text)
	}
	if err := w.numbers(t.Quantity, t.Price, t.Fees, t.Amount); err != nil {
		return err
	}
	w.field(t.Note)
	return w.more(t)
}

// more writes what only some transactions have, up to the last of it.
func (w *lineWriter) more(t portfolio.Transaction) error {
	if t.Time.IsZero() && t.Order == "" && t.Into == "" && !t.FreeOfCost && t.Ratio.IsZero() && t.BasisShare.IsZero() && t.IntoPrice.IsZero() {
		return nil
	}
	free := ""
	if t.FreeOfCost {
		free = freeOfCost
	}
	w.field(t.Time.String())
	w.field(t.Order)
	if err := w.given(t.Ratio, t.BasisShare); err != nil {
		return err
	}
	w.field(t.Into)
	if err := w.given(t.IntoPrice); err != nil {
		return err
	}
	w.field(free)
	w.text = bytes.TrimRight(w.text, "\t") // which end at one of these that is not empty
	return nil
}

// freeOfCost is what a line says of shares that cost nothing.
const freeOfCost = "1"

// given writes numbers; of those that are not said, nothing.
func (w *lineWriter) given(numbers ...portfolio.Decimal) error {
	for _, n := range numbers {
		if n.IsZero() {
			w.field("")
		} else if err := w.numbers(n); err != nil {
			return err
		}
	}
	return nil
}

// bar writes b without an end.
func (w *lineWriter) bar(b price.Bar) error {
	if err := w.begin(b.Date); err != nil {
		return err
	}
	return w.numbers(b.Open, b.High, b.Low, b.Close, b.Adj)
}

// begin writes the day. It has to be one that can be read again, and be compared as text.
func (w *lineWriter) begin(day portfolio.Date) error {
	if day != w.day || w.date == "" {
		w.day, w.date = day, day.String()
		if _, err := portfolio.ParseDate(w.date); err != nil {
			return err
		}
	}
	w.text = append(w.text, w.date...)
	return nil
}

func (w *lineWriter) field(text string) {
	w.text = append(w.text, '\t')
	w.text = append(w.text, text...)
}

// surelyRead is how long a number may be that ParseDecimal reads for sure.
const surelyRead = 18

// numbers writes numbers, which have to be as short as ParseDecimal wants them.
func (w *lineWriter) numbers(numbers ...portfolio.Decimal) error {
	for _, n := range numbers {
		text := n.String()
		if len(text) > surelyRead {
			if _, err := portfolio.ParseDecimal(text); err != nil {
				return err
			}
		}
		w.field(text)
	}
	return nil
}

// A lineReader reads lines. It keeps one copy of each name, so that what it returns does not
// hold on to the text that it was read from.
type lineReader struct {
	names map[string]string
	date  string
	day   portfolio.Date
}

func newLineReader() *lineReader { return &lineReader{names: map[string]string{}} }

// errLine is a line that was not written here.
var errLine = errors.New("a line can't be read")

// transaction reads what lineWriter.transaction wrote.
func (r *lineReader) transaction(line string) (t portfolio.Transaction, err error) {
	var fields [transactionFields + moreFields]string
	n := strings.Count(line, "\t") + 1
	if n < transactionFields || n > len(fields) || !split(line, fields[:n]) || n > transactionFields && fields[n-1] == "" {
		return t, fmt.Errorf("%w: %.80q", errLine, line)
	}
	if t.Date, err = r.parseDay(fields[0]); err != nil {
		return t, err
	}
	t.Account, t.Action, t.Symbol = r.name(fields[1]), portfolio.Action(r.name(fields[2])), r.name(fields[3])
	t.Note = strings.Clone(fields[8])
	if n > transactionFields {
		if err := r.more(&t, fields[transactionFields:]); err != nil {
			return t, fmt.Errorf("%w: %.80q: %w", errLine, line, err)
		}
	}
	return t, parseNumbers(fields[4:8], &t.Quantity, &t.Price, &t.Fees, &t.Amount)
}

// more reads what lineWriter.more wrote.
func (r *lineReader) more(t *portfolio.Transaction, fields []string) (err error) {
	if fields[0] != "" {
		if t.Time, err = portfolio.ParseClock(fields[0]); err != nil {
			return err
		}
	}
	t.Order, t.Into, t.FreeOfCost = strings.Clone(fields[1]), r.name(fields[4]), fields[6] == freeOfCost
	t.Ratio, err = parseGiven(fields[2], err)
	t.BasisShare, err = parseGiven(fields[3], err)
	t.IntoPrice, err = parseGiven(fields[5], err)
	return err
}

// parseGiven reads a number; nothing is one that is not said. An error from before stays.
func parseGiven(text string, before error) (portfolio.Decimal, error) {
	if text == "" || before != nil {
		return portfolio.Decimal{}, before
	}
	return portfolio.ParseDecimal(text)
}

// intoField is the place of the symbol that a company's decision leads to.
const intoField = transactionFields + 4

// into is the symbol that the line of a company's decision leads to.
func into(line string) string {
	if strings.Count(line, "\t") < intoField {
		return ""
	}
	return field(line, intoField)
}

// key is what a transaction is known by: the nine fields, so that a file which says more than an
// earlier one is known again, and the symbol that a company's decision leads to.
func key(line string) string {
	if strings.Count(line, "\t") < transactionFields {
		return line
	}
	end := 0
	for range transactionFields {
		end += strings.IndexByte(line[end:], '\t') + 1
	}
	if symbol := into(line); symbol != "" {
		return line[:end] + symbol
	}
	return line[:end-1]
}

// bar reads what lineWriter.bar wrote.
func (r *lineReader) bar(line string) (b price.Bar, err error) {
	var fields [barFields]string
	if !split(line, fields[:]) {
		return b, fmt.Errorf("%w: %.80q", errLine, line)
	}
	if b.Date, err = r.parseDay(fields[0]); err != nil {
		return b, err
	}
	return b, parseNumbers(fields[1:], &b.Open, &b.High, &b.Low, &b.Close, &b.Adj)
}

func (r *lineReader) parseDay(text string) (day portfolio.Date, err error) {
	if text != r.date {
		if day, err = portfolio.ParseDate(text); err != nil {
			return day, err
		}
		r.date, r.day = text, day
	}
	return r.day, nil
}

func (r *lineReader) name(text string) string {
	name, ok := r.names[text]
	if !ok {
		name = strings.Clone(text)
		r.names[name] = name
	}
	return name
}

func parseNumbers(texts []string, numbers ...*portfolio.Decimal) (err error) {
	for i, text := range texts {
		if *numbers[i], err = portfolio.ParseDecimal(text); err != nil {
			return err
		}
	}
	return nil
}

// split puts the fields of a line into as many places as there are, and says whether that came
// out even.
func split(line string, fields []string) bool {
	last := len(fields) - 1
	for i := range last {
		field, rest, found := strings.Cut(line, "\t")
		if !found {
			return false
		}
		fields[i], line = field, rest
	}
	fields[last] = line
	return !strings.Contains(line, "\t")
}

// field is one field of a line that has at least so many.
func field(line string, n int) string {
	for range n {
		_, line, _ = strings.Cut(line, "\t")
	}
	text, _, _ := strings.Cut(line, "\t")
	return text
}

// day is the first field of a line; as text it is ordered as the days are.
func day(line string) string { return field(line, 0) }

// storable tells whether a name can stand in a line and in a key.
func storable(name string) bool {
	return name != "" && !slices.ContainsFunc([]rune(name), unicode.IsControl)
}
