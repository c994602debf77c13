package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/ledger"
)

// preference says which of two copies of a sealed event is taken if they differ.
// The signed root says afterwards whether that was right.
type preference int

const (
	preferTile preference = iota // the one whose hash is in the tile, or the archive's
	preferArchive
	preferStream
)

// examination is what Repair knows before it changes anything.
type examination struct {
	files  *store
	keys   Keys
	stream Stream // nil if there is none that can be read

	keyWrong  bool
	signed    ledger.Checkpoint // of what is in full bundles, if unsigned is not empty
	unsigned  string            // why there is no valid checkpoint
	full      int64             // how many events should be in full bundles
	log       map[int64][]byte  // the events in batches that are whole
	logFiles  []string
	logFault  string // why the log has to be written again
	logEnd    int64  // where the log ended, as far as what is left of it says
	logUnsure bool   // it may have held more than that
	blobs     blobs

	walked
}

// walked is what a walk over both copies gave.
type walked struct {
	tree      ledger.Tree
	chains    ledger.Chains
	cursor    *cursor
	bundle    int64    // the bundle that is at hand
	inBundle  [][]byte // its events, if it can be read
	bundles   []file   // those to be written
	building  []byte   // the bundle of the events so far
	tail      [][]byte // the events after the full bundles
	taken     int64    // how many of these only the stream had
	theirEnd  int64    // where the stream's events end
	streamBad string   // why the stream has to be built again
	differed  bool     // a copy of an event was missing or another
	blobErrs  []string
	lost      string // what is in neither copy
}

// examine looks at the key, the checkpoint, the log and the blobs.
func examine(fs FS, keys Keys, stream Stream) (*examination, error) {
	x := &examination{files: newStore(fs), keys: keys, stream: stream}
	key, err := fs.ReadFile(keyPath)
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("repair the archive: %w", err)
	}
	x.keyWrong = !bytes.Equal(key, keyFile(keys))
	note, err := fs.ReadFile(ledger.CheckpointPath)
	if err == nil {
		x.signed, err = ledger.OpenCheckpoint(note, keys.Verifier)
	}
	if err != nil {
		x.unsigned = err.Error()
		if x.keyWrong {
			return nil, &Damage{Where: keyPath, What: "neither it nor the checkpoint is of the key in use", Advice: adviceKey}
		}
		if x.signed.Size, err = countBundles(fs); err != nil {
			return nil, err
		}
	}
	x.full = fullBundles(x.signed.Size)
	if err := x.readLog(); err != nil {
		return nil, err
	}
	if x.unsigned != "" && x.full == 0 && len(x.logFiles) == 0 {
		return nil, &Damage{Where: ".", What: "there is no archive here, and nothing proves what the stream has", Advice: adviceDir}
	}
	x.blobs, err = readBlobs(fs)
	return x, err
}

// countBundles returns how many events are in full bundles, by their files.
func countBundles(fs FS) (int64, error) {
	for n := int64(0); ; n++ {
		_, err := fs.ReadFile(ledger.EntriesPath(n, ledger.TileWidth))
		if missing(err) {
			return n * ledger.TileWidth, nil
		}
		if err != nil {
			return 0, fmt.Errorf("repair the archive: %w", err)
		}
	}
}

func (x *examination) readLog() error {
	segments, superseded, err := readLog(x.files, x.full)
	if err != nil {
		return err
	}
	x.logFiles = superseded
	x.log = map[int64][]byte{}
	for i, s := range segments {
		x.logFiles = append(x.logFiles, s.name)
		for _, b := range s.batches {
			for i, stored := range b.events {
				x.log[b.first+int64(i)] = stored
			}
			x.logEnd = max(x.logEnd, b.end())
		}
		for _, f := range s.faults {
			atEnd := f.last && i == len(segments)-1
			if atEnd && f.torn {
				continue
			}
			x.logEnd = max(x.logEnd, f.first+f.count)
			x.logUnsure = x.logUnsure || atEnd && f.count == 0
		}
	}
	x.logUnsure = x.logUnsure || len(segments) == 0 || x.logEnd < x.signed.Size
	events, tail, err := joinLog(segments, x.full)
	var damage *Damage
	switch end := x.full + int64(len(events)); {
	case errors.As(err, &damage):
		x.logFault = damage.Where + ": " + damage.What
	case tail != nil:
		x.logFault = fmt.Sprintf("%s: it is not whole at byte %d", tail.segment, tail.at)
	case end < x.signed.Size:
		x.logFault = fmt.Sprintf("%s: it ends after event %d, and the checkpoint covers %d events", logDir, end, x.signed.Size)
	}
	return nil
}

