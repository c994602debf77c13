package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
	"github.com/signalbox-dev/signalbox/ledger"
)

// LostError says what can't be restored from any copy. Nothing was changed.
type LostError struct {
	Lost []string
}

func (e *LostError) Error() string {
	return "this can't be repaired, and nothing was changed: " + strings.Join(e.Lost, "; ") +
		": put the files back from a copy of the archive"
}

// Repair rebuilds what is damaged in the archive from what is proven: by the signed root, or
// after the last checkpoint by the log's checksums. Each sealed event lies in a bundle and in a
// segment of the log, and each rebuilds the other; a mirror has the log's end once more. Repair
// returns in words what it did.
//
// A checkpoint that is not valid is signed again only if bundles and log agree in everything. What
// can't be restored is a [LostError], and what is no file of an archive at all a [Damage]. Files that are replaced are kept under damaged-<n>. An archive
// that was made when segments were removed gets them. The repaired archive still has to be started.
//
// It goes through the archive at most four times, and holds one bundle and one segment in memory.
func Repair(ctx context.Context, fs FS, keys Keys) (done []string, err error) {
	defer func() { err = inTheWay(fs, err) }()
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	if member, err := IsMember(fs); err != nil {
		return nil, err
	} else if member {
		return nil, &Damage{Where: logDir, What: "it is a cluster member's log, and bundles have no terms, votes and members to make it from", Advice: adviceRejoin}
	}
	x, err := examine(fs, keys)
	if err != nil {
		return nil, err
	}
	proven := false
	for _, prefer := range []preference{preferTile, preferLog, preferBundle} {
		if proven, err = x.walk(ctx, prefer, look, lookTile); err != nil {
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
	err = r.run(ctx)
	if r.more > 0 {
		r.done = append(r.done, "so it was with "+english.Count(int64(r.more), "more file"))
	}
	return r.done, err
}

// look and lookTile do nothing with what is found.
func look(int64, []byte, []byte) error { return nil }
func lookTile(string, []byte) error    { return nil }

// repair carries out what an examination found to be possible.
type repair struct {
	*examination
	aside string // the directory for files that are replaced; "" until one is
	done  []string
	more  int // what was done besides

	building []byte // the bundle of the events so far
	segments rebuilder
}

// maxDone is how much is said of what was done to single files.
const maxDone = 200

func (r *repair) did(format string, args ...any) {
	if len(r.done) >= maxDone {
		r.more++
		return
	}
	r.done = append(r.done, fmt.Sprintf(format, args...))
}

// run repairs the archive's files. The checkpoint comes last.
func (r *repair) run(ctx context.Context) error {
	if err := r.files.clear(); err != nil {
		return err
	}
	if r.keyWrong {
		if err := r.replace(keyPath, keyFile(r.keys)); err != nil {
			return err
		}
		r.did("%s was written again", keyPath)
	}
	prefer := r.prefer
	r.segments = rebuilder{r: r}
	proven, err := r.walk(ctx, prefer, r.take, r.tileFile)
	if err == nil {
		err = r.segments.close()
	}
	switch {
	case err != nil:
		return fmt.Errorf("repair the archive: %w", err)
	case !proven:
		return errors.New("repair the archive: its files changed meanwhile: does a box run there?")
	}
	if r.unsure {
		r.did("how many events the log had is not known: if there were more than %d, they are lost", r.end)
	}
	for _, name := range r.strayBlobs() {
		if err := errors.Join(r.keep(name), r.files.Remove(name)); err != nil {
			return err
		}
		r.did("%s was damaged, and was moved aside: no event refers to it", name)
	}
	if err := r.fillMirror(); err != nil {
		return err
	}
	if r.unsigned != "" {
		return r.sign()
	}
	return nil
}

// keep copies a file aside. A copy leaves no moment at which it is nowhere.
func (r *repair) keep(name string) error { return r.keepAs(r.files, name, name) }

func (r *repair) keepAs(from *store, name, as string) error {
	data, err := from.ReadFile(name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep the damaged file %s: %w", name, err)
	}
	first := r.aside == ""
	if first {
		names, err := r.files.ReadDir(".")
		if err != nil {
			return fmt.Errorf("keep the damaged file %s: %w", name, err)
		}
		for n := 1; r.aside == ""; n++ {
			if dir := fmt.Sprint("damaged-", n); !slices.Contains(names, dir) {
				r.aside = dir
			}
		}
	}
	if err := r.files.write(r.aside+"/"+as, data); err != nil {
		return err
	}
	if first {
		r.did("files that are replaced are kept in %s", r.aside)
	}
	return nil
}

// replace writes a file, and keeps the one that was there.
func (r *repair) replace(name string, data []byte) error {
	if err := r.keep(name); err != nil {
		return err
	}
	return r.files.write(name, data)
}

// take puts a chosen event into its bundle and its segment.
func (r *repair) take(index int64, chosen, logged []byte) error {
	if err := r.segments.take(index, chosen, logged); err != nil || index >= r.signed.Size {
		return err
	}
	r.building = ledger.AppendEntry(r.building, chosen)
	n := index + 1
	if n%ledger.TileWidth != 0 && n != r.signed.Size {
		return nil
	}
	name := ledger.EntriesPath(index/ledger.TileWidth, int(index%ledger.TileWidth)+1)
	want := r.building
	r.building = nil
	replaced, err := r.replaceOther(name, want)
	if err == nil && replaced {
		r.did("%s was rebuilt: its events are those that were signed", name)
	}
	return err
}

// replaceOther replaces a file that has other bytes.
func (r *repair) replaceOther(name string, want []byte) (replaced bool, err error) {
	if got, err := r.files.ReadFile(name); err == nil && bytes.Equal(got, want) {
		return false, nil
	}
	return true, r.replace(name, want)
}

func (r *repair) tileFile(name string, want []byte) error {
	replaced, err := r.replaceOther(name, want)
	if err == nil && replaced {
		r.did("%s was made again from the events", name)
	}
	return err
}

// sign signs the events in full bundles again. What the log has is sealed as usual.
func (r *repair) sign() error {
	note, err := r.edge.Checkpoint(r.keys.Origin()).Sign(r.keys.Signer)
	if err != nil {
		return err
	}
	if err := r.replace(ledger.CheckpointPath, note); err != nil {
		return err
	}
	r.did("the checkpoint was signed again over the first %s (%s): bundles and log agree, and that alone says that they are right", english.Count(r.signed.Size, "event"), r.unsigned)
	return nil
}

// rebuilder writes the segments that are not whole. It is given every event, and
// holds those of one segment.
type rebuilder struct {
	r       *repair
	begun   bool     // a segment is made
	first   int64    // its first event
	data    []byte   // its batches so far
	pending [][]byte // events for the next one
	next    int64    // the event after all of these
	named   bool     // there is a file of its name
	whole   bool     // that file is whole, and holds the events up to end
	end     int64
	same    bool // it has the events that were given so far

	made                int // files that were not there
	madeFirst, madeLast int64
}

// take adds an event, of which the log has the copy logged.
func (b *rebuilder) take(index int64, chosen, logged []byte) error {
	named := b.r.log.at >= 0 && b.r.log.first == index
	passed := b.whole && index == b.end || !b.whole && len(b.data) > segmentLimit
	if !b.begun || named || passed {
		if err := b.finish(); err != nil {
			return err
		}
		b.begin(index, named)
	}
	b.same = b.same && bytes.Equal(chosen, logged)
	b.pending = append(b.pending, chosen)
	b.next = index + 1
	if len(b.pending) == ledger.TileWidth {
		b.flush()
	}
	return nil
}

func (b *rebuilder) begin(index int64, named bool) {
	b.begun, b.first, b.next, b.data, b.named, b.whole, b.same = true, index, index, newSegment(index), named, false, true
	if !named {
		return
	}
	end, whole := b.r.log.whole()
	span, known := b.r.log.span()
	if !known {
		span = b.r.end
		whole = whole || end == span && b.r.log.tornAfter(b.r.signed.Size) // which a start removes
	}
	b.whole, b.end = whole && end <= span && end > index, end
}

// flush makes a batch of the events that are pending.
func (b *rebuilder) flush() {
	if len(b.pending) > 0 {
		b.data, _ = appendBatch(b.data, b.next-int64(len(b.pending)), b.pending)
		b.pending = nil
	}
}

// finish writes the segment that is made, if there is none like it.
func (b *rebuilder) finish() error {
	if !b.begun || b.whole && b.same && b.next == b.end {
		b.pending = nil
		return nil
	}
	b.flush()
	name := segmentName(b.first)
	if err := b.r.replace(name, b.data); err != nil {
		return err
	}
	if b.named {
		b.r.did("%s was rebuilt: it has events %d to %d", name, b.first+1, b.next)
		return nil
	}
	if b.made++; b.made == 1 {
		b.madeFirst = b.first
	}
	b.madeLast = b.next
	return nil
}

// close finishes the last segment, and says how many were made.
func (b *rebuilder) close() error {
	if err := b.finish(); err != nil {
		return err
	}
	if err := b.last(); err != nil {
		return err
	}
	if b.made > 0 {
		b.r.did("files of the log were missing, and %d were made from other copies: with events %d to %d", b.made, b.madeFirst+1, b.madeLast)
	}
	return nil
}

// last sees to the segment that the next event goes to, if no event is in it yet.
func (b *rebuilder) last() error {
	log, end := b.r.log, b.r.end
	if n := len(log.names); n > 0 && log.firsts[n-1] != end || n == 0 && end > 0 {
		return nil
	}
	name, want := segmentName(end), newSegment(end)
	data, err := b.r.files.ReadFile(name)
	if err != nil && !missing(err) {
		return fmt.Errorf("read the archive's log: %w", err)
	}
	if err == nil && len(readSegment(name, data).faults) == 0 {
		return nil
	}
	if err := b.r.replace(name, want); err != nil {
		return err
	}
	b.r.did("%s was written again: no event is in it yet", name)
	return nil
}
