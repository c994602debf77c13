// Package regular reads files that somebody else may have put there. A name can stand for
// a pipe that nobody writes to, a device without an end, a link to either, or a file with a hole of a
// terabyte: only regular files are opened, opening one never waits, and no more is read than the
// caller says that there can be.
package regular

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// What a name does not stand for. They are wrapped in an [fs.PathError].
var (
	ErrIrregular   = errors.New("it is no regular file")
	ErrNoDirectory = errors.New("it is no directory")
	ErrHidden      = errors.New("nothing is read there")
)

// TooLargeError is returned for a file that has more bytes than it can have.
type TooLargeError struct {
	Path string
	Most int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has more than the %d bytes that it can have", e.Path, e.Most)
}

// Open opens a regular file for reading. Links are followed.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	return open(path, info, err, isFile, func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|nonblock, 0) })
}

// OpenItself opens a regular file for reading, which is no link.
func OpenItself(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	return open(path, info, err, isFile, func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|nonblock|nofollow, 0) })
}

// OpenIn opens a regular file below a directory for reading, which is no link.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	return open(name, info, err, isFile, func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|nonblock, 0) })
}

// ReadBelow reads a regular file of at most so many bytes below a directory. Neither it nor a directory on the way there may be
// a link, or one of those that are hidden, which may be named in any way.
func ReadBelow(dir, name string, most int64, hidden ...string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	var not []fs.FileInfo
	for _, path := range hidden {
		if info, err := os.Stat(path); err == nil { // what is not there can't be named
			not = append(not, info)
		}
	}
	steps := strings.Split(name, "/")
	for _, step := range steps[:len(steps)-1] {
		next, err := enter(root, step, not)
		if err != nil {
			return nil, named(name, err)
		}
		_ = root.Close()
		root = next
	}
	before, err := root.Lstat(steps[len(steps)-1])
	if err != nil {
		return nil, named(name, err)
	}
	f, err := OpenIn(root, steps[len(steps)-1])
	if err != nil {
		return nil, named(name, err)
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = ErrIrregular
	}
	if err = cmp.Or(err, allowed(before, not)); err != nil {
		return nil, errors.Join(named(name, err), f.Close())
	}
	return ReadAll(f, most)
}

// enter opens a directory below another one, which is no link and not hidden. What was looked at is what was opened: a name
// can stand for something else by then.
func enter(root *os.Root, name string, not []fs.FileInfo) (*os.Root, error) {
	before, err := root.Lstat(name)
	if err == nil {
		err = cmp.Or(isDir(before.Mode()), allowed(before, not))
	}
	if err != nil {
		return nil, err
	}
	dir, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if info, err := dir.Stat("."); err != nil || !os.SameFile(before, info) {
		return nil, errors.Join(err, ErrNoDirectory, dir.Close())
	}
	return dir, nil
}

func allowed(info fs.FileInfo, not []fs.FileInfo) error {
	if slices.ContainsFunc(not, func(hidden fs.FileInfo) bool { return os.SameFile(info, hidden) }) {
		return ErrHidden
	}
	return nil
}

// OpenDir opens a directory, which is no link, to list its names.
func OpenDir(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	return open(path, info, err, isDir, func() (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|nonblock|nofollow, 0) })
}

// OpenDirIn opens a directory below another one, which is no link, to list its names.
func OpenDirIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Lstat(name)
	return open(name, info, err, isDir, func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|nonblock, 0) })
}

// Create makes a file, for its owner alone, to write it. What was there is removed, and not opened.
func Create(path string) (*os.File, error) {
	return create(os.Remove(path), func() (*os.File, error) { return os.OpenFile(path, createFlags, 0o600) })
}

// CreateIn makes a file below a directory as [Create] does.
func CreateIn(root *os.Root, name string) (*os.File, error) {
	return create(root.Remove(name), func() (*os.File, error) { return root.OpenFile(name, createFlags, 0o600) })
}

const createFlags = os.O_WRONLY | os.O_CREATE | os.O_EXCL

func create(removed error, really func() (*os.File, error)) (*os.File, error) {
	if removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		return nil, removed
	}
	return really()
}

// open looks before and after: a device may do something when it is opened, and what a name
// stands for may have changed meanwhile.
func open(path string, before fs.FileInfo, err error, wanted func(fs.FileMode) error, really func() (*os.File, error)) (*os.File, error) {
	if err == nil {
		err = wanted(before.Mode())
	}
	if err != nil {
		return nil, named(path, err)
	}
	f, err := really()
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = wanted(info.Mode())
	}
	if err != nil {
		return nil, errors.Join(named(path, err), f.Close())
	}
	return f, nil
}

func isFile(mode fs.FileMode) error {
	if mode.IsRegular() {
		return nil
	}
	return ErrIrregular
}

func isDir(mode fs.FileMode) error {
	if mode.IsDir() {
		return nil
	}
	return ErrNoDirectory
}

// named says which file could not be opened: that it was looked at first is nobody's concern.
func named(path string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

// Read reads a regular file that has at most so many bytes, following links.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return ReadAll(f, most)
}

// ReadAll reads a file that was opened, of at most so many bytes, and closes it. A file that is
// known to be longer is not read, and one that grows is read no further.
func ReadAll(f *os.File, most int64) ([]byte, error) {
	data, err := readAll(f, most)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return data, nil
}

func readAll(f *os.File, most int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tooLarge := &TooLargeError{f.Name(), most}
	if info.Size() > most {
		return nil, tooLarge
	}
	data := make([]byte, 0, min(info.Size(), most)+1)
	for int64(len(data)) <= most {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)] // as files of /proc do, it has more than it said
		}
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(len(data)) > most {
		return nil, tooLarge
	}
	return data, nil
}
