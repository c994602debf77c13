package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain keeps the settings of whoever runs the tests out of them.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	if err := flag.Set("test.parallel", "4"); err != nil { // they wait for git, and for the disk
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(templates.dir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// odd is a directory name with all that breaks careless commands.
const odd = "-odd näme\n$HOME 'x' \"y\""

// fixture is a checkout of a user who is in the middle of something.
type fixture struct {
	t    *testing.T
	repo *Repo
	base string // the commit of main
	dir  string // for worktrees

	exchange *Exchange
}

var templates struct {
	once      sync.Once
	dir, base string
}

// template is the fixture's checkout, of which each fixture has a copy. It is made once: that takes git two dozen processes.
func template(t *testing.T) string {
	t.Helper()
	templates.once.Do(func() {
		root, err := os.MkdirTemp("", "worktree-test-")
		must(t, err)
		git(t, root, "init", "--quiet", "--template=", "--initial-branch=main")
		write(t, root, ".git/info/exclude", "# the user's\n")
		git(t, root, "config", "user.name", "Ada")
		git(t, root, "config", "user.email", "ada@example.org")
		write(t, root, "a.txt", "one\ntwo\nthree\n")
		write(t, root, "ü \n-b.txt", "odd\n")
		write(t, root, ".gitignore", "ignored/\n.env\n.signalbox/\n")
		git(t, root, "add", "--all")
		git(t, root, "commit", "--quiet", "-m", "first")
		write(t, root, "stashed.txt", "for later\n")
		git(t, root, "stash", "push", "--quiet", "--include-untracked")
		write(t, root, "a.txt", "one\ntwo\nthree\nstaged\n")
		git(t, root, "add", "a.txt")
		write(t, root, "a.txt", "one\ntwo\nthree\nnot staged\n")
		write(t, root, "new.txt", "untracked\n")
		templates.dir, templates.base = root, git(t, root, "rev-parse", "HEAD")
	})
	if templates.dir == "" {
		t.Fatal("the checkout that fixtures are copies of could not be made")
	}
	return templates.dir
}

// newFixture makes a repository. With -short it skips half of the tests, and seven in eight of the cases that are
// tests of their own.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	if testing.Short() {
		oneIn := uint32(3)
		if strings.Contains(t.Name(), "/") {
			oneIn = 8
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(t.Name())) // which never fails
		if h.Sum32()>>13%oneIn != 0 {
			t.Skipf("one in %d is tried with -short", oneIn)
		}
	}
	root := filepath.Join(t.TempDir(), odd)
	must(t, os.CopyFS(root, os.DirFS(template(t))))
	repo, err := Open(t.Context(), root)
	must(t, err)
	repo.pauses = []time.Duration{0, 0, 0}
	exchange, err := OpenExchange(t.Context(), repo, filepath.Join(root, ".signalbox", "exchange.git"))
	must(t, err)
	f := &fixture{t, repo, templates.base, filepath.Join(root, ".signalbox", "trees"), exchange}
	before := f.checkout()
	t.Cleanup(func() {
		if diff := cmp.Diff(before, f.checkout()); diff != "" {
			t.Errorf("the user's checkout was changed:\n%s", diff)
		}
	})
	return f
}

// checkout is all of the user's that must stay as it is.
func (f *fixture) checkout() map[string]string {
	f.t.Helper()
	files := map[string]string{}
	root := f.repo.Root()
	must(f.t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if name == ".signalbox" || name == filepath.Join(".git", ownDirs) || name == filepath.Join(".git", "objects") || name == filepath.Join(".git", "worktrees") ||
				name == filepath.Join(".git", "refs", "heads", "sb") || name == filepath.Join(".git", "logs", "refs", "heads", "sb") {
				return fs.SkipDir
			}
			return nil
		}
		if name == filepath.Join(".git", "packed-refs") {
			return nil // any branch may be in there: they are listed below
		}
		data, err := os.ReadFile(path)
		files[name] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	}))
	for line := range strings.Lines(gitIn(context.WithoutCancel(f.t.Context()), f.t, root, "for-each-ref")) {
		if commit, name, _ := strings.Cut(line, "\t"); !strings.HasPrefix(name, "refs/heads/sb/") {
			files[name] = commit
		}
	}
	return files
}

// path is where a task has its worktree.
func (f *fixture) path(task string) string { return filepath.Join(f.dir, task) }

// add makes a worktree for a task, with a branch at main.
func (f *fixture) add(task string) *Tree {
	f.t.Helper()
	must(f.t, f.repo.Add(f.t.Context(), f.path(task), "sb/"+task, f.base))
	return f.repo.Tree(f.path(task))
}

