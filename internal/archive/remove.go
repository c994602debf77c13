package archive

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/ledger"
)

// leaving are the blobs that are about to be removed.
//
// A blob is removed in three steps. It is marked, if its file is old: each event that refers to a
// blob comes after the file was written anew, so none is younger than the file. Then an event of the
// type [ledger.TypeBlobRemoved] is appended and sealed. Then the file is unlinked, if it is still
// marked: putting the blob takes the mark away, since an event that refers to it will follow. No file
// is unlinked while one is put.
//
// A box that ends between the steps leaves the file, or the event and the file; then the blob is
// removed as any other later on, with another event. Files are never missing without a checkpoint
// that covers the event which says so.
type leaving struct {
	files  sync.RWMutex // for reading while a blob is put; for writing while one is unlinked
	mu     sync.Mutex
	marked map[ledger.Hash]bool
}

// put says that a blob is being put, until the function that it returns is called.
func (l *leaving) put(sum ledger.Hash) func() {
	l.files.RLock()
	l.mu.Lock()
	delete(l.marked, sum)
	l.mu.Unlock()
	return l.files.RUnlock
}

func (l *leaving) mark(sum ledger.Hash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.marked == nil {
		l.marked = map[ledger.Hash]bool{}
	}
	l.marked[sum] = true
}

// unmark takes a mark away, and says whether there was one.
func (l *leaving) unmark(sum ledger.Hash) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.marked[sum]
	delete(l.marked, sum)
	return was
}

// MarkBlobs returns those of some blobs that are there and were not put since a time, and marks
// them: [Archive.RemoveBlobs] removes what is marked. The marks do not outlive the archive's being
// open.
func (a *Archive) MarkBlobs(refs []ledger.Blob, since time.Time) ([]ledger.RemovedBlob, error) {
	a.leaving.files.Lock()
	defer a.leaving.files.Unlock()
	var old []ledger.RemovedBlob
	for _, ref := range refs {
		name := ledger.BlobPath(ref.SHA256)
		at, err := a.files.Modified(name)
		switch {
		case missing(err):
		case err != nil:
			return nil, fmt.Errorf("look at %s of the archive: %w", name, err)
		case at.Before(since):
			a.leaving.mark(ref.SHA256)
			old = append(old, ledger.RemovedBlob(ref))
		}
	}
	return old, nil
}

// ErrNotRemoved says that nothing was unlinked, because no sealed event says that it is removed.
var ErrNotRemoved = errors.New("no sealed event says that the blobs are removed")

// RemoveBlobs unlinks the blobs that an event says are removed, as far as they are marked and were
// not put since. The event has to be sealed. It returns how many files it unlinked; they are gone
// durably then.
func (a *Archive) RemoveBlobs(index int64) (n int, err error) {
	if index >= a.Sealed() {
		return 0, fmt.Errorf("%w: event %d is not sealed", ErrNotRemoved, index+1)
	}
	stored, err := a.Event(index)
	if err != nil {
		return 0, err
	}
	removed, err := removedBy(index, stored)
	if err == nil && len(removed) == 0 {
		err = fmt.Errorf("%w: event %d says nothing of them", ErrNotRemoved, index+1)
	}
	if err != nil {
		return 0, err
	}
	dirs := map[string]bool{}
	for _, r := range removed {
		gone, err := a.unlink(r.SHA256)
		if err != nil {
			return n, err
		}
		if gone {
			n++
			dirs[path.Dir(ledger.BlobPath(r.SHA256))] = true
		}
	}
	for dir := range dirs {
		if err := a.files.syncDir(dir); err != nil {
			return n, err
		}
	}
	return n, nil
}

// unlink unlinks a blob that is marked.
func (a *Archive) unlink(sum ledger.Hash) (bool, error) {
	a.leaving.files.Lock()
	defer a.leaving.files.Unlock()
	if !a.leaving.unmark(sum) {
		return false, nil
	}
	name := ledger.BlobPath(sum)
	err := a.files.Remove(name)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove %s of the archive: %w", name, err)
	}
	return true, nil
}

// removedBy returns what an event says was removed.
func removedBy(index int64, stored []byte) ([]ledger.RemovedBlob, error) {
	if !bytes.Contains(stored, []byte(`"`+ledger.TypeBlobRemoved+`"`)) {
		return nil, nil
	}
	e, err := ledger.Decode(stored)
	if err == nil && e.Type != ledger.TypeBlobRemoved {
		return nil, nil
	}
	var p ledger.BlobRemoved
	if err == nil {
		p, err = ledger.ParseBlobRemoved(e.Payload)
	}
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", index+1, err)
	}
	return p.Removed, nil
}
