package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// merge is a merge of a commit into sb/run, which is made at main.
func (f *fixture) merge(commit string) Merge {
	f.t.Helper()
	_, err := f.repo.Branch(f.t.Context(), "sb/run", f.base)
	must(f.t, err)
	f.take(commit)
	return Merge{Path: f.path("merge"), Branch: "sb/run", Old: f.base, Commit: commit, Message: "merge it"}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "a.txt", "changed\n")
	m := f.merge(commit)
	var checked string
	m.Check = func(_ context.Context, dir, result string) error {
		holds(t, dir, "a.txt", "changed\n")
		f.at("sb/run", f.base)
		checked = result
		write(t, dir, "left.txt", "by the check")
		git(t, dir, "checkout", "--quiet", "--force", "--detach", f.base) // it may do as it likes
		return nil
	}
	merged, err := f.exchange.Merge(t.Context(), m)
	must(t, err)
	if merged.Commit != checked || merged.Already {
		t.Errorf("%+v, and %s was checked", merged, checked)
	}
	f.at("sb/run", merged.Commit)
	if got, want := git(t, f.repo.Root(), "log", "-1", "--format=%P %s", "sb/run"), f.base+" "+commit+" merge it"; got != want {
		t.Errorf("the merge is %q, not %q", got, want)
	}

	_, err = f.exchange.Merge(t.Context(), m)
	is(t, err, ErrOnBranch)
	m.Allowed = &Result{Onto: f.base, Commit: commit, Tree: git(t, f.repo.Root(), "rev-parse", "sb/run^{tree}")}
	again, err := f.exchange.Merge(t.Context(), m) // asked again after a crash
	if diff := cmp.Diff(Merged{merged.Commit, true}, again); diff != "" || err != nil {
		t.Error(diff, err)
	}

	_, next := f.settled("b", "b.txt", "b\n")
	m.Commit = next
	f.take(next)
	_, err = f.exchange.Merge(t.Context(), m)
	is(t, err, ErrMoved)
	m.Old, m.Check = merged.Commit, nil
	second, err := f.exchange.Merge(t.Context(), m)
	must(t, err)
	f.at("sb/run", second.Commit)
	if files := git(t, f.repo.Root(), "ls-tree", "--name-only", "sb/run"); strings.Contains(files, "left.txt") {
		t.Errorf("the merge has what a check left: %s", files)
	}
	for _, c := range []string{commit, next} {
		if in, err := f.repo.Merged(t.Context(), c, "sb/run"); !in || err != nil {
			t.Errorf("%s is in: %v, %v", c, in, err)
		}
	}
	if in, err := f.repo.Merged(t.Context(), second.Commit, "sb/a"); in || err != nil {
		t.Errorf("in: %v, %v", in, err)
	}
}

func TestMergeThatIsNotWanted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "a.txt", "changed\n")
	m := f.merge(commit)
	failure := errors.New("the tests fail")
	m.Check = func(context.Context, string, string) error { return failure }
	_, err := f.exchange.Merge(t.Context(), m)
	is(t, err, failure)
	f.at("sb/run", f.base)

	m.Check = func(ctx context.Context, _, _ string) error { // somebody else was quicker
		git(t, f.repo.Root(), "update-ref", "refs/heads/sb/run", commit)
		return nil
	}
	_, err = f.exchange.Merge(t.Context(), m)
	is(t, err, ErrMoved)
	f.at("sb/run", commit)
	git(t, f.repo.Root(), "update-ref", "refs/heads/sb/run", f.base)

	ctx, cancel := context.WithCancel(t.Context())
	m.Check = func(context.Context, string, string) error { cancel(); return nil }
	_, err = f.exchange.Merge(ctx, m)
	is(t, err, context.Canceled)
	f.at("sb/run", f.base)
}

func TestMergeIntoCheckedOutBranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "a.txt", "changed\n")
	m := f.merge(commit)
	m.Check = func(context.Context, string, string) error {
		git(t, f.repo.Root(), "worktree", "add", "--quiet", f.path("user"), "sb/run")
		return nil
	}
	for range 2 { // found after the check, and then before it
		_, err := f.exchange.Merge(t.Context(), m)
		is(t, err, ErrCheckedOut)
		f.at("sb/run", f.base)
	}
	m.Branch = "main"
	_, err := f.exchange.Merge(t.Context(), m)
	is(t, err, ErrCheckedOut)
}

func TestMergeConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, ours := f.settled("a", "ü \n-b.txt", "ours\n")
	_, theirs := f.settled("b", "ü \n-b.txt", "theirs\n")
	merged, err := f.exchange.Merge(t.Context(), f.merge(ours))
	must(t, err)
	m := f.merge(theirs)
	m.Old = merged.Commit
	_, err = f.exchange.Merge(t.Context(), m)
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&ConflictError{theirs, "sb/run", []string{"ü \n-b.txt"}}, conflict); diff != "" {
		t.Error(diff)
	}
	f.at("sb/run", merged.Commit)
	f.at("sb/b", theirs)
	if status := git(t, m.Path, "status", "--porcelain"); status != "" {
		t.Errorf("the conflict was left: %s", status)
	}
}

