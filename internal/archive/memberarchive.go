package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/internal/member/memberlog"
	"github.com/signalbox-dev/signalbox/ledger"
)

const (
	adviceCluster = "it belongs to the cluster that this file names: put it back, or give the right directory"
	adviceSingle  = "a single box's log is here, beside a file cluster.json: was the directory of another box put here? Give the right one; or, if `signalbox cluster init` or `signalbox cluster leave` was cut off here, call it again"
)

// IsMember says whether a log is a cluster member's: it has segments of one, and does not say that it is a single box's
// again.
func IsMember(files FS) (bool, error) {
	was, single, err := memberEnd(files)
	return was && !single, err
}

// HasLeft says whether a log was a cluster member's, and says that it is a single box's again.
func HasLeft(files FS) (bool, error) {
	_, single, err := memberEnd(files)
	return single, err
}

// memberEnd says whether a log has a member's segments, and whether these end with the word that it is a single box's again.
func memberEnd(files FS) (was, single bool, err error) {
	numbers, err := memberNumbers(files)
	if err != nil || len(numbers) == 0 {
		return false, false, err
	}
	last := numbers[len(numbers)-1]
	data, err := files.ReadFile(memberName(last))
	if err != nil {
		return false, false, fmt.Errorf("read the member's log: %w", err)
	}
	s := readMemberSegment(last, data)
	n := len(s.records)
	return true, n > 0 && s.fault == nil && s.records[n-1].single, nil
}

// Found makes the log of an archive that of a cluster's member, whose state is given: from then on [OpenMember] opens it, and
// [Open] refuses it. The archive is closed, and sealed to its end; one that is not there is made, without events.
func Found(files FS, keys Keys, state memberlog.State) error {
	a, err := Open(files, keys)
	if err != nil {
		return err
	}
	switch {
	case a.mirror != nil:
		return errMirror
	case a.tail != nil || a.size() != a.sealed.Size:
		return errors.New("the log's end is not sealed: start the box as a single one, and stop it")
	case state.At.Seq != uint64(a.size()):
		return fmt.Errorf("the archive has %s, and the member's state is that of %d", english.Count(a.size(), "event"), state.At.Seq)
	}
	note := a.note
	if a.fresh {
		c := a.edge.Checkpoint(keys.Origin())
		if note, err = c.Sign(keys.Signer); err != nil {
			return err
		}
	}
	if err := errors.Join(a.files.Mkdir("."), a.files.clear()); err != nil {
		return err
	}
	number, err := nextNumber(a.files)
	if err != nil {
		return err
	}
	_, err = writeBase(a.files, number, memberlog.Write{Base: &state.At, State: state}, note)
	return err
}

var errMirror = errors.New("a member's log has no mirror: the other members have it")

// nextNumber returns the number of the next segment.
func nextNumber(files FS) (uint64, error) {
	numbers, err := memberNumbers(files)
	if err != nil || len(numbers) == 0 {
		return 1, err
	}
	return numbers[len(numbers)-1] + 1, nil
}

// OpenMember looks at the archive of a cluster's member and reads the end of its log, as [Open] does that of a single
// box, which it refuses. Events come into the archive by [Archive.Commit], once they are committed.
func OpenMember(files FS, keys Keys) (_ *Archive, _ *Journal, err error) {
	defer func() { err = ofMember(err) }()
	if err := checkKeys(keys); err != nil {
		return nil, nil, err
	}
	a := &Archive{files: newStore(files), mirror: mirrorOf(files), keys: keys, state: ErrNotStarted}
	if a.mirror != nil {
		return nil, nil, errMirror
	}
	if err := a.readKey(); err != nil {
		return nil, nil, err
	}
	note, err := a.files.ReadFile(ledger.CheckpointPath)
	switch {
	case err == nil:
		err = a.readTree(note)
	case missing(err):
		err = nil
	}
	if err != nil {
		return nil, nil, err
	}
	if err := a.readMember(); err != nil {
		return nil, nil, err
	}
	return a, a.journal, nil
}

