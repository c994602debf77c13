package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// FS is what the archive does with files. Names are relative and have slashes. Only regular files
// are read, links are not followed, neither to files nor to directories, and a file that is longer than its name lets it
// be is not read, nor a directory with more names than it can have.
// Nothing is durable before it was synced: a file's bytes by Sync, and that a name
// was created, renamed or removed by SyncDir of the directory that it is in.
// Errors for a name that does not exist satisfy errors.Is(err, fs.ErrNotExist).
type FS interface {
	ReadFile(name string) ([]byte, error)
	OpenReader(name string) (Reader, error)
	ReadDir(name string) ([]string, error)   // in order
	Modified(name string) (time.Time, error) // when the file was written last
	Create(name string) (File, error)        // for writing; what was there is gone
	Extend(name string) (File, error)        // for writing at the end
	Rename(from, to string) error            // replaces what was there
	Remove(name string) error                // a file, or an empty directory
	Mkdir(name string) error                 // no error if it is there; "." is made durably, with its parents
	SyncDir(name string) error
	Stands() error // an error if these are not the files any more that others find where they lie
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	Sync() error
	Stands() error // an error if the name that it was opened by does not name it any more
}

// named is a file with the path that it was opened by.
type named struct {
	*os.File
	path string
}

func withName(f *os.File, err error, path string) (File, error) {
	if err != nil {
		return nil, err // and not a File that holds a nil *os.File
	}
	return named{f, path}, nil
}

func (n named) Stands() error { return filelock.Stands(n.path, n.File) }

// Reader reads a file anywhere, also after its name was removed. It may be used
// concurrently.
type Reader interface {
	io.ReaderAt
	io.Closer
}

// Dir returns the files below a directory, which need not exist.
func Dir(path string) FS { return dir(path) }

type dir string

func (d dir) path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

func (d dir) ReadFile(name string) ([]byte, error) {
	f, err := regular.OpenItself(d.path(name))
	if err != nil {
		return nil, err
	}
	return regular.ReadAll(f, longest(name))
}

// openDir opens a directory, which is no link unless it is the one that was given.
func (d dir) openDir(name string) (*os.File, error) {
	if name == "." {
		return os.Open(string(d))
	}
	return regular.OpenDir(d.path(name))
}

func (d dir) OpenReader(name string) (Reader, error) {
	f, err := regular.OpenItself(d.path(name))
	if err != nil {
		return nil, err // and not a Reader that holds a nil *os.File
	}
	return f, nil
}

func (d dir) ReadDir(name string) ([]string, error) {
	f, err := d.openDir(name)
	if err != nil {
		return nil, err
	}
	return namesIn(f, maxNames)
}

// maxNames is how many names a directory can have. The log has a file for each MiB.
const maxNames = 1 << 20

// namesIn lists a directory, in order, and closes it. More names than it can have are not gathered.
func namesIn(f *os.File, most int) (names []string, err error) {
	defer func() { _ = f.Close() }() // read only
	for len(names) <= most {
		some, err := f.Readdirnames(namesAtOnce)
		names = append(names, some...)
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s has more than %d names, which no archive has: take out what does not belong there", f.Name(), most)
}

func (d dir) Modified(name string) (time.Time, error) {
	info, err := os.Lstat(d.path(name))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (d dir) Create(name string) (File, error) {
	f, err := regular.Create(d.path(name))
	return withName(f, err, d.path(name))
}

func (d dir) Extend(name string) (File, error) {
	f, err := os.OpenFile(d.path(name), os.O_WRONLY|os.O_APPEND, 0)
	return withName(f, err, d.path(name))
}

func (d dir) Rename(from, to string) error { return os.Rename(d.path(from), d.path(to)) }
func (d dir) Remove(name string) error     { return os.Remove(d.path(name)) }

func (d dir) Mkdir(name string) error {
	if name == "." {
		if err := os.MkdirAll(string(d), 0o700); err != nil {
			return err
		}
		return syncDir(filepath.Dir(string(d)))
	}
	err := os.Mkdir(d.path(name), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (d dir) SyncDir(name string) error { return syncDir(d.path(name)) }

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Stands has nothing to say: a path is whatever it names.
func (d dir) Stands() error { return nil }

// Held returns the files below a directory that is held open, whatever becomes of its path. Stands
// says whether the path still names it.
func Held(root *os.Root, stands func() error) FS { return held{root, stands} }

type held struct {
	*os.Root
	stands func() error
}

func (h held) path(name string) string { return dir(h.Name()).path(name) }

func (h held) ReadFile(name string) ([]byte, error) {
	f, err := regular.OpenIn(h.Root, name)
	if err != nil {
		return nil, err
	}
	return regular.ReadAll(f, longest(name))
}

func (h held) openDir(name string) (*os.File, error) { return regular.OpenDirIn(h.Root, name) }

func (h held) OpenReader(name string) (Reader, error) {
	f, err := regular.OpenIn(h.Root, name)
	if err != nil {
		return nil, err // and not a Reader that holds a nil *os.File
	}
	return f, nil
}

func (h held) ReadDir(name string) ([]string, error) {
	f, err := h.openDir(name)
	if err != nil {
		return nil, err
	}
	return namesIn(f, maxNames)
}

func (h held) Modified(name string) (time.Time, error) {
	info, err := h.Lstat(name)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (h held) Create(name string) (File, error) {
	f, err := regular.CreateIn(h.Root, name)
	return withName(f, err, h.path(name))
}

func (h held) Extend(name string) (File, error) {
	f, err := h.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	return withName(f, err, h.path(name))
}

func (h held) Mkdir(name string) error {
	err := h.Root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (h held) SyncDir(name string) error {
	f, err := h.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (h held) Stands() error { return h.stands() }

// missing says whether a file is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
