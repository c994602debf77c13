package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/archive"
	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// copier copies a box, which may run, to a directory.
type copier struct {
	ctx      context.Context
	from, to string
	files    archive.FS // the archive's
	verifier string
	member   bool // its log is that of a cluster's member
}

// copyBox copies everything and verifies the copy. Sessions come before the ledger: a report
// of theirs that the box takes meanwhile is then in both, and not in neither.
func (c *copier) copyBox() (Report, error) {
	if err := c.copySecrets(); err != nil {
		return Report{}, err
	}
	if err := c.copyLeft(); err != nil {
		return Report{}, err
	}
	return c.copyLedger()
}

func (c *copier) copySecrets() error {
	for _, name := range append(secretFiles(), ownKey) {
		data, err := regular.Read(filepath.Join(c.from, name), maxSmall)
		if name == ownKey && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no box in %s to back up: it has no %s", safetext.Escape(c.from), name)
		}
		if err == nil {
			err = c.write(name, data)
		}
		if err != nil {
			return fmt.Errorf("back up %s: %w", name, err)
		}
	}
	var err error
	if c.verifier, err = checkSecrets(c.to); err != nil {
		return fmt.Errorf("this could not be restored: %w: put the file back from a copy, or remove it if it is not %s, and start the box, which makes it anew", err, signerFile)
	}
	return nil
}

// ofProcess says whether a file is a session's about processes of this machine and time: a copy has none. A box would
// end whichever has such a number.
func ofProcess(name string) bool {
	return strings.HasPrefix(name, sessionsDir+"/") && slices.Contains([]string{"lock", "session.json", "agent.json"}, path.Base(name))
}

// foreign says whether a directory below the sessions' is none that a session keeps its own files in, or lies below that
// of the gate's logs, which has none: agents and checks write to others, as much and as deep as they like.
func foreign(dir string) bool {
	if strings.HasPrefix(dir, gateLogsDir+"/") {
		return true
	}
	parts := strings.Split(dir, "/") // sessions, a session, a directory of its own
	return len(parts) > 3 || len(parts) == 3 && parts[2] != "outbox" && parts[2] != "refused"
}

// copyLeft copies what sessions left, and what the gate's checks printed.
func (c *copier) copyLeft() error {
	root, err := os.OpenRoot(c.from)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // read only
	for _, dir := range []string{sessionsDir, gateLogsDir} {
		if err := c.copyBelow(root, dir); err != nil {
			return fmt.Errorf("back up %s: %w", dir, err)
		}
	}
	return nil
}

// copyBelow copies the files below a directory. One that grows is copied as far as it
// goes, and one that goes away is left out; so is what neither a session nor the gate
// writes, as agents and checks may have put anything there.
func (c *copier) copyBelow(root *os.Root, dir string) error {
	return fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || c.ctx.Err() != nil:
			return errors.Join(err, c.ctx.Err())
		case d.IsDir() && foreign(name):
			return fs.SkipDir
		case !d.Type().IsRegular() || !expected(name) || ofProcess(name):
			return nil
		}
		f, err := regular.OpenIn(root, name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, regular.ErrIrregular) {
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // read only
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return c.put(name, io.LimitReader(f, min(info.Size(), maxFile)))
	})
}

// maxCopies is how often the ledger is copied until a copy is whole: a batch that
// is just being written spoils one.
const maxCopies = 10

func (c *copier) copyLedger() (_ Report, err error) {
	if c.member, err = archive.IsMember(c.files); err != nil {
		return Report{}, fmt.Errorf("back up the ledger: %w", err)
	}
	var last moving
	for copies := 1; ; copies++ {
		m, err := c.capture()
		if err != nil {
			return Report{}, err
		}
		if err := c.forget(last); err != nil {
			return Report{}, err
		}
		if err := c.copyFixed(m); err != nil {
			return Report{}, err
		}
		if err := c.place(m); err != nil {
			return Report{}, err
		}
		var r Report
		if c.member {
			err = archive.WriteLog(archive.Dir(c.path(archiveDir)), c.verifier)
		}
		if err == nil {
			r, err = verify(c.ctx, c.to)
		}
		if r.Member = c.member; err == nil {
			return r, nil
		}
		if copies == maxCopies || maps.EqualFunc(m.files, last.files, bytes.Equal) {
			return Report{}, fmt.Errorf("the ledger can't be backed up as it is: %w: start the box, or run `signalbox ledger repair`, and try again", err)
		}
		last = m
	}
}

// moving is what a box changes in its archive, as it was at one moment.
type moving struct {
	size     int64 // of the checkpoint
	files    map[string][]byte
	segments []string // files of the log that were full already
}

// maxCaptures is how often a reading is begun again because a checkpoint came. The
// box signs one a second, and a reading takes milliseconds.
const maxCaptures = 100

