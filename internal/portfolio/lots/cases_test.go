package lots

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// A scenario is one case of testdata/cases.txt, which says how it is written.
type scenario struct {
	name, authority string
	rules           Rules
	asOf            portfolio.Date
	history         []portfolio.Transaction
	want            map[string][]string
}

func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := parseCases(t, string(data))
	if len(cases) < 160 {
		t.Errorf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.authority == "" {
				t.Error("it names no authority")
			}
			for _, reversed := range []bool{false, true} { // the order of days makes no difference
				if reversed {
					slices.SortStableFunc(c.history, func(a, b portfolio.Transaction) int { return b.Date.Compare(a.Date) })
				}
				b := Build(c.history, c.rules, c.asOf)
				if diff := cmp.Diff(c.want["gains"], gainLines(b)); diff != "" {
					t.Errorf("gains, reversed %v (-want +got):\n%s", reversed, diff)
				}
				if diff := cmp.Diff(c.want["lots"], lotLines(b)); diff != "" {
					t.Errorf("lots, reversed %v (-want +got):\n%s", reversed, diff)
				}
				if len(b.Problems) != len(c.want["problems"]) {
					t.Fatalf("problems: %v", b.Problems)
				}
				for i, p := range b.Problems {
					if !strings.Contains(p.Text, c.want["problems"][i]) {
						t.Errorf("problem %q, want %q", p.Text, c.want["problems"][i])
					}
				}
			}
		})
	}
}

func gainLines(b *Book) (lines []string) {
	for _, d := range b.Disposals {
		term := "short"
		if d.Long() {
			term = "long"
		}
		line := fmt.Sprintf("%s %s %s %s %s %s %s", d.Symbol, d.Acquired, d.Sold, d.Quantity, d.Proceeds, d.Basis, term)
		if d.Action != portfolio.Sell {
			line += " " + string(d.Action)
		}
		line += optional(" disallowed ", d.Disallowed) + optional(" permanent ", d.Permanent) + optional(" unsettled ", d.Unsettled)
		if slices.ContainsFunc(d.Washes, func(w Wash) bool { return w.Call }) {
			line += " call"
		}
		lines = append(lines, line)
	}
	return lines
}

func lotLines(b *Book) (lines []string) {
	for _, l := range b.Lots {
		line := fmt.Sprintf("%s %s %s %s %s", l.Account, l.Symbol, l.Acquired, l.Quantity, l.Basis)
		if l.HoldingSince != l.Acquired {
			line += " since " + l.HoldingSince.String()
		}
		lines = append(lines, line)
	}
	return lines
}

func optional(name string, d portfolio.Decimal) string {
	if d.IsZero() {
		return ""
	}
	return name + d.String()
}

func parseCases(t *testing.T, text string) (cases []*scenario) {
	t.Helper()
	section := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "== "); ok {
			cases, section = append(cases, &scenario{name: name, want: map[string][]string{}}), ""
			continue
		}
		c := cases[len(cases)-1]
		words := strings.Fields(line)
		switch {
		case slices.Contains([]string{"gains", "lots", "problems"}, line):
			section = line
		case section == "problems":
			c.want[section] = append(c.want[section], line)
		case section != "":
			c.want[section] = append(c.want[section], plain(words))
		case words[0] == "authority:":
			c.authority = line
		case words[0] == "account":
			account := portfolio.Unlisted(words[1])
			account.Kind = portfolio.Kind(words[2])
			if len(words) > 3 {
				account.Method = portfolio.Method(words[3])
			}
			if err := account.Check(); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			c.rules.Accounts = append(c.rules.Accounts, account)
		case words[0] == "identical":
			c.rules.Identical = append(c.rules.Identical, words[1:])
		case words[0] == "similar":
			c.rules.Similar = append(c.rules.Similar, words[1:])
		case words[0] == "as" && words[1] == "of":
			c.asOf = day(t, words[2])
		default:
			row := transaction(t, line)
			if err := row.Check(); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			c.history = append(c.history, row)
		}
	}
	for _, c := range cases {
		if c.asOf.IsZero() {
			for _, row := range c.history {
				if !row.Date.Before(c.asOf) {
					c.asOf = row.Date.Add(1)
				}
			}
		}
	}
	return cases
}

// plain writes numbers as short as they go, so that a case may say 0.50.
func plain(words []string) string {
	for i, w := range words {
		if d, err := portfolio.ParseDecimal(w); err == nil {
			words[i] = d.String()
		}
	}
	return strings.Join(words, " ")
}

func transaction(t *testing.T, line string) portfolio.Transaction {
	t.Helper()
	line, note, _ := strings.Cut(line, " note ")
	words := strings.Fields(line)
	date, clock, _ := strings.Cut(words[0], "T")
	row := portfolio.Transaction{Date: day(t, date), Account: words[1], Action: portfolio.Action(words[2]), Symbol: words[3], Note: note}
	if clock != "" {
		var err error
		if row.Time, err = portfolio.ParseClock(clock); err != nil {
			t.Fatal(err)
		}
	}
	numbers := []*portfolio.Decimal{&row.Quantity, &row.Price, &row.Fees}
	for i := 4; i < len(words); i++ {
		switch words[i] {
		case "order", "into":
			*map[string]*string{"order": &row.Order, "into": &row.Into}[words[i]] = words[i+1]
			i++
		case "amount", "ratio", "basis_share", "into_price":
			*map[string]*portfolio.Decimal{"amount": &row.Amount, "ratio": &row.Ratio, "basis_share": &row.BasisShare, "into_price": &row.IntoPrice}[words[i]] = number(t, words[i+1])
			i++
		case "free":
			row.FreeOfCost = true
		default:
			*numbers[0] = number(t, words[i])
			numbers = numbers[1:]
		}
	}
	return row
}

func day(t *testing.T, s string) portfolio.Date {
	t.Helper()
	d, err := portfolio.ParseDate(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func number(t *testing.T, s string) portfolio.Decimal {
	t.Helper()
	d, err := portfolio.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
