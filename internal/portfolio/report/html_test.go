package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
)

// fixtures are the kinds of portfolios that a report is looked at with.
func fixtures() map[string]Data {
	return map[string]Data{"rich": rich(), "sparse": sparse(), "hostile": hostile(), "empty": {AsOf: today}, "marked": marked()}
}

// marked is the rich data with markup in every text.
func marked() Data {
	d := rich()
	fill(reflect.ValueOf(&d).Elem())
	return d
}

const markup = script + `"'&` + "`|\x00\x1b[31m\u202e\xff"

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + markup)
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	}
}

func html(t *testing.T, d Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An element of a page, as far as the checks need it.
type element struct {
	name   string
	attr   map[string]string
	parent *element
	text   strings.Builder // all that is in it
}

// parse reads a page as strict XML, which it is written to be, and gives its elements in order.
func parse(t *testing.T, page string) []*element {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(page))
	var all []*element
	var open *element
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attr: map[string]string{}, parent: open}
			for _, a := range token.Attr {
				if _, twice := e.attr[a.Name.Local]; twice {
					t.Errorf("<%s> has two attributes %s", e.name, a.Name.Local)
				}
				e.attr[a.Name.Local] = a.Value
			}
			all, open = append(all, e), e
		case xml.EndElement:
			open = open.parent
		case xml.CharData:
			for e := open; e != nil; e = e.parent {
				e.text.Write(token)
			}
		}
	}
	if open != nil {
		t.Fatalf("<%s> is not closed", open.name)
	}
	return all
}

// A page is safe whatever is in it: it has no script, no style of its own and nothing to fetch.
func TestPageIsSafe(t *testing.T) {
	elements := []string{"html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "article", "footer",
		"h1", "h2", "h3", "p", "a", "b", "span", "div", "time", "ol", "ul", "li", "dl", "dt", "dd",
		"table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td",
		"svg", "defs", "pattern", "path", "circle", "rect", "line", "text", "tspan", "desc", "use"}
	for name, d := range fixtures() {
		t.Run(name, func(t *testing.T) {
			policies := 0
			for _, e := range parse(t, html(t, d)) {
				if !slices.Contains(elements, e.name) {
					t.Errorf("there is a <%s>", e.name)
				}
				for a, value := range e.attr {
					if strings.HasPrefix(a, "on") || a == "style" || a == "src" {
						t.Errorf("<%s> has %s=%q", e.name, a, value)
					}
					if a == "href" && !strings.HasPrefix(value, "#") {
						t.Errorf("<%s> leads to %q", e.name, value)
					}
					if strings.Contains(value, "//") || strings.Contains(value, "http:") || strings.Contains(value, "https:") || strings.Contains(value, "url(") {
						t.Errorf("<%s> has %s=%q", e.name, a, value)
					}
				}
				if e.name == "style" && (strings.Contains(strings.ReplaceAll(e.text.String(), "url(#", ""), "url(") || strings.Contains(e.text.String(), "@import")) {
					t.Error("the style fetches something")
				}
				if e.attr["http-equiv"] == "Content-Security-Policy" && strings.HasPrefix(e.attr["content"], "default-src 'none'; style-src 'unsafe-inline';") {
					policies++
				}
			}
			if policies != 1 {
				t.Error("no policy forbids the page to fetch anything")
			}
		})
	}
}

