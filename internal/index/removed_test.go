package index_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/index"
)

// Blobs that were removed are found by their hash alone, also after a merge and in an index that is
// opened again; the latest event counts.
func TestRemoved(t *testing.T) {
	files, key := archive.Dir(t.TempDir()), []byte("a key")
	x, err := index.Open(files, key)
	if err != nil {
		t.Fatal(err)
	}
	one, two := strings.Repeat("1a", 32), strings.Repeat("2b", 32)
	add := func(sum string, seq uint64) {
		t.Helper()
		if err := x.Add([]index.Record{{Kind: index.Blob, Subject: sum, Seqs: []uint64{seq}}}, index.Mark{Size: int64(seq)}); err != nil {
			t.Fatal(err)
		}
	}
	look := func(when string) {
		t.Helper()
		for sum, want := range map[string]uint64{one: 7, two: 3, strings.Repeat("3c", 32): 0, "": 0} {
			if seq, found, err := x.Removed(sum); seq != want || found != (want > 0) || err != nil {
				t.Errorf("%s: %q was removed by event %d: %t, %v; want %d", when, sum, seq, found, err, want)
			}
		}
		if _, found, err := x.Get(one); found || err != nil {
			t.Errorf("%s: a blob passes for a subject: %v", when, err)
		}
		if _, found, err := x.Named(one); found || err != nil {
			t.Errorf("%s: a blob passes for a name: %v", when, err)
		}
	}
	add(one, 2)
	add(two, 3)
	for range 9 { // enough to be merged
		add(one, 7)
	}
	look("at first")
	if err := x.Merge(t.Context(), time.Now().Add(48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	look("after a merge")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if x, err = index.Open(files, key); err != nil {
		t.Fatal(err)
	}
	look("opened again")
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Add([]index.Record{{Kind: index.Blob, Seqs: []uint64{1}}}, index.Mark{}); err == nil {
		t.Error("a blob without a hash is taken")
	}
}
