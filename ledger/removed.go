package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
)

// TypeBlobRemoved is the type of an event that says that blobs were removed on
// purpose. Its payload is a [BlobRemoved]. The events that refer to them stay, and
// with them the blobs' hashes: whoever has kept the bytes can show that they are
// the ones.
//
// A blob is removed only when a checkpoint covers the event: before that, a ledger
// without the blob does not verify.
const TypeBlobRemoved = "BlobRemoved"

// BlobRemoved is the payload of an event of the type [TypeBlobRemoved]. About 150
// blobs fit into one.
type BlobRemoved struct {
	Removed []RemovedBlob `json:"removed"` // one or more
	Reason  string        `json:"reason"`
}

// RemovedBlob names a blob that was removed. It is written in another way than a
// [Blob], because it is no reference: the bytes need not be there.
type RemovedBlob struct {
	SHA256 Hash  `json:"sha256"`
	Size   int64 `json:"size"`
}

// ParseBlobRemoved reads the payload of an event of the type [TypeBlobRemoved].
func ParseBlobRemoved(payload []byte) (BlobRemoved, error) {
	var b BlobRemoved
	if err := json.Unmarshal(payload, &b); err != nil {
		return BlobRemoved{}, fmt.Errorf("not the payload of %s: %w", TypeBlobRemoved, err)
	}
	if len(b.Removed) == 0 {
		return BlobRemoved{}, errors.New("not the payload of " + TypeBlobRemoved + ": it names no blob")
	}
	return b, nil
}
