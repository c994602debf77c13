// Package durable writes files so that a power cut leaves the old one or the new one.
package durable

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/internal/descriptors"
	"github.com/signalbox-dev/signalbox/internal/regular"
)

// WriteFile writes a file, for its owner alone, that is there as a whole or not at all.
func WriteFile(path string, data []byte) error {
	var f *os.File
	err := descriptors.WaitOut(func() (err error) {
		f, err = os.CreateTemp(filepath.Dir(path), ".new-*") // which is the owner's alone
		return err
	})
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// WriteIn writes a file in a directory that no other process writes to, as [WriteFile] does.
func WriteIn(dir *os.Root, name string, data []byte) error {
	temp := ".new-" + name
	var f *os.File
	err := descriptors.WaitOut(func() (err error) {
		f, err = regular.CreateIn(dir, temp)
		return err
	})
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return SyncIn(dir)
}
