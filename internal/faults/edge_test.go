package faults_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/box"
)

// edged is a small box that was stopped: two full bundles and one that is not full.
type edged struct{ image }

func newEdged(t *testing.T) *edged {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "box")
	b, _, err := box.Open(t.Context(), box.Options{Dir: box.Dir(dir)})
	if err == nil {
		err = errors.Join(record(t.Context(), b, "edge", 600), b.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	e := &edged{image{dir: dir}}
	e.read(t, dir, 600)
	return e
}

// start copies the box, damages files, and starts it.
func (e *edged) start(t *testing.T, damage map[string]func([]byte) []byte) (box.Options, *box.Box, error) {
	t.Helper()
	temp := t.TempDir()
	if err := e.copy(temp); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(temp, "box")
	for pattern, change := range damage {
		for _, name := range glob(t, filepath.Join(dir, filepath.FromSlash(pattern))) {
			if err := edit(name, change); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := e.options(dir)
	b, _, err := box.Open(t.Context(), o)
	return o, b, err
}

func middle(data []byte) []byte { data[len(data)/2] ^= 4; return data }

// What is damaged at the tree's edge does not get into a checkpoint.
func TestDamagedEdge(t *testing.T) {
	e := newEdged(t)
	for _, name := range []string{"archive/tile/0/*.p/*", "archive/tile/1/*.p/*"} {
		o, b, err := e.start(t, map[string]func([]byte) []byte{name: middle})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := errors.Join(record(t.Context(), b, "more", 300), b.Close(), e.whole(t.Context(), o.Dir)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// forgeLast changes an event in a segment's last batch, and makes its checksums right.
func forgeLast(data []byte) []byte {
	all := batchesOf(data)
	last := data[all[len(all)-1]:]
	copy(last[bytes.LastIndex(last, []byte("recorded after")):], "recorded later")
	table := crc32.MakeTable(crc32.Castagnoli)
	binary.BigEndian.PutUint32(last[20:], crc32.Checksum(last[batchHead:], table))
	binary.BigEndian.PutUint32(last[24:], crc32.Checksum(last[:24], table))
	return data
}

// A log whose sealed end was changed, with checksums that are right, is not gone on with.
func TestForgedEnd(t *testing.T) {
	e := newEdged(t)
	_, b, err := e.start(t, map[string]func([]byte) []byte{"archive/log/*.log": forgeLast})
	var damage *archive.Damage
	if err == nil {
		t.Errorf("it starts: %v", b.Close())
	} else if !errors.As(err, &damage) {
		t.Error(err)
	}
}

// One bit in the log's last batch is no torn write.
func TestDamagedEnd(t *testing.T) {
	e := newEdged(t)
	_, b, err := e.start(t, map[string]func([]byte) []byte{"archive/log/*.log": func(data []byte) []byte {
		data[len(data)-20] ^= 1
		return data
	}})
	var damage *archive.Damage
	if err == nil {
		t.Errorf("it starts: %v", b.Close())
	} else if !errors.As(err, &damage) {
		t.Error(err)
	}
}

// What is damaged in both copies is not made up.
func TestDamagedTwice(t *testing.T) {
	e := newEdged(t)
	o, b, err := e.start(t, map[string]func([]byte) []byte{
		"archive/tile/entries/000": middle,
		"archive/log/*.log": func(data []byte) []byte {
			for _, at := range batchesOf(data) {
				data[at+batchHead+40] ^= 1
			}
			return data
		},
	})
	if err == nil {
		t.Fatalf("it starts: %v", b.Close())
	}
	before := sums(t, o.Dir.Archive(""))
	var lost *archive.LostError
	if _, _, err := box.Repair(t.Context(), o); !errors.As(err, &lost) {
		t.Errorf("the repair says %v", err)
	}
	if len(before) != len(sums(t, o.Dir.Archive(""))) {
		t.Error("the repair has changed something")
	}
}

// An archive that is gone is not begun anew, also if nothing else knows of its events.
func TestArchiveGone(t *testing.T) {
	e := newEdged(t)
	temp := t.TempDir()
	dir := filepath.Join(temp, "box")
	err := errors.Join(e.copy(temp), os.RemoveAll(filepath.Join(dir, "archive")), os.RemoveAll(filepath.Join(dir, "snapshot")), os.RemoveAll(filepath.Join(dir, "index")),
		os.WriteFile(filepath.Join(dir, "checkpoint"), nil, 0o600)) // as a power cut may leave it
	if err != nil {
		t.Fatal(err)
	}
	var damage *archive.Damage
	if b, _, err := box.Open(t.Context(), e.options(dir)); err == nil {
		t.Errorf("it starts: %v", b.Close())
	} else if !errors.As(err, &damage) {
		t.Error(err)
	}
}

// An older checkpoint, or an older copy of the whole archive, does not make the box forget what was
// signed since: events after the older checkpoint are those that were signed, or the box refuses.
func TestOldCheckpoint(t *testing.T) {
	e := newEdged(t)
	older := filepath.Join(t.TempDir(), "older")
	if err := copyTree(older, e.dir); err != nil {
		t.Fatal(err)
	}
	b, _, err := box.Open(t.Context(), e.options(e.dir))
	if err == nil {
		err = errors.Join(record(t.Context(), b, "since", 20), b.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	e.read(t, e.dir, 620)
	put := func(t *testing.T, name string) box.Options {
		t.Helper()
		temp := t.TempDir()
		dir := filepath.Join(temp, "box")
		err := errors.Join(e.copy(temp), putBack(filepath.Join(dir, name), filepath.Join(older, name)),
			os.RemoveAll(filepath.Join(dir, "snapshot")), os.RemoveAll(filepath.Join(dir, "index")))
		if err != nil {
			t.Fatal(err)
		}
		return e.options(dir)
	}
	refuses := func(t *testing.T, o box.Options) {
		t.Helper()
		var damage *archive.Damage
		if b, _, err := box.Open(t.Context(), o); err == nil {
			t.Errorf("it starts: %v", b.Close())
		} else if !errors.As(err, &damage) {
			t.Error(err)
		}
	}
	t.Run("the checkpoint alone", func(t *testing.T) {
		o := put(t, "archive/checkpoint")
		b, _, err := box.Open(t.Context(), o)
		if err == nil {
			err = errors.Join(b.Close(), e.whole(t.Context(), o.Dir))
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("and other events after it", func(t *testing.T) {
		o := put(t, "archive/checkpoint")
		if err := edit(last(glob(t, filepath.Join(o.Dir.Archive(""), "log", "*.log"))), forgeLast); err != nil {
			t.Fatal(err)
		}
		refuses(t, o)
	})
	t.Run("the archive", func(t *testing.T) { refuses(t, put(t, "archive")) })
}
