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
	signed, err := fs.ReadFile(files, CheckpointPath)
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
		return Hash{}, fmt.Errorf("the checkpoint covers %d events, not %d", f.Checkpoint.Size, size)
	}
	root, err := tlog.TreeHash(size, f.hashes)
	return Hash(root), err
}

// Prove proves that the event at index is in the ledger.
func (f *Files) Prove(index int64) (Proof, error) {
	size := f.Checkpoint.Size
	if index < 0 || index >= size {
		return Proof{}, fmt.Errorf("the checkpoint covers %d events: the one with index %d is not among them", size, index)
	}
	width := int(min(TileWidth, size-index/TileWidth*TileWidth))
	bundle, err := fs.ReadFile(f.files, EntriesPath(index/TileWidth, width))
	if err != nil {
		return Proof{}, err
	}
	events, err := Entries(bundle)
	if err != nil {
		return Proof{}, err
	}
	if index%TileWidth >= int64(len(events)) {
		return Proof{}, fmt.Errorf("%s ends before the event with index %d", EntriesPath(index/TileWidth, width), index)
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
		tile, err := fs.ReadFile(t.files, TilePath(w.L, w.N, w.W))
		if err != nil {
			return nil, err
		}
		data[i] = tile
	}
	return data, nil
}

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}
