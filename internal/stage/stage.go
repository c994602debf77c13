// Package stage makes a file or a directory ready beside its place, where it then appears as a whole or not at all.
// What fails leaves nothing behind.
package stage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/safetext"
)

var (
	// ErrExists is returned where a file would be written over something.
	ErrExists = errors.New("the file is there already: give another name")

	// ErrOccupied is returned where a directory would replace something.
	ErrOccupied = errors.New("it is there already, and no empty directory: give one that is empty, or not there")
)

// Stage is a directory, for its owner alone, in which something is made ready. Its names are the caller's, but for "was"
// and those that begin with a point.
type Stage struct {
	to   string
	dir  string
	made []string      // the directories above the place that were not there, the outermost first
	held *filelock.Dir // so that nobody takes it for one that was left
}

// ForFile begins a file that is not there yet.
func ForFile(to string) (*Stage, error) {
	if _, err := os.Lstat(to); err == nil {
		return nil, failed(to, ErrExists)
	}
	return begin(to)
}

// ForDir begins a directory that is not there, or empty. The directories above it are made. What can't be replaced is
// refused here, before there is any work to lose: a link, a mount point, the directory that the process is in.
func ForDir(to string) (*Stage, error) {
	to = filepath.Clean(to)
	if err := vacant(to); err != nil { // also before anything is made
		return nil, failed(to, err)
	}
	made, err := makeAll(filepath.Dir(to))
	var s *Stage
	if err == nil {
		s, err = begin(to)
	}
	if err != nil {
		unmake(made)
		return nil, err
	}
	s.made = made
	back, err := s.putAside()
	if err == nil {
		err = back()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func failed(to string, err error) error { return fmt.Errorf("%s: %w", safetext.Escape(to), err) }

// begin makes the stage, after removing those that nobody holds.
func begin(to string) (s *Stage, err error) {
	parent := filepath.Dir(to)
	removeLeft(parent)
	s = &Stage{to: to}
	if s.dir, err = os.MkdirTemp(parent, prefix+"*"); err != nil {
		return nil, err
	}
	if err := s.hold(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Path returns where something with a name is made ready.
func (s *Stage) Path(name string) string { return filepath.Join(s.dir, name) }

// PlaceFile gives a file of the stage its place, durably. It does not replace what came there meanwhile.
func (s *Stage) PlaceFile(name string) error {
	err := os.Link(s.Path(name), s.to) // which replaces nothing, as a rename would
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = renameNew(s.Path(name), s.to) // the file system has no links
	}
	if errors.Is(err, fs.ErrExist) {
		return failed(s.to, ErrExists)
	}
	if err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(s.to))
}

// renameNew renames a file to a name that nothing has.
func renameNew(from, to string) error {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Rename(from, to)); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// PlaceDir gives a directory of the stage its place, durably. It replaces nothing but an empty directory.
func (s *Stage) PlaceDir(name string) error {
	back, err := s.putAside()
	if err != nil {
		return err
	}
	if err := os.Rename(s.Path(name), s.to); err != nil {
		return errors.Join(err, back())
	}
	return durable.SyncDir(filepath.Dir(s.to))
}

// putAside moves an empty directory out of the place, and returns how to move it back.
func (s *Stage) putAside() (back func() error, err error) {
	if err := vacant(s.to); err != nil {
		return nil, failed(s.to, err)
	}
	was := s.Path("was")
	err = os.Rename(s.to, was)
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	if err != nil { // of a mount point the system says that it is busy
		return nil, failed(s.to, fmt.Errorf("it can't be replaced, as a mount point can't: %w: give a directory that is not there, in it or elsewhere", err))
	}
	back = func() error { return os.Rename(was, s.to) }
	if err := vacant(was); err != nil { // somebody was quick
		return nil, errors.Join(failed(s.to, err), back())
	}
	return back, nil
}

// vacant refuses a path where a directory would replace something else than an empty directory.
func vacant(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("it is a link, which would be replaced: give the directory that it leads to")
	}
	if !info.IsDir() {
		return ErrOccupied
	}
	if here, err := os.Stat("."); err == nil && os.SameFile(here, info) {
		return errors.New("you are in this directory, which would be replaced: go to another one, or give one that is not there")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(names) > 0 {
		err = ErrOccupied
	}
	return errors.Join(err, f.Close())
}

// makeAll makes a directory with those above it, and returns those that were not there.
func makeAll(dir string) (made []string, err error) {
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	for _, at := range slices.Backward(missing) {
		err := os.Mkdir(at, 0o700)
		if err == nil {
			made = append(made, at)
		} else if !errors.Is(err, fs.ErrExist) {
			return made, err
		}
	}
	return made, nil
}

// unmake removes directories that were made, up to one in which somebody has put something.
func unmake(made []string) {
	for _, dir := range slices.Backward(made) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// Close removes the stage, and the directories that were made for it if nothing is in them.
func (s *Stage) Close() error {
	err := os.RemoveAll(s.dir)
	if s.held != nil {
		err = errors.Join(err, s.held.Close())
	}
	unmake(s.made)
	return err
}
