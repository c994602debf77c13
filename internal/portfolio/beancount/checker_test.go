package beancount

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

func usd(s string) portfolio.Decimal {
	d, err := portfolio.ParseDecimal(s)
	if err != nil {
		panic(err)
	}
	return d
}

var (
	opens   = regexp.MustCompile(`^(\d{4}-\d\d-\d\d) open ((?:Assets|Income|Equity|Expenses)(?::[A-Z0-9][A-Za-z0-9-]*)+)$`)
	names2  = regexp.MustCompile(`^(\d{4}-\d\d-\d\d) commodity ([A-Z][A-Z0-9'._-]{0,22}[A-Z0-9])$`)
	begins  = regexp.MustCompile(`^(\d{4}-\d\d-\d\d) \* "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"$`)
	meta    = regexp.MustCompile(`^  [a-z][a-z-]*: ("(?:[^"\\]|\\.)*"|[0-9.]+ USD)$`)
	posting = regexp.MustCompile(`^  ([A-Z][A-Za-z0-9:-]+)(?:  (-?[0-9.]+) ([A-Z][A-Z0-9'._-]*)(?: (\{.*\}))?(?: @ ([0-9.]+) USD)?)?$`)
	newLot  = regexp.MustCompile(`^(\{\{?)([0-9.]+) USD, (\d{4}-\d\d-\d\d), "(lot-\d+)"\}\}?$`)
	oldLot  = regexp.MustCompile(`^\{USD, (\d{4}-\d\d-\d\d), "(lot-\d+)"\}$`)
)

// A checker reads a file as beancount does, as far as exports use it: accounts are open, commodities
// declared, lots there that are taken, and transactions in balance.
type checker struct {
	open, commodities map[string]bool
	lots              map[string]*lot // by account and label
	units             map[string]portfolio.Decimal
	comments          []string
	errors            []string
}

// check reads a file.
func check(t *testing.T, text string) *checker {
	t.Helper()
	c := &checker{open: map[string]bool{}, commodities: map[string]bool{"USD": true}, lots: map[string]*lot{}, units: map[string]portfolio.Decimal{}}
	var entry []string
	end := func() {
		if len(entry) > 0 {
			c.transaction(entry)
		}
		entry = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, ";"):
			c.comments = append(c.comments, line)
		case line == "" || strings.HasPrefix(line, "option "):
			end()
		case opens.MatchString(line):
			c.open[opens.FindStringSubmatch(line)[2]] = true
		case names2.MatchString(line):
			c.commodities[names2.FindStringSubmatch(line)[2]] = true
		case begins.MatchString(line):
			end()
			entry = []string{line}
		case len(entry) > 0:
			entry = append(entry, line)
		case meta.MatchString(line): // of an account or commodity
		default:
			c.fail("can't be read: %q", line)
		}
	}
	end()
	if len(c.errors) > 0 {
		t.Fatalf("%s\n%.4000s", strings.Join(c.errors[:min(len(c.errors), 5)], "\n"), text)
	}
	return c
}

func (c *checker) fail(format string, args ...any) {
	c.errors = append(c.errors, fmt.Sprintf(format, args...))
}

func (c *checker) transaction(lines []string) {
	sums := map[string]portfolio.Decimal{}
	missing := 0
	for _, line := range lines[1:] {
		if meta.MatchString(line) {
			continue
		}
		p := posting.FindStringSubmatch(line)
		switch {
		case p == nil:
			c.fail("%s: %q", lines[0], line)
			return
		case !c.open[p[1]]:
			c.fail("%s: %s is not open", lines[0], p[1])
		case p[2] == "":
			missing++
			continue
		case !c.commodities[p[3]]:
			c.fail("%s: no commodity %s", lines[0], p[3])
		}
		n := usd(p[2])
		c.units[p[1]+" "+p[3]] = c.units[p[1]+" "+p[3]].Add(n)
		currency, weight := p[3], n
		switch {
		case p[4] != "":
			currency, weight = "USD", c.lot(lines[0], p[1]+" "+p[3], p[4], n)
		case p[5] != "":
			currency, weight = "USD", n.Mul(usd(p[5]))
		}
		sums[currency] = sums[currency].Add(weight)
	}
	for currency, sum := range sums {
		if sum.Abs().Cmp(usd("0.005")) > 0 && (missing == 0 || currency != "USD") {
			c.fail("%s: %s %s is left over", lines[0], sum, currency)
		}
	}
	if missing > 1 {
		c.fail("%s: %d amounts are missing", lines[0], missing)
	}
}

// lot takes from a lot or makes one, and returns what it cost.
func (c *checker) lot(where, account, spec string, n portfolio.Decimal) portfolio.Decimal {
	if made := newLot.FindStringSubmatch(spec); made != nil && n.Sign() > 0 {
		cost := usd(made[2])
		if made[1] == "{" {
			cost = cost.Mul(n)
		}
		if c.lots[account+made[4]] != nil {
			c.fail("%s: %s is there already", where, made[4])
		}
		c.lots[account+made[4]] = &lot{label: made[3], quantity: n, cost: cost}
		return cost
	}
	old := oldLot.FindStringSubmatch(spec)
	if old == nil || n.Sign() >= 0 {
		c.fail("%s: %s of %s", where, n, spec)
		return portfolio.Decimal{}
	}
	l := c.lots[account+old[2]]
	if l == nil || l.label != old[1] || l.quantity.Cmp(n.Neg()) < 0 {
		c.fail("%s: %s of %s: %+v", where, n, spec, l)
		return portfolio.Decimal{}
	}
	cost := l.cost
	if l.quantity.Cmp(n.Neg()) > 0 {
		cost = l.cost.Share(n.Neg(), l.quantity)
	}
	l.quantity, l.cost = l.quantity.Add(n), l.cost.Sub(cost)
	return cost.Neg()
}
