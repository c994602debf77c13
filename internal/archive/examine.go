package archive

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/ledger"
)

// preference says which of several copies of a sealed event is taken if they differ.
// The signed root says afterwards whether that was right.
type preference int

const (
	preferTile preference = iota // the one whose hash is in the tile, or the log's
	preferLog
	preferBundle
)

// examination is what Repair knows before it changes anything.
type examination struct {
	files  *store
	mirror *store // of the log; nil if there is none
	keys   Keys

	keyWrong bool
	signed   ledger.Checkpoint // of what is in full bundles, if unsigned is not empty
	unsigned string            // why there is no valid checkpoint
	end      int64             // how many events there are, as far as what is left says
	unsure   bool              // the log may have held more than that
	logFault *fault            // at the log's end, which is no torn write
	blobs    blobs

	walked
}

// walked is what a walk over the copies gave.
type walked struct {
	prefer   preference
	edge     ledger.Edge
	bundles  bundleReader
	log      *logReader
	mirrored *logReader // nil without a mirror
	tile     []byte     // the tile of level 0 that is at hand
	tileAt   int64      // its index, plus 1
	differed bool       // a copy of a sealed event was missing or another
	held     blobCheck
	foreign  bool // the log's last sealed event so far is not the signed one, and its checksum is right
	blobErrs []string
	lost     string // what is in no copy
}

// examine looks at the key, the checkpoint, the log's end and the blobs.
func examine(fs FS, keys Keys) (*examination, error) {
	x := &examination{files: newStore(fs), mirror: mirrorOf(fs), keys: keys}
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
	if err := x.findEnd(); err != nil {
		return nil, err
	}
	if names, _, err := segmentNames(fs); x.unsigned != "" && x.end == 0 && len(names) == 0 {
		if err != nil {
			return nil, err
		}
		return nil, &Damage{Where: ".", What: "there is no archive here", Advice: adviceDir}
	}
	x.blobs, err = readBlobs(fs)
	return x, err
}

// countBundles returns how many events are in full bundles, by their files.
func countBundles(fs FS) (int64, error) {
	for n := int64(0); ; n++ {
		r, err := fs.OpenReader(ledger.EntriesPath(n, ledger.TileWidth))
		if missing(err) {
			return n * ledger.TileWidth, nil
		}
		if err == nil {
			err = r.Close()
		}
		if err != nil {
			return 0, fmt.Errorf("repair the archive: %w", err)
		}
	}
}

// findEnd finds out how many events there are. The log's last segment says that.
func (x *examination) findEnd() error {
	end, tail, err := logEnd(x.files, x.signed.Size)
	if err != nil {
		return err
	}
	x.logFault = tail
	x.end = max(end, x.signed.Size)
	x.unsure = end < x.signed.Size || tail != nil && tail.count == 0
	if x.mirror == nil {
		return nil
	}
	end, tail, err = logEnd(x.mirror, x.signed.Size)
	if err != nil {
		return inTheMirrorsWay(x.mirror, err)
	}
	x.end = max(end, x.end)
	x.unsure = x.unsure && (end < x.signed.Size || tail != nil)
	return nil
}

// logEnd returns where a log ends that is not torn: after its last batch, or after one that is
// damaged at its end, which is returned. Of that one it may not be known how many events it has;
// then it has one at least. A write that was never finished is not of the log, if no checkpoint
// covers what it should be.
func logEnd(fs FS, sealed int64) (end int64, tail *fault, err error) {
	names, _, err := segmentNames(fs)
	if err != nil || len(names) == 0 {
		return 0, nil, err
	}
	name := names[len(names)-1]
	data, err := fs.ReadFile(name)
	if err != nil {
		return 0, nil, fmt.Errorf("read the archive's log: %w", err)
	}
	s := readSegment(name, data)
	end = s.first
	for _, b := range s.batches {
		end = max(end, b.end())
	}
	for _, f := range s.faults {
		// What is in it may be another segment's: then nothing says what it had.
		others := f.at == 0 && !slices.ContainsFunc(s.batches, func(b batch) bool { return b.first == s.first })
		if (f.last || others) && len(data) > segmentHead && (!f.torn || f.first < sealed) {
			tail = &f
			end = max(end, f.first+max(f.count, 1))
		}
	}
	return end, tail, nil
}

// walk goes through all copies, chooses one for every event, and gives it to take with the log's
// copy, which may be nil. Tiles as the chosen events make them go to tile. It returns false if
// these are not the events that were signed.
func (x *examination) walk(ctx context.Context, prefer preference, take func(index int64, chosen, logged []byte) error, tile func(name string, want []byte) error) (bool, error) {
	if err := x.begin(prefer); err != nil {
		return false, err
	}
	for index := range x.end {
		if index%ledger.TileWidth == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		if index == x.signed.Size && !x.proven() {
			return false, nil
		}
		chosen, logged, err := x.next(index)
		if err != nil || x.lost != "" {
			return false, err
		}
		if err := x.held.event(index, chosen); err != nil {
			x.noteBlob(err)
		}
		if index < x.signed.Size {
			if err := x.edge.Append(chosen, tile); err != nil {
				return false, err
			}
		}
		if err := take(index, chosen, logged); err != nil {
			return false, err
		}
	}
	if !x.proven() {
		return false, nil
	}
	for _, lost := range x.held.missing() {
		x.noteBlob(lost)
	}
	return true, x.edge.Partial(0, tile)
}

