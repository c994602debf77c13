package broker

import "strings"

// A table splits the text of a CSV file into rows, one at a time. It knows the line on which each
// begins, takes quoted fields with commas, quotes and line ends, and goes on after a row that it
// can't split. What stands between a closing quote and the next comma belongs to the field, as
// some brokers write it. Blank lines are no rows.
type table struct {
	rest   string
	line   int // of the beginning of rest
	fields []string
}

// A row is one record. Its fields are valid until the next.
type row struct {
	place
	fields []string
	fault  string // why it could not be split, if it could not; the fields are those before a quote
}

// maxFields is far above what any table has.
const maxFields = 256

func newTable(text string) *table { return &table{rest: text, line: 1} }

// next is the next row; false at the end.
func (t *table) next() (row, bool) {
	for t.rest != "" {
		text, rest, _ := strings.Cut(t.rest, "\n")
		text = strings.TrimSuffix(text, "\r")
		at := place{t.line, text}
		switch {
		case len(text) > maxLine:
			t.rest = rest
			t.line++
			return row{place: at, fault: "the line is longer than 1 MiB"}, true
		case strings.IndexByte(text, '"') >= 0:
			return t.quoted(at, rest), true
		}
		t.rest = rest
		t.line++
		if strings.TrimSpace(text) == "" {
			continue
		}
		t.fields = t.fields[:0]
		for len(t.fields) < maxFields {
			i := strings.IndexByte(text, ',')
			if i < 0 {
				t.fields = append(t.fields, text)
				return row{at, t.fields, ""}, true
			}
			t.fields = append(t.fields, text[:i])
			text = text[i+1:]
		}
		return row{place: at, fault: "the row has too many fields"}, true
	}
	return row{}, false
}

// quoted splits a row that has quotes. If a quote is not closed within the longest line there may
// be, the row ends with its line.
func (t *table) quoted(at place, afterLine string) row {
	failed := func(fault string) row {
		t.rest = afterLine
		t.line++
		before, _, _ := strings.Cut(at.text, `"`)
		t.fields = append(t.fields[:0], strings.SplitN(before, ",", maxFields)...)
		return row{at, t.fields, fault}
	}
	all := t.rest
	window := all[:min(len(all), maxLine)]
	pos, lines := 0, 0
	t.fields = t.fields[:0]
	for len(t.fields) < maxFields {
		field, n, ok := cutField(window[pos:])
		if !ok {
			return failed("a quote is not closed")
		}
		lines += strings.Count(window[pos:pos+n], "\n")
		pos += n
		t.fields = append(t.fields, field)
		if pos < len(window) && window[pos] == ',' {
			pos++
			continue
		}
		if pos == len(window) && pos < len(all) {
			return failed("the row is longer than 1 MiB")
		}
		at.text = strings.TrimSuffix(all[:pos], "\r")
		if pos < len(all) {
			pos++ // the line's end
			lines++
		}
		t.rest = all[pos:]
		t.line += lines
		return row{at, t.fields, ""}
	}
	return failed("the row has too many fields")
}

// cutField is the field that s begins with and how long it is, up to its comma, line end or the
// end of s.
func cutField(s string) (field string, n int, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		n = strings.IndexAny(s, ",\n")
		if n < 0 {
			n = len(s)
		}
		return strings.TrimSuffix(s[:n], "\r"), n, true
	}
	n = 1
	for {
		i := strings.IndexByte(s[n:], '"')
		if i < 0 {
			return "", 0, false
		}
		n += i + 1
		if n == len(s) || s[n] != '"' {
			break
		}
		n++
	}
	field = strings.ReplaceAll(s[1:n-1], `""`, `"`)
	end := strings.IndexAny(s[n:], ",\n")
	if end < 0 {
		end = len(s) - n
	}
	return field + strings.TrimSuffix(s[n:n+end], "\r"), n + end, true
}

// columns are where the named fields of a row are.
type columns map[string]int

// header is what the columns of a row are called, in lower case and without units.
func header(fields []string) columns {
	c := columns{}
	for i, name := range fields {
		name = strings.ToLower(strings.TrimSpace(name))
		for _, unit := range []string{"($)", "$", "#"} {
			name = strings.TrimSpace(strings.TrimSuffix(name, unit))
		}
		if _, twice := c[name]; name != "" && !twice {
			c[name] = i
		}
	}
	return c
}

func (c columns) has(names ...string) bool {
	for _, name := range names {
		if _, ok := c[name]; !ok {
			return false
		}
	}
	return true
}

// get is the first of the named fields that the row has and that is not blank. Brokers that have
// nothing to say write dashes.
func (c columns) get(fields []string, names ...string) string {
	for _, name := range names {
		if i, ok := c[name]; ok && i < len(fields) {
			if s := strings.TrimSpace(fields[i]); s != "" && s != "--" {
				return s
			}
		}
	}
	return ""
}

// titleRows is how many rows may stand above a header.
const titleRows = 40

// csv finds the header of a CSV file and reads what is below it.
func (r *reading) csv(text string) error {
	t := newTable(text)
	var titles []string
	for range titleRows {
		row, ok := t.next()
		if !ok {
			break
		}
		c := header(row.fields)
		switch {
		case c.has("date", "action", "symbol", "quantity", "fees & comm"):
			return r.schwab(t, c, titles)
		case c.has("run date", "action", "symbol", "quantity", "amount"):
			return r.fidelity(t, c)
		case c.has("trade date", "transaction type", "symbol", "shares"), c.has("account number", "symbol", "shares", "total value"):
			return r.vanguard(t, c)
		case c.has("transactiondate", "transactiontype", "symbol", "quantity", "amount"), c.has("activity/trade date", "activity type", "symbol", "quantity", "amount"):
			return r.etrade(t, c, titles)
		case c.has("date", "action", "symbol", "quantity"):
			return r.canonical(t, c, len(row.fields))
		}
		titles = append(titles, strings.Join(row.fields, " "))
	}
	return unknownFormat(strings.TrimLeft(text, " \t\r\n"))
}

// prose tells whether a row is a sentence or a total below a table rather than a row of it: a
// single field that begins with no date, or Schwab's sum.
func prose(fields []string) bool {
	first, filled := "", 0
	for _, f := range fields {
		if f = strings.TrimSpace(f); f != "" {
			if filled == 0 {
				first = f
			}
			filled++
		}
	}
	word, _, _ := strings.Cut(first, " ")
	_, err := day(word)
	return filled == 0 || filled == 1 && err != nil || first == "Transactions Total"
}
