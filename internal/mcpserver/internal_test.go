package mcpserver

import (
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
