package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/regular"
	"github.com/signalbox-dev/signalbox/safetext"
)

const (
	// unfinished is the reason of the lock, which git shows, on a worktree that
	// is being made or removed. One that is found so has nothing of anybody's.
	unfinished = "signalbox has not finished making or removing this worktree"
	// ownBranch is a ref of each worktree's own. It stands for the branch that
	// the worktree is for, wherever its HEAD goes.
	ownBranch = "refs/worktree/signalbox"
)

// Add sees to a worktree at a path on a branch, which is made at base if it is
// not there. A worktree that is there already is kept with all that is in it,
// also if it has to be repaired after a crash; lock files in it are removed. The
// branch is in a directory of its own, as `a/b/work` is: locks and broken refs
// beside it are removed too, also those of a git that works on another branch there.
func (r *Repo) Add(ctx context.Context, path, branch, base string) error {
	path, err := r.outside(path)
	if err != nil {
		return err
	}
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	err = r.disarmBranch(ctx, branch)
	release()
	if err != nil {
		return err
	}
	if _, err := r.Branch(ctx, branch, base); err != nil {
		return err
	}
	at, err := r.claim(ctx, path, branch, "")
	if err != nil || at.gitDir == "" {
		return err
	}
	own, err := r.symref(ctx, at, ownBranch)
	if err == nil && own == "" {
		own, err = r.symref(ctx, at, "HEAD") // not made here
	}
	if err != nil {
		return err
	}
	if own != ref(branch) {
		return fmt.Errorf("%s is there for %s: %w", safetext.Escape(path), safetext.Escape(own), ErrOtherBranch)
	}
	return r.change(ctx, at, "symbolic-ref", ownBranch, own)
}

// AddDetached makes a worktree at a path that is at a commit and on no branch, for commands to
// run in. One that is there already is made anew: what ran there before must not decide on what
// runs next. Neither must what is still running there. It may have been let write this directory
// or have opened files in it, and both are gone with it; another one of the same name is none
// of its own.
func (r *Repo) AddDetached(ctx context.Context, path, commit string) error {
	path, err := r.outside(path)
	if err != nil {
		return err
	}
	if commit, err = r.Resolve(ctx, commit); err != nil {
		return err
	}
	at, err := r.claim(ctx, path, "", commit)
	if err != nil || at.gitDir == "" {
		return err
	}
	switch own, err := r.symref(ctx, at, ownBranch); {
	case err != nil:
		return err
	case own != "":
		return fmt.Errorf("%s is there for %s: %w", safetext.Escape(path), safetext.Escape(own), ErrOtherBranch)
	}
	if err := r.Remove(ctx, path); err != nil {
		return err
	}
	_, err = r.claim(ctx, path, "", commit)
	return err
}

// detach moves a worktree to a commit, leaving whatever branch it is on, and
// removes all that git does not have, other repositories included.
func (r *Repo) detach(ctx context.Context, at place, commit string) error {
	if err := quit(at); err != nil {
		return err
	}
	if err := r.change(ctx, at, "checkout", "--quiet", "--force", "--detach", commit); err != nil {
		return err
	}
	return r.change(ctx, at, "clean", "--quiet", "-ffdx")
}

// outside makes a path absolute and refuses the user's checkout.
func (r *Repo) outside(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	path = followed(path)
	if path == followed(r.home.dir) || path == followed(filepath.Dir(r.common)) {
		return "", fmt.Errorf("%s: %w", safetext.Escape(path), ErrCheckout)
	}
	return path, nil
}

// claim returns the worktree at a path. If there is none that can be used, it
// makes one, on a branch or at a commit, and returns no place.
func (r *Repo) claim(ctx context.Context, path, branch, commit string) (place, error) {
	release, err := r.lock(ctx)
	if err != nil {
		return place{}, err
	}
	at, err := r.recover(ctx, path)
	if err != nil || at.gitDir != "" {
		release()
		return at, err
	}
	at, err = r.register(ctx, path, branch, commit)
	release() // the files come next, and need no turn
	if err != nil {
		return place{}, err
	}
	// Git takes over what the user left out of a checkout. What is missing from a worktree counts
	// as deleted here, so nothing is left out.
	if err := remove(at, "info/sparse-checkout"); err != nil {
		return place{}, err
	}
	if err := r.change(ctx, at, "reset", "--quiet", "--hard"); err != nil {
		return place{}, err
	}
	if branch != "" {
		if err := r.keep(at); err != nil {
			return place{}, err
		}
		if err := r.change(ctx, at, "symbolic-ref", ownBranch, ref(branch)); err != nil {
			return place{}, err
		}
	}
	return place{}, os.Remove(filepath.Join(at.gitDir, "locked"))
}

