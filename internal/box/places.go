package box

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/durable"
	"github.com/signalbox-dev/signalbox/internal/filelock"
	"github.com/signalbox-dev/signalbox/safetext"
)

// Where the archive's log lies, if not in the archive, and its mirror, if there is one.
const (
	segmentsFile = "segments.path"
	mirrorFile   = "mirror.path"
)

// logDir is where the log lies in an archive.
const logDir = "log"

// Segments returns where the log of an archive lies, if not in it: where it is configured to lie,
// or where it lay when the box was last started, unless it was moved back into the archive.
func (d Dir) Segments(archivePath, configured string) string {
	if configured != "" {
		return filepath.Clean(configured)
	}
	noted, err := d.readFile(segmentsFile, maxSmall)
	if err != nil || len(noted) == 0 || hasSegments(filepath.Join(archivePath, logDir)) {
		return ""
	}
	return strings.TrimSuffix(string(noted), "\n")
}

// Mirror returns where the log's mirror lay when the box was last started; empty if it had none.
func (d Dir) Mirror() string {
	noted, err := d.readFile(mirrorFile, maxSmall)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(noted), "\n")
}

// Files returns the files of an archive whose log may lie elsewhere.
func Files(archivePath, segments string) archive.FS {
	if segments == "" {
		return archive.Dir(archivePath)
	}
	return archive.Split(archive.Dir(archivePath), archive.Dir(segments))
}

func hasSegments(dir string) bool {
	names, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.log"))
	return err == nil && len(names) > 0
}

// escapeGlob makes a pattern that only the path itself matches.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// settle finds out where the archive and its log lie, and refuses places that can't be right.
func (o *Options) settle() error {
	o.Archive = o.Dir.Archive(o.Archive)
	noted := o.Dir.Segments(o.Archive, "")
	o.Segments = o.Dir.Segments(o.Archive, o.Segments)
	before := noted
	if before == "" {
		before = filepath.Join(o.Archive, logDir)
	}
	if o.Segments != "" && !hasSegments(o.Segments) && hasSegments(before) && !samePlace(before, o.Segments) {
		return &archive.Damage{
			Where: o.Segments, What: "the log's files are not there, but in " + before,
			Advice: "move them there while the box is stopped, or take archive.segments out of the settings",
		}
	}
	places := []string{o.Archive, o.Segments, o.Mirror}
	for i, one := range places {
		if strings.ContainsRune(one, 0) {
			return fmt.Errorf("%s is no directory's name: put %s or %s back from a copy, or name the directory in signalbox.yaml",
				safetext.Escape(one), o.Dir.path(archiveFile), o.Dir.path(segmentsFile))
		}
		for _, other := range places[:i] {
			switch {
			case one == "" || other == "":
			case samePlace(one, other):
				return fmt.Errorf("%s and %s are the same directory: the archive, its log and the log's mirror each need their own", other, one)
			case inside(one, other):
				return fmt.Errorf("%s lies in %s: the archive, its log and the log's mirror each need a directory of their own", one, other)
			}
		}
	}
	return nil
}

// inside reports whether a place lies below a directory. Neither has to be there yet.
func inside(place, dir string) bool {
	return strings.HasPrefix(resolved(place), resolved(dir)+string(filepath.Separator))
}

// resolved is a path without links, as far as it is there.
func resolved(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	for there := path; there != filepath.Dir(there); there = filepath.Dir(there) {
		if real, err := filepath.EvalSymlinks(there); err == nil {
			return filepath.Join(real, strings.TrimPrefix(path, there))
		}
	}
	return path
}