// TestMergeAfterCrash merges in a worktree that a crash left in a conflict.
func TestMergeAfterCrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, ours := f.settled("a", "a.txt", "ours\n")
	_, theirs := f.settled("b", "a.txt", "theirs\n")
	m := f.merge(theirs)
	f.take(ours)
	must(t, f.exchange.AddDetached(t.Context(), m.Path, ours))
	fails(t, m.Path, "merge", "--quiet", theirs)
	at, err := f.exchange.link(m.Path)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(at.gitDir, "index.lock"), nil, 0o644))
	merged, err := f.exchange.Merge(t.Context(), m)
	must(t, err)
	f.at("sb/run", merged.Commit)
	holds(t, m.Path, "a.txt", "theirs\n")
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	git(t, root, "init", "--quiet", "--initial-branch=main")
	repo, err := Open(t.Context(), root)
	must(t, err)
	seen, err := repo.Fingerprint(t.Context(), ".signalbox")
	must(t, err)
	expect := func(want ...string) {
		t.Helper()
		now, err := repo.Fingerprint(t.Context(), ".signalbox")
		must(t, err)
		if diff := cmp.Diff(want, seen.Diff(now)); diff != "" {
			t.Error(diff)
		}
		seen = now
	}
	expect()
	write(t, root, "ü \n-b", "1")
	write(t, root, ".signalbox/state", "ours")
	expect(`ü \n-b was changed`)
	write(t, root, ".signalbox/state", "ours again")
	expect()
	write(t, root, "ü \n-b", "2")
	expect(`ü \n-b was changed further`)
	git(t, root, "config", "user.name", "Ada")
	git(t, root, "config", "user.email", "ada@example.org")
	git(t, root, "add", "ü \n-b")
	expect("git's config changed", `ü \n-b was changed further`)
	git(t, root, "commit", "--quiet", "-m", "first")
	first := git(t, root, "rev-parse", "HEAD")
	expect("HEAD was at no commit and is at "+first[:12], `ü \n-b is as in the commit again, or gone`)
	// The time of a file alone is no difference, and what git would note down
	// about it in passing is not written.
	index, err := os.ReadFile(filepath.Join(root, ".git", "index"))
	must(t, err)
	must(t, os.Chtimes(filepath.Join(root, "ü \n-b"), time.Time{}, time.Unix(1e9, 0)))
	expect()
	holds(t, root, ".git/index", string(index))
	git(t, root, "checkout", "--quiet", "--detach")
	expect("HEAD was on main and is on no branch")
	write(t, root, "ü \n-b", "3")
	expect(`ü \n-b was changed`)
	git(t, root, "stash", "--quiet")
	expect("the stash has changed", `ü \n-b is as in the commit again, or gone`)
	write(t, root, ".git/hooks/pre-\x1b", "#!/bin/sh\n")
	write(t, root, ".git/info/attributes", "* filter=x\n")
	write(t, root, ".git/info/exclude", "secret\n")
	expect(`git's hooks/pre-\x1b changed`, "git's info/attributes changed", "git's info/exclude changed")
	must(t, os.Chmod(filepath.Join(root, ".git/hooks/pre-\x1b"), 0o755))
	expect(`git's hooks/pre-\x1b changed`)
	must(t, os.RemoveAll(filepath.Join(root, ".git/hooks")))
	mkfifo(t, filepath.Join(root, ".git/hooks"))
	now, err := repo.Fingerprint(t.Context(), ".signalbox")
	must(t, err)
	if said := seen.Diff(now); len(said) == 0 || said[0] != "git's hooks changed" {
		t.Errorf("%q", said)
	}
	seen = now
	for i := range 25 {
		write(t, root, "many/"+string(rune('a'+i)), "x")
	}
	now, err = repo.Fingerprint(t.Context(), ".signalbox")
	must(t, err)
	said := seen.Diff(now)
	if len(said) != maxTold+1 || said[maxTold] != "5 more files were changed" {
		t.Errorf("%q", said)
	}
}

// TestFingerprintOfOurs sees that a delivery's own work is not taken for somebody's.
func TestFingerprintOfOurs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	git(t, f.repo.Root(), "config", "extensions.worktreeConfig", "true")
	t.Cleanup(func() {
		gitIn(context.WithoutCancel(t.Context()), t, f.repo.Root(), "config", "--unset", "extensions.worktreeConfig")
	})
	seen, err := f.repo.Fingerprint(t.Context(), ".signalbox")
	must(t, err)
	tree, commit := f.settled("a", "a.txt", "other\n")
	_, err = f.repo.Branch(t.Context(), "sb/run", f.base)
	must(t, err)
	f.take(commit)
	_, err = f.exchange.Merge(t.Context(), Merge{Path: f.path("merge"), Branch: "sb/run", Old: f.base, Commit: commit, Message: "merge"})
	must(t, err)
	must(t, tree.Reset(t.Context(), f.base))
	must(t, f.repo.Remove(t.Context(), tree.path))
	must(t, f.repo.DeleteMerged(t.Context(), "sb/a", "sb/run"))
	now, err := f.repo.Fingerprint(t.Context(), ".signalbox")
	must(t, err)
	if said := seen.Diff(now); len(said) > 0 {
		t.Errorf("%q", said)
	}
}
