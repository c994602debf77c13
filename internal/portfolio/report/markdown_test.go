package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func markdownOf(t *testing.T, d Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := Markdown(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each row of a table has as many cells as its head, whatever is in them.
func TestMarkdownTables(t *testing.T) {
	escaped := regexp.MustCompile(`\\.`)
	for name, d := range fixtures() {
		t.Run(name, func(t *testing.T) {
			columns, tables := 0, 0
			for _, line := range strings.Split(markdownOf(t, d), "\n") {
				if !strings.HasPrefix(line, "|") {
					columns = 0
					continue
				}
				n := strings.Count(escaped.ReplaceAllString(line, ""), "|")
				if columns == 0 {
					columns = n
					tables++
				}
				if n != columns {
					t.Errorf("a row has %d marks, its head %d: %s", n, columns, line)
				}
			}
			if tables == 0 {
				t.Error("there is no table")
			}
		})
	}
}

// Texts from files are texts: no markup of theirs takes effect.
func TestMarkdownEscapes(t *testing.T) {
	bare := regexp.MustCompile(`\\[^\w\s]`)
	for _, d := range []Data{marked(), hostile()} {
		page := bare.ReplaceAllString(markdownOf(t, d), "")
		for _, raw := range []string{"<", "`", "\x00", "\x1b", "\u202e", "\xff", "](", "://", "~~", "&"} {
			if strings.Contains(page, raw) {
				t.Errorf("%q takes effect", raw)
			}
		}
	}
}

func TestMark(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"BRK.B", "BRK.B"},
		{"-1,234.50", "-1,234.50"},
		{"2025-03-14", "2025-03-14"},
		{"a|b", `a\|b`},
		{"trend_sma10m", `trend\_sma10m`},
		{"- an item", `\- an item`},
		{"---", `\---`},
		{"# a heading", `\# a heading`},
		{"1. an item", `1\. an item`},
		{"12) an item", `12\) an item`},
		{"1.5 shares", "1.5 shares"},
		{"see https://example.org", `see https\://example.org`},
		{"www.example.org", `www\.example.org`},
		{`a \| b`, `a \\\| b`},
		{"  blanks ", "blanks"},
	} {
		if got := mark(c.text); got != c.want {
			t.Errorf("mark(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestMarkdownShowsEveryNumber(t *testing.T) {
	d := rich()
	page := markdownOf(t, d)
	for _, n := range numbers(d) {
		if !strings.Contains(page, n) {
			t.Errorf("%s is not shown", n)
		}
	}
}

func TestMarkdownSections(t *testing.T) {
	for name, d := range fixtures() {
		page := markdownOf(t, d)
		at := 0
		for _, head := range []string{"# Portfolio on 2025-03-14\n", "## What needs deciding\n", "## Exit signals\n", "## Tax-loss harvest\n",
			"## Wash-sale calendar\n", "## Positions\n", "## Realised gains\n", "## Accounts\n", "## Notes\n"} {
			i := strings.Index(page[at:], head)
			if i < 0 {
				t.Fatalf("%s: %q is missing or out of order", name, head)
			}
			at += i
		}
		if markdownOf(t, d) != page {
			t.Errorf("%s: two reports of the same data differ", name)
		}
	}
}

// The last turn that has happened is said, not one to come.
func TestMarkdownLastTurn(t *testing.T) {
	d := sparse()
	d.Exits[0].Marks = []Mark{{today.Add(-90), true}, {today.Add(-40), false}, {today.Add(20), true}}
	if page := markdownOf(t, d); !strings.Contains(page, "Turned back on "+today.Add(-40).String()+".") {
		t.Errorf("the last turn is not said:\n%s", page)
	}
}