// register makes a worktree without files, locked as unfinished.
func (r *Repo) register(ctx context.Context, path, branch, commit string) (place, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return place{}, err
	}
	args := []string{"worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", unfinished}
	if branch == "" {
		args = append(args, "--detach", "--", path, commit)
	} else {
		if err := r.checkedOut(ctx, branch, ""); err != nil {
			return place{}, err
		}
		args = append(args, "--", path, branch)
	}
	if err := r.change(ctx, r.home, args...); err != nil {
		return place{}, err
	}
	return r.link(path)
}

// Find sees whether there is a worktree at a path that can be used, repaired if need be. If not, it
// is [ErrNotWorktree], and nothing is changed.
func (r *Repo) Find(ctx context.Context, path string) error {
	path, err := r.outside(path)
	if err != nil {
		return err
	}
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	at, err := r.found(path)
	if err == nil && isUnfinished(at.gitDir) {
		err = fmt.Errorf("%s: %w", safetext.Escape(path), ErrNotWorktree)
	}
	return err
}

// found follows the links of the worktree at a path, made again if need be.
func (r *Repo) found(path string) (place, error) {
	at, err := r.link(path)
	if errors.Is(err, ErrNotWorktree) && occupied(path) {
		// The repository may have been moved, and only the links be broken.
		if err := r.relink(path); err != nil {
			return place{}, err
		}
		at, err = r.link(path)
	}
	return at, err
}

// recover returns the worktree at a path if it is whole, repaired if need be.
// Otherwise it clears the path: what an unfinished operation left is deleted,
// anything else is moved aside.
func (r *Repo) recover(ctx context.Context, path string) (place, error) {
	at, err := r.found(path)
	registered := at.gitDir
	if err == nil && !isUnfinished(registered) {
		return at, errors.Join(unlock(at), disarm(at))
	}
	if err != nil && !errors.Is(err, ErrNotWorktree) {
		return place{}, err
	}
	if registered == "" {
		registered = r.registration(path)
	}
	switch {
	case isUnfinished(registered):
		err = removeAll(path)
	case occupied(path):
		err = moveAside(path)
	default:
		err = nil
	}
	if err == nil && registered != "" {
		err = r.change(ctx, r.home, "worktree", "remove", "--force", "--force", "--", path)
	}
	return place{}, err
}

// relink makes the links of a worktree at a path again, if it is known which they were. Git's
// own repair would believe every worktree's word on where it lies, and write there.
func (r *Repo) relink(path string) error {
	dotGit := filepath.Join(path, ".git")
	dir := r.registration(path)
	if data, err := readLink(dotGit); err == nil {
		to, _ := strings.CutPrefix(data, "gitdir: ")
		dir = filepath.Join(r.common, "worktrees", filepath.Base(below(path, to)))
		if back, err := readLink(filepath.Join(dir, "gitdir")); err != nil || !leadsTo(dir, path) && occupied(below(dir, back)) {
			return nil // another's, or nobody's
		}
	}
	if info, err := os.Lstat(dotGit); dir == "" || err == nil && info.IsDir() {
		return nil
	}
	return errors.Join(renew(dotGit, "gitdir: "+dir+"\n"), renew(filepath.Join(dir, "gitdir"), dotGit+"\n"))
}

// renew writes a file anew. A link that is in its place is not written through.
func renew(name, text string) error {
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Remove removes the worktree at a path with all that is in it, and never a
// branch. That it has gone already is no error; a directory that is no worktree
// of the repository is [ErrNotWorktree].
func (r *Repo) Remove(ctx context.Context, path string) error {
	path, err := r.outside(path)
	if err != nil {
		return err
	}
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	at, err := r.link(path)
	if err != nil {
		at.gitDir = r.registration(path)
	}
	if at.gitDir == "" {
		if !occupied(path) {
			return nil
		}
		return err
	}
	if !isUnfinished(at.gitDir) {
		if err := renew(filepath.Join(at.gitDir, "locked"), unfinished); err != nil {
			return err
		}
	}
	if err := errors.Join(removeAll(path), os.RemoveAll(r.apart(at).gitDir)); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(r.common, ownDirs)) // if nothing is left in it
	return r.change(ctx, r.home, "worktree", "remove", "--force", "--force", "--", path)
}

