//go:build linux || darwin

package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// What is no regular file in the lock's place is an error that says so, hangs nobody, and leads nowhere.
func TestIrregular(t *testing.T) {
	for kind, make := range map[string]func(path, outside string) error{
		"a pipe":            func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory":       func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"a link to nothing": func(path, outside string) error { return os.Symlink(outside, path) },
		"a link to a file": func(path, outside string) error {
			return errors.Join(os.WriteFile(outside+".there", nil, 0o600), os.Symlink(outside+".there", path))
		},
	} {
		dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
		path := filepath.Join(dir, "lock")
		if err := make(path, outside); err != nil {
			t.Fatal(err)
		}
		refused := func(what string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), path+" is not a regular file: remove it") {
				t.Errorf("%s is %s: %v", kind, what, err)
			}
		}
		_, err := filelock.Held(path)
		refused("looked at", err)
		_, err = filelock.Take(path)
		refused("taken", err)
		_, err = filelock.TakeDir(dir, path)
		refused("taken with its directory", err)
		if held, err := filelock.HeldDir(dir); err != nil || held {
			t.Errorf("beside %s: the directory is held: %v, %v", kind, held, err)
		}
		if _, err := os.Lstat(outside); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file was made outside: %v", kind, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Held(filepath.Join(file, "below")); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("below a file: %v", err)
	}
}

// A directory is taken once, under any name and whatever is removed from it, and it is known when its
// path names another.
func TestTakeDir(t *testing.T) {
	parent := t.TempDir()
	path, link := filepath.Join(parent, "dir"), filepath.Join(parent, "link")
	if err := errors.Join(os.Mkdir(path, 0o700), os.Symlink("dir", link)); err != nil {
		t.Fatal(err)
	}
	d, err := filelock.TakeDir(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		if _, err := filelock.TakeDir(name, ""); !errors.Is(err, filelock.ErrTaken) {
			t.Errorf("%s is taken twice: %v", name, err)
		}
		if held, err := filelock.HeldDir(name); err != nil || !held {
			t.Errorf("%s is held: %v, %v", name, held, err)
		}
	}
	if err := d.Stands(); err != nil {
		t.Error(err)
	}
	moved := filepath.Join(parent, "moved")
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	if err := d.Stands(); !errors.Is(err, filelock.ErrMoved) {
		t.Errorf("it was moved away: %v", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Stands(); !errors.Is(err, filelock.ErrMoved) {
		t.Errorf("another is in its place: %v", err)
	}
	if err := d.WriteFile("file", nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(moved, "file")); err != nil {
		t.Errorf("it was not written where it was moved to: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if held, err := filelock.HeldDir(moved); err != nil || held {
		t.Errorf("held: %v, %v", held, err)
	}
}