// A page can be read without seeing it: names for charts and tables, and links that lead somewhere.
func TestPageIsAccessible(t *testing.T) {
	for name, d := range fixtures() {
		t.Run(name, func(t *testing.T) {
			all := parse(t, html(t, d))
			ids, level := map[string]bool{}, 0
			for _, e := range all {
				if id := e.attr["id"]; id != "" {
					if ids[id] {
						t.Errorf("the id %s is there twice", id)
					}
					ids[id] = true
				}
			}
			for _, e := range all {
				for _, id := range strings.Fields(e.attr["aria-labelledby"] + " " + strings.TrimPrefix(e.attr["href"], "#")) {
					if !ids[id] {
						t.Errorf("<%s> names %s, which is not there", e.name, id)
					}
				}
				switch e.name {
				case "svg":
					nested := e.parent.name == "svg"
					if !nested && e.attr["aria-hidden"] != "true" && (e.attr["role"] != "img" || len(strings.Fields(e.attr["aria-labelledby"])) != 2) {
						t.Errorf("a chart has no title and description: %v", e.attr)
					}
				case "th":
					if e.attr["scope"] == "" {
						t.Errorf("the header %q has no scope", e.text.String())
					}
				case "h1", "h2", "h3":
					next := int(e.name[1] - '0')
					if next > level+1 {
						t.Errorf("the heading %q follows one of level %d", e.text.String(), level)
					}
					level = next
				}
			}
		})
	}
}

// Markup from files is shown, and what does not show is spelt out.
func TestPageEscapes(t *testing.T) {
	page := html(t, marked())
	for _, raw := range []string{"<script", "\x00", "\x1b", "\u202e", "\xff"} {
		if strings.Contains(page, raw) {
			t.Errorf("the page has %q", raw)
		}
	}
	body := text(t, page)
	d := marked()
	for _, s := range []string{d.Notes[0], d.Exits[0].Ticker, d.Exits[0].Verdict, d.Accounts[0].Owner, d.Harvest.Verdict, d.Harvest.Candidates[0].Symbol, d.Disclaimer} {
		if !strings.Contains(body, clean(s)) {
			t.Errorf("%q is not shown", s)
		}
	}
}

// text is what a reader of the page sees, with plain signs.
func text(t *testing.T, page string) string {
	t.Helper()
	for _, e := range parse(t, page) {
		if e.name == "body" {
			return strings.ReplaceAll(e.text.String(), "−", "-")
		}
	}
	t.Fatal("there is no body")
	return ""
}

// numbers has every number of the data that both forms of the report must show.
func numbers(d Data) []string {
	var list []string
	for _, p := range d.Positions {
		list = append(list, p.Quantity.String(), p.Basis.Cents())
		if !p.PricedOn.IsZero() {
			list = append(list, p.Price.Money(), p.PricedOn.String(), p.Value().Cents(), p.Gain().Cents(), p.Short.Cents(), p.Long.Cents())
		}
		if p.InLots.Cmp(p.Quantity) != 0 {
			list = append(list, p.InLots.String())
		}
	}
	for _, y := range d.Gains {
		list = append(list, fmt.Sprint(y.Year))
		for _, n := range []portfolio.Decimal{y.Short, y.Long, y.Short.Add(y.Long), y.Disallowed, y.Permanent, y.Unsettled} {
			list = append(list, n.Cents())
		}
	}
	for _, e := range d.Exits {
		for _, s := range e.Signals {
			list = append(list, fmt.Sprintf("%.2f", s.Severity))
		}
		list = append(list, quote(e.Prices[len(e.Prices)-1].Value), quote(e.Mean[len(e.Mean)-1].Value))
	}
	h := d.Harvest
	list = append(list, h.Total.Cents(), h.Short.Cents(), h.Long.Cents())
	for _, c := range h.Candidates {
		for _, n := range []portfolio.Decimal{c.Basis, c.Value, c.Loss, c.Washed, c.Permanent, c.Unsettled} {
			list = append(list, n.Cents())
		}
		list = append(list, c.Quantity.String(), c.Acquired.String(), c.BuyAgain.String(), c.WashFree.String(), purchases(c.WashedBy), days(c.Reinvestments))
	}
	for _, w := range d.Calendar {
		list = append(list, w.Sale.String(), w.First().String(), w.Last().String(), w.BuyAgain().String(), w.Loss.Cents(), purchases(w.Purchases), days(w.Reinvestments))
	}
	return list
}

func TestPageShowsEveryNumber(t *testing.T) {
	d := rich()
	body := text(t, html(t, d))
	for _, n := range numbers(d) {
		if !strings.Contains(body, n) {
			t.Errorf("%s is not shown", n)
		}
	}
}

