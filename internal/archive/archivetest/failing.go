package archivetest

import (
	"errors"
	"sync/atomic"

	"github.com/signalbox-dev/signalbox/internal/archive"
)

// ErrDisk is what a broken disk says.
var ErrDisk = errors.New("the disk is broken")

// Failing are files whose syncs fail once Broken is set.
type Failing struct {
	archive.FS
	Broken atomic.Bool
}

// Create makes a file.
func (f *Failing) Create(name string) (archive.File, error) { return f.wrap(f.FS.Create(name)) }

// Extend opens a file to write at its end.
func (f *Failing) Extend(name string) (archive.File, error) { return f.wrap(f.FS.Extend(name)) }

func (f *Failing) wrap(file archive.File, err error) (archive.File, error) {
	return failingFile{file, f}, err
}

type failingFile struct {
	archive.File
	disk *Failing
}

func (f failingFile) Sync() error {
	if f.disk.Broken.Load() {
		return ErrDisk
	}
	return f.File.Sync()
}
