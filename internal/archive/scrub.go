package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Scrub verifies a stretch of the archive while it is in use: about n events from an index on, in
// whole bundles. It holds the bundles against their tiles and these, over the tiles above them,
// against the tree's edge, which has the signed root; the segments of the log with these
// events; and the blobs that they refer to, but for those that were removed on purpose. It returns
// where the next stretch begins.
//
// Calls from 0 on, each from where the one before ended, cover all that is there once next is the
// archive's size; then the next round begins at 0. A part of the round goes over a part of all
// blobs, so that those to which no event refers are looked at too.
//
// What is not as it was written is a [Damage]. A stretch needs the memory of one bundle and one segment,
// and holds up nothing that is written, but for the last one, which looks at what a seal replaces.
func (a *Archive) Scrub(ctx context.Context, from, n int64, removed Removed) (next int64, err error) {
	s, err := a.newScrub(from, n, removed)
	if err != nil || s.size == 0 {
		return from, err
	}
	for _, verify := range []func(context.Context) error{s.events, s.end, s.holdMirror, s.allBlobs} {
		if err := verify(ctx); err != nil {
			if a.journal != nil {
				err = ofMember(err)
			}
			return from, err
		}
	}
	return s.to, nil
}

// Removed says whether an event after an index says that a blob was removed. A nil one says that of
// no blob.
type Removed func(sum ledger.Hash, after int64) (bool, error)

// scrub is one stretch, and the archive as it was when it began.
type scrub struct {
	a                    *Archive
	removed              Removed
	from, to, full, size int64
	recent               [][]byte
	sealed               int64
	edge                 map[string][]byte // the tiles that are not full, by name
	upper                map[int]upperTile // the last one of each level that was proven
	looked               map[ledger.Hash]foundBlob
}

type upperTile struct {
	index int64
	data  []byte
}

type foundBlob struct {
	size  int64
	state blobState
}

func (a *Archive) newScrub(from, n int64, removed Removed) (*scrub, error) {
	if err := a.usable(); err != nil {
		return nil, err
	}
	s := &scrub{a: a, removed: removed, edge: map[string][]byte{}, upper: map[int]upperTile{}, looked: map[ledger.Hash]foundBlob{}}
	a.sealing.Lock()
	edge := a.edge.Clone()
	a.mu.Lock()
	s.full, s.recent, s.size, s.sealed = a.full, a.recent, a.size(), a.sealed.Size
	a.mu.Unlock()
	a.sealing.Unlock()
	if from < 0 || from > s.size || n < 1 {
		return nil, fmt.Errorf("the archive has %s: there is no stretch of %d from %d on", english.Count(s.size, "event"), n, from)
	}
	s.from = from
	if from < s.full {
		s.from = fullBundles(from)
	}
	if s.to = from + min(n, s.size-from); s.to < s.full {
		s.to = fullBundles(s.to + ledger.TileWidth - 1)
	}
	return s, edge.Partial(0, func(name string, tile []byte) error {
		s.edge[name] = tile
		return nil
	})
}

// events verifies the full bundles of the stretch, and holds the log against them, side by side.
func (s *scrub) events(ctx context.Context) error {
	bundles := bundleReader{read: s.bundle}
	same := func(index int64, stored []byte) (bool, error) {
		if index >= s.full {
			return bytes.Equal(stored, s.recent[index-s.full]), nil
		}
		want, err := bundles.event(index)
		return bytes.Equal(stored, want), err
	}
	if s.a.journal != nil {
		if err := s.bundled(ctx, &bundles, s.to); err != nil {
			return err
		}
		_, err := holdMemberLog(ctx, s.a.files, s.from, s.to, s.sealed, same)
		return err
	}
	_, firsts, err := segmentNames(s.a.files)
	if err != nil {
		return err
	}
	first := s.to // of the events that the log has
	if len(firsts) > 0 {
		first = min(first, firsts[0])
	}
	if err := s.bundled(ctx, &bundles, first); err != nil {
		return err
	}
	_, err = holdLog(ctx, s.a.files, s.from, s.to, same)
	return err
}

// bundled verifies the full bundles with events that may be in bundles only: those before one.
func (s *scrub) bundled(ctx context.Context, bundles *bundleReader, before int64) error {
	for at := s.from; at < min(before, s.full); at += ledger.TileWidth {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := bundles.event(at); err != nil {
			return err
		}
	}
	return nil
}

// bundle verifies a full bundle, and returns its events.
func (s *scrub) bundle(n int64) ([][]byte, error) {
	events, err := s.a.fullBundle(n)
	if err != nil {
		return nil, err
	}
	tile, err := s.tile(0, n)
	if err != nil {
		return nil, err
	}
	if i := firstOther(tile, events); i >= 0 {
		return nil, &Damage{
			Where: ledger.EntriesPath(n, ledger.TileWidth), Advice: adviceRepair,
			What: fmt.Sprintf("event %d is not the one that was signed", n*ledger.TileWidth+int64(i)+1),
		}
	}
	return events, s.blobs(n*ledger.TileWidth, events)
}

