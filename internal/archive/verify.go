package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Verified says what [Verify] found to be true.
type Verified struct {
	ledger.Report
	Log          bool  // there is a log, and it has the same events; an export has none
	Unsealed     int64 // events in the log that no checkpoint covers yet
	Single       int64 // events that are in bundles only: no segment of the log has them
	Unreferenced int64 // whole blobs that no sealed event refers to, or not yet
}

// Verify checks the archive of a box, and changes nothing: all that [ledger.Verify] checks, and if
// there is a log, its checksums, that it has the same events as the bundles, and that it goes on
// from them. A box may write to the archive meanwhile: then it looks again.
//
// A box, also one that was killed, has what its checkpoint does not cover: the log's end, tiles and bundles that
// it was about to sign, blobs that it stored before their event. That is so if the log has the same events
// and the blobs have their hashes. Anything else is a [ledger.UncoveredError]. What somebody else
// gave is for [VerifyCopy].
func Verify(ctx context.Context, fs FS, verifier string) (Verified, error) {
	return verifyAgain(ctx, fs, func() (v Verified, err error) {
		known := knownToBox{fs: fs, keys: Keys{Verifier: verifier}, v: &v}
		knows := func(kind, name string) (bool, error) { return known.knows(ctx, kind, name) }
		if v.Report, err = ledger.VerifyExcept(until{readable{fs}, ctx}, verifier, knows); err == nil {
			err = v.verifyLog(ctx, fs, verifier)
		}
		return v, err
	})
}

// VerifyCopy checks an archive or an export that somebody else gave. Whatever the signed checkpoint
// does not cover is a [ledger.UncoveredError], the log's end and other files included.
func VerifyCopy(ctx context.Context, fs FS, verifier string) (Verified, error) {
	return verifyAgain(ctx, fs, func() (v Verified, err error) {
		var uncovered *ledger.UncoveredError
		if v.Report, err = ledger.Verify(until{readable{fs}, ctx}, verifier); err != nil && !errors.As(err, &uncovered) {
			return v, err
		}
		if uncovered == nil {
			uncovered = &ledger.UncoveredError{}
		}
		if err := v.verifyRest(ctx, fs, verifier, uncovered); err != nil {
			return v, err
		}
		if len(uncovered.Found) > 0 {
			return v, uncovered
		}
		return v, nil
	})
}

// verifyAgain looks once more if a box wrote meanwhile.
func verifyAgain(ctx context.Context, fs FS, look func() (Verified, error)) (v Verified, err error) {
	for range 10 {
		before := mark(fs)
		v, err = look()
		if err == nil || ctx.Err() != nil || bytes.Equal(before, mark(fs)) {
			break
		}
	}
	var d *Damage
	if errors.As(err, &d) { // its advice is for who runs the box
		err = &ledger.VerifyError{Path: d.Where, Event: -1, Problem: errors.New(d.What)}
	}
	return v, err
}

// mark changes whenever a box writes to the archive.
func mark(fs FS) []byte {
	m, _ := fs.ReadFile(ledger.CheckpointPath) // if it can't be read, Verify has said so
	names, _, _ := segmentNames(fs)
	if len(names) > 0 {
		last, _ := fs.ReadFile(names[len(names)-1])
		m = fmt.Append(m, names[len(names)-1], len(last))
	}
	return m
}

// verifyKey says whether the archive's key, if it is there, is the one that was given.
func verifyKey(fs FS, verifier string) error {
	key, err := fs.ReadFile(keyPath)
	if missing(err) {
		return nil
	}
	if err == nil && !bytes.Equal(key, keyFile(Keys{Verifier: verifier})) {
		err = errors.New("it is another key than the one that was given")
	}
	if err != nil {
		return &ledger.VerifyError{Path: keyPath, Event: -1, Problem: err}
	}
	return nil
}

func (v *Verified) verifyLog(ctx context.Context, fs FS, verifier string) error {
	if err := verifyKey(fs, verifier); err != nil {
		return err
	}
	if _, err := holdsAny(fs, logDir); missing(err) {
		return nil // an export
	}
	a, err := openTree(fs, Keys{Verifier: verifier})
	if err != nil {
		return err
	}
	if member, err := IsMember(fs); err != nil {
		return err
	} else if member {
		return v.verifyMemberLog(ctx, fs, a)
	}
	end, tail, err := walkLog(ctx, fs, a.full, func(index int64, stored []byte) error {
		if _, err := ledger.Decode(stored); err != nil {
			return &ledger.VerifyError{Path: logDir, Event: index, Problem: err}
		}
		return nil
	})
	if err == nil {
		err = a.reaches(end)
	}
	if err == nil && tail != nil {
		err = damagedLog(tail.segment, "its last batch, from event %d on, is damaged or was never finished", tail.first+1)
	}
	if err != nil {
		return err
	}
	if v.Single, err = holdLog(ctx, fs, 0, a.sealed.Size, a.tiles().same); err != nil {
		return err
	}
	v.Log, v.Unsealed = true, end-a.sealed.Size
	return nil
}

