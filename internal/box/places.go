package box

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/archive"
)

// segmentsFile says where the archive's log lies, if not in the archive.
const segmentsFile = "segments.path"

// logDir is where the log lies in an archive.
const logDir = "log"

// Segments returns where the log of an archive lies, if not in it: where it is configured to lie,
// or where it lay when the box was last started, unless it was moved back into the archive.
func (d Dir) Segments(archivePath, configured string) string {
	if configured != "" {
		return filepath.Clean(configured)
	}
	noted, err := os.ReadFile(d.path(segmentsFile))
	if err != nil || len(noted) == 0 || hasSegments(filepath.Join(archivePath, logDir)) {
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
				agentsig.Escape(one), o.Dir.path(archiveFile), o.Dir.path(segmentsFile))
		}
		for _, other := range places[:i] {
			if one != "" && other != "" && samePlace(one, other) {
				return fmt.Errorf("%s and %s are the same directory: the archive, its log and the log's mirror each need their own", other, one)
			}
		}
	}
	return nil
}

// expectAll refuses to start without what was there before.
func (o *Options) expectAll() error {
	if _, err := os.Stat(o.Archive); err != nil && o.Files == nil {
		if err := o.Dir.refuseGone(o.Archive); err != nil {
			return err // which says where
		}
	}
	noted, err := os.ReadFile(o.Dir.path(segmentsFile))
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
	if o.Segments != "" {
		return o.Dir.setPlace(segmentsFile, o.Segments)
	}
	err := os.Remove(o.Dir.path(segmentsFile))
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

// hold keeps other boxes out of the directory, settles where everything lies, and keeps others out of
// there too: another that begins here at the same time decides it first. Check may refuse before
// anything is made there.
func (o *Options) hold(check func() error) (release func() error, err error) {
	release, err = lock(o.Dir.path(lockFile))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, release())
			release = nil
		}
	}()
	if err := o.settle(); err != nil {
		return release, err
	}
	if err := check(); err != nil {
		return release, err
	}
	places := []string{o.Segments, o.Mirror}
	if o.elsewhere() {
		places = append(places, o.Archive)
	}
	for _, place := range places {
		if place == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
			return release, err
		}
		other, err := lock(filepath.Clean(place) + ".lock")
		if err != nil {
			return release, err
		}
		before := release
		release = func() error { return errors.Join(other(), before()) }
	}
	return release, nil
}

func (o Options) files() archive.FS {
	if o.Files != nil {
		return o.Files
	}
	files := Files(o.Archive, o.Segments)
	if o.Mirror != "" {
		files = archive.Mirrored(files, archive.Dir(o.Mirror))
	}
	return files
}
