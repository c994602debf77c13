package archive_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
)

// watched is files that look at the heap each time some have been read.
type watched struct {
	archive.FS
	mu    sync.Mutex
	reads int
	most  uint64
}

func (w *watched) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reads++; w.reads%50 == 0 {
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

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Whatever goes through the whole archive holds a part of it that does not grow with it.
func TestMemory(t *testing.T) {
	const size, bound = 60_000, 10 << 20 // the events alone have 27 MB
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
		before := heap()
		files.reads, files.most = 0, 0
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if files.reads < 50 || files.most > before+bound {
			t.Errorf("%s read %d files, and held %d MB", name, files.reads, (files.most-before)>>20)
		}
		t.Logf("%s: %d KB", name, (int64(files.most)-int64(before))>>10)
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
