package price

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// collector gathers the rows of a file.
type collector struct {
	unit    string // what the rows are counted in
	series  map[string]*series
	count   int
	skipped []Skipped
	more    int
}

// series is the rows of one symbol as they came. Most files have each symbol's days in order, so
// that there is nothing to sort.
type series struct {
	quotes    []Quote
	lines     []int32 // that the quotes are from
	unordered bool
}

func newCollector(unit string) *collector {
	return &collector{unit: unit, series: map[string]*series{}}
}

func (c *collector) add(line int, q Quote) error {
	if c.count == maxQuotes {
		return fmt.Errorf("%w: it has more than %d days of prices", ErrTooLarge, maxQuotes)
	}
	c.count++
	s := c.series[q.Symbol]
	if s == nil {
		s = &series{}
		c.series[q.Symbol] = s
	}
	if n := len(s.quotes); n > 0 && !q.Date.After(s.quotes[n-1].Date) {
		s.unordered = true
	}
	s.quotes, s.lines = append(s.quotes, q), append(s.lines, int32(line))
	return nil
}

func (c *collector) skip(line int, text string, why error) {
	if len(c.skipped) == maxSkipped {
		c.more++
		return
	}
	text = strings.Clone(text[:min(len(text), maxText)])
	c.skipped = append(c.skipped, Skipped{Line: line, Text: text, Reason: why.Error()})
}

// file is what was gathered, in order.
func (c *collector) file(format string) File {
	quotes := make([]Quote, 0, c.count)
	for _, symbol := range slices.Sorted(maps.Keys(c.series)) {
		quotes = c.take(quotes, c.series[symbol])
		delete(c.series, symbol)
	}
	slices.SortStableFunc(c.skipped, func(a, b Skipped) int { return a.Line - b.Line })
	return File{Format: format, Quotes: quotes, Skipped: c.skipped, More: c.more}
}

// take appends a symbol's quotes by day, of each day the last.
func (c *collector) take(quotes []Quote, s *series) []Quote {
	if !s.unordered {
		return append(quotes, s.quotes...)
	}
	at := make([]int, len(s.quotes))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int { return s.quotes[i].Date.Compare(s.quotes[j].Date) })
	for k, i := range at {
		q := s.quotes[i]
		if k+1 == len(at) || s.quotes[at[k+1]].Date != q.Date {
			quotes = append(quotes, q)
			continue
		}
		if later := at[k+1]; !q.equal(s.quotes[later].Bar) {
			c.skip(int(s.lines[i]), q.text(), fmt.Errorf("%s %d has other prices for the same day", c.unit, s.lines[later]))
		}
	}
	return quotes
}

func (b Bar) equal(c Bar) bool {
	return b.Date == c.Date && b.Open.Cmp(c.Open) == 0 && b.High.Cmp(c.High) == 0 &&
		b.Low.Cmp(c.Low) == 0 && b.Close.Cmp(c.Close) == 0 && b.Adj.Cmp(c.Adj) == 0
}

// text is the quote as a canonical row.
func (q Quote) text() string {
	return fmt.Sprintf("%s,%s,%s,%s,%s,%s,%s", q.Date, q.Symbol, q.Open, q.High, q.Low, q.Close, q.Adj)
}
