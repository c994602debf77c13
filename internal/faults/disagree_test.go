package faults_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/ledger"
)

// TestDisagreement puts an archive together with an engine that does not have the
// same events: the three ways in which they can differ after a power cut or a
// silent loss.
func TestDisagreement(t *testing.T) {
	before := newFork(t)
	after, other := before.continued(t, "one way"), before.continued(t, "another way")
	t.Run("the engine lost its end", func(t *testing.T) {
		o := after.with(t, before.dir)
		b, found, err := box.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if want := int64(len(after.events) - len(before.events)); found.Restored != want {
			t.Errorf("restored %d events, want %d", found.Restored, want)
		}
		if err := errors.Join(b.Close(), after.whole(t.Context(), o.Dir)); err != nil {
			t.Error(err)
		}
	})
	t.Run("the engine used sequences again", func(t *testing.T) {
		o := after.with(t, other.dir)
		var damage *archive.Damage
		if b, _, err := box.Open(t.Context(), o); err == nil {
			t.Fatalf("it starts: %v", b.Close())
		} else if !errors.As(err, &damage) {
			t.Fatal(err)
		}
		if _, _, err := box.Repair(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := after.whole(t.Context(), o.Dir); err != nil {
			t.Error(err)
		}
	})
	t.Run("a write was torn", func(t *testing.T) {
		o := after.with(t, before.dir)
		log := last(glob(t, filepath.Join(o.Dir.Archive(""), "log", "*.log")))
		err := edit(log, func(data []byte) []byte {
			sector := (len(data) - 1500) / 512 * 512 // in the last event
			clear(data[sector : sector+512])
			return data
		})
		if err != nil {
			t.Fatal(err)
		}
		b, found, err := box.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Notes) != 1 {
			t.Errorf("notes %q", found.Notes)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		events, err := verified(os.DirFS(o.Dir.Archive("")), after.key)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(continues(events, before.events), continues(after.events[:len(after.events)-1], events)); err != nil {
			t.Error(err)
		}
	})
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return names
}

// fork is a box's directory that is continued in more ways than one.
type fork struct {
	images
	dir box.Dir
}

func newFork(t *testing.T) *fork {
	t.Helper()
	f := &fork{dir: box.Dir(filepath.Join(t.TempDir(), "box"))}
	b, _, err := box.Open(t.Context(), box.Options{Dir: f.dir})
	if err == nil {
		_, err = b.Add(t.Context(), api.AddWork{ID: "T-1", Title: "an item"}, "")
		err = errors.Join(err, b.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	f.read(t, f.dir)
	return f
}

// read takes the events of a box that was stopped.
func (f *fork) read(t *testing.T, dir box.Dir) {
	t.Helper()
	var err error
	if f.key, err = dir.Verifier(); err != nil {
		t.Fatal(err)
	}
	if f.events, err = verified(os.DirFS(dir.Archive("")), f.key); err != nil {
		t.Fatal(err)
	}
}

// continued adds events, and returns the directory as a kill would leave it: the
// last event is in the log, and no checkpoint covers it.
func (f *fork) continued(t *testing.T, reason string) *fork {
	t.Helper()
	temp := t.TempDir()
	running := box.Dir(filepath.Join(temp, "running", "box"))
	next := &fork{dir: box.Dir(filepath.Join(temp, "killed", "box"))}
	if err := copyTree(string(running), string(f.dir)); err != nil {
		t.Fatal(err)
	}
	b, _, err := box.Open(t.Context(), box.Options{Dir: running})
	if err != nil {
		t.Fatal(err)
	}
	phases := []agentsig.Phase{agentsig.PhaseReview, agentsig.PhaseReadyForMerge}
	signed := func(dir box.Dir) []byte {
		data, err := os.ReadFile(filepath.Join(dir.Archive(""), ledger.CheckpointPath))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for n := 0; ; n++ {
		before := signed(running)
		if _, err := b.Override("T-1", api.Override{Phase: phases[n%2], Reason: strings.Repeat(reason+" ", 300)}, ""); err != nil {
			t.Fatal(errors.Join(err, b.Close()))
		}
		if err := errors.Join(os.RemoveAll(string(next.dir)), copyTree(string(next.dir), string(running))); err != nil {
			t.Fatal(errors.Join(err, b.Close()))
		}
		if bytes.Equal(before, signed(next.dir)) {
			break // and not sealed meanwhile
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	next.read(t, running)
	return next
}

// with returns a copy of the directory that has the engine of another one.
func (f *fork) with(t *testing.T, engine box.Dir) box.Options {
	t.Helper()
	dir := box.Dir(filepath.Join(t.TempDir(), "box"))
	if err := errors.Join(copyTree(string(dir), string(f.dir)), putBack(dir.Engine(), engine.Engine())); err != nil {
		t.Fatal(err)
	}
	return box.Options{Dir: dir}
}