// The page says what needs deciding, the worst first.
func TestPageDecisions(t *testing.T) {
	var verdicts []string
	for _, d := range rich().view().Decisions {
		verdicts = append(verdicts, d.Badge)
	}
	if want := []string{"ERROR", "STRONG EXIT", "EXIT", "HARVEST"}; !slices.Equal(verdicts, want) {
		t.Errorf("decisions are %q, want %q", verdicts, want)
	}
	body := text(t, html(t, rich()))
	for _, s := range []string{"Buying would wash a loss that was taken: GLD before 2025-04-11, IWM before 2025-03-24.", "To watch: BND, VNQ.",
		"To hold: AAPL, BRK.B, GLD, MSFT, NVDA, TLT, VTI."} {
		if !strings.Contains(body, s) {
			t.Errorf("the page does not say: %s", s)
		}
	}
	if strings.Index(body, "What needs deciding") > strings.Index(body, "Positions\n") {
		t.Error("the decisions are not first")
	}
}

// A symbol must not be bought on the 30th day after its sale, and may on the 31st.
func TestOpenWindows(t *testing.T) {
	d := Data{AsOf: today, Calendar: []Window{
		{Symbol: "B", Sale: today.Add(-30)}, {Symbol: "A", Sale: today}, {Symbol: "A", Sale: today.Add(-9)},
		{Symbol: "PAST", Sale: today.Add(-31)}, {Symbol: "PLAN", Sale: today, Planned: true},
	}}
	if diff := cmp.Diff([]string{"A before 2025-04-14", "B before 2025-03-15"}, openWindows(d)); diff != "" {
		t.Error(diff)
	}
}

// No data is no all-clear.
func TestPageEmpty(t *testing.T) {
	for _, c := range []struct {
		name string
		d    Data
		says []string
		not  []string
	}{
		{"empty", Data{AsOf: today}, []string{"Nothing was checked: import transactions and prices first.", "No held ticker was checked for exit signals.",
			"No lot is listed.", "There is no wash-sale window to show.", "The history has no open position.",
			"The history has no sale in a taxable account.", "No account is described", "There is nothing to note."}, []string{"Nothing needs deciding"}},
		{"sparse", sparse(), []string{"Nothing needs deciding on 2025-03-14.", "To hold: VTI."}, []string{"Nothing was checked"}},
		{"no prices", Data{AsOf: today, Exits: []Exit{{Ticker: "VTI"}}}, []string{"There are too few prices for a chart.", "No rule was evaluated.", "To watch: VTI."}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := text(t, html(t, c.d))
			for _, s := range c.says {
				if !strings.Contains(body, s) {
					t.Errorf("the page does not say: %s", s)
				}
			}
			for _, s := range c.not {
				if strings.Contains(body, s) {
					t.Errorf("the page says: %s", s)
				}
			}
		})
	}
}

func TestPageIsTheSameTwice(t *testing.T) {
	for name, d := range fixtures() {
		before := fmt.Sprintf("%v", d)
		first, second := html(t, d), html(t, d)
		if first != second {
			t.Errorf("%s: two pages of the same data differ", name)
		}
		if fmt.Sprintf("%v", d) != before {
			t.Errorf("%s: the data was changed", name)
		}
	}
}

func TestPageIsSmall(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	d := rich()
	d.Exits = nil
	for i := range 20 {
		d.Exits = append(d.Exits, exit(random, fmt.Sprintf("T%02d", i), "EXIT", 3, 100, 0, 0.02))
	}
	if size := len(html(t, d)); size > 300_000 {
		t.Errorf("the page of 20 tickers has %d bytes", size)
	}
}

type full struct{}

var errFull = errors.New("the disk is full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteFails(t *testing.T) {
	for name, write := range map[string]func(io.Writer, Data) error{"HTML": HTML, "Markdown": Markdown} {
		if err := write(full{}, sparse()); !errors.Is(err, errFull) {
			t.Errorf("%s: %v, want that the disk is full", name, err)
		}
	}
}
