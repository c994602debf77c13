package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// steps are what git leaves, while an operation that it does in steps lasts, in the
// worktree's own part. An agent can leave anything there, also refs to be moved or deleted:
// so git is never told to go on with it, or back.
var steps = []string{
	"rebase-apply", "rebase-merge", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG",
	"SQUASH_MSG", "AUTO_MERGE", "BISECT_LOG", "BISECT_START", "BISECT_NAMES", "BISECT_TERMS", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK",
	"BISECT_FIRST_PARENT", "BISECT_RUN", "BISECT_HEAD", "refs/bisect",
}

// open reports whether any of some operations is not finished.
func open(at place, steps ...string) bool {
	return slices.ContainsFunc(steps, func(name string) bool {
		_, err := os.Lstat(filepath.Join(at.gitDir, name))
		return err == nil
	})
}

// quit forgets about operations that are not finished, and leaves all files as they are.
func quit(at place) error {
	var errs []error
	for _, name := range steps {
		errs = append(errs, remove(at, name))
	}
	return errors.Join(errs...)
}

// abort undoes an operation that is not finished: a worktree that was in the middle of a
// rebase or a search is back on its branch, and what a merge or the like changed is as in the
// commit. A merge whose conflicts are all solved is left to the next commit, which finishes it:
// the commits that are merged are returned.
func (r *Repo) abort(ctx context.Context, at place, branch string) (merging []string, err error) {
	switch {
	case open(at, "rebase-apply", "rebase-merge"):
		return nil, r.goBack(ctx, at, branch, "reset", "--quiet", "--hard", ref(branch), "--")
	case open(at, "BISECT_LOG"):
		return nil, r.goBack(ctx, at, branch, "checkout", "--quiet", "--ignore-other-worktrees", branch, "--")
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		if !open(at, name) {
			continue
		}
		commits, err := r.named(ctx, at, name)
		if err != nil {
			return nil, err
		}
		if name == "MERGE_HEAD" && len(commits) > 0 && !unsolved(at) {
			return commits, nil
		}
		if err := r.undo(ctx, at, name, commits); err != nil {
			return nil, err
		}
	}
	return nil, quit(at)
}

// goBack brings a worktree back to its branch from wherever it is, with a command that changes
// its files.
func (r *Repo) goBack(ctx context.Context, at place, branch string, command ...string) error {
	if err := quit(at); err != nil {
		return err
	}
	own, err := r.atHead(ctx, at)
	if err != nil {
		return err
	}
	if err := r.change(ctx, own, command...); err != nil {
		return err
	}
	return r.change(ctx, at, "symbolic-ref", "HEAD", ref(branch))
}

// named returns the commits that one of git's small files names, as far as there are such
// commits.
func (r *Repo) named(ctx context.Context, at place, file string) (commits []string, err error) {
	text, err := readLink(filepath.Join(at.gitDir, file))
	if err != nil {
		return nil, nil // it is no such file
	}
	for _, name := range strings.Fields(text) {
		if len(commits) == maxNames || strings.Trim(name, "0123456789abcdef") != "" {
			break
		}
		commit, err := r.Resolve(ctx, name)
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, err
		}
		commits = append(commits, commit)
	}
	return commits, nil
}

// maxTouched is how many files an operation may have changed for it to be undone.
const maxTouched = 200_000

// undo makes the files that an operation with some commits can have changed as they are in the
// commit that the worktree is at. What the agent changed besides is left.
func (r *Repo) undo(ctx context.Context, at place, operation string, commits []string) error {
	own, err := r.atHead(ctx, at)
	if err != nil {
		return err
	}
	head, err := r.resolve(ctx, own, "HEAD")
	if err != nil {
		return err
	}
	for _, commit := range commits {
		args := []string{"diff-tree", "-r", "-z", "--root", "-m", "--no-commit-id", "--name-only", "--no-renames", commit, "--"}
		if operation == "MERGE_HEAD" {
			base, err := r.Base(ctx, head, commit)
			if errors.Is(err, ErrUnrelated) {
				base, err = head, nil
			}
			if err != nil {
				return err
			}
			args = []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit, "--"}
		}
		var touched []string
		if touched, err = r.touched(ctx, args); err != nil {
			return err
		}
		if err := r.restore(ctx, own, touched); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) touched(ctx context.Context, args []string) (names []string, err error) {
	err = r.each(ctx, r.home, func(name string) {
		if len(names) <= maxTouched {
			names = append(names, name)
		}
	}, call{args: args})
	if err == nil && len(names) > maxTouched {
		err = fmt.Errorf("an operation that is not finished changes more than %d files: %w", maxTouched, ErrTooMuch)
	}
	return names, err
}

// restore makes files as they are in the index, and removes those that are not there.
func (r *Repo) restore(ctx context.Context, own place, names []string) error {
	if len(names) == 0 {
		return nil
	}
	tracked := map[string]bool{}
	if err := r.each(ctx, own, func(name string) { tracked[name] = true }, call{args: []string{"ls-files", "-z"}}); err != nil {
		return err
	}
	root, err := os.OpenRoot(own.dir) // names of an agent's lead nowhere else
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	var here []string
	for _, name := range names {
		if tracked[name] {
			here = append(here, name)
		} else if err := root.Remove(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s, which a merge brought, could not be removed: %w", safetext.Escape(name), err)
		}
	}
	return r.write(ctx, own, call{args: []string{"checkout-index", "--force", "--index", "-z", "--stdin"}, stdin: strings.Join(here, "\x00")})
}