// Events calls f for every event of an archive that [Verify] has verified, with one segment of its log in memory at a
// time. The bytes are not to be kept.
func Events(ctx context.Context, fs FS, verifier string, f func(index int64, stored []byte) error) error {
	a, err := openTree(fs, Keys{Verifier: verifier})
	if err != nil {
		return err
	}
	if err := a.entries(0, a.fullBundle, func(index int64, stored []byte) error {
		return errors.Join(ctx.Err(), f(index, stored))
	}); err != nil {
		return err
	}
	_, err = a.walkEnd(ctx, f)
	return err
}

// walkEnd calls f for the log's events that are not in full bundles, and returns where the log ends; see [walkLog].
func (a *Archive) walkEnd(ctx context.Context, f func(index int64, stored []byte) error) (end int64, err error) {
	member, err := IsMember(a.files)
	if err != nil {
		return 0, err
	}
	if !member {
		end, _, err = walkLog(ctx, a.files, a.full, f)
		return end, err
	}
	sealed, err := a.beginning()
	if err != nil {
		return 0, err
	}
	for i, stored := range sealed { // the log may begin after them
		if err := f(a.full+int64(i), stored); err != nil {
			return 0, err
		}
	}
	end = a.sealed.Size
	err = walkMember(ctx, a.files, end, end, func(_ string, index int64, stored []byte) error {
		end = max(end, index+1)
		return f(index, stored)
	})
	return end, err
}

// beginning returns the sealed events that are not in full bundles, from the bundle that is not.
func (a *Archive) beginning() ([][]byte, error) {
	n := int(a.sealed.Size - a.full)
	if n == 0 {
		return nil, nil
	}
	return readBundle(a.files, a.full/ledger.TileWidth, n)
}

// openTree reads the checkpoint and the tree's edge, and nothing of the log.
func openTree(fs FS, keys Keys) (*Archive, error) {
	a := &Archive{files: newStore(fs), keys: keys}
	note, err := fs.ReadFile(ledger.CheckpointPath)
	if err != nil {
		return nil, err
	}
	return a, a.readTree(note)
}

// knownToBox knows what a box's archive has besides what its checkpoint covers.
type knownToBox struct {
	fs    FS
	keys  Keys
	v     *Verified
	tiles map[string]bool // tiles and bundles that the log's end makes; nil before they were looked for
}

func (k *knownToBox) knows(ctx context.Context, kind, name string) (bool, error) {
	switch kind {
	case ledger.UncoveredTile, ledger.UncoveredBundle:
		if k.tiles == nil {
			var err error
			if k.tiles, err = comingTiles(ctx, k.fs, k.keys); err != nil {
				return false, err
			}
		}
		return k.tiles[name], nil
	case ledger.UncoveredBlob:
		data, err := k.fs.ReadFile(name)
		if err != nil || ledger.BlobPath(ledger.NewBlob(data).SHA256) != name {
			return false, nil // which says that it is uncovered, whatever it is
		}
		k.v.Unreferenced++
		return true, nil
	case ledger.UncoveredFile: // a directory that it made, and did not fill yet
		some, err := holdsAny(k.fs, name)
		return err == nil && !some, nil
	}
	return false, nil
}

// comingTiles names the tiles and bundles that are as the events of the log's end make them, or the beginning of
// that. It holds one segment in memory.
func comingTiles(ctx context.Context, fs FS, keys Keys) (map[string]bool, error) {
	c := coming{fs: fs, found: map[string]bool{}}
	if _, err := holdsAny(fs, logDir); missing(err) {
		return c.found, nil
	}
	a, err := openTree(fs, keys)
	if err == nil {
		err = a.edgeErr
	}
	if err != nil {
		return nil, err
	}
	end, err := a.walkEnd(ctx, func(index int64, stored []byte) error {
		if err := c.add(index, stored); err != nil || index < a.sealed.Size {
			return err
		}
		return a.edge.Append(stored, c.tile)
	})
	if err == nil {
		err = a.reaches(end)
	}
	if err == nil {
		err = c.bundled(end)
	}
	if err == nil {
		err = a.edge.Partial(0, c.tile)
	}
	return c.found, err
}

// coming compares tiles and bundles, as they are made, with what lies in their places.
type coming struct {
	fs     FS
	bundle []byte // the events that are not in a full bundle yet
	ends   []int  // where each of them ends
	found  map[string]bool
}

