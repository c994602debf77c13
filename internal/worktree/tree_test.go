package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSettle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.add("a")
	commit, committed, err := tree.Settle(t.Context(), "nothing")
	if commit != f.base || committed || err != nil {
		t.Errorf("%s, %v, %v", commit, committed, err)
	}
	write(t, tree.path, "a.txt", "changed\n")
	write(t, tree.path, "-new \nü", "new\n")
	write(t, tree.path, "ignored/x", "x")
	must(t, os.Remove(filepath.Join(tree.path, "ü \n-b.txt")))
	dirty, err := tree.Dirty(t.Context())
	if diff := cmp.Diff([]string{"a.txt", "ü \n-b.txt", "-new \nü"}, dirty); diff != "" || err != nil {
		t.Error(diff, err)
	}
	at, err := f.repo.link(tree.path)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(at.gitDir, "index.lock"), nil, 0o644))
	commit, committed, err = tree.Settle(t.Context(), "# not a comment\n\nbody")
	must(t, err)
	if !committed {
		t.Error("nothing was committed")
	}
	f.at("sb/a", commit)
	if head, err := tree.Head(t.Context()); head != commit || err != nil {
		t.Errorf("HEAD is %s: %v", head, err)
	}
	if got := git(t, tree.path, "log", "-1", "--format=%an <%ae> %B"); got != "Ada <ada@example.org> # not a comment\n\nbody\n" {
		t.Errorf("the commit is %q", got)
	}
	changes, err := f.repo.Changes(t.Context(), f.base, "sb/a")
	want := Changes{Files: 3, Added: 2, Removed: 4, Names: []string{"-new \nü", "a.txt", "ü \n-b.txt"}}
	if diff := cmp.Diff(want, changes); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if dirty, err := tree.Dirty(t.Context()); len(dirty) > 0 || err != nil {
		t.Errorf("dirty: %q, %v", dirty, err)
	}
}

// TestSettleWithoutHooks sees that the user's hooks and signatures stay out.
func TestSettleWithoutHooks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root := f.repo.Root()
	ran := filepath.Join(t.TempDir(), "ran")
	for _, hook := range []string{"pre-commit", "commit-msg", "post-checkout", "pre-merge-commit", "reference-transaction"} {
		path := filepath.Join(f.repo.common, "hooks", hook)
		write(t, filepath.Dir(path), hook, "#!/bin/sh\necho "+hook+" >>'"+ran+"'\nexit 1\n")
		must(t, os.Chmod(path, 0o755))
		t.Cleanup(func() { must(t, os.Remove(path)) })
	}
	config, err := os.ReadFile(filepath.Join(root, ".git", "config"))
	must(t, err)
	t.Cleanup(func() { must(t, os.WriteFile(filepath.Join(root, ".git", "config"), config, 0o644)) })
	git(t, root, "config", "commit.gpgSign", "true")
	git(t, root, "config", "gpg.program", "false")
	git(t, root, "config", "--unset", "user.name")
	tree, commit := f.settled("a", "a.txt", "changed\n")
	holds(t, filepath.Dir(ran), "ran", nil)
	if got := git(t, tree.path, "log", "-1", "--format=%an <%ae> %cn <%ce>", commit); got != "Signalbox <signalbox@localhost> Signalbox <signalbox@localhost>" {
		t.Errorf("committed by %s", got)
	}
}

// conflicting makes a worktree whose branch conflicts with sb/other.
func (f *fixture) conflicting() *Tree {
	f.t.Helper()
	f.settled("other", "a.txt", "theirs\n")
	tree, _ := f.settled("a", "a.txt", "ours\n")
	write(f.t, tree.path, "b.txt", "second\n")
	_, _, err := tree.Settle(f.t.Context(), "second")
	must(f.t, err)
	return tree
}

func TestSettleUnfinished(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"merge":       {"merge", "--quiet", "sb/other"},
		"rebase":      {"rebase", "--quiet", "sb/other"},
		"apply":       {"rebase", "--quiet", "--apply", "sb/other"},
		"cherry-pick": {"cherry-pick", "sb/other"},
		"revert":      {"revert", "--no-edit", "sb/other"},
	} {
		for _, reset := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", reset), func(t *testing.T) {
				f := newFixture(t)
				tree := f.conflicting()
				head, err := tree.Head(t.Context())
				must(t, err)
				fails(t, tree.path, args...)
				write(t, tree.path, "c.txt", "third\n")
				if reset {
					must(t, tree.Reset(t.Context(), head))
				} else if _, committed, err := tree.Settle(t.Context(), "third"); !committed || err != nil {
					t.Fatalf("committed: %v, %v", committed, err)
				}
				holds(t, tree.path, "a.txt", "ours\n")
				holds(t, tree.path, "b.txt", "second\n")
				if reset {
					f.at("sb/a", head)
				} else {
					f.at("sb/a~1", head)
				}
				if status := git(t, tree.path, "status"); !strings.HasPrefix(status, "On branch sb/a\nnothing to commit") {
					t.Error(status)
				}
			})
		}
	}
}

func TestSettleBisect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.conflicting()
	head, err := tree.Head(t.Context())
	must(t, err)
	git(t, tree.path, "bisect", "start", "HEAD", f.base)
	if commit, committed, err := tree.Settle(t.Context(), "x"); commit != head || committed || err != nil {
		t.Errorf("%s, %v, %v", commit, committed, err)
	}
}

