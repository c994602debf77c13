// Package archivetest has files that lose, when the power is cut, what was not
// synced. A kill alone never tests that: the system's cache survives it.
package archivetest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
)

// Lossy is an [archive.FS] in memory. It knows what of every file and directory is
// durable. All its methods may be called concurrently.
type Lossy struct {
	mu    sync.Mutex
	root  *node
	life  int // power cuts so far: a file that was opened before one is dead
	left  int // writes until the power goes; -1 for never
	syncs int
	fail  int // syncs until one fails; 0 for never
}

// ErrPower is returned by everything while the power is off.
var ErrPower = errors.New("the power is off")

// ErrSync is what a sync fails with; see [Lossy.FailSync].
var ErrSync = errors.New("sync: input/output error")

// node is a file, or a directory if it has names. Bytes of a file are only ever added after those that
// there are: what is durable, what a cut leaves and what others are shown share them.
type node struct {
	data, durable   []byte
	names, durables map[string]*node
	lost            bool      // a sync of it failed: the next ones say that all is well, and it is not
	written         time.Time // when the file was written last; cuts don't change it
}

func newDir() *node { return &node{names: map[string]*node{}, durables: map[string]*node{}} }

// NewLossy returns an empty file system.
func NewLossy() *Lossy { return &Lossy{root: newDir(), left: -1} }

// StopAfter lets so many writes of any kind happen, and then turns the power off:
// everything fails with [ErrPower] until [Lossy.PowerCut].
func (l *Lossy) StopAfter(writes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = writes
}

// FailSync makes the nth sync from now fail, of a file or a directory. As on a real disk, a file's
// later syncs succeed then, and make nothing durable.
func (l *Lossy) FailSync(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = n
}

// Syncs returns how many syncs there have been.
func (l *Lossy) Syncs() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.syncs
}

// PowerCut drops what is not durable, or some of it, as chance has it: of a file's
// new bytes a beginning survives, in which sectors may be zero; each change of a
// directory survives or does not. Then the power is on again.
func (l *Lossy) PowerCut(chance *rand.Rand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.root = survive(l.root, chance, map[*node]*node{})
	l.life++
	l.left, l.fail = -1, 0
}

// Kill ends whoever uses the files, as a killed process ends: what was written is there, synced or
// not, and the power is on.
func (l *Lossy) Kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.life++
	l.left, l.fail = -1, 0
}

func survive(n *node, chance *rand.Rand, done map[*node]*node) *node {
	if s := done[n]; s != nil {
		return s
	}
	s := &node{}
	done[n] = s
	if n.names == nil {
		s.written = n.written
		s.durable = survivingBytes(n, chance)
		s.data = slices.Clip(s.durable)
		return s
	}
	s.names, s.durables = map[string]*node{}, map[string]*node{}
	all := maps.Clone(n.durables)
	maps.Copy(all, n.names)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		child := n.durables[name]
		if child != n.names[name] && chance.IntN(2) == 0 {
			child = n.names[name]
		}
		if child != nil {
			s.names[name] = survive(child, chance, done)
			s.durables[name] = s.names[name]
		}
	}
	return s
}

const sector = 512

func survivingBytes(n *node, chance *rand.Rand) []byte {
	from := len(n.durable)
	if len(n.data) < from || string(n.data[:from]) != string(n.durable) {
		if chance.IntN(2) == 0 {
			return n.durable
		}
		from = 0
	}
	length := from + chance.IntN(len(n.data)-from+1)
	if chance.IntN(2) == 0 {
		length = len(n.data)
	}
	left := slices.Clone(n.data[:length])
	for from < len(left) {
		next := min((from/sector+1)*sector, len(left))
		if chance.IntN(3) == 0 {
			clear(left[from:next])
		}
		from = next
	}
	return left
}

// Files returns the files as they are now.
func (l *Lossy) Files() fs.FS {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := fstest.MapFS{}
	var walk func(at string, n *node)
	walk = func(at string, n *node) {
		for name, child := range n.names {
			if name = path.Join(at, name); child.names != nil {
				walk(name, child)
			} else {
				all[name] = &fstest.MapFile{Data: slices.Clip(child.data)}
			}
		}
	}
	walk("", l.root)
	return all
}

// Age makes a file older than it is. Copies of it that a power cut may bring back are older too.
func (l *Lossy) Age(name string, by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.find(name); n != nil {
		n.written = n.written.Add(-by)
	}
}

// Put writes a file behind the archive's back, durably.
func (l *Lossy) Put(name string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.root
	for _, dir := range strings.Split(path.Dir(name), "/") {
		if dir == "." {
			continue
		}
		if at.names[dir] == nil {
			at.names[dir] = newDir()
			at.durables[dir] = at.names[dir]
		}
		at = at.names[dir]
	}
	data = slices.Clip(slices.Clone(data))
	at.names[path.Base(name)] = &node{data: data, durable: data, written: time.Now()}
	at.durables[path.Base(name)] = at.names[path.Base(name)]
}

func notThere(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist} }

// find returns a file or directory, or nil.
func (l *Lossy) find(name string) *node {
	at := l.root
	for _, part := range strings.Split(name, "/") {
		if part != "." && at != nil {
			at = at.names[part]
		}
	}
	return at
}

