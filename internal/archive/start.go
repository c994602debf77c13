package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox-dev/signalbox/ledger"
)

// Findings say what [Archive.Start] did.
type Findings struct {
	Verified int64    // events that were read and held against the signed root
	Notes    []string // in words, everything that was healed
}

func (f *Findings) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// Start makes the archive ready to be written, and makes one that is not there yet. It has to
// succeed once before anything is written. It looks at the tree's right edge and at the events from
// an index on; from 0 on it looks at all that is there, and so it does if something is not whole.
// What is derived is made again. Whatever could mean that an acknowledged event is lost or
// altered is a [Damage], and nothing was changed then.
//
// When it returns the log's end is durable: what a box that was killed had written and not
// synced is not lost by a power cut after somebody was told of it.
func (a *Archive) Start(ctx context.Context, from int64) (Findings, error) {
	a.appending.Lock()
	defer a.appending.Unlock()
	a.mu.Lock()
	state := a.state
	a.mu.Unlock()
	switch {
	case state == nil:
		return Findings{}, errors.New("the archive was started already")
	case !errors.Is(state, ErrNotStarted):
		return Findings{}, state
	}
	var found Findings
	var err error
	switch {
	case a.journal != nil:
		err = a.startMember(ctx, from, &found)
	case a.fresh:
		err = a.create()
	default:
		err = a.start(ctx, from, &found)
	}
	if err != nil {
		return Findings{}, err
	}
	a.mu.Lock()
	a.state = nil
	a.mu.Unlock()
	return found, nil
}

// create makes an archive without events. The checkpoint comes last: an archive
// that has one is complete.
func (a *Archive) create() error {
	if err := a.files.Mkdir("."); err != nil {
		return fmt.Errorf("make the archive's directory: %w", err)
	}
	c := a.edge.Checkpoint(a.keys.Origin())
	note, err := c.Sign(a.keys.Signer)
	if err != nil {
		return err
	}
	if err := a.files.clear(); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{segmentName(0), newSegment(0)}, {keyPath, keyFile(a.keys)}, {ledger.CheckpointPath, note}} {
		if f.name == ledger.CheckpointPath {
			a.ending = []segment{readSegment(segmentName(0), newSegment(0))}
			if err := a.settleMirror(); err != nil {
				return err
			}
		}
		if err := a.files.write(f.name, f.data); err != nil {
			return err
		}
	}
	a.mu.Lock()
	a.sealed, a.note = c, note
	a.mu.Unlock()
	return a.extend(0, segmentHead)
}

// extend opens the last segment to be written.
func (a *Archive) extend(first int64, size int) (err error) {
	a.logBytes = size
	a.log, err = a.openLog(segmentName(first), FS.Extend)
	return err
}

func (a *Archive) start(ctx context.Context, from int64, found *Findings) error {
	if err := a.joinMirror(found); err != nil {
		return err
	}
	if err := a.settleTail(found); err != nil {
		return err
	}
	if from == 0 || a.edgeErr != nil || a.holdRecent() != nil || a.holdBundles(ctx, from) != nil {
		if err := a.check(ctx, found); err != nil {
			return err
		}
	}
	if err := a.noteSingle(found); err != nil {
		return err
	}
	if err := a.files.clear(); err != nil {
		return err
	}
	if a.keyMissing {
		if err := a.files.write(keyPath, keyFile(a.keys)); err != nil {
			return err
		}
		found.note("the file %s was missing, and was written again", keyPath)
	}
	return a.secureEnd()
}

// noteSingle says that events lie in bundles only, as in an archive that was made when segments
// were removed. That is no damage, and no reason to write them at every start.
func (a *Archive) noteSingle(found *Findings) error {
	_, firsts, err := segmentNames(a.files)
	if err == nil && len(firsts) > 0 && firsts[0] > 0 {
		found.note("events 1 to %d are in bundles only: `signalbox ledger repair` makes the log's files for them, as a second copy", firsts[0])
	}
	return err
}

// settleTail decides what a batch is that is not whole at the log's end.
func (a *Archive) settleTail(found *Findings) error {
	switch tail := a.tail; {
	case tail == nil:
	case tail.torn:
		found.note("a write to %s that was never finished, nor acknowledged, was removed", tail.segment)
	default:
		return damagedLog(tail.segment, "it is damaged at byte %d, in event %d or after it", tail.at, tail.first+1)
	}
	return nil
}

// holdRecent holds the log's copy of the events in the last, partial bundle against their hashes
// in the tree's edge.
func (a *Archive) holdRecent() error {
	n := a.sealed.Size - a.full
	if n == 0 {
		return nil
	}
	name := ledger.TilePath(0, a.full/ledger.TileWidth, int(n))
	tile, err := a.files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read %s of the archive: %w", name, err)
	}
	if i := firstOther(tile, a.recent[:n]); i >= 0 {
		return damagedLog(logDir, "its event %d is not the one that was signed", a.full+int64(i)+1)
	}
	return nil
}

// holdBundles holds the full bundles that hold an event, and those after it, against their tiles.
func (a *Archive) holdBundles(ctx context.Context, from int64) error {
	for at := from / ledger.TileWidth * ledger.TileWidth; at < a.full; at += ledger.TileWidth {
		if _, err := a.provenBundle(at / ledger.TileWidth); err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	return nil
}

// firstOther returns the first event whose hash is not in its place in a tile of level 0, or -1.
func firstOther(tile []byte, events [][]byte) int {
	const size = len(ledger.Hash{})
	for i, stored := range events {
		if len(tile) < (i+1)*size || ledger.LeafHash(stored) != ledger.Hash(tile[i*size:(i+1)*size]) {
			return i
		}
	}
	return -1
}

// secureEnd writes the segments that hold events after the checkpoint anew, and the log's end to
// the mirror. Their bytes may be in the machine's memory only, and a sync of the old files proves
// nothing: one may have failed before, and what it did not write count as written.
func (a *Archive) secureEnd() error {
	a.ending = cutTail(a.ending, a.tail)
	a.tail = nil
	last := len(a.ending) - 1
	if len(a.ending[last].data) < segmentHead {
		s := a.ending[last]
		a.ending[last] = readSegment(s.name, newSegment(s.first))
	}
	for i, s := range a.ending {
		if i < last && a.ending[i+1].first <= a.sealed.Size {
			continue
		}
		if err := a.files.write(s.name, s.data); err != nil {
			return err
		}
	}
	if err := a.settleMirror(); err != nil {
		return err
	}
	s := a.ending[last]
	a.ending = nil
	return a.extend(s.first, len(s.data))
}
