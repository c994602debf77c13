package archive_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/archive/archivetest"
	"github.com/signalbox-dev/signalbox/ledger"
)

// What the stream may lack or have more, and what it may not.
func TestReconcileWithTheStream(t *testing.T) {
	s := newSample(t)
	extra := [][]byte{s.pen.write("item-1", "more", nil), s.pen.write("item-2", "more", nil)}
	stranger := newPen().write("item-1", "not ours", nil)
	missingBlob := ledger.NewBlob([]byte("never stored"))
	withoutBlob := s.pen.write("item-3", "more", &missingBlob)
	for _, c := range []struct {
		name    string
		change  func(*stream)
		want    archive.Findings
		refused string // what the refusal says
	}{
		{"the same", func(*stream) {}, archive.Findings{}, ""},
		{"lost its end", func(x *stream) { x.records = x.records[:500] }, archive.Findings{Restored: 120}, ""},
		{"lost one", func(x *stream) { x.records = x.records[:sampleSize-1] }, archive.Findings{Restored: 1}, ""},
		{"lost everything", func(x *stream) { x.records = nil }, archive.Findings{Restored: sampleSize}, ""},
		{"has more", func(x *stream) { x.add(extra[0]); x.add(extra[1]) }, archive.Findings{Archived: 2}, ""},
		{"has more that does not follow", func(x *stream) { x.add(stranger) }, archive.Findings{}, "can't be taken"},
		{"has more without its blob", func(x *stream) { x.add(withoutBlob) }, archive.Findings{}, "it is missing"},
		{"other bytes, sealed", func(x *stream) { x.records[3].Data = flip(x.records[3].Data, 20) }, archive.Findings{}, "differs from the archive at event 4, and what the archive has"},
		{"other bytes, not sealed", func(x *stream) { x.records[610].Data = stranger }, archive.Findings{}, "differs from the archive at event 611"},
		{"another subject", func(x *stream) { x.records[5].Subject = "item-9" }, archive.Findings{}, "event 6"},
		{"another order", func(x *stream) { x.records[5].Data, x.records[6].Data = x.records[6].Data, x.records[5].Data }, archive.Findings{}, "event 6"},
		{"a hole", func(x *stream) { x.records = slices.Delete(x.records, 8, 10) }, archive.Findings{}, "lacks event 9, and goes on with event 11"},
		{"a hole at the end", func(x *stream) { x.records, x.tip = x.records[:610], sampleSize }, archive.Findings{}, "lacks event 611"},
		{"a hole after the archive's end", func(x *stream) {
			x.add(extra[0])
			x.add(extra[1])
			x.records = slices.Delete(x.records, sampleSize, sampleSize+1)
		}, archive.Findings{}, "lacks event 621"},
	} {
		l, x := s.with("", nil), s.stream.clone()
		c.change(x)
		before := dump(l)
		b, err := open(l, s.keys, x, s.pen)
		if c.refused != "" {
			var damage *archive.Damage
			if !errors.As(err, &damage) || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "signalbox ledger repair") && damage.Err == nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if !sameFiles(before, dump(l)) {
				t.Errorf("%s: a refusal changed files", c.name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, b.found); diff != "" {
			t.Errorf("%s: findings (-want +got):\n%s", c.name, diff)
		}
		all, err := entries(b.Archive)
		if err := errors.Join(err, same(all, x.events())); err != nil || len(all) < sampleSize {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestReconcileGivesEachEventOnce(t *testing.T) {
	s := newSample(t)
	a, err := archive.Open(s.with("", nil), s.keys)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	_, err = a.Reconcile(context.Background(), s.stream, func(index int64, stored []byte) error {
		if index != int64(len(all)) {
			t.Fatalf("event %d comes where event %d should be", index, len(all))
		}
		all = append(all, stored)
		return nil
	})
	if err := errors.Join(err, same(all, s.stream.events())); err != nil {
		t.Error(err)
	}
	if _, err := a.Reconcile(context.Background(), s.stream, s.pen.each); err == nil {
		t.Error("it was reconciled twice")
	}
}

// An error of the caller's own, for an event that is proven, is no damage.
func TestReconcilePassesErrorsOn(t *testing.T) {
	s, refusal := newSample(t), errors.New("not today")
	a, err := archive.Open(s.with("", nil), s.keys)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Reconcile(context.Background(), s.stream, func(int64, []byte) error { return refusal })
	var damage *archive.Damage
	if !errors.Is(err, refusal) || errors.As(err, &damage) {
		t.Errorf("got %v", err)
	}
	if err := a.Append(s.pen.many(1)); !errors.Is(err, archive.ErrNotReconciled) {
		t.Errorf("then: %v", err)
	}
}

// An archive that is not there is not made beside a stream that has events: more
// likely its disk is missing.
func TestReconcileMakesNoArchiveBesideEvents(t *testing.T) {
	s, l := newSample(t), archivetest.NewLossy()
	for range 2 {
		_, err := open(l, s.keys, s.stream, s.pen)
		var damage *archive.Damage
		if !errors.As(err, &damage) {
			t.Errorf("got %v", err)
		}
	}
	if all := dump(l); len(all) > 0 {
		t.Errorf("there are %d files", len(all))
	}
}

func TestReconcileNotesWhatItHeals(t *testing.T) {
	s := newSample(t)
	_, last := s.logs(t)
	log := s.files[last]
	l := s.with("key", nil)
	l.Put("tile/0/001", []byte("?"))
	l.Put(last, log[:len(log)-5])
	b := mustOpen(t, l, s.keys, s.stream.clone(), s.pen)
	want := archive.Findings{Archived: 10, Notes: []string{
		"the last 10 events in " + last + " were not whole, and were taken from the stream",
		"the file key was missing, and was written again",
		"1 tiles were missing or damaged, and were made again from the events: first tile/0/001",
	}}
	if diff := cmp.Diff(want, b.found); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = mustOpen(t, l, s.keys, s.stream.clone(), s.pen)
	if diff := cmp.Diff(archive.Findings{}, b.found); diff != "" {
		t.Errorf("findings afterwards (-want +got):\n%s", diff)
	}
}
