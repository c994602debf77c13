package archive

import (
	"errors"
	"fmt"
	"path"
	"sync"
)

const tmpDir = "tmp"

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

func newStore(fs FS) *store { return &store{FS: fs, dirs: map[string]bool{".": true}} }

// fail remembers that the store can't be trusted any more.
func (s *store) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	return err
}

// usable returns an error after something failed.
func (s *store) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return fmt.Errorf("%w: %w", ErrFailed, s.failed)
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

// place puts a file in its place with all its bytes. It is durable after syncDir.
func (s *store) place(name string, data []byte) error {
	if err := s.usable(); err != nil {
		return err
	}
	if err := errors.Join(s.mkdir(tmpDir), s.mkdir(path.Dir(name))); err != nil {
		return err
	}
	s.mu.Lock()
	s.temps++
	temp := fmt.Sprintf("%s/%d", tmpDir, s.temps)
	s.mu.Unlock()
	f, err := s.Create(temp)
	if err != nil {
		return fmt.Errorf("write %s of the archive: %w", name, err)
	}
	if _, err = f.Write(data); err == nil {
		if err = f.Sync(); err != nil {
			err = s.fail(err)
		}
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.Rename(temp, name)
	}
	if err != nil {
		_ = s.Remove(temp) // a full disk needs the room; what stays is removed at the next start
		return fmt.Errorf("write %s of the archive: %w", name, err)
	}
	return nil
}

// write replaces a file, durably.
func (s *store) write(name string, data []byte) error {
	if err := s.place(name, data); err != nil {
		return err
	}
	return s.syncDir(path.Dir(name))
}

// clear removes what writes that were cut off left behind.
func (s *store) clear() error {
	names, err := s.ReadDir(tmpDir)
	if missing(err) {
		return nil
	}
	for _, name := range names {
		err = errors.Join(err, s.Remove(tmpDir+"/"+name))
	}
	return err
}

// writer places many files and makes them durable together.
type writer struct {
	*store
	touched []string // directories to sync
}

func (w *writer) put(name string, data []byte) error {
	dir := path.Dir(name)
	if len(w.touched) == 0 || w.touched[len(w.touched)-1] != dir {
		w.touched = append(w.touched, dir)
	}
	return w.place(name, data)
}

func (w *writer) sync() error {
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
