package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// What git keeps for a worktree, the directories of its branch, and its files are an
// agent's to write, also of one that may write nothing else. Git trusts them: it writes
// through links, waits for named pipes, and does to refs what an unfinished operation left
// it to do. So they are disarmed before git is run there.

// disarm sees to it that git, run in a worktree, neither follows a link nor waits for a
// named pipe in what it keeps there, restores nothing to the user's stash, and looks for refs
// in the repository that the worktree is of.
func disarm(at place) error {
	return errors.Join(plain(at.gitDir, fs.ModeType&^fs.ModeDir), remove(at, "MERGE_AUTOSTASH"), ownCommon(at))
}

// ownCommon makes what git keeps for a worktree name the repository that it lies in. Being told
// by GIT_COMMON_DIR is not enough: git looks for refs where this file says.
func ownCommon(at place) error {
	name := filepath.Join(at.gitDir, "commondir")
	text, err := readLink(name)
	if err == nil && same(below(at.gitDir, text), filepath.Join(at.gitDir, "..", "..")) {
		return nil
	}
	return renew(name, "../..\n")
}

// disarmFiles does so for the worktree's files, of which git reads some for its own ends.
// Links are work as any other.
func disarmFiles(at place) error {
	return plain(at.dir, fs.ModeType&^fs.ModeDir&^fs.ModeSymlink)
}

// disarmShared does so for what git reads of all worktrees when it looks for one, and for
// the directories of loose objects, which agents may have replaced. Others they can't replace.
func (r *Repo) disarmShared() error {
	objects, err := os.ReadDir(filepath.Join(r.common, "objects"))
	for _, d := range objects {
		if d.Type()&fs.ModeSymlink != 0 && len(d.Name()) == 2 && strings.Trim(d.Name(), "0123456789abcdef") == "" { // "pack" may be a link of the user's
			err = errors.Join(err, os.Remove(filepath.Join(r.common, "objects", d.Name())))
		}
	}
	dirs, missing := os.ReadDir(filepath.Join(r.common, "worktrees"))
	if !errors.Is(missing, fs.ErrNotExist) {
		err = errors.Join(err, missing)
	}
	for _, d := range dirs {
		at := place{gitDir: filepath.Join(r.common, "worktrees", d.Name())}
		for _, name := range []string{"HEAD", "gitdir", "commondir", "locked"} {
			if info, e := os.Lstat(filepath.Join(at.gitDir, name)); e == nil && !info.Mode().IsRegular() {
				err = errors.Join(err, remove(at, name))
			}
		}
	}
	return err
}

// plain removes what is of some types from a directory.
func plain(dir string, types fs.FileMode) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, fs.ErrPermission): // git can't read it either
			return fs.SkipDir
		case err == nil && d.Type()&types != 0:
			err = os.Remove(name)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s could not be made safe to use: %w", safetext.Escape(dir), err)
	}
	return nil
}

// remove removes something from what git keeps for a worktree, if it is there.
func remove(at place, name string) error {
	return os.RemoveAll(filepath.Join(at.gitDir, filepath.FromSlash(name)))
}

// maxInner is how many repositories there may be in a worktree.
const maxInner = 1000

// stage adds all that is changed or new to the index. Git would look into the repositories
// that are checked out in the worktree by running there, with settings that are the agent's
// and can name commands. They are left out, and the commits that they are at are added by
// a command that does not look further.
func (r *Repo) stage(ctx context.Context, at place) error {
	inner, err := r.inner(ctx, at)
	if err != nil {
		return err
	}
	// Git refuses to hear of what lies beyond a link: it is gone.
	here, gone := []string(nil), []string(nil)
	for _, name := range inner {
		if beyond(at.dir, name) {
			gone = append(gone, name)
		} else {
			here = append(here, name)
		}
	}
	if len(gone) > 0 {
		err := r.write(ctx, at, call{args: []string{"update-index", "--force-remove", "-z", "--stdin"}, stdin: strings.Join(gone, "\x00")})
		if err != nil {
			return err
		}
	}
	if inner = here; len(inner) == 0 {
		return r.change(ctx, at, "add", "--all")
	}
	const but = "\x00:(top,exclude,literal)"
	err = r.write(ctx, at, call{
		args:  []string{"add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"},
		stdin: ":(top)" + but + strings.Join(inner, but),
	})
	if err != nil {
		return err
	}
	return r.write(ctx, at, call{args: []string{"update-index", "--add", "--remove", "-z", "--stdin"}, stdin: strings.Join(inner, "\x00")})
}

// beyond reports whether something is in the place of a directory that a file was in.
func beyond(dir, name string) bool {
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(up))); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// inner names the repositories that are in the index.
func (r *Repo) inner(ctx context.Context, at place) (names []string, err error) {
	err = r.each(ctx, at, func(record string) {
		if about, name, ok := strings.Cut(record, "\t"); ok && strings.HasPrefix(about, "160000 ") && len(names) <= maxInner {
			names = append(names, name)
		}
	}, call{args: []string{"ls-files", "--stage", "-z"}})
	if err == nil && len(names) > maxInner {
		err = fmt.Errorf("%s has more than %d repositories in it: %w", safetext.Escape(at.dir), maxInner, ErrTooMuch)
	}
	return names, err
}
