package archtest

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what packages import into ARCHITECTURE.md")

// The table of packages in ARCHITECTURE.md has all of them, and what each imports.
func TestTable(t *testing.T) {
	const path = "../../ARCHITECTURE.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	filled, wrong := fillTable(string(page), files)
	for _, w := range wrong {
		t.Errorf("%s: %s", path, w)
	}
	if *update {
		if err := os.WriteFile(path, []byte(filled), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if filled != string(page) {
		t.Errorf("%s is not true any more (-want +got); -update writes it:\n%s", path, cmp.Diff(filled, string(page)))
	}
}

// What is wrong with a table is told.
func TestTableRules(t *testing.T) {
	const head = "| package | what it is | imports besides the standard library |\n|---|---|---|\n"
	f, err := parse("x/x.go", []byte("package x\nimport (\n_ \""+module+"/ledger\"\n_ \"golang.org/x/sys/unix\"\n_ \"fmt\"\n_ \"net/http\"\n)"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ page, filled, wrong string }{
		{head + "| `x` | it | ? |\n\nmore", head + "| `x` | it | `ledger`, `golang.org/x/sys`, `net/http` |\n\nmore", ""},
		{head + "| `y` | it | nothing |\n\nmore", head + "| `y` | it | nothing |\n\nmore", "there is no package y\nx has no row"},
		{head + "| `x`, `x` | it | nothing |\n\n", head + "| `x`, `x` | it | `ledger`, `golang.org/x/sys`, `net/http` |\n\n", "x has two rows"},
		{head + "| `x` | it |\n\n", head + "| `x` | it |\n\n", "a row has not three cells: | `x` | it |\nx has no row"},
		{"no table", "no table", "there is no table that begins with " + strings.TrimSuffix(head, "\n|---|---|---|\n")},
	} {
		filled, wrong := fillTable(c.page, []file{f})
		if diff := cmp.Diff([]string{c.filled, c.wrong}, []string{filled, strings.Join(wrong, "\n")}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.page, diff)
		}
	}
}

func TestModule(t *testing.T) {
	files, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found only %d files", len(files))
	}
	for _, wrong := range check(files) {
		t.Error(wrong)
	}
}

// Each rule catches what it is for.
func TestRules(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"agentsig/x.go", "// Package agentsig.\npackage agentsig\nimport _ \"" + module + "/internal/cli\"", "a public package stands alone"},
		{"agentsig/x.go", "// Package agentsig.\npackage agentsig\nimport _ \"golang.org/x/mod\"", "standard library only, and others that do"},
		{"internal/x/x.go", "// Package x.\npackage x\nimport _ \"os/exec\"", "only internal/mutant, internal/mutant/due, internal/doctest"},
		{"internal/x/x.go", "// Package x.\npackage x\nimport _ \"github.com/spf13/cobra/doc\"", "only internal/cli, internal/portfolio/cli, internal/command may"},
		{"internal/x/x.go", "// Package x.\npackage x\nimport _ \"example.org/new\"", "no package owns it"},
		{"internal/x/x.go", "// Package x.\npackage x\nimport _ \"" + module + "/internal/mutant\"", "only tests may"},
		{"internal/work/x.go", "// Package work.\npackage work\nimport _ \"context\"", "takes it as a value"},
		{"internal/box/x.go", "// Package box.\npackage box\nimport _ \"" + module + "/internal/worktree\"", "gives orders to internal/runner"},
		{"internal/work/x.go", "// Package work.\npackage work\nimport \"time\"\nvar f = time.Now", "reads the clock"},
		{"internal/work/x.go", "// Package work.\npackage work\nfunc f() { go f() }", "starts a goroutine"},
		{"internal/x/x.go", "package x", "has no comment"},
		{"internal/util/x.go", "// Package util.\npackage util", "names one thing"},
		{"internal/x/x.go", "// Package x.\npackage x\nfunc init() {}", "init function"},
		{"internal/x/x.go", "// Package x.\npackage x\nimport \"os\"\nfunc f() { os.Exit(1) }", "os.Exit outside main"},
		{"cmd/x/main.go", "// Command x.\npackage main\nimport \"os\"\nfunc main() { os.Exit(1) }", ""},
		{"agentsig/x.go", "// Package agentsig.\npackage agentsig\nimport _ \"fmt\"\ntype t struct{}\nfunc (t) init() {}", ""},
	} {
		f, err := parse(c.name, []byte(c.source))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(check([]file{f}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\ngot %q, want %q", c.name, c.source, got, c.want)
		}
	}
}

// The ways through the code that ARCHITECTURE.md tells of are there: each name is a function of its room, and no
// room is entered twice.
func TestWays(t *testing.T) {
	files, err := load("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	wrong, names := checkWays(string(text), files)
	for _, w := range wrong {
		t.Error(w)
	}
	if names < 70 {
		t.Errorf("only %d functions are named", names)
	}
	for _, c := range []struct{ text, want string }{
		{"1. `internal/box`: `Box.Claim`.\n2. `internal/work`: `Decide`, `delivery.Run.Decide`.\n\n1. `internal/box`: `Box.record`.\n", ""},
		{"1. `internal/box`: `Box.Dance`.\n", "internal/box has no Box.Dance"},
		{"1. `internal/box`: `Box.Claim`.\n2. `internal/work`: `Decide`.\n3. `internal/box`: `Box.record`.\n", "internal/box is entered twice"},
		{"1. `internal/box`: `delivery.Run.Dance`.\n", "internal/box has no delivery.Run.Dance"},
		{"1. `internal/bax`: `Box.Claim`.\n", "internal/bax has no"},
	} {
		wrong, _ := checkWays(waysTitle+"\n\n"+c.text, files)
		if got := strings.Join(wrong, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}