// parent returns the directory that a name is in.
func (l *Lossy) parent(op, name string) (*node, error) {
	dir := l.find(path.Dir(name))
	if dir == nil || dir.names == nil {
		return nil, notThere(op, name)
	}
	return dir, nil
}

// write counts a write, and says whether there is power for it.
func (l *Lossy) write() error {
	if l.left == 0 {
		return ErrPower
	}
	if l.left > 0 {
		l.left--
	}
	return nil
}

// sync counts a sync, and says whether it works.
func (l *Lossy) sync() error {
	if err := l.write(); err != nil {
		return err
	}
	l.syncs++
	if l.fail > 0 {
		if l.fail--; l.fail == 0 {
			return ErrSync
		}
	}
	return nil
}

// ReadFile implements [archive.FS].
func (l *Lossy) ReadFile(name string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return nil, ErrPower
	}
	n := l.find(name)
	if n == nil || n.names != nil {
		return nil, notThere("read", name)
	}
	return slices.Clone(n.data), nil
}

// OpenReader implements [archive.FS].
func (l *Lossy) OpenReader(name string) (archive.Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return nil, ErrPower
	}
	n := l.find(name)
	if n == nil || n.names != nil {
		return nil, notThere("open", name)
	}
	return &file{l, n, l.life}, nil
}

// ReadDir implements [archive.FS].
func (l *Lossy) ReadDir(name string) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return nil, ErrPower
	}
	n := l.find(name)
	if n == nil || n.names == nil {
		return nil, notThere("readdir", name)
	}
	return slices.Sorted(maps.Keys(n.names)), nil
}

// Modified implements [archive.FS].
func (l *Lossy) Modified(name string) (time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return time.Time{}, ErrPower
	}
	n := l.find(name)
	if n == nil || n.names != nil {
		return time.Time{}, notThere("stat", name)
	}
	return n.written, nil
}

// Create implements [archive.FS].
func (l *Lossy) Create(name string) (archive.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(); err != nil {
		return nil, err
	}
	dir, err := l.parent("create", name)
	if err != nil {
		return nil, err
	}
	n := dir.names[path.Base(name)]
	if n == nil {
		n = &node{}
		dir.names[path.Base(name)] = n
	}
	n.data, n.written = nil, time.Now()
	return &file{l, n, l.life}, nil
}

// Extend implements [archive.FS].
func (l *Lossy) Extend(name string) (archive.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return nil, ErrPower
	}
	n := l.find(name)
	if n == nil || n.names != nil {
		return nil, notThere("open", name)
	}
	return &file{l, n, l.life}, nil
}

// Rename implements [archive.FS].
func (l *Lossy) Rename(from, to string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(); err != nil {
		return err
	}
	n := l.find(from)
	source, err := l.parent("rename", from)
	target, err2 := l.parent("rename", to)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if n == nil {
		return notThere("rename", from)
	}
	delete(source.names, path.Base(from))
	target.names[path.Base(to)] = n
	return nil
}

// Remove implements [archive.FS].
func (l *Lossy) Remove(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(); err != nil {
		return err
	}
	n := l.find(name)
	if n == nil {
		return notThere("remove", name)
	}
	if len(n.names) > 0 {
		return fmt.Errorf("remove %s: the directory is not empty", name)
	}
	delete(l.find(path.Dir(name)).names, path.Base(name))
	return nil
}

// Stands implements [archive.FS].
func (l *Lossy) Stands() error { return nil }

// Mkdir implements [archive.FS].
func (l *Lossy) Mkdir(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(); err != nil {
		return err
	}
	dir, err := l.parent("mkdir", name)
	if err == nil && name != "." && dir.names[path.Base(name)] == nil {
		dir.names[path.Base(name)] = newDir()
	}
	return err
}

// SyncDir implements [archive.FS].
func (l *Lossy) SyncDir(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.sync(); err != nil {
		return err
	}
	n := l.find(name)
	if n == nil || n.names == nil {
		return notThere("sync", name)
	}
	n.durables = maps.Clone(n.names)
	return nil
}

type file struct {
	l    *Lossy
	n    *node
	life int
}

func (f *file) Write(p []byte) (int, error) {
	f.l.mu.Lock()
	defer f.l.mu.Unlock()
	if f.life != f.l.life {
		return 0, ErrPower
	}
	if err := f.l.write(); err != nil {
		return 0, err
	}
	f.n.data = append(f.n.data, p...)
	f.n.written = time.Now()
	return len(p), nil
}

// ReadAt implements [archive.Reader].
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.l.mu.Lock()
	defer f.l.mu.Unlock()
	if f.life != f.l.life || f.l.left == 0 {
		return 0, ErrPower
	}
	return bytes.NewReader(f.n.data).ReadAt(p, off)
}

func (f *file) Stands() error { return nil }

func (f *file) Sync() error {
	f.l.mu.Lock()
	defer f.l.mu.Unlock()
	if f.life != f.l.life {
		return ErrPower
	}
	if err := f.l.sync(); err != nil {
		f.n.lost = f.n.lost || errors.Is(err, ErrSync)
		return err
	}
	if !f.n.lost {
		f.n.durable = slices.Clip(f.n.data)
	}
	return nil
}

func (f *file) Close() error { return nil }