// settled makes a worktree with one file changed and committed.
func (f *fixture) settled(task, file, text string) (*Tree, string) {
	f.t.Helper()
	tree := f.add(task)
	write(f.t, tree.path, file, text)
	commit, committed, err := tree.Settle(f.t.Context(), "work on "+task)
	must(f.t, err)
	if !committed {
		f.t.Fatal("nothing was committed")
	}
	return tree, commit
}

// take brings a commit to the exchange.
func (f *fixture) take(commit string) {
	f.t.Helper()
	must(f.t, f.exchange.Take(f.t.Context(), commit, "R1"))
}

// at checks where a branch is.
func (f *fixture) at(branch, commit string) {
	f.t.Helper()
	if got := git(f.t, f.repo.Root(), "rev-parse", "refs/heads/"+branch); got != commit {
		f.t.Errorf("%s is at %s, not at %s", branch, got, commit)
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return gitIn(t.Context(), t, dir, args...)
}

func gitIn(ctx context.Context, t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// fails runs a git command that is meant to stop half way.
func fails(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	if err := cmd.Run(); err == nil {
		t.Fatalf("git %s did not fail", strings.Join(args, " "))
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// executable writes a script that is run. No process may start meanwhile: it would have the file open for writing
// for a moment, and a program that is being written can't be run.
func executable(t *testing.T, path, script string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must(t, os.WriteFile(path, []byte(script), 0o755))
}

func mkfifo(t *testing.T, path string) {
	t.Helper()
	must(t, exec.CommandContext(t.Context(), "mkfifo", path).Run())
}

// holds checks what is in a file; a nil text is no file.
func holds(t *testing.T, dir, name string, text any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	switch {
	case text == nil && !errors.Is(err, fs.ErrNotExist):
		t.Errorf("%q is there", name)
	case text != nil && string(data) != text:
		t.Errorf("%q holds %q (%v), not %q", name, data, err, text)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v, not: %v", err, want)
	}
}

func TestOpen(t *testing.T) {
	f := newFixture(t)
	below := filepath.Join(f.repo.Root(), "some", "where")
	must(t, os.MkdirAll(below, 0o755))
	t.Setenv("GIT_DIR", t.TempDir()) // as in a hook
	found, err := Open(t.Context(), below)
	must(t, err)
	if found.Root() != f.repo.Root() {
		t.Errorf("the root is %q, not %q", found.Root(), f.repo.Root())
	}
	_, err = Open(t.Context(), t.TempDir())
	is(t, err, ErrNotRepo)
	t.Setenv("GIT_DIR", "")
	must(t, os.Unsetenv("GIT_DIR"))
	bare := t.TempDir()
	git(t, bare, "init", "--quiet", "--bare")
	_, err = Open(t.Context(), bare)
	is(t, err, ErrNotRepo)
	t.Setenv("PATH", t.TempDir())
	_, err = Open(t.Context(), below)
	is(t, err, ErrNoGit)
}

func TestOpenWithOldGit(t *testing.T) {
	for version, want := range map[string]bool{
		"git version 2.39.5": true, "git version 2.34.1": true, "git version 3.0.0": true,
		"git version 2.50.1 (Apple Git-155)": true, "git version 2.33.9": false, "git version 1.99": false, "hello": false,
	} {
		if got := recent(version); got != want {
			t.Errorf("%s: %v", version, got)
		}
	}
	dir := t.TempDir()
	executable(t, filepath.Join(dir, "git"), "#!/bin/sh\necho git version 2.17.1\n")
	t.Setenv("PATH", dir)
	_, err := Open(t.Context(), t.TempDir())
	is(t, err, ErrOldGit)
}

func TestHead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	branch, commit, err := f.repo.Head(t.Context())
	if branch != "main" || commit != f.base || err != nil {
		t.Errorf("on %q at %q: %v", branch, commit, err)
	}
	other := t.TempDir()
	git(t, other, "init", "--quiet")
	empty, err := Open(t.Context(), other)
	must(t, err)
	_, _, err = empty.Head(t.Context())
	is(t, err, ErrNoCommit)
	git(t, other, "fetch", "--quiet", f.repo.Root(), "main")
	git(t, other, "checkout", "--quiet", "--detach", "FETCH_HEAD")
	branch, commit, err = empty.Head(t.Context())
	if branch != "" || commit != f.base || err != nil {
		t.Errorf("on %q at %q: %v", branch, commit, err)
	}
}

// TestGone sees that a repository that has gone is not taken for another one
// above it.
func TestGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inner := filepath.Join(f.repo.Root(), ".signalbox", "inner")
	must(t, os.MkdirAll(inner, 0o755))
	git(t, inner, "init", "--quiet")
	repo, err := Open(t.Context(), inner)
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(inner, ".git")))
	if branch, commit, err := repo.Head(t.Context()); err == nil {
		t.Errorf("on %s at %s", branch, commit)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, rev := range []string{"main", "HEAD", f.base[:10]} {
		if commit, err := f.repo.Resolve(t.Context(), rev); commit != f.base || err != nil {
			t.Errorf("%s is %s: %v", rev, commit, err)
		}
	}
	for _, rev := range []string{"nope", "", "--all", "HEAD:a.txt", strings.Repeat("1", 40), "a\x1b[31m"} {
		_, err := f.repo.Resolve(t.Context(), rev)
		is(t, err, ErrUnknown)
		if strings.Contains(err.Error(), "\x1b") {
			t.Errorf("not escaped: %q", err)
		}
	}
}

func TestBranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, commit := f.settled("a", "a.txt", "other\n")
	for _, want := range []bool{true, false} {
		if created, err := f.repo.Branch(t.Context(), "sb/run", f.base); created != want || err != nil {
			t.Errorf("created: %v, %v", created, err)
		}
	}
	_, err := f.repo.Branch(t.Context(), "sb/run", commit)
	must(t, err)
	f.at("sb/run", f.base)
	for _, name := range []string{"", "-x", "a b", "a..b", "HEAD", "x.lock", "@{-1}", "a\x00b", "/a"} {
		_, err := f.repo.Branch(t.Context(), name, f.base)
		is(t, err, ErrBadBranch)
	}
	_, err = f.repo.Branch(t.Context(), "sb/run/below", f.base) // a ref can't be a directory too
	if failed := (*GitError)(nil); !errors.As(err, &failed) || failed.busy() {
		t.Errorf("the error is %v", err)
	}
}

