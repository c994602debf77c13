package archive

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/signalbox-dev/signalbox/ledger"
)

// Export copies what the latest checkpoint covers, and nothing else, to files that are not there yet: the
// checkpoint with the key's own signature, tiles, bundles, the blobs that their events refer to, and the key. A blob
// that is missing is left out: whether it was removed, [VerifyCopy] tells.
func Export(ctx context.Context, from FS, verifier string, to FS) error {
	note, err := from.ReadFile(ledger.CheckpointPath)
	if err != nil {
		return err
	}
	c, err := ledger.OpenCheckpoint(note, verifier)
	if err != nil {
		return err
	}
	if note, err = ledger.Covered(note, verifier); err != nil {
		return err
	}
	e := exporter{ctx: ctx, from: from, to: to, dirs: map[string]bool{}, blobs: map[ledger.Hash]bool{}}
	if err := e.write(ledger.CheckpointPath, note); err != nil {
		return err
	}
	if err := e.write(keyPath, keyFile(Keys{Verifier: verifier})); err != nil {
		return err
	}
	for level, n := 0, c.Size; n > 0; level, n = level+1, n/ledger.TileWidth {
		for at := int64(0); at < n; at += ledger.TileWidth {
			index, width := at/ledger.TileWidth, int(min(ledger.TileWidth, n-at))
			if _, err := e.copy(ledger.TilePath(level, index, width)); err != nil {
				return err
			}
			if level > 0 {
				continue
			}
			if err := e.bundle(index, width); err != nil {
				return err
			}
		}
	}
	return nil
}

type exporter struct {
	ctx      context.Context
	from, to FS
	dirs     map[string]bool
	blobs    map[ledger.Hash]bool // those that were looked at
}

// bundle copies a bundle, and the blobs that its events refer to.
func (e *exporter) bundle(index int64, width int) error {
	data, err := e.copy(ledger.EntriesPath(index, width))
	if err != nil {
		return err
	}
	events, err := ledger.Entries(data)
	if err != nil {
		return fmt.Errorf("%s: %w", ledger.EntriesPath(index, width), err)
	}
	for i, stored := range events {
		refs, err := references(index*ledger.TileWidth+int64(i), stored)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			if e.blobs[ref.SHA256] {
				continue
			}
			e.blobs[ref.SHA256] = true
			if _, err := e.copy(ledger.BlobPath(ref.SHA256)); err != nil && !missing(err) {
				return err
			}
		}
	}
	return nil
}

// copy copies a file.
func (e *exporter) copy(name string) ([]byte, error) {
	if err := e.ctx.Err(); err != nil {
		return nil, err
	}
	data, err := e.from.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return data, e.write(name, data)
}

func (e *exporter) write(name string, data []byte) error {
	if err := e.mkdir(path.Dir(name)); err != nil {
		return err
	}
	f, err := e.to.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (e *exporter) mkdir(name string) error {
	if e.dirs[name] {
		return nil
	}
	if name != "." {
		if err := e.mkdir(path.Dir(name)); err != nil {
			return err
		}
	}
	e.dirs[name] = true
	return e.to.Mkdir(name)
}