// ofMember gives a refusal the advice for a member, whose archive is not repaired: without its log nobody knows what it has promised.
func ofMember(err error) error {
	if d, ok := errors.AsType[*Damage](err); ok && d.Advice == adviceRepair {
		d.Advice = adviceRejoin
	}
	return err
}

// readMember reads the member's log, and takes the events from it that are sealed and not in full bundles.
func (a *Archive) readMember() error {
	l, err := readMemberLog(a.files, a.full)
	switch {
	case err != nil:
		return err
	case l == nil:
		names, _, err := segmentNames(a.files)
		if err != nil {
			return err
		}
		if len(names) == 0 || a.sealed.Size == 0 { // a single box has signed nothing in it, so none became a member
			return damagedMember(logDir, "the member's log is missing")
		}
		fallthrough
	case l.single:
		return &Damage{Where: logDir, What: "it is no member's log", Advice: adviceSingle}
	}
	if l.checkpoint != nil { // nothing was written after the base: its checkpoint may not be in its place yet
		c, err := ledger.OpenCheckpoint(l.checkpoint, a.keys.Verifier)
		switch {
		case err != nil:
			return &Damage{Where: l.segments[0].name, What: "its checkpoint is damaged", Err: err, Advice: adviceRejoin}
		case a.note == nil || c.Size > a.sealed.Size:
			if err := a.readTree(l.checkpoint); err != nil {
				return err
			}
			a.rebased = true
		}
	}
	switch sealed := uint64(a.sealed.Size); {
	case a.note == nil:
		return &Damage{Where: ledger.CheckpointPath, What: "it is missing", Advice: adviceRejoin}
	case l.kept.Before.Seq > sealed:
		return damagedMember(logDir, "it begins after event %d, and the checkpoint covers %s", l.kept.Before.Seq, english.Count(a.sealed.Size, "event"))
	case max(l.end.Seq, l.kept.State.Taken) < sealed:
		return damagedMember(logDir, "it ends after event %d, and the checkpoint covers %s", l.end.Seq, english.Count(a.sealed.Size, "event"))
	}
	l.kept.Covered = uint64(a.sealed.Size)
	a.journal = &Journal{files: a.files, found: l}
	return a.readRecent(&l.kept)
}

// readRecent takes the sealed events that are not in full bundles from the log, or from the bundle if the log does not have
// all of them.
func (a *Archive) readRecent(kept *memberlog.Kept) (err error) {
	n := int(a.sealed.Size - a.full)
	seq := kept.Before.Seq
	for _, e := range kept.Entries {
		if e.Kind != memberlog.Event {
			continue
		}
		if seq++; seq > uint64(a.full) && len(a.recent) < n {
			a.recent = append(a.recent, e.Data)
		}
	}
	if n > 0 && (kept.Before.Seq > uint64(a.full) || len(a.recent) < n) {
		a.recent, err = a.beginning()
	}
	return err
}

// startMember makes a member's archive ready to be written.
func (a *Archive) startMember(ctx context.Context, from int64, found *Findings) (err error) {
	defer func() { err = ofMember(err) }()
	l := a.journal.found
	if l.torn {
		found.note("a write to %s that was never finished, nor relied upon, was removed", l.segments[len(l.segments)-1].name)
	}
	if from == 0 || a.edgeErr != nil || a.holdRecent() != nil || a.holdBundles(ctx, from) != nil {
		if err := a.check(ctx, found); err != nil {
			return err
		}
	}
	if err := a.files.clear(); err != nil {
		return err
	}
	if a.rebased {
		if err := a.files.write(ledger.CheckpointPath, a.note); err != nil {
			return err
		}
	}
	if a.keyMissing {
		if err := a.files.write(keyPath, keyFile(a.keys)); err != nil {
			return err
		}
	}
	return a.journal.secure()
}

