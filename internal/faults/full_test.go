package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// A box whose disk is full stops, says why, and loses nothing that it acknowledged; it goes on when
// there is room.
func TestFullDisk(t *testing.T) {
	for _, room := range []int{30_000, 100_000, 100_007, 300_000} { // in the middle of a write, of a seal, …
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			dir := box.Dir(filepath.Join(t.TempDir(), "box"))
			disk := &small{FS: archive.Dir(dir.Archive("")), room: room}
			o := box.Options{Dir: dir, Files: disk}
			b, _, err := box.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			acked := fillDisk(t, b)
			<-b.Done()
			if w := b.Status().Box; w.Writable || !strings.Contains(w.Reason, syscall.ENOSPC.Error()) {
				t.Errorf("its status is %+v", w)
			}
			if err := b.Close(); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("it stops with %v", err)
			}
			if b, _, err := box.Open(t.Context(), o); err == nil {
				// There may be room for what a start writes: then it is full again soon.
				if err := errors.Join(record(t.Context(), b, "full", 300), b.Close()); !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("a full disk takes 300 events: %v", err)
				}
			} else if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("it starts with %v", err)
			}
			disk.more(10 << 20)
			if b, _, err = box.Open(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(record(t.Context(), b, "more", 10), b.Close(), acknowledged(dir, acked)); err != nil {
				t.Error(err)
			}
		})
	}
}

// fillDisk adds items until the box takes no more, and returns which it acknowledged.
func fillDisk(t *testing.T, b *box.Box) []string {
	t.Helper()
	var mu sync.Mutex
	var acked []string
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for n := range 10_000 {
				id := fmt.Sprintf("D-%d-%d", c, n)
				if _, err := b.Add(t.Context(), work.OperatorActor, api.AddWork{ID: id, Title: strings.Repeat("long ", 50)}, ""); err != nil {
					return
				}
				mu.Lock()
				acked = append(acked, id)
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	if len(acked) == 0 {
		t.Error("nothing was acknowledged")
	}
	return acked
}

// acknowledged says whether the archive has an event for each of these items, and one only.
func acknowledged(dir box.Dir, acked []string) error {
	key, err := dir.Verifier()
	if err != nil {
		return err
	}
	events, err := verified(os.DirFS(dir.Archive("")), key)
	if err != nil {
		return err
	}
	count := map[string]int{}
	for _, stored := range events {
		e, err := ledger.Decode(stored)
		if err != nil {
			return err
		}
		id, err := payload[struct{ ID string }](e)
		if err != nil {
			return err
		}
		count[id.ID]++
	}
	for _, id := range acked {
		if count[id] != 1 {
			return fmt.Errorf("%w: %s is recorded %d times", errLost, id, count[id])
		}
	}
	return nil
}

// small is files on a disk that has room for so many bytes more. What is removed gives none back.
type small struct {
	archive.FS
	mu   sync.Mutex
	room int
}

func (s *small) more(room int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room += room
}

func (s *small) Create(name string) (archive.File, error) {
	f, err := s.FS.Create(name)
	return &smallFile{f, s}, err
}

func (s *small) Extend(name string) (archive.File, error) {
	f, err := s.FS.Extend(name)
	return &smallFile{f, s}, err
}

type smallFile struct {
	archive.File
	s *small
}

// Write writes what there is room for.
func (f *smallFile) Write(p []byte) (int, error) {
	f.s.mu.Lock()
	n := min(len(p), f.s.room)
	f.s.room -= n
	f.s.mu.Unlock()
	written, err := f.File.Write(p[:n])
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return written, err
}

// inMount says that the test runs in a file system namespace of its own.
const inMount = "SIGNALBOX_TEST_MOUNT"

// TestFullDiskForReal lets the real program run out of a small disk: of the one that the
// archive, its log or the log's mirror is on, of the one that the box's directory is on, and of that
// with the archive elsewhere.
func TestFullDiskForReal(t *testing.T) {
	if testing.Short() {
		t.Skip("fills five disks; with -short TestFullDisk does it in memory")
	}
	if os.Getenv(inMount) == "" {
		if out, err := exec.CommandContext(t.Context(), "unshare", "-m", "mount", "-t", "tmpfs", "none", t.TempDir()).CombinedOutput(); err != nil {
			t.Skipf("no disk can be mounted here; TestFullDisk does it in memory: %v: %s", err, out)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "unshare", "-m", self, "-test.run", "^TestFullDiskForReal$", "-test.v")
		cmd.Env = append(os.Environ(), inMount+"=yes")
		out, err := cmd.CombinedOutput()
		if t.Logf("%s", out); err != nil {
			t.Error(err)
		}
		return
	}
	program := build(t)
	for name, settings := range map[string]string{
		"the archive's": "archive: %s\n", "the log's": "archive:\n  segments: %s\n", "the mirror's": "archive:\n  mirror: %s\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := mount(t)
			if err := os.WriteFile(filepath.Join(d.home, "signalbox.yaml"), fmt.Appendf(nil, settings, filepath.Join(d.disk, "there")), 0o600); err != nil {
				t.Fatal(err)
			}
			d.runOut(t, program, filepath.Join(d.home, "box"))
		})
	}
	t.Run("the box's own", func(t *testing.T) {
		d := mount(t)
		d.runOut(t, program, filepath.Join(d.disk, "box"))
	})
	t.Run("the index's", func(t *testing.T) { mount(t).fillAside(t, program) })
}

