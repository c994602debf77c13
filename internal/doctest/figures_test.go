package doctest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A figure is a number with a unit. Those in code are what a program prints, and are compared elsewhere.
var (
	figure = regexp.MustCompile(`(?:^|[^\w.-])((?:\d[\d.,]*|two|three|four|five|ten|fifteen|thirty|sixty) ?(?:ns|µs|ms|s|min|seconds?|minutes?|hours?|bytes|B|KB|MB|GB|TB|KiB|MiB|GiB|%|times|[a-z]+/s))(?:[^\w-]|$)`)
	code   = regexp.MustCompile("`[^`]*`")
	run    = regexp.MustCompile("`[^`]*(?:go (?:test|run|build|list|tool)|signalbox (?:bench|run)|portfolio bench|bench/|eval/|examples/|\\.ci/)[^`]*`")
	item   = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)
)

// A part of a page is what is read at once: a paragraph, an item of a list, a row of a table.
type part struct {
	line   int
	text   string
	before string // the paragraph before a table, which speaks for its rows
}

// parts reads those of a page, less its headings and blocks of code.
func parts(page string) (all []part) {
	var now part
	var table string // the paragraph before the table that we are in, under the same heading
	var under int    // the first part under this heading
	end := func() {
		if now.text != "" {
			all = append(all, now)
		}
		now = part{}
	}
	fence := false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			end()
			fence = !fence
		case !fence && strings.HasPrefix(line, "#"):
			end()
			table, under = "", len(all)
		case fence || strings.TrimSpace(line) == "":
			end()
		case strings.HasPrefix(line, "|"):
			if end(); len(all) > under && !strings.HasPrefix(all[len(all)-1].text, "|") {
				table = all[len(all)-1].text
			}
			now = part{i + 1, line, table}
		default:
			if item.MatchString(line) || strings.HasPrefix(now.text, "|") {
				end()
			}
			if now.text == "" {
				now.line = i + 1
			}
			now.text += line + "\n"
		}
	}
	end()
	return all
}

// unfounded returns the figures of a page that name no command which shows them, and are no limit of the program either.
func unfounded(page string, limits map[string]bool) (found []string) {
	for _, p := range parts(page) {
		if run.MatchString(p.text) || run.MatchString(p.before) {
			continue
		}
		for _, m := range figure.FindAllStringSubmatch(code.ReplaceAllString(p.text, "``"), -1) {
			if !limits[m[1]] {
				found = append(found, fmt.Sprintf("line %d: %s", p.line, m[1]))
			}
		}
	}
	return found
}

// TestFigures reads the README and the pages: what was measured names its command, beside it or before its table, and what is
// not measured is a limit, which testdata/limits.txt leads to in the code.
func TestFigures(t *testing.T) {
	limits := readLimits(t)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	pages = append(pages, "../../README.md")
	for _, l := range limits {
		if !slices.Contains(pages, "../../"+l.page) {
			t.Errorf("testdata/limits.txt: there is no page %s", l.page)
		}
	}
	for _, path := range pages {
		if path == "../../docs/scale.md" {
			continue // internal/shards works its figures out, and knows the short names that it has for commands
		}
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for _, l := range limits {
			if "../../"+l.page == path {
				known[l.figure] = true
				if !strings.Contains(string(page), l.figure) {
					t.Errorf("testdata/limits.txt: %s is not on %s", l.figure, path)
				}
			}
		}
		for _, f := range unfounded(string(page), known) {
			t.Errorf("%s: %s names neither the command that shows it nor, in testdata/limits.txt, where it is set", path, f)
		}
	}
}

// A limit is a figure of a page that the program keeps, and not one that was measured.
type limit struct{ page, figure, file, text string }

// readLimits reads testdata/limits.txt: a page, a figure on it, a file and what stands there.
func readLimits(t *testing.T) (limits []limit) {
	t.Helper()
	data, err := os.ReadFile("testdata/limits.txt")
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range slices.Collect(strings.Lines(string(data))) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, " | ")
		if len(cells) != 4 {
			t.Fatalf("testdata/limits.txt:%d: it has to be PAGE | FIGURE | FILE | TEXT", n+1)
		}
		source, err := os.ReadFile(filepath.Join("../..", cells[2]))
		if err != nil {
			t.Errorf("testdata/limits.txt:%d: %v", n+1, err)
		} else if !stands(string(source), cells[3]) {
			t.Errorf("testdata/limits.txt:%d: %s does not have %q", n+1, cells[2], cells[3])
		}
		limits = append(limits, limit{cells[0], cells[1], cells[2], cells[3]})
	}
	return limits
}

// stands says whether a source has a text, and not only as a part of a longer name or number.
func stands(source, text string) bool {
	return regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(text) + `(?:\W|$)`).MatchString(source)
}

func TestStands(t *testing.T) {
	for source, want := range map[string]bool{
		"const (\n\tmaxID = 128\n)": true, "maxID = 128": true, "maxID = 1280": false, "fetchmaxID = 128": false, "maxID = 64": false,
	} {
		if stands(source, "maxID = 128") != want {
			t.Errorf("%q: %t", source, !want)
		}
	}
}

func TestUnfounded(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want []string
	}{
		"no figure":               {"It has 3 parts, of `10 MB`.\n", nil},
		"no command":              {"# Speed\n\nIt takes 3 ms.\n", []string{"line 3: 3 ms"}},
		"in words":                {"It is killed after five seconds.\n", []string{"line 1: five seconds"}},
		"a rate":                  {"| a | 4,642 handoffs/s |\n", []string{"line 1: 4,642 handoffs/s"}},
		"two":                     {"From 3 ms to 1.5 GB.", []string{"line 1: 3 ms", "line 1: 1.5 GB"}},
		"a command beside it":     {"It takes 3 ms (`go test -bench . ./x`).\n", nil},
		"another command":         {"It takes 3 ms, as `signalbox status` says.\n", []string{"line 1: 3 ms"}},
		"another paragraph's":     {"`go test ./x` shows it.\n\nIt takes 3 ms.\n", []string{"line 3: 3 ms"}},
		"another item's":          {"- `go test ./x`\n- 3 ms\n", []string{"line 2: 3 ms"}},
		"before its table":        {"`go test ./x`:\n\n| a |\n|---|\n| 3 ms |\n", nil},
		"before another table":    {"`go test ./x`:\n\n| a |\n\nAnd so:\n\n| 3 ms |\n", []string{"line 7: 3 ms"}},
		"before another heading":  {"`go test ./x`:\n\n| a |\n\n# B\n\n| 3 ms |\n", []string{"line 7: 3 ms"}},
		"after a table":           {"| `go test ./x` |\nIt takes 3 ms.\n", []string{"line 2: 3 ms"}},
		"in a block of code":      {"```text\n3 ms\n```\n", nil},
		"a limit":                 {"At most 64 KiB.\n", nil},
		"a limit with a command":  {"At most 64 KiB, and 65 KiB are refused.\n", []string{"line 1: 65 KiB"}},
		"a number and a word":     {"With 3 sandboxes and 20 msgs.\n", nil},
		"an item of two lines":    {"1. It takes\n   3 ms.\n2. `go run ./x`: 4 ms\n", []string{"line 1: 3 ms"}},
		"behind a hyphen or name": {"The 200-day mean of T-3 s is S3 MB.\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := unfounded(c.page, map[string]bool{"64 KiB": true}); !slices.Equal(got, c.want) {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
}
