package archive

import (
	"errors"
	"io/fs"
	"strings"
	"time"
)

// Split returns files of which those of the log lie in a directory of their own, which may be on
// another disk.
func Split(main, log FS) FS { return split{main, log} }

// split has nothing but a log if main is nil.
type split struct{ main, log FS }

// at returns where a name is to be found, and what it is called there.
func (s split) at(name string) (FS, string) {
	if name == logDir {
		return s.log, "."
	}
	if rest, ok := strings.CutPrefix(name, logDir+"/"); ok {
		return s.log, rest
	}
	if s.main == nil {
		return nowhere{}, name
	}
	return s.main, name
}

func (s split) ReadFile(name string) ([]byte, error) {
	at, name := s.at(name)
	return at.ReadFile(name)
}

func (s split) OpenReader(name string) (Reader, error) {
	at, name := s.at(name)
	return at.OpenReader(name)
}

func (s split) ReadDir(name string) ([]string, error) {
	at, name := s.at(name)
	return at.ReadDir(name)
}

func (s split) Modified(name string) (time.Time, error) {
	at, name := s.at(name)
	return at.Modified(name)
}

func (s split) Create(name string) (File, error) {
	at, name := s.at(name)
	return at.Create(name)
}

func (s split) Extend(name string) (File, error) {
	at, name := s.at(name)
	return at.Extend(name)
}

// Rename is asked for names in the same place only.
func (s split) Rename(from, to string) error {
	at, from := s.at(from)
	_, to = s.at(to)
	return at.Rename(from, to)
}

func (s split) Remove(name string) error {
	at, name := s.at(name)
	return at.Remove(name)
}

func (s split) Mkdir(name string) error {
	at, name := s.at(name)
	return at.Mkdir(name)
}

func (s split) SyncDir(name string) error {
	at, name := s.at(name)
	return at.SyncDir(name)
}

func (s split) Stands() error {
	if s.main == nil {
		return s.log.Stands()
	}
	return errors.Join(s.main.Stands(), s.log.Stands())
}

// nowhere has no files, and takes none. Its directories are durable.
type nowhere struct{}

func (nowhere) none(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

func (n nowhere) ReadFile(name string) ([]byte, error)   { return nil, n.none("read", name) }
func (n nowhere) OpenReader(name string) (Reader, error) { return nil, n.none("open", name) }
func (n nowhere) ReadDir(name string) ([]string, error)  { return nil, n.none("readdir", name) }
func (n nowhere) Modified(name string) (time.Time, error) {
	return time.Time{}, n.none("stat", name)
}
func (n nowhere) Create(name string) (File, error) { return nil, errors.ErrUnsupported }
func (n nowhere) Extend(name string) (File, error) { return nil, n.none("open", name) }
func (n nowhere) Rename(from, _ string) error      { return n.none("rename", from) }
func (n nowhere) Remove(name string) error         { return n.none("remove", name) }
func (nowhere) Mkdir(string) error                 { return nil }
func (nowhere) SyncDir(string) error               { return nil }
func (nowhere) Stands() error                      { return nil }
