package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/index"
)

// life is an index that is used until the power goes.
type life struct {
	files archive.FS
	sure  *model // what was acknowledged
	next  *model // what was under way when the power went
}

// use opens the index, adds and merges. Item 12 comes back again and again.
func (l *life) use() error {
	x, err := index.Open(l.files, secret)
	if err != nil {
		return err
	}
	defer x.Close()
	for n := range 9 {
		all := []index.Record{item(12, 1+n, noon), item(20+n, 3, noon), item(30+n, 500, noon)}
		upTo := mark(l.sure.mark.Size + 10)
		l.next = l.sure.clone()
		l.next.add(all, upTo)
		if err := x.Add(all, upTo); err != nil {
			return err
		}
		l.sure = l.next
		if n%4 == 3 {
			if err := x.Merge(context.Background(), noon); err != nil {
				return err
			}
		}
	}
	return nil
}

// check opens the index after a power cut: it is the one that was acknowledged, or the one
// that was under way.
func (l *life) check(real archive.FS) error {
	x, err := index.Open(l.files, secret)
	if err != nil {
		return err
	}
	defer x.Close()
	if l.next.mark == x.Mark() {
		l.sure = l.next
	}
	if err := l.sure.check(x); err != nil {
		return err
	}
	names, err := real.ReadDir(".")
	if err != nil || len(names) > 12 {
		return fmt.Errorf("there are %v: %w", names, err)
	}
	return nil
}

// cuts uses an index until its nth write, for every n, cuts the power and looks at what is left,
// twice in a row. It returns how often that went wrong.
func cuts(wrap func(archive.FS) archive.FS, seeds uint64) (writes, wrong int, first error) {
	for ; ; writes++ {
		over := false
		for seed := range seeds {
			chance := rand.New(rand.NewPCG(seed, uint64(writes)))
			files := archivetest.NewLossy()
			l := &life{files: wrap(files), sure: newModel(), next: newModel()}
			for range 2 {
				files.StopAfter(writes)
				err := l.use()
				over = over || err == nil
				if err != nil && !errors.Is(err, archivetest.ErrPower) {
					return writes, wrong + 1, fmt.Errorf("write %d, seed %d: %w", writes, seed, err)
				}
				files.PowerCut(chance)
				if err := l.check(files); err != nil {
					wrong++
					first = errors.Join(first, fmt.Errorf("power cut after write %d, seed %d: %w", writes, seed, err))
					break
				}
			}
		}
		if over || wrong > 0 {
			return writes, wrong, first
		}
	}
}

// After a power cut at any write an index is what was acknowledged, or what was under way.
func TestPowerCuts(t *testing.T) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 1
	}
	writes, wrong, err := cuts(func(f archive.FS) archive.FS { return f }, seeds)
	if wrong > 0 {
		t.Fatal(err)
	}
	t.Logf("the power was cut at each of %d writes", writes)
	if writes < 80 {
		t.Errorf("there were only %d writes", writes)
	}
}

type unsyncedDirs struct{ archive.FS }

func (unsyncedDirs) SyncDir(string) error { return nil }

type unsyncedFiles struct{ archive.FS }

func (u unsyncedFiles) Create(name string) (archive.File, error) {
	f, err := u.FS.Create(name)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ archive.File }

func (unsyncedFile) Sync() error { return nil }

// The same with syncs that do nothing has to be noticed.
func TestPowerCutsNoticeMissingSyncs(t *testing.T) {
	for name, wrap := range map[string]func(archive.FS) archive.FS{
		"files":       func(fs archive.FS) archive.FS { return unsyncedFiles{fs} },
		"directories": func(fs archive.FS) archive.FS { return unsyncedDirs{fs} },
	} {
		if _, wrong, _ := cuts(wrap, 4); wrong == 0 {
			t.Errorf("an index that does not sync its %s passes", name)
		}
	}
}

// After a sync that failed nothing more is written, and what was acknowledged is still
// found, also after the next Open.
func TestFailedSync(t *testing.T) {
	for n := 1; n <= 4; n++ {
		files := archivetest.NewLossy()
		x, m := open(t, files), newModel()
		first := []index.Record{item(2, 3, noon)}
		must(t, x.Add(first, mark(1)))
		m.add(first, mark(1))
		files.FailSync(n)
		if err := x.Add([]index.Record{item(3, 3, noon)}, mark(2)); !errors.Is(err, archivetest.ErrSync) {
			t.Fatalf("sync %d: got %v", n, err)
		}
		must(t, m.check(x))
		if err := x.Add([]index.Record{item(4, 3, noon)}, mark(3)); !errors.Is(err, index.ErrFailed) {
			t.Errorf("after a failed sync %d: got %v", n, err)
		}
		if err := x.Merge(t.Context(), noon); !errors.Is(err, index.ErrFailed) {
			t.Errorf("a merge after a failed sync %d: got %v", n, err)
		}
		must(t, x.Close())
		x = open(t, files)
		if x.Mark() == mark(2) {
			m.add([]index.Record{item(3, 3, noon)}, mark(2))
		}
		must(t, m.check(x))
		onlyListed(t, files)
	}
}

// full is a disk that has room for so many more writes.
type full struct {
	archive.FS
	room *int
}

type fullFile struct {
	archive.File
	room *int
}

func (f full) Create(name string) (archive.File, error) {
	if *f.room--; *f.room < 0 {
		return nil, syscall.ENOSPC
	}
	file, err := f.FS.Create(name)
	return fullFile{file, f.room}, err
}

func (f fullFile) Write(p []byte) (int, error) {
	if *f.room--; *f.room < 0 {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(p)
}

// A full disk is an error that passes: nothing is left of what could not be written, and
// it can be added when there is room.
func TestFullDisk(t *testing.T) {
	room := 100
	files := full{archivetest.NewLossy(), &room}
	x, m := open(t, files), newModel()
	for n := range 5 {
		all := []index.Record{item(2+n, 3, noon)}
		for room = 0; ; room++ {
			tried := room
			err := x.Add(all, mark(int64(n+1)))
			if room = tried; err == nil {
				break
			}
			if !errors.Is(err, syscall.ENOSPC) || room > 10 {
				t.Fatalf("room for %d writes: %v", room, err)
			}
			must(t, m.check(x))
		}
		m.add(all, mark(int64(n+1)))
	}
	for room = 0; ; room++ {
		tried := room
		err := x.Merge(t.Context(), noon)
		if room = tried; err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || room > 10 {
			t.Fatalf("merge with room for %d writes: %v", room, err)
		}
		must(t, m.check(x))
	}
	must(t, m.check(x))
	onlyListed(t, files)
}
