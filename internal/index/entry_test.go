package index

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/work"
)

var sampleRecord = Record{
	Subject: "01J", Kind: Item, ID: "W-00001", Run: "01H", Task: "T1", Phase: "COMPLETED", Seqs: []uint64{3, 4, 900},
	Latest: 1, AddKey: "key", Keys: [8]work.KeyedSeq{{Sum: 1, Seq: 4}, {Sum: 2, Seq: 3}},
}

// Each record has a checksum of its own, beside that of its block: any bit of it that
// differs is noticed.
func TestEntryChecksum(t *testing.T) {
	whole := appendEntry(nil, sampleRecord.entries()[0])
	e, rest, ok := nextEntry(whole)
	r, err := e.record()
	if !ok || len(rest) > 0 || err != nil || !reflect.DeepEqual(r, sampleRecord) {
		t.Fatalf("%v, %v, %v", r, ok, err)
	}
	for bit := range 8 * len(whole) {
		flipped := slices.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		if _, _, ok := nextEntry(flipped); ok {
			t.Errorf("bit %d is flipped, and nobody noticed", bit)
		}
	}
	for n := range whole {
		if _, _, ok := nextEntry(whole[:n]); ok {
			t.Errorf("of %d bytes %d are there, and nobody noticed", len(whole), n)
		}
	}
}

// What can be read is written the same, and nothing makes a reader panic.
func FuzzEntry(f *testing.F) {
	for _, e := range sampleRecord.entries() {
		f.Add(e.key, e.value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		e, rest, ok := nextEntry(appendEntry(nil, entry{key, value}))
		if ok != (len(key) > 1) || ok && (!bytes.Equal(e.key, key) || !bytes.Equal(e.value, value) || len(rest) > 0) {
			t.Fatalf("%q, %q became %q, %q, %v", key, value, e.key, e.value, ok)
		}
		nextEntry(value)
		if !ok {
			return
		}
		e.probe()
		if r, err := e.record(); err == nil {
			again, err := entry{recordKey(r.Kind, r.Subject), r.value()}.record()
			if err != nil || !reflect.DeepEqual(again, r) {
				t.Fatalf("%v became %v: %v", r, again, err)
			}
		}
	})
}

// Files are merged when four or more of the newest are as large as the one before them, and
// when there are too many.
func TestDue(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		first int
	}{
		{nil, 0},
		{[]int64{1, 1, 1}, 3},
		{[]int64{1, 1, 1, 1}, 0},
		{[]int64{9, 1, 1, 1}, 4},
		{[]int64{9, 1, 1, 1, 1}, 1},
		{[]int64{4, 1, 1, 1, 1}, 0},
		{[]int64{1024, 512, 256, 128, 64, 32, 16, 8, 4, 2}, 10},
		{[]int64{2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2}, 9},
		{[]int64{2048, 1024, 512, 256, 128, 64, 32, 16, 2, 2, 2, 2}, 8},
	} {
		if got := due(c.sizes); got != c.first {
			t.Errorf("%v: from %d on, and not from %d", c.sizes, got, c.first)
		}
	}
}

// What is added again and again is not written again each time: the files written by merges
// are together a small multiple of what was added.
func TestWrittenAgain(t *testing.T) {
	const added = 20_000
	var sizes []int64
	written, most := int64(0), 0
	for range added {
		sizes = append(sizes, 1)
		for first := due(sizes); first < len(sizes); first = due(sizes) {
			total := int64(0)
			for _, s := range sizes[first:] {
				total += s
			}
			written += total
			sizes = append(sizes[:first], total)
		}
		most = max(most, len(sizes))
	}
	t.Logf("%d additions were written %.1f times; %d files at most", added, float64(written)/added, most)
	if most > maxFiles || written > 16*added {
		t.Errorf("%d files; written %d times", most, written/added)
	}
}

// A filter never forgets, and takes few for known that are not.
func TestFilter(t *testing.T) {
	const keys = 20_000
	f := newFilter(keys)
	name := func(n int) string { return string(rune('a'+n%26)) + string(rune(n)) }
	for n := range keys {
		f.add(probe(names, name(n)))
	}
	wrong := 0
	for n := range keys {
		if !f.has(probe(names, name(n))) {
			t.Fatalf("name %d is forgotten", n)
		}
		if f.has(probe(runNames, name(n))) {
			wrong++
		}
	}
	t.Logf("%d of %d are taken for known wrongly", wrong, keys)
	if wrong > keys/100 {
		t.Error("these are too many")
	}
}
