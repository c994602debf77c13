package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/ledger"
)

const keyPath = "key"

// Keys are the pair that [ledger.NewKey] makes for the ledger's origin.
type Keys struct {
	Signer   string // a secret
	Verifier string
}

// Origin is the name that the key is for. A verifier's key begins with it.
func (k Keys) Origin() string {
	name, _, _ := strings.Cut(k.Verifier, "+")
	return name
}

// Archive is an open archive. Its methods may be called concurrently.
type Archive struct {
	files  *store
	mirror *store // where the log is written too; nil if nowhere
	keys   Keys

	journal *Journal // of a cluster's member; nil for a single box
	rebased bool     // the journal has a newer checkpoint, to be put in its place

	// What Open found, for Start.
	fresh      bool // there is nothing yet
	keyMissing bool
	hadMirror  bool      // the log had a mirror
	ending     []segment // of the log, with the events that are not in full bundles
	tail       *fault    // what is not whole at the log's end
	edgeErr    error     // why the tree's edge can't be read

	appending sync.Mutex          // held while the log is written
	log       File                // the last segment; nil before Start and after Close
	logBytes  int                 // its size
	synced    func(time.Duration) // told how long each write to the log took until it was durable; may be nil

	leaving leaving // blobs that are about to be removed

	sealing sync.Mutex  // held while tiles are written
	edge    ledger.Edge // of the sealed events

	mu     sync.Mutex // guards what follows, and is never held during I/O
	state  error      // why nothing can be written, besides a failed store
	full   int64      // how many events are in full bundles under the checkpoint
	recent [][]byte   // the events after those
	sealed ledger.Checkpoint
	note   []byte // the same, signed
}

// TimeSyncs has f told how long each write to the log took until it was durable. It is called before anything is appended, and f
// must not wait.
func (a *Archive) TimeSyncs(f func(time.Duration)) { a.synced = f }

// Open looks at the archive in fs and reads the end of its log. It writes nothing: an archive
// that is not there yet is made by [Archive.Start], which has to run before
// anything is written. What Open can see to be wrong is a [Damage].
func Open(fs FS, keys Keys) (*Archive, error) {
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	a := &Archive{files: newStore(fs), mirror: mirrorOf(fs), keys: keys, state: ErrNotStarted}
	if member, err := IsMember(a.files); err != nil {
		return nil, err
	} else if member {
		return nil, &Damage{Where: logDir, What: "it is a cluster member's log, and there is no file cluster.json", Advice: adviceCluster}
	}
	note, err := a.files.ReadFile(ledger.CheckpointPath)
	_, mirrorErr := a.files.ReadFile(mirrorNote)
	a.hadMirror = mirrorErr == nil
	for _, err := range []error{err, mirrorErr} {
		if err != nil && !missing(err) {
			return nil, fmt.Errorf("open the archive: %w", err)
		}
	}
	if err := a.readKey(); err != nil {
		return nil, err
	}
	if missing(err) {
		err = a.expectNothing()
	} else {
		err = a.readSealed(note)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// readKey refuses an archive with another key.
func (a *Archive) readKey() error {
	key, err := a.files.ReadFile(keyPath)
	if err != nil && !missing(err) {
		return fmt.Errorf("open the archive: %w", err)
	}
	if a.keyMissing = err != nil; !a.keyMissing && !bytes.Equal(key, keyFile(a.keys)) {
		return &Damage{Where: keyPath, What: "it is another key than the one in use", Advice: adviceKey}
	}
	return nil
}

func keyFile(keys Keys) []byte { return []byte(keys.Verifier + "\n") }

// checkKeys says whether the two keys are a pair.
func checkKeys(keys Keys) error {
	signed, err := ledger.Checkpoint{Origin: keys.Origin()}.Sign(keys.Signer)
	if err == nil {
		_, err = ledger.OpenCheckpoint(signed, keys.Verifier)
	}
	if err != nil {
		return fmt.Errorf("the archive's keys are not a pair: %w", err)
	}
	return nil
}

// expectNothing says that the archive is still to be made, and refuses if there
// are signs of one. The checkpoint is the last file that is written when an archive
// is made, after the log and the key.
func (a *Archive) expectNothing() error {
	lost := &Damage{Where: ledger.CheckpointPath, What: "it is missing", Advice: adviceRepair}
	names, err := a.files.ReadDir(".")
	if err != nil && !missing(err) {
		return fmt.Errorf("open the archive: %w", err)
	}
	for _, name := range names {
		if name != keyPath && name != logDir && name != tmpDir && name != mirrorNote {
			return lost
		}
	}
	segments, err := readLog(a.files, 0)
	if err != nil {
		return err
	}
	for _, s := range segments {
		if s.first != 0 || len(s.data) > segmentHead {
			return lost
		}
	}
	if len(segments) == 0 && !a.keyMissing {
		return lost
	}
	a.fresh = true
	return a.expectNoMirror()
}

// readSealed reads the checkpoint and what goes on from it.
func (a *Archive) readSealed(note []byte) error {
	if err := a.readTree(note); err != nil {
		return err
	}
	return a.readLog()
}

// readTree reads the checkpoint and the tree's edge.
func (a *Archive) readTree(note []byte) error {
	c, err := ledger.OpenCheckpoint(note, a.keys.Verifier)
	if err != nil {
		return &Damage{Where: ledger.CheckpointPath, What: "it is damaged", Err: err, Advice: adviceRepair}
	}
	a.sealed, a.note = c, note
	a.edge, a.edgeErr = ledger.ReadEdge(readable{a.files}, c)
	a.full = fullBundles(c.Size)
	return nil
}

// readLog takes the events that are not in full bundles from the log.
func (a *Archive) readLog() error {
	var err error
	if a.ending, err = readLog(a.files, a.full); err != nil {
		return err
	}
	if a.recent, a.tail, err = joinLog(a.ending, a.full); err != nil {
		return err
	}
	return a.reaches(a.size())
}

// reaches refuses a log that ends before the checkpoint.
func (a *Archive) reaches(end int64) error {
	if end < a.sealed.Size {
		return damagedLog(logDir, "it ends after event %d, and the checkpoint covers %s", end, english.Count(a.sealed.Size, "event"))
	}
	return nil
}

// fullBundles returns how many of so many events are in full bundles.
func fullBundles(size int64) int64 { return size / ledger.TileWidth * ledger.TileWidth }

func (a *Archive) size() int64 { return a.full + int64(len(a.recent)) }

// Size returns how many events the archive holds.
func (a *Archive) Size() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size()
}

// Sealed returns how many events the last checkpoint covers.
func (a *Archive) Sealed() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sealed.Size
}