// walk goes through both copies and chooses an event for every index. It returns
// false if these are not the events that were signed.
func (x *examination) walk(ctx context.Context, prefer preference) (bool, error) {
	x.walked = walked{bundle: -1, cursor: &cursor{}}
	if x.stream == nil {
		x.streamBad = "it can't be read"
	} else {
		ctx, cancel := context.WithCancel(ctx)
		cursor, done := read(ctx, x.stream)
		defer func() { cancel(); <-done }()
		x.cursor = cursor
	}
	for index := int64(0); ; index++ {
		if index == x.signed.Size && !x.proven() {
			return false, ctx.Err()
		}
		ours, theirs := x.ours(index), x.theirs(index)
		if ours == nil && theirs == nil && index >= max(x.signed.Size, x.logEnd) {
			break
		}
		if ours == nil || !bytes.Equal(ours, theirs) {
			x.differed = x.differed || index < x.logEnd || index < x.signed.Size
		}
		chosen := x.choose(index, ours, theirs, prefer)
		if chosen == nil {
			x.lost = fmt.Sprintf("event %d is neither in the archive nor in the stream", index+1)
			break
		}
		if theirs != nil && !bytes.Equal(theirs, chosen) && x.streamBad == "" {
			x.streamBad = fmt.Sprintf("its event %d is not the one that is proven", index+1)
		}
		more, err := x.take(index, chosen, ours != nil)
		if err != nil {
			return false, err
		}
		if !more {
			break
		}
	}
	if err := x.endStream(ctx); err != nil {
		return false, err
	}
	if x.taken > 0 && x.streamBad != "" && x.logFault == "" {
		x.logFault = "it lacks events that the stream has"
	}
	return true, nil
}

// proven says whether the events so far are those that were signed. Without a valid
// checkpoint there is nothing to hold them against.
func (x *examination) proven() bool {
	root, err := x.tree.Root(x.signed.Size)
	return err == nil && (x.unsigned != "" || root == x.signed.Root)
}

// ours returns the archive's copy of an event, or nil.
func (x *examination) ours(index int64) []byte {
	if n := index / ledger.TileWidth; index < x.signed.Size && n != x.bundle {
		x.bundle = n
		x.inBundle, _ = readBundle(x.files, n, int(min(ledger.TileWidth, x.signed.Size-n*ledger.TileWidth)))
	}
	stored, logged := x.log[index]
	if index < x.signed.Size && x.inBundle != nil && (index < x.full || !logged) {
		return x.inBundle[index%ledger.TileWidth]
	}
	return stored
}

// theirs returns the stream's copy of an event, or nil.
func (x *examination) theirs(index int64) []byte {
	if x.stream == nil {
		return nil
	}
	r, ok := x.cursor.peek()
	switch {
	case !ok:
		return nil
	case r.Seq != uint64(index)+1:
		if x.streamBad == "" {
			x.streamBad = fmt.Sprintf("it lacks event %d", index+1)
		}
		return nil
	}
	x.cursor.advance()
	x.theirEnd = index + 1
	if !sameEvent(r, r.Data) && x.streamBad == "" {
		x.streamBad = fmt.Sprintf("its event %d lies on the subject %q", index+1, r.Subject)
	}
	return r.Data
}

