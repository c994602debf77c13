//go:build unix

package durable

import (
	"errors"
	"os"
)

// SyncDir makes the names in a directory durable.
func SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncIn makes the names in a directory durable.
func SyncIn(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
