package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAdd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, task := range []string{"plain", odd} {
		path := f.path(task)
		must(t, f.repo.Add(t.Context(), path, "sb/one-"+task[:2], f.base))
		holds(t, path, "a.txt", "one\ntwo\nthree\n")
		holds(t, path, "new.txt", nil)
		write(t, path, "a.txt", "work that is not committed\n")
		must(t, f.repo.Add(t.Context(), path, "sb/one-"+task[:2], "main"))
		holds(t, path, "a.txt", "work that is not committed\n")
		is(t, f.repo.Add(t.Context(), path, "sb/two", f.base), ErrOtherBranch)
		is(t, f.repo.Add(t.Context(), path+"2", "sb/one-"+task[:2], f.base), ErrCheckedOut)
		is(t, f.repo.AddDetached(t.Context(), path, f.base), ErrOtherBranch)
		must(t, f.repo.Remove(t.Context(), path))
		must(t, f.repo.Remove(t.Context(), path))
		f.at("sb/one-"+task[:2], f.base)
	}
	is(t, f.repo.Add(t.Context(), f.repo.Root(), "sb/x", f.base), ErrCheckout)
	is(t, f.repo.Add(t.Context(), f.path("x"), "main", f.base), ErrCheckedOut)
	is(t, f.repo.Add(t.Context(), f.path("x"), "sb/x", "nope"), ErrUnknown)
	is(t, f.repo.Remove(t.Context(), f.repo.Root()), ErrCheckout)
	if left, err := os.ReadDir(filepath.Join(f.repo.common, "worktrees")); err == nil && len(left) > 0 {
		t.Errorf("git still keeps %v", left)
	}
}

func TestAddManyAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	many := 20
	if testing.Short() {
		many = 6
	}
	branch := func(i int) string { return fmt.Sprintf("sb/t%d/work", i) } // in a directory of its own: what else is there is swept away
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			path := f.path(fmt.Sprint("t", i))
			if errs[i] = f.repo.Add(t.Context(), path, branch(i), f.base); errs[i] != nil {
				return
			}
			if errs[i] = os.WriteFile(filepath.Join(path, fmt.Sprint(i)), nil, 0o644); errs[i] != nil {
				return
			}
			if _, _, errs[i] = f.repo.Tree(path).Settle(t.Context(), fmt.Sprint(i)); errs[i] == nil && i%2 == 0 {
				errs[i] = f.repo.Remove(t.Context(), path)
			}
		})
	}
	all.Wait()
	must(t, errors.Join(errs...))
	for i := range many {
		if got := git(t, f.repo.Root(), "log", "--format=%s", "-1", branch(i)); got != fmt.Sprint(i) {
			t.Errorf("%s has %q", branch(i), got)
		}
	}
}

// TestAddAfterCrash leaves a task in each state that a crash can leave, and
// adds its worktree again.
func TestAddAfterCrash(t *testing.T) {
	t.Parallel()
	link := func(f *fixture) place {
		at, err := f.repo.link(f.path("a"))
		must(f.t, err)
		return at
	}
	for name, c := range map[string]struct {
		crash func(*fixture)
		work  any // what a file that was not committed holds then
	}{
		"a branch without a worktree": {crash: func(f *fixture) {
			must(f.t, f.repo.Remove(f.t.Context(), f.path("a")))
		}},
		"an empty directory": {crash: func(f *fixture) {
			must(f.t, f.repo.Remove(f.t.Context(), f.path("a")))
			must(f.t, os.Mkdir(f.path("a"), 0o755))
		}},
		"a registration without a directory": {crash: func(f *fixture) {
			must(f.t, os.RemoveAll(f.path("a")))
		}},
		"a directory without a registration": {crash: func(f *fixture) {
			must(f.t, os.RemoveAll(link(f).gitDir))
		}},
		"a directory without .git": {work: "work", crash: func(f *fixture) {
			must(f.t, os.Remove(filepath.Join(f.path("a"), ".git")))
		}},
		"lock files": {work: "work", crash: func(f *fixture) {
			must(f.t, os.WriteFile(filepath.Join(link(f).gitDir, "index.lock"), nil, 0o644))
			must(f.t, os.WriteFile(filepath.Join(link(f).gitDir, "HEAD.lock"), nil, 0o644))
		}},
		"made by half": {crash: func(f *fixture) {
			must(f.t, f.repo.Remove(f.t.Context(), f.path("a")))
			_, err := f.repo.register(f.t.Context(), f.path("a"), "sb/a", "")
			must(f.t, err)
			write(f.t, f.path("a"), "a.txt", "one\n")
		}},
		"removed by half": {crash: func(f *fixture) {
			must(f.t, os.WriteFile(filepath.Join(link(f).gitDir, "locked"), []byte(unfinished), 0o644))
			must(f.t, os.Remove(filepath.Join(f.path("a"), ".git")))
			must(f.t, os.Remove(filepath.Join(f.path("a"), "a.txt")))
		}},
		"a link that leads to where the repository was": {work: "work", crash: func(f *fixture) {
			write(f.t, f.path("a"), ".git", "gitdir: /before/.git/worktrees/"+filepath.Base(link(f).gitDir)+"\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			tree, commit := f.settled("a", "done.txt", "done\n")
			write(t, tree.path, "work.txt", "work")
			c.crash(f)
			f.add("a")
			holds(t, tree.path, "a.txt", "one\ntwo\nthree\n")
			holds(t, tree.path, "done.txt", "done\n")
			holds(t, tree.path, "work.txt", c.work)
			f.at("sb/a", commit)
			write(t, tree.path, "more.txt", "more\n")
			_, committed, err := tree.Settle(t.Context(), "more")
			if !committed || err != nil {
				t.Errorf("committed: %v, %v", committed, err)
			}
			if name == "a directory without a registration" {
				holds(t, tree.path+".kept-1", "work.txt", "work")
			} else if _, err := os.Lstat(tree.path + ".kept-1"); err == nil {
				t.Error("something was moved aside")
			}
		})
	}
}

// A worktree that is not one any more is found out, and left as it is.
func TestFind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.add("a")
	must(t, f.repo.Find(t.Context(), tree.path))
	must(t, os.Remove(filepath.Join(tree.path, ".git")))
	must(t, f.repo.Find(t.Context(), tree.path)) // it is repaired
	write(t, tree.path, "work.txt", "work")
	at, err := f.repo.link(tree.path)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(at.gitDir, "locked"), []byte(unfinished), 0o600))
	is(t, f.repo.Find(t.Context(), tree.path), ErrNotWorktree)
	must(t, os.RemoveAll(at.gitDir))
	is(t, f.repo.Find(t.Context(), tree.path), ErrNotWorktree)
	holds(t, tree.path, "work.txt", "work")
	is(t, f.repo.Find(t.Context(), f.path("never")), ErrNotWorktree)
}

func TestRemoveRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	write(t, f.path("a"), "file", "somebody's")
	is(t, f.repo.Remove(t.Context(), f.path("a")), ErrNotWorktree)
	holds(t, f.path("a"), "file", "somebody's")
}

// TestBrokenWorktree sees that nothing is done to the checkout above a
// worktree that has lost its .git file.
func TestBrokenWorktree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.add("a")
	must(t, os.Remove(filepath.Join(tree.path, ".git")))
	_, _, err := tree.Settle(t.Context(), "x")
	is(t, err, ErrNotWorktree)
	is(t, tree.Reset(t.Context(), f.base), ErrNotWorktree)
	git(t, tree.path, "init", "--quiet") // another repository
	_, err = tree.Head(t.Context())
	is(t, err, ErrNotWorktree)
	is(t, f.repo.Tree(f.repo.Root()).Reset(t.Context(), f.base), ErrCheckout)
}

func TestAddDetached(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "a.txt", "other\n")
	path := f.path("gate")
	must(t, f.repo.AddDetached(t.Context(), path, f.base))
	holds(t, path, "a.txt", "one\ntwo\nthree\n")
	write(t, path, "ignored/cache", "of another task")
	write(t, path, "left.txt", "by a test")
	write(t, path, "a.txt", "by a test")
	git(t, path, "init", "--quiet", "nested")
	git(t, path, "checkout", "--quiet", "-b", "sb/left")
	must(t, f.repo.AddDetached(t.Context(), path, commit))
	f.at("sb/left", f.base)
	holds(t, path, "a.txt", "other\n")
	holds(t, path, "ignored/cache", nil)
	holds(t, path, "left.txt", nil)
	holds(t, path, "nested/.git/HEAD", nil)
	fails(t, path, "symbolic-ref", "--quiet", "HEAD")
	is(t, f.repo.AddDetached(t.Context(), path, "nope"), ErrUnknown)
}

// TestAddDetachedAnew sees that a worktree in which git would hang is made anew.
func TestAddDetachedAnew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.path("gate")
	must(t, f.repo.AddDetached(t.Context(), path, f.base))
	mkfifo(t, filepath.Join(path, ".gitattributes"))
	f.repo.patience = 6 * time.Second // for the one that hangs, and plenty for the others, also on a busy machine
	write(t, path, "left.txt", "by a test")
	must(t, f.repo.AddDetached(t.Context(), path, f.base))
	holds(t, path, "a.txt", "one\ntwo\nthree\n")
	holds(t, path, "left.txt", nil)
	if _, err := os.Lstat(filepath.Join(path, ".gitattributes")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the pipe is there: %v", err)
	}
}

