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
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/ledger"
)

// sample is an archive with every kind of file, and what it was before.
type sample struct {
	keys  archive.Keys
	wrote [][]byte
	files map[string][]byte
	older map[string][]byte // as it was when there were 300 events
	blob  string
	logs  []string // the files of the log
}

const (
	sampleSize   = 620
	sampleSealed = 600
)

var theSample, theForged struct {
	once sync.Once
	made *sample
}

// newSample returns the sample. It is made once: who damages it damages a copy of its files; see with.
func newSample(t testing.TB) *sample {
	t.Helper()
	theSample.once.Do(func() { theSample.made = newSampleOf(t, newKeys(t), "x") })
	return theSample.made
}

// newForged returns the sample's ledger with other events, all checksums right.
func newForged(t testing.TB) *sample {
	t.Helper()
	keys := newSample(t).keys
	theForged.once.Do(func() { theForged.made = newSampleOf(t, keys, "y") })
	return theForged.made
}

// newSampleOf makes a sample whose events have a text of their own.
func newSampleOf(t testing.TB, keys archive.Keys, text string) *sample {
	t.Helper()
	files := archivetest.NewLossy()
	s := &sample{keys: keys}
	b := mustOpen(t, files, s.keys)
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
			events = append(events, b.pen.write(fmt.Sprint("item-", i), strings.Repeat(text, 280), ref))
		}
		if err := b.record(events...); err != nil {
			t.Fatal(err)
		}
	}
	s.files, s.wrote = dump(files), b.wrote
	for name := range s.files {
		if path.Dir(name) == "log" {
			s.logs = append(s.logs, name)
		}
	}
	if slices.Sort(s.logs); len(s.logs) != 3 {
		t.Fatalf("the sample's log is %v: it should have three files", s.logs)
	}
	return s
}

func dump(l *archivetest.Lossy) map[string][]byte {
	all, files := map[string][]byte{}, l.Files()
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[name], err = fs.ReadFile(files, name)
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

const (
	refused = "refused" // with a Damage
	healed  = "healed"  // every event is there
	shorter = "shorter" // an end that no checkpoint covers is gone, and it was said
	none    = ""        // the older copy is the same, or there is none
)

// outcome opens an archive and looks at everything.
func (s *sample) outcome(l *archivetest.Lossy) (string, error) {
	b, err := open(l, s.keys)
	if isDamage(err) {
		return refused, wordy(err)
	}
	if err != nil {
		return "", err
	}
	all, err := entries(b.Archive)
	outcome, want := healed, s.wrote
	if len(all) >= sampleSealed && len(all) < len(want) && strings.Contains(fmt.Sprint(b.found.Notes), "never finished") {
		outcome, want = shorter, want[:len(all)]
	}
	if err := errors.Join(err, same(all, want)); err != nil {
		return "", err
	}
	if err := errors.Join(scrubAll(b.Archive, 100), b.Close()); err != nil {
		return "", err
	}
	_, err = archive.Verify(bg, l, s.keys.Verifier)
	return outcome, err
}

func isDamage(err error) bool {
	var damage *archive.Damage
	return errors.As(err, &damage)
}

// wordy returns an error for a refusal that does not say what to do.
func wordy(err error) error {
	var damage *archive.Damage
	if errors.As(err, &damage) && (damage.Where == "" || damage.What == "" || damage.Advice == "") {
		return fmt.Errorf("a refusal without a word: %w", err)
	}
	return nil
}

func flip(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 4
	return data
}

// What a start that looks at everything does with each kind of file in each kind of damage.
func TestDamage(t *testing.T) {
	s := newSample(t)
	for i, c := range []struct {
		kind, name                                     string
		flipped, flippedEnd, cut, halved, deleted, old string
	}{
		{"checkpoint", "checkpoint", refused, refused, refused, refused, refused, healed},
		{"key", "key", refused, refused, refused, refused, healed, none},
		{"bundle", "tile/entries/001", refused, refused, refused, refused, refused, none},
		{"partial bundle", "tile/entries/002.p/88", healed, healed, healed, healed, healed, none},
		{"tile", "tile/0/001", healed, healed, healed, healed, healed, none},
		{"partial tile", "tile/0/002.p/88", healed, healed, healed, healed, healed, none},
		{"upper tile", "tile/1/000.p/2", healed, healed, healed, healed, healed, none},
		{"first segment", s.logs[0], refused, refused, refused, refused, healed, none},
		{"segment", s.logs[1], refused, refused, refused, refused, refused, refused},
		{"last segment", s.logs[2], refused, refused, shorter, refused, refused, none},
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
			if testing.Short() && (i+len(damage))%2 != 0 {
				continue // one in two
			}
			if d.want == none {
				if d.data != nil && !bytes.Equal(d.data, data) {
					t.Errorf("%s has an older copy", c.kind)
				}
				continue
			}
			got, err := s.outcome(s.with(c.name, d.data))
			if err != nil || got != d.want {
				t.Errorf("%s %s: %s, %v; want %s", c.kind, damage, got, err, d.want)
			}
		}
	}
}

