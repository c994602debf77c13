package archive_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
)

// scene is an archive that is about to be damaged.
type scene struct {
	*sample
	l *archivetest.Lossy
}

func (s scene) flip(name string) { s.flipAt(name, len(s.files[name])/2) }

func (s scene) flipAt(name string, at int) { s.l.Put(name, flip(s.files[name], at)) }

// lastBatch is where the log's last batch begins.
func (s *sample) lastBatch() int {
	return bytes.LastIndex(s.files[s.logs[2]], []byte("bat1"))
}

func (s scene) remove(prefix string) {
	for name := range s.files {
		if strings.HasPrefix(name, prefix) {
			if err := s.l.Remove(name); err != nil {
				panic(err)
			}
		}
	}
}

func TestRepair(t *testing.T) {
	s := newSample(t)
	forged := newForged(t)
	first, middle, last := s.logs[0], s.logs[1], s.logs[2]
	for i, c := range []struct {
		name   string
		damage func(scene)
		said   []string // a part of each thing that was done; nil if nothing can be
		lost   string   // a part of what can't be restored
	}{
		{"nothing is wrong", func(scene) {}, []string{}, ""},
		{"bundle flipped", func(c scene) { c.flip("tile/entries/001") }, []string{"kept in damaged-1", "tile/entries/001 was rebuilt"}, ""},
		{"bundle gone", func(c scene) { c.remove("tile/entries/001") }, []string{"tile/entries/001 was rebuilt"}, ""},
		{"partial bundle flipped", func(c scene) { c.flip("tile/entries/002.p/88") }, []string{"kept", "002.p/88 was rebuilt"}, ""},
		{"bundle of other events", func(c scene) { c.l.Put("tile/entries/000", forged.files["tile/entries/000"]) }, []string{"kept", "entries/000 was rebuilt"}, ""},
		{"bundle and tile of other events", func(c scene) {
			c.l.Put("tile/entries/000", forged.files["tile/entries/000"])
			c.l.Put("tile/0/000", forged.files["tile/0/000"])
		}, []string{"kept", "0/000 was made again", "entries/000 was rebuilt"}, ""},
		{"all tiles gone", func(c scene) { c.remove("tile/") }, []string{
			"0/000", "entries/000", "0/001", "entries/001", "entries/002", "0/002", "1/000",
		}, ""},
		{"tile flipped", func(c scene) { c.flip("tile/0/000") }, []string{"kept", "tile/0/000 was made again"}, ""},
		{"bundle and tile flipped", func(c scene) { c.flip("tile/0/000"); c.flip("tile/entries/000") }, []string{"kept", "0/000 was made again", "entries/000 was rebuilt"}, ""},
		{"key flipped", func(c scene) { c.flip("key") }, []string{"kept", "key was written"}, ""},

		{"segment flipped", func(c scene) { c.flip(middle) }, []string{"kept", middle + " was rebuilt"}, ""},
		{"segment's head flipped", func(c scene) { c.flipAt(middle, 9) }, []string{"kept", middle + " was rebuilt"}, ""},
		{"segment cut", func(c scene) { c.l.Put(middle, s.files[middle][:5000]) }, []string{"kept", middle + " was rebuilt"}, ""},
		{"segment empty", func(c scene) { c.l.Put(first, nil) }, []string{"kept", first + " was rebuilt"}, ""},
		{"segment of other events", func(c scene) { c.l.Put(first, forged.files[first]) }, []string{"kept", first + " was rebuilt"}, ""},
		{"segment and tile of other events", func(c scene) {
			c.l.Put(first, forged.files[first])
			c.l.Put("tile/0/000", forged.files["tile/0/000"])
		}, []string{"kept", "0/000 was made again", first + " was rebuilt"}, ""},
		{"segment gone", func(c scene) { c.remove(middle) }, []string{"files of the log were missing"}, ""},
		{"old archive", func(c scene) { c.remove(first) }, []string{"were made from other copies: with events 1 to"}, ""},
		{"sealed batch of the last segment", func(c scene) { c.flipAt(last, 5000) }, []string{"kept", last + " was rebuilt"}, ""},
		{"log gone", func(c scene) { c.remove("log/") }, []string{"were made from other copies: with events 1 to 600", "not known"}, ""},
		{"last segment gone", func(c scene) { c.remove(last) }, []string{"files of the log were missing", "not known"}, ""},
		{"last segment cut where it is sealed", func(c scene) { c.l.Put(last, s.files[last][:5000]) }, []string{"kept", last + " was rebuilt", "not known"}, ""},
		{"a segment between others", func(c scene) { c.l.Put("log/00000000000000000100.log", s.files[first]) },
			[]string{"kept", first + " was rebuilt: it has events 1 to 100", "100.log was rebuilt: it has events 101 to"}, ""},
		{"a write that was never finished", func(c scene) { c.l.Put(last, s.files[last][:len(s.files[last])-100]) }, []string{}, ""},
		{"a blob that nothing refers to", func(c scene) { c.l.Put("blob/ab/abcdef", []byte("?")) }, []string{"kept", "blob/ab/abcdef was damaged, and was moved aside"}, ""},

		{"bundle and segment, in different places", func(c scene) { c.flip("tile/entries/001"); c.flipAt(first, 5000) },
			[]string{"kept", first + " was rebuilt", "entries/001 was rebuilt"}, ""},
		{"checkpoint gone", func(c scene) { c.remove("checkpoint") }, []string{"signed again over the first 512 events"}, ""},
		{"checkpoint flipped", func(c scene) { c.flip("checkpoint") }, []string{"kept", "signed again over the first 512 events"}, ""},
		{"checkpoint flipped, and a tile", func(c scene) { c.flip("checkpoint"); c.flip("tile/0/001") }, []string{"kept", "0/001 was made again", "signed again over the first 512 events"}, ""},

		{"checkpoint flipped, and a segment", func(c scene) { c.flip("checkpoint"); c.flip(first) }, nil, "nothing says which is right"},
		{"checkpoint flipped, and a segment gone", func(c scene) { c.flip("checkpoint"); c.remove(first) }, nil, "nothing says which is right"},
		{"checkpoint flipped, and a bundle", func(c scene) { c.flip("checkpoint"); c.flip("tile/entries/000") }, nil, "nothing says which is right"},
		{"checkpoint flipped, and the log gone", func(c scene) { c.flip("checkpoint"); c.remove("log/") }, nil, "nothing says which is right"},
		{"checkpoint flipped, and a segment of other events", func(c scene) { c.flip("checkpoint"); c.l.Put(first, forged.files[first]) }, nil, "nothing says which is right"},
		{"blob flipped", func(c scene) { c.flip(s.blob) }, nil, s.blob},
		{"blob gone", func(c scene) { c.remove("blob/") }, nil, s.blob},
		{"bundle and segment, in the same place", func(c scene) {
			c.flip("tile/entries/001")
			c.l.Put(middle, s.files[middle][:len(s.files[middle])/3])
		}, nil, "those that were signed"},
		{"bundle and segment gone", func(c scene) { c.remove("tile/entries/000"); c.remove(first) }, nil, "event 1 is neither in a bundle nor in the log"},
		{"bundles and segment of other events", func(c scene) {
			c.l.Put(first, forged.files[first])
			c.l.Put("tile/entries/000", forged.files["tile/entries/000"])
			c.l.Put("tile/0/000", forged.files["tile/0/000"])
		}, nil, "those that were signed"},
		{"last batch flipped", func(c scene) { c.flipAt(last, s.lastBatch()+100) }, nil, "event 611, which no checkpoint covers yet"},
		{"last batch's head flipped", func(c scene) { c.flipAt(last, s.lastBatch()+5) }, nil, "event 611, which no checkpoint covers yet"},
	} {
		if testing.Short() && i%3 != 0 {
			continue // one in three
		}
		sc := scene{s, s.with("", nil)}
		c.damage(sc)
		s.checkRepair(t, c.name, sc, c.said, c.lost)
	}
}

