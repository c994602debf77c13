package faults_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/conductor"
	"github.com/signalbox-dev/signalbox/internal/httpapi"
)

// TestRetryAfterKill kills a box between the write of an event and its sync, starts it again,
// asks again with the same key, and cuts the power as soon as that is answered. The kill left
// the event in the system's cache, from where the second box answers: it has to be durable.
func TestRetryAfterKill(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 3
	}
	for _, q := range []struct {
		name, path string
		body       any
	}{
		{"an item is added", "/v1/work", api.AddWork{ID: "T-2", Title: asked}},
		{"an item is moved", "/v1/work/T-1/override", api.Override{Phase: agentsig.PhaseReview, Reason: asked}},
	} {
		t.Run(q.name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				r := retried{dir: box.Dir(filepath.Join(t.TempDir(), "box")), disk: archivetest.NewLossy(), chance: rand.New(rand.NewPCG(seed, 5))}
				if err := r.run(t, q.path, q.body); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// retried is a box that is killed before it answers, and asked again.
type retried struct {
	dir    box.Dir
	disk   *archivetest.Lossy
	chance *rand.Rand
}

const asked = "asked for twice"

func (r *retried) run(t *testing.T, path string, body any) error {
	t.Helper()
	files := &mortal{FS: r.disk}
	first, err := r.open(t, files)
	if err != nil {
		return err
	}
	for n := range 1 + r.chance.IntN(3) {
		q := api.AddWork{ID: fmt.Sprintf("T-%d", 1+n*10), Title: "before"}
		if code := r.ask(t, first, "/v1/work", fmt.Sprint("before-", n), q); code != http.StatusOK {
			return fmt.Errorf("the box answers with %d", code)
		}
	}
	files.killAtSync.Store(true)
	if code := r.ask(t, first, path, "the-key", body); code < http.StatusInternalServerError {
		return fmt.Errorf("answered before the sync: %d", code)
	}
	if err := first.Close(); !errors.Is(err, errKilled) {
		return fmt.Errorf("the box was killed, and says %w", err)
	}

	second, err := r.open(t, r.disk)
	if err != nil {
		return err
	}
	code := r.ask(t, second, path, "the-key", body)
	r.disk.StopAfter(0)
	if err := second.Close(); err != nil && !errors.Is(err, archivetest.ErrPower) {
		return fmt.Errorf("the power was cut, and the box says %w", err)
	}
	if code != http.StatusOK {
		return fmt.Errorf("asked again: %d", code)
	}
	r.disk.PowerCut(r.chance)

	third, err := r.open(t, r.disk)
	if err != nil {
		return fmt.Errorf("%w: the box refuses: %w", errLost, err)
	}
	if err := third.Close(); err != nil {
		return err
	}
	return r.once()
}

// once says whether the event is in the archive, and once.
func (r *retried) once() error {
	key, err := r.dir.Verifier()
	if err != nil {
		return err
	}
	events, err := verified(r.disk.Files(), key)
	if err != nil {
		return err
	}
	found := 0
	for _, stored := range events {
		if bytes.Contains(stored, []byte(asked)) {
			found++
		}
	}
	switch found {
	case 0:
		return fmt.Errorf("%w: the retry was answered, and the event is gone", errLost)
	case 1:
		return nil
	}
	return fmt.Errorf("the event is there %d times", found)
}

func (r *retried) open(t *testing.T, files archive.FS) (*box.Box, error) {
	t.Helper()
	b, _, err := box.Open(t.Context(), box.Options{Dir: r.dir, Files: files, ExitEnabled: true})
	return b, err
}

// ask makes a request of the box's HTTP API, once, and returns the answer's code.
func (r *retried) ask(t *testing.T, b *box.Box, path, key string, body any) int {
	t.Helper()
	token, err := r.dir.APIToken()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(data))
	req.Host = "127.0.0.1"
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(api.KeyHeader, key)
	answer := httptest.NewRecorder()
	httpapi.New(b, conductor.New(b.Ledger(), conductor.Options{}), nil).Handler().ServeHTTP(answer, req)
	return answer.Code
}

// errKilled is returned by everything that writes after a kill.
var errKilled = errors.New("the process was killed")

// mortal is files of a process that is killed at the log's next sync, when that is asked for: the
// bytes are written, and nothing comes after them.
type mortal struct {
	archive.FS
	killAtSync, killed atomic.Bool
}

func (m *mortal) alive() error {
	if m.killed.Load() {
		return errKilled
	}
	return nil
}

func (m *mortal) Create(name string) (archive.File, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	f, err := m.FS.Create(name)
	return &mortalFile{f, m, false}, err
}

func (m *mortal) Extend(name string) (archive.File, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	f, err := m.FS.Extend(name)
	return &mortalFile{f, m, true}, err
}

func (m *mortal) Rename(from, to string) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.FS.Rename(from, to)
}

func (m *mortal) Remove(name string) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.FS.Remove(name)
}

func (m *mortal) SyncDir(name string) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.FS.SyncDir(name)
}

type mortalFile struct {
	archive.File
	m   *mortal
	log bool
}

func (f *mortalFile) Write(p []byte) (int, error) {
	if err := f.m.alive(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *mortalFile) Sync() error {
	if f.log && f.m.killAtSync.Load() {
		f.m.killed.Store(true)
	}
	if err := f.m.alive(); err != nil {
		return err
	}
	return f.File.Sync()
}
