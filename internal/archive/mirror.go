package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/english"
)

// mirrorNote is a file of the archive that says that its log has a mirror: one that was lost is
// told by it from one that is new.
const mirrorNote = "mirror"

const mirrorText = "the log is written to a mirror too\n"

const adviceMirror = "is its disk there? Put the directory back; or run `signalbox ledger repair`, which makes it again from the log"

// mirrored is files with a second place for the log.
type mirrored struct {
	FS
	log FS
}

// Mirrored returns files of which the log is written to a second directory too: both are synced
// before an append is acknowledged. The mirror keeps the segments with events that are not in
// full bundles yet; the others lie in two copies without it.
func Mirrored(fs, log FS) FS { return mirrored{fs, log} }

// mirrorOf returns the second place for the log, or nil.
func mirrorOf(fs FS) *store {
	if m, ok := fs.(mirrored); ok {
		return newStore(Split(nil, m.log))
	}
	return nil
}

// inMirror says of a damage that it is the mirror's.
func inMirror(err error) error {
	var d *Damage
	if !errors.As(err, &d) {
		return err
	}
	return damagedMirror(strings.TrimPrefix(d.Where, logDir+"/"), "%s", d.What)
}

func damagedMirror(where, what string, args ...any) *Damage {
	if where == logDir {
		where = "its directory"
	}
	return &Damage{Where: "the mirror of the log, " + where, What: fmt.Sprintf(what, args...), Advice: adviceMirror}
}

// expectNoMirror refuses a mirror with events beside an archive that is not there.
func (a *Archive) expectNoMirror() error {
	if a.mirror == nil {
		return nil
	}
	segments, err := readLog(a.mirror, 0)
	if err != nil {
		return inTheMirrorsWay(a.mirror, err)
	}
	for _, s := range segments {
		if s.first > 0 || len(s.data) > segmentHead {
			return &Damage{Where: "the mirror of the log", What: "it has events, and there is no archive here", Advice: adviceDir}
		}
	}
	return nil
}

// joinMirror holds the log's end against its mirror. One is the beginning of the other, and the
// longer one is taken; secureEnd then writes it to both.
func (a *Archive) joinMirror(found *Findings) error {
	if a.mirror == nil || a.tail != nil && !a.tail.torn {
		return nil
	}
	theirs, err := readLog(a.mirror, 0)
	switch {
	case err != nil:
		return inTheMirrorsWay(a.mirror, fmt.Errorf("read the mirror of the log: %w", err))
	case len(theirs) == 0 && a.hadMirror:
		return damagedMirror(logDir, "it is missing or empty, and the log was written there")
	case len(theirs) == 0:
		found.note("the mirror of the log is new, and was filled")
		return nil
	}
	events, tail, err := joinLog(theirs, theirs[0].first)
	if err != nil {
		return inMirror(err)
	}
	if tail != nil && !tail.torn {
		return damagedMirror(path.Base(tail.segment), "it is damaged at byte %d, in event %d or after it", tail.at, tail.first+1)
	}
	end := theirs[0].first + int64(len(events))
	if end < a.sealed.Size && a.hadMirror {
		return damagedMirror(logDir, "it ends after event %d, and the checkpoint covers %s", end, english.Count(a.sealed.Size, "event"))
	}
	return a.takeLonger(theirs, tail, end, found)
}

func (a *Archive) takeLonger(theirs []segment, tail *fault, end int64, found *Findings) error {
	ours := cutTail(a.ending, a.tail)
	theirs, err := a.skipOlder(cutTail(theirs, tail), ours[0].first)
	switch {
	case err != nil:
		return err
	case len(theirs) > 0 && theirs[0].first > a.size():
		return damagedMirror(path.Base(theirs[0].name), "it begins with event %d, and the log ends after event %d: was an old copy of the archive put back?", theirs[0].first+1, a.size())
	case beginning(theirs, ours):
		if lacks := a.size() - end; lacks > 0 {
			found.note("the mirror of the log lacked the last %s, and was completed", english.Count(lacks, "event"))
		}
		return nil
	case !beginning(ours, theirs):
		return damagedMirror(path.Base(theirs[0].name), "it has other bytes than the log from event %d on", theirs[0].first+1)
	}
	found.note("the log lacked the last %s, and was completed from its mirror", english.Count(end-a.size(), "event"))
	a.ending = theirs
	a.recent, a.tail, err = joinLog(theirs, a.full)
	return err
}

// cutTail leaves out a write at the log's end that was never finished.
func cutTail(segments []segment, tail *fault) []segment {
	if tail == nil || len(segments) == 0 {
		return segments
	}
	last := segments[len(segments)-1]
	data := last.data[:tail.at]
	return append(segments[:len(segments)-1:len(segments)-1], readSegment(last.name, data))
}

// skipOlder leaves out the mirror's segments before the one that begins with an event. They have to
// be the log's.
func (a *Archive) skipOlder(theirs []segment, first int64) ([]segment, error) {
	for len(theirs) > 0 && theirs[0].first < first {
		if ok, err := a.holds(theirs[0].name, theirs[0].data); err != nil || !ok {
			return nil, errors.Join(err, damagedMirror(path.Base(theirs[0].name), "it has other bytes than the log"))
		}
		theirs = theirs[1:]
	}
	return theirs, nil
}

// beginning says whether a log is the beginning of another one, or the same.
func beginning(short, long []segment) bool {
	for i, s := range short {
		if i >= len(long) || s.name != long[i].name || !bytes.HasPrefix(long[i].data, s.data) {
			return false
		}
		if i < len(short)-1 && len(s.data) != len(long[i].data) {
			return false
		}
	}
	return true
}

