package mcpserver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestOldFilesAreForgotten(t *testing.T) {
	s := New(Options{})
	dir := t.TempDir()
	link := func(i int) string {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := s.files.link(path)
		if err != nil {
			t.Fatal(err)
		}
		return l.URI
	}
	first, second := link(0), link(1)
	for i := range maxFiles - 1 {
		link(2 + i)
	}
	if s.files.knows(first) || !s.files.knows(second) {
		t.Errorf("knows the first: %v, the second: %v", s.files.knows(first), s.files.knows(second))
	}
	link(1) // a file that is linked again is no second one
	if n := len(s.files.uris); n != maxFiles {
		t.Errorf("knows %d files", n)
	}
	if _, err := s.files.link(dir); err == nil {
		t.Error("a directory was linked")
	}
}

func TestFileURI(t *testing.T) {
	for path, want := range map[string]string{
		"/logs/a b.json":    "file:///logs/a%20b.json",
		"/logs/100%#?.json": "file:///logs/100%25%23%3F.json",
		"C:/logs/a.json":    "file:///C:/logs/a.json",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// Arguments of each kind are read, or what is wrong with them is said, all at once.
func TestArguments(t *testing.T) {
	s := Schema{Type: "object", Properties: map[string]Property{
		"text": {Type: "string"}, "n": {Type: "integer", Minimum: new(1), Maximum: new(50)}, "on": {Type: "boolean"},
	}, Required: []string{"text"}}
	for raw, want := range map[string]string{
		`{"text":"a","n":50,"on":true}`:         "",
		`{"text":"a"}`:                          "",
		`{"text":"a","n":null,"on":null}`:       "",
		`{"text":"a","n":0}`:                    "n is at least 1, not 0",
		`{"text":"a","n":51}`:                   "n is at most 50, not 51",
		`{"text":"a","n":1.5}`:                  "n is a whole number, not 1.5",
		`{"text":"a","n":"2"}`:                  `n is a whole number, not "2"`,
		`{"text":"a","on":"yes"}`:               `on is true or false, not "yes"`,
		`{"n":0,"on":1}`:                        "the argument text is missing; n is at least 1, not 0; on is true or false, not 1",
		`{"text":"a","x":1}`:                    `there is no argument "x", only n, on and text`,
		`{"text":"a","n":99999999999999999999}`: "n is a whole number, not 99999999999999999999",
	} {
		a := ReadArguments(json.RawMessage(raw), s)
		a.Text("text")
		n := a.Integer("n", 7)
		a.Flag("on")
		got := ""
		if err := a.Problem(); err != nil {
			got = err.Error()
		}
		if got != want || n != 7 && n != 50 {
			t.Errorf("%s: %d, %q, want %q", raw, n, got, want)
		}
	}
	none := ReadArguments(json.RawMessage(`{"x":1,"y":2}`), Schema{Type: "object"})
	if err := none.Problem(); err == nil || err.Error() != `there is no argument "x" or "y": it takes none` {
		t.Errorf("%v", err)
	}
}
