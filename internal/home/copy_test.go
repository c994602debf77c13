//go:build unix

package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file with its directories.
func write(t *testing.T, name, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(name), 0o700))
	check(t, os.WriteFile(name, []byte(text), 0o600))
}

// describe says of everything in a directory what it is, without following links.
func describe(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	check(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			what += fmt.Sprint(" ", info.ModTime().UnixNano(), " ", string(data))
		case info.Mode()&fs.ModeSymlink != 0:
			leads, err := os.Readlink(name)
			if err != nil {
				return err
			}
			what += " " + leads
		}
		rel, err := filepath.Rel(dir, name)
		all[rel] = what
		return err
	}))
	return all
}

// A copy has files, directories and links as they are; what is none of these is left out.
func TestCopy(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, filepath.Join(from, "a", "file"), "text")
	write(t, filepath.Join(from, "a", "run"), "#!/bin/sh\n")
	check(t, os.Chmod(filepath.Join(from, "a", "run"), 0o755))
	check(t, os.Chtimes(filepath.Join(from, "a", "run"), time.Unix(1, 0), time.Unix(1000000000, 42)))
	write(t, filepath.Join(from, "shut", "deep", "file"), "read-only")
	check(t, os.Chmod(filepath.Join(from, "shut", "deep", "file"), 0o400))
	check(t, os.Chmod(filepath.Join(from, "shut", "deep"), 0o500))
	check(t, os.Chmod(filepath.Join(from, "shut"), 0o555))
	t.Cleanup(func() { check(t, errors.Join(Remove(from), Remove(to))) })
	for name, leads := range map[string]string{"etc": "/etc", "passwd": "/etc/passwd", "up": "../..", "gone": "no/where", "self": "self"} {
		check(t, os.Symlink(leads, filepath.Join(from, "a", name)))
	}
	check(t, syscall.Mkfifo(filepath.Join(from, "a", "pipe"), 0o600))
	many := 10_000
	if testing.Short() {
		many = 500
	}
	for n := range many {
		check(t, os.WriteFile(filepath.Join(from, fmt.Sprint("many-", n)), []byte("x"), 0o600))
	}
	size, err := copyTree(t.Context(), from, to, Size{})
	check(t, err)
	want := describe(t, from)
	delete(want, filepath.Join("a", "pipe"))
	if diff := cmp.Diff(want, describe(t, to)); diff != "" {
		t.Error(diff)
	}
	if size.Files != int64(len(want))+1 || size.Bytes < 10_000 {
		t.Errorf("it is said to be %+v", size)
	}
	one, err := os.Stat(filepath.Join(from, "a", "file"))
	check(t, err)
	other, err := os.Stat(filepath.Join(to, "a", "file"))
	check(t, err)
	if os.SameFile(one, other) {
		t.Error("what is written to the copy changes the original")
	}
}

func TestCopyEnds(t *testing.T) {
	from := t.TempDir()
	for n := range 100 {
		write(t, filepath.Join(from, fmt.Sprint("d", n%7), fmt.Sprint("f", n)), "0123456789")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := copyTree(ctx, from, t.TempDir(), Size{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, most := range []Size{{Files: 50}, {Bytes: 500}} {
		if _, err := copyTree(t.Context(), from, t.TempDir(), most); !errors.Is(err, errTooLarge) {
			t.Errorf("%+v: %v", most, err)
		}
	}
}

// A tree that is too deep for its paths is copied as far as that goes, and removed.
func TestDeep(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), t.TempDir()
	check(t, os.Mkdir(from, 0o700))
	root, err := os.OpenRoot(from)
	check(t, err)
	for range 2200 {
		check(t, root.Mkdir("a", 0o700))
		next, err := root.OpenRoot("a")
		check(t, errors.Join(err, root.Close()))
		root = next
	}
	check(t, root.Close())
	size, err := copyTree(t.Context(), from, to, Size{})
	check(t, err)
	if size.Files != maxDepth+1 {
		t.Errorf("%d directories were looked at", size.Files)
	}
	withDescriptors(t, 100, func() { check(t, Remove(from)) })
}

// withDescriptors calls a function that may have no more than so many files open.
func withDescriptors(t *testing.T, most uint64, f func()) {
	t.Helper()
	var before syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: before.Max}))
	defer func() { check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) }()
	f()
}

// What a check leaves is removed, and nothing that it leads to.
func TestRemove(t *testing.T) {
	top := t.TempDir()
	outside, dir := filepath.Join(top, "outside"), filepath.Join(top, "dir")
	write(t, filepath.Join(outside, "sub", "file"), "text")
	check(t, os.Chmod(filepath.Join(outside, "sub"), 0o555))
	t.Cleanup(func() { check(t, os.Chmod(filepath.Join(outside, "sub"), 0o700)) })
	before := describe(t, outside)
	write(t, filepath.Join(dir, "x", "y", "z", "file"), "text")
	write(t, filepath.Join(dir, "x", "y", "other", "file"), "text")
	check(t, os.Symlink(outside, filepath.Join(dir, "x", "link")))
	check(t, os.Symlink(outside, filepath.Join(dir, "link")))
	check(t, syscall.Mkfifo(filepath.Join(dir, "x", "pipe"), 0o600))
	for _, shut := range []string{"x/y/z", "x/y", "x", "."} {
		check(t, os.Chmod(filepath.Join(dir, shut), 0))
	}
	check(t, Remove(dir))
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if diff := cmp.Diff(before, describe(t, outside)); diff != "" {
		t.Error(diff)
	}
	check(t, os.Symlink(outside, dir))
	check(t, Remove(dir))
	if diff := cmp.Diff(before, describe(t, outside)); diff != "" || strings.Contains(fmt.Sprint(before), "gone") {
		t.Error(diff)
	}
}
