package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// ErrNoCommits is returned for a repository in which a confined program can't be let commit
// without being given more. It can work all the same: the box commits what it leaves.
var ErrNoCommits = errors.New("a confined program can't commit in this repository")

// maxGitFile is more than any of git's small files has.
const maxGitFile = 1 << 20

// GitPaths returns what a program needs besides a linked worktree's files, to use git there
// and commit to its branch. common is the repository's own directory, which git calls the
// common one.
//
// Writable are what git keeps for the worktree, loose objects, and the directories of the
// branch's ref and log, with the other branches in them: a branch that is in a directory of
// its own is kept apart. Configuration, hooks, packs and other refs are not; neither is the
// stash, which is the user's. What git would make when it needs it is made now, as the
// program can't: directories of loose objects, of the ref and of the log.
//
// The worktree's own files, and what git keeps for it, are the program's to change. Neither
// is asked for anything, other than to agree that they belong together; git that is run
// there by anybody else must be told the common directory (GIT_COMMON_DIR).
func GitPaths(common, worktree, branch string) (write, read []string, err error) {
	if path.Clean(branch) != branch || path.IsAbs(branch) || strings.HasPrefix(branch, "..") || path.Dir(branch) == "." {
		return nil, nil, fmt.Errorf("%w: the branch '%s' is in no directory, so all others are beside it", ErrNoCommits, safetext.Escape(branch))
	}
	if common, err = filepath.EvalSymlinks(common); err != nil {
		return nil, nil, err
	}
	if err := separable(common); err != nil {
		return nil, nil, err
	}
	own, err := gitDir(common, worktree)
	if err != nil {
		return nil, nil, err
	}
	objects := filepath.Join(common, "objects")
	refs := filepath.Join("refs", "heads", filepath.FromSlash(path.Dir(branch)))
	write = []string{own, objects, filepath.Join(common, refs), filepath.Join(common, "logs", refs)}
	read = []string{common, filepath.Join(objects, "pack"), filepath.Join(objects, "info")}
	made := slices.Concat(write[2:], read[1:])
	for n := range 256 {
		made = append(made, filepath.Join(objects, fmt.Sprintf("%02x", n)))
	}
	for _, dir := range made {
		if err := makeDir(common, dir); err != nil {
			return nil, nil, err
		}
	}
	return write, read, nil
}

// separable refuses repositories in which one program's part can't be told from the rest.
func separable(common string) error {
	config, err := readSmall(filepath.Join(common, "config"))
	if err != nil {
		return err
	}
	config = bytes.ToLower(config)
	switch {
	case bytes.Contains(config, []byte("worktreeconfig")):
		return fmt.Errorf("%w: worktrees have settings of their own here (extensions.worktreeConfig), which it could write and git would follow", ErrNoCommits)
	case bytes.Contains(config, []byte("reftable")):
		return fmt.Errorf("%w: its branches are all in one table (extensions.refStorage)", ErrNoCommits)
	}
	for _, name := range []string{"objects", "objects/pack", "objects/info"} {
		if info, err := os.Lstat(filepath.Join(common, name)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%w: its %s are elsewhere, by a link", ErrNoCommits, name)
		}
	}
	return nil
}

// gitDir returns what git keeps for a worktree. The worktree names it, and it the worktree:
// one alone may have been changed to name another's.
func gitDir(common, worktree string) (string, error) {
	no := fmt.Errorf("%s is not a worktree of %s", safetext.Escape(worktree), safetext.Escape(common))
	link, err := readSmall(filepath.Join(worktree, ".git"))
	if err != nil {
		return "", errors.Join(no, err)
	}
	to, ok := strings.CutPrefix(strings.TrimSuffix(string(link), "\n"), "gitdir: ")
	if !ok {
		return "", no
	}
	own := filepath.Join(common, "worktrees", filepath.Base(filepath.FromSlash(to)))
	if info, err := os.Lstat(own); err != nil || !info.IsDir() {
		return "", errors.Join(no, err)
	}
	back, err := readSmall(filepath.Join(own, "gitdir"))
	if err != nil {
		return "", errors.Join(no, err)
	}
	named := filepath.FromSlash(strings.TrimSuffix(string(back), "\n"))
	if !filepath.IsAbs(named) {
		named = filepath.Join(own, named)
	}
	want, err := filepath.EvalSymlinks(worktree)
	if err != nil {
		return "", errors.Join(no, err)
	}
	if got, err := filepath.EvalSymlinks(filepath.Dir(named)); err != nil || got != want {
		return "", errors.Join(no, err)
	}
	return own, nil
}

// readSmall reads a regular file that is not large.
func readSmall(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", safetext.Escape(name))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	return data, errors.Join(err, f.Close())
}

// makeDir makes a directory below another one, unless it is there. Between the two there
// is no link, which another program might have left to be followed.
func makeDir(top, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil { // as git does: the user's mask decides
		return err
	}
	if found, err := filepath.EvalSymlinks(dir); err != nil || found != dir {
		return errors.Join(fmt.Errorf("%s leads out of %s: remove the link", safetext.Escape(dir), safetext.Escape(top)), err)
	}
	return nil
}
