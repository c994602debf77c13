package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Edge is the right edge of the Merkle tree over a sequence of events: of each
// level of tiles the last one, as far as it is filled. That is all that is needed
// to add events, to make the tiles that they give, and to know the root. It holds
// at most 255 hashes a level, however many events the tree has.
//
// The zero value is the edge of the empty tree. An Edge is copied with
// [Edge.Clone], and used by one goroutine at a time.
type Edge struct {
	size   int64
	levels [][]byte // the hashes of the tile of each level that is not full
}

// hashSize is how many bytes a hash has in a tile.
const hashSize = sha256.Size

// ReadEdge reads the edge of the tree that c is about from its tiles. Its root is
// that of c, or there is an error: a [VerifyError] with the path of the tile that
// is missing or has a wrong length, or with the checkpoint's if only the root is
// wrong. It does not look at the signature: c is a checkpoint from
// [OpenCheckpoint].
func ReadEdge(files fs.FS, c Checkpoint) (Edge, error) {
	if c.Size < 0 {
		return Edge{}, &VerifyError{CheckpointPath, -1, fmt.Errorf("no tree has %d events", c.Size)}
	}
	e := Edge{size: c.Size}
	for level, n := 0, c.Size; n > 0; level, n = level+1, n>>tileHeight {
		tile, err := readEdgeTile(files, level, n)
		if err != nil {
			return Edge{}, err
		}
		e.levels = append(e.levels, tile)
	}
	if root := e.Root(); root != c.Root {
		return Edge{}, &VerifyError{CheckpointPath, -1, fmt.Errorf("the tiles at the edge of the tree have the root %s, and %s was signed", root, c.Root)}
	}
	return e, nil
}

// readEdgeTile reads the tile that is not full on a level of n hashes.
func readEdgeTile(files fs.FS, level int, n int64) ([]byte, error) {
	width := int(n % TileWidth)
	if width == 0 {
		return nil, nil
	}
	path := TilePath(level, n/TileWidth, width)
	tile, err := readFile(files, path, width*hashSize, nil)
	if err == nil && len(tile) != width*hashSize {
		err = fmt.Errorf("it has %d bytes, and should have %d", len(tile), width*hashSize)
	}
	if err != nil {
		return nil, &VerifyError{path, -1, err}
	}
	return tile, nil
}

// readFile reads a file of at most so many bytes into buf, which it makes larger as
// needed. A file that was made long on purpose takes no memory.
func readFile(files fs.FS, path string, most int, buf []byte) ([]byte, error) {
	file, info, err := openRegular(files, path)
	if err != nil {
		return nil, err
	}
	if info != nil && info.Size() > int64(most) {
		return nil, errors.Join(tooLong(path, most), file.Close())
	}
	data, err := readAll(file, most, buf[:0])
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, tooLong(path, most)
	}
	return data, nil
}

func tooLong(path string, most int) error {
	return fmt.Errorf("%s has more than the %d bytes that it can have", path, most)
}

// readAll reads until the end, or one byte more than most.
func readAll(r io.Reader, most int, data []byte) ([]byte, error) {
	for len(data) <= most {
		if len(data) == cap(data) {
			data = slices.Grow(data, min(max(len(data), 4096), most+1-len(data)))
		}
		n, err := r.Read(data[len(data):min(cap(data), most+1)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Clone returns a copy that shares nothing with e.
func (e *Edge) Clone() Edge {
	clone := Edge{size: e.size, levels: slices.Clone(e.levels)}
	for level, tile := range clone.levels {
		clone.levels[level] = slices.Clone(tile)
	}
	return clone
}

// Size returns how many events the tree has.
func (e *Edge) Size() int64 { return e.size }

// Root returns the root of the tree.
func (e *Edge) Root() Hash {
	root, none := Hash(sha256.Sum256(nil)), true
	for _, tile := range e.levels {
		for _, peak := range slices.Backward(peaks(tile)) {
			if none {
				root, none = peak, false
			} else {
				root = node(peak, root)
			}
		}
	}
	return root
}

// peaks returns the roots of the largest full trees over the hashes of a tile, the
// larger ones first.
func peaks(tile []byte) []Hash {
	var all []Hash
	for width := TileWidth; width > 0; width /= 2 {
		if len(tile) >= width*hashSize {
			all = append(all, fullRoot(tile[:width*hashSize]))
			tile = tile[width*hashSize:]
		}
	}
	return all
}

// fullRoot returns the root over hashes whose number is a power of two.
func fullRoot(hashes []byte) Hash {
	if len(hashes) == hashSize {
		return Hash(hashes)
	}
	half := len(hashes) / 2
	return node(fullRoot(hashes[:half]), fullRoot(hashes[half:]))
}

func node(left, right Hash) Hash { return Hash(tlog.NodeHash(tlog.Hash(left), tlog.Hash(right))) }

// Checkpoint returns the checkpoint of the tree.
func (e *Edge) Checkpoint(origin string) Checkpoint {
	return Checkpoint{origin, e.size, e.Root()}
}

// Append takes the next event, as stored. It calls full, unless that is nil, with
// every tile that is full with it, lower levels first; full may keep the data. If
// full fails the edge stays as it was.
func (e *Edge) Append(stored []byte, full func(path string, data []byte) error) error {
	return e.add(Hash(tlog.RecordHash(stored)), full)
}

// add takes the next event's hash.
func (e *Edge) add(hash Hash, full func(path string, data []byte) error) error {
	level, index := 0, e.size
	for ; level < len(e.levels) && len(e.levels[level]) == (TileWidth-1)*hashSize; level++ {
		tile := append(slices.Clip(e.levels[level]), hash[:]...)
		if full != nil {
			if err := full(TilePath(level, index/TileWidth, TileWidth), tile); err != nil {
				return err
			}
		}
		hash, index = fullRoot(tile), index/TileWidth
	}
	if level == len(e.levels) {
		e.levels = append(e.levels, nil)
	}
	e.levels[level] = append(e.levels[level], hash[:]...)
	for below := range level {
		e.levels[below] = e.levels[below][:0]
	}
	e.size++
	return nil
}

// Partial calls write for every tile that is not full and that the tree of older
// events had not, lower levels first; write may keep the data. Together with the
// full tiles of [Edge.Append] since then these are the tiles that [Tree.Tiles]
// gives.
func (e *Edge) Partial(older int64, write func(path string, data []byte) error) error {
	if older < 0 || older > e.size {
		return fmt.Errorf("the tree has %s, and never had %d", countEvents(e.size), older)
	}
	for level, tile := range e.levels {
		n := e.size >> (tileHeight * level)
		if len(tile) == 0 || n == older>>(tileHeight*level) {
			continue
		}
		if err := write(TilePath(level, n/TileWidth, len(tile)/hashSize), slices.Clone(tile)); err != nil {
			return err
		}
	}
	return nil
}