// Checkpoint returns the last signed checkpoint.
func (a *Archive) Checkpoint() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Clone(a.note)
}

// usable says whether the archive can be written.
func (a *Archive) usable() error {
	a.mu.Lock()
	err := a.state
	a.mu.Unlock()
	if err != nil {
		return err
	}
	if a.mirror != nil {
		if err := a.mirror.usable(); err != nil {
			return err
		}
	}
	return a.files.usable()
}

// Append adds events, as stored, and returns when they are durable: one write, one
// sync. It returns them as the archive keeps them. After a write that failed nothing can be appended any
// more, and whether these events are in the archive shows when it is opened again.
func (a *Archive) Append(events [][]byte) ([][]byte, error) {
	for _, stored := range events {
		if len(stored) == 0 || len(stored) > ledger.MaxEvent {
			return nil, fmt.Errorf("archive an event of %d bytes: it has at least 1, and at most %d", len(stored), ledger.MaxEvent)
		}
	}
	a.appending.Lock()
	defer a.appending.Unlock()
	if err := a.usable(); err != nil {
		return nil, err
	}
	if a.journal != nil {
		return nil, errors.New("the log is a cluster member's: events are committed, and not appended")
	}
	if len(events) == 0 {
		return nil, nil
	}
	begun := time.Now()
	kept, err := a.writeBatch(events)
	if err == nil && a.synced != nil {
		a.synced(time.Since(begun))
	}
	if err != nil {
		return nil, a.files.fail(fmt.Errorf("append to the archive's log: %w", err))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recent = append(a.recent, kept...)
	return kept, nil
}

// writeBatch writes events to the log, to a new segment if the last one is large.
// It returns them as the archive may keep them.
func (a *Archive) writeBatch(events [][]byte) ([][]byte, error) {
	first := a.Size()
	if a.logBytes <= segmentLimit {
		data, kept := appendBatch(nil, first, events)
		a.logBytes += len(data)
		return kept, writeSync(a.log, data)
	}
	data, kept := appendBatch(newSegment(first), first, events)
	next, err := a.createLog(segmentName(first))
	if err != nil {
		return nil, err
	}
	last := a.log
	a.log, a.logBytes = next, len(data)
	return kept, errors.Join(last.Stands(), last.Close(), writeSync(next, data), a.syncLogDir())
}

// writeSync writes durably to a file of the log. Nothing is acknowledged that lies in a file which others,
// and the next start, don't find.
func writeSync(f File, data []byte) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Stands()
}

// Entries calls f for every event from an index on, as stored, up to the last one
// at the time of the call. The bytes are f's to keep, not to change. Bundles are held against
// their tiles.
func (a *Archive) Entries(from int64, f func(index int64, stored []byte) error) error {
	return a.entries(from, a.provenBundle, f)
}

func (a *Archive) entries(from int64, bundle func(index int64) ([][]byte, error), f func(index int64, stored []byte) error) error {
	a.mu.Lock()
	full, recent := a.full, a.recent
	a.mu.Unlock()
	if from < 0 || from > full+int64(len(recent)) {
		return fmt.Errorf("the archive has %s: there is no event %d", english.Count(full+int64(len(recent)), "event"), from+1)
	}
	for from < full {
		events, err := bundle(from / ledger.TileWidth)
		if err != nil {
			return err
		}
		for _, stored := range events[from%ledger.TileWidth:] {
			if err := f(from, stored); err != nil {
				return err
			}
			from++
		}
	}
	for _, stored := range recent[from-full:] {
		if err := f(from, stored); err != nil {
			return err
		}
		from++
	}
	return nil
}

