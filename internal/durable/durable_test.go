package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/durable"
)

// A file is replaced as a whole, is its owner's alone, and nothing is left beside it,
// also if it can't be put in its place.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"first", "second"} {
		if err := durable.WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "taken", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(filepath.Join(dir, "taken"), nil); err == nil {
		t.Error("a directory was replaced")
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
}
