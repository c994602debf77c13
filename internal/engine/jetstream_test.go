package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/internal/engine/enginetest"
)

func open(t testing.TB, o engine.Options) *engine.JetStream {
	t.Helper()
	j, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func TestConformance(t *testing.T) {
	for _, sync := range []bool{false, true} {
		t.Run(fmt.Sprint("sync ", sync), func(t *testing.T) {
			enginetest.Conformance(t, func(t *testing.T, dir string) engine.Log {
				return open(t, engine.Options{Dir: dir, SyncAlways: sync})
			})
		})
	}
}

func appendAll(t testing.TB, l engine.Log, n int) []engine.Record {
	t.Helper()
	var all []engine.Record
	for i := range n {
		r := engine.Record{Subject: fmt.Sprint("S", i), Data: fmt.Append(nil, "record ", i)}
		var err error
		if r.Seq, err = l.Append(t.Context(), r.Subject, 0, r.Data); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func readAll(t testing.TB, l engine.Log) []engine.Record {
	t.Helper()
	var all []engine.Record
	err := l.Read(t.Context(), 1, func(r engine.Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What was appended comes back, and the subjects go on where they were: after a
// close, and after a kill, which leaves the files as they are.
func TestReopen(t *testing.T) {
	for _, sync := range []bool{false, true} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("sync %t killed %t", sync, killed), func(t *testing.T) {
				dir := t.TempDir()
				j := open(t, engine.Options{Dir: dir, SyncAlways: sync})
				want := appendAll(t, j, 100)
				if killed {
					left := t.TempDir()
					if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
						t.Fatal(err)
					}
					dir = left
				} else if err := j.Close(); err != nil {
					t.Fatal(err)
				}
				j = open(t, engine.Options{Dir: dir, SyncAlways: sync})
				if diff := cmp.Diff(want, readAll(t, j)); diff != "" {
					t.Errorf("came back (-want +got):\n%s", diff)
				}
				if _, err := j.Append(t.Context(), "S7", 0, []byte("x")); !errors.Is(err, engine.ErrConflict) {
					t.Errorf("append as if the subject were new: %v", err)
				}
				if seq, err := j.Append(t.Context(), "S7", 8, []byte("x")); seq != 101 || err != nil {
					t.Errorf("append: %d, %v", seq, err)
				}
			})
		}
	}
}

func TestOpenDamaged(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jetstream"), []byte("not a directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := engine.Open(t.Context(), engine.Options{Dir: dir})
	if !errors.Is(err, engine.ErrDamaged) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{dir, "not a directory", "signalbox ledger repair"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := engine.Open(t.Context(), engine.Options{}); err == nil || errors.Is(err, engine.ErrDamaged) {
		t.Errorf("no directory: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := engine.Open(ctx, engine.Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrDamaged) {
		t.Errorf("a context that has ended: %v", err)
	}
	goleak.VerifyNone(t)
}

// What the server warns of reaches the log; what it only says does not.
func TestLogger(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	j := open(t, engine.Options{Dir: dir, Logger: logger})
	appendAll(t, j, 1)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("nothing happened, and the log says %s", &log)
	}
	err := os.WriteFile(filepath.Join(dir, "jetstream", "$G", "streams", "LEDGER", "meta.sum"), []byte("no sum"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	j = open(t, engine.Options{Dir: dir, Logger: logger})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "level=WARN msg=\"engine:") {
		t.Errorf("a file is damaged, and the log says %q", &log)
	}
}

// Readers of large records don't get in each other's way, nor in that of writers,
// whether they keep up or not.
func TestSlowReaders(t *testing.T) {
	j := open(t, engine.Options{Dir: t.TempDir()})
	const n = 600
	var last uint64
	large := make([]byte, engine.MaxRecord)
	for range n {
		var err error
		if last, err = j.Append(t.Context(), "A", last, large); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const readers = 4
	started, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	for range readers {
		go func() {
			want, first := uint64(1), true
			ended <- j.Watch(ctx, 1, func(batch []engine.Record) error {
				if first {
					first = false
					started <- struct{}{}
					<-release
				}
				for _, r := range batch {
					if r.Seq != want || len(r.Data) != engine.MaxRecord {
						return fmt.Errorf("record %d with %d bytes, want record %d", r.Seq, len(r.Data), want)
					}
					want++
				}
				if want > n {
					return context.Canceled
				}
				return nil
			})
		}()
	}
	for range readers {
		<-started
	}
	if got := len(readAll(t, j)); got != n {
		t.Errorf("read %d", got)
	}
	close(release)
	for range readers {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		j, err := engine.Open(t.Context(), engine.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		tip, err := j.Tip(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Append(t.Context(), "A", tip, []byte("x")); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		seen := make(chan struct{})
		go func() {
			ended <- j.Watch(context.Background(), tip+1, func([]engine.Record) error {
				close(seen)
				return nil
			})
		}()
		<-seen
		readAll(t, j)
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, engine.ErrClosed) {
			t.Error(err)
		}
		goleak.VerifyNone(t)
	}
}