// tile returns a full tile, proven by the one above it.
func (s *scrub) tile(level int, n int64) ([]byte, error) {
	if last, ok := s.upper[level]; ok && last.index == n {
		return last.data, nil
	}
	above, err := s.above(level+1, n/ledger.TileWidth)
	if err != nil {
		return nil, err
	}
	name := ledger.TilePath(level, n, ledger.TileWidth)
	data, err := s.a.files.ReadFile(name)
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("read %s of the archive: %w", name, err)
	}
	const size = len(ledger.Hash{})
	at := int(n%ledger.TileWidth) * size
	root, full := ledger.TileRoot(data)
	if !full || len(above) < at+size || root != ledger.Hash(above[at:at+size]) {
		return nil, &Damage{Where: name, What: "it is not the tile that was signed", Advice: adviceRepair}
	}
	s.upper[level] = upperTile{n, data}
	return data, nil
}

// above returns a tile, full or at the tree's edge.
func (s *scrub) above(level int, n int64) ([]byte, error) {
	if count := s.sealed >> (tileBits * level); n == count/ledger.TileWidth {
		return s.edge[ledger.TilePath(level, n, int(count%ledger.TileWidth))], nil
	}
	return s.tile(level, n)
}

// end verifies what is not in full bundles, if the stretch reaches that: the tiles and the bundle
// that are not full, the checkpoint and the key.
func (s *scrub) end(context.Context) error {
	if s.to < s.size {
		return nil
	}
	if err := s.blobs(s.full, s.recent); err != nil {
		return err
	}
	a := s.a
	a.sealing.Lock()
	defer a.sealing.Unlock()
	a.mu.Lock()
	note, n, recent, full := a.note, a.sealed.Size-a.full, a.recent, a.full
	a.mu.Unlock()
	hold := func(name string, want []byte) error {
		if ok, err := a.holds(name, want); ok || err != nil {
			return err
		}
		return &Damage{Where: name, What: "it is missing, or is not as it was written", Advice: adviceRepair}
	}
	if err := a.edge.Partial(0, hold); err != nil {
		return err
	}
	if n > 0 {
		if err := hold(bundle(full, recent[:n])); err != nil {
			return err
		}
	}
	if err := hold(keyPath, keyFile(a.keys)); err != nil {
		return err
	}
	return hold(ledger.CheckpointPath, note)
}

// blobs verifies the blobs that events refer to.
func (s *scrub) blobs(first int64, events [][]byte) error {
	for i, stored := range events {
		if err := checkBlobs(first+int64(i), stored, s.look, s.absent); err != nil {
			return err
		}
	}
	return nil
}

// absent says whether a blob that is missing was removed on purpose.
func (s *scrub) absent(index int64, ref ledger.Blob) error {
	if s.removed != nil {
		if ok, err := s.removed(ref.SHA256, index); ok || err != nil {
			return err
		}
	}
	return missingBlob(index, ref.SHA256)
}

func (s *scrub) look(sum ledger.Hash) (int64, blobState, error) {
	if f, ok := s.looked[sum]; ok {
		return f.size, f.state, nil
	}
	var f foundBlob
	name := ledger.BlobPath(sum)
	data, err := s.a.files.ReadFile(name)
	switch {
	case missing(err):
		f.state = blobMissing
	case err != nil:
		return 0, 0, fmt.Errorf("read %s of the archive: %w", name, err)
	case sha256.Sum256(data) != sum:
		f.state = blobDamaged
	}
	f.size = int64(len(data))
	s.looked[sum] = f
	return f.size, f.state, nil
}

// blobMarks is into how many parts all blobs are divided, by the order of their names.
const blobMarks = 1 << 16

// blobMark returns the first name of a part, "" before the first and after the last one.
func blobMark(part int64) string {
	if part == 0 || part == blobMarks {
		return ""
	}
	digits := fmt.Sprintf("%04x", part)
	return digits[:2] + "/" + digits
}

// allBlobs verifies the part of all blobs that belongs to the stretch.
func (s *scrub) allBlobs(ctx context.Context) error {
	part := func(index int64) int64 { return min(int64(float64(index)/float64(s.size)*blobMarks), blobMarks-1) }
	begin, end := blobMark(part(s.from)), blobMark(part(s.to)+1)
	prefixes, err := s.a.files.ReadDir(blobDir)
	if err != nil && !missing(err) {
		return fmt.Errorf("read the archive's blobs: %w", err)
	}
	for _, prefix := range prefixes {
		if prefix+"0" <= begin || end != "" && prefix >= end { // '0' comes after '/'
			continue
		}
		names, err := s.a.files.ReadDir(blobDir + "/" + prefix)
		if err != nil && !missing(err) {
			return fmt.Errorf("read the archive's blobs: %w", err)
		}
		for _, name := range names {
			name = prefix + "/" + name
			if name < begin || end != "" && name >= end {
				continue
			}
			if err := s.blob(ctx, blobDir+"/"+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// blob holds a blob against its name.
func (s *scrub) blob(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data, err := s.a.files.ReadFile(name)
	switch {
	case missing(err):
		return nil // removed just now; an event that refers to it finds it missing
	case err != nil:
		return fmt.Errorf("read the archive's blobs: %w", err)
	case ledger.BlobPath(sha256.Sum256(data)) != name:
		return damagedBlob(name, "its bytes are not those that its name says")
	}
	return nil
}