func (x *examination) choose(index int64, ours, theirs []byte, prefer preference) []byte {
	switch {
	case theirs == nil || bytes.Equal(ours, theirs):
		return ours
	case ours == nil:
		return theirs
	case index >= x.signed.Size || prefer == preferArchive:
		return ours // in the log it has a checksum
	case prefer == preferStream:
		return theirs
	}
	if bytes.Equal(leaf(theirs), x.inTile(index)) {
		return theirs
	}
	return ours
}

// leaf returns the hash of an event as it is in a tile: that of a tree which has
// nothing else.
func leaf(stored []byte) []byte {
	var t ledger.Tree
	if err := t.Append(stored); err != nil {
		return nil
	}
	root, err := t.Root(1)
	if err != nil {
		return nil
	}
	return root[:]
}

// inTile returns an event's hash as the tile has it, or nil.
func (x *examination) inTile(index int64) []byte {
	n := index / ledger.TileWidth
	width := min(ledger.TileWidth, x.signed.Size-n*ledger.TileWidth)
	data, err := x.files.ReadFile(ledger.TilePath(0, n, int(width)))
	size := int64(len(ledger.Hash{}))
	at := index % ledger.TileWidth * size
	if err != nil || int64(len(data)) < at+size {
		return nil
	}
	return data[at : at+size]
}

// take adds the chosen event. It returns false where the stream's events stop
// making sense and nothing more has to be there.
func (x *examination) take(index int64, stored []byte, archived bool) (bool, error) {
	if _, err := x.chains.Add(stored); err != nil && index >= x.signed.Size {
		if !archived && index >= x.logEnd {
			x.streamBad = fmt.Sprintf("its event %d, which the archive does not have, does not continue the ledger: %v", index+1, err)
			return false, nil
		}
		x.lost = fmt.Sprintf("event %d is damaged in the archive, and the stream's does not continue the ledger: %v", index+1, err)
		return false, nil
	}
	if err := x.blobs.check(index, stored); err != nil {
		x.blobErrs = append(x.blobErrs, strings.TrimSuffix(err.Error(), ": "+adviceBackup))
	}
	if err := x.tree.Append(stored); err != nil {
		return false, err
	}
	if index >= x.full {
		x.tail = append(x.tail, stored)
		if !archived {
			x.taken++
		}
	}
	if index >= x.signed.Size {
		return true, nil
	}
	x.building = ledger.AppendEntry(x.building, stored)
	if n := index + 1; n%ledger.TileWidth == 0 || n == x.signed.Size {
		width := (n-1)%ledger.TileWidth + 1
		name := ledger.EntriesPath((n-1)/ledger.TileWidth, int(width))
		if got, err := x.files.ReadFile(name); err != nil || !bytes.Equal(got, x.building) {
			x.bundles = append(x.bundles, file{name, x.building})
		}
		x.building = nil
	}
	return true, nil
}

// endStream says what is wrong with a stream whose records were all as they should
// be, as far as they go.
func (x *examination) endStream(ctx context.Context) error {
	if err := ctx.Err(); err != nil || x.stream == nil || x.streamBad != "" || x.lost != "" {
		return err
	}
	switch tip, err := x.stream.Tip(ctx); {
	case x.cursor.err != nil:
		x.streamBad = x.cursor.err.Error()
	case err != nil:
		x.streamBad = err.Error()
	case int64(tip) > x.theirEnd:
		x.streamBad = fmt.Sprintf("it lacks event %d", x.theirEnd+1)
	}
	return nil
}

// cannot lists what is lost, after the best walk.
func (x *examination) cannot(proven bool) []string {
	var all []string
	switch {
	case x.lost != "":
		all = append(all, x.lost)
	case x.unsigned != "" && (x.differed || x.logFault != "" || x.streamBad != ""):
		all = append(all, "the checkpoint is not valid, and archive and stream do not agree: nothing says which is right")
	case !proven:
		all = append(all, "neither the archive's events nor the stream's are those that were signed")
	}
	return append(all, x.blobErrs...)
}

// strayBlobs are the damaged blobs that no event refers to.
func (x *examination) strayBlobs() []string { return slices.Sorted(maps.Keys(x.blobs.damaged)) }
