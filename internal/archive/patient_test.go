package archive_test

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/descriptors"
)

// scarce is files of a process that has no descriptor left whenever it first asks for one, and has one
// when it asks again.
type scarce struct {
	*archivetest.Lossy
	last    string
	refused int
	ever    bool // it never has one
	syncs   bool // it is the sync of a directory that fails, and not its opening
}

func (s *scarce) open(op, name string) error {
	what := op + " " + name
	if s.last == what && !s.ever {
		s.last = ""
		return nil
	}
	s.last = what
	s.refused++
	return &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
}

func scarcely[T any](s *scarce, op, name string, do func() (T, error)) (T, error) {
	if err := s.open(op, name); err != nil {
		var none T
		return none, err
	}
	return do()
}

func (s *scarce) ReadFile(name string) ([]byte, error) {
	return scarcely(s, "read", name, func() ([]byte, error) { return s.Lossy.ReadFile(name) })
}

func (s *scarce) OpenReader(name string) (archive.Reader, error) {
	return scarcely(s, "open", name, func() (archive.Reader, error) { return s.Lossy.OpenReader(name) })
}

func (s *scarce) ReadDir(name string) ([]string, error) {
	return scarcely(s, "list", name, func() ([]string, error) { return s.Lossy.ReadDir(name) })
}

func (s *scarce) Modified(name string) (time.Time, error) {
	return scarcely(s, "look at", name, func() (time.Time, error) { return s.Lossy.Modified(name) })
}

func (s *scarce) Create(name string) (archive.File, error) {
	return scarcely(s, "create", name, func() (archive.File, error) { return s.Lossy.Create(name) })
}

func (s *scarce) Extend(name string) (archive.File, error) {
	return scarcely(s, "extend", name, func() (archive.File, error) { return s.Lossy.Extend(name) })
}

func (s *scarce) Rename(from, to string) error {
	_, err := scarcely(s, "rename", to, func() (int, error) { return 0, s.Lossy.Rename(from, to) })
	return err
}

func (s *scarce) Remove(name string) error {
	_, err := scarcely(s, "remove", name, func() (int, error) { return 0, s.Lossy.Remove(name) })
	return err
}

func (s *scarce) Mkdir(name string) error {
	_, err := scarcely(s, "make", name, func() (int, error) { return 0, s.Lossy.Mkdir(name) })
	return err
}

func (s *scarce) SyncDir(name string) error {
	if s.syncs {
		return &fs.PathError{Op: "sync", Path: name, Err: syscall.EMFILE}
	}
	_, err := scarcely(s, "sync", name, func() (int, error) { return 0, s.Lossy.SyncDir(name) })
	return err
}

// An archive whose every file is first refused for lack of a descriptor takes what it is given, over
// several segments of its log and several seals, and has all of it.
func TestShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, disk := newKeys(t), archivetest.NewLossy()
		b := mustOpen(t, disk, keys) // its beginning is not looked at here
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		short := &scarce{Lossy: disk}
		a, err := archive.Open(short, keys)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Start(bg, 0); err != nil {
			t.Fatal(err)
		}
		b = &box{Archive: a, pen: pen{}}
		for range 20 {
			if err := b.record(b.pen.many(256)...); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Seal(); err != nil {
				t.Fatal(err)
			}
		}
		got, err := entries(b.Archive)
		if err := errors.Join(err, same(got, b.wrote), b.Close()); err != nil {
			t.Fatal(err)
		}
		if names, err := disk.ReadDir("log"); err != nil || len(names) < 2 || short.refused < 100 {
			t.Fatalf("%d segments, %d refusals: %v", len(names), short.refused, err)
		}
	})
}

// A shortage that does not pass is told after a while, and says what to do. A sync that fails is told
// at once, whatever its error: nothing is written after it.
func TestShortageThatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, disk := newKeys(t), archivetest.NewLossy()
		short := &scarce{Lossy: disk}
		b := mustOpen(t, short, keys)
		for _, c := range []struct {
			ever, syncs bool
			took        time.Duration
		}{{ever: true, took: descriptors.Patience}, {syncs: true}} {
			if err := b.record(b.pen.many(1)...); err != nil {
				t.Fatal(err)
			}
			short.ever, short.syncs = c.ever, c.syncs
			begun := time.Now()
			_, err := b.Seal()
			if took := time.Since(begun); !errors.Is(err, syscall.EMFILE) || took < c.took || took > c.took+time.Second {
				t.Errorf("after %v: %v", took, err)
			}
			begun = time.Now()
			if _, err := b.Seal(); err == nil || time.Since(begun) > 0 {
				t.Errorf("one more: after %v: %v", time.Since(begun), err)
			}
			short.ever = false
		}
		if err := b.record(b.pen.many(1)...); !errors.Is(err, archive.ErrFailed) {
			t.Errorf("after a sync that failed: %v", err)
		}
		short.syncs = false
		_ = b.Close() // which can't seal
	})
}
