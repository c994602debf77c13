package archive_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/ledger"
)

// repair repairs, and returns what was done and the stream that is in use then.
func (s *sample) repair(l *archivetest.Lossy, x *stream) ([]string, *stream, error) {
	var now archive.Stream
	if x != nil {
		now = x
	}
	done, err := archive.Repair(context.Background(), l, s.keys, now, func(context.Context) (archive.Stream, error) {
		x = &stream{}
		return x, nil
	})
	return done, x, err
}

// scene is an archive and a stream that are about to be damaged.
type scene struct {
	*sample
	l *archivetest.Lossy
	x *stream
}

func (s scene) flip(name string) {
	data := s.files[name]
	s.l.Put(name, flip(data, len(data)/2))
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
	firstLog, lastLog := s.logs(t)
	stranger := newPen().write("item-1", "not ours", nil)
	for _, c := range []struct {
		name   string
		damage func(scene)
		said   []string // a part of each thing that was done; nil if nothing can be
		lost   string   // a part of what can't be restored
	}{
		{"nothing is wrong", func(scene) {}, []string{}, ""},
		{"stream: sealed event", func(c scene) { c.x.records[3].Data = stranger }, []string{"stream was rebuilt"}, ""},
		{"stream: event not sealed", func(c scene) { c.x.records[615].Data = stranger }, []string{"stream was rebuilt"}, ""},
		{"stream: hole", func(c scene) { c.x.records = slices.Delete(c.x.records, 100, 300) }, []string{"stream was rebuilt"}, ""},
		{"stream: hole at the end", func(c scene) { c.x.records, c.x.tip = c.x.records[:615], sampleSize }, []string{"stream was rebuilt"}, ""},
		{"stream: end lost, numbers used again", func(c scene) { c.x.records = c.x.records[:500]; c.x.add(stranger) }, []string{"stream was rebuilt"}, ""},
		{"stream: more, which does not follow", func(c scene) { c.x.add(stranger) }, []string{"stream was rebuilt"}, ""},

		{"bundle flipped", func(c scene) { c.flip("tile/entries/001") }, []string{"kept in damaged-1", "tile/entries/001 was rebuilt"}, ""},
		{"bundle gone", func(c scene) { c.remove("tile/entries/001") }, []string{"tile/entries/001 was rebuilt"}, ""},
		{"all tiles gone", func(c scene) { c.remove("tile/") }, []string{
			"entries/000", "entries/001", "entries/002", "0/000", "0/001", "0/002", "1/000",
		}, ""},
		{"tile flipped", func(c scene) { c.flip("tile/0/000") }, []string{"kept", "tile/0/000 was made again"}, ""},
		{"bundle and tile flipped", func(c scene) { c.flip("tile/0/000"); c.flip("tile/entries/000") }, []string{"kept", "entries/000 was rebuilt", "0/000 was made again"}, ""},
		{"key flipped", func(c scene) { c.flip("key") }, []string{"kept", "key was written"}, ""},
		{"log flipped", func(c scene) { c.flip(firstLog) }, []string{"kept", "log was rebuilt"}, ""},
		{"log gone", func(c scene) { c.remove("log/") }, []string{"20 of them were taken from the stream", "not known"}, ""},
		{"end of the log gone", func(c scene) { c.remove(lastLog) }, []string{"kept", "taken from the stream", "not known"}, ""},
		{"log gone, and the stream's end", func(c scene) { c.remove("log/"); c.x.records = c.x.records[:sampleSealed-50] },
			[]string{"it has 88 events, and 0 of them were taken from the stream", "not known"}, ""},
		{"a blob that nothing refers to", func(c scene) { c.l.Put("blob/ab/abcdef", []byte("?")) }, []string{"kept", "blob/ab/abcdef was damaged, and was moved aside"}, ""},

		{"bundle and stream, in different places", func(c scene) { c.flip("tile/entries/001"); c.x.records[3].Data = stranger },
			[]string{"kept", "entries/001 was rebuilt", "stream was rebuilt"}, ""},
		{"log and stream, in different places", func(c scene) { c.flip(lastLog); c.x.records[3].Data = stranger },
			[]string{"kept", "log was rebuilt", "stream was rebuilt"}, ""},

		{"checkpoint gone", func(c scene) { c.remove("checkpoint") }, []string{"signed again over the first 512 events"}, ""},
		{"checkpoint flipped", func(c scene) { c.flip("checkpoint") }, []string{"kept", "signed again over the first 512 events"}, ""},
		{"checkpoint flipped, and the stream differs", func(c scene) { c.flip("checkpoint"); c.x.records[3].Data = stranger }, nil, "nothing says which is right"},
		{"checkpoint flipped, and a bundle", func(c scene) { c.flip("checkpoint"); c.flip("tile/entries/000") }, nil, "nothing says which is right"},
		{"checkpoint flipped, and the stream is short", func(c scene) { c.flip("checkpoint"); c.x.records = c.x.records[:600] }, nil, "nothing says which is right"},
		{"blob flipped", func(c scene) { c.flip(s.blob) }, nil, s.blob},
		{"blob gone", func(c scene) { c.remove("blob/") }, nil, s.blob},
		{"bundle and stream, in the same place", func(c scene) {
			c.flip("tile/entries/001")
			c.x.records[384].Data = stranger
			c.x.records[383].Data = stranger
			c.x.records[385].Data = stranger
		}, nil, "those that were signed"},
		{"bundle gone, and the stream's end", func(c scene) { c.remove("tile/entries/001"); c.remove("log/"); c.x.records = c.x.records[:400] }, nil, "event 401 is neither"},
	} {
		sc := scene{s, s.with("", nil), s.stream.clone()}
		c.damage(sc)
		s.checkRepair(t, c.name, sc, c.said, c.lost)
	}
}

