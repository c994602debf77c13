package ledger

import (
	"fmt"
	"io/fs"

	"golang.org/x/mod/sumdb/tlog"
)

// Files is a sealed ledger that lies in files, as [Verify] reads it. What it
// returns is proven against the signed root by the tiles on the way there; the
// rest of the ledger is not looked at.
type Files struct {
	Checkpoint Checkpoint // the latest
	files      fs.FS
	key        string
	signed     []byte
	hashes     tlog.HashReader
}

// OpenFiles opens a ledger and checks the signature of its checkpoint.
func OpenFiles(files fs.FS, verifierKey string) (*Files, error) {
	signed, err := readFile(files, CheckpointPath, maxCheckpoint, nil)
	if err != nil {
		return nil, err
	}
	c, err := OpenCheckpoint(signed, verifierKey)
	if err != nil {
		return nil, err
	}
	f := &Files{Checkpoint: c, files: files, key: verifierKey, signed: signed}
	f.hashes = tlog.TileHashReader(tlog.Tree{N: c.Size, Hash: tlog.Hash(c.Root)}, tiles{files})
	return f, nil
}

// Signed returns the latest checkpoint as a signed note.
func (f *Files) Signed() []byte { return f.signed }

// Root returns the root of the tree of the first size events.
func (f *Files) Root(size int64) (Hash, error) {
	if size < 0 || size > f.Checkpoint.Size {
		return Hash{}, fmt.Errorf("the checkpoint covers %s, not %d", countEvents(f.Checkpoint.Size), size)
	}
	root, err := tlog.TreeHash(size, f.hashes)
	return Hash(root), err
}

// Entries calls yield for every event from an index on, as the files have it, until yield
// returns false. What it is given is not proven; [Files.Prove] does that.
func (f *Files) Entries(from int64, yield func(index int64, stored []byte) bool) error {
	if from < 0 {
		return fmt.Errorf("there is no event with index %d", from)
	}
	for from < f.Checkpoint.Size {
		events, err := f.bundle(from / TileWidth)
		if err != nil {
			return err
		}
		for _, stored := range events[from%TileWidth:] {
			if !yield(from, stored) {
				return nil
			}
			from++
		}
	}
	return nil
}

// bundle reads the events of a bundle.
func (f *Files) bundle(index int64) ([][]byte, error) {
	width := int(min(TileWidth, f.Checkpoint.Size-index*TileWidth))
	path := EntriesPath(index, width)
	data, err := readFile(f.files, path, width*(2+MaxEvent), nil)
	if err != nil {
		return nil, err
	}
	events, err := Entries(data)
	if err == nil && len(events) != width {
		err = fmt.Errorf("%s has %s, and should have %d", path, countEvents(int64(len(events))), width)
	}
	return events, err
}

// Prove proves that the event at index is in the ledger.
func (f *Files) Prove(index int64) (Proof, error) {
	size := f.Checkpoint.Size
	if index < 0 || index >= size {
		return Proof{}, fmt.Errorf("the checkpoint covers %s: the one with index %d is not among them", countEvents(size), index)
	}
	events, err := f.bundle(index / TileWidth)
	if err != nil {
		return Proof{}, err
	}
	p, err := tlog.ProveRecord(size, index, f.hashes)
	if err != nil {
		return Proof{}, err
	}
	proof := Proof{Index: index, Event: events[index%TileWidth], Hashes: ourHashes(p), Checkpoint: string(f.signed)}
	_, _, err = proof.Verify(f.key)
	return proof, err
}

// tiles reads the tiles that a hash is proven by.
type tiles struct{ files fs.FS }

func (tiles) Height() int { return tileHeight }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(wanted))
	for i, w := range wanted {
		tile, err := readFile(t.files, TilePath(w.L, w.N, w.W), w.W*hashSize, nil)
		if err != nil {
			return nil, err
		}
		data[i] = tile
	}
	return data, nil
}

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}