// Disown sees to it that the repository has no worktree in a directory, which is for those of another
// repository: what is left there of this one's is removed, and anything else stays.
func (r *Repo) Disown(ctx context.Context, dir string) error {
	dirs, err := os.ReadDir(filepath.Join(r.common, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, d := range dirs {
		gitDir := filepath.Join(r.common, "worktrees", d.Name())
		to, unread := readLink(filepath.Join(gitDir, "gitdir"))
		path := filepath.Dir(below(gitDir, to))
		if unread != nil || !same(filepath.Dir(path), dir) {
			continue
		}
		if _, other := r.link(path); other == nil {
			err = errors.Join(err, r.Remove(ctx, path))
		} else {
			err = errors.Join(err, removeAll(r.apart(place{gitDir: gitDir}).gitDir), removeAll(gitDir))
		}
	}
	return err
}

// link follows a worktree's .git file to what git keeps for it, and sees that
// it is this repository's and leads back. It is [ErrNotWorktree] if not.
func (r *Repo) link(path string) (place, error) {
	no := fmt.Errorf("%s: %w", safetext.Escape(path), ErrNotWorktree)
	data, err := readLink(filepath.Join(path, ".git"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return place{}, err
	}
	to, ok := strings.CutPrefix(data, "gitdir: ")
	if !ok {
		return place{}, no
	}
	dir := below(path, to)
	if !same(filepath.Dir(dir), filepath.Join(r.common, "worktrees")) || !leadsTo(dir, path) {
		return place{}, no
	}
	return place{path, dir}, nil
}

// readLink reads one of git's small files. What can't be one, such as a named pipe,
// which would be waited for without end, is [fs.ErrNotExist].
func readLink(name string) (string, error) {
	f, err := regular.OpenItself(name)
	var data []byte
	if err == nil {
		data, err = regular.ReadAll(f, maxOutput)
	}
	if _, large := errors.AsType[*regular.TooLargeError](err); large || errors.Is(err, regular.ErrIrregular) {
		return "", fs.ErrNotExist
	}
	return string(data), err
}

// registration finds what git keeps for a worktree at a path, whatever is
// there; it is empty if git keeps nothing.
func (r *Repo) registration(path string) string {
	dirs, err := os.ReadDir(filepath.Join(r.common, "worktrees"))
	if err != nil {
		return ""
	}
	for _, d := range dirs {
		if dir := filepath.Join(r.common, "worktrees", d.Name()); leadsTo(dir, path) {
			return dir
		}
	}
	return ""
}

// leadsTo reports whether what git keeps in a directory is for a path.
func leadsTo(gitDir, path string) bool {
	to, err := readLink(filepath.Join(gitDir, "gitdir"))
	return err == nil && same(filepath.Dir(below(gitDir, to)), path)
}

// below reads a path out of one of git's files; it may be relative to a directory.
func below(dir, line string) string {
	path := filepath.FromSlash(strings.TrimSuffix(line, "\n"))
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// isUnfinished reports whether a worktree was being made or removed.
func isUnfinished(gitDir string) bool {
	if gitDir == "" {
		return false
	}
	reason, err := readLink(filepath.Join(gitDir, "locked"))
	return err == nil && strings.TrimSuffix(reason, "\n") == unfinished
}

// unlock removes the lock files that a crash left in a worktree's own part.
func unlock(at place) error {
	for _, name := range []string{"index.lock", "HEAD.lock"} {
		if err := remove(at, name); err != nil {
			return err
		}
	}
	return nil
}

// removeAll removes a directory with all that is in it, also directories that
// nobody may write to, as some tools leave them.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) // what can't be changed can't be removed, which is told below
		}
		return nil
	})
	return os.RemoveAll(path)
}

// occupied reports whether there is anything at a path but an empty directory.
func occupied(path string) bool {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	entries, err := os.ReadDir(path)
	return err != nil || len(entries) > 0
}

// moveAside renames what is at a path to the first free name beside it.
func moveAside(path string) error {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.kept-%d", path, n)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(path, aside)
		}
	}
}
