package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/engine"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Findings say what Reconcile did besides checking.
type Findings struct {
	Restored int64    // events that the stream had lost and was given back
	Archived int64    // events that only the stream had: never acknowledged, or lost from the log's end
	Notes    []string // in words, everything that was healed
}

func (f *Findings) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// Reconcile holds the archive against the stream, and makes an archive that is not
// there yet. It has to succeed once before anything is written. In one pass it
// compares every event with the stream, byte for byte, gives it to each, and checks
// the signed root, the tiles and the blobs. What each gets is not proven until
// Reconcile has returned without an error.
//
// Events that the stream lacks at its end are given back to it. Events that only
// the stream has, and each accepts, are appended to the archive. Any other
// difference is a [Damage], and nothing was changed then.
func (a *Archive) Reconcile(ctx context.Context, stream Stream, each func(index int64, stored []byte) error) (Findings, error) {
	a.appending.Lock()
	defer a.appending.Unlock()
	a.mu.Lock()
	state := a.state
	a.mu.Unlock()
	switch {
	case state == nil:
		return Findings{}, errors.New("the archive was held against the stream already")
	case !errors.Is(state, ErrNotReconciled):
		return Findings{}, state
	}
	tip, err := stream.Tip(ctx)
	if err != nil {
		return Findings{}, fmt.Errorf("hold the archive against the stream: %w", err)
	}
	var found Findings
	if a.fresh {
		err = a.create(tip)
	} else {
		found, err = a.reconcile(ctx, stream, int64(tip), each)
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
func (a *Archive) create(tip uint64) error {
	if tip > 0 {
		return &Damage{Where: ".", What: fmt.Sprintf("there is no archive here, and the stream has %d events", tip), Advice: adviceDir}
	}
	if err := a.files.Mkdir("."); err != nil {
		return fmt.Errorf("make the archive's directory: %w", err)
	}
	c, err := a.tree.Checkpoint(a.keys.Origin())
	if err != nil {
		return err
	}
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
		if err := a.files.write(f.name, f.data); err != nil {
			return err
		}
	}
	a.mu.Lock()
	a.sealed, a.note, a.segments = c, note, []int64{0}
	a.mu.Unlock()
	a.logBytes = segmentHead
	a.log, err = a.files.Extend(segmentName(0))
	return err
}

func (a *Archive) reconcile(ctx context.Context, stream Stream, tip int64, each func(int64, []byte) error) (Findings, error) {
	blobs, err := readBlobs(a.files)
	if err != nil {
		return Findings{}, err
	}
	p := pass{a: a, each: each, blobs: blobs, tip: tip}
	if err := p.run(ctx, stream); err != nil {
		return Findings{}, err
	}
	found := Findings{Archived: int64(len(p.extra))}
	if err := p.settleTail(&found); err != nil {
		return Findings{}, err
	}
	if err := p.heal(&found); err != nil {
		return Findings{}, err
	}
	for events := range slices.Chunk(p.extra, ledger.TileWidth) {
		if err := a.append(events); err != nil {
			return Findings{}, err
		}
	}
	if size := a.Size(); tip < size {
		if err := stream.Restore(ctx, records(tip, a.Entries)); err != nil {
			return Findings{}, fmt.Errorf("give events %d to %d back to the stream: %w", tip+1, size, err)
		}
		found.Restored = size - tip
	}
	return found, nil
}

// pass is one walk over archive and stream. It reads only.
type pass struct {
	a      *Archive
	each   func(int64, []byte) error
	blobs  blobs
	tip    int64 // how many events the stream should have
	stream *cursor

	tree      ledger.Tree
	differs   *Damage  // the first difference between archive and stream
	blobErr   error    // the first blob that is not as an event has it
	eachErr   error    // what each refused
	extra     [][]byte // the events that only the stream has
	stale     []file   // tiles that are not as the events make them
	streamEnd bool
}

type file struct {
	name string
	data []byte
}

// chunk is events that follow each other.
type chunk struct {
	first  int64
	events [][]byte
}

func (p *pass) run(ctx context.Context, stream Stream) error {
	ctx, cancel := context.WithCancel(ctx)
	cursor, streamed := read(ctx, stream)
	p.stream = cursor
	chunks, replayed := make(chan chunk, 4), make(chan error, 1)
	go func() {
		defer close(chunks)
		replayed <- p.replay(ctx, chunks)
	}()
	defer func() {
		cancel()
		<-streamed
		for range chunks { // until the replay has ended
		}
	}()
	for c := range chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		for i, stored := range c.events {
			if err := p.event(c.first+int64(i), stored); err != nil {
				return err
			}
		}
	}
	if err := <-replayed; err != nil {
		return err
	}
	if err := p.verdict(); err != nil {
		return err
	}
	return p.rest()
}

