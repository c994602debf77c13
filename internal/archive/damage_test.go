package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/ledger"
)

// sample is an archive with every kind of file, and what it was before.
type sample struct {
	keys   archive.Keys
	pen    *pen
	stream *stream
	files  map[string][]byte
	older  map[string][]byte // as it was when there were 300 events
	blob   string
}

const (
	sampleSize   = 620
	sampleSealed = 600
)

func newSample(t testing.TB) *sample {
	t.Helper()
	files := archivetest.NewLossy()
	s := &sample{keys: newKeys(t), pen: newPen(), stream: &stream{}}
	b := mustOpen(t, files, s.keys, s.stream, s.pen)
	blob, err := b.PutBlob([]byte("a transcript of many words"))
	if err != nil {
		t.Fatal(err)
	}
	s.blob = ledger.BlobPath(blob.SHA256)
	for n := 0; n < sampleSize; n += 10 {
		if n%100 == 0 && n <= sampleSealed {
			if _, err := b.Seal(); err != nil {
				t.Fatal(err)
			}
		}
		if n == 300 {
			s.older = dump(files)
		}
		var events [][]byte
		for i := range 10 {
			var ref *ledger.Blob
			if i == 5 {
				ref = &blob
			}
			events = append(events, s.pen.write(fmt.Sprint("item-", i), strings.Repeat("x", 3800), ref))
		}
		if err := b.record(events...); err != nil {
			t.Fatal(err)
		}
	}
	s.files = dump(files)
	return s
}

func dump(l *archivetest.Lossy) map[string][]byte {
	all := map[string][]byte{}
	_ = fs.WalkDir(l.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[name], err = fs.ReadFile(l.Files(), name)
		}
		return err
	})
	return all
}

func sameFiles(one, other map[string][]byte) bool { return maps.EqualFunc(one, other, bytes.Equal) }

// with returns the archive with one file changed, or without it if data is nil.
func (s *sample) with(name string, data []byte) *archivetest.Lossy {
	l := archivetest.NewLossy()
	for other, bytes := range s.files {
		if other != name {
			l.Put(other, bytes)
		}
	}
	if data != nil {
		l.Put(name, data)
	}
	return l
}

// outcome opens an archive beside a stream: "healed", if every event is there, or
// "refused", if it is a Damage.
func (s *sample) outcome(l *archivetest.Lossy, beside *stream) (string, error) {
	b, err := open(l, s.keys, beside, s.pen)
	var damage *archive.Damage
	switch {
	case errors.As(err, &damage):
		if damage.Where == "" || damage.What == "" || damage.Advice == "" {
			return "", fmt.Errorf("a refusal without a word: %w", err)
		}
		return "refused", nil
	case err != nil:
		return "", err
	}
	all, err := entries(b.Archive)
	if err == nil {
		err = same(all, s.stream.events())
	}
	if err == nil {
		err = same(beside.events(), all)
	}
	if err == nil {
		err = b.Close()
	}
	if err == nil {
		_, err = ledger.Verify(l.Files(), s.keys.Verifier)
	}
	return "healed", err
}

func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 4
	return data
}

func (s *sample) logs(t *testing.T) (first, last string) {
	t.Helper()
	var names []string
	for name := range s.files {
		if path.Dir(name) == "log" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) != 2 || names[0] == "log/00000000000000000000.log" {
		t.Fatalf("the sample's log is %v: it should have two files, and not begin at 0", names)
	}
	return names[0], names[1]
}