// expectMember refuses to start a cluster's member whose ledger is gone, before another one is begun in its place.
func (o *Options) expectMember() error {
	gone := o.Dir.path(signerFile)
	if _, err := os.Stat(gone); err == nil {
		if gone = cmp.Or(o.Segments, filepath.Join(o.Archive, logDir)); o.Files != nil || hasSegments(gone) {
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return &archive.Damage{
		Where: safetext.Escape(gone), What: "it is gone, and cluster.json says that this box is a member of a cluster",
		Advice: "is its disk there? If it was lost or emptied, `signalbox cluster rejoin` has the box fetch all from the others, under a new id; if `signalbox cluster join` was cut off here, call it again",
	}
}

// expectAll refuses to start without what was there before.
func (o *Options) expectAll() error {
	if o.Cluster != nil {
		return o.expectMember()
	}
	if _, err := os.Stat(o.Archive); err != nil && o.Files == nil {
		if err := o.Dir.refuseGone(o.Archive); err != nil {
			return err // which says where
		}
	}
	noted, err := o.Dir.readFile(segmentsFile, maxSmall)
	if o.Segments == "" || err != nil || strings.TrimSuffix(string(noted), "\n") != o.Segments || hasSegments(o.Segments) {
		return nil
	}
	return &archive.Damage{
		Where: o.Segments, What: "the log's files are gone",
		Advice: "is its disk there? If it is lost, run `signalbox ledger repair`: it makes them again, but for what no checkpoint covers",
	}
}

// samePlace says whether two paths are one directory, which may have two names.
func samePlace(one, other string) bool {
	if filepath.Clean(one) == filepath.Clean(other) {
		return true
	}
	a, err := os.Stat(one)
	b, err2 := os.Stat(other)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// notePlaces remembers where the archive and its log lie, if elsewhere.
func (o Options) notePlaces() error {
	if o.elsewhere() {
		if err := o.Dir.setPlace(archiveFile, o.Archive); err != nil {
			return err
		}
	}
	return errors.Join(o.Dir.notePlace(segmentsFile, o.Segments), o.Dir.notePlace(mirrorFile, o.Mirror))
}

// notePlace remembers that something lies elsewhere, or, with no path, that it does not.
func (d Dir) notePlace(name, path string) error {
	if path != "" {
		return d.setPlace(name, path)
	}
	err := os.Remove(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// setPlace remembers that something lies elsewhere.
func (d Dir) setPlace(name, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return d.write(name, []byte(path+"\n"))
}

// Hidden returns what neither agents nor models may see: the directory, and the archive, its log and
// the log's mirror, where they are set to lie and where they lay when the box was last started, which may
// have been with other settings, and what was set aside of them ([SetAside]).
func (d Dir) Hidden(c config.Archive) ([]string, error) {
	archivePath := d.Archive(c.Dir)
	all := []string{string(d), archivePath, d.Segments(archivePath, c.Segments), c.Mirror}
	for _, file := range []string{archiveFile, segmentsFile, mirrorFile} {
		noted, err := d.readFile(file, maxSmall)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		place := strings.TrimSuffix(string(noted), "\n")
		if _, err := os.Stat(place); err == nil { // it may be from long ago
			all = append(all, place)
		}
	}
	var paths []string
	for _, place := range all {
		if place == "" {
			continue
		}
		place, err := filepath.Abs(place)
		if err != nil {
			return nil, err
		}
		old, err := setAside(place)
		if err != nil {
			return nil, err
		}
		for _, path := range append(old, place) {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}

// setAside returns where what lay at a place before is.
func setAside(place string) (all []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(place))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) { // who may not look who is there has set nothing aside there
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(place)+asideEnd) {
			all = append(all, filepath.Join(filepath.Dir(place), e.Name()))
		}
	}
	return all, err
}

// holding is what a box has for itself for as long as it runs: its directory, and where the archive,
// its log and the log's mirror lie.
type holding struct {
	home   *filelock.Dir
	places map[string]*filelock.Dir
	taken  []*filelock.Dir // all of these
}

// hold takes the directory, settles where everything lies, and takes that too: another that begins
// here at the same time decides it first. Check may refuse before anything is made there.
func (o *Options) hold(ctx context.Context, check func() error) (err error) {
	h := &holding{places: map[string]*filelock.Dir{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.release())
		}
	}()
	if h.home, err = o.await(ctx, h); err != nil {
		return err
	}
	if err := o.settle(); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	o.held = h
	if o.Files != nil {
		return nil
	}
	for _, at := range []struct{ place, of string }{
		{o.Archive, "the archive"}, {o.Segments, "the archive's log (archive.segments)"}, {o.Mirror, "the log's mirror (archive.mirror)"},
	} {
		place := at.place
		if place == "" {
			continue
		}
		if err := archive.Dir(place).Mkdir("."); err != nil {
			return fmt.Errorf("%s is no directory for %s, and none can be made: %w: move away what is in its place, or name another", safetext.Escape(place), at.of, err)
		}
		beside := ""
		if place != o.Archive || o.elsewhere() {
			beside = filepath.Clean(place) + ".lock"
		}
		if h.places[place], err = h.take(place, beside); err != nil {
			return err
		}
	}
	return nil
}

// await takes the box's directory. While another has it whom nobody can ask, it waits.
func (o *Options) await(ctx context.Context, h *holding) (_ *filelock.Dir, err error) {
	waiting, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	var sign func() error
	defer func() {
		if sign != nil {
			err = errors.Join(err, sign())
		}
	}()
	for {
		d, err := o.takeHome(h, &sign)
		if !errors.Is(err, ErrLocked) {
			return d, err
		}
		if _, unknown := o.Dir.Address(); unknown == nil {
			return nil, err
		}
		select {
		case <-time.After(awaitPause):
		case <-waiting.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("%w, and can't be asked: it starts or stops, or is busy with one request; try again", err)
		}
	}
}

// awaitPause is how long a box waits before it tries again to take its directory.
const awaitPause = 10 * time.Millisecond

// takeHome takes the box's directory, if it is free. A box that is to stay puts up a sign, and one for a
// single request makes way for it: however many of those come, it is kept waiting by none that begins later.
func (o *Options) takeHome(h *holding, sign *func() error) (*filelock.Dir, error) {
	starting := o.Dir.path(startingFile)
	switch {
	case o.Unlisted:
		held, err := filelock.Held(starting)
		if held {
			err = fmt.Errorf("%w: %s", ErrLocked, o.Dir)
		}
		if err != nil {
			return nil, err
		}
	case *sign == nil:
		var err error
		if *sign, err = filelock.Take(starting); err != nil && !errors.Is(err, filelock.ErrTaken) { // another's does as well
			return nil, err
		}
	}
	return h.take(string(o.Dir), o.Dir.path(lockFile))
}

// take takes a directory, and a lock's file: by that versions before know that it is taken.
func (h *holding) take(path, file string) (*filelock.Dir, error) {
	d, err := filelock.TakeDir(path, file)
	if errors.Is(err, filelock.ErrTaken) {
		return nil, fmt.Errorf("%w: %s", ErrLocked, path)
	}
	if err == nil {
		h.taken = append(h.taken, d)
	}
	return d, err
}

// release gives everything back.
func (h *holding) release() (err error) {
	for _, d := range slices.Backward(h.taken) {
		err = errors.Join(err, d.Close())
	}
	h.taken = nil
	return err
}

// write replaces a file in the box's directory durably.
func (h *holding) write(name string, data []byte) error {
	return durable.WriteIn(h.home.Root, name, data)
}

// files returns what lies in a place that was taken.
func (h *holding) files(place string) archive.FS {
	d := h.places[place]
	return archive.Held(d.Root, func() error {
		if err := h.home.Stands(); err != nil {
			return err
		}
		return d.Stands()
	})
}

// files returns the archive's files, of what is held.
func (o Options) files() archive.FS {
	if o.Files != nil {
		return o.Files
	}
	files := o.held.files(o.Archive)
	if o.Segments != "" {
		files = archive.Split(files, o.held.files(o.Segments))
	}
	if o.Mirror != "" {
		files = archive.Mirrored(files, o.held.files(o.Mirror))
	}
	return files
}
