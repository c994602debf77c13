package archive

import (
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/descriptors"
)

// Patient returns files with which a shortage of descriptors is waited out: what can't be opened for
// lack of one is tried again for a while. A write or a sync that failed is never tried again.
func Patient(fs FS) FS { return &patient{FS: fs} }

type patient struct {
	FS
	vain atomic.Bool // the last shortage was waited out in vain: one patience is enough for all that fails by it
}

func (p *patient) wait(open func() error) error {
	try := descriptors.WaitOut
	if p.vain.Load() {
		try = func(open func() error) error { return open() }
	}
	err := try(open)
	p.vain.Store(descriptors.Short(err))
	return err
}

func waitFor[T any](p *patient, open func() (T, error)) (v T, err error) {
	err = p.wait(func() (err error) {
		v, err = open()
		return err
	})
	return v, err
}

func (p *patient) ReadFile(name string) ([]byte, error) {
	return waitFor(p, func() ([]byte, error) { return p.FS.ReadFile(name) })
}

func (p *patient) OpenReader(name string) (Reader, error) {
	return waitFor(p, func() (Reader, error) { return p.FS.OpenReader(name) })
}

func (p *patient) ReadDir(name string) ([]string, error) {
	return waitFor(p, func() ([]string, error) { return p.FS.ReadDir(name) })
}

func (p *patient) Modified(name string) (time.Time, error) {
	return waitFor(p, func() (time.Time, error) { return p.FS.Modified(name) })
}

func (p *patient) Create(name string) (File, error) {
	return waitFor(p, func() (File, error) { return p.FS.Create(name) })
}

func (p *patient) Extend(name string) (File, error) {
	return waitFor(p, func() (File, error) { return p.FS.Extend(name) })
}

func (p *patient) Rename(from, to string) error {
	return p.wait(func() error { return p.FS.Rename(from, to) })
}

func (p *patient) Remove(name string) error {
	return p.wait(func() error { return p.FS.Remove(name) })
}

func (p *patient) Mkdir(name string) error {
	return p.wait(func() error { return p.FS.Mkdir(name) })
}

func (p *patient) SyncDir(name string) error {
	return p.wait(func() error { return p.FS.SyncDir(name) })
}
