package archive

import (
	"context"
	"fmt"
	"slices"

	"github.com/signalbox-dev/signalbox/ledger"
)

// logReader gives the events of a log as its whole batches have them. It holds one segment in
// memory, and is asked for events in rising order.
type logReader struct {
	fs     FS
	names  []string
	firsts []int64
	at     int // the segment that is read, -1 for none
	segment
	events [][]byte // of the segment, from its first one on; nil for one that is not whole
}

func newLogReader(fs FS) (*logReader, error) {
	names, firsts, err := segmentNames(fs)
	return &logReader{fs: fs, names: names, firsts: firsts, at: -1}, err
}

// event returns an event, or nil if no whole batch has it.
func (r *logReader) event(index int64) ([]byte, error) {
	for r.at+1 < len(r.names) && r.firsts[r.at+1] <= index {
		skip := r.at+2 < len(r.names) && r.firsts[r.at+2] <= index
		if r.at++; skip {
			continue
		}
		if err := r.read(); err != nil {
			return nil, err
		}
	}
	if r.at < 0 || index-r.first >= int64(len(r.events)) {
		return nil, nil
	}
	return r.events[index-r.first], nil
}

// span returns where the segment that is read should end, and false if nothing says that.
func (r *logReader) span() (end int64, known bool) {
	if r.at+1 < len(r.firsts) {
		return r.firsts[r.at+1], true
	}
	return 0, false
}

func (r *logReader) read() error {
	name := r.names[r.at]
	data, err := r.fs.ReadFile(name)
	if err != nil && !missing(err) {
		return fmt.Errorf("read the archive's log: %w", err)
	}
	r.segment = readSegment(name, data)
	end := r.first + int64(len(data)) // an event takes more than one byte
	if next, known := r.span(); known {
		end = min(end, next)
	}
	r.events = nil
	for _, b := range r.batches {
		if b.first < r.first || b.end() > end {
			continue
		}
		for int64(len(r.events)) < b.end()-r.first {
			r.events = append(r.events, nil)
		}
		for i, stored := range b.events {
			if at := b.first - r.first + int64(i); r.events[at] == nil {
				r.events[at] = stored
			}
		}
	}
	return nil
}

// whole returns the end of a segment's batches, and whether they follow each other from its first
// event on and there is nothing else.
func (s segment) whole() (end int64, ok bool) {
	next := s.first
	for _, b := range s.batches {
		if b.first != next {
			return -1, false
		}
		next = b.end()
	}
	return next, len(s.faults) == 0
}

// tornAfter says whether all that is wrong with a segment is a write at its end that was never
// finished, of events that no checkpoint covers.
func (s segment) tornAfter(sealed int64) bool {
	return len(s.faults) == 1 && s.faults[0].last && s.faults[0].torn && s.faults[0].first >= sealed
}

// bundleReader gives the sealed events as the bundles have them, one bundle in memory.
type bundleReader struct {
	read   func(index int64) ([][]byte, error)
	at     int64 // the bundle that was read, plus 1
	events [][]byte
}

func (r *bundleReader) event(index int64) ([]byte, error) {
	if n := index / ledger.TileWidth; r.at != n+1 {
		events, err := r.read(n)
		if err != nil {
			return nil, err
		}
		r.at, r.events = n+1, events
	}
	if i := index % ledger.TileWidth; i < int64(len(r.events)) {
		return r.events[i], nil
	}
	return nil, nil
}

// holdLog holds the log against the events from one index to another, one segment in memory at a
// time; same says, for indexes in rising order, whether an event is the right one. Events before the log's first segment have no second
// copy: an archive that was made when segments were removed has them in bundles only. It returns
// how many these are.
func holdLog(ctx context.Context, fs FS, from, to int64, same func(index int64, stored []byte) (bool, error)) (single int64, err error) {
	names, firsts, err := segmentNames(fs)
	if err != nil {
		return 0, err
	}
	if len(names) == 0 {
		return 0, damagedLog(logDir, "the log's file with event %d is missing", from+1)
	}
	h := logHold{from: max(from, firsts[0]), to: to, same: same}
	for k := segmentOf(firsts, from); k < len(names) && (firsts[k] < to || firsts[k] == 0); k++ {
		if err := ctx.Err(); err != nil {
			return firsts[0], err
		}
		data, err := fs.ReadFile(names[k])
		if err != nil {
			return firsts[0], fmt.Errorf("read the archive's log: %w", err)
		}
		end := int64(-1)
		if k+1 < len(firsts) {
			end = firsts[k+1]
		}
		if err := h.segment(readSegment(names[k], data), end); err != nil {
			return firsts[0], err
		}
	}
	return firsts[0], nil
}

// segmentOf returns which segment holds an event, or the first one.
func segmentOf(firsts []int64, index int64) int {
	i, found := slices.BinarySearch(firsts, index)
	if !found {
		i--
	}
	return max(i, 0)
}

type logHold struct {
	from, to int64
	same     func(index int64, stored []byte) (bool, error)
}

// segment holds a segment against the events. It should end where the next one begins; end is -1
// for the last one, at whose end a batch may just be written.
func (h logHold) segment(s segment, end int64) error {
	for _, f := range s.faults {
		if end >= 0 || f.first < h.to || !f.last {
			return damagedLog(s.name, "it is damaged at byte %d, in event %d or after it", f.at, f.first+1)
		}
	}
	next := s.first
	for _, b := range s.batches {
		if b.first != next {
			return damagedLog(s.name, "event %d comes where event %d should be", b.first+1, next+1)
		}
		for i, stored := range b.events {
			index := b.first + int64(i)
			if index < h.from || index >= h.to {
				continue
			}
			same, err := h.same(index, stored)
			if err != nil {
				return err
			}
			if !same {
				return damagedLog(s.name, "its event %d is not the one that was signed", index+1)
			}
		}
		next = b.end()
	}
	if end < 0 && next < h.to || end >= 0 && next != end {
		return damagedLog(s.name, "it ends after event %d, and should go on", next)
	}
	return nil
}

// tileReader compares events with their hashes in the tiles of level 0, one tile in memory.
type tileReader struct {
	read func(index int64) ([]byte, error)
	at   int64 // the tile that was read, plus 1
	tile []byte
}

func (r *tileReader) same(index int64, stored []byte) (bool, error) {
	if n := index / ledger.TileWidth; r.at != n+1 {
		tile, err := r.read(n)
		if err != nil {
			return false, err
		}
		r.at, r.tile = n+1, tile
	}
	const size = int64(len(ledger.Hash{}))
	at := index % ledger.TileWidth * size
	return int64(len(r.tile)) >= at+size && ledger.LeafHash(stored) == ledger.Hash(r.tile[at:at+size]), nil
}

// tiles reads the tiles of level 0 of the sealed events.
func (a *Archive) tiles() *tileReader {
	return &tileReader{read: func(n int64) ([]byte, error) {
		name := ledger.TilePath(0, n, int(min(ledger.TileWidth, a.sealed.Size-n*ledger.TileWidth)))
		tile, err := a.files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s of the archive: %w", name, err)
		}
		return tile, nil
	}}
}
