package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
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
	own, err := t.repo.atHead(ctx, at)
	if err != nil {
		return nil, err
	}
	return t.repo.dirty(ctx, own)
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
	}, call{args: []string{"diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", base + "..." + commit, "--"}})
	return c, err
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
	branch, err := r.own(ctx, at)
	if err != nil {
		return "", false, err
	}
	merging, err := r.abort(ctx, at, branch)
	if err != nil {
		return "", false, err
	}
	if err := r.comeBack(ctx, at, branch); err != nil {
		return "", false, err
	}
	if commit, err = r.resolve(ctx, at, "HEAD"); err != nil {
		return "", false, err
	}
	own, err := r.trusted(ctx, at, "ref: "+ref(branch), commit)
	if err != nil {
		return commit, false, err
	}
	left, err := r.dirty(ctx, own)
	if err != nil {
		return "", false, err
	}
	if committed = len(left) > 0 || len(merging) > 0; committed {
		if err := r.stage(ctx, own); err != nil {
			return "", false, err
		}
		if commit, err = r.finish(ctx, own, merging, message); err != nil {
			return "", false, err
		}
	}
	return commit, committed, errors.Join(quit(at), r.show(at))
}

// finish commits what is staged, as a merge if there is something that it merges, and returns
// the commit.
func (r *Repo) finish(ctx context.Context, own place, merging []string, message string) (string, error) {
	if len(merging) > 0 {
		if err := renew(filepath.Join(own.gitDir, "MERGE_HEAD"), strings.Join(merging, "\n")+"\n"); err != nil {
			return "", err
		}
	}
	if err := r.commit(ctx, own, message); err != nil {
		return "", err
	}
	return r.resolve(ctx, own, "HEAD")
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
	return "", fmt.Errorf("%s has no branch of its own: %w", safetext.Escape(at.dir), ErrOtherBranch)
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
	branch, err := r.own(ctx, at)
	if err != nil {
		return err
	}
	if commit, err = r.Resolve(ctx, commit); err != nil {
		return err
	}
	if err := quit(at); err != nil {
		return err
	}
	// Files that git has although it ignores them go with the commit that the worktree is at.
	head, err := r.resolve(ctx, at, "HEAD")
	if err != nil {
		head = commit
	}
	own, err := r.trusted(ctx, at, "ref: "+ref(branch), head)
	if errors.Is(err, ErrObjects) {
		own, err = r.trusted(ctx, at, "ref: "+ref(branch), commit)
	}
	if err != nil {
		return err
	}
	// Wherever HEAD is: it comes back to the branch, which moves to the commit.
	for _, command := range [][]string{
		{"update-ref", "--no-deref", "-m", "signalbox: reset", ref(branch), commit},
		{"reset", "--quiet", "--hard", "--"},
		{"clean", "--quiet", "-ffd"}, // other repositories included
	} {
		if err := r.change(ctx, own, command...); err != nil {
			return err
		}
	}
	return errors.Join(r.change(ctx, at, "symbolic-ref", "HEAD", ref(branch)), r.show(at))
}
