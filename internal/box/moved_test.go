package box

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// tryAdd adds an item to a box.
func tryAdd(t *testing.T, b *Box, id string) error {
	t.Helper()
	_, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: id, Title: "work", Phase: agentsig.PhaseImplementation}, id)
	return err
}

func run(t *testing.T, o Options) (*Box, Found) {
	t.Helper()
	b, found, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b, found
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// A box whose directory is moved away, and replaced by another's, stops and writes nothing there.
func TestDirectoryReplaced(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(o *Options) *string{
		"its own":       func(o *Options) *string { return (*string)(&o.Dir) },
		"the archive's": func(o *Options) *string { return &o.Archive },
		"the log's":     func(o *Options) *string { return &o.Segments },
		"the mirror's":  func(o *Options) *string { return &o.Mirror },
	} {
		t.Run(name, func(t *testing.T) {
			disks := t.TempDir()
			at := func(name string) string { return filepath.Join(disks, name) }
			o := Options{Dir: Dir(at("box")), Archive: at("archive"), Segments: at("log"), Mirror: at("mirror")}
			old, _ := run(t, o)
			if err := tryAdd(t, old, "A"); err != nil {
				t.Fatal(err)
			}
			replaced := *place(&o)
			rename(t, replaced, replaced+".moved")
			if err := os.Mkdir(replaced, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tryAdd(t, old, "B"); !errors.Is(err, filelock.ErrMoved) {
				t.Fatalf("it went on: %v", err)
			}
			<-old.stopped
			if err := old.Close(); !errors.Is(err, filelock.ErrMoved) {
				t.Errorf("it does not say why it stopped: %v", err)
			}
			if left, err := os.ReadDir(replaced); err != nil || len(left) > 0 {
				t.Errorf("it wrote %v, %v", left, err)
			}
			if err := os.Remove(replaced); err != nil {
				t.Fatal(err)
			}
			rename(t, replaced+".moved", replaced)
			again, found := run(t, o)
			if found.Events != 1 {
				t.Errorf("put back, it has %d events", found.Events)
			}
			if err := errors.Join(tryAdd(t, again, "B"), again.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A box whose log is moved away, and replaced by a copy, acknowledges nothing that the next start does not find.
func TestLogReplaced(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, path string) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(t *testing.T, path string) {
		rename(t, path, path+".moved")
		from, to := path+".moved", path
		info, err := os.Stat(from)
		if err == nil && info.IsDir() {
			err = os.CopyFS(to, os.DirFS(from))
		} else if err == nil {
			var data []byte
			if data, err = os.ReadFile(from); err == nil {
				err = os.WriteFile(to, data, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const segment = "00000000000000000000.log"
	for _, what := range []string{"archive/log", "archive/log/" + segment, "mirror/" + segment} {
		for how, change := range map[string]func(*testing.T, string){"removed": remove, "replaced": replace} {
			t.Run(what+" "+how, func(t *testing.T) {
				disks := t.TempDir()
				o := Options{Dir: Dir(filepath.Join(disks, "box")), Archive: filepath.Join(disks, "archive"), Mirror: filepath.Join(disks, "mirror")}
				b, _ := run(t, o)
				if err := tryAdd(t, b, "A"); err != nil {
					t.Fatal(err)
				}
				change(t, filepath.Join(disks, filepath.FromSlash(what)))
				if err := tryAdd(t, b, "B"); !errors.Is(err, filelock.ErrMoved) {
					t.Fatalf("it went on: %v", err)
				}
				<-b.stopped
				if err := b.Close(); !errors.Is(err, filelock.ErrMoved) {
					t.Errorf("it does not say why it stopped: %v", err)
				}
			})
		}
	}
}

// Nothing is signed, and no snapshot written, in a directory that took the place of a box's.
func TestSealAfterReplaced(t *testing.T) {
	t.Parallel()
	o := Options{Dir: Dir(filepath.Join(t.TempDir(), "box"))}
	old, _ := run(t, o)
	if err := tryAdd(t, old, "A"); err != nil {
		t.Fatal(err)
	}
	rename(t, string(o.Dir), string(o.Dir)+".moved")
	other, _ := run(t, o)
	if err := tryAdd(t, other, "B"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.seal(); err != nil {
		t.Fatal(err)
	}
	if err := other.held.setAddress("127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	before := contents(t, string(o.Dir))
	if err := old.Close(); !errors.Is(err, filelock.ErrMoved) {
		t.Errorf("it sealed what others don't see: %v", err)
	}
	if diff := cmp.Diff(before, contents(t, string(o.Dir))); diff != "" {
		t.Errorf("the other box's directory (-before +after):\n%s", diff)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if found, err := placed(t, o, ""); err != nil || found.Events != 1 {
		t.Errorf("the other box's ledger: %d events, %v", found.Events, err)
	}
}

// contents returns the files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Whoever removes a lock's file lets no second box in.
func TestLockRemoved(t *testing.T) {
	t.Parallel()
	disks := t.TempDir()
	o := Options{Dir: Dir(filepath.Join(disks, "box")), Archive: filepath.Join(disks, "archive")}
	b, _ := run(t, o)
	for _, file := range []string{o.Dir.path(lockFile), o.Archive + ".lock"} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	second := o
	if _, _, err := Open(t.Context(), second); !errors.Is(err, ErrLocked) {
		t.Errorf("a second box runs in the directory: %v", err)
	}
	second.Dir = Dir(filepath.Join(disks, "other"))
	if _, _, err := Open(t.Context(), second); !errors.Is(err, ErrLocked) {
		t.Errorf("a second box writes the archive: %v", err)
	}
	if err := errors.Join(tryAdd(t, b, "A"), b.Close()); err != nil {
		t.Error(err)
	}
}