// replay reads the archive's events into the tree and hands them on.
func (p *pass) replay(ctx context.Context, out chan<- chunk) error {
	give := func(events [][]byte) error {
		first := p.tree.Size()
		for _, stored := range events {
			if err := p.tree.Append(stored); err != nil {
				return err
			}
		}
		select {
		case out <- chunk{first, events}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for at := int64(0); at < p.a.full; at += ledger.TileWidth {
		events, err := readBundle(p.a.files, at/ledger.TileWidth, ledger.TileWidth)
		if err == nil {
			err = give(events)
		}
		if err != nil {
			return err
		}
	}
	for events := range slices.Chunk(p.a.recent, ledger.TileWidth) {
		if err := give(events); err != nil {
			return err
		}
	}
	return nil
}

// event takes the archive's next event. What is wrong with it is kept for the
// verdict, as the signed root alone says which copy is right.
func (p *pass) event(index int64, stored []byte) error {
	if p.differs == nil && !p.streamEnd {
		if err := p.compare(index, stored); err != nil {
			return err
		}
	}
	if p.blobErr == nil {
		p.blobErr = p.blobs.check(index, stored)
	}
	if p.eachErr == nil {
		if err := p.each(index, stored); err != nil {
			p.eachErr = fmt.Errorf("event %d: %w", index+1, err)
		}
	}
	return nil
}

func (p *pass) compare(index int64, stored []byte) error {
	r, ok := p.stream.peek()
	if !ok {
		p.streamEnd = true
		if p.stream.err == nil && p.tip > index {
			p.differs = missingInStream(index, p.tip)
		}
		return p.stream.err
	}
	p.stream.advance()
	if r.Seq != uint64(index)+1 {
		p.differs = missingInStream(index, int64(r.Seq)-1)
		return nil
	}
	if !sameEvent(r, stored) {
		p.differs = &Damage{Where: theStream, What: fmt.Sprintf("it differs from the archive at event %d", index+1), Advice: adviceRepair}
	}
	return nil
}

func sameEvent(r engine.Record, stored []byte) bool {
	about, err := subject(stored)
	return bytes.Equal(r.Data, stored) && err == nil && string(about) == r.Subject
}

// missingInStream is the damage of a stream that lacks the events from one to
// before another.
func missingInStream(from, to int64) *Damage {
	return &Damage{Where: theStream, What: fmt.Sprintf("it lacks event %d, and goes on with event %d", from+1, to+1), Advice: adviceRepair}
}

// verdict says what is wrong with the archive's events or the stream's, now that
// the signed root can decide.
func (p *pass) verdict() error {
	signed := p.a.sealed
	root, err := p.tree.Root(signed.Size)
	if err != nil {
		return err
	}
	if err := p.holdTiles(signed.Size); err != nil {
		return err
	}
	switch {
	case root != signed.Root:
		return p.wrongRoot()
	case p.differs != nil:
		p.differs.What += ", and what the archive has there is proven"
		return p.differs
	case p.blobErr != nil:
		return p.blobErr
	case len(p.blobs.damaged) > 0:
		name := slices.Min(slices.Collect(maps.Keys(p.blobs.damaged)))
		return &Damage{Where: name, What: "it is damaged, and no event refers to it", Advice: adviceRepair}
	}
	return p.eachErr
}

// holdTiles holds the tiles, and the partial bundle, against the events.
func (p *pass) holdTiles(size int64) error {
	hold := func(name string, want []byte) error {
		got, err := p.a.files.ReadFile(name)
		if err != nil && !missing(err) {
			return fmt.Errorf("read %s of the archive: %w", name, err)
		}
		if err != nil || !bytes.Equal(got, want) {
			p.stale = append(p.stale, file{name, want})
		}
		return nil
	}
	if err := p.tree.Tiles(0, size, hold); err != nil || size == p.a.full {
		return err
	}
	return hold(bundle(p.a.full, p.a.recent[:size-p.a.full]))
}

// wrongRoot says where the events are not those that were signed. A tile that the
// events don't make shows the bundle.
func (p *pass) wrongRoot() error {
	for _, f := range p.stale {
		if name, ok := strings.CutPrefix(f.name, ledgerTiles); ok {
			return &Damage{Where: ledgerBundles + name, What: "its events are not those that were signed", Advice: adviceRepair}
		}
	}
	return &Damage{Where: ledger.CheckpointPath, What: "it signs other events than those in the archive", Advice: adviceRepair}
}

// A tile of level 0 and the bundle of its events differ in this only.
const (
	ledgerTiles   = "tile/0/"
	ledgerBundles = "tile/entries/"
)

// rest takes the events that only the stream has.
func (p *pass) rest() error {
	if p.streamEnd {
		return nil
	}
	for index := p.tree.Size(); ; index++ {
		r, ok := p.stream.peek()
		switch {
		case !ok && p.stream.err == nil && index < p.tip:
			return missingInStream(index, p.tip)
		case !ok:
			return p.stream.err
		case r.Seq != uint64(index)+1:
			return missingInStream(index, int64(r.Seq)-1)
		}
		p.stream.advance()
		err := p.blobs.check(index, r.Data)
		if err == nil {
			err = p.each(index, r.Data)
		}
		if err == nil && !sameEvent(r, r.Data) {
			err = fmt.Errorf("it lies on the subject %q", r.Subject)
		}
		if err != nil {
			return &Damage{Where: theStream, What: fmt.Sprintf("its event %d, which the archive does not have, can't be taken", index+1), Err: err, Advice: adviceRepair}
		}
		p.extra = append(p.extra, r.Data)
	}
}

// settleTail decides what a batch is that is not whole at the log's end: taken
// from the stream, or never acknowledged.
func (p *pass) settleTail(found *Findings) error {
	tail := p.a.tail
	switch {
	case tail == nil:
	case tail.count > 0 && int64(len(p.extra)) >= tail.count:
		found.note("the last %d events in %s were not whole, and were taken from the stream", tail.count, tail.segment)
	case tail.torn:
		found.note("a write to %s that was never finished, nor acknowledged, was removed", tail.segment)
	default:
		return damagedLog(tail.segment, "it is damaged at byte %d, in event %d or after it, and the stream does not have what was there", tail.at, tail.first+1)
	}
	return nil
}

// heal writes what is derived, and leaves the log so that it can be written.
func (p *pass) heal(found *Findings) error {
	a := p.a
	if err := a.files.clear(); err != nil {
		return err
	}
	for _, name := range a.superseded {
		if err := a.files.Remove(name); err != nil {
			return fmt.Errorf("remove a superseded file of the archive: %w", err)
		}
	}
	if a.keyMissing {
		if err := a.files.write(keyPath, keyFile(a.keys)); err != nil {
			return err
		}
		found.note("the file %s was missing, and was written again", keyPath)
	}
	w := writer{store: a.files}
	for _, f := range p.stale {
		if err := w.put(f.name, f.data); err != nil {
			return err
		}
	}
	if err := w.sync(); err != nil {
		return err
	}
	if len(p.stale) > 0 {
		found.note("%d tiles were missing or damaged, and were made again from the events: first %s", len(p.stale), p.stale[0].name)
	}
	a.mu.Lock()
	a.tree = p.tree
	last := a.segments[len(a.segments)-1]
	a.mu.Unlock()
	if a.tail != nil {
		if err := a.cutLog(last); err != nil {
			return err
		}
	}
	var err error
	a.log, err = a.files.Extend(segmentName(last))
	return err
}

// cutLog removes what is not whole from the end of the last segment.
func (a *Archive) cutLog(first int64) error {
	name := segmentName(first)
	data, err := a.files.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read the archive's log: %w", err)
	}
	data = data[:a.tail.at]
	if len(data) < segmentHead {
		data = newSegment(first)
	}
	a.logBytes = len(data)
	a.tail = nil
	return a.files.write(name, data)
}