// add takes the next event into its bundle.
func (c *coming) add(index int64, stored []byte) error {
	c.bundle = ledger.AppendEntry(c.bundle, stored)
	c.ends = append(c.ends, len(c.bundle))
	if len(c.ends) < ledger.TileWidth {
		return nil
	}
	return c.bundled(index + 1)
}

// bundled compares the bundle, which ends before an event.
func (c *coming) bundled(end int64) error {
	if len(c.ends) == 0 {
		return nil
	}
	err := c.compare(ledger.EntriesPath((end-1)/ledger.TileWidth, ledger.TileWidth), c.bundle, c.ends)
	c.bundle, c.ends = c.bundle[:0], c.ends[:0]
	return err
}

// tile compares a tile of hashes.
func (c *coming) tile(name string, data []byte) error {
	if dir, partial := strings.CutSuffix(path.Dir(name), ".p"); partial {
		name = dir
	}
	var ends []int
	for end := len(ledger.Hash{}); end <= len(data); end += len(ledger.Hash{}) {
		ends = append(ends, end)
	}
	return c.compare(name, data, ends)
}

// compare compares a tile, by its name when it is full, with the file of that name and with the partial ones.
func (c *coming) compare(full string, data []byte, ends []int) error {
	same := func(name string, want []byte) {
		got, err := c.fs.ReadFile(name)
		if err == nil && bytes.Equal(got, want) { // what can't be read is not known
			c.found[name] = true
		}
	}
	if len(ends) == ledger.TileWidth {
		same(full, data)
	}
	err := eachName(c.fs, full+".p", func(name string) error {
		if width, err := strconv.Atoi(name); err == nil && width > 0 && width <= len(ends) {
			same(full+".p/"+name, data[:ends[width-1]])
		}
		return nil
	})
	if missing(err) || errors.Is(err, regular.ErrNoDirectory) {
		return nil
	}
	return err
}

// uncoveredEvent is the kind of an event of the log that the checkpoint does not cover.
const uncoveredEvent = "log event"

// verifyRest checks what lies beside the tiles and blobs of a copy.
func (v *Verified) verifyRest(ctx context.Context, fs FS, verifier string, uncovered *ledger.UncoveredError) error {
	return eachOf(ctx, fs, ".", func(name string) error {
		switch name {
		case ledger.CheckpointPath, "tile", blobDir:
		case keyPath:
			return verifyKey(fs, verifier)
		case mirrorNote:
			if note, err := fs.ReadFile(name); err != nil || string(note) != mirrorText {
				uncovered.Add(ledger.UncoveredFile, name)
			}
		case logDir:
			return v.verifyCopiedLog(ctx, fs, uncovered)
		case tmpDir:
			return eachOf(ctx, fs, tmpDir, func(name string) error {
				uncovered.Add(ledger.UncoveredFile, tmpDir+"/"+name)
				return nil
			})
		default:
			uncovered.Add(ledger.UncoveredFile, name)
		}
		return nil
	})
}

// eachOf calls f for every name in a directory of a copy. What is no directory is damage, and so is a link to one.
func eachOf(ctx context.Context, fs FS, dir string, f func(name string) error) error {
	err := eachName(fs, dir, func(name string) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f(name)
	})
	if errors.Is(err, regular.ErrNoDirectory) {
		return &ledger.VerifyError{Path: dir, Event: -1, Problem: errors.New("it is no directory of its own: a link is not followed")}
	}
	return err
}

// verifyCopiedLog holds a log against the sealed events, one segment in memory at a time.
func (v *Verified) verifyCopiedLog(ctx context.Context, fs FS, uncovered *ledger.UncoveredError) error {
	err := eachOf(ctx, fs, logDir, func(name string) error {
		_, ok := segmentFirst(name)
		if _, members := memberNumber(name); !ok && !members {
			uncovered.Add(ledger.UncoveredFile, logDir+"/"+name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	names, firsts, err := segmentNames(fs)
	if err != nil {
		return err
	}
	size := v.Checkpoint.Size
	a := &Archive{files: newStore(fs), sealed: v.Checkpoint}
	if member, err := IsMember(fs); err != nil {
		return err
	} else if member {
		v.Log = true
		return v.verifyCopiedMemberLog(ctx, a, uncovered)
	}
	if v.Single, err = holdLog(ctx, fs, 0, size, a.tiles().same); err != nil {
		return err
	}
	v.Log = true
	for k := segmentOf(firsts, size); k < len(names); k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := fs.ReadFile(names[k])
		if err != nil {
			return fmt.Errorf("read the archive's log: %w", err)
		}
		s := readSegment(names[k], data)
		for _, b := range s.batches {
			for i := range b.events {
				if b.first+int64(i) >= size {
					uncovered.Add(uncoveredEvent, s.name)
				}
			}
		}
		if len(s.faults) > 0 || s.first > size {
			uncovered.Add(ledger.UncoveredFile, s.name)
		}
	}
	return nil
}
