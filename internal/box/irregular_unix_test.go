//go:build unix

package box

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// Of a file in the directory no more is read than it can have, and what is no regular file is not read.
func TestFilesAreBounded(t *testing.T) {
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

// Pipes with the names that files have at first hold nothing up, and don't get into the files' places.
func TestPipesInTheWay(t *testing.T) {
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