// Copies that agree with each other are not what was signed for that.
func TestDamageToAllCopies(t *testing.T) {
	s := newSample(t)
	forged := newForged(t)
	if got, err := s.outcome(forged.with("checkpoint", s.files["checkpoint"])); got != refused || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// Every byte of the head of the log's last batch, and some of its body: the only copy of events
// that were acknowledged.
func TestDamageToTheOnlyCopy(t *testing.T) {
	s := newSample(t)
	last := s.logs[2]
	data := s.files[last]
	batch := bytes.LastIndex(data, []byte("bat1"))
	for i := range 40 {
		at := batch + i // every byte of the head
		if i >= 32 {
			at = len(data) - 1 - 997*(i-32)
		}
		if got, err := s.outcome(s.with(last, flip(data, at))); got != refused || err != nil {
			t.Errorf("flipped at %d: %s, %v", at, got, err)
		}
	}
	// A write that ends early was never acknowledged. Nothing tells it from an
	// acknowledged end that was cut off, if there is no mirror.
	b, err := open(s.with(last, data[:len(data)-100]), s.keys)
	if err != nil || b.Size() != sampleSize-10 || len(b.found.Notes) != 1 {
		t.Errorf("cut: %v", err)
	}
}

// Whatever bit of whatever file is flipped, no event is lost or altered without a refusal: at a start
// that looks at everything, and at one from the last checkpoint with a round of the scrub after it.
func TestAnyFlippedBit(t *testing.T) {
	s := newSample(t)
	chance := rand.New(rand.NewPCG(7, 7))
	tries := 6
	if testing.Short() {
		tries = 1
	}
	outcomes := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		data := s.files[name]
		for range tries {
			changed := bytes.Clone(data)
			at := chance.IntN(len(data))
			changed[at] ^= 1 << chance.IntN(8)
			got, err := s.outcome(s.with(name, changed))
			if err != nil || got == shorter {
				t.Errorf("%s at byte %d: %s, %v", name, at, got, err)
			}
			outcomes[got]++
			if got, err = s.scrubbed(s.with(name, changed)); err != nil {
				t.Errorf("%s at byte %d, scrubbed: %s, %v", name, at, got, err)
			}
			outcomes["quick start, "+got]++
		}
	}
	for _, want := range []string{healed, refused, "quick start, " + healed, "quick start, " + refused} {
		if outcomes[want] == 0 {
			t.Errorf("outcomes: %v", outcomes)
		}
	}
}

// scrubbed opens an archive from its checkpoint on, and scrubs it.
func (s *sample) scrubbed(l *archivetest.Lossy) (string, error) {
	b, err := openFrom(l, s.keys, sampleSealed)
	if err == nil {
		err = scrubAll(b.Archive, 100)
	}
	if isDamage(err) {
		return refused, wordy(err)
	}
	if err != nil {
		return "", err
	}
	all, err := entries(b.Archive)
	return healed, errors.Join(err, same(all, s.wrote))
}

// scrubAll scrubs a whole round, so many events at a time.
func scrubAll(a *archive.Archive, n int64) error {
	at := int64(0)
	for calls := int64(0); ; calls++ {
		size := a.Size() // it may grow meanwhile
		next, err := a.Scrub(bg, at, n, nil)
		if err != nil {
			return err
		}
		if next >= size {
			return nil
		}
		if next <= at {
			return fmt.Errorf("the scrub goes on from %d to %d", at, next)
		}
		at = next
	}
}

// An archive that was made when segments were removed starts, and says that its older events
// have one copy.
func TestOldArchive(t *testing.T) {
	s := newSample(t)
	l := s.with(s.logs[0], nil)
	b := mustOpen(t, l, s.keys)
	if len(b.found.Notes) != 1 || !strings.Contains(b.found.Notes[0], "are in bundles only") {
		t.Errorf("it said %q", b.found.Notes)
	}
	if err := errors.Join(scrubAll(b.Archive, 256), b.Close()); err != nil {
		t.Error(err)
	}
	if v, err := archive.Verify(bg, l, s.keys.Verifier); err != nil || v.Single == 0 || !v.Log {
		t.Errorf("verified %+v, %v", v, err)
	}
}
