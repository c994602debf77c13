package archive_test

import (
	"cmp"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
)

// watched is files that look at the heap each time some have been read.
type watched struct {
	archive.FS
	often int // after how many reads; 0 for 50
	mu    sync.Mutex
	reads int
	most  uint64
}

func (w *watched) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads++; w.reads%cmp.Or(w.often, 50) == 0 {
		w.most = max(w.most, heap())
	}
}

func (w *watched) ReadFile(name string) ([]byte, error) {
	w.look()
	return w.FS.ReadFile(name)
}

func (w *watched) OpenReader(name string) (archive.Reader, error) {
	w.look()
	return w.FS.OpenReader(name)
}

// watch does something with the files, and says how much memory it held at most.
func (w *watched) watch(t *testing.T, name string, bound uint64, do func() error) {
	t.Helper()
	before := heap()
	w.reads, w.most = 0, 0
	if err := do(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if w.reads < cmp.Or(w.often, 50) || w.most > before+bound {
		t.Errorf("%s read %d files, and held %d MB", name, w.reads, (w.most-before)>>20)
	}
	t.Logf("%s: %d KB", name, (int64(w.most)-int64(before))>>10)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// manyEvents is how many events have 27 MB. With -short it skips the test.
func manyEvents(t *testing.T) int {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an archive that is larger than what may be held of it; not with -short")
	}
	return 60_000
}

// Whatever goes through the whole archive holds a part of it that does not grow with it.
func TestMemory(t *testing.T) {
	const bound = 10 << 20
	size := manyEvents(t)
	keys, dir := newKeys(t), archive.Dir(t.TempDir())
	a, err := archive.Open(dir, keys)
	if err == nil {
		_, err = a.Start(bg, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < size; from += 5000 {
		if _, err := a.Append(typicalFrom(from, 5000)); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Seal(); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	files := &watched{FS: dir}
	watch := func(name string, do func() error) {
		t.Helper()
		files.watch(t, name, bound, do)
	}
	watch("a start that looks at everything", func() error {
		a, err := archive.Open(files, keys)
		if err == nil {
			_, err = a.Start(bg, 0)
		}
		if err == nil {
			err = scrubAll(a, 4096)
		}
		if err == nil {
			err = a.Close()
		}
		return err
	})
	watch("repair of what is whole", func() error {
		_, err := archive.Repair(bg, files, keys)
		return err
	})
	names, err := dir.ReadDir("log")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names[:len(names)-1] {
		if err := dir.Remove("log/" + name); err != nil {
			t.Fatal(err)
		}
	}
	watch("repair without a log", func() error {
		done, err := archive.Repair(bg, files, keys)
		if len(done) != 1 {
			t.Errorf("it did %q", done)
		}
		return err
	})
	watch("verify", func() error {
		_, err := archive.Verify(bg, files, keys.Verifier)
		return err
	})
}

// An archive whose checkpoint covers nothing of a long log, with the tiles that the log makes, is verified and read
// with a part of the log in memory that does not grow with it.
func TestMemoryOfALongEnd(t *testing.T) {
	const bound = 10 << 20
	size := manyEvents(t)
	keys, dir := newKeys(t), archive.Dir(t.TempDir())
	a, err := archive.Open(dir, keys)
	if err == nil {
		_, err = a.Start(bg, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	nothing := a.Checkpoint()
	for from := 0; from < size; from += 500 {
		if _, err := a.Append(typicalFrom(from, 500)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := dir.Create("checkpoint")
	if err == nil {
		_, err = f.Write(nothing)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	files := &watched{FS: dir, often: 10}
	files.watch(t, "verify", bound, func() error {
		v, err := archive.Verify(bg, files, keys.Verifier)
		if v.Events != 0 || v.Unsealed != int64(size) {
			t.Errorf("%+v", v)
		}
		return err
	})
	files.watch(t, "events", bound, func() error {
		next := int64(0)
		err := archive.Events(bg, files, keys.Verifier, func(index int64, _ []byte) error {
			if index != next {
				t.Errorf("event %d comes where event %d should be", index, next)
			}
			next++
			return nil
		})
		if next != int64(size) {
			t.Errorf("%d events", next)
		}
		return err
	})
}
