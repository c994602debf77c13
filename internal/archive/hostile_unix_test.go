//go:build unix

package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Whichever file of an archive is no regular one, or has no end, it is told at once: a pipe is not waited
// for, a link not followed, a hole not read.
func TestVerifyHostile(t *testing.T) {
	whole, keys := ended(t, 0)
	put(t, whole, "mirror", []byte("the log is written to a mirror too\n"))
	kinds := map[string]func(path, whole string) error{
		"a pipe":                  func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to a device":      func(path, _ string) error { return os.Symlink("/dev/zero", path) },
		"a link to its own bytes": func(path, whole string) error { return os.Symlink(whole, path) },
		"a directory":             func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"a terabyte of zeroes": func(path, _ string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
		},
	}
	nth := 0
	err := fs.WalkDir(os.DirFS(whole), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		nth++
		for i, kind := range slices.Sorted(maps.Keys(kinds)) {
			if testing.Short() && (nth+i)%len(kinds) != 0 {
				continue // with -short each file is one of these
			}
			dir, make := t.TempDir(), kinds[kind]
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				return err
			}
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := errors.Join(os.Remove(path), make(path, filepath.Join(whole, filepath.FromSlash(name)))); err != nil {
				return err
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				return err
			}
			for how, files := range map[string]archive.FS{"by its path": archive.Dir(dir), "held": archive.Held(root, func() error { return nil })} {
				if _, err := archive.VerifyCopy(bg, files, keys.Verifier); err == nil {
					t.Errorf("%s is %s, %s: not noticed", name, kind, how)
				}
				if _, err := archive.Verify(bg, files, keys.Verifier); err == nil && name != "mirror" { // which only a start reads
					t.Errorf("%s is %s, %s: not noticed in a box's own archive", name, kind, how)
				}
			}
			if err := root.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A link in the place of a directory is not followed, and is named.
func TestVerifyLinkedDirectories(t *testing.T) {
	whole, keys := ended(t, 0)
	if err := os.MkdirAll(filepath.Join(whole, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.VerifyCopy(bg, archive.Dir(whole), keys.Verifier); err != nil {
		t.Fatal(err)
	}
	err := fs.WalkDir(os.DirFS(whole), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == "." {
			return err
		}
		dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.Rename(path, elsewhere), os.Symlink(elsewhere, path)); err != nil {
			return err
		}
		if _, err := archive.VerifyCopy(bg, archive.Dir(dir), keys.Verifier); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is a link: %v", name, err)
		}
		if _, err := archive.Verify(bg, archive.Dir(dir), keys.Verifier); name != "tmp" && (err == nil || !strings.Contains(err.Error(), name)) {
			t.Errorf("%s is a link in a box's own archive: %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(whole, link); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.VerifyCopy(bg, archive.Dir(link), keys.Verifier); err != nil {
		t.Errorf("the directory that was given may be a link: %v", err)
	}
}

// looking is a context that looks at the heap now and then when it is asked whether it ended.
type looking struct {
	context.Context
	mu    sync.Mutex
	asked int
	most  uint64
}

func (l *looking) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked++; l.asked%1000 == 0 {
		l.most = max(l.most, heap())
	}
	return l.Context.Err()
}

// However many names there are in a directory where they don't belong, they are counted, and not gathered.
func TestVerifyManyForeignNames(t *testing.T) {
	const names, bound = 10_000, 1 << 20 // the names have 2.5 MB
	dirs := []string{".", "log", "tmp"}
	if testing.Short() {
		dirs = dirs[1:2]
	}
	for _, dir := range dirs {
		whole, keys := ended(t, 0)
		in := filepath.Join(whole, dir)
		if err := os.MkdirAll(in, 0o700); err != nil {
			t.Fatal(err)
		}
		for n := range names {
			if err := os.Link(filepath.Join(whole, "key"), filepath.Join(in, fmt.Sprintf("%0250d", n))); err != nil {
				t.Fatal(err)
			}
		}
		before, ctx := heap(), &looking{Context: bg}
		_, err := archive.VerifyCopy(ctx, archive.Dir(whole), keys.Verifier)
		var uncovered *ledger.UncoveredError
		if !errors.As(err, &uncovered) || len(uncovered.Found) != 1 || uncovered.Found[0].Count != names {
			t.Errorf("in %s: %v", dir, err)
		}
		if ctx.asked < names || ctx.most > before+bound {
			t.Errorf("in %s: it looked %d times whether to go on, and held %d KB", dir, ctx.asked, (int64(ctx.most)-int64(before))>>10)
		}
	}
}

// Whatever stands in the place of a file or a directory, and is none, repair names it, says what to do and
// does nothing; and when that was done, it repairs.
func TestRepairInTheWay(t *testing.T) {
	whole, keys := ended(t, 0)
	kinds := map[string]func(path, whole string) error{
		"a pipe": func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"a link": func(path, whole string) error { return os.Symlink(whole, path) },
		"a directory": func(path, _ string) error {
			return os.Mkdir(path, 0o700)
		},
		"a terabyte of zeroes": func(path, _ string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
		},
	}
	const segment = "log/00000000000000000000.log"
	names := []string{"the mirror"}
	err := fs.WalkDir(os.DirFS(whole), ".", func(name string, d fs.DirEntry, err error) error {
		if name != "." {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		for j, kind := range slices.Sorted(maps.Keys(kinds)) {
			if testing.Short() && (i+j)%len(kinds) != 0 {
				continue // with -short each is one of these
			}
			make, dir, mirror := kinds[kind], t.TempDir(), t.TempDir()
			if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.CopyFS(mirror, os.DirFS(filepath.Join(whole, "log")))); err != nil {
				t.Fatal(err)
			}
			path, good, says := filepath.Join(dir, filepath.FromSlash(name)), filepath.Join(whole, filepath.FromSlash(name)), name+": it "
			if name == "the mirror" {
				path, good = filepath.Join(mirror, filepath.Base(segment)), filepath.Join(whole, filepath.FromSlash(segment))
				says = "the mirror of the log, " + filepath.Base(segment) + ": it "
			}
			if info, err := os.Stat(path); err != nil || info.IsDir() && kind == "a directory" {
				continue
			}
			if err := errors.Join(os.RemoveAll(path), make(path, good)); err != nil {
				t.Fatal(err)
			}
			files := archive.Mirrored(heldFiles(t, dir), heldFiles(t, mirror))
			var damage *archive.Damage
			done, err := archive.Repair(bg, files, keys)
			if !errors.As(err, &damage) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "move it away, and run `signalbox ledger repair`") || len(done) > 0 {
				t.Errorf("%s is %s: %q, %v", name, kind, done, err)
				continue
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			var lost *archive.LostError
			if _, err := archive.Repair(bg, files, keys); err != nil && (!errors.As(err, &lost) || !strings.HasPrefix(name, "blob")) {
				t.Errorf("%s was %s, and was moved away: %v", name, kind, err)
			}
		}
	}
}

// heldFiles are the files below a directory that is held open.
func heldFiles(t *testing.T, dir string) archive.FS {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return archive.Held(root, func() error { return nil })
}

// An export has what the checkpoint covers, and nothing else.
func TestExport(t *testing.T) {
	for name, add := range map[string]func(dir string){
		"killed": func(string) {},
		"with other files": func(dir string) {
			bundle := get(t, dir, "tile/entries/000")
			for _, name := range []string{"tile/entries/001.p/46", "tile/entries/002", "tile/0/003", "tile/README", "README", ledger.BlobPath(ledger.NewBlob(bundle).SHA256)} {
				put(t, dir, name, bundle)
			}
			put(t, dir, "key", []byte("another\n"))
			put(t, dir, "checkpoint", append(get(t, dir, "checkpoint"), "\u2014 witness AAAAAAAA\n"...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, keys := ended(t, 3)
			add(dir)
			to := filepath.Join(t.TempDir(), "to")
			if err := archive.Export(bg, archive.Dir(dir), keys.Verifier, archive.Dir(to)); err != nil {
				t.Fatal(err)
			}
			if v, err := archive.VerifyCopy(bg, archive.Dir(to), keys.Verifier); err != nil || v.Events != 301 || v.Blobs != 1 || v.Log {
				t.Errorf("%+v, %v", v, err)
			}
			if _, err := ledger.Verify(os.DirFS(to), keys.Verifier); err != nil {
				t.Error(err)
			}
			if string(get(t, to, "key")) != keys.Verifier+"\n" {
				t.Error("it has another key")
			}
		})
	}
}