func TestSettleSolvedMerge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.conflicting()
	fails(t, tree.path, "merge", "--quiet", "sb/other")
	write(t, tree.path, "a.txt", "both\n")
	git(t, tree.path, "add", "a.txt")
	commit, committed, err := tree.Settle(t.Context(), "both")
	if !committed || err != nil {
		t.Fatalf("committed: %v, %v", committed, err)
	}
	holds(t, tree.path, "a.txt", "both\n")
	if merged, err := f.repo.Merged(t.Context(), "sb/other", "sb/a"); !merged || err != nil {
		t.Errorf("merged: %v, %v", merged, err)
	}
	f.at("sb/a", commit)
}

func TestSettleElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave [][]string // git commands of the agent
		stray bool
	}{
		"detached":            {leave: [][]string{{"checkout", "--quiet", "--detach"}, {"commit", "--quiet", "--allow-empty", "-m", "x"}}},
		"a branch of its own": {leave: [][]string{{"checkout", "--quiet", "-b", "sb/feature"}, {"commit", "--quiet", "--allow-empty", "-m", "x"}}},
		"behind":              {leave: [][]string{{"checkout", "--quiet", "--detach", "HEAD~1"}}, stray: true},
		"another history":     {leave: [][]string{{"checkout", "--quiet", "sb/user"}}, stray: true},
		"no commit":           {leave: [][]string{{"checkout", "--quiet", "--orphan", "sb/empty"}}, stray: true},
		"its branch deleted":  {leave: [][]string{{"checkout", "--quiet", "--detach"}, {"branch", "--quiet", "-D", "sb/a"}}, stray: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			_, err := f.repo.Branch(t.Context(), "sb/user", f.base)
			must(t, err)
			tree, before := f.settled("a", "a.txt", "changed\n")
			for _, args := range c.leave {
				git(t, tree.path, args...)
			}
			write(t, tree.path, "late.txt", "late\n")
			commit, committed, err := tree.Settle(t.Context(), "late")
			f.at("sb/user", f.base)
			if stray := (*StrayError)(nil); errors.As(err, &stray) != c.stray || err != nil && !c.stray {
				t.Fatalf("the error is %v", err)
			}
			holds(t, tree.path, "late.txt", "late\n")
			if c.stray {
				if name != "its branch deleted" {
					f.at("sb/a", before)
				}
				return
			}
			if !committed {
				t.Error("nothing was committed")
			}
			f.at("sb/a", commit)
			f.at("sb/a~2", before)
			if got := git(t, tree.path, "symbolic-ref", "HEAD"); got != "refs/heads/sb/a" {
				t.Errorf("HEAD is on %s", got)
			}
		})
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := f.repo.Branch(t.Context(), "sb/user", f.base)
	must(t, err)
	tree, _ := f.settled("a", "a.txt", "changed\n")
	git(t, tree.path, "checkout", "--quiet", "sb/user")
	write(t, tree.path, "a.txt", "more\n")
	write(t, tree.path, "new/file", "new")
	write(t, tree.path, "ignored/x", "kept")
	is(t, tree.Reset(t.Context(), "nope"), ErrUnknown)
	must(t, tree.Reset(t.Context(), "sb/a~1"))
	f.at("sb/a", f.base)
	f.at("sb/user", f.base)
	holds(t, tree.path, "a.txt", "one\ntwo\nthree\n")
	holds(t, tree.path, "new/file", nil)
	holds(t, tree.path, "ignored/x", "kept")
}

func TestManyChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.add("a")
	const many = 250
	for i := range many {
		write(t, tree.path, fmt.Sprintf("d/%03d", i), "x\n")
	}
	must(t, os.WriteFile(filepath.Join(tree.path, "binary"), []byte{0, 1, 2, 0}, 0o644))
	if dirty, err := tree.Dirty(t.Context()); len(dirty) != maxNames || err != nil {
		t.Errorf("%d names, %v", len(dirty), err)
	}
	_, _, err := tree.Settle(t.Context(), "many")
	must(t, err)
	c, err := f.repo.Changes(t.Context(), f.base, "sb/a")
	if c.Files != many+1 || c.Added != many || c.Removed != 0 || len(c.Names) != maxNames || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// What a user does not want to see of modes and submodules is changed all the same.
func TestHiddenChanges(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "settings")
	must(t, os.WriteFile(settings, []byte("[diff]\n\tignoreSubmodules = all\n"), 0o600))
	t.Setenv("GIT_CONFIG_GLOBAL", settings)
	f := newFixture(t)
	tree := f.add("a")
	git(t, tree.path, "update-index", "--add", "--cacheinfo", "160000,"+f.base+",deps")
	git(t, tree.path, "update-index", "--chmod=+x", "a.txt")
	git(t, tree.path, "commit", "--quiet", "-m", "a submodule and a mode")
	if c, err := f.repo.Changes(t.Context(), f.base, "sb/a"); c.Files != 2 || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestCommonDir sees that a worktree that names another repository as its own, with settings
// that run a program, is not believed.
func TestCommonDir(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.add("a")
	evil := filepath.Join(t.TempDir(), "evil")
	must(t, os.CopyFS(evil, os.DirFS(f.repo.common)))
	ran := filepath.Join(t.TempDir(), "ran")
	git(t, f.repo.Root(), "config", "--file", filepath.Join(evil, "config"), "filter.evil.clean", "touch '"+ran+"'; cat")
	at, err := tree.place()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(at.gitDir, "commondir"), []byte(evil+"\n"), 0o644))
	write(t, tree.path, ".gitattributes", "*.txt filter=evil\n")
	write(t, tree.path, "a.txt", "changed\n")
	if _, _, err := tree.Settle(t.Context(), "work"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the other repository's was run")
	}
}
