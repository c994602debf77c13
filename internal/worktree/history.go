package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// What git makes of a merge depends on where both sides part, and that on their histories, which
// agents write. A commit that has another task's commits in its history, and nothing of what they
// hold, looks harmless beside the branch as it is. Merged after the other task's work it takes that
// out again; merged before, it makes git believe that the other task's work is in.

// ErrOnBranch says that a branch has a commit that no merge of the box's brought there.
var ErrOnBranch = errors.New("the branch has this commit already, and no merge that was allowed brought it there: another task's history may hold it, without what is in it; look at the branch, and have the work committed anew")

// HistoryError says that a commit's history is not what a merge can be judged by.
type HistoryError struct {
	Commit, Branch string
	Why            string
}

func (e *HistoryError) Error() string {
	return fmt.Sprintf("the history of %s: %s. Bring %s into your branch (git merge), see that everything is there, and have it reviewed again",
		short(e.Commit), e.Why, safetext.Escape(e.Branch))
}

// Bases returns the newest commits that two commits both come from; more than one if their
// histories cross. It is [ErrUnrelated] if there is none.
func (r *Repo) Bases(ctx context.Context, one, other string) ([]string, error) {
	out, err := r.read(ctx, r.home, "merge-base", "--all", "--end-of-options", one, other)
	if failed := (*GitError)(nil); errors.As(err, &failed) && failed.Exit == 1 {
		err = fmt.Errorf("%s and %s: %w", short(one), safetext.Escape(other), ErrUnrelated)
	}
	return strings.Fields(out), err
}

// Begins returns where the work of a commit begins that was taken: where it left a branch. Only
// what was on the branch itself can be that, and what was merged to it whole. The history since
// must not hold any of some other commits that are not on the branch: others' work, by commit.
// Otherwise it is a [HistoryError].
func (x *Exchange) Begins(ctx context.Context, commit, branch string, others map[string]string) (string, error) {
	tip, err := x.TakeBranch(ctx, branch)
	if err != nil {
		return "", err
	}
	bases, err := x.Bases(ctx, commit, tip)
	if err != nil {
		return "", err
	}
	wrong := func(why string, a ...any) error { return &HistoryError{commit, branch, fmt.Sprintf(why, a...)} }
	if len(bases) > 1 {
		return "", wrong("it left %s at %d commits", safetext.Escape(branch), len(bases))
	}
	base, passed := bases[0], false
	err = x.commits(ctx, func(hashes []string) { // a commit and its parents
		passed = passed || slices.Contains(hashes, base)
	}, "--first-parent", "--format=%H %P", tip, "--not", base+"^@")
	if err != nil {
		return "", err
	}
	if !passed {
		return "", wrong("it left %s at %s, which is a part of other work that was merged to it", safetext.Escape(branch), short(base))
	}
	var whose []string
	err = x.commits(ctx, func(hashes []string) {
		if name := others[hashes[0]]; name != "" && hashes[0] != commit && len(whose) < 10 {
			whose = append(whose, fmt.Sprintf("%s of %s", short(hashes[0]), safetext.Escape(name)))
		}
	}, "--format=%H", commit, "--not", tip)
	if err == nil && len(whose) > 0 {
		err = wrong("it holds work of other tasks that is not merged (%s): take that out (git reset --soft %s, and commit your own work anew)",
			strings.Join(whose, ", "), short(base))
	}
	return base, err
}

// commits calls f with every record of a log, as words. One is held.
func (r *Repo) commits(ctx context.Context, f func(words []string), args ...string) error {
	return r.each(ctx, r.home, func(record string) {
		if words := strings.Fields(record); len(words) > 0 {
			f(words)
		}
	}, call{args: slices.Concat([]string{"log", "-z", "--no-patch", "--no-color", "--no-show-signature", "--no-mailmap", "--no-notes"}, args, []string{"--"})})
}

// made returns the merge on the way to a branch's tip that was allowed before, and is
// [ErrOnBranch] if there is none.
func (r *Repo) made(ctx context.Context, tip string, m Merge) (found string, err error) {
	if m.Allowed != nil && m.Allowed.Commit == m.Commit {
		want := strings.Join([]string{m.Allowed.Tree, m.Allowed.Onto, m.Allowed.Commit}, " ")
		err = r.commits(ctx, func(words []string) {
			if strings.Join(words[1:], " ") == want {
				found = words[0]
			}
		}, "--first-parent", "--format=%H %T %P", tip, "--not", m.Allowed.Onto)
	}
	if err == nil && found == "" {
		err = fmt.Errorf("%s on %s: %w", short(m.Commit), safetext.Escape(m.Branch), ErrOnBranch)
	}
	return found, err
}

// parted refuses a merge that git would not make from where reviewers saw the work begin.
func (r *Repo) parted(ctx context.Context, tip string, m Merge) error {
	bases, err := r.Bases(ctx, m.Commit, tip)
	if err != nil || slices.Equal(bases, []string{m.Base}) {
		return err
	}
	return &HistoryError{m.Commit, m.Branch, fmt.Sprintf("reviewers saw what changed since %s, and what would be merged is what changed since %s",
		short(m.Base), short(strings.Join(bases[:1], "")))}
}
