package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a module whose package a has faults: one of its own, one in d. Its tests import b, which
// imports c; d imports e. They read a page in h. Nothing of f counts.
var tree = map[string]string{
	"go.mod":                    "module example.org/m\n\ngo 1.26\n",
	"go.sum":                    "",
	"internal/mutant/mutant.go": "package mutant\n",
	"internal/mutant/due/x.go":  "package due\n",
	"a/a.go":                    "package a\n",
	"a/a_test.go": "package a\n\nimport (\n\t\"testing\"\n\n\t_ \"example.org/m/b\"\n\t_ \"example.org/m/internal/mutant\"\n)\n\n" +
		"func TestMutants(t *testing.T) {\n\tfor _, file := range []string{\"a.go\", \"../d/d.go\", \"../h/*.md\", \"../none\"} {\n\t\tt.Run(file, func(t *testing.T) {})\n\t}\n}\n",
	"a/testdata/x/y.txt": "1\n",
	"b/b.go":             "package b\n\nimport (\n\t_ \"embed\"\n\n\t_ \"example.org/m/c\"\n)\n\n//go:embed words/w.txt\nvar _ string\n",
	"b/b_test.go":        "package b\n",
	"b/words/w.txt":      "word\n",
	"c/c.go":             "package c\n",
	"d/d.go":             "package d\n\nimport _ \"example.org/m/e\"\n",
	"d/d_test.go":        "package d\n",
	"e/e.go":             "package e\n",
	"f/f.go":             "package f\n",
	"h/page.md":          "a page\n",
	"g/g.go":             "package g\n",
	"g/g_test.go":        "package g\n\nimport _ \"example.org/m/internal/mutant\"\n",
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// in makes the module, and works in it.
func in(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range tree {
		write(t, name, text)
	}
}

// printed returns what due prints, and its error.
func printed(t *testing.T, run, all bool) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := due(t.Context(), &out, run, all)
	return strings.ReplaceAll(out.String(), "example.org/m/", ""), err
}

func expect(t *testing.T, want string) {
	t.Helper()
	if got, err := printed(t, false, false); err != nil || got != want {
		t.Errorf("due: %q, %v; want %q", got, err, want)
	}
}

// A package is due after a change of anything that decides what its faults come to, and of nothing else.
func TestHash(t *testing.T) {
	in(t)
	before := hashed(t)
	for name, counts := range map[string]bool{
		"go.mod": true, "go.sum": true, "internal/mutant/mutant.go": true,
		"a/a.go": true, "a/a_test.go": true, "a/testdata/x/y.txt": true,
		"b/b.go": true, "b/words/w.txt": true, "c/c.go": true, "d/d.go": true, "e/e.go": true, "h/page.md": true,
		"b/b_test.go": false, "d/d_test.go": false, "f/f.go": false, "g/g.go": false, "g/g_test.go": false, "internal/mutant/due/x.go": false,
	} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, name, string(text)+"// more\n")
		if changed := hashed(t) != before; changed != counts {
			t.Errorf("%s: the hash changed is %v, want %v", name, changed, counts)
		}
		write(t, name, string(text))
	}
	if hashed(t) != before {
		t.Error("another hash of the same files")
	}
	write(t, "a/testdata/z", "")
	if hashed(t) == before {
		t.Error("a new file changes nothing")
	}
}

func hashed(t *testing.T) string {
	t.Helper()
	m, err := load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hash, err := m.hash("example.org/m/a")
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// What passed is due again when it changes, or when the note of it is lost.
func TestDue(t *testing.T) {
	in(t)
	expect(t, "a\ng\n")
	if got, err := printed(t, true, false); err != nil || got != "a: 4 faults, all noticed\ng: 0 faults, all noticed\n" {
		t.Fatalf("%q, %v", got, err)
	}
	expect(t, "")
	if got, err := printed(t, false, true); err != nil || got != "a\ng\n" {
		t.Errorf("all: %q, %v", got, err)
	}
	write(t, "e/e.go", "package e // changed\n")
	expect(t, "a\n")
	write(t, "e/e.go", tree["e/e.go"])
	expect(t, "")
	notes, err := os.ReadFile(passed)
	if err != nil {
		t.Fatal(err)
	}
	write(t, passed, string(notes[:len(notes)-3]))
	expect(t, "g\n")
	write(t, passed, "<<<<<<< ours\n")
	expect(t, "a\ng\n")
	if err := os.Remove(passed); err != nil {
		t.Fatal(err)
	}
	expect(t, "a\ng\n")
}

// What does not pass is not noted: a fault that nobody notices, that is not put in, or beside files that change.
func TestNotPassed(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"not noticed": {`t.Error("no test noticed")`, "no test noticed"},
		"not put in":  {`t.Skip("no sandbox here")`, "a fault was not put in"},
		"changed":     {`if err := os.WriteFile("more.go", []byte("package a"), 0o600); err != nil { t.Fatal(err) }`, "its files changed"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("runs the tests of a module; with -short only TestDue does")
			}
			in(t)
			write(t, "a/a_test.go", "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n\n\t_ \"example.org/m/internal/mutant\"\n)\n\nvar _ = os.WriteFile\n\nfunc TestMutants(t *testing.T) {\n\t"+c.body+"\n}\n")
			got, err := printed(t, true, false)
			if err == nil || !strings.Contains(err.Error(), "example.org/m/a") || !strings.Contains(got, c.want) || !strings.Contains(got, "g: 0 faults") {
				t.Errorf("%q, %v", got, err)
			}
			expect(t, "a\n")
		})
	}
}
