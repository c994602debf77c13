package worktree

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Git believes what it keeps for a worktree. A name in an index may lead out of the worktree,
// and git reads what is there into its store, or deletes it; and what git keeps for a task's
// worktree is the agent's to write. So git that touches files is told of a directory of the
// box's own in its place, which agents can't write. Of the agent's, where HEAD is, which
// operation is not finished, and which files are in conflict is believed, and no more.

// ownDirs is where these directories are, below what all worktrees share. The index in them
// stays between calls: git would have to read every file without it, and take files for changed
// that it would write differently today.
const ownDirs = "signalbox"

// apart is a worktree with the box's own directory for it.
func (r *Repo) apart(at place) place {
	return place{at.dir, filepath.Join(r.common, ownDirs, filepath.Base(at.gitDir))}
}

// trusted makes the box's own directory for a worktree ready: HEAD is as given, the index is as
// in a commit, and nothing else of before is there.
func (r *Repo) trusted(ctx context.Context, at place, head, commit string) (place, error) {
	own := r.apart(at)
	if err := r.clear(own, head); err != nil {
		return place{}, fmt.Errorf("the box's own part of git for %s could not be made: %w", safetext.Escape(at.dir), err)
	}
	err := r.change(ctx, own, "read-tree", "--reset", commit)
	if failed := (*GitError)(nil); errors.As(err, &failed) && !failed.short() {
		// The index may not have outlived a crash. If it has, it is the commit.
		if err := remove(own, "index"); err != nil {
			return place{}, err
		}
		err = damaged(r.change(ctx, own, "read-tree", "--reset", commit))
	}
	return own, err
}

// atHead is trusted at the commit that the worktree is at.
func (r *Repo) atHead(ctx context.Context, at place) (place, error) {
	head, err := r.resolve(ctx, at, "HEAD")
	if err != nil {
		return place{}, err
	}
	return r.trusted(ctx, at, head, head)
}

// clear removes all but the index from the box's own directory, and writes what git needs there.
func (r *Repo) clear(own place, head string) error {
	if err := os.MkdirAll(own.gitDir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(own.gitDir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "index" {
			err = errors.Join(err, remove(own, e.Name()))
		}
	}
	err = errors.Join(err, renew(filepath.Join(own.gitDir, "HEAD"), head+"\n"), ownCommon(own))
	// As git does for a worktree that it adds, if worktrees have settings of their own.
	if text, missing := readLink(filepath.Join(r.common, "config.worktree")); missing == nil {
		err = errors.Join(err, renew(filepath.Join(own.gitDir, "config.worktree"), text))
	}
	return err
}

// keep takes the index of a worktree that nobody has had yet for the box's own.
func (r *Repo) keep(at place) error {
	own := r.apart(at)
	if err := os.RemoveAll(own.gitDir); err != nil {
		return err
	}
	if err := os.MkdirAll(own.gitDir, 0o700); err != nil {
		return err
	}
	return copyIndex(at, own)
}

// show gives an agent's worktree the index of the box's own, in the place of whatever is there.
func (r *Repo) show(at place) error {
	own := r.apart(at)
	spare := place{gitDir: filepath.Join(own.gitDir, "shown")}
	if err := os.MkdirAll(spare.gitDir, 0o700); err != nil {
		return err
	}
	if err := copyIndex(own, spare); err != nil {
		return err
	}
	to := filepath.Join(at.gitDir, "index")
	if info, err := os.Lstat(to); err == nil && info.IsDir() {
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(spare.gitDir, "index"), to)
}

func copyIndex(from, to place) error {
	source, err := os.Open(filepath.Join(from.gitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) { // a commit without files
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(filepath.Join(to.gitDir, "index"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// maxIndex is how many files of an index are looked at.
const maxIndex = 10_000_000

// unsolved reports whether the agent's index says that files are in conflict. It is not git that
// reads it. An index that can't be read says so too: the agent's merge is then undone.
func unsolved(at place) bool {
	name := filepath.Join(at.gitDir, "index")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return true
	}
	f, err := os.Open(name)
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }()
	hash := sha1Size
	if text, err := readLink(filepath.Join(at.gitDir, "MERGE_HEAD")); err == nil && strings.Index(text+"\n", "\n") == 2*sha256Size {
		hash = sha256Size
	}
	found, err := conflictsIn(bufio.NewReader(f), hash)
	return err != nil || found
}

// The lengths of objects' names in an index.
const sha1Size, sha256Size = 20, 32

var errIndex = errors.New("not an index of git's")

// conflictsIn reads an index, in any of the three forms that git writes, until it finds a file
// in conflict.
func conflictsIn(in *bufio.Reader, hash int) (bool, error) {
	var head struct {
		Magic          [4]byte
		Version, Files uint32
	}
	if err := binary.Read(in, binary.BigEndian, &head); err != nil {
		return false, err
	}
	if string(head.Magic[:]) != "DIRC" || head.Version < 2 || head.Version > 4 || head.Files > maxIndex {
		return false, errIndex
	}
	const stat = 40
	fixed := make([]byte, stat+hash+2)
	for range head.Files {
		if _, err := io.ReadFull(in, fixed); err != nil {
			return false, err
		}
		flags := binary.BigEndian.Uint16(fixed[stat+hash:])
		if flags&0x3000 != 0 { // the stage: of whom a file in conflict is
			return true, nil
		}
		size := len(fixed)
		if flags&0x4000 != 0 { // more flags
			if _, err := in.Discard(2); err != nil {
				return false, err
			}
			size += 2
		}
		if err := skipName(in, head.Version, size); err != nil {
			return false, err
		}
	}
	return false, nil
}

// skipName reads past a file's name, which ends what is size long without it.
func skipName(in *bufio.Reader, version uint32, size int) error {
	if version == 4 { // how much of the name before is left out comes first
		for {
			b, err := in.ReadByte()
			if err != nil {
				return err
			}
			if b&0x80 == 0 {
				break
			}
		}
	}
	for {
		b, err := in.ReadByte()
		if err != nil {
			return err
		}
		if size++; b == 0 {
			break
		}
	}
	if version == 4 {
		return nil
	}
	_, err := in.Discard((8 - size%8) % 8)
	return err
}
