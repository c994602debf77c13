//go:build linux || darwin

package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Where directories can't be locked, the lock's file is what counts: it is known when that has gone.
func TestLockFileAlone(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "lock")
	d, err := TakeDir(path, file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := d.Stands(); err != nil {
		t.Errorf("the directory is locked, and its file does not count: %v", err)
	}
	d.locked = false
	if err := d.Stands(); !errors.Is(err, ErrMoved) {
		t.Errorf("the lock's file has gone: %v", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Stands(); !errors.Is(err, ErrMoved) {
		t.Errorf("another is in the place of the lock's file: %v", err)
	}
}

// Who looks keeps nobody out, however long it takes.
func TestLookingTakesNothing(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "lock")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, file} {
		f, err := os.Open(name) // and it stays open
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		if held, err := signed(f); err != nil || held {
			t.Errorf("%s is held: %v, %v", name, held, err)
		}
	}
	d, err := TakeDir(path, file)
	if err != nil {
		t.Fatalf("somebody looks, and it can't be taken: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
