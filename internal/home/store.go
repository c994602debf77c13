package home

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// What lies in the directory of a store.
const (
	basePrefix  = "base-"  // of a run that goes on
	seedName    = "seed"   // the base of the run that ended last: the next one's first checks begin with it
	beganName   = "began"  // its time is when what is in the seed was begun with nothing
	homePrefix  = "home-"  // of checks that run
	trashPrefix = "trash-" // being removed
)

// Beyond these the next run's first checks begin with nothing.
var (
	maxSeed = Size{Files: 400_000, Bytes: 4 << 30}
	maxAge  = 30 * 24 * time.Hour
)

// Store has the home directories of checks, and what they begin with. It is for one process.
type Store struct {
	dir string
	now func() time.Time

	mu      sync.Mutex
	taken   map[int]bool // numbers of homes
	seeding sync.RWMutex // held to read while the seed is copied
}

// Open returns the store in a directory, which is made when it is needed.
func Open(dir string, now func() time.Time) *Store {
	return &Store{dir: dir, now: now, taken: map[int]bool{}}
}

// Tidy removes what a process that was killed left in use. It is called before anything else.
func (s *Store) Tidy() error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), homePrefix) || strings.HasPrefix(e.Name(), trashPrefix) {
			err = errors.Join(err, s.discard(e.Name()))
		}
	}
	return err
}

// Home is the home directory of checks, until it is closed.
type Home struct {
	Path string
	Env  []string // the checks' environment

	store  *Store
	number int
	fresh  bool // it began with nothing
}

// Take returns a home directory with what the first checks of a run left. If they left
// nothing, or it is gone, it has only the user's settings.
func (s *Store) Take(ctx context.Context, run string, u User) (*Home, error) {
	h, err := s.begin()
	if err != nil {
		return nil, err
	}
	return s.fill(ctx, h, basePrefix+run, Size{}, u)
}

// First returns a home directory for the first checks of a run, before any agent has
// started: with what those of an earlier run left, as long as that is not too large or old.
func (s *Store) First(ctx context.Context, u User) (*Home, error) {
	h, err := s.begin()
	if err != nil {
		return nil, err
	}
	s.seeding.RLock()
	defer s.seeding.RUnlock()
	if began, err := os.Stat(s.path(beganName)); err == nil && s.now().Sub(began.ModTime()) < maxAge {
		filled, err := s.fill(ctx, h, seedName, maxSeed, u)
		if !errors.Is(err, errTooLarge) {
			return filled, err
		}
		if h, err = s.begin(); err != nil {
			return nil, err
		}
	}
	h.fresh = true
	return s.fill(ctx, h, "", Size{}, u)
}

// fill copies what a home begins with, and the user's settings. If that fails the home is gone.
func (s *Store) fill(ctx context.Context, h *Home, from string, most Size, u User) (*Home, error) {
	var err error
	if from != "" {
		if _, there := os.Lstat(s.path(from)); there == nil {
			_, err = copyTree(ctx, s.path(from), h.Path, most)
		} else {
			h.fresh = true
		}
	}
	if err == nil {
		err = u.layOut(h.Path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the home directory for checks can't be made: %w", err), h.Close())
	}
	h.Env = u.Environment(h.Path)
	return h, nil
}

// begin makes an empty home directory. It has the lowest number that is free, so that it has
// the same path most of the time: some tools' caches are good for one path only.
func (s *Store) begin() (*Home, error) {
	s.mu.Lock()
	n := 0
	for s.taken[n] {
		n++
	}
	s.taken[n] = true
	s.mu.Unlock()
	h := &Home{Path: s.path(fmt.Sprint(homePrefix, n)), store: s, number: n}
	err := errors.Join(os.MkdirAll(s.dir, 0o700), s.discard(filepath.Base(h.Path)), os.Mkdir(h.Path, 0o700))
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Keep makes the home directory the base of a run. It is closed with that.
func (h *Home) Keep(run string) error {
	err := takeUp(h.Path)
	if err == nil {
		err = h.store.discard(basePrefix + run)
	}
	if err == nil && h.fresh {
		err = os.WriteFile(h.store.path(beganName), nil, 0o600)
		err = errors.Join(err, os.Chtimes(h.store.path(beganName), h.store.now(), h.store.now()))
	}
	if err == nil {
		err = os.Rename(h.Path, h.store.path(basePrefix+run))
	}
	return errors.Join(err, h.Close())
}

// Close removes the home directory with what the checks left in it.
func (h *Home) Close() error {
	err := h.store.discard(filepath.Base(h.Path))
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	delete(h.store.taken, h.number)
	if err != nil {
		return fmt.Errorf("what checks left was not removed: %w", err)
	}
	return nil
}

// Retire is called when a run has ended, once or more often: its base becomes what the next
// run begins with.
func (s *Store) Retire(run string) error {
	if _, err := os.Lstat(s.path(basePrefix + run)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.seeding.Lock()
	defer s.seeding.Unlock()
	return errors.Join(s.discard(seedName), os.Rename(s.path(basePrefix+run), s.path(seedName)))
}

// discard removes something of the store's, which has another name as long as that takes:
// what is half removed is never taken for the whole.
func (s *Store) discard(name string) error {
	aside := s.path(trashPrefix + rand.Text())
	err := os.Rename(s.path(name), aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return Remove(aside)
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }
