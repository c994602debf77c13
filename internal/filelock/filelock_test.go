//go:build unix

package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/filelock"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held := func(want bool) {
		t.Helper()
		if got, err := filelock.Held(path); err != nil || got != want {
			t.Errorf("held: %v, %v, want %v", got, err, want)
		}
	}
	held(false)
	release, err := filelock.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	held(true)
	if _, err := filelock.Take(path); !errors.Is(err, filelock.ErrTaken) {
		t.Errorf("taken twice: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	held(false)
}

// A pipe in the lock's place is an error, and does not hang whoever looks.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Held(path); err == nil {
		t.Error("a pipe is taken for a lock")
	}
	if _, err := filelock.Held(filepath.Join(path, "below")); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("below a file: %v", err)
	}
}