// settleMirror writes the log's end to the mirror, and notes that there is one.
func (a *Archive) settleMirror() error {
	switch {
	case a.mirror == nil && a.hadMirror:
		if err := a.files.Remove(mirrorNote); err != nil {
			return fmt.Errorf("forget the mirror of the log: %w", err)
		}
		return a.files.syncDir(".")
	case a.mirror == nil:
		return nil
	}
	if err := a.mirror.clear(); err != nil {
		return err
	}
	for _, s := range a.ending {
		if err := a.mirror.write(s.name, s.data); err != nil {
			return fmt.Errorf("fill the mirror of the log: %w", err)
		}
	}
	if err := a.trimMirror(); err != nil || a.hadMirror {
		return err
	}
	return a.files.write(mirrorNote, []byte(mirrorText))
}

// trimMirror removes the mirror's segments whose events are in full bundles.
func (a *Archive) trimMirror() error {
	if a.mirror == nil {
		return nil
	}
	a.mu.Lock()
	full := a.full
	a.mu.Unlock()
	names, firsts, err := segmentNames(a.mirror)
	for i := 0; i+1 < len(firsts) && firsts[i+1] <= full; i++ {
		err = errors.Join(err, a.mirror.Remove(names[i]))
	}
	return err
}

// holdMirror holds the mirror against the events that are not in full bundles.
func (s *scrub) holdMirror(ctx context.Context) error {
	if s.a.mirror == nil || s.to < s.size {
		return nil
	}
	first, err := holdLog(ctx, s.a.mirror, s.full, s.size, func(index int64, stored []byte) (bool, error) {
		return bytes.Equal(stored, s.recent[index-s.full]), nil
	})
	if err == nil && first > s.full {
		err = damagedLog(logDir, "it begins with event %d, and should have event %d", first+1, s.full+1)
	}
	return inMirror(err)
}

// fillMirror makes the mirror's files as the log's are.
func (r *repair) fillMirror() error {
	if r.mirror == nil {
		return nil
	}
	ours, err := readLog(r.files, fullBundles(r.signed.Size))
	if err != nil {
		return err
	}
	theirs, _, err := segmentNames(r.mirror)
	if err != nil {
		return inTheMirrorsWay(r.mirror, err)
	}
	wrong := map[string]bool{} // those that are not the log's
	for _, name := range theirs {
		got, err := r.mirror.ReadFile(name)
		want, err2 := r.files.ReadFile(name)
		if wrong[name] = err != nil || err2 != nil || !bytes.Equal(got, want); !wrong[name] {
			continue
		}
		if err := r.keepAs(r.mirror, name, "mirror/"+path.Base(name)); err != nil {
			return inTheMirrorsWay(r.mirror, err)
		}
	}
	return r.replaceMirror(ours, wrong)
}

func (r *repair) replaceMirror(ours []segment, wrong map[string]bool) error {
	written := 0
	for _, s := range ours {
		got, err := r.mirror.ReadFile(s.name)
		delete(wrong, s.name)
		if err == nil && bytes.Equal(got, s.data) {
			continue
		}
		if err := r.mirror.write(s.name, s.data); err != nil {
			return err
		}
		written++
	}
	for name, gone := range wrong {
		if !gone {
			continue
		}
		if err := r.mirror.Remove(name); err != nil {
			return err
		}
		written++
	}
	if written == 0 {
		return nil
	}
	if err := r.mirror.syncDir(logDir); err != nil {
		return err
	}
	r.did("the mirror of the log was made again: it has events from %d on", ours[0].first+1)
	return nil
}

// twin is a file that is written in two places.
type twin struct{ one, other File }

func (t twin) Write(p []byte) (int, error) {
	if n, err := t.one.Write(p); err != nil {
		return n, err
	}
	n, err := t.other.Write(p)
	if err != nil {
		err = fmt.Errorf("the mirror of the log: %w", err)
	}
	return n, err
}

// Sync syncs both at the same time.
func (t twin) Sync() error {
	return both(t.one.Sync, t.other.Sync)
}

func (t twin) Stands() error { return errors.Join(t.one.Stands(), t.other.Stands()) }

func (t twin) Close() error { return errors.Join(t.one.Close(), t.other.Close()) }

// both does something to the log and to its mirror at the same time.
func both(log, mirror func() error) error {
	done := make(chan error, 1)
	go func() { done <- mirror() }()
	err := log()
	if mirrorErr := <-done; mirrorErr != nil {
		err = errors.Join(err, fmt.Errorf("the mirror of the log: %w", mirrorErr))
	}
	return err
}

// createLog begins a segment.
func (a *Archive) createLog(name string) (File, error) { return a.openLog(name, FS.Create) }

func (a *Archive) openLog(name string, open func(FS, string) (File, error)) (File, error) {
	f, err := open(a.files.FS, name)
	if err != nil || a.mirror == nil {
		return f, err
	}
	other, err := open(a.mirror.FS, name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the mirror of the log: %w", err), f.Close())
	}
	return twin{f, other}, nil
}

// syncLogDir makes the name of a new segment durable.
func (a *Archive) syncLogDir() error {
	sync := func() error { return a.files.syncDir(logDir) }
	if a.mirror == nil {
		return sync()
	}
	return both(sync, func() error { return a.mirror.syncDir(logDir) })
}