// fullBundle reads the events of a full bundle.
func (a *Archive) fullBundle(index int64) ([][]byte, error) {
	return readBundle(a.files, index, ledger.TileWidth)
}

// provenBundle reads the events of a full bundle, and holds them against their tile.
func (a *Archive) provenBundle(index int64) ([][]byte, error) {
	events, err := a.fullBundle(index)
	if err != nil {
		return nil, err
	}
	name := ledger.TilePath(0, index, ledger.TileWidth)
	tile, err := a.files.ReadFile(name)
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read %s of the archive: %w", name, err)
	}
	if i := firstOther(tile, events); i >= 0 {
		return nil, &Damage{
			Where: ledger.EntriesPath(index, ledger.TileWidth), Advice: adviceVerify,
			What: fmt.Sprintf("event %d and its hash in %s do not belong together", index*ledger.TileWidth+int64(i)+1, name),
		}
	}
	return events, nil
}

// readBundle reads the events of a bundle.
func readBundle(fs FS, index int64, width int) ([][]byte, error) {
	name := ledger.EntriesPath(index, width)
	data, err := fs.ReadFile(name)
	switch {
	case missing(err):
		return nil, &Damage{Where: name, What: "it is missing", Advice: adviceRepair}
	case err != nil:
		return nil, fmt.Errorf("read %s of the archive: %w", name, err)
	}
	events, err := ledger.Entries(data)
	if err == nil && len(events) != width {
		err = fmt.Errorf("there are %d events in it, and should be %d", len(events), width)
	}
	if err != nil {
		return nil, &Damage{Where: name, What: "it is damaged", Err: err, Advice: adviceRepair}
	}
	return events, nil
}

// Root returns the root of the tree of the first size events, which are sealed.
func (a *Archive) Root(size int64) (root ledger.Hash, err error) {
	err = a.proven(func(f *ledger.Files) error {
		root, err = f.Root(size)
		return err
	})
	return root, err
}

// Prove proves that an event is in the ledger as the last checkpoint has it. The
// proof was checked before it is returned.
func (a *Archive) Prove(index int64) (proof ledger.Proof, err error) {
	switch {
	case index < 0:
		return ledger.Proof{}, fmt.Errorf("there is no event %d", index+1)
	case index >= a.Sealed():
		return ledger.Proof{}, fmt.Errorf("event %d: %w", index+1, ErrNotSealed)
	}
	err = a.proven(func(f *ledger.Files) error {
		proof, err = f.Prove(index)
		return err
	})
	if err != nil {
		name := ledger.EntriesPath(index/ledger.TileWidth, ledger.TileWidth)
		return ledger.Proof{}, &Damage{Where: name, What: fmt.Sprintf("event %d can't be proven to be the one that was signed", index+1), Err: err, Advice: adviceVerify}
	}
	return proof, nil
}

// proven looks at the sealed ledger, and nothing is sealed meanwhile.
func (a *Archive) proven(look func(*ledger.Files) error) error {
	a.sealing.Lock()
	defer a.sealing.Unlock()
	f, err := ledger.OpenFiles(readable{a.files}, a.keys.Verifier)
	if err != nil {
		return err
	}
	return look(f)
}

// Event returns one event, as stored. The bytes are not to be changed.
func (a *Archive) Event(index int64) ([]byte, error) {
	a.mu.Lock()
	full, recent := a.full, a.recent
	a.mu.Unlock()
	switch {
	case index < 0 || index >= full+int64(len(recent)):
		return nil, fmt.Errorf("the archive has %s: there is no event %d", english.Count(full+int64(len(recent)), "event"), index+1)
	case index >= full:
		return recent[index-full], nil
	}
	events, err := a.provenBundle(index / ledger.TileWidth)
	if err != nil {
		return nil, err
	}
	return events[index%ledger.TileWidth], nil
}

// Close seals what is not sealed, and closes the archive.
func (a *Archive) Close() error {
	_, err := a.Seal()
	if errors.Is(err, ErrNotStarted) || errors.Is(err, ErrClosed) {
		err = nil
	}
	a.appending.Lock()
	defer a.appending.Unlock()
	a.mu.Lock()
	a.state = ErrClosed
	a.mu.Unlock()
	if a.log != nil {
		err = errors.Join(err, a.log.Close())
		a.log = nil
	}
	if a.journal != nil {
		err = errors.Join(err, a.journal.close())
	}
	return err
}

// drop forgets events that are in full bundles now. The slice is copied, so that
// their bytes can be collected.
func (a *Archive) drop(full int64) {
	a.recent = slices.Clone(a.recent[full-a.full:])
	a.full = full
}
