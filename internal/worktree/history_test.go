package worktree

import (
	"errors"
	"strings"
	"testing"
)

// theft is a task's work, and another task's with its commit in the history and nothing of what is
// in that.
func (f *fixture) theft() (honest, thief *Tree, fix, stolen string) {
	f.t.Helper()
	honest, fix = f.settled("honest", "fix.txt", "fix\n")
	thief, _ = f.settled("thief", "harmless.txt", "harmless\n")
	git(f.t, thief.path, "merge", "--quiet", "-s", "ours", "-m", "more", fix)
	return honest, thief, fix, git(f.t, thief.path, "rev-parse", "HEAD")
}

// isHistory checks that an error is of a history, in these words.
func isHistory(t *testing.T, err error, words string) {
	t.Helper()
	var history *HistoryError
	if !errors.As(err, &history) || !strings.Contains(err.Error(), words) {
		t.Errorf("%v, want %q", err, words)
	}
}

// What was judged as one change is not merged as another.
func TestMergeFromBase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, thief, fix, stolen := f.theft()
	m := f.merge(fix)
	m.Base = f.base
	merged, err := f.exchange.Merge(t.Context(), m)
	must(t, err)
	m = f.merge(stolen)
	m.Base, m.Old = f.base, merged.Commit
	_, err = f.exchange.Merge(t.Context(), m)
	isHistory(t, err, "reviewers saw what changed since "+short(f.base))
	f.at("sb/run", merged.Commit)

	git(t, thief.path, "merge", "--quiet", "-m", "up to date", merged.Commit)
	m = f.merge(git(t, thief.path, "rev-parse", "HEAD"))
	m.Base, m.Old = merged.Commit, merged.Commit
	_, err = f.exchange.Merge(t.Context(), m)
	must(t, err)
}

// A commit that another's merge brought along does not count as merged, also if its own merge was
// allowed and not made.
func TestMergeOnBranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, _, fix, stolen := f.theft()
	_, err := f.exchange.Merge(t.Context(), f.merge(stolen))
	must(t, err)
	m := f.merge(fix)
	for _, m.Allowed = range []*Result{nil, {f.base, stolen, "", ""}, {f.base, fix, git(t, f.repo.Root(), "rev-parse", fix+"^{tree}"), ""}} {
		_, err = f.exchange.Merge(t.Context(), m)
		is(t, err, ErrOnBranch)
	}
}

func TestBegins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	honest, thief, fix, stolen := f.theft()
	f.merge(stolen) // which takes it
	begins := func(commit string, others map[string]string) (string, error) {
		f.take(commit)
		return f.exchange.Begins(t.Context(), commit, "sb/run", others)
	}
	_, err := begins(stolen, map[string]string{fix: "T-2"})
	isHistory(t, err, "of T-2")
	for commit, others := range map[string]map[string]string{stolen: nil, fix: {fix: "T-2", stolen: "T-1"}} {
		if base, err := begins(commit, others); base != f.base || err != nil {
			t.Errorf("%s, %v", base, err)
		}
	}
	write(t, honest.path, "more.txt", "more\n")
	more, _, err := honest.Settle(t.Context(), "more")
	must(t, err)
	merged, err := f.exchange.Merge(t.Context(), f.merge(stolen))
	must(t, err)
	_, err = begins(more, nil)
	isHistory(t, err, "a part of other work")

	write(t, thief.path, "next.txt", "next\n") // on top of what was merged whole
	next, _, err := thief.Settle(t.Context(), "next")
	must(t, err)
	if base, err := begins(next, nil); base != stolen || err != nil {
		t.Errorf("%s, %v", base, err)
	}
	if base, err := begins(merged.Commit, nil); base != merged.Commit || err != nil {
		t.Errorf("%s, %v", base, err)
	}
	crossed := git(t, f.repo.Root(), "commit-tree", f.base+"^{tree}", "-p", stolen, "-p", f.base, "-m", "x")
	other := git(t, f.repo.Root(), "commit-tree", f.base+"^{tree}", "-p", crossed, "-p", more, "-m", "x")
	cross := git(t, f.repo.Root(), "commit-tree", f.base+"^{tree}", "-p", merged.Commit, "-p", more, "-m", "x")
	git(t, f.repo.Root(), "update-ref", "refs/heads/sb/run", cross)
	_, err = begins(git(t, f.repo.Root(), "commit-tree", f.base+"^{tree}", "-p", other, "-p", next, "-m", "x"), nil)
	isHistory(t, err, "at 2 commits")
}
