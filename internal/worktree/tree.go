package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// place finds the worktree, and refuses whatever is not one of the repository.
func (t *Tree) place() (place, error) {
	path, err := t.repo.outside(t.path)
	if err != nil {
		return place{}, err
	}
	return t.repo.link(path)
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
	}, call{args: []string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"}})
	return names, err
}

// Changes is what a worktree's commits changed.
type Changes struct {
	Files, Added, Removed int      // lines; of a binary file none
	Names                 []string // of the files, 100 at most
}

// Changes tells what was committed since the worktree's history left base.
func (t *Tree) Changes(ctx context.Context, base string) (Changes, error) {
	at, err := t.place()
	if err != nil {
		return Changes{}, err
	}
	if base, err = t.repo.Resolve(ctx, base); err != nil {
		return Changes{}, err
	}
	var c Changes
	err = t.repo.each(ctx, at, func(record string) {
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
	}, call{args: []string{"diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", base + "...HEAD", "--"}})
	return c, err
}

// operation is something that git does in steps and an agent can leave in the
// middle. While it lasts there is a file in the worktree's own part.
type operation struct {
	file  string
	abort []string // back to how it was before
	quit  []string // forget about it, and leave all files as they are
}

// operations are tried in this order: a rebase leaves the files of its steps too.
var operations = []operation{
	{"rebase-apply/applying", []string{"am", "--abort"}, []string{"am", "--quit"}},
	{"rebase-apply", []string{"rebase", "--abort"}, []string{"rebase", "--quit"}},
	{"rebase-merge", []string{"rebase", "--abort"}, []string{"rebase", "--quit"}},
	{"CHERRY_PICK_HEAD", []string{"cherry-pick", "--abort"}, []string{"cherry-pick", "--quit"}},
	{"REVERT_HEAD", []string{"revert", "--abort"}, []string{"revert", "--quit"}},
	{"MERGE_HEAD", []string{"merge", "--abort"}, []string{"merge", "--quit"}},
	{"BISECT_LOG", []string{"bisect", "reset"}, []string{"bisect", "reset", "HEAD"}},
}

func (o operation) open(at place) bool {
	_, err := os.Lstat(filepath.Join(at.gitDir, filepath.FromSlash(o.file)))
	return err == nil
}

// quit forgets about operations that are not finished.
func (r *Repo) quit(ctx context.Context, at place) error {
	for _, o := range operations {
		if o.open(at) {
			if err := r.change(ctx, at, o.quit...); err != nil {
				return err
			}
		}
	}
	return nil
}

// abort undoes operations that are not finished, but for a merge whose
// conflicts are all solved: the next commit finishes it.
func (r *Repo) abort(ctx context.Context, at place) error {
	for _, o := range operations {
		if !o.open(at) {
			continue
		}
		if o.file == "MERGE_HEAD" {
			if open, err := r.conflicts(ctx, at); err != nil || len(open) == 0 {
				return err
			}
		}
		if err := r.change(ctx, at, o.abort...); err != nil {
			return err
		}
	}
	return nil
}

// conflicts names the files that a merge left for somebody to solve.
func (r *Repo) conflicts(ctx context.Context, at place) (names []string, err error) {
	err = r.each(ctx, at, func(name string) {
		if len(names) < maxNames {
			names = append(names, name)
		}
	}, call{args: []string{"diff", "--name-only", "-z", "--diff-filter=U", "--no-ext-diff", "--"}})
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
	if err := unlock(at); err != nil {
		return "", false, err
	}
	if err := r.abort(ctx, at); err != nil {
		return "", false, err
	}
	if err := r.comeBack(ctx, at); err != nil {
		return "", false, err
	}
	left, err := r.dirty(ctx, at)
	if err != nil {
		return "", false, err
	}
	merging := operation{file: "MERGE_HEAD"}.open(at)
	if committed = len(left) > 0 || merging; committed {
		if err := r.change(ctx, at, "add", "--all"); err != nil {
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
func (r *Repo) comeBack(ctx context.Context, at place) error {
	own, err := r.own(ctx, at)
	if err != nil {
		return err
	}
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
	if err := unlock(at); err != nil {
		return err
	}
	own, err := r.own(ctx, at)
	if err != nil {
		return err
	}
	if err := r.quit(ctx, at); err != nil {
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
