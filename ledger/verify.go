package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// Report says what [Verify] found to be true.
type Report struct {
	Checkpoint Checkpoint
	Events     int64 // as many as the checkpoint covers
	Subjects   int
	Blobs      int // references to blobs that are there
	Removed    int // blobs that are missing because an event says that they were removed
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
// It returns the first thing that is wrong as a [VerifyError]: what is wrong with
// the events in their order, then blobs that are missing, then what is wrong with
// the tiles, lower levels first, then with the root. If all of that is right, and
// there is more than the checkpoint covers, it returns the report and an
// [UncoveredError]: events or tiles of a larger tree, blobs that no event refers to,
// other signatures, other names below the directories of tiles and blobs. Partial
// tiles of a smaller tree may be there, as long as the larger ones begin with them.
//
// The files may be a stranger's. Only regular files are read, links are not followed, and no
// more is read of a file than it can have. Files that can't say what a name is before they
// open it (see [fs.StatFS], [fs.ReadLinkFS]) have to open pipes and devices without waiting, or not at
// all. Directories have to be readable as [fs.ReadDirFile].
//
// A blob may be missing if a later event says that it was removed, see
// [TypeBlobRemoved], and no event after that refers to it.
//
// It reads each file once, several at a time, and holds about 36 bytes in memory
// for each subject and each blob, and more for each missing blob until the event that removed
// it. Other than that, memory does not depend on the ledger's size.
func Verify(files fs.FS, verifierKey string) (Report, error) {
	return VerifyExcept(files, verifierKey, nil)
}

// VerifyExcept is [Verify] for who knows more than the checkpoint says: known is asked
// about each file that it does not cover, with its kind and path, and what is known does not count.
func VerifyExcept(files fs.FS, verifierKey string, known func(kind, path string) (bool, error)) (Report, error) {
	wrong := func(err error) (Report, error) { return Report{}, &VerifyError{CheckpointPath, -1, err} }
	signed, err := readFile(files, CheckpointPath, maxCheckpoint, nil)
	if err != nil {
		return wrong(err)
	}
	c, err := OpenCheckpoint(signed, verifierKey)
	if err != nil {
		return wrong(err)
	}
	_, epoch, err := ParseOrigin(c.Origin)
	if err != nil {
		return wrong(err)
	}
	v := verification{files: files, checkpoint: c, print: newPrinter(), missing: map[fingerprint]int64{}, found: newBlobSet()}
	if err := v.bundles(epoch); err != nil {
		return Report{}, err
	}
	if err := v.missingBlob(); err != nil {
		return Report{}, err
	}
	if err := v.edge.Partial(0, v.tile); err != nil {
		return Report{}, err
	}
	if v.wrongTile != nil {
		return Report{}, v.wrongTile
	}
	if root := v.edge.Root(); root != c.Root {
		return wrong(fmt.Errorf("the events have the root %s, and %s was signed", root, c.Root))
	}
	r := Report{c, c.Size, v.tips.subjects, v.blobs, v.removed}
	return r, v.uncovered(signed, verifierKey, known)
}

// uncovered looks for what the checkpoint does not cover.
func (v *verification) uncovered(signed []byte, verifierKey string, known func(kind, path string) (bool, error)) error {
	s := stray{files: v.files, size: v.checkpoint.Size, known: known, blobs: v.found, print: v.print}
	own, err := Covered(signed, verifierKey)
	if err != nil {
		return &VerifyError{CheckpointPath, -1, err}
	}
	if !bytes.Equal(own, signed) {
		if err := s.add(UncoveredSignature, CheckpointPath); err != nil {
			return err
		}
	}
	if err := s.look(); err != nil {
		return err
	}
	if len(s.found.Found) > 0 {
		return &s.found
	}
	return nil
}

// maxCheckpoint is more than any checkpoint has, with the signatures of witnesses.
const maxCheckpoint = 1 << 20

// verification is what is known of the ledger up to some event.
type verification struct {
	files      fs.FS
	checkpoint Checkpoint
	print      *printer
	edge       Edge
	tips       tips
	blobs      int
	removed    int
	missing    map[fingerprint]int64 // blobs, and the first event that refers to each
	found      *blobSet              // blobs that are there and right

	bundle     *bundle // the one that is taken
	wrongTile  error   // the first wrong tile of the lowest level that has one
	wrongLevel int
}

// bundles checks all events, and the tiles that are full.
func (v *verification) bundles(epoch uint64) error {
	r := startReaders(bundleReader{files: v.files, size: v.checkpoint.Size, epoch: epoch, print: v.print, found: v.found})
	defer r.stop()
	for index := int64(0); index*TileWidth < v.checkpoint.Size; index++ {
		v.bundle = r.next(index)
		if err := v.take(v.bundle); err != nil {
			return err
		}
		r.release(index, v.bundle)
	}
	return nil
}

// take adds the events of the next bundle to the chains and to the tree.
func (v *verification) take(b *bundle) error {
	notes := b.notes
	for i := range b.events {
		e := &b.events[i]
		if !v.tips.move(e.subject, e.before, e.after) {
			return &VerifyError{b.path, v.edge.Size(), v.brokenChain(v.edge.Size())}
		}
		for ; len(notes) > 0 && notes[0].event == i; notes = notes[1:] {
			v.note(notes[0])
		}
		if err := v.edge.add(e.leaf, v.tile); err != nil {
			return err
		}
	}
	v.blobs += b.blobs
	return b.err
}

// note takes what the next event says about a blob that is not there.
func (v *verification) note(n blobNote) {
	_, missing := v.missing[n.blob]
	switch {
	case n.removed && missing:
		delete(v.missing, n.blob)
		v.removed++
	case !n.removed && !missing:
		v.missing[n.blob] = v.edge.Size()
	}
}

// missingBlob returns the first event with a blob that is missing and was not
// removed since, as an error.
func (v *verification) missingBlob() error {
	if len(v.missing) == 0 {
		return nil
	}
	first := v.checkpoint.Size
	for _, event := range v.missing {
		first = min(first, event)
	}
	width := int(min(TileWidth, v.checkpoint.Size-first/TileWidth*TileWidth))
	return &VerifyError{EntriesPath(first/TileWidth, width), first, v.whichBlob(first)}
}

// whichBlob says which blob of an event is missing. What is kept of missing blobs
// does not tell, so it reads the event again.
func (v *verification) whichBlob(at int64) error {
	e, _, err := v.again(at)
	if err != nil {
		return err
	}
	refs, err := e.Blobs()
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if _, missing := v.missing[v.print.blob(ref.SHA256, ref.Size)]; missing {
			return fmt.Errorf("%s is missing, and no later event says that it was removed: %w", BlobPath(ref.SHA256), fs.ErrNotExist)
		}
	}
	return errors.New("a blob was missing, and another one is named when the event is read again: was the ledger changed meanwhile?")
}

