package main

import (
	"flag"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/doctest"
)

const page = "../../docs/scale.md"

var rewrite = flag.Bool("rewrite", false, "write what the simulation prints into docs/scale.md")

// What the page shows of the simulation is what it prints.
func TestPageShowsTheOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("runs what the page shows, at its full size; not with -short")
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text, shown := string(data), map[string]bool{}
	for _, block := range doctest.Blocks(t, page) {
		command, want, _ := strings.Cut(block.Text, "\n")
		args, ok := strings.CutPrefix(command, "$ go run ./internal/shards ")
		if block.Kind != "console" || !ok {
			t.Errorf("a block that nobody checks: %s", command)
			continue
		}
		got := output(t, args)
		if got != want && !*rewrite {
			t.Errorf("%s: the page has\n%s\nand it prints\n%s-rewrite writes it", command, want, got)
		}
		text = strings.Replace(text, block.Text, command+"\n"+got, 1)
		scenario, _, _ := strings.Cut(args, " ")
		shown[scenario] = true
	}
	for _, scenario := range []string{"queue", "loss", "grow", "skew", "size"} {
		if !shown[scenario] {
			t.Errorf("the page does not show %s", scenario)
		}
	}
	if *rewrite {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every row with a figure says where it comes from: a command of the page's list, a constant that is there, or a
// formula.
func TestPageSaysWhereFiguresComeFrom(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	tables, rows := readTables(string(data)), 0
	names := map[string]bool{}
	for _, table := range tables {
		if slices.Equal(table[0], []string{"name", "command"}) {
			for _, row := range table[1:] {
				names[strings.Trim(row[0], "`")] = true
				if wrong := wrongCommand(row[1]); wrong != "" {
					t.Errorf("%s: %s", row[0], wrong)
				}
			}
		}
	}
	for _, table := range tables {
		from := slices.Index(table[0], "command or formula")
		for _, row := range table[1:] {
			switch text := strings.Join(row, " | "); {
			case len(row) != len(table[0]):
				t.Errorf("not %d cells: %s", len(table[0]), text)
			case from >= 0:
				rows++
				if wrong := wrongSource(row[from], names); wrong != "" {
					t.Errorf("%s: %s", text, wrong)
				}
				if wrong := wrongResult(row[from-1], row[from]); wrong != "" {
					t.Errorf("%s: %s", text, wrong)
				}
			case !slices.Equal(table[0], []string{"name", "command"}) && slices.ContainsFunc(row, figure.MatchString):
				t.Errorf("a figure in a table that does not say where it comes from: %s", text)
			}
		}
	}
	if len(names) < 4 || rows < 30 {
		t.Errorf("found only %d commands and %d rows", len(names), rows)
	}
	for _, c := range []struct{ figures, cell string }{{"4 MB", "2 × 3"}, {"17", "50 / 2"}, {"2", "7 / 3"}, {"10 days", "`costs`: 7 + 7"}, {"3; 4", "1 + 2; 2 + 3"}} {
		if wrongResult(c.figures, c.cell) == "" {
			t.Errorf("%s is let pass for %s", c.cell, c.figures)
		}
	}
	for _, cell := range []string{"", "measured", "`other`", "`internal/shards/main.go`: `nothing`", "`no/file.go`: `service`"} {
		if wrongSource(cell, names) == "" {
			t.Errorf("%q is let pass", cell)
		}
	}
}

var (
	arithmetic = regexp.MustCompile(`[(\d][\d ,.×/+−()^]*[\d)]`)
	whole      = regexp.MustCompile(`(^|[^\de.])(\d+)($|[^\d.e])`)
	anyNumber  = regexp.MustCompile(`\d[\d,]*(\.\d+)?`)

	figure   = regexp.MustCompile(`(^|[ (])\d[\d,.]*($|[ ,;)%])`)
	formula  = regexp.MustCompile(`\d [×/+−] |\) [×/] `)
	quoted   = regexp.MustCompile("`([^`]+)`")
	declared = regexp.MustCompile("`([\\w/]+\\.go)`: `(\\w+)`")
	runsTest = regexp.MustCompile(`go test \./(\S+) -run '?(Test\w+)`)
)

// wrongSource says what is wrong with where a figure comes from.
func wrongSource(cell string, names map[string]bool) string {
	if m := declared.FindStringSubmatch(cell); m != nil {
		source, err := os.ReadFile(filepath.Join("../..", m[1]))
		if err != nil {
			return err.Error()
		}
		if !regexp.MustCompile(`(?m)^(const|\s)\s*` + m[2] + `\s+=`).Match(source) {
			return m[1] + " has no constant " + m[2]
		}
		return ""
	}
	if m := quoted.FindStringSubmatch(cell); m != nil && names[m[1]] || formula.MatchString(cell) {
		return ""
	}
	return "this is no command, constant or formula: " + cell
}

// wrongResult says which formula does not come to the figure beside it. Units are left aside: a thousand times as much
// is the same figure.
func wrongResult(figures, cell string) string {
	for part := range strings.SplitSeq(cell, ";") {
		if _, after, ok := strings.Cut(part, ": "); ok {
			part = after
		}
		sum := arithmetic.FindString(part)
		if !strings.ContainsAny(sum, "×/+−") {
			continue
		}
		text := strings.NewReplacer(",", "", "×", "*", "−", "-", "10^", "1e").Replace(sum)
		text = whole.ReplaceAllString(text, "${1}${2}.0${3}") // 7 / 3 is not 2
		result, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
		if err != nil {
			return err.Error()
		}
		value, _ := constant.Float64Val(result.Value)
		if !slices.ContainsFunc(anyNumber.FindAllString(figures, -1), func(n string) bool {
			figure, err := strconv.ParseFloat(strings.ReplaceAll(n, ",", ""), 64)
			thousands := math.Round(math.Log10(value/figure) / 3)
			return err == nil && within(value, figure*math.Pow(1000, thousands), 0.03)
		}) {
			return fmt.Sprintf("%s is %g", sum, value)
		}
	}
	return ""
}

// wrongCommand says that a test which a command names is not there.
func wrongCommand(cell string) string {
	m := runsTest.FindStringSubmatch(cell)
	if m == nil {
		return ""
	}
	files, _ := filepath.Glob(filepath.Join("../..", m[1], "*_test.go"))
	for _, f := range files {
		if source, err := os.ReadFile(f); err == nil && strings.Contains(string(source), "func "+m[2]+"(") {
			return ""
		}
	}
	return m[1] + " has no " + m[2]
}

// readTables returns the cells of a page's tables, the first row of each first.
func readTables(text string) (tables [][][]string) {
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			in = false
			continue
		}
		if !in {
			tables = append(tables, nil)
		}
		in = true
		if strings.HasPrefix(line, "|---") {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), " | ") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		last := &tables[len(tables)-1]
		*last = append(*last, cells)
	}
	return tables
}