func TestDeleteMerged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree, commit := f.settled("a", "a.txt", "other\n")
	_, err := f.repo.Branch(t.Context(), "sb/run", f.base)
	must(t, err)
	is(t, f.repo.DeleteMerged(t.Context(), "sb/a", "sb/run"), ErrNotMerged)
	is(t, f.repo.DeleteMerged(t.Context(), "sb/a", "sb/a"), ErrNotMerged)
	is(t, f.repo.DeleteMerged(t.Context(), "sb/a", "sb/none"), ErrUnknown)
	f.at("sb/a", commit)
	f.take(commit)
	_, err = f.exchange.Merge(t.Context(), Merge{Path: f.path("merge"), Branch: "sb/run", Old: f.base, Commit: commit, Message: "merge"})
	must(t, err)
	is(t, f.repo.DeleteMerged(t.Context(), "sb/a", "sb/run"), ErrCheckedOut)
	must(t, f.repo.Remove(t.Context(), tree.path))
	must(t, f.repo.DeleteMerged(t.Context(), "sb/a", "sb/run"))
	if _, err := f.repo.Resolve(t.Context(), "refs/heads/sb/a"); !errors.Is(err, ErrUnknown) {
		t.Errorf("the branch is still there: %v", err)
	}
	must(t, f.repo.DeleteMerged(t.Context(), "sb/a", "sb/run")) // asked again after a crash
	is(t, f.repo.DeleteMerged(t.Context(), "main", "sb/run"), ErrCheckedOut)
}

func TestBusy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lock := filepath.Join(f.repo.common, "refs", "heads", "sb", "x.lock")
	must(t, os.MkdirAll(filepath.Dir(lock), 0o755))
	must(t, os.WriteFile(lock, nil, 0o644))
	_, err := f.repo.Branch(t.Context(), "sb/x", f.base)
	if failed := (*GitError)(nil); !errors.As(err, &failed) || !failed.busy() {
		t.Fatalf("the error is %v", err)
	}
	// It is tried again until the lock is gone: here by a git that removes it
	// on its third call.
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho x >>%[1]s/calls\n[ $(wc -l <%[1]s/calls) -ge 3 ] && rm -f \"$LOCK\"\nexec git \"$@\"\n", dir)
	executable(t, filepath.Join(dir, "slow-git"), script)
	f.repo.env = append(f.repo.env, "LOCK="+lock)
	f.repo.program = filepath.Join(dir, "slow-git")
	must(t, f.repo.change(t.Context(), f.repo.home, "update-ref", "refs/heads/sb/x", f.base))
	f.at("sb/x", f.base)
}