// again reads an event once more.
func (v *verification) again(at int64) (e Event, stored []byte, err error) {
	files := Files{Checkpoint: v.checkpoint, files: v.files}
	unread := files.Entries(at, func(_ int64, s []byte) (more bool) {
		stored = s
		e, err = Decode(s)
		return false
	})
	return e, stored, errors.Join(unread, err)
}

// tile holds a stored tile against the one that the events make. The first wrong
// one is reported when all events are known to be right.
func (v *verification) tile(path string, want []byte) error {
	var got []byte
	var err error
	if path == v.bundle.tilePath {
		got, err = v.bundle.tile, v.bundle.tileErr
	} else {
		got, err = readFile(v.files, path, len(want), nil)
	}
	if err == nil && !bytes.Equal(got, want) {
		err = errors.New("it is not the tile that the events make")
	}
	if err != nil {
		v.wrong(path, err)
	}
	return nil
}

func (v *verification) wrong(path string, problem error) {
	level := 0
	_, err := fmt.Sscanf(path, "tile/%d/", &level)
	if v.wrongTile == nil || err == nil && level < v.wrongLevel {
		v.wrongTile, v.wrongLevel = &VerifyError{path, -1, problem}, level
	}
}

// brokenChain says why an event does not continue its subject's chain. What is
// kept of the chains does not tell, so it reads the events before it again.
func (v *verification) brokenChain(at int64) error {
	last, stored, err := v.again(at)
	if err != nil {
		return err
	}
	var tip Tip
	files := Files{Checkpoint: v.checkpoint, files: v.files}
	err = files.Entries(0, func(index int64, s []byte) (more bool) {
		if index == at {
			return false
		}
		if e, plain := readPlain(s); plain && string(e.subject) != last.Subject {
			return true
		}
		if e, err := Decode(s); err == nil && e.Subject == last.Subject {
			tip = Tip{e.ItemSeq, Sum(s)}
		}
		return true
	})
	if err == nil {
		_, err = tip.Next(last, stored)
	}
	if err == nil {
		err = fmt.Errorf("the chain of subject %q was broken, and is whole when it is read again: was the ledger changed meanwhile?", last.Subject)
	}
	return err
}