// Commit adds events that are committed: they lie in the member's log, and in those of others. It returns them as the
// archive keeps them. The first one has the index that is given, which is the archive's size.
func (a *Archive) Commit(first int64, events [][]byte) error {
	if err := a.usable(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if first != a.size() {
		return fmt.Errorf("event %d is committed, and the archive has %s", first+1, english.Count(a.size(), "event"))
	}
	a.recent = append(a.recent, events...)
	return nil
}

// Fetch brings the tiles, bundles and blobs under a checkpoint that another member has signed, by names, into the archive's
// directory, beside what is in use. All of it is held against the checkpoint, and durable when it returns how many events that covers;
// [Archive.Rebase] takes it into use. What is there already is not fetched.
func (a *Archive) Fetch(ctx context.Context, note []byte, read func(ctx context.Context, name string) ([]byte, error)) (int64, error) {
	c, err := ledger.OpenCheckpoint(note, a.keys.Verifier)
	if err != nil {
		return 0, fmt.Errorf("another member's checkpoint: %w", err)
	}
	a.sealing.Lock()
	edge := a.edge.Clone()
	a.mu.Lock()
	from := a.sealed.Size
	a.mu.Unlock()
	a.sealing.Unlock()
	w := writer{store: a.files}
	// The last bundle, which is not full, is there until the other one signs its next checkpoint: a second, if it records. The rest takes longer, and stays.
	var last []byte
	if width := int(c.Size % ledger.TileWidth); width > 0 && c.Size > from {
		name := ledger.EntriesPath(c.Size/ledger.TileWidth, width)
		if last, err = read(ctx, name); err != nil {
			return 0, fmt.Errorf("fetch %s: %w", name, err)
		}
	}
	for at := fullBundles(from); at < c.Size; at += ledger.TileWidth {
		width := int(min(ledger.TileWidth, c.Size-at))
		name := ledger.EntriesPath(at/ledger.TileWidth, width)
		data := last
		if width == ledger.TileWidth {
			if data, err = read(ctx, name); err != nil {
				return 0, fmt.Errorf("fetch %s: %w", name, err)
			}
		}
		events, err := ledger.Entries(data)
		if err == nil && len(events) != width {
			err = fmt.Errorf("it has %d events, and should have %d", len(events), width)
		}
		if err != nil {
			return 0, fmt.Errorf("fetch %s: %w", name, err)
		}
		for i, stored := range events {
			if at+int64(i) < from {
				continue
			}
			if err := edge.Append(stored, w.put); err != nil {
				return 0, err
			}
			if err := a.fetchBlobs(ctx, at+int64(i), stored, read); err != nil {
				return 0, err
			}
		}
		if err := w.put(name, data); err != nil {
			return 0, err
		}
	}
	if edge.Root() != c.Root {
		return 0, errors.New("another member's events are not those that its checkpoint has signed, or not those that are here")
	}
	if err := errors.Join(edge.Partial(from, w.put), w.sync()); err != nil {
		return 0, err
	}
	return c.Size, nil
}

// fetchBlobs fetches the blobs of an event that are not here. One that the others don't have either was removed: [Verify] tells it from one
// that is lost.
func (a *Archive) fetchBlobs(ctx context.Context, index int64, stored []byte, read func(ctx context.Context, name string) ([]byte, error)) error {
	refs, err := references(index, stored)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if a.HasBlob(ref.SHA256) {
			continue
		}
		data, err := read(ctx, ledger.BlobPath(ref.SHA256))
		if missing(err) {
			continue
		}
		if err == nil && ledger.NewBlob(data) != ref {
			err = errors.New("its bytes are others")
		}
		if err == nil {
			_, err = a.PutBlob(data)
		}
		if err != nil {
			return fmt.Errorf("fetch %s: %w", ledger.BlobPath(ref.SHA256), err)
		}
	}
	return nil
}

// HasBlob says whether a blob's file is there.
func (a *Archive) HasBlob(sum ledger.Hash) bool {
	_, err := a.files.Modified(ledger.BlobPath(sum))
	return err == nil
}

