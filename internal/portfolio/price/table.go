package price

import (
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// columns says where in a row of CSV what is. What the file does not have is at -1.
type columns struct {
	format                        string
	date, open, high, low, closes int
	adj, symbol, period           int
	count, needed                 int // columns of the header; columns that a row must have
}

// columnsOf reads the header of a CSV file.
func columnsOf(header string) (columns, error) {
	names, err := split(header, nil)
	if err != nil {
		return columns{}, unknownHeader(header)
	}
	c := columns{count: len(names)}
	for i := range names {
		names[i] = plainName(names[i])
	}
	twice := false
	at := func(name string) int {
		found := -1
		for i, n := range names {
			if n == name {
				twice = twice || found >= 0
				found = i
			}
		}
		return found
	}
	c.date, c.open, c.high, c.low, c.closes = at("date"), at("open"), at("high"), at("low"), at("close")
	c.adj, c.symbol, c.period = at("adjclose"), at("symbol"), at("per")
	ticker := at("ticker")
	switch {
	case twice || min(c.date, c.open, c.high, c.low, c.closes) < 0 || c.symbol >= 0 && ticker >= 0:
		return columns{}, unknownHeader(header)
	case ticker >= 0:
		c.format, c.symbol = "stooq-bulk", ticker
	case c.symbol >= 0:
		c.format = "canonical"
	case c.adj >= 0:
		c.format = "yahoo"
	default:
		c.format = "stooq"
	}
	c.needed = 1 + max(c.date, c.open, c.high, c.low, c.closes, c.adj, c.symbol, c.period)
	return c, nil
}

// plainName is a column's name without what files write differently: Adj Close, adj_close,
// adjClose and <CLOSE>.
func plainName(s string) string {
	return strings.NewReplacer(" ", "", "_", "", "<", "", ">", "").Replace(strings.ToLower(s))
}

func unknownHeader(header string) error {
	if strings.HasPrefix(header, "<") {
		return ErrWebPage
	}
	const known = "known are CSV files with the columns date,symbol,open,high,low,close,adj_close" +
		" or Date,Open,High,Low,Close,Adj Close,Volume (Yahoo)" +
		" or Date,Open,High,Low,Close,Volume (Stooq)" +
		" or <TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT> (Stooq in bulk)," +
		" and Yahoo's chart JSON"
	return fmt.Errorf("%w: it begins with %.200q; %s", ErrUnknownFormat, header, known)
}

// table reads the rows of a CSV file.
type table struct {
	columns
	only    string            // the symbol of a file that names none
	symbols map[string]string // as the file writes them → as they are kept: each is kept once
	fields  []string          // of the present row
}

// row reads a row.
func (t *table) row(text string) (q Quote, err error) {
	if t.fields, err = split(text, t.fields[:0]); err != nil {
		return Quote{}, err
	}
	if len(t.fields) < t.needed {
		return Quote{}, fmt.Errorf("the row has %d fields of the %d needed", len(t.fields), t.needed)
	}
	for _, extra := range t.fields[min(t.count, len(t.fields)):] {
		if extra != "" { // a thousands separator without quotes, for one, moves all that follows
			return Quote{}, fmt.Errorf("the row has %d fields, the header %d", len(t.fields), t.count)
		}
	}
	if t.period >= 0 && !strings.EqualFold(t.fields[t.period], "d") {
		return Quote{}, fmt.Errorf("the period %.20q is not D: only daily prices are read", t.fields[t.period])
	}
	if q.Symbol, err = t.symbolOf(); err != nil {
		return Quote{}, err
	}
	if q.Date, err = parseDay(t.fields[t.date]); err != nil {
		return Quote{}, err
	}
	if err := t.prices(&q.Bar); err != nil {
		return Quote{}, err
	}
	return q, q.check()
}

func (t *table) prices(b *Bar) (err error) {
	if b.Open, err = parsePrice("open", t.fields[t.open]); err != nil {
		return err
	}
	if b.High, err = parsePrice("high", t.fields[t.high]); err != nil {
		return err
	}
	if b.Low, err = parsePrice("low", t.fields[t.low]); err != nil {
		return err
	}
	if b.Close, err = parsePrice("close", t.fields[t.closes]); err != nil {
		return err
	}
	b.Adj = b.Close
	if t.adj >= 0 && t.fields[t.adj] != "" {
		b.Adj, err = parsePrice("adjusted close", t.fields[t.adj])
	}
	return err
}

// symbolOf is the symbol of the present row. Stooq marks those of the United States with .US,
// which no broker there does.
func (t *table) symbolOf() (string, error) {
	if t.symbol < 0 {
		return t.only, nil
	}
	written := t.fields[t.symbol]
	if s, ok := t.symbols[written]; ok {
		return s, nil
	}
	s, err := ParseSymbol(written)
	if err != nil {
		if written == "" {
			err = errors.New("the row has no symbol")
		}
		return "", err
	}
	if t.format == "stooq-bulk" && len(s) > len(".US") {
		s = strings.TrimSuffix(s, ".US")
	}
	s = strings.Clone(s) // not the whole row
	t.symbols[strings.Clone(written)] = s
	return s, nil
}

// parseDay reads 2006-01-02, with or without a time after it, and 20060102.
func parseDay(s string) (portfolio.Date, error) {
	const day = len("2006-01-02")
	switch {
	case len(s) == len("20060102"):
		s = s[:4] + "-" + s[4:6] + "-" + s[6:]
	case len(s) > day && (s[day] == 'T' || s[day] == ' '):
		s = s[:day]
	}
	return portfolio.ParseDate(s)
}

// parsePrice reads a price, of which 1,234.50 is a form.
func parsePrice(name, s string) (portfolio.Decimal, error) {
	if strings.Contains(s, ",") {
		s = withoutThousands(s)
	}
	price, err := portfolio.ParseDecimal(s)
	if err == nil {
		return price, nil
	}
	if s == "" || strings.EqualFold(s, "null") || strings.EqualFold(s, "nan") {
		return price, fmt.Errorf("there is no %s", name)
	}
	return price, fmt.Errorf("the %s %w", name, err)
}

// withoutThousands leaves out commas that stand before three digits each, after one to three.
// Others, as in 12,5, stay and make the number unreadable.
func withoutThousands(s string) string {
	whole, fraction, point := strings.Cut(s, ".")
	groups := strings.Split(whole, ",")
	for i, g := range groups {
		if i > 0 && len(g) != 3 || len(g) > 3 || g == "" {
			return s
		}
	}
	s = strings.Join(groups, "")
	if point {
		s += "." + fraction
	}
	return s
}

// split cuts a row of CSV into its fields, appended to fields, without blanks around them.
// Quotes may be around a field, and doubled inside; a field does not go over the line's end.
func split(row string, fields []string) ([]string, error) {
	anyQuoted := strings.IndexByte(row, '"') >= 0
	for {
		if anyQuoted {
			if row = strings.TrimLeft(row, " \t"); strings.HasPrefix(row, `"`) {
				field, rest, err := quoted(row[1:])
				if err != nil {
					return nil, err
				}
				fields = append(fields, strings.TrimSpace(field))
				if rest == "" {
					return fields, nil
				}
				row = rest[1:]
				continue
			}
		}
		field, rest, more := strings.Cut(row, ",")
		fields = append(fields, strings.TrimSpace(field))
		if !more {
			return fields, nil
		}
		row = rest
	}
}

// quoted is the field up to its closing quote, and the rest of the row from the comma on.
func quoted(s string) (field, rest string, err error) {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '"')
		if i < 0 {
			return "", "", errors.New("a quote is opened and not closed on the line")
		}
		i += from
		if i+1 < len(s) && s[i+1] == '"' {
			from = i + 2
			continue
		}
		rest = strings.TrimLeft(s[i+1:], " \t")
		if rest != "" && rest[0] != ',' {
			return "", "", fmt.Errorf("there is text after a closing quote: %.40q", rest)
		}
		return strings.ReplaceAll(s[:i], `""`, `"`), rest, nil
	}
}
