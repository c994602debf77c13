package ledger

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// The table of tips does what a map does.
func TestTips(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 3))
	var table tips
	want := map[subjectPrint]fingerprint{}
	print := newPrinter()
	const subjects = 30_000
	tip := func(n uint64) (p fingerprint) {
		binary.BigEndian.PutUint64(p[8:], n)
		return p
	}
	for n := range uint64(200_000) {
		subject := print.subject(fmt.Append(nil, "subject ", r.IntN(subjects)))
		before, right := want[subject], true
		if r.IntN(10) == 0 {
			before, right = tip(n+1_000_000), false
		}
		if got := table.move(subject, before, tip(n+1)); got != right {
			t.Fatalf("event %d: got %v, want %v", n, got, right)
		}
		if right {
			want[subject] = tip(n + 1)
		}
		if table.subjects != len(want) {
			t.Fatalf("event %d: %d subjects, want %d", n, table.subjects, len(want))
		}
	}
	for subject, tip := range want {
		if !table.move(subject, tip, tip) {
			t.Fatal("a subject is not found again")
		}
	}
	cells := 0
	for _, shard := range table.shards {
		cells += len(shard.cells)
	}
	if bytes := cells * int(unsafe.Sizeof(tipCell{})) / len(want); bytes > 42 {
		t.Errorf("%d bytes a subject", bytes)
	}
}

// Fingerprints depend on all of what they stand for, and on keys that differ from
// run to run.
func TestPrinter(t *testing.T) {
	one, two := newPrinter(), newPrinter()
	if one.subject([]byte("a")) == two.subject([]byte("a")) || one.tip(1, Hash{}) == two.tip(1, Hash{}) {
		t.Error("two runs make the same fingerprints")
	}
	seen := map[fingerprint]string{}
	for bit := range 64 {
		seen[one.tip(1<<bit, Hash{})] = "a bit of the sequence"
	}
	for bit := range 256 {
		var sum Hash
		sum[bit/8] = 1 << (bit % 8)
		seen[one.tip(0, sum)] = "a bit of the hash"
	}
	if len(seen) != 64+256 {
		t.Errorf("%d of %d fingerprints are different", len(seen), 64+256)
	}
}