// ReadFile returns a file of the archive that another member may ask for by its name: the checkpoint, a tile, a bundle or a blob.
func (a *Archive) ReadFile(name string) ([]byte, error) {
	if name != ledger.CheckpointPath && !strings.HasPrefix(name, "tile/") && !strings.HasPrefix(name, blobDir+"/") || path.Clean(name) != name {
		return nil, fmt.Errorf("%q is no file of an archive for others: %w", name, fs.ErrNotExist)
	}
	return a.files.ReadFile(name)
}

// Rebase has the archive and the log of a member that was far behind begin anew: the tiles, bundles and blobs under a
// checkpoint were put into the archive's directory, durably and verified, and w says where the log goes on. A crash leaves what was before, or
// what is then.
func (a *Archive) Rebase(note []byte, w memberlog.Write) error {
	a.sealing.Lock()
	defer a.sealing.Unlock()
	if err := a.usable(); err != nil {
		return err
	}
	next := &Archive{files: a.files, keys: a.keys}
	if err := next.readTree(note); err != nil {
		return err
	}
	if err := errors.Join(next.edgeErr, next.readRecent(&memberlog.Kept{Before: *w.Base})); err != nil {
		return err
	}
	if err := next.holdRecent(); err != nil {
		return err
	}
	older := a.sealed.Size
	if next.sealed.Size < older || uint64(next.sealed.Size) < w.Base.Seq || w.State.Taken < uint64(next.sealed.Size) {
		return fmt.Errorf("the log is to begin anew after event %d, the checkpoint covers %d, and that of now %d", w.Base.Seq, next.sealed.Size, older)
	}
	if err := a.journal.rebase(w, note); err != nil {
		return err
	}
	if err := a.files.write(ledger.CheckpointPath, note); err != nil {
		return err
	}
	a.mu.Lock()
	a.edge, a.sealed, a.note, a.full, a.recent = next.edge, next.sealed, next.note, next.full, next.recent
	a.mu.Unlock()
	return a.forgetPartial(older, next.sealed.Size)
}

// Leave makes the log of the last member of a cluster that of a single box again, which [Open] opens then. All that the
// log holds is committed, which the member says of its end, and in the archive. Nothing can be written after it; what is left is to
// close the archive.
func (a *Archive) Leave(end memberlog.Mark) error {
	if _, err := a.Seal(); err != nil {
		return err
	}
	j := a.journal
	if j.end != end || end.Seq != uint64(a.Sealed()) {
		return fmt.Errorf("the log has entries up to %d, and those up to %d are committed: it can't be a single box's", j.end.Index, end.Index)
	}
	names, firsts, err := segmentNames(a.files)
	if err != nil {
		return err
	}
	from := a.full
	if n := len(names); n > 0 {
		data, err := a.files.ReadFile(names[n-1])
		if err != nil {
			return fmt.Errorf("read the archive's log: %w", err)
		}
		end, whole := readSegment(names[n-1], data).whole()
		if !whole {
			return damagedMember(names[n-1], "it is damaged, in event %d or after it", firsts[n-1]+1)
		}
		from = end
	}
	if err := a.writeSegments(from); err != nil {
		return err
	}
	return j.leave()
}

// WriteLog gives a copy of an archive, in which there is no log, that of a single box: with the events that its checkpoint covers, from its bundles.
func WriteLog(files FS, verifier string) error {
	a, err := openTree(files, Keys{Verifier: verifier})
	if err == nil {
		a.recent, err = a.beginning()
	}
	if err != nil {
		return err
	}
	return a.writeSegments(0)
}

// writeSegments writes the segments of a single box's log with the events from an index on.
func (a *Archive) writeSegments(from int64) error {
	data, events, size := newSegment(from), [][]byte(nil), 0
	first := from
	flush := func(next int64) error {
		if len(events) > 0 {
			data, _ = appendBatch(data, next-int64(len(events)), events)
		}
		err := a.files.write(segmentName(first), data)
		data, events, size, first = newSegment(next), nil, 0, next
		return err
	}
	next := from
	err := a.Entries(from, func(index int64, stored []byte) error {
		events, next, size = append(events, stored), index+1, size+len(stored)
		if size > segmentLimit {
			return flush(next)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush(next)
}
