package box

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/descriptors"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// latestFile holds the last checkpoint that was signed, outside of the archive: so that an old copy of
// the archive that was put back, or one that is gone, is not gone on with as if nothing had come after
// it. It is written at every seal and not synced then: after a power cut it may be older, or not be
// readable, and proves less.
const latestFile = "checkpoint"

// begun remembers, durably, that the ledger was begun.
func (b *Box) begun() error {
	if _, err := b.held.home.Stat(latestFile); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return b.held.write(latestFile, b.archive.Checkpoint())
}

// seal signs a checkpoint over what is recorded, and remembers it.
func (b *Box) seal() ([]byte, error) {
	b.signing.Lock()
	defer b.signing.Unlock()
	if why := b.signsNothing(); why != "" {
		return nil, fmt.Errorf("%w: %s", errUnsigned, why)
	}
	note, err := b.archive.Seal()
	if err == nil {
		err = b.caughtUp()
	}
	if err != nil || bytes.Equal(note, b.remembered) {
		return note, err
	}
	const temp = latestFile + ".new"
	var f *os.File
	err = descriptors.WaitOut(func() (err error) {
		f, err = regular.CreateIn(b.held.home.Root, temp)
		return err
	})
	if err == nil {
		_, err = f.Write(note)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = b.held.home.Rename(temp, latestFile)
	}
	if err != nil {
		return nil, fmt.Errorf("remember the checkpoint: %w", err)
	}
	b.remembered = note
	return note, nil
}

// latest returns the last checkpoint that the directory remembers; none if it can't be read.
func (d Dir) latest(keys archive.Keys) ledger.Checkpoint {
	note, err := d.readFile(latestFile, maxSmall)
	if err != nil {
		return ledger.Checkpoint{}
	}
	c, err := ledger.OpenCheckpoint(note, keys.Verifier)
	if err != nil {
		return ledger.Checkpoint{}
	}
	return c
}

// refuseGone refuses to begin a ledger anew where its archive is not there any more.
func (d Dir) refuseGone(at string) error {
	_, err := os.Stat(d.path(latestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return &archive.Damage{
		Where: safetext.Escape(at), What: "the archive is gone: this box has recorded events, and there are none",
		Advice: "put the archive's directory back, or name the right one with `archive` in signalbox.yaml: is its disk there? A new ledger begins in a new directory",
	}
}

// refuseShorter refuses an archive that ends before a checkpoint that was signed.
func (b *Box) refuseShorter(c ledger.Checkpoint) error {
	size := b.archive.Size()
	if c.Size <= size {
		return nil
	}
	return b.putBack(fmt.Sprintf("it ends after event %d, and a checkpoint over %d was signed", size, c.Size))
}

// refuseOther refuses an archive whose events are not those of a checkpoint that was signed. The
// archive's own checkpoint is older, so the events themselves are asked.
func (b *Box) refuseOther(c ledger.Checkpoint) error {
	root, err := b.rootOfEvents(c.Size)
	if err != nil || root == c.Root {
		return err
	}
	return b.putBack(fmt.Sprintf("its events up to number %d are not those over which a checkpoint was signed", c.Size))
}

func (b *Box) putBack(what string) error {
	return &archive.Damage{
		Where: "the archive", What: what + ": an old copy of it, or of a part of it, was put back",
		Advice: fmt.Sprintf("put the newer one back; to go on with this one, and lose what is not in it, remove %s and %s", b.dir.path(snapshotFile), b.dir.path(latestFile)),
	}
}

// rootOfEvents returns the root over the first events, as they are in the archive now.
func (b *Box) rootOfEvents(size int64) (ledger.Hash, error) {
	var edge ledger.Edge
	err := b.archive.Entries(0, func(index int64, stored []byte) error {
		if index == size {
			return errStop
		}
		return edge.Append(stored, nil)
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return edge.Root(), err
}
