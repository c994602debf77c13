//go:build unix

package box

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// Of a file in the directory no more is read than it can have, and what is no regular file is not read.
func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	d := Dir(t.TempDir())
	long := "/" + strings.Repeat("x", maxSmall)
	for _, name := range []string{apiTokenFile, archiveFile, segmentsFile} {
		if err := os.WriteFile(d.path(name), []byte(long), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var tooLarge *regular.TooLargeError
	if _, err := d.APIToken(); !errors.As(err, &tooLarge) {
		t.Errorf("a token: %v", err)
	}
	if _, err := d.Hidden(config.Archive{}); !errors.As(err, &tooLarge) {
		t.Errorf("where the archive lies: %v", err)
	}
	if d.Archive("") == long || d.Segments("archive", "") == long {
		t.Error("a place was read")
	}
	for _, name := range []string{verifierFile, scrubFile} {
		if err := os.Symlink(os.DevNull, d.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Verifier(); !errors.Is(err, regular.ErrIrregular) {
		t.Errorf("a key: %v", err)
	}
	if err := new(scrub).load(d); !errors.Is(err, regular.ErrIrregular) {
		t.Errorf("how far the scrub is: %v", err)
	}
}

// A place that can't be a directory is named, with what it is for and what to do.
func TestPlaceIsNoDirectory(t *testing.T) {
	t.Parallel()
	for kind, make := range map[string]func(path string) error{
		"a file":            func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a pipe":            func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to nothing": func(path string) error { return os.Symlink("nothing", path) },
	} {
		for of, set := range map[string]func(o *Options, path string){
			"the archive":                          func(o *Options, path string) { o.Archive = path },
			"the archive's log (archive.segments)": func(o *Options, path string) { o.Segments = path },
			"the log's mirror (archive.mirror)":    func(o *Options, path string) { o.Mirror = path },
		} {
			path := filepath.Join(t.TempDir(), "place")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			o := Options{Dir: Dir(t.TempDir())}
			set(&o, path)
			_, _, err := Open(t.Context(), o)
			if err == nil || !strings.HasPrefix(err.Error(), path+" is no directory for "+of+",") || !strings.HasSuffix(err.Error(), "move away what is in its place, or name another") {
				t.Errorf("%s for %s: %v", kind, of, err)
			}
		}
	}
}

// A link in the place of the box's lock is not followed: the box says what to remove.
func TestLockIsALink(t *testing.T) {
	t.Parallel()
	for _, name := range []string{lockFile, startingFile} {
		o := Options{Dir: Dir(t.TempDir())}
		outside := filepath.Join(t.TempDir(), "outside")
		if err := os.Symlink(outside, o.Dir.path(name)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), o.Dir.path(name)+" is not a regular file: remove it") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(outside); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a file was made outside of the directory: %v", name, err)
		}
	}
}

// Pipes with the names that files have at first hold nothing up, and don't get into the files' places.
func TestPipesInTheWay(t *testing.T) {
	t.Parallel()
	o := Options{Dir: Dir(t.TempDir())}
	b, _ := run(t, o)
	for _, name := range []string{latestFile + ".new", ".new-" + snapshotFile, "archive/tmp/5", "archive/tmp/6"} {
		path := o.Dir.path(name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fault fails, and does not wait
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reader.Close() }()
	}
	if err := errors.Join(tryAdd(t, b, "A"), b.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{latestFile, snapshotFile} {
		if info, err := os.Lstat(o.Dir.path(name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
