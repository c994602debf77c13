package archive_test

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
)

// pair is a sample whose log has a mirror.
type pair struct {
	*sample
	l, m *archivetest.Lossy
}

func newPair(t testing.TB, s *sample) *pair {
	t.Helper()
	p := &pair{s, s.with("", nil), archivetest.NewLossy()}
	b := mustOpen(t, p.files(), s.keys)
	if diff := cmp.Diff([]string{"the mirror of the log is new, and was filled"}, b.found.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	p.l.Kill()
	p.m.Kill()
	return p
}

func (p *pair) files() archive.FS { return archive.Mirrored(p.l, p.m) }

func TestMirrorHasTheLogsEnd(t *testing.T) {
	p := newPair(t, newSample(t))
	for range 2 {
		log := dump(p.l)
		for name, data := range dump(p.m) {
			if string(log["log/"+name]) != string(data) {
				t.Errorf("%s is another in the mirror", name)
			}
		}
		b := mustOpen(t, p.files(), p.keys)
		if len(b.found.Notes) > 0 {
			t.Errorf("it said %q", b.found.Notes)
		}
		for range 4 { // so that segments end, and their bundles are full
			if err := b.record(b.pen.many(1500)...); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Seal(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(scrubAll(b.Archive, 500), b.Close()); err != nil {
			t.Fatal(err)
		}
		if names, err := p.m.ReadDir("."); err != nil || len(names) != 1 {
			t.Errorf("the mirror has %v, %v", names, err)
		}
	}
}

// What a start does with a log and a mirror of which one is damaged, and what a repair does with
// what was refused.
func TestMirror(t *testing.T) {
	s := newSample(t)
	forged := newForged(t)
	last := s.logs[2]
	name := path.Base(last)
	end := s.files[last]
	for i, c := range []struct {
		name    string
		damage  func(*pair)
		refused string // what the refusal says
		note    string // what is said of a start that is not refused
		lost    bool   // a repair can't help
	}{
		{"nothing", func(*pair) {}, "", "", false},
		{"end of the log cut", func(p *pair) { p.l.Put(last, end[:len(end)-50]) }, "", "the log lacked the last 10 events", false},
		{"last batches of the log gone", func(p *pair) { p.l.Put(last, end[:s.lastBatch()]) }, "", "the log lacked the last 10 events", false},
		{"end of the mirror cut", func(p *pair) { p.m.Put(name, end[:len(end)-50]) }, "", "the mirror of the log lacked the last 10 events", false},
		{"end of the log flipped", func(p *pair) { p.l.Put(last, flip(end, len(end)-50)) }, "is damaged at byte", "", false},
		{"end of the log's head flipped", func(p *pair) { p.l.Put(last, flip(end, s.lastBatch()+5)) }, "is damaged at byte", "", false},
		{"last segment gone", func(p *pair) { _ = p.l.Remove(last) }, "ends after event", "", false},
		{"end of the mirror flipped", func(p *pair) { p.m.Put(name, flip(end, len(end)-50)) }, "the mirror of the log", "", false},
		{"mirror flipped", func(p *pair) { p.m.Put(name, flip(end, 5000)) }, "the mirror of the log", "", false},
		{"mirror gone", func(p *pair) { p.m = archivetest.NewLossy() }, "is missing or empty", "", false},
		{"mirror ends before the checkpoint", func(p *pair) { p.m.Put(name, end[:len(end)/3]) }, "ends after event", "", false},
		{"a file of the mirror gone", func(p *pair) { _ = p.m.Remove(name) }, "ends after event", "", false},
		{"an older mirror", func(p *pair) { p.m = archivetest.NewLossy(); p.m.Put(path.Base(s.logs[0]), s.files[s.logs[0]]) }, "ends after event", "", false},
		{"a mirror of other events", func(p *pair) { p.m.Put(name, forged.files[last]) }, "other bytes than the log", "", true},
		{"log and mirror cut", func(p *pair) { p.l.Put(last, end[:s.lastBatch()+9]); p.m.Put(name, end[:len(end)-50]) }, "", "never finished", false},
	} {
		if testing.Short() && i%2 != 0 {
			continue // one in two
		}
		p := newPair(t, s)
		c.damage(p)
		b, err := open(p.files(), s.keys)
		if c.refused == "" {
			if err != nil || !strings.Contains(fmt.Sprint(b.found.Notes), c.note) || len(b.found.Notes) > 1 {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
		} else {
			if !isDamage(err) || !strings.Contains(err.Error(), c.refused) || wordy(err) != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			_, err := archive.Repair(bg, p.files(), s.keys)
			var lost *archive.LostError
			if errors.As(err, &lost) != c.lost || err != nil && !c.lost {
				t.Errorf("%s: repair: %v", c.name, err)
			}
			if c.lost {
				continue
			}
			if b, err = open(p.files(), s.keys); err != nil {
				t.Errorf("%s: repaired, and then %v", c.name, err)
				continue
			}
		}
		want := s.wrote
		if c.name == "log and mirror cut" {
			want = want[:len(want)-10]
		}
		if err := errors.Join(same(b.wrote, want), scrubAll(b.Archive, 1000), b.Close()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if b, err = open(p.files(), s.keys); err != nil || len(b.found.Notes) > 0 {
			t.Errorf("%s: opened again: %v", c.name, err)
		}
	}
}

// A mirror is not taken from another ledger, and an archive is not made beside one.
func TestMirrorOfAnotherLedger(t *testing.T) {
	s := newSample(t)
	p, other := newPair(t, s), newSampleOf(t, newKeys(t), "z")
	before := dump(p.m)
	if _, err := open(archive.Mirrored(other.with("", nil), p.m), other.keys); !isDamage(err) {
		t.Errorf("the mirror of another ledger: %v", err)
	}
	if _, err := open(archive.Mirrored(archivetest.NewLossy(), p.m), s.keys); !isDamage(err) {
		t.Errorf("without an archive: %v", err)
	}
	if !sameFiles(before, dump(p.m)) {
		t.Error("the mirror was changed")
	}
}

// Whoever takes the mirror out of the settings may put it back later.
func TestMirrorComesBack(t *testing.T) {
	p := newPair(t, newSample(t))
	b := mustOpen(t, p.l, p.keys)
	if err := errors.Join(b.record(b.pen.many(2000)...), b.Close()); err != nil {
		t.Fatal(err)
	}
	b = mustOpen(t, p.files(), p.keys)
	if len(b.found.Notes) != 1 || !strings.Contains(b.found.Notes[0], "was completed") {
		t.Errorf("it said %q", b.found.Notes)
	}
	if err := errors.Join(scrubAll(b.Archive, 1000), b.Close()); err != nil {
		t.Error(err)
	}
	p.m = archivetest.NewLossy() // and from now on a mirror that is gone is missed
	if _, err := open(p.files(), p.keys); !isDamage(err) {
		t.Errorf("the mirror is gone: %v", err)
	}
}

// An append is acknowledged when both are synced.
func TestMirrorIsSynced(t *testing.T) {
	l, m := archivetest.NewLossy(), archivetest.NewLossy()
	b := mustOpen(t, archive.Mirrored(l, m), newKeys(t))
	before := [2]int{l.Syncs(), m.Syncs()}
	if err := b.record(b.pen.many(3)...); err != nil {
		t.Fatal(err)
	}
	if got := [2]int{l.Syncs() - before[0], m.Syncs() - before[1]}; got != [2]int{1, 1} {
		t.Errorf("an append took %v syncs", got)
	}
	m.FailSync(1)
	if err := b.record(b.pen.many(1)...); !errors.Is(err, archivetest.ErrSync) {
		t.Errorf("the mirror's sync failed, and the append: %v", err)
	}
	if _, err := b.Append(b.pen.many(1)); !errors.Is(err, archive.ErrFailed) {
		t.Errorf("then: %v", err)
	}
}

// The log lies where it is told to, and nothing of it elsewhere.
func TestSplit(t *testing.T) {
	keys, main, log := newKeys(t), archivetest.NewLossy(), archivetest.NewLossy()
	files := archive.Split(main, log)
	b := mustOpen(t, files, keys)
	if err := errors.Join(b.record(b.pen.many(600)...), b.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"00000000000000000000.log"}, must(log.ReadDir("."))); diff != "" {
		t.Errorf("the log's directory (-want +got):\n%s", diff)
	}
	if _, err := main.ReadDir("log"); err == nil {
		t.Error("the archive has a log too")
	}
	b = mustOpen(t, files, keys)
	if err := errors.Join(same(b.wrote[:600], b.wrote), scrubAll(b.Archive, 100), b.Close()); err != nil {
		t.Error(err)
	}
	if v, err := archive.Verify(bg, files, keys.Verifier); err != nil || !v.Log || v.Events != 600 {
		t.Errorf("verified %+v, %v", v, err)
	}
	if _, err := open(archive.Split(main, archivetest.NewLossy()), keys); !isDamage(err) {
		t.Errorf("without the log: %v", err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