func TestStopped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := t.TempDir()
	// A git whose child keeps the output open and does not listen to TERM. It
	// also holds a pipe, which ends with it.
	held := filepath.Join(dir, "held")
	script := fmt.Sprintf("#!/bin/sh\n(trap '' TERM; exec 3>%s; echo up >&3; exec sleep 60) &\nwait\n", held)
	executable(t, filepath.Join(dir, "git"), script)
	mkfifo(t, held)
	f.repo.program = filepath.Join(dir, "git")
	ctx, cancel := context.WithCancel(t.Context())
	pipe := make(chan *os.File, 1)
	go func() {
		defer close(pipe)
		defer cancel()
		if p, err := os.Open(held); err == nil {
			_, _ = p.Read(make([]byte, 3))
			pipe <- p
		}
	}()
	_, err := f.repo.Resolve(ctx, "HEAD")
	is(t, err, context.Canceled)
	p := <-pipe
	defer p.Close()
	must(t, p.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the child of git lives: %v", err)
	}
}

// TestTooSlow has git and gh meet what never answers.
func TestTooSlow(t *testing.T) {
	f := newFixture(t)
	tree := f.add("a")
	write(t, tree.path, "new.txt", "x") // for which git looks into .gitignore
	must(t, os.Remove(filepath.Join(tree.path, ".gitignore")))
	mkfifo(t, filepath.Join(tree.path, ".gitignore"))
	f.repo.patience = 2 * time.Second // for the one that hangs, and plenty for the one before it
	_, err := tree.Dirty(t.Context())
	is(t, err, ErrTooSlow)
	if want := "git status --porcelain=v1 -z --untracked-files=all --no-renames --ignore-submodules=dirty was stopped: after 2s: it took too long"; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%q", err)
	}
	bin := t.TempDir()
	executable(t, filepath.Join(bin, "gh"), "#!/bin/sh\nsleep 60 &\nwait\n")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	_, err = f.repo.gh(t.Context(), "pr", "view")
	is(t, err, ErrTooSlow)
}

// TestPipesOfGits sees that named pipes in the place of git's own files hold up nobody.
func TestPipesOfGits(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gitdir", "locked"} {
		f := newFixture(t)
		tree := f.add("a")
		at, err := f.repo.link(tree.path)
		must(t, err)
		if err := os.Remove(filepath.Join(at.gitDir, name)); !errors.Is(err, fs.ErrNotExist) {
			must(t, err)
		}
		mkfifo(t, filepath.Join(at.gitDir, name))
		if name == "locked" {
			if isUnfinished(at.gitDir) {
				t.Error("it is unfinished")
			}
		} else if leadsTo(at.gitDir, tree.path) {
			t.Error("it leads there")
		}
	}
}

func TestTaken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add("run/a")
	git(t, f.repo.Root(), "tag", "signalbox/x/y")
	t.Cleanup(func() { gitIn(context.WithoutCancel(t.Context()), t, f.repo.Root(), "tag", "-d", "signalbox/x/y") })
	for prefix, want := range map[string]bool{
		"sb": true, "sb/run": true, "sb/run/a": false, "sb/ru": false, "main": false, "nope": false, "signalbox/x": false, "refs/heads/sb": false,
	} {
		if taken, err := f.repo.Taken(t.Context(), prefix); taken != want || err != nil {
			t.Errorf("%s: %v, %v", prefix, taken, err)
		}
	}
	for _, prefix := range []string{"", "*", "s?", "a..b"} {
		_, err := f.repo.Taken(t.Context(), prefix)
		is(t, err, ErrBadBranch)
	}
}

func TestMuchOutput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.add("a")
	write(t, tree.path, "big", strings.Repeat("x", maxOutput+1))
	commit, _, err := tree.Settle(t.Context(), "big")
	must(t, err)
	_, err = f.repo.read(t.Context(), f.repo.home, "cat-file", "blob", commit+":big")
	is(t, err, ErrTooMuch)
	is(t, f.repo.each(t.Context(), f.repo.home, func(string) {}, call{args: []string{"cat-file", "blob", commit + ":big"}}), ErrTooMuch)
}

func TestErrorsAreEscaped(t *testing.T) {
	t.Parallel()
	err := &GitError{Command: "merge \x1b[31m", Exit: 1, Stderr: "bad\n\x1b]0;owned\a"}
	if got, want := err.Error(), `git merge \x1b[31m failed with status 1: bad; \x1b]0;owned\x07`; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	var tail tail
	for range 10 {
		fmt.Fprint(&tail, strings.Repeat("x", 1000))
	}
	fmt.Fprint(&tail, "last")
	if len(tail) != maxStderr || !strings.HasSuffix(string(tail), "last") {
		t.Errorf("%d bytes", len(tail))
	}
}
