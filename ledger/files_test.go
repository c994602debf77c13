package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/ledger"
)

// What is proven from files is what the tree in memory proves.
func TestFiles(t *testing.T) {
	step := int64(1)
	if testing.Short() {
		step = 25
	}
	for _, size := range []int{1, 255, 256, 257, 600} {
		b := newBook(t)
		for n := range size {
			b.add(t, event(fmt.Sprint("subject", n%7), n))
		}
		_, signed := b.seal(t)
		f, err := ledger.OpenFiles(b.files, b.key)
		if err != nil {
			t.Fatal(err)
		}
		if f.Checkpoint.Size != int64(size) || string(f.Signed()) != string(signed) {
			t.Errorf("%+v", f.Checkpoint)
		}
		for n := int64(0); n < int64(size); n += step {
			got, err := f.Prove(n)
			want, wantErr := b.tree.Prove(n, b.stored[n], signed)
			if err != nil || wantErr != nil || !cmp.Equal(got, want) {
				t.Fatalf("event %d of %d: %v %v\n%s", n, size, err, wantErr, cmp.Diff(want, got))
			}
			root, err := f.Root(n + 1)
			if want, _ := b.tree.Root(n + 1); err != nil || root != want {
				t.Fatalf("root of %d of %d: %v %v", n+1, size, root, err)
			}
		}
		for _, outside := range []int64{-1, int64(size)} {
			_, err := f.Prove(outside)
			if err == nil {
				t.Fatalf("event %d of %d is proven", outside, size)
			}
			if size == 1 && !strings.Contains(err.Error(), "covers 1 event:") {
				t.Error(err)
			}
		}
	}
}

// Nothing that was changed is proven.
func TestFilesDamaged(t *testing.T) {
	b := newBook(t)
	for n := range 300 {
		b.add(t, event("subject", n))
	}
	b.seal(t)
	for _, path := range []string{ledger.TilePath(0, 0, ledger.TileWidth), ledger.EntriesPath(0, ledger.TileWidth), ledger.TilePath(1, 0, 1), ledger.CheckpointPath} {
		data := b.files[path].Data
		data[len(data)/2] ^= 1
		f, err := ledger.OpenFiles(b.files, b.key)
		for n := int64(0); n < 256 && err == nil; n++ {
			_, err = f.Prove(n)
		}
		if err == nil {
			t.Errorf("all is proven with a damaged %s", path)
		}
		data[len(data)/2] ^= 1
	}
}