// TestAddDetachedIsNew sees that what is left running in a worktree has neither its directory
// nor a file of it any more when it is used again, also if nothing of it has changed.
func TestAddDetachedIsNew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.path("gate")
	must(t, f.repo.AddDetached(t.Context(), path, f.base))
	before, err := os.Stat(path)
	must(t, err)
	left, err := os.OpenFile(filepath.Join(path, "a.txt"), os.O_WRONLY, 0)
	must(t, err)
	defer func() { must(t, left.Close()) }()
	must(t, f.repo.AddDetached(t.Context(), path, f.base))
	after, err := os.Stat(path)
	must(t, err)
	if os.SameFile(before, after) {
		t.Error("it is the same directory")
	}
	_, err = left.WriteString("ONE")
	must(t, err)
	holds(t, path, "a.txt", "one\ntwo\nthree\n")
}

// TestDisown sees that the repository forgets its worktrees in a directory that is another repository's by now,
// and that nothing of the other's is removed.
func TestDisown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	gates := f.path("gates")
	must(t, f.repo.Disown(t.Context(), gates)) // there is none
	f.add("task")
	for _, name := range []string{"0", "1", "2"} {
		must(t, f.repo.AddDetached(t.Context(), filepath.Join(gates, name), f.base))
	}
	must(t, os.RemoveAll(filepath.Join(gates, "1")))
	must(t, os.RemoveAll(filepath.Join(gates, "2")))
	must(t, f.exchange.TakeBase(t.Context(), f.base))
	must(t, f.exchange.AddDetached(t.Context(), filepath.Join(gates, "2"), f.base))
	must(t, f.repo.Disown(t.Context(), gates))
	must(t, f.repo.Disown(t.Context(), gates))
	list := git(t, f.repo.Root(), "worktree", "list", "--porcelain")
	if strings.Contains(list, gates) || !strings.Contains(list, f.path("task")) {
		t.Errorf("the repository has\n%s", list)
	}
	holds(t, gates, "0/a.txt", nil)
	holds(t, gates, "2/a.txt", "one\ntwo\nthree\n")
	must(t, f.exchange.AddDetached(t.Context(), filepath.Join(gates, "0"), f.base))
	if left, err := filepath.Glob(filepath.Join(gates, "*.kept-*")); err != nil || len(left) > 0 {
		t.Errorf("there was something in the way: %s, %v", left, err)
	}
}

func TestRemoveReadOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.path("gate")
	must(t, f.repo.AddDetached(t.Context(), path, f.base))
	for _, again := range []func() error{
		func() error { return f.repo.AddDetached(t.Context(), path, f.base) },
		func() error { return f.repo.Remove(t.Context(), path) },
	} {
		write(t, path, "ignored/cache/module/file", "x")
		must(t, os.Chmod(filepath.Join(path, "ignored/cache/module"), 0o555))
		must(t, os.Chmod(filepath.Join(path, "ignored/cache"), 0o555))
		must(t, again())
		if _, err := os.Lstat(filepath.Join(path, "ignored")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is there: %v", err)
		}
	}
}

func TestCopy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	root := f.repo.Root()
	write(t, root, "ignored/deep/key", "k")
	write(t, root, "ignored/-*\n", "odd")
	must(t, os.WriteFile(filepath.Join(root, ".env"), []byte("SECRET=1"), 0o600))
	t.Cleanup(func() { // for the fixture, which has not seen them
		must(t, os.RemoveAll(filepath.Join(root, "ignored")))
		must(t, os.Remove(filepath.Join(root, ".env")))
	})
	tree := f.add("a")
	must(t, f.repo.Copy(t.Context(), tree.path, []string{".env", "ignored/deep/key", "ignored/-*\n", "a.txt"}))
	holds(t, tree.path, ".env", "SECRET=1")
	holds(t, tree.path, "ignored/deep/key", "k")
	holds(t, tree.path, "ignored/-*\n", "odd")
	holds(t, tree.path, "a.txt", "one\ntwo\nthree\n") // git has it
	if info, err := os.Stat(filepath.Join(tree.path, ".env")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if dirty, err := tree.Dirty(t.Context()); len(dirty) > 0 || err != nil {
		t.Errorf("dirty: %q, %v", dirty, err)
	}
	err := f.repo.Copy(t.Context(), tree.path, []string{"new.txt", "ignored/none", "ignored/deep", ".env"})
	var failed *CopyError
	if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	want := &CopyError{Missing: []string{"ignored/none", "ignored/deep"}, Exposed: []string{"new.txt"}}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Error(diff)
	}
	holds(t, tree.path, "new.txt", nil)
	for _, bad := range []string{"../x", "/etc/passwd", "", ".", "a/../b", "a\x00"} {
		if err := f.repo.Copy(t.Context(), tree.path, []string{bad}); err == nil {
			t.Errorf("%q was copied", bad)
		}
	}
	must(t, os.Symlink("/etc/hostname", filepath.Join(root, "ignored", "out")))
	if err := f.repo.Copy(t.Context(), tree.path, []string{"ignored/out"}); err == nil {
		t.Error("a link out of the checkout was followed")
	}
}
