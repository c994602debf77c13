package worktree

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Seal sees what was checked, and the branch moves to that with another message; if it
// refuses, the branch stays.
func TestSeal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, change := f.settled("a", "a.txt", "changed\n")
	refused := errors.New("not now")
	var checked string
	m := f.merge(change)
	m.Check = func(_ context.Context, _, commit string) error {
		checked = commit
		return nil
	}
	m.Seal = func(context.Context, Result) (string, error) { return "", refused }
	_, err := f.exchange.Merge(t.Context(), m)
	is(t, err, refused)
	f.at("sb/run", f.base)
	var saw Result
	m.Seal = func(_ context.Context, r Result) (string, error) {
		saw = r
		return "sealed\n\nName: value\n", nil
	}
	merged, err := f.exchange.Merge(t.Context(), m)
	must(t, err)
	f.at("sb/run", merged.Commit)
	root := f.repo.Root()
	if tree, err := f.exchange.TreeOf(t.Context(), checked); err != nil || saw != (Result{f.base, change, tree, checked}) {
		t.Errorf("it saw %+v: %v", saw, err)
	}
	if got := strings.TrimSpace(git(t, root, "log", "-1", "--format=%P %T%n%B", "sb/run")); got != saw.Onto+" "+saw.Commit+" "+saw.Tree+"\nsealed\n\nName: value" {
		t.Errorf("the branch is at %s", got)
	}
	if merged.Commit == checked {
		t.Error("the branch moved to what was checked, without its message")
	}
}

// A commit is read as it is, from a bare clone too, whatever is to be shown in its place.
func TestReadCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bare := t.TempDir()
	git(t, f.repo.Root(), "clone", "--quiet", "--bare", ".", bare)
	name, object, err := ReadCommit(t.Context(), bare, "main")
	if err != nil || name != f.base || !strings.HasSuffix(string(object), "\n\nfirst\n") {
		t.Errorf("%s %q %v", name, object, err)
	}
	other := git(t, bare, "-c", "user.name=A", "-c", "user.email=a@b", "commit-tree", "main^{tree}", "-m", "other")
	git(t, bare, "replace", name, other)
	if _, again, err := ReadCommit(t.Context(), bare, "main"); err != nil || string(again) != string(object) {
		t.Errorf("%q %v", again, err)
	}
	if _, _, err := ReadCommit(t.Context(), bare, "--help"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, _, err := ReadCommit(t.Context(), t.TempDir(), "main"); !errors.Is(err, errNoRepository) {
		t.Error(err)
	}
}
