//go:build unix

package box

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock keeps a second box out of the directory for as long as the process lives.
func (d Dir) lock() (release func() error, err error) {
	f, err := os.OpenFile(d.path(lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("%w: %s", ErrLocked, d)
		}
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
