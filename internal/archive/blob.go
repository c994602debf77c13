package archive

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/ledger"
)

const blobDir = "blob"

// PutBlob stores bytes that an event will refer to, and returns when they are
// durable. Storing the same bytes again is harmless, and has to be done before each event that
// refers to them: bytes that nobody stored for long may be removed ([Archive.MarkBlobs]).
func (a *Archive) PutBlob(data []byte) (ledger.Blob, error) {
	b := ledger.NewBlob(data)
	if err := a.usable(); err != nil {
		return ledger.Blob{}, err
	}
	defer a.leaving.put(b.SHA256)()
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
	case missing(err):
		return nil, fmt.Errorf("%s is not there: it was removed when it was older than the archive keeps (see the events %s), or it is lost: %w", name, ledger.TypeBlobRemoved, err)
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

// references returns the blobs that an event refers to.
func references(index int64, stored []byte) ([]ledger.Blob, error) {
	if !bytes.Contains(stored, []byte(`"blob"`)) {
		return nil, nil
	}
	var e struct {
		Payload json.RawMessage `json:"payload"`
	}
	err := json.Unmarshal(stored, &e)
	var refs []ledger.Blob
	if err == nil {
		refs, err = ledger.Event{Payload: e.Payload}.Blobs()
	}
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", index+1, err)
	}
	return refs, nil
}

// checkBlobs says whether every blob is whole that an event refers to. Look finds one, and what is
// not there goes to absent, which says whether that may be.
func checkBlobs(index int64, stored []byte, look func(ledger.Hash) (int64, blobState, error), absent func(int64, ledger.Blob) error) error {
	refs, err := references(index, stored)
	if err != nil {
		return err
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
			if err := absent(index, ref); err != nil {
				return err
			}
		case size != ref.Size:
			return damagedBlob(name, "it has %d bytes, and event %d says %d", size, index+1, ref.Size)
		}
	}
	return nil
}

func missingBlob(index int64, sum ledger.Hash) *Damage {
	return damagedBlob(ledger.BlobPath(sum), "it is missing, event %d refers to it, and no later event says that it was removed", index+1)
}

// blobCheck holds the blobs against all events, in their order. A blob that is missing is
// no damage if a later event says that it was removed.
type blobCheck struct {
	blobs
	absent map[ledger.Blob]int64 // those that are missing, by the first event that refers to them
}

func newBlobCheck(b blobs) blobCheck { return blobCheck{b, map[ledger.Blob]int64{}} }

// event takes the next event. What it says to be removed is what events before it refer to.
func (c blobCheck) event(index int64, stored []byte) error {
	removed, err := removedBy(index, stored)
	if err != nil {
		return err
	}
	for _, r := range removed {
		delete(c.absent, ledger.Blob(r))
	}
	return checkBlobs(index, stored, c.look, func(index int64, ref ledger.Blob) error {
		if _, ok := c.absent[ref]; !ok {
			c.absent[ref] = index
		}
		return nil
	})
}

// missing returns what is missing after all events, in their order.
func (c blobCheck) missing() []*Damage {
	refs := slices.Collect(maps.Keys(c.absent))
	slices.SortFunc(refs, func(a, b ledger.Blob) int {
		return cmp.Or(cmp.Compare(c.absent[a], c.absent[b]), bytes.Compare(a.SHA256[:], b.SHA256[:]))
	})
	var all []*Damage
	for _, ref := range refs {
		all = append(all, missingBlob(c.absent[ref], ref.SHA256))
	}
	return all
}