// What happens to each kind of file in each kind of damage, beside a stream that
// has everything.
func TestDamage(t *testing.T) {
	s := newSample(t)
	firstLog, lastLog := s.logs(t)
	const (
		refused = "refused"
		healed  = "healed"
		none    = "" // the older copy is the same, or there is none
	)
	for _, c := range []struct {
		kind, name                                     string
		flipped, flippedEnd, cut, halved, deleted, old string
	}{
		{"checkpoint", "checkpoint", refused, refused, refused, refused, refused, refused},
		{"key", "key", refused, refused, refused, refused, healed, none},
		{"bundle", "tile/entries/001", refused, refused, refused, refused, refused, none},
		{"partial bundle", "tile/entries/002.p/88", healed, healed, healed, healed, healed, none},
		{"tile", "tile/0/001", healed, healed, healed, healed, healed, none},
		{"partial tile", "tile/0/002.p/88", healed, healed, healed, healed, healed, none},
		{"upper tile", "tile/1/000.p/2", healed, healed, healed, healed, healed, none},
		{"log", firstLog, refused, refused, refused, refused, refused, refused},
		{"end of the log", lastLog, refused, healed, healed, refused, refused, none},
		{"blob", s.blob, refused, refused, refused, refused, refused, none},
	} {
		data := s.files[c.name]
		if data == nil {
			t.Fatalf("the sample has no %s", c.name)
		}
		for damage, d := range map[string]struct {
			data []byte
			want string
		}{
			"flipped":            {flip(data, len(data)/3), c.flipped},
			"flipped at its end": {flip(data, len(data)-2), c.flippedEnd},
			"cut":                {data[:len(data)-2], c.cut},
			"halved":             {data[:len(data)/2], c.halved},
			"emptied":            {[]byte{}, c.halved},
			"deleted":            {nil, c.deleted},
			"older":              {s.older[c.name], c.old},
		} {
			if d.want == none {
				if d.data != nil && !bytes.Equal(d.data, data) {
					t.Errorf("%s has an older copy", c.kind)
				}
				continue
			}
			got, err := s.outcome(s.with(c.name, d.data), s.stream.clone())
			if err != nil || got != d.want {
				t.Errorf("%s %s: %s, %v; want %s", c.kind, damage, got, err, d.want)
			}
		}
	}
}

// The same while the stream has lost what is not sealed: then the end of the log
// is the only copy.
func TestDamageToTheOnlyCopy(t *testing.T) {
	s := newSample(t)
	_, last := s.logs(t)
	data := s.files[last]
	short := &stream{records: s.stream.records[:sampleSealed]}
	batch := bytes.LastIndex(data, []byte("bat1"))
	for i := range 40 {
		at := batch + i // every byte of the head
		if i >= 32 {
			at = len(data) - 1 - 997*(i-32)
		}
		if got, err := s.outcome(s.with(last, flip(data, at)), short.clone()); got != "refused" || err != nil {
			t.Errorf("flipped at %d: %s, %v", at, got, err)
		}
	}
	if got, err := s.outcome(s.with(last, data), short.clone()); got != "healed" || err != nil {
		t.Errorf("undamaged: %s, %v", got, err)
	}
	// A write that ends early was never acknowledged. Nothing tells it from an
	// acknowledged end that was cut off from the log and lost by the stream too.
	b, err := open(s.with(last, data[:len(data)-100]), s.keys, short.clone(), s.pen)
	if err != nil || b.Size() != sampleSize-10 || len(b.found.Notes) != 1 {
		t.Errorf("cut: %v", err)
	}
}

// Whatever bit of whatever file is flipped, no event is lost or altered without a
// refusal.
func TestAnyFlippedBit(t *testing.T) {
	s := newSample(t)
	chance := rand.New(rand.NewPCG(7, 7))
	tries := 6
	if testing.Short() {
		tries = 2
	}
	outcomes := map[string]int{}
	for name, data := range s.files {
		for range tries {
			changed := bytes.Clone(data)
			changed[chance.IntN(len(data))] ^= 1 << chance.IntN(8)
			beside := s.stream.clone()
			if chance.IntN(2) == 0 {
				beside.records = beside.records[:chance.IntN(sampleSize)]
			}
			got, err := s.outcome(s.with(name, changed), beside)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			outcomes[got]++
		}
	}
	if outcomes["healed"] == 0 || outcomes["refused"] == 0 {
		t.Errorf("outcomes: %v", outcomes)
	}
}

// Segments that were removed, and that a power cut brings back, are in nobody's way.
func TestSupersededSegmentComesBack(t *testing.T) {
	s := newSample(t)
	first, _ := s.logs(t)
	const gone = "log/00000000000000000000.log"
	l := s.with("", nil)
	l.Put(gone, s.older[gone][:5000])
	if got, err := s.outcome(l, s.stream.clone()); got != "healed" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := l.ReadFile(gone); err == nil {
		t.Errorf("%s is still there beside %s", gone, first)
	}
}