// capture reads what a box changes, between two checkpoints.
func (c *copier) capture() (moving, error) {
	for range maxCaptures {
		if err := c.ctx.Err(); err != nil {
			return moving{}, err
		}
		note, err := c.files.ReadFile(ledger.CheckpointPath)
		if err != nil {
			return moving{}, fmt.Errorf("there is no ledger to back up: %w", err)
		}
		checkpoint, err := ledger.OpenCheckpoint(note, c.verifier)
		if err != nil {
			return moving{}, fmt.Errorf("back up %s: %w: run `signalbox ledger repair`", ledger.CheckpointPath, err)
		}
		m := moving{size: checkpoint.Size, files: map[string][]byte{ledger.CheckpointPath: note}}
		if err := c.readMoving(&m); err != nil {
			return moving{}, fmt.Errorf("back up the ledger: %w", err)
		}
		if again, err := c.files.ReadFile(ledger.CheckpointPath); err == nil && bytes.Equal(again, note) {
			return m, nil
		}
	}
	return moving{}, errors.New("the ledger's checkpoint changed whenever it was read: try again")
}

func (c *copier) readMoving(m *moving) error {
	names, err := c.movingNames(m)
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := c.files.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // superseded just now; if it was not, the copy does not verify
		}
		if err != nil {
			return err
		}
		m.files[name] = data
	}
	return nil
}

// memberPrefix begins the name of a file of a member's log. A box that stands alone again keeps those.
const memberPrefix = "member-"

// movingNames returns the names of what a box changes, besides the checkpoint. Of the log that
// is the last file.
func (c *copier) movingNames(m *moving) ([]string, error) {
	names := []string{"key"}
	segments, err := c.files.ReadDir("log")
	m.segments = nil
	for _, name := range segments {
		if !c.member && strings.HasSuffix(name, ".log") && !strings.HasPrefix(name, memberPrefix) {
			m.segments = append(m.segments, "log/"+name)
		}
	}
	if last := len(m.segments) - 1; last >= 0 {
		names, m.segments = append(names, m.segments[last]), m.segments[:last]
	}
	for level, n := 0, m.size; n > 0; level, n = level+1, n/ledger.TileWidth {
		if width := int(n % ledger.TileWidth); width > 0 {
			names = append(names, ledger.TilePath(level, n/ledger.TileWidth, width))
			if level == 0 {
				names = append(names, ledger.EntriesPath(n/ledger.TileWidth, width))
			}
		}
	}
	return names, err
}

// forget removes what an earlier capture put into the copy.
func (c *copier) forget(earlier moving) error {
	for name := range earlier.files {
		if err := os.Remove(c.path(archiveDir + "/" + name)); err != nil {
			return err
		}
	}
	if c.member {
		return os.RemoveAll(c.path(archiveDir + "/log"))
	}
	return nil
}

// place puts what was captured into the copy.
func (c *copier) place(m moving) error {
	for name, data := range m.files {
		if err := c.write(archiveDir+"/"+name, data); err != nil {
			return err
		}
	}
	return nil
}

// copyFixed copies what is never changed, less what is there already: the full files of the log, the
// full tiles and bundles, and the blobs.
func (c *copier) copyFixed(m moving) error {
	for _, name := range m.segments {
		if err := c.copyOnce(name); err != nil {
			return err
		}
	}
	for level, n := 0, m.size/ledger.TileWidth; n > 0; level, n = level+1, n/ledger.TileWidth {
		for i := range n {
			if err := c.copyOnce(ledger.TilePath(level, i, ledger.TileWidth)); err != nil {
				return err
			}
			if level > 0 {
				continue
			}
			if err := c.copyOnce(ledger.EntriesPath(i, ledger.TileWidth)); err != nil {
				return err
			}
		}
	}
	prefixes, err := c.files.ReadDir("blob")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, prefix := range prefixes {
		names, err := c.files.ReadDir("blob/" + prefix)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := c.copyOnce("blob/" + prefix + "/" + name); err != nil {
				return err
			}
		}
	}
	return err
}

// copyOnce copies a file of the archive, if it is there and the copy is not.
func (c *copier) copyOnce(name string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(c.path(archiveDir + "/" + name)); err == nil {
		return nil
	}
	data, err := c.files.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the verification tells whether it is needed
	}
	if err != nil {
		return fmt.Errorf("back up the ledger: %w", err)
	}
	if strings.HasPrefix(name, "blob/") && ledger.BlobPath(ledger.NewBlob(data).SHA256) != name {
		return fmt.Errorf("%s of the archive is damaged: run `signalbox ledger repair`, and try again", name)
	}
	return c.write(archiveDir+"/"+name, data)
}

func (c *copier) path(name string) string { return filepath.Join(c.to, filepath.FromSlash(name)) }

func (c *copier) write(name string, data []byte) error { return c.put(name, bytes.NewReader(data)) }

// put writes a file of the copy.
func (c *copier) put(name string, content io.Reader) error {
	if err := os.MkdirAll(c.path(path.Dir(name)), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(c.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
