package archtest

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// What docs/sources.md names is there: files, what is declared in them, tests, and the deviations.
func TestSources(t *testing.T) {
	wrong, rows := checkSources(os.DirFS("../.."))
	for _, w := range wrong {
		t.Error(w)
	}
	all := 0
	for _, n := range rows {
		all += n
	}
	if all < 100 || len(rows) != 5 {
		t.Errorf("%d rows on %d documents: %v", all, len(rows), rows)
	}
}

// What is wrong with the page is told.
func TestSourcesRules(t *testing.T) {
	const (
		documents = "# Sources\n\n" + documentsHead + "\n|---|---|---|---|\n| `000` | A plan | it | `x` |\n\n"
		head      = "## `000` A plan\n\n### A section\n\n" + requirementsHead + "\n|---|---|---|---|\n"
		good      = "| it is | `x/x.go#T.Do`, `x` | `x/x_test.go#TestIt` | [otherwise](deviations.md#its-own-way) |\n"
	)
	for _, c := range []struct{ page, want string }{
		{documents + head + good, ""},
		{documents + head + "| a name | `x/x.go#T`, `x/x.go#limit`, `x/x.go#Do`, `x/tree.lua#signal` | `x/x_test.go#ExampleT`, `x/x_test.go#FuzzIt` | — |\n", ""},
		{documents + head + good + "| it can | not done | — | [why](deviations.md#line-dialect) |\n", ""},
		{documents + head + good + "| it is | `x` | no test of its own: it is a name | — |\n", ""},
		{documents + head + "| it is | `y/y.go` | `x/x_test.go#TestIt` | — |\n", "000: it is: there is no y/y.go"},
		{documents + head + "| it is | `../x` | `x/x_test.go#TestIt` | — |\n", "000: it is: there is no ../x"},
		{documents + head + "| it is | `x/x.go#T.Dance` | `x/x_test.go#TestIt` | — |\n", "000: it is: x/x.go declares no T.Dance"},
		{documents + head + "| it is | `x/x.go#helper` | `x/x_test.go#TestIt` | — |\n", "000: it is: x/x.go declares no helper"},
		{documents + head + "| it is | `x/x.go#` | `x/x_test.go#TestIt` | — |\n", "000: it is: x/x.go declares no "},
		{documents + head + "| it is | `x/tree.lua#gone` | `x/x_test.go#TestIt` | — |\n", "000: it is: x/tree.lua has no gone"},
		{documents + head + "| it is | `x#T` | `x/x_test.go#TestIt` | — |\n", "000: it is: x is a directory, and has no T"},
		{documents + head + "| it is | `x` | `x/x_test.go#TestGone` | — |\n", "000: it is: x/x_test.go declares no TestGone"},
		{documents + head + "| it is | `x` | `x/x_test.go#helper` | — |\n", "000: it is: x/x_test.go#helper is not a file of tests and a test"},
		{documents + head + "| it is | `x` | `x/x_test.go#TestMain` | — |\n", "000: it is: x/x_test.go#TestMain is not a file of tests and a test"},
		{documents + head + "| it is | `x` | `x/x_test.go#Testify` | — |\n", "000: it is: x/x_test.go#Testify is not a file of tests and a test"},
		{documents + head + "| it is | `x` | `x/x_test.go#Do` | — |\n", "000: it is: x/x_test.go#Do is not a file of tests and a test"},
		{documents + head + "| it is | `x` | `y/y_test.go#TestIt` | — |\n", "000: it is: there is no y/y_test.go"},
		{documents + head + "| it is | `x` | `TestIt` | — |\n", "000: it is: TestIt is not a file of tests and a test"},
		{documents + head + "| it is | `x` | `x/x_test.go` | — |\n", "000: it is: x/x_test.go is not a file of tests and a test"},
		{documents + head + "| it is | `x` | `x/x.go#TestIt`, `x/x_test.go#TestIt` | — |\n", "000: it is: x/x.go#TestIt is not a file of tests and a test"},
		{documents + head + "| it is | `x` | `x/x_test.go#TestIt`, `x/testdata/a.txt#its case` | — |\n", ""},
		{documents + head + "| it is | `x` | `x/x_test.go#TestIt`, `x/testdata/a.txt#another` | — |\n", "000: it is: x/testdata/a.txt has no another"},
		{documents + head + "| it is | `x` | `x/testdata/a.txt` | — |\n", "000: it is: it names no test that reads the cases"},
		{documents + head + "| it is | `x` | by hand | — |\n", `000: it is: it names no test, and does not say "no test of its own"`},
		{documents + head + "| it is | `x` | — | — |\n", `000: it is: it names no test, and does not say "no test of its own"`},
		{documents + head + "| it is | in x | `x/x_test.go#TestIt` | — |\n", `000: it is: it is nowhere, and not said to be "not done"`},
		{documents + head + "| it is | `x` | `x/x_test.go#TestIt` | [why](deviations.md#gone) |\n", "000: it is: docs/deviations.md has no heading #gone"},
		{documents + head + "| it is | `x` | `x/x_test.go#TestIt` | see there |\n", "000: it is: the deviation is neither a link to deviations.md nor —"},
		{documents + head + "| it is | not done | — | — |\n", "000: it is: it is not done, and no deviation says why"},
		{documents + head + good + "| it is |  | `x/x_test.go#TestIt` | — |\n", "a cell is empty: | it is |  | `x/x_test.go#TestIt` | — |"},
		{documents + head + good + "| it is | `x` | `x/x_test.go#TestIt` |\n", "a row has not four cells: | it is | `x` | `x/x_test.go#TestIt` |"},
		{documents + head + good + "\n| what | where |\n|---|---|\n| it | `gone` |\n", "a table begins with | what | where |\na row has not four cells: | it | `gone` |"},
		{documents + head, "000 has no rows"},
		{documents + head + good + strings.ReplaceAll(head, "000", "001") + good, "001 has rows, and is not among the documents"},
		{head + good, "000 has rows, and is not among the documents\ndocs/sources.md names no documents"},
	} {
		wrong, _ := checkSources(fstest.MapFS{
			sourcesPage:        {Data: []byte(c.page)},
			deviationsPage:     {Data: []byte("# Deviations\n\n## Line dialect\n\n### It's own way\n")},
			"x/x.go":           {Data: []byte("package x\nconst limit = 1\ntype T struct{}\nfunc (*T) Do() {}\nfunc Do() {}\n")},
			"x/x_test.go":      {Data: []byte("package x\nfunc TestIt() {}\nfunc FuzzIt() {}\nfunc ExampleT() {}\nfunc TestMain() {}\nfunc Testify() {}\nfunc helper() {}\n")},
			"x/tree.lua":       {Data: []byte("signal()\n")},
			"x/testdata/a.txt": {Data: []byte("== its case\n")},
		})
		if diff := cmp.Diff(c.want, strings.Join(wrong, "\n")); diff != "" {
			t.Errorf("%s(-want +got):\n%s", c.page, diff)
		}
	}
	if wrong, _ := checkSources(fstest.MapFS{}); len(wrong) < 2 {
		t.Errorf("of nothing: %v", wrong)
	}
}
