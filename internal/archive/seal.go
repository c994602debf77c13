package archive

import (
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/signalbox-dev/signalbox/ledger"
)

// tileBits is how many bits of an index a tile covers.
const tileBits = 8

// Seal writes the events since the last checkpoint into tiles and bundles, signs a
// checkpoint over all of them, and returns it. It holds up no Append. If there is
// nothing to seal it returns the last checkpoint.
func (a *Archive) Seal() ([]byte, error) {
	a.sealing.Lock()
	defer a.sealing.Unlock()
	if err := a.usable(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	older, full, recent := a.sealed.Size, a.full, a.recent
	a.mu.Unlock()
	if full+int64(len(recent)) == older {
		return a.Checkpoint(), nil
	}
	if err := a.sealEvents(older, full, recent); err != nil {
		return nil, fmt.Errorf("seal the archive: %w", err)
	}
	if err := errors.Join(a.forgetPartial(older, a.Sealed()), a.trimMirror()); err != nil {
		return nil, fmt.Errorf("the archive is sealed, but the files that it supersedes can't be removed: %w", err)
	}
	return a.Checkpoint(), nil
}

// sealEvents writes what the tree has and the one of older events had not, given
// the events from index full on.
func (a *Archive) sealEvents(older, full int64, events [][]byte) error {
	size := full + int64(len(events))
	w := writer{store: a.files}
	for at := full; at < size; at += ledger.TileWidth {
		end := min(at+ledger.TileWidth, size)
		if err := w.put(bundle(at, events[at-full:end-full])); err != nil {
			return err
		}
	}
	edge := a.edge.Clone()
	for _, stored := range events[older-full:] {
		if err := edge.Append(stored, w.put); err != nil {
			return err
		}
	}
	if err := edge.Partial(older, w.put); err != nil {
		return err
	}
	if err := w.sync(); err != nil {
		return err
	}
	c := edge.Checkpoint(a.keys.Origin())
	note, err := c.Sign(a.keys.Signer)
	if err != nil {
		return err
	}
	if err := a.files.write(ledger.CheckpointPath, note); err != nil {
		return err
	}
	a.edge = edge
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed, a.note = c, note
	a.drop(fullBundles(size))
	return nil
}

// bundle returns the bundle that begins with event at, and its name.
func bundle(at int64, events [][]byte) (name string, data []byte) {
	for _, stored := range events {
		data = ledger.AppendEntry(data, stored)
	}
	return ledger.EntriesPath(at/ledger.TileWidth, len(events)), data
}

// forgetPartial removes the partial tiles and bundles of the tree of older events,
// and of any between it and the tree of size events.
func (a *Archive) forgetPartial(older, size int64) error {
	var errs []error
	for level := 0; size>>(tileBits*level) > 0; level++ {
		was, is := older>>(tileBits*level), size>>(tileBits*level)
		for n := was / ledger.TileWidth; n <= is/ledger.TileWidth; n++ {
			keep := 0
			if n == is/ledger.TileWidth {
				keep = int(is % ledger.TileWidth)
			}
			errs = append(errs, a.forgetWidths(ledger.TilePath(level, n, 1), keep))
			if level == 0 {
				errs = append(errs, a.forgetWidths(ledger.EntriesPath(n, 1), keep))
			}
		}
	}
	return errors.Join(errs...)
}

// forgetWidths removes a partial tile, of which one width is named, in every width
// but the one to keep.
func (a *Archive) forgetWidths(name string, keep int) error {
	dir := path.Dir(name)
	names, err := a.files.ReadDir(dir)
	if missing(err) {
		return nil
	}
	for _, width := range names {
		if width != strconv.Itoa(keep) {
			err = errors.Join(err, a.files.Remove(dir+"/"+width))
		}
	}
	if keep == 0 {
		a.files.rmdir(dir)
	}
	return err
}
