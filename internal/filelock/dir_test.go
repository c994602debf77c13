//go:build linux || darwin

package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
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

// A directory is free when it is closed, although a process that is just being started has it open too.
func TestCloseBesideAnother(t *testing.T) {
	path := t.TempDir()
	file := filepath.Join(path, "lock")
	d, err := TakeDir(path, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{d.self, d.file} {
		child, err := syscall.Dup(int(f.Fd())) // what a fork does
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Close(child) }()
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if held, err := HeldDir(path); held || err != nil {
		t.Errorf("it is held: %v, %v", held, err)
	}
	again, err := TakeDir(path, file)
	if err != nil {
		t.Fatalf("it can't be taken again: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
