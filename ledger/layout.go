package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// TileWidth is how many hashes, or entries, a full tile holds.
const TileWidth = 1 << tileHeight

const tileHeight = 8

// CheckpointPath is where the latest signed checkpoint of a ledger lies.
const CheckpointPath = "checkpoint"

// TilePath returns where the hashes of a tile lie, as C2SP tlog-tiles has it. A
// tile that is not full yet has the width of what is in it.
func TilePath(level int, index int64, width int) string {
	return fmt.Sprintf("tile/%d/%s", level, tileName(index, width))
}

// EntriesPath returns where the entries below a tile of level 0 lie.
func EntriesPath(index int64, width int) string { return "tile/entries/" + tileName(index, width) }

// tileName writes the index in groups of three digits, all but the last with an
// x before them.
func tileName(index int64, width int) string {
	name := fmt.Sprintf("%03d", index%1000)
	for index /= 1000; index > 0; index /= 1000 {
		name = fmt.Sprintf("x%03d/%s", index%1000, name)
	}
	if width < TileWidth {
		name += fmt.Sprintf(".p/%d", width)
	}
	return name
}

// BlobPath returns where the bytes with this SHA-256 lie.
func BlobPath(sum Hash) string {
	s := sum.String()
	return "blob/" + s[:2] + "/" + s
}

// AppendEntry adds an event, as stored, to a bundle of entries.
func AppendEntry(bundle, stored []byte) []byte {
	bundle = binary.BigEndian.AppendUint16(bundle, uint16(len(stored))) // MaxEvent fits
	return append(bundle, stored...)
}

// Entries takes a bundle apart.
func Entries(bundle []byte) ([][]byte, error) {
	var all [][]byte
	for len(bundle) > 0 {
		stored, rest, err := cutEntry(bundle)
		if err != nil {
			return nil, err
		}
		all = append(all, stored)
		bundle = rest
	}
	return all, nil
}

// cutEntry takes the first event off a bundle.
func cutEntry(bundle []byte) (stored, rest []byte, err error) {
	if len(bundle) < 2 {
		return nil, nil, errors.New("the bundle ends inside an entry's length")
	}
	n := int(binary.BigEndian.Uint16(bundle))
	if n == 0 {
		return nil, nil, errors.New("the bundle has an entry without an event")
	}
	if len(bundle) < 2+n {
		return nil, nil, errors.New("the bundle ends inside an entry")
	}
	return bundle[2 : 2+n], bundle[2+n:], nil
}

// Tiles calls write for every tile of hashes that the tree of size events has
// and the tree of older events had not.
func (t *Tree) Tiles(older, size int64, write func(path string, data []byte) error) error {
	if size > t.size || older > size {
		return fmt.Errorf("the tree has %s, not %d", countEvents(t.size), size)
	}
	for _, tile := range tlog.NewTiles(tileHeight, older, size) {
		data, err := tlog.ReadTileData(tile, t.hashes)
		if err != nil {
			return err
		}
		if err := write(TilePath(tile.L, tile.N, tile.W), data); err != nil {
			return err
		}
	}
	return nil
}

// origin and epoch are one name: a tree has one epoch.
const epochMark = "/epoch/"

// Origin names the ledger's tree of an epoch.
func Origin(ledger string, epoch uint64) string { return fmt.Sprint(ledger, epochMark, epoch) }

// ParseOrigin takes the name of a tree apart.
func ParseOrigin(origin string) (ledger string, epoch uint64, err error) {
	ledger, digits, ok := strings.Cut(origin, epochMark)
	if _, err := fmt.Sscanf(digits, "%d", &epoch); !ok || err != nil || epoch == 0 || Origin(ledger, epoch) != origin {
		return "", 0, fmt.Errorf("%q names no epoch of a ledger", origin)
	}
	return ledger, epoch, nil
}
