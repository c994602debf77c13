package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Restore makes a worktree what it was when it was made at a commit, after something of the
// commit's own ran there: its link to the repository is written anew, whatever it leads to now,
// and tracked files that are not what the commit has are put back. Files are compared by what is
// in them, with an index that is made for it. All others stay as they are, and so does what git
// does not track, but for attributes: they would change what a diff shows.
func (r *Repo) Restore(ctx context.Context, path, commit string) error {
	path, err := r.outside(path)
	if err != nil {
		return err
	}
	if commit, err = r.Resolve(ctx, commit); err != nil {
		return err
	}
	at := place{path, r.registration(path)}
	if at.gitDir == "" {
		return fmt.Errorf("%s: %w", safetext.Escape(path), ErrNotWorktree)
	}
	err = errors.Join(
		renew(filepath.Join(path, ".git"), "gitdir: "+at.gitDir+"\n"),
		renew(filepath.Join(at.gitDir, "HEAD"), commit+"\n"),
		unlock(at), disarm(at), disarmFiles(at), quit(at))
	// Attributes decide on which files are the same. The second time they are the commit's.
	for again := range 2 {
		var differ, stray bool
		if err == nil {
			differ, err = r.putBack(ctx, at, commit)
		}
		if err == nil && again == 0 {
			stray, err = r.removeAttributes(ctx, at)
		}
		if err != nil {
			return fmt.Errorf("the files of %s could not be made what the commit has: %w", safetext.Escape(path), err)
		}
		if !differ && !stray {
			break
		}
	}
	return nil
}

// putBack compares the files of a worktree with a commit, and writes those that differ anew.
func (r *Repo) putBack(ctx context.Context, at place, commit string) (differ bool, err error) {
	if err := remove(at, "index"); err != nil {
		return false, err
	}
	if err := r.change(ctx, at, "read-tree", commit); err != nil {
		return false, err
	}
	// Without this every file would be written, and look newer than what was built from it.
	same, err := r.ask(ctx, at, "-c", "core.ignoreStat=false", "update-index", "--refresh")
	if err != nil || same {
		return false, err
	}
	return true, r.change(ctx, at, "reset", "--quiet", "--hard", commit)
}

// removeAttributes removes files with attributes that are not the commit's and would hold for its
// files.
func (r *Repo) removeAttributes(ctx context.Context, at place) (removed bool, err error) {
	const name = ".gitattributes"
	tracked, dirs := map[string]bool{}, map[string]bool{".": true}
	err = r.each(ctx, at, func(file string) {
		if path.Base(file) == name {
			tracked[file] = true
		}
		for dir := path.Dir(file); !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}, call{args: []string{"ls-files", "-z"}})
	if err != nil {
		return false, err
	}
	root, err := os.OpenRoot(at.dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	for dir := range dirs {
		file := path.Join(dir, name)
		if _, missing := root.Lstat(file); missing == nil && !tracked[file] {
			removed = true
			err = errors.Join(err, root.RemoveAll(file))
		}
	}
	return removed, err
}
