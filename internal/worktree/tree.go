package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// maxNames is how many files are named; all are counted.
const maxNames = 100

// Tree is one worktree of a repository.
type Tree struct {
	repo *Repo
	path string
}

// Tree returns the worktree at a path, which need not be there yet.
func (r *Repo) Tree(path string) *Tree { return &Tree{r, path} }

// place finds the worktree, safe for git to run in, and refuses whatever is not one of the
// repository.
func (t *Tree) place() (place, error) {
	path, err := t.repo.outside(t.path)
	if err != nil {
		return place{}, err
	}
	at, err := t.repo.link(path)
	if err != nil {
		return place{}, err
	}
	return at, disarm(at)
}

// Head returns the commit that the worktree is at.
func (t *Tree) Head(ctx context.Context) (string, error) {
	at, err := t.place()
	if err != nil {
		return "", err
	}
	return t.repo.resolve(ctx, at, "HEAD")
}

// Dirty names what is changed and not committed, and what is not ignored and
// not in git, 100 files at most.
func (t *Tree) Dirty(ctx context.Context) ([]string, error) {
	at, err := t.place()
	if err != nil {
		return nil, err
	}
	return t.repo.dirty(ctx, at)
}

func (r *Repo) dirty(ctx context.Context, at place) (names []string, err error) {
	err = r.each(ctx, at, func(record string) {
		if len(record) > 3 && len(names) < maxNames {
			names = append(names, record[3:]) // after two letters and a blank
		}
	}, call{args: []string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"}})
	return names, err
}

// Changes is what commits changed.
type Changes struct {
	Files, Added, Removed int      // lines; of a binary file none
	Names                 []string // of the files, 100 at most
}

// Changes tells what was committed since the history of a commit left base.
func (r *Repo) Changes(ctx context.Context, base, commit string) (c Changes, err error) {
	for _, rev := range []*string{&base, &commit} {
		if *rev, err = r.Resolve(ctx, *rev); err != nil {
			return Changes{}, err
		}
	}
	err = r.each(ctx, r.home, func(record string) {
		fields := strings.SplitN(record, "\t", 3)
		if len(fields) != 3 {
			return
		}
		added, _ := strconv.Atoi(fields[0]) // "-" for a binary file
		removed, _ := strconv.Atoi(fields[1])
		c.Files, c.Added, c.Removed = c.Files+1, c.Added+added, c.Removed+removed
		if len(c.Names) < maxNames {
			c.Names = append(c.Names, fields[2])
		}
	}, call{args: []string{"diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", base + "..." + commit, "--"}})
	return c, err
}

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
// rebase or a search is back on its branch, and what conflicts is as in the commit. A merge
// whose conflicts are all solved is left to the next commit, which finishes it.
func (r *Repo) abort(ctx context.Context, at place, own string) error {
	rebase, search := open(at, "rebase-apply", "rebase-merge"), open(at, "BISECT_LOG")
	if !rebase && !search {
		if !open(at, "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD") {
			return nil
		}
		if conflicts, err := r.conflicts(ctx, at); err != nil || len(conflicts) == 0 && open(at, "MERGE_HEAD") {
			return err
		}
	}
	if err := quit(at); err != nil {
		return err
	}
	switch {
	case rebase:
		if err := r.change(ctx, at, "symbolic-ref", "HEAD", ref(own)); err != nil {
			return err
		}
		return r.change(ctx, at, "reset", "--quiet", "--hard")
	case search:
		return r.change(ctx, at, "checkout", "--quiet", "--ignore-other-worktrees", own, "--")
	}
	return r.change(ctx, at, "reset", "--quiet", "--merge")
}

// conflicts names the files that a merge left for somebody to solve.
func (r *Repo) conflicts(ctx context.Context, at place) (names []string, err error) {
	err = r.each(ctx, at, func(name string) {
		if len(names) < maxNames {
			names = append(names, name)
		}
	}, call{args: []string{"diff", "--name-only", "-z", "--diff-filter=U", "--no-ext-diff", "--ignore-submodules=dirty", "--"}})
	return names, err
}

// Settle commits all that an agent left in the worktree and git does not
// ignore, if there is anything, and returns the commit that the worktree's branch
// is then at. What the agent was in the middle of, such as a rebase or a merge
// with conflicts, is aborted first. If the agent left the branch, the branch
// follows, as long as that loses no commit of it; if it would, the error is a
// [StrayError].
func (t *Tree) Settle(ctx context.Context, message string) (commit string, committed bool, err error) {
	at, err := t.place()
	if err != nil {
		return "", false, err
	}
	r := t.repo
	if err := errors.Join(unlock(at), disarmFiles(at)); err != nil {
		return "", false, err
	}
	own, err := r.own(ctx, at)
	if err != nil {
		return "", false, err
	}
	if err := r.abort(ctx, at, own); err != nil {
		return "", false, err
	}
	if err := r.comeBack(ctx, at, own); err != nil {
		return "", false, err
	}
	left, err := r.dirty(ctx, at)
	if err != nil {
		return "", false, err
	}
	merging := open(at, "MERGE_HEAD")
	if committed = len(left) > 0 || merging; committed {
		if err := r.stage(ctx, at); err != nil {
			return "", false, err
		}
		if err := r.commit(ctx, at, message); err != nil {
			return "", false, err
		}
	}
	commit, err = r.resolve(ctx, at, "HEAD")
	return commit, committed, err
}

// comeBack puts a worktree on its own branch again, with no file changed.
func (r *Repo) comeBack(ctx context.Context, at place, own string) error {
	head, err := r.branchOf(ctx, at)
	if err != nil || head == own {
		return err
	}
	stray := &StrayError{Path: at.dir, Branch: own, Head: head}
	if stray.Commit, err = r.resolve(ctx, at, "HEAD"); err != nil {
		return unknown(err, stray)
	}
	tip, err := r.Resolve(ctx, ref(own))
	if err != nil {
		return unknown(err, stray)
	}
	follows, err := r.contains(ctx, stray.Commit, tip)
	if err != nil {
		return err
	}
	if !follows {
		return stray
	}
	release, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := r.checkedOut(ctx, own, at.dir); err != nil {
		return err
	}
	if err := r.change(ctx, r.home, "update-ref", ref(own), stray.Commit, tip); err != nil {
		return r.moved(own, err)
	}
	return r.change(ctx, at, "symbolic-ref", "HEAD", ref(own))
}

// own returns the branch that a worktree is for.
func (r *Repo) own(ctx context.Context, at place) (string, error) {
	own, err := r.symref(ctx, at, ownBranch)
	if branch, ok := strings.CutPrefix(own, "refs/heads/"); ok || err != nil {
		return branch, err
	}
	return "", fmt.Errorf("%s has no branch of its own: %w", agentsig.Escape(at.dir), ErrOtherBranch)
}

// Reset throws away all that was done since a commit, on the worktree's branch
// and in its files. Ignored files are kept.
func (t *Tree) Reset(ctx context.Context, commit string) error {
	at, err := t.place()
	if err != nil {
		return err
	}
	r := t.repo
	if err := errors.Join(unlock(at), disarmFiles(at)); err != nil {
		return err
	}
	own, err := r.own(ctx, at)
	if err != nil {
		return err
	}
	if err := quit(at); err != nil {
		return err
	}
	// Wherever HEAD is: it comes back to the branch, which moves to the commit.
	if err := r.change(ctx, at, "checkout", "--quiet", "--force", "--no-track", "-B", own, commit, "--"); err != nil {
		if _, unknown := r.Resolve(ctx, commit); unknown != nil {
			return unknown
		}
		return err
	}
	return r.change(ctx, at, "clean", "--quiet", "-ffd") // other repositories included
}
