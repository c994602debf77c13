package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
)

// bundle is what [Verify] needs to know of the events in one bundle. All that can
// be said without the events before them is settled.
type bundle struct {
	path   string
	events []chainEvent // up to the first wrong one, which is among them if it could be decoded
	blobs  int          // how many were found to be right
	notes  []blobNote   // in the order of the events; those of one event in the order in which they count
	err    error        // a VerifyError, about the bundle or about its first wrong event

	tilePath string // the tile over the bundle, as it was read
	tile     []byte
	tileErr  error
}

// chainEvent is what an event does to its subject's chain and to the tree.
type chainEvent struct {
	subject       subjectPrint
	before, after fingerprint // before is zero for a subject's first event
	leaf          Hash
}

// blobNote says that an event refers to a blob that is missing, or says that a blob
// was removed.
type blobNote struct {
	event   int // its index among the bundle's
	blob    fingerprint
	removed bool
}

// readerCount is how many bundles are read at a time. Two for each reader are in
// memory.
const readerCount = 4

// readers read the bundles of a ledger and check them, each bundle by itself.
// Reader i has the bundles i, i+readerCount and so on: the bundles are taken in
// their order, whoever is faster.
type readers struct {
	lanes [readerCount]struct{ read, free chan *bundle }
	group sync.WaitGroup
}

// startReaders starts readers that are each like this one.
func startReaders(like bundleReader) *readers {
	var r readers
	for i := range r.lanes {
		read, free := make(chan *bundle, 2), make(chan *bundle, 2)
		free <- &bundle{}
		free <- &bundle{}
		r.lanes[i].read, r.lanes[i].free = read, free
		r.group.Go(func() {
			reader := like
			reader.copy = make([]byte, 32<<10)
			for index := int64(i); index*TileWidth < reader.size; index += readerCount {
				b, more := <-free
				if !more {
					return
				}
				reader.read(b, index)
				read <- b
			}
		})
	}
	return &r
}

// next returns the bundle with an index: 0, then 1, and so on.
func (r *readers) next(index int64) *bundle { return <-r.lanes[index%readerCount].read }

// release gives the bundle with an index back when it is not needed any more.
func (r *readers) release(index int64, b *bundle) { r.lanes[index%readerCount].free <- b }

// stop waits until all have ended, which they do after the bundles that are free.
func (r *readers) stop() {
	for i := range r.lanes {
		close(r.lanes[i].free)
	}
	r.group.Wait()
}

// bundleReader is one of the readers.
type bundleReader struct {
	files fs.FS
	size  int64
	epoch uint64
	print *printer
	found *blobSet
	data  []byte // the bundle
	copy  []byte // what is read of a blob
}

// read reads the bundle with an index, and the tile over it.
func (r *bundleReader) read(b *bundle, index int64) {
	width := int(min(TileWidth, r.size-index*TileWidth))
	*b = bundle{path: EntriesPath(index, width), events: b.events[:0], notes: b.notes[:0], tilePath: TilePath(0, index, width), tile: b.tile}
	b.tile, b.tileErr = readFile(r.files, b.tilePath, width*hashSize, b.tile)
	var err error
	if r.data, err = readFile(r.files, b.path, width*(2+MaxEvent), r.data); err == nil {
		err = checkCount(r.data, width)
	}
	if err != nil {
		b.err = &VerifyError{b.path, -1, err}
		return
	}
	rest := r.data
	for at := index * TileWidth; len(rest) > 0; at++ {
		var stored []byte
		if stored, rest, err = cutEntry(rest); err == nil {
			err = r.event(b, stored)
		}
		if err != nil {
			b.err = &VerifyError{b.path, at, err}
			return
		}
	}
}

// checkCount checks that a bundle has so many events.
func checkCount(bundle []byte, want int) error {
	n := 0
	for len(bundle) > 0 {
		_, rest, err := cutEntry(bundle)
		if err != nil {
			return err
		}
		bundle = rest
		n++
	}
	if n != want {
		return fmt.Errorf("there are %d events in it, and should be %d", n, want)
	}
	return nil
}