// noteBlob notes a blob that can't be restored.
func (x *examination) noteBlob(err error) {
	if len(x.blobErrs) < maxBlobErrs {
		x.blobErrs = append(x.blobErrs, strings.TrimSuffix(err.Error(), ": "+adviceBackup))
	}
}

// maxBlobErrs is how many blobs are named that can't be restored.
const maxBlobErrs = 100

func (x *examination) begin(prefer preference) (err error) {
	x.walked = walked{prefer: prefer, held: newBlobCheck(x.blobs)}
	x.bundles.read = func(n int64) ([][]byte, error) {
		events, err := readBundle(x.files, n, int(min(ledger.TileWidth, x.signed.Size-n*ledger.TileWidth)))
		if isDamage(err) {
			return nil, nil
		}
		return events, err
	}
	if x.log, err = newLogReader(x.files); err != nil || x.mirror == nil {
		return err
	}
	x.mirrored, err = newLogReader(x.mirror)
	return inTheMirrorsWay(x.mirror, err)
}

// proven says whether the events up to the checkpoint are those that were signed. Without a valid
// checkpoint there is nothing to hold them against.
func (x *examination) proven() bool {
	return x.edge.Size() == x.signed.Size && (x.unsigned != "" || x.edge.Root() == x.signed.Root)
}

// next chooses an event. What is in no copy is in x.lost.
func (x *examination) next(index int64) (chosen, logged []byte, err error) {
	if logged, err = x.log.event(index); err != nil {
		return nil, nil, err
	}
	var mirrored, bundled []byte
	if x.mirrored != nil {
		if mirrored, err = x.mirrored.event(index); err != nil {
			return nil, nil, inTheMirrorsWay(x.mirror, err)
		}
	}
	if index >= x.signed.Size {
		return x.unsealed(index, logged, mirrored), logged, nil
	}
	if bundled, err = x.bundles.event(index); err != nil {
		return nil, nil, err
	}
	if logged != nil && bytes.Equal(logged, bundled) {
		x.foreign = false
		return logged, logged, nil
	}
	x.differed = true
	if chosen = x.choose(index, [][]byte{logged, mirrored, bundled}); chosen == nil {
		x.lost = fmt.Sprintf("event %d is neither in a bundle nor in the log", index+1)
	}
	if logged != nil {
		x.foreign = !bytes.Equal(logged, chosen)
	}
	return chosen, logged, nil
}

// choose returns one of several copies, of which those that are missing are nil.
func (x *examination) choose(index int64, copies [][]byte) []byte {
	if x.prefer == preferBundle {
		slices.Reverse(copies)
	}
	hash := x.inTile(index)
	var first []byte
	for _, stored := range copies {
		if stored == nil {
			continue
		}
		if first == nil {
			first = stored
		}
		if leaf := ledger.LeafHash(stored); x.prefer == preferTile && bytes.Equal(leaf[:], hash) {
			return stored
		}
	}
	return first
}

// inTile returns an event's hash as the tile has it, or nil.
func (x *examination) inTile(index int64) []byte {
	n := index / ledger.TileWidth
	if x.tileAt != n+1 {
		width := min(ledger.TileWidth, x.signed.Size-n*ledger.TileWidth)
		x.tile, _ = x.files.ReadFile(ledger.TilePath(0, n, int(width))) // one that can't be read helps nobody
		x.tileAt = n + 1
	}
	const size = int64(len(ledger.Hash{}))
	at := index % ledger.TileWidth * size
	if int64(len(x.tile)) < at+size {
		return nil
	}
	return x.tile[at : at+size]
}

// unsealed chooses an event that no checkpoint covers: the log's checksum, or the mirror's, proves
// it.
func (x *examination) unsealed(index int64, logged, mirrored []byte) []byte {
	switch {
	case logged != nil && x.foreign && mirrored == nil:
		x.lost = fmt.Sprintf("the log has other events than those that were signed: what comes after them, from event %d on, may be of another ledger", index+1)
		return nil
	case x.foreign:
		return mirrored
	case logged == nil && mirrored == nil:
		x.lost = x.lostEnd(index)
		return nil
	case logged == nil:
		return mirrored
	case mirrored != nil && !bytes.Equal(logged, mirrored):
		x.lost = fmt.Sprintf("event %d is another in the log than in its mirror, and no checkpoint says which is right", index+1)
		return nil
	}
	return logged
}

// lostEnd says that an event is lost which was in the log only, and how to go on without it.
func (x *examination) lostEnd(index int64) string {
	text := fmt.Sprintf("event %d, which no checkpoint covers yet, is damaged or missing in the log, and there is no other copy", index+1)
	if f := x.logFault; f != nil && f.first <= index {
		text += fmt.Sprintf(" (%s is damaged at byte %d: to go on without what comes there, and lose it, cut the file to %d bytes)", f.segment, f.at, f.at)
	}
	return text
}

// cannot lists what is lost, after the best walk.
func (x *examination) cannot(proven bool) []string {
	var all []string
	switch {
	case x.lost != "":
		all = append(all, x.lost)
	case x.unsigned != "" && (x.differed || x.logFault != nil):
		all = append(all, "the checkpoint is not valid, and bundles and log do not agree in everything: nothing says which is right")
	case !proven:
		all = append(all, "neither the events in the bundles nor those in the log are those that were signed")
	}
	return append(all, x.blobErrs...)
}

// strayBlobs are the damaged blobs that no event refers to.
func (x *examination) strayBlobs() []string { return slices.Sorted(maps.Keys(x.blobs.damaged)) }
