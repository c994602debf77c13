package archtest

import (
	"strings"
	"testing"
)

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
		{"agentsig/x.go", "// Package agentsig.\npackage agentsig\nimport _ \"golang.org/x/mod\"", "standard library only"},
		{"internal/x/x.go", "// Package x.\npackage x\nimport _ \"os/exec\"", "only internal/mutant, internal/doctest"},
		{"internal/x/x.go", "// Package x.\npackage x\nimport _ \"github.com/spf13/cobra/doc\"", "only internal/cli, internal/portfolio/cli, internal/command may"},
		{"internal/x/x.go", "// Package x.\npackage x\nimport _ \"example.org/new\"", "no package owns it"},
		{"internal/x/x.go", "// Package x.\npackage x\nimport _ \"" + module + "/internal/mutant\"", "only tests may"},
		{"internal/work/x.go", "// Package work.\npackage work\nimport _ \"context\"", "takes it as a value"},
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
