package archive

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
)

const (
	tmpDir     = "tmp"
	tempSuffix = ".tmp"
)

// store writes files so that they are durable. After a sync that failed nobody
// knows what is on the disk, and asking again may wrongly say that all is well: so
// from then on it refuses to write.
type store struct {
	FS

	mu     sync.Mutex
	failed error           // the sync that failed
	dirs   map[string]bool // those known to be durable
	temps  int             // temporary files so far
}

func newStore(fs FS) *store { return &store{FS: Patient(fs), dirs: map[string]bool{".": true}} }

// fail remembers that the store can't be trusted any more.
func (s *store) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	return err
}

// usable returns an error after something failed, and if others don't find these files any more: what
// is written now would not be the archive that they see.
func (s *store) usable() error {
	s.mu.Lock()
	failed := s.failed
	s.mu.Unlock()
	if failed != nil {
		return fmt.Errorf("%w: %w", ErrFailed, failed)
	}
	if err := s.Stands(); err != nil {
		return s.fail(err)
	}
	return nil
}

func (s *store) syncDir(name string) error {
	if err := s.SyncDir(name); err != nil {
		return s.fail(fmt.Errorf("sync the archive's directory %s: %w", name, err))
	}
	return nil
}

// mkdir makes a directory durably, with its parents.
func (s *store) mkdir(name string) error {
	s.mu.Lock()
	known := s.dirs[name]
	s.mu.Unlock()
	if known {
		return nil
	}
	parent := path.Dir(name)
	if err := s.mkdir(parent); err != nil {
		return err
	}
	if err := s.Mkdir(name); err != nil {
		return fmt.Errorf("make the archive's directory %s: %w", name, err)
	}
	if err := s.syncDir(parent); err != nil {
		return err
	}
	s.mu.Lock()
	s.dirs[name] = true
	s.mu.Unlock()
	return nil
}

// rmdir removes a directory if it is empty.
func (s *store) rmdir(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.dirs, name)
	_ = s.Remove(name) // what is not empty stays
}

// draft is a file that has its bytes, and not its name yet.
type draft struct {
	store      *store
	file       File
	temp, name string
}

// tempName returns where a file is written before it gets its name. One of the log stays in the
// log's directory, which may lie on another disk.
func tempName(name string, n int) string {
	if path.Dir(name) == logDir {
		return fmt.Sprintf("%s/%d%s", logDir, n, tempSuffix)
	}
	return fmt.Sprintf("%s/%d", tmpDir, n)
}

// draft writes a file beside its place.
func (s *store) draft(name string, data []byte) (*draft, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	if err := errors.Join(s.mkdir(path.Dir(tempName(name, 0))), s.mkdir(path.Dir(name))); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.temps++
	temp := tempName(name, s.temps)
	s.mu.Unlock()
	f, err := s.Create(temp)
	if err != nil {
		return nil, fmt.Errorf("write %s of the archive: %w", name, err)
	}
	d := &draft{s, f, temp, name}
	if _, err := f.Write(data); err != nil {
		return nil, d.abandon(errors.Join(err, f.Close()))
	}
	return d, nil
}

// sync makes the bytes durable.
func (d *draft) sync() error {
	err := d.file.Sync()
	if err != nil {
		err = d.store.fail(err)
	}
	if err = errors.Join(err, d.file.Close()); err != nil {
		return d.abandon(err)
	}
	return nil
}

// rename puts the file in its place. It is durable after syncDir.
func (d *draft) rename() error {
	if err := d.store.Rename(d.temp, d.name); err != nil {
		return d.abandon(err)
	}
	return nil
}

func (d *draft) abandon(err error) error {
	_ = d.store.Remove(d.temp) // a full disk needs the room; what stays is removed at the next start
	return fmt.Errorf("write %s of the archive: %w", d.name, err)
}

// write replaces a file, durably.
func (s *store) write(name string, data []byte) error {
	w := writer{store: s}
	if err := w.put(name, data); err != nil {
		return err
	}
	return w.sync()
}

// clear removes what writes that were cut off left behind.
func (s *store) clear() error {
	var errs []error
	for _, dir := range []string{tmpDir, logDir} {
		names, err := s.ReadDir(dir)
		if err != nil && !missing(err) {
			errs = append(errs, err)
		}
		for _, name := range names {
			if dir == tmpDir || strings.HasSuffix(name, tempSuffix) {
				errs = append(errs, s.Remove(dir+"/"+name))
			}
		}
	}
	return errors.Join(errs...)
}

// writer writes many files and makes them durable together: one sync of the disk's
// journal then serves for all of them.
type writer struct {
	*store
	drafts  []*draft
	touched []string // directories to sync
}

// maxDrafts is how many files a writer holds open.
const maxDrafts = 64

func (w *writer) put(name string, data []byte) error {
	if len(w.drafts) == maxDrafts {
		if err := w.place(); err != nil {
			return err
		}
	}
	d, err := w.draft(name, data)
	if err != nil {
		return errors.Join(err, w.place())
	}
	w.drafts = append(w.drafts, d)
	if dir := path.Dir(name); len(w.touched) == 0 || w.touched[len(w.touched)-1] != dir {
		w.touched = append(w.touched, dir)
	}
	return nil
}

// place gives the files their names, each after its bytes are durable.
func (w *writer) place() error {
	var err error
	for _, d := range w.drafts {
		err = errors.Join(err, d.sync())
	}
	for _, d := range w.drafts {
		if err == nil {
			err = d.rename()
		} else {
			_ = w.Remove(d.temp) // as it would be if it had been the only one
		}
	}
	w.drafts = nil
	return err
}

func (w *writer) sync() error {
	if err := w.place(); err != nil {
		return err
	}
	done := map[string]bool{}
	for _, dir := range w.touched {
		if done[dir] {
			continue
		}
		done[dir] = true
		if err := w.syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}
