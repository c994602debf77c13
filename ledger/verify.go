package ledger

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
)

// Report says what [Verify] found to be true.
type Report struct {
	Checkpoint Checkpoint
	Events     int64 // as many as the checkpoint covers
	Subjects   int
	Blobs      int
}

// VerifyError says what is wrong with a ledger, and where.
type VerifyError struct {
	Path    string // the file
	Event   int64  // the event's index, or -1; in the text events are counted from 1
	Problem error
}

func (e *VerifyError) Error() string {
	if e.Event >= 0 {
		return fmt.Sprintf("%s: event %d: %v", e.Path, e.Event+1, e.Problem)
	}
	return fmt.Sprintf("%s: %v", e.Path, e.Problem)
}

func (e *VerifyError) Unwrap() error { return e.Problem }

// Verify checks a whole ledger that lies in files: the checkpoint's signature,
// every event, every subject's chain, every tile, the root, and every blob that
// an event refers to. It needs no running box, and trusts nothing but the key.
// It returns the first thing that is wrong as a [VerifyError].
func Verify(files fs.FS, verifierKey string) (Report, error) {
	v := verification{files: files}
	wrong := func(path string, err error) (Report, error) { return Report{}, &VerifyError{path, -1, err} }
	signed, err := fs.ReadFile(files, CheckpointPath)
	if err != nil {
		return wrong(CheckpointPath, err)
	}
	c, err := OpenCheckpoint(signed, verifierKey)
	if err != nil {
		return wrong(CheckpointPath, err)
	}
	if _, v.epoch, err = ParseOrigin(c.Origin); err != nil {
		return wrong(CheckpointPath, err)
	}
	for index := int64(0); index*TileWidth < c.Size; index++ {
		width := int(min(TileWidth, c.Size-index*TileWidth))
		if err := v.bundle(index, width); err != nil {
			return Report{}, err
		}
	}
	if err := v.tiles(c.Size); err != nil {
		return Report{}, err
	}
	root, err := v.tree.Root(c.Size)
	if err != nil {
		return wrong(CheckpointPath, err)
	}
	if root != c.Root {
		return wrong(CheckpointPath, fmt.Errorf("the events have the root %s, and %s was signed", root, c.Root))
	}
	return Report{c, c.Size, v.chains.Subjects(), v.blobs}, nil
}

type verification struct {
	files  fs.FS
	epoch  uint64
	tree   Tree
	chains Chains
	blobs  int
}

// bundle checks the events of one bundle, and adds them to the tree and the
// chains.
func (v *verification) bundle(index int64, width int) error {
	path := EntriesPath(index, width)
	wrong := func(event int64, err error) error { return &VerifyError{path, event, err} }
	data, err := fs.ReadFile(v.files, path)
	if err != nil {
		return wrong(-1, err)
	}
	entries, err := Entries(data)
	if err != nil {
		return wrong(-1, err)
	}
	if len(entries) != width {
		return wrong(-1, fmt.Errorf("there are %d events in it, and should be %d", len(entries), width))
	}
	for _, stored := range entries {
		at := v.tree.Size()
		e, err := v.chains.Add(stored)
		if err != nil {
			return wrong(at, err)
		}
		if e.Epoch != v.epoch {
			return wrong(at, fmt.Errorf("it is of epoch %d in a ledger of epoch %d", e.Epoch, v.epoch))
		}
		if err := v.tree.Append(stored); err != nil {
			return wrong(at, err)
		}
		refs, err := e.Blobs()
		if err != nil {
			return wrong(at, err)
		}
		for _, ref := range refs {
			if err := v.blob(ref); err != nil {
				return wrong(at, err)
			}
		}
	}
	return nil
}

func (v *verification) blob(ref Blob) error {
	data, err := fs.ReadFile(v.files, BlobPath(ref.SHA256))
	switch {
	case err != nil:
		return err
	case int64(len(data)) != ref.Size || sha256.Sum256(data) != ref.SHA256:
		return fmt.Errorf("%s does not have the bytes that its name says", BlobPath(ref.SHA256))
	}
	v.blobs++
	return nil
}

// tiles holds the stored tiles against the tree that the events make.
func (v *verification) tiles(size int64) error {
	return v.tree.Tiles(0, size, func(path string, want []byte) error {
		got, err := fs.ReadFile(v.files, path)
		if err != nil {
			return &VerifyError{path, -1, err}
		}
		if !bytes.Equal(got, want) {
			return &VerifyError{path, -1, errors.New("it is not the tile that the events make")}
		}
		return nil
	})
}
