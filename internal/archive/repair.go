package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/ledger"
)

// LostError says what can't be restored from either copy. Nothing was changed.
type LostError struct {
	Lost []string
}

func (e *LostError) Error() string {
	return "this can't be repaired, and nothing was changed: " + strings.Join(e.Lost, "; ") +
		": put the files back from a copy of the archive"
}

// Repair rebuilds what is damaged in the archive and the stream from what is
// proven: by the signed root, or after the last checkpoint by the log's checksums,
// or by both copies being the same. It returns in words what it did.
//
// The stream is nil if it can't be read. If it has to be built again, empty moves
// the engine's files aside and returns a stream without records. A checkpoint that
// is not valid is signed again only if archive and stream agree in everything. What
// can't be restored is a [LostError]. Files that are replaced are kept under
// damaged-<n>; the repaired archive still has to be held against the stream.
func Repair(ctx context.Context, fs FS, keys Keys, stream Stream, empty func(context.Context) (Stream, error)) ([]string, error) {
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	x, err := examine(fs, keys, stream)
	if err != nil {
		return nil, err
	}
	proven := false
	for _, prefer := range []preference{preferTile, preferArchive, preferStream} {
		if proven, err = x.walk(ctx, prefer); err != nil {
			return nil, fmt.Errorf("repair the archive: %w", err)
		}
		if proven || x.lost != "" {
			break
		}
	}
	if lost := x.cannot(proven); len(lost) > 0 {
		return nil, &LostError{lost}
	}
	r := &repair{examination: x}
	if err := r.archive(); err != nil {
		return r.done, err
	}
	return r.done, r.rebuildStream(ctx, empty)
}

// repair carries out what an examination found to be possible.
type repair struct {
	*examination
	aside string // the directory for files that are replaced; "" until one is
	done  []string
}

func (r *repair) did(format string, args ...any) {
	r.done = append(r.done, fmt.Sprintf(format, args...))
}

// keep copies a file aside. A copy leaves no moment at which it is nowhere.
func (r *repair) keep(name string) error {
	data, err := r.files.ReadFile(name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep the damaged file %s: %w", name, err)
	}
	if r.aside == "" {
		names, err := r.files.ReadDir(".")
		if err != nil {
			return fmt.Errorf("keep the damaged file %s: %w", name, err)
		}
		for n := 1; r.aside == ""; n++ {
			if dir := fmt.Sprint("damaged-", n); !slices.Contains(names, dir) {
				r.aside = dir
			}
		}
		r.did("files that are replaced are kept in %s", r.aside)
	}
	return r.files.write(r.aside+"/"+name, data)
}

// replace writes a file, and keeps the one that was there.
func (r *repair) replace(name string, data []byte) error {
	if err := r.keep(name); err != nil {
		return err
	}
	return r.files.write(name, data)
}

// archive repairs the archive's files. The checkpoint comes last.
func (r *repair) archive() error {
	if err := r.files.clear(); err != nil {
		return err
	}
	if r.keyWrong {
		if err := r.replace(keyPath, keyFile(r.keys)); err != nil {
			return err
		}
		r.did("%s was written again", keyPath)
	}
	for _, f := range r.bundles {
		if err := r.replace(f.name, f.data); err != nil {
			return err
		}
		r.did("%s was rebuilt: its events are those that were signed", f.name)
	}
	if err := r.tiles(); err != nil {
		return err
	}
	for _, name := range r.strayBlobs() {
		if err := errors.Join(r.keep(name), r.files.Remove(name)); err != nil {
			return err
		}
		r.did("%s was damaged, and was moved aside: no event refers to it", name)
	}
	if r.logFault != "" {
		if err := r.rebuildLog(); err != nil {
			return err
		}
	}
	if r.unsigned != "" {
		return r.sign()
	}
	return nil
}

func (r *repair) tiles() error {
	return r.tree.Tiles(0, r.signed.Size, func(name string, want []byte) error {
		got, err := r.files.ReadFile(name)
		if err == nil && bytes.Equal(got, want) {
			return nil
		}
		if err := r.replace(name, want); err != nil {
			return err
		}
		r.did("%s was made again from the events", name)
		return nil
	})
}

// rebuildLog writes the events after the full bundles to a new segment. The old
// ones go only when it is there.
func (r *repair) rebuildLog() error {
	data, next := newSegment(r.full), r.full
	for events := range slices.Chunk(r.tail, ledger.TileWidth) {
		data, _ = appendBatch(data, next, events)
		next += int64(len(events))
	}
	for _, name := range r.logFiles {
		if err := r.keep(name); err != nil {
			return err
		}
	}
	if err := r.files.write(segmentName(r.full), data); err != nil {
		return err
	}
	for _, name := range r.logFiles {
		if name == segmentName(r.full) {
			continue
		}
		if err := r.files.Remove(name); err != nil {
			return fmt.Errorf("remove a damaged file of the log: %w", err)
		}
	}
	if err := r.files.syncDir(logDir); err != nil {
		return err
	}
	r.did("the log was rebuilt (%s): it has %d events, and %d of them were taken from the stream", r.logFault, len(r.tail), r.taken)
	if r.logUnsure {
		r.did("how many events the damaged log had is not known: what the stream did not have after event %d is lost", next)
	}
	return nil
}

// sign signs the events in full bundles again. What the log has is sealed as usual.
func (r *repair) sign() error {
	root, err := r.tree.Root(r.signed.Size)
	if err != nil {
		return err
	}
	note, err := ledger.Checkpoint{Origin: r.keys.Origin(), Size: r.signed.Size, Root: root}.Sign(r.keys.Signer)
	if err != nil {
		return err
	}
	if err := r.replace(ledger.CheckpointPath, note); err != nil {
		return err
	}
	r.did("the checkpoint was signed again over the first %d events (%s): archive and stream agree, and that alone says that they are right", r.signed.Size, r.unsigned)
	return nil
}

// rebuildStream fills an empty stream from the repaired archive.
func (r *repair) rebuildStream(ctx context.Context, empty func(context.Context) (Stream, error)) error {
	if r.streamBad == "" {
		return nil
	}
	a, err := Open(r.files.FS, r.keys)
	if err != nil {
		return err
	}
	stream, err := empty(ctx)
	if err != nil {
		return fmt.Errorf("empty the stream: %w", err)
	}
	if err := stream.Restore(ctx, records(0, a.Entries)); err != nil {
		return fmt.Errorf("rebuild the stream from the archive: %w", err)
	}
	r.did("the stream was rebuilt from the archive (%s): it has %d events", r.streamBad, a.Size())
	return nil
}
