package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrMoved is returned when a path no longer names the directory that was taken.
var ErrMoved = errors.New("it was moved, removed or replaced while it was in use")

// Dir is a directory that one process has for itself. It is held open, and what is done in it is done
// there, whatever becomes of its path.
type Dir struct {
	*os.Root
	path string
	self *os.File // locked, if directories can be locked there
}

// TakeDir takes a directory until Close is called or the process ends: under any of its names, and
// whatever is removed from it.
func TakeDir(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	self, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	d := &Dir{root, path, self}
	if err := lockDir(self); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s", err, path), d.Close())
	}
	return d, nil
}

// Stands returns [ErrMoved] if the path no longer names the directory.
func (d *Dir) Stands() error {
	at, err := os.Stat(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	own, err2 := d.self.Stat()
	if err2 != nil {
		return err2
	}
	if err != nil || !os.SameFile(at, own) {
		return fmt.Errorf("%s: %w", d.path, ErrMoved)
	}
	return nil
}

// Close gives the directory back.
func (d *Dir) Close() error { return errors.Join(d.Root.Close(), d.self.Close()) }