func (s *sample) checkRepair(t *testing.T, name string, sc scene, said []string, lost string) {
	t.Helper()
	before := dump(sc.l)
	done, err := archive.Repair(bg, sc.l, s.keys)
	if said == nil {
		var damage *archive.LostError
		if !errors.As(err, &damage) || !strings.Contains(err.Error(), lost) {
			t.Errorf("%s: %v", name, err)
		}
		if !sameFiles(before, dump(sc.l)) {
			t.Errorf("%s: something was changed", name)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	right := len(done) == len(said)
	for i := range min(len(done), len(said)) {
		right = right && strings.Contains(done[i], said[i])
	}
	if !right {
		t.Errorf("%s: did %q; want %q", name, done, said)
	}
	s.checkKept(t, name, before, dump(sc.l))
	b, err := open(sc.l, s.keys)
	if err != nil {
		t.Errorf("%s: opened afterwards: %v", name, err)
		return
	}
	want := s.wrote
	if len(b.wrote) < len(want) && len(b.wrote) >= sampleSealed {
		want = want[:len(b.wrote)] // what is not sealed was in no copy
	}
	if err := errors.Join(same(b.wrote, want), scrubAll(b.Archive, 300), b.Close()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if v, err := archive.Verify(bg, sc.l, s.keys.Verifier); err != nil || v.Single != 0 {
		t.Errorf("%s: %d events have one copy, %v", name, v.Single, err)
	}
}

// checkKept looks for every file that was replaced.
func (s *sample) checkKept(t *testing.T, name string, before, after map[string][]byte) {
	t.Helper()
	for file, data := range before {
		if !bytes.Equal(after[file], data) && !bytes.Equal(after["damaged-1/"+file], data) {
			t.Errorf("%s: %s is not kept", name, file)
		}
	}
}

// What a LostError says about an end that is lost is what helps.
func TestRepairSaysHowToGoOn(t *testing.T) {
	s := newSample(t)
	last, at := s.logs[2], s.lastBatch()
	l := s.with(last, flip(s.files[last], at+100))
	_, err := archive.Repair(bg, l, s.keys)
	var lost *archive.LostError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "cut the file to") {
		t.Fatalf("got %v", err)
	}
	l.Put(last, s.files[last][:at])
	b := mustOpen(t, l, s.keys)
	if err := same(b.wrote, s.wrote[:sampleSize-10]); err != nil {
		t.Error(err)
	}
}

// What is replaced is kept every time.
func TestRepairKeepsEveryTime(t *testing.T) {
	s := newSample(t)
	l := s.with("", nil)
	for _, dir := range []string{"damaged-1/", "damaged-2/"} {
		scene{s, l}.flip("tile/0/000")
		if _, err := archive.Repair(bg, l, s.keys); err != nil {
			t.Fatal(err)
		}
		if _, err := l.ReadFile(dir + "tile/0/000"); err != nil {
			t.Error(err)
		}
	}
}

func TestRepairMakesNoArchive(t *testing.T) {
	s, l := newSample(t), archivetest.NewLossy()
	l.Put("key", s.files["key"])
	if _, err := archive.Repair(bg, l, s.keys); !isDamage(err) {
		t.Errorf("got %v", err)
	}
	if _, err := archive.Repair(bg, s.with("", nil), newKeys(t)); !isDamage(err) {
		t.Errorf("with another key: %v", err)
	}
}

// An archive without events is one that can be repaired.
func TestRepairWithoutEvents(t *testing.T) {
	const first = "00000000000000000000.log"
	for name, damage := range map[string]func(l, m *archivetest.Lossy){
		"checkpoint":        func(l, _ *archivetest.Lossy) { l.Put("checkpoint", []byte("?")) },
		"log flipped":       func(l, _ *archivetest.Lossy) { l.Put("log/"+first, flip(must(l.ReadFile("log/"+first)), 9)) },
		"log gone":          func(l, _ *archivetest.Lossy) { _ = l.Remove("log/" + first) },
		"mirror flipped":    func(_, m *archivetest.Lossy) { m.Put(first, flip(must(m.ReadFile(first)), 9)) },
		"mirror gone":       func(_, m *archivetest.Lossy) { _ = m.Remove(first) },
		"both gone":         func(l, m *archivetest.Lossy) { _ = l.Remove("log/" + first); _ = m.Remove(first) },
		"log and key":       func(l, _ *archivetest.Lossy) { l.Put("log/"+first, nil); _ = l.Remove("key") },
		"mirror of nothing": func(_, m *archivetest.Lossy) { m.Put(first, nil) },
	} {
		l, m, keys := archivetest.NewLossy(), archivetest.NewLossy(), newKeys(t)
		files := archive.Mirrored(l, m)
		if err := mustOpen(t, files, keys).Close(); err != nil {
			t.Fatal(err)
		}
		damage(l, m)
		if _, err := archive.Repair(bg, files, keys); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := open(files, keys)
		if err == nil {
			err = errors.Join(b.record(b.pen.many(3)...), scrubAll(b.Archive, 1), b.Close())
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A segment without events, at the end of a log that has some.
func TestRepairOfAnEmptyEnd(t *testing.T) {
	s := newSample(t)
	name := "log/00000000000000000620.log"
	for _, data := range [][]byte{nil, []byte("sboxlog1\x00\x00"), []byte("sboxlog1\x00\x00\x00\x00\x00\x00\x02\x6c????")} {
		l := s.with(name, append([]byte{}, data...))
		if _, err := archive.Repair(bg, l, s.keys); err != nil {
			t.Errorf("%q: %v", data, err)
			continue
		}
		if err := same(mustOpen(t, l, s.keys).wrote, s.wrote); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// A repair that is cut off can be done again.
func TestRepairIsCutOff(t *testing.T) {
	s := newSample(t)
	step := 1
	if testing.Short() {
		step = 7
	}
	for writes := 0; ; writes += step {
		sc := scene{s, s.with("", nil)}
		sc.flipAt(s.logs[0], 5000)
		sc.remove(s.logs[1])
		sc.flipAt("tile/entries/000", len(s.files["tile/entries/000"])-100)
		sc.flip("key")
		sc.l.StopAfter(writes)
		_, err := archive.Repair(bg, sc.l, s.keys)
		if err == nil {
			break
		}
		if !errors.Is(err, archivetest.ErrPower) {
			t.Fatal(err)
		}
		sc.l.PowerCut(rand.New(rand.NewPCG(uint64(writes), 2)))
		if _, err = archive.Repair(bg, sc.l, s.keys); err != nil {
			t.Fatalf("cut off after %d writes: %v", writes, err)
		}
		b, err := open(sc.l, s.keys)
		if err != nil {
			t.Fatalf("cut off after %d writes: %v", writes, err)
		}
		if err := same(b.wrote, s.wrote); err != nil {
			t.Fatalf("cut off after %d writes: %v", writes, err)
		}
	}
}

// The scrub sees what a start from the checkpoint does not look at.
func TestScrub(t *testing.T) {
	s := newSample(t)
	forged := newForged(t)
	stray := "blob/ff/" + strings.Repeat("f", 64)
	sizes := []int64{1, 256, 1000}
	if testing.Short() {
		sizes = sizes[1:2]
	}
	for name, damage := range map[string]func(*archivetest.Lossy){
		"tile/entries/000":      func(l *archivetest.Lossy) { l.Put("tile/entries/000", forged.files["tile/entries/000"]) },
		"tile/0/000":            func(l *archivetest.Lossy) { l.Put("tile/0/000", forged.files["tile/0/000"]) },
		"tile/0/001":            func(l *archivetest.Lossy) { _ = l.Remove("tile/0/001") },
		s.logs[0]:               func(l *archivetest.Lossy) { l.Put(s.logs[0], forged.files[s.logs[0]]) },
		s.logs[1]:               func(l *archivetest.Lossy) { l.Put(s.logs[1], flip(s.files[s.logs[1]], 9000)) },
		s.logs[2]:               func(l *archivetest.Lossy) { l.Put(s.logs[2], s.files[s.logs[2]][:s.lastBatch()]) },
		s.blob:                  func(l *archivetest.Lossy) { l.Put(s.blob, []byte("another")) },
		stray:                   func(l *archivetest.Lossy) { l.Put(stray, []byte("?")) },
		"checkpoint":            func(l *archivetest.Lossy) { l.Put("checkpoint", s.older["checkpoint"]) },
		"key":                   func(l *archivetest.Lossy) { _ = l.Remove("key") },
		"tile/entries/002.p/88": func(l *archivetest.Lossy) { _ = l.Remove("tile/entries/002.p/88") },
		"tile/1/000.p/2":        func(l *archivetest.Lossy) { l.Put("tile/1/000.p/2", forged.files["tile/1/000.p/2"]) },
	} {
		for _, n := range sizes {
			l := s.with("", nil)
			b, err := openFrom(l, s.keys, sampleSealed)
			if err != nil {
				t.Fatal(err)
			}
			if err := scrubAll(b.Archive, n); err != nil {
				t.Fatalf("undamaged: %v", err)
			}
			damage(l)
			var found *archive.Damage
			if err := scrubAll(b.Archive, n); !errors.As(err, &found) || found.Where != name || wordy(err) != nil {
				t.Errorf("%s, %d at a time: %v", name, n, err)
			}
		}
	}
	b := mustOpen(t, s.with("", nil), s.keys)
	if _, err := b.Scrub(bg, sampleSize+1, 1, nil); err == nil || isDamage(err) {
		t.Errorf("beyond the end: %v", err)
	}
}
