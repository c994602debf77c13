package ledger

import "golang.org/x/mod/sumdb/tlog"

// LeafHash returns the hash of an event, as stored, as it is in a tile of level 0.
func LeafHash(stored []byte) Hash { return Hash(tlog.RecordHash(stored)) }

// TileRoot returns the hash over a full tile, as it is in the tile of the level above. It is
// false for a tile that is not full.
func TileRoot(tile []byte) (Hash, bool) {
	if len(tile) != TileWidth*hashSize {
		return Hash{}, false
	}
	return fullRoot(tile), true
}