// fillAside fills the disk of the box's directory, with index and snapshot, from outside; the archive is
// on another one.
func (d smallDisk) fillAside(t *testing.T, program string) {
	t.Helper()
	dir := filepath.Join(d.disk, "box")
	if err := os.WriteFile(filepath.Join(d.disk, "signalbox.yaml"), []byte("archive: "+filepath.Join(d.home, "archive")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &writer{dir: dir}
	w.up(t, program)
	w.begin(t)
	ballast := filepath.Join(d.disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 30<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	w.client.Close()
	if err := w.box.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	stopsFull(t, w.box) // there is no room for the snapshot
	startsFull(t, program, dir)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	w.up(t, program)
	if n := len(w.list(t)); n != imageItems {
		t.Errorf("%d items are there, of %d", n, imageItems)
	}
	w.client.Close()
	if err := w.box.stop(); err != nil {
		t.Error(err)
	}
}

// smallDisk is a disk of 24 MB, and a place that is not on it.
type smallDisk struct{ home, disk string }

func mount(t *testing.T) smallDisk {
	t.Helper()
	d := smallDisk{t.TempDir(), t.TempDir()}
	if err := syscall.Mount("none", d.disk, "tmpfs", 0, "size=24m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.disk, 0); err != nil {
			t.Error(err)
		}
	})
	return d
}

// runOut fills the disk through the box in a directory, and makes room again.
func (d smallDisk) runOut(t *testing.T, program, dir string) {
	t.Helper()
	ballast := filepath.Join(d.disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 22<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &writer{dir: dir}
	w.up(t, program)
	var acked []string
	for {
		id := fmt.Sprint("D-", len(acked))
		if _, err := w.client.WithPatience(0).Add(t.Context(), api.AddWork{ID: id, Title: strings.Repeat("long ", 100)}); err != nil {
			t.Logf("after %d events: %v", len(acked), err)
			break
		}
		acked = append(acked, id)
	}
	tellsWhy(t, w.box.found.Address)
	stopsFull(t, w.box)
	startsFull(t, program, dir)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	w.up(t, program)
	if _, err := w.client.Add(t.Context(), api.AddWork{Title: "there is room"}); err != nil {
		t.Error(err)
	}
	w.client.Close()
	if err := errors.Join(w.box.stop(), acknowledged(box.Dir(dir), acked)); err != nil {
		t.Error(err)
	}
}

// tellsWhy asks a box that fails whether it is ready.
func tellsWhy(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("the box is gone without a word: %v", err)
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "cannot-write") {
		t.Errorf("/readyz: %s %s, %v", answer.Status, body, err)
	}
}

// startsFull starts a box on a full disk: it says why it does not start, or there was room for what a
// start writes.
func startsFull(t *testing.T, program, dir string) {
	t.Helper()
	p, err := launch(t, program, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.listens(); err != nil {
		if !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
			t.Errorf("it does not start, and says: %v", err)
		}
		return
	}
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
}

// stopsFull waits for a box that stops by itself because its disk is full.
func stopsFull(t *testing.T, p *process) {
	t.Helper()
	said, err := io.ReadAll(p.out)
	if err != nil {
		t.Error(err)
	}
	err = p.cmd.Wait()
	said = append(said, p.said.Bytes()...)
	var ended *exec.ExitError
	if !errors.As(err, &ended) || !strings.Contains(string(said), syscall.ENOSPC.Error()) {
		t.Errorf("the box ended with %v and said: %s", err, said)
	}
}
