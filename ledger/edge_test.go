package ledger_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/signalbox-dev/signalbox/ledger"
)

// leaf is what the trees of these tests are made of: any bytes will do.
func leaf(n int64) []byte { return strconv.AppendInt([]byte("event "), n, 10) }

// put keeps what is written in files.
func put(files fstest.MapFS) func(path string, data []byte) error {
	return func(path string, data []byte) error {
		files[path] = &fstest.MapFile{Data: data}
		return nil
	}
}

// sameFiles compares files by their names and bytes.
func sameFiles(got, want fstest.MapFS) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d files, want %d", len(got), len(want))
	}
	for path, file := range want {
		if got[path] == nil || !bytes.Equal(got[path].Data, file.Data) {
			return fmt.Errorf("%s is missing or has other bytes", path)
		}
	}
	return nil
}

// interestingSizes are the sizes of trees at which something begins or ends.
func interestingSizes() []int64 {
	sizes := []int64{0, 1, 2, 3, 7, 8, 70_000}
	for _, around := range []int64{128, 256, 512, 256 * 3, 256 * 17, 256 * 255, 256 * 256, 256*256 + 256, 256 * 256 * 2} {
		sizes = append(sizes, around-1, around, around+1)
	}
	r := rand.New(rand.NewPCG(15, 1))
	for range 20 {
		sizes = append(sizes, r.Int64N(70_000))
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// An edge has the root and makes the tiles of the tree that has all hashes, and
// what is read back from its tiles goes on in the same way.
func TestEdge(t *testing.T) {
	var tree ledger.Tree
	var edge ledger.Edge
	files := fstest.MapFS{}
	older := int64(0)
	for _, size := range interestingSizes() {
		got, want := fstest.MapFS{}, fstest.MapFS{}
		for n := older; n < size; n++ {
			if err := errors.Join(tree.Append(leaf(n)), edge.Append(leaf(n), put(got))); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(edge.Partial(older, put(got)), tree.Tiles(older, size, put(want))); err != nil {
			t.Fatal(err)
		}
		if err := sameFiles(got, want); err != nil {
			t.Fatalf("tiles of %d events after %d: %v", size, older, err)
		}
		for path, file := range got {
			files[path] = file
		}
		wantCheckpoint, err := tree.Checkpoint(origin)
		if err != nil {
			t.Fatal(err)
		}
		if c := edge.Checkpoint(origin); c != wantCheckpoint || edge.Size() != size {
			t.Fatalf("%d events: got %+v, want %+v", size, c, wantCheckpoint)
		}
		if edge, err = ledger.ReadEdge(files, wantCheckpoint); err != nil {
			t.Fatalf("%d events: %v", size, err)
		}
		older = size
	}
	if err := edge.Partial(edge.Size()+1, put(files)); err == nil {
		t.Error("there are tiles after a tree that is larger")
	}
}

// edgeFiles returns the edge of a tree and its tiles.
func edgeFiles(t *testing.T, size int64) (ledger.Edge, fstest.MapFS) {
	t.Helper()
	var edge ledger.Edge
	files := fstest.MapFS{}
	for n := range size {
		if err := edge.Append(leaf(n), put(files)); err != nil {
			t.Fatal(err)
		}
	}
	if err := edge.Partial(0, put(files)); err != nil {
		t.Fatal(err)
	}
	return edge, files
}

// The signed root stands for every bit of the edge's tiles.
func TestReadEdgeDamaged(t *testing.T) {
	edge, files := edgeFiles(t, 256*256+256*2+5)
	c := edge.Checkpoint(origin)
	refused := func(why string, path string) {
		t.Helper()
		var wrong *ledger.VerifyError
		if _, err := ledger.ReadEdge(files, c); !errors.As(err, &wrong) || wrong.Path != path || wrong.Event != -1 {
			t.Fatalf("%s: got %v, want an error about %s", why, err, path)
		}
	}
	for _, path := range []string{ledger.TilePath(0, 258, 5), ledger.TilePath(1, 1, 2), ledger.TilePath(2, 0, 1)} {
		file := files[path]
		for bit := range 8 * len(file.Data) {
			file.Data[bit/8] ^= 1 << (bit % 8)
			refused(fmt.Sprintf("bit %d of %s is flipped", bit, path), ledger.CheckpointPath)
			file.Data[bit/8] ^= 1 << (bit % 8)
		}
		for _, data := range [][]byte{file.Data[:len(file.Data)-1], file.Data[:len(file.Data)-32], append(slices.Clone(file.Data), 0), bytes.Repeat([]byte("long"), 100_000), {}} {
			files[path] = &fstest.MapFile{Data: data}
			refused(fmt.Sprintf("%s has %d bytes instead of %d", path, len(data), len(file.Data)), path)
		}
		delete(files, path)
		refused(path+" is missing", path)
		files[path] = file
	}
	c.Size = -1
	refused("a negative size", ledger.CheckpointPath)
	c = edge.Checkpoint(origin)
	c.Root[31] ^= 1
	refused("another root", ledger.CheckpointPath)
	if _, err := ledger.ReadEdge(files, edge.Checkpoint(origin)); err != nil {
		t.Errorf("undamaged: %v", err)
	}
}

// A clone and what it was made from go on apart, and what was handed out stays.
func TestEdgeClone(t *testing.T) {
	for _, size := range []int64{0, 1, 255, 256, 300, 256*256 - 1} {
		edge, _ := edgeFiles(t, size)
		before := edge.Root()
		one, two := edge.Clone(), edge.Clone()
		given, then := fstest.MapFS{}, fstest.MapFS{}
		keep := func(path string, data []byte) error {
			return errors.Join(put(given)(path, data), put(then)(path, slices.Clone(data)))
		}
		for n := range int64(300) {
			if err := errors.Join(one.Append(leaf(size+n), keep), two.Append(leaf(-n), nil), one.Partial(0, keep)); err != nil {
				t.Fatal(err)
			}
		}
		whole, _ := edgeFiles(t, size+300)
		if edge.Root() != before || one.Root() != whole.Root() || two.Root() == one.Root() {
			t.Errorf("clones of an edge of %d events are not apart", size)
		}
		if err := sameFiles(given, then); err != nil {
			t.Errorf("%d events: tiles are not what they were when they were handed out: %v", size, err)
		}
	}
}

// An event whose tile can't be kept is not in the tree, and can be added again.
func TestEdgeAppendFails(t *testing.T) {
	full := errors.New("no space left on device")
	for _, fails := range []int{1, 2} {
		edge, _ := edgeFiles(t, 256*256-1)
		want, _ := edgeFiles(t, 256*256)
		before, calls := edge.Root(), 0
		err := edge.Append(leaf(256*256-1), func(string, []byte) error {
			if calls++; calls == fails {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || edge.Root() != before || edge.Size() != 256*256-1 {
			t.Errorf("tile %d fails: got %v and %d events", fails, err, edge.Size())
		}
		if err := edge.Append(leaf(256*256-1), nil); err != nil || edge.Root() != want.Root() {
			t.Errorf("tile %d failed, and the event can't be added again: %v", fails, err)
		}
	}
}
