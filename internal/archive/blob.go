package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/signalbox-dev/signalbox/ledger"
)

const blobDir = "blob"

// PutBlob stores bytes that an event will refer to, and returns when they are
// durable. Storing the same bytes again is harmless.
func (a *Archive) PutBlob(data []byte) (ledger.Blob, error) {
	b := ledger.NewBlob(data)
	if err := a.usable(); err != nil {
		return ledger.Blob{}, err
	}
	if err := a.files.write(ledger.BlobPath(b.SHA256), data); err != nil {
		return ledger.Blob{}, err
	}
	return b, nil
}

// Blob returns the bytes with this hash. They are those that were stored, or the
// error is a [Damage].
func (a *Archive) Blob(sum ledger.Hash) ([]byte, error) {
	name := ledger.BlobPath(sum)
	data, err := a.files.ReadFile(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a blob: %w", err)
	case sha256.Sum256(data) != sum:
		return nil, damagedBlob(name, "its bytes are not those that were stored")
	}
	return data, nil
}

func damagedBlob(name, what string, args ...any) *Damage {
	return &Damage{Where: name, What: fmt.Sprintf(what, args...), Advice: adviceBackup}
}

// blobs are the files of blobs, by what is left of them.
type blobs struct {
	sizes   map[ledger.Hash]int64 // those that are whole
	damaged map[string]bool       // the names of those that are not, until an event refers to one
}

// readBlobs holds every blob against its name.
func readBlobs(fs FS) (blobs, error) {
	b := blobs{map[ledger.Hash]int64{}, map[string]bool{}}
	prefixes, err := fs.ReadDir(blobDir)
	if missing(err) {
		return b, nil
	}
	for _, prefix := range prefixes {
		names, err := fs.ReadDir(blobDir + "/" + prefix)
		if err != nil {
			return b, fmt.Errorf("read the archive's blobs: %w", err)
		}
		for _, name := range names {
			name = blobDir + "/" + prefix + "/" + name
			data, err := fs.ReadFile(name)
			if err != nil {
				return b, fmt.Errorf("read the archive's blobs: %w", err)
			}
			ref := ledger.NewBlob(data)
			if ledger.BlobPath(ref.SHA256) == name {
				b.sizes[ref.SHA256] = ref.Size
			} else {
				b.damaged[name] = true
			}
		}
	}
	return b, err
}

// look returns the size of a blob that is whole, or what is wrong with it.
func (b blobs) look(sum ledger.Hash) (size int64, state blobState, err error) {
	size, whole := b.sizes[sum]
	switch {
	case b.damaged[ledger.BlobPath(sum)]:
		state = blobDamaged
	case !whole:
		state = blobMissing
	}
	return size, state, nil
}

type blobState int

const (
	blobWhole blobState = iota
	blobDamaged
	blobMissing
)

// check says whether every blob is whole that an event refers to.
func (b blobs) check(index int64, stored []byte) error { return checkBlobs(index, stored, b.look) }

// checkBlobs says whether every blob is whole that an event refers to; look finds one.
func checkBlobs(index int64, stored []byte, look func(ledger.Hash) (int64, blobState, error)) error {
	if !bytes.Contains(stored, []byte(`"blob"`)) {
		return nil
	}
	var e struct {
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal(stored, &e); err != nil {
		return fmt.Errorf("event %d: %w", index+1, err)
	}
	refs, err := ledger.Event{Payload: e.Payload}.Blobs()
	if err != nil {
		return fmt.Errorf("event %d: %w", index+1, err)
	}
	for _, ref := range refs {
		name := ledger.BlobPath(ref.SHA256)
		size, state, err := look(ref.SHA256)
		switch {
		case err != nil:
			return err
		case state == blobDamaged:
			return damagedBlob(name, "its bytes are not those that event %d refers to", index+1)
		case state == blobMissing:
			return damagedBlob(name, "it is missing, and event %d refers to it", index+1)
		case size != ref.Size:
			return damagedBlob(name, "it has %d bytes, and event %d says %d", size, index+1, ref.Size)
		}
	}
	return nil
}
