//go:build unix

package durable

import (
	"errors"
	"os"

	"github.com/signalbox-dev/signalbox/internal/descriptors"
)

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	return sync(func() (*os.File, error) { return os.Open(path) })
}

// SyncIn makes the names in a directory durable.
func SyncIn(dir *os.Root) error {
	return sync(func() (*os.File, error) { return dir.Open(".") })
}

func sync(open func() (*os.File, error)) error {
	return descriptors.WaitOut(func() error {
		f, err := open()
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
