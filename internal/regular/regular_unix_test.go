//go:build unix

package regular_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/regular"
)

// pipe makes a named pipe, and returns whether anybody has opened it to read. What waits for it is let
// go, so that a fault does not keep the test waiting.
func pipe(t *testing.T, path string) (opened func() bool) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	stopping := make(chan struct{})
	done := make(chan bool, 1)
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for who reads
		if err == nil {
			err = f.Close()
		}
		select {
		case <-stopping:
			done <- false
		default:
			done <- err == nil
		}
	}()
	return func() bool {
		close(stopping)
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }() // read only
		return <-done
	}
}

type opener func(dir *os.Root, name string) (*os.File, error)

func openers() map[string]opener {
	return map[string]opener{
		"Open": func(d *os.Root, name string) (*os.File, error) { return regular.Open(filepath.Join(d.Name(), name)) },
		"OpenItself": func(d *os.Root, name string) (*os.File, error) {
			return regular.OpenItself(filepath.Join(d.Name(), name))
		},
		"OpenIn":    regular.OpenIn,
		"OpenDir":   func(d *os.Root, name string) (*os.File, error) { return regular.OpenDir(filepath.Join(d.Name(), name)) },
		"OpenDirIn": regular.OpenDirIn,
	}
}

// Only what was asked for is opened, and nothing is waited for.
func TestOpen(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	in := func(name string) string { return filepath.Join(root.Name(), name) }
	if err := errors.Join(
		os.WriteFile(in("file"), []byte("content"), 0o600), os.Mkdir(in("dir"), 0o700),
		os.Symlink("file", in("link")), os.Symlink("dir", in("dirlink")), os.Symlink("/dev/zero", in("zero")), os.Symlink("pipe", in("pipelink")), os.Symlink("nothing", in("broken")),
	); err != nil {
		t.Fatal(err)
	}
	opened := pipe(t, in("pipe"))
	fits := map[string][]string{
		"Open": {"file", "link"}, "OpenItself": {"file"}, "OpenIn": {"file"}, "OpenDir": {"dir"}, "OpenDirIn": {"dir"},
	}
	for name, open := range openers() {
		for _, what := range []string{"file", "dir", "link", "dirlink", "zero", "pipe", "pipelink", "broken", "nothing"} {
			f, err := open(root, what)
			want := false
			for _, fit := range fits[name] {
				want = want || fit == what
			}
			if (err == nil) != want {
				t.Errorf("%s of %s: %v", name, what, err)
			}
			if err == nil {
				_ = f.Close() // read only
			}
		}
	}
	if opened() {
		t.Error("a pipe was opened")
	}
}

// Of what lies below a directory, regular files are read that are reached without a link, and are not hidden.
func TestReadBelow(t *testing.T) {
	top := t.TempDir()
	in := func(name string) string { return filepath.Join(top, name) }
	if err := errors.Join(
		os.MkdirAll(in("tree/a/b"), 0o700), os.WriteFile(in("tree/a/b/file"), []byte("content"), 0o600), os.WriteFile(in("tree/file"), []byte("content"), 0o600),
		os.MkdirAll(in("tree/box/keys"), 0o700), os.WriteFile(in("tree/box/keys/file"), []byte("secret"), 0o600), os.WriteFile(in("tree/token"), []byte("secret"), 0o600),
		os.WriteFile(in("outside"), []byte("secret"), 0o600), os.WriteFile(in("tree/large"), make([]byte, 101), 0o600),
		os.Symlink("../outside", in("tree/out")), os.Symlink("..", in("tree/up")), os.Symlink("a", in("tree/inside")), os.Symlink("file", in("tree/link")),
		os.Link(in("tree/token"), in("tree/sametoken")),
	); err != nil {
		t.Fatal(err)
	}
	opened := pipe(t, in("tree/a/pipe"))
	for name, want := range map[string]bool{
		"file": true, "a/b/file": true, "a/b": false, "a/b/nothing": false, "a/pipe": false, "large": false,
		"../outside": false, "a/../../outside": false, "out": false, "up/outside": false, "inside/b/file": false, "link": false,
		"box/keys/file": false, "./box/keys/file": false, "token": false, "sametoken": false, in("tree/file"): false, "": false, ".": false, "file/": false,
	} {
		data, err := regular.ReadBelow(in("tree"), name, 100, in("tree/box"), in("tree/token"), in("nowhere"))
		if (err == nil) != want || want && string(data) != "content" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if opened() {
		t.Error("a pipe was opened")
	}
}

// A file that is too long is not read, and one that grows is read no further.
func TestReadAll(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, 99, 100} {
		want := bytes.Repeat([]byte("x"), size)
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := regular.Read(name, 100); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	var tooLarge *regular.TooLargeError
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Fatal(err)
	}
	f, err := regular.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	again := os.NewFile(dup(t, f), name)
	if _, err = regular.ReadAll(f, 100); !errors.As(err, &tooLarge) {
		t.Errorf("a terabyte: %v", err)
	}
	if at, err := again.Seek(0, io.SeekCurrent); err != nil || at != 0 {
		t.Errorf("%d bytes of a file that is too long were read, %v", at, err)
	}
	_ = again.Close()                                                // read only
	if _, err := regular.Read("/proc/self/environ", 1); err == nil { // which says that it has 0 bytes
		t.Error("a file that has more than it says was read")
	}
}

// dup returns another descriptor of the same open file.
func dup(t *testing.T, f *os.File) uintptr {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return uintptr(fd)
}

// A file is made whatever has its name: a link is not followed, a pipe not opened.
func TestCreate(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	in := func(name string) string { return filepath.Join(root.Name(), name) }
	for how, create := range map[string]func(name string) (*os.File, error){
		"Create":   func(name string) (*os.File, error) { return regular.Create(in(name)) },
		"CreateIn": func(name string) (*os.File, error) { return regular.CreateIn(root, name) },
	} {
		if err := errors.Join(os.WriteFile(in("file"), []byte("content"), 0o600), os.Symlink("file", in("link")), os.Mkdir(in("dir"), 0o700), syscall.Mkfifo(in("pipe"), 0o600)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"link", "pipe", "dir", "file", "nothing"} {
			f, err := create(name)
			if err != nil {
				t.Fatalf("%s in the place of a %s: %v", how, name, err)
			}
			if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
				t.Errorf("%s in the place of a %s: %v, %v", how, name, info, err)
			}
			_ = f.Close() // nothing was written
			if name == "link" {
				if data, err := os.ReadFile(in("file")); err != nil || string(data) != "content" {
					t.Errorf("%s followed a link: %q, %v", how, data, err)
				}
			}
			if err := os.Remove(in(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
