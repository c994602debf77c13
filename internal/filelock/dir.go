package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrMoved is returned when a path no longer names what is held open.
var ErrMoved = errors.New("moved, removed or replaced while it was in use: put it back, and start again")

// Dir is a directory that one process has for itself. It is held open, and what is done in it is done
// there, whatever becomes of its path.
type Dir struct {
	*os.Root
	path   string
	self   *os.File // locked, if directories can be locked there
	locked bool
	file   *os.File // a lock besides, or nil
}

// TakeDir takes a directory until Close is called or the process ends: under any of its names, and
// whatever is removed from it. Some file systems can't lock a directory: file is locked too, if it is
// not "", which may lie anywhere.
func TakeDir(path, file string) (_ *Dir, err error) {
	d := &Dir{path: path}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", path, err), d.Close())
		}
	}()
	if d.Root, err = os.OpenRoot(path); err != nil {
		return nil, err
	}
	if d.self, err = d.Open("."); err != nil {
		return nil, err
	}
	if d.locked, err = lockDir(d.self); err != nil {
		return nil, err
	}
	if file != "" {
		d.file, err = take(file)
	}
	return d, err
}

// Locked reports whether the directory itself is locked: some file systems can't do that.
func (d *Dir) Locked() bool { return d.locked }

// Stands returns [ErrMoved] if the path no longer names the directory, or the lock's file that is all
// there is to keep others out.
func (d *Dir) Stands() error {
	if err := Stands(d.path, d.self); err != nil || d.locked || d.file == nil {
		return err
	}
	return Stands(d.file.Name(), d.file)
}

// Stands returns [ErrMoved] if the path no longer names the file or directory that was opened by it.
func Stands(path string, f *os.File) error {
	own, err := f.Stat()
	if err != nil {
		return err
	}
	at, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(at, own) {
		return fmt.Errorf("%s: %w", path, ErrMoved)
	}
	return nil
}

// Close gives the directory back.
func (d *Dir) Close() error {
	var all []error
	if d.file != nil {
		all = append(all, giveBack(d.file))
	}
	switch {
	case d.locked:
		all = append(all, giveBack(d.self))
	case d.self != nil:
		all = append(all, d.self.Close())
	}
	if d.Root != nil {
		all = append(all, d.Root.Close())
	}
	return errors.Join(all...)
}
