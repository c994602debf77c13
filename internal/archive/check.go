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

// check reads every event, and holds the signed root, the tiles and the blobs against them. Tiles
// that are not as the events make them are made again, once the root has shown that the events
// are those that were signed.
func (a *Archive) check(ctx context.Context, found *Findings) error {
	p := pass{a: a}
	b, err := readBlobs(a.files)
	if err != nil {
		return err
	}
	p.blobs = newBlobCheck(b)
	if err := p.run(ctx, p.hold); err != nil {
		return err
	}
	if p.edge.Root() != a.sealed.Root {
		return p.wrongRoot()
	}
	if err := p.blobErrors(); err != nil {
		return err
	}
	found.Verified = a.size()
	if p.stale > 0 {
		again := pass{a: a, w: &writer{store: a.files}}
		if err := again.run(ctx, again.mend); err != nil {
			return err
		}
		if err := again.w.sync(); err != nil {
			return err
		}
		found.note("%d tiles were missing or damaged, and were made again from the events: first %s", p.stale, p.firstStale)
	}
	a.edge = p.edge
	if a.journal != nil {
		_, err = holdMemberLog(ctx, a.files, 0, a.sealed.Size, a.sealed.Size, a.tiles().same)
		return err
	}
	_, err = holdLog(ctx, a.files, 0, a.sealed.Size, a.tiles().same)
	return err
}

// pass is one walk over the archive's events.
type pass struct {
	a          *Archive
	blobs      blobCheck
	edge       ledger.Edge
	blobErr    error // the first blob that is not as an event has it
	stale      int   // tiles that are not as the events make them
	firstStale string
	staleLeaf  string // the first of them at level 0
	w          *writer
}

// run adds the events up to the checkpoint to the tree, and gives each of its tiles, and the
// bundle that is not full, to hold. Events after the checkpoint are looked at for their blobs.
func (p *pass) run(ctx context.Context, hold func(name string, want []byte) error) error {
	a := p.a
	err := a.entries(0, a.fullBundle, func(index int64, stored []byte) error {
		if p.w == nil && p.blobErr == nil { // the walk that mends tiles has looked before
			p.blobErr = p.blobs.event(index, stored)
		}
		if index >= a.sealed.Size {
			return nil
		}
		if index%ledger.TileWidth == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return p.edge.Append(stored, hold)
	})
	if err != nil {
		return err
	}
	if err := p.edge.Partial(0, hold); err != nil || a.sealed.Size == a.full {
		return err
	}
	return hold(bundle(a.full, a.recent[:a.sealed.Size-a.full]))
}

// hold counts a tile that is not as it should be.
func (p *pass) hold(name string, want []byte) error {
	ok, err := p.a.holds(name, want)
	if ok || err != nil {
		return err
	}
	if p.stale++; p.stale == 1 {
		p.firstStale = name
	}
	if p.staleLeaf == "" && strings.HasPrefix(name, ledgerTiles) {
		p.staleLeaf = name
	}
	return nil
}

// mend writes a tile that is not as it should be.
func (p *pass) mend(name string, want []byte) error {
	ok, err := p.a.holds(name, want)
	if ok || err != nil {
		return err
	}
	return p.w.put(name, want)
}

// holds reports whether a file has these bytes.
func (a *Archive) holds(name string, want []byte) (bool, error) {
	got, err := a.files.ReadFile(name)
	if err != nil && !missing(err) {
		return false, fmt.Errorf("read %s of the archive: %w", name, err)
	}
	return err == nil && bytes.Equal(got, want), nil
}

// wrongRoot says where the events are not those that were signed. A tile that the
// events don't make shows the bundle.
func (p *pass) wrongRoot() error {
	if name, ok := strings.CutPrefix(p.staleLeaf, ledgerTiles); ok {
		return &Damage{Where: ledgerBundles + name, What: "its events are not those that were signed", Advice: adviceRepair}
	}
	return &Damage{Where: ledger.CheckpointPath, What: "it signs other events than those in the archive", Advice: adviceRepair}
}

// A tile of level 0 and the bundle of its events differ in this only.
const (
	ledgerTiles   = "tile/0/"
	ledgerBundles = "tile/entries/"
)

func (p *pass) blobErrors() error {
	if p.blobErr != nil {
		return p.blobErr
	}
	if lost := p.blobs.missing(); len(lost) > 0 {
		return lost[0]
	}
	if len(p.blobs.damaged) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(p.blobs.damaged)))
	return &Damage{Where: name, What: "it is damaged, and no event refers to it", Advice: adviceRepair}
}
