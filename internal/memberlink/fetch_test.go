package memberlink_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/ledger"
)

// A file comes from the leader, or from another one that has it, and a checkpoint from the leader alone. That nobody has it is said only if all have
// said so.
func TestFetch(t *testing.T) {
	w := newWorld()
	a, b, c := w.box(t, 1, nobody(t)), w.box(t, 2, nobody(t)), w.box(t, 3, nobody(t))
	const blob = "blob/ab/c d%2f?e"
	broken := errors.New("broken")
	has := func(text string) func(string) ([]byte, error) {
		return func(name string) ([]byte, error) {
			if name != blob && name != ledger.CheckpointPath {
				t.Errorf("asked for %q", name)
			}
			return []byte(text), nil
		}
	}
	fails := func(err error) func(string) ([]byte, error) {
		return func(string) ([]byte, error) { return nil, err }
	}
	none := fails(fs.ErrNotExist)
	for _, test := range []struct {
		what   string
		leader uint64
		name   string
		b, c   func(string) ([]byte, error)
		want   string
		absent bool
	}{
		{"the leader has it", 3, blob, has("b"), has("c"), "c", false},
		{"the other leader has it", 2, blob, has("b"), has("c"), "b", false},
		{"the leader has none", 3, blob, has("b"), none, "b", false},
		{"the leader fails", 2, blob, fails(broken), has("c"), "c", false},
		{"this one leads", 1, blob, none, has("c"), "c", false},
		{"nobody leads", 0, blob, none, has("c"), "c", false},
		{"an empty file", 2, blob, has(""), none, "", false},
		{"nobody has it", 2, blob, none, none, "", true},
		{"one has none, and one fails", 2, blob, none, fails(broken), "", false},
		{"one fails, and one has none", 2, blob, fails(broken), none, "", false},
		{"the leader's checkpoint", 3, ledger.CheckpointPath, has("b"), has("c"), "c", false},
		{"the leader has no checkpoint", 3, ledger.CheckpointPath, has("b"), none, "", false},
		{"a checkpoint, and nobody leads", 0, ledger.CheckpointPath, has("b"), has("c"), "", false},
		{"a checkpoint, and this one leads", 1, ledger.CheckpointPath, has("b"), has("c"), "", false},
	} {
		w.leader.Store(test.leader)
		b.read, c.read = test.b, test.c
		got, err := a.links.Fetch(t.Context(), test.name)
		if found := test.want != "" || test.what == "an empty file"; found != (err == nil) || string(got) != test.want || errors.Is(err, fs.ErrNotExist) != test.absent {
			t.Errorf("%s: %q, %v", test.what, got, err)
		}
	}
	b.read, c.read = none, none
	if err := c.stop(); err != nil {
		t.Error(err)
	}
	if got, err := a.links.Fetch(t.Context(), blob); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one has none, and one is not reached: %q, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.links.Fetch(ctx, blob); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.remove(2)
	w.remove(3)
	if got, err := a.links.Fetch(t.Context(), blob); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is no other member: %q, %v", got, err)
	}
}

// A file that stops coming is given up, and so is one that is too large; one that is slow is not.
func TestFetchSlow(t *testing.T) {
	t.Parallel()
	w := newWorld()
	a, b := w.box(t, 1, nobody(t)), w.box(t, 2, nobody(t))
	stalls := make(chan struct{})
	var large atomic.Bool
	b.files = func(w http.ResponseWriter) {
		if large.Load() {
			piece := []byte(strings.Repeat("x", 1<<20))
			for range ledger.MaxBlob>>20 + 2 {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
			return
		}
		for range 3 {
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
		}
		<-stalls
	}
	begun := time.Now()
	if got, err := a.links.Fetch(t.Context(), "tile/0/000"); err == nil || time.Since(begun) > 20*time.Second {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	close(stalls)
	if got, err := a.links.Fetch(t.Context(), "tile/0/000"); string(got) != "xxx" {
		t.Errorf("%q, %v", got, err)
	}
	large.Store(true)
	if got, err := a.links.Fetch(t.Context(), "tile/0/000"); err == nil {
		t.Errorf("%d bytes are taken", len(got))
	}
}