func (s *sample) checkRepair(t *testing.T, name string, sc scene, said []string, lost string) {
	t.Helper()
	before := dump(sc.l)
	done, x, err := s.repair(sc.l, sc.x)
	if said == nil {
		var damage *archive.LostError
		if !errors.As(err, &damage) || !strings.Contains(err.Error(), lost) {
			t.Errorf("%s: %v", name, err)
		}
		if !sameFiles(before, dump(sc.l)) || x != sc.x {
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
	b, err := open(sc.l, s.keys, x, s.pen)
	if err != nil {
		t.Errorf("%s: opened afterwards: %v", name, err)
		return
	}
	all, err := entries(b.Archive)
	want := s.stream.events()
	if len(all) < len(want) && len(all) >= sampleSealed {
		want = want[:len(all)] // what is not sealed was in neither copy
	}
	if err := errors.Join(err, same(all, want), same(x.events(), all), b.Close()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if _, err := ledger.Verify(sc.l.Files(), s.keys.Verifier); err != nil {
		t.Errorf("%s: %v", name, err)
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

// The archive alone can fill a stream that can't be read.
func TestRepairWithoutStream(t *testing.T) {
	s := newSample(t)
	l := s.with("", nil)
	done, x, err := s.repair(l, nil)
	if err != nil || len(done) != 1 || !strings.Contains(done[0], "620 events") {
		t.Errorf("did %q, %v", done, err)
	}
	if err := same(x.events(), s.stream.events()); err != nil {
		t.Error(err)
	}
}

// What is replaced is kept every time.
func TestRepairKeepsEveryTime(t *testing.T) {
	s := newSample(t)
	l := s.with("", nil)
	for _, dir := range []string{"damaged-1/", "damaged-2/"} {
		scene{s, l, s.stream}.flip("tile/0/000")
		if _, _, err := s.repair(l, s.stream); err != nil {
			t.Fatal(err)
		}
		if _, err := l.ReadFile(dir + "tile/0/000"); err != nil {
			t.Error(err)
		}
	}
}

// Nothing proves a stream beside an empty archive.
func TestRepairMakesNoArchive(t *testing.T) {
	s, l := newSample(t), archivetest.NewLossy()
	l.Put("key", s.files["key"])
	var damage *archive.Damage
	if _, _, err := s.repair(l, s.stream); !errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
	other := newSample(t)
	if _, err := archive.Repair(context.Background(), s.with("", nil), other.keys, s.stream, nil); !errors.As(err, &damage) {
		t.Errorf("with another key: %v", err)
	}
}

// A repair that is cut off can be done again.
func TestRepairIsCutOff(t *testing.T) {
	s := newSample(t)
	firstLog, _ := s.logs(t)
	step := 1
	if testing.Short() {
		step = 7
	}
	for writes := 0; ; writes += step {
		sc := scene{s, s.with("", nil), s.stream.clone()}
		sc.flip(firstLog)
		sc.flip("tile/entries/001")
		sc.flip("key")
		sc.x.records[3].Data = s.stream.records[13].Data
		sc.l.StopAfter(writes)
		_, x, err := s.repair(sc.l, sc.x)
		if err == nil {
			break
		}
		if !errors.Is(err, archivetest.ErrPower) {
			t.Fatal(err)
		}
		sc.l.PowerCut(rand.New(rand.NewPCG(uint64(writes), 2)))
		if _, x, err = s.repair(sc.l, x); err != nil {
			t.Fatalf("cut off after %d writes: %v", writes, err)
		}
		b, err := open(sc.l, s.keys, x, s.pen)
		if err != nil {
			t.Fatalf("cut off after %d writes: %v", writes, err)
		}
		all, err := entries(b.Archive)
		if err := errors.Join(err, same(all, s.stream.events()), same(x.events(), all)); err != nil {
			t.Fatalf("cut off after %d writes: %v", writes, err)
		}
	}
}