// event checks an event, and adds it to its bundle.
func (r *bundleReader) event(b *bundle, stored []byte) error {
	e, plain := readPlain(stored)
	if !plain {
		decoded, err := decode(stored)
		if err != nil {
			return err
		}
		e = plainEvent{subject: []byte(decoded.Subject), kind: []byte(decoded.Type), payload: decoded.Payload}
		e.epoch, e.itemSeq, e.prev = decoded.Epoch, decoded.ItemSeq, decoded.Prev
	}
	c := chainEvent{subject: r.print.subject(e.subject), leaf: Hash(tlog.RecordHash(stored))}
	if e.itemSeq > 1 {
		c.before = r.print.tip(e.itemSeq-1, e.prev)
	}
	c.after = r.print.tip(e.itemSeq, Sum(stored))
	b.events = append(b.events, c)
	if e.epoch != r.epoch {
		return fmt.Errorf("it is of epoch %d in a ledger of epoch %d", e.epoch, r.epoch)
	}
	return r.eventBlobs(b, e)
}

// eventBlobs checks the blobs that the bundle's last event refers to, and notes
// those that it says were removed. A removal is noted before what the event itself
// refers to: it counts for the events before it.
func (r *bundleReader) eventBlobs(b *bundle, e plainEvent) error {
	event := len(b.events) - 1
	if string(e.kind) == TypeBlobRemoved {
		payload, err := ParseBlobRemoved(e.payload)
		if err != nil {
			return err
		}
		for _, blob := range payload.Removed {
			b.notes = append(b.notes, blobNote{event, r.print.blob(blob.SHA256, blob.Size), true})
		}
	}
	refs, err := blobRefs(e.payload)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		switch err := r.blob(ref); {
		case errors.Is(err, fs.ErrNotExist):
			b.notes = append(b.notes, blobNote{event, r.print.blob(ref.SHA256, ref.Size), false})
		case err != nil:
			return err
		default:
			b.blobs++
		}
	}
	return nil
}

// blob checks that the bytes that an event refers to are there. It reads each blob
// once, however many events refer to it.
func (r *bundleReader) blob(ref Blob) error {
	path, print := BlobPath(ref.SHA256), r.print.blob(ref.SHA256, 0)
	wrong := fmt.Errorf("%s does not have the bytes that its name says", path)
	if size, known := r.found.size(print); known {
		if size != ref.Size {
			return wrong
		}
		return nil
	}
	if ref.Size > MaxBlob {
		return fmt.Errorf("%s would have %d bytes, and a blob has at most %d", path, ref.Size, MaxBlob)
	}
	file, info, err := openRegular(r.files, path)
	if err != nil {
		return err
	}
	if info != nil && info.Size() != ref.Size {
		return errors.Join(wrong, file.Close())
	}
	hash := sha256.New()
	n, err := io.CopyBuffer(hash, io.LimitReader(file, max(0, ref.Size)+1), r.copy)
	switch err = errors.Join(err, file.Close()); {
	case err != nil:
		return err
	case n != ref.Size || Hash(hash.Sum(nil)) != ref.SHA256:
		return wrong
	}
	r.found.add(print, ref.Size)
	return nil
}

// blobSet has the blobs that were found to be right, with their sizes.
type blobSet struct {
	mu    sync.Mutex
	sizes map[fingerprint]int64
}

func newBlobSet() *blobSet { return &blobSet{sizes: map[fingerprint]int64{}} }

func (b *blobSet) size(blob fingerprint) (int64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size, ok := b.sizes[blob]
	return size, ok
}

func (b *blobSet) has(blob fingerprint) bool {
	_, ok := b.size(blob)
	return ok
}

func (b *blobSet) add(blob fingerprint, size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sizes[blob] = size
}
