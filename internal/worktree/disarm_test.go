package worktree

import (
	"bytes"
	"crypto/sha1"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// armed is a worktree that a hostile agent has had.
type armed struct {
	*fixture
	tree *Tree
	at   place
	out  string // a directory that nobody else writes
	evil string // a commit that nobody has seen
}

func (a *armed) put(name, text string) {
	a.t.Helper()
	write(a.t, a.at.gitDir, name, text)
}

func (a *armed) link(to, name string) {
	a.t.Helper()
	must(a.t, os.RemoveAll(name))
	must(a.t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(a.t, os.Symlink(to, name))
}

// TestDisarmed sees that nothing that an agent can leave in its worktree, in what git keeps
// for it, or beside its branch has the box's git write elsewhere, move or delete what is
// another's, run a command, or wait.
func TestDisarmed(t *testing.T) {
	t.Parallel()
	const other = "refs/heads/sb/user"
	for name, arm := range map[string]func(*armed){
		"a rebase that moves a branch": func(a *armed) {
			a.put("rebase-merge/head-name", other)
			a.put("rebase-merge/orig-head", a.evil)
			a.put("rebase-merge/onto", a.evil)
			a.put("rebase-merge/interactive", "")
		},
		"a rebase that deletes a branch": func(a *armed) {
			a.put("rebase-merge/head-name", "detached HEAD")
			a.put("rebase-merge/orig-head", a.base)
			a.put("rebase-merge/onto", a.base)
			a.put("rebase-merge/interactive", "")
			a.put("rebase-merge/refs-to-delete", other+"\n")
		},
		"patches that move a branch": func(a *armed) {
			a.put("rebase-apply/applying", "")
			a.put("rebase-apply/next", "1")
			a.put("rebase-apply/last", "1")
			a.put("rebase-apply/abort-safety", a.base)
			a.put("ORIG_HEAD", a.evil)
			a.put("HEAD", "ref: "+other)
		},
		"a cherry-pick that moves a branch": func(a *armed) {
			a.put("sequencer/head", a.evil)
			a.put("sequencer/abort-safety", a.base)
			a.put("sequencer/todo", "pick "+a.evil+" x\n")
			a.put("CHERRY_PICK_HEAD", a.evil)
			a.put("HEAD", "ref: "+other)
		},
		"a search that moves a branch": func(a *armed) {
			a.put("BISECT_START", "-Bsb/user")
			a.put("BISECT_LOG", "")
			a.put("HEAD", a.evil)
		},
		"something for the stash": func(a *armed) { a.put("MERGE_AUTOSTASH", a.evil) },
		"an index elsewhere":      func(a *armed) { a.link(filepath.Join(a.out, "new"), filepath.Join(a.at.gitDir, "index")) },
		"a log elsewhere":         func(a *armed) { a.link(filepath.Join(a.out, "canary"), filepath.Join(a.at.gitDir, "logs", "HEAD")) },
		"a message elsewhere":     func(a *armed) { a.link(filepath.Join(a.out, "canary"), filepath.Join(a.at.gitDir, "COMMIT_EDITMSG")) },
		"a lock elsewhere":        func(a *armed) { a.link(filepath.Join(a.out, "canary"), filepath.Join(a.at.gitDir, "locked")) },
		"the branch's log elsewhere": func(a *armed) {
			a.link(filepath.Join(a.out, "canary"), filepath.Join(a.repo.common, "logs", "refs/heads/sb/a"))
		},
		"a branch for another": func(a *armed) { write(a.t, a.repo.common, "refs/heads/sb/a", "ref: "+other) },
		"a branch for none":    func(a *armed) { write(a.t, a.repo.common, "refs/heads/sb/a", "ref: refs/heads/made") },
		"a worktree for another branch": func(a *armed) {
			a.put(ownBranch, "ref: "+other)
			a.put("HEAD", "ref: "+other)
		},
		"a worktree elsewhere": func(a *armed) {
			a.put("gitdir", filepath.Join(a.out, ".git")+"\n")
			must(a.t, os.Remove(filepath.Join(a.tree.path, ".git")))
		},
		"another's registration": func(a *armed) {
			victim := a.add("victim")
			at, err := victim.place()
			must(a.t, err)
			write(a.t, a.tree.path, ".git", "gitdir: /nowhere/"+filepath.Base(at.gitDir)+"\n")
			a.t.Cleanup(func() {
				if !leadsTo(at.gitDir, victim.path) {
					a.t.Error("the other worktree's registration was changed")
				}
			})
		},
		"a repository with a filter": func(a *armed) {
			inner := filepath.Join(a.tree.path, "inner")
			git(a.t, a.tree.path, "init", "--quiet", "inner")
			write(a.t, inner, "f", "x")
			git(a.t, inner, "add", "f")
			git(a.t, inner, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "--message", "x")
			git(a.t, inner, "config", "filter.evil.clean", "touch '"+filepath.Join(a.out, "ran")+"'; cat")
			write(a.t, inner, ".git/info/attributes", "* filter=evil\n")
			git(a.t, a.tree.path, "add", "inner")
			write(a.t, inner, "f", "y")
		},
		"an index with what is above": func(a *armed) { a.climb("xx/xx/canary.txt", "../../canary.txt") },
		"a pipe for HEAD":             func(a *armed) { a.pipe(filepath.Join(a.at.gitDir, "HEAD")) },
		"a pipe for the branch":       func(a *armed) { a.pipe(filepath.Join(a.repo.common, "refs/heads/sb/a")) },
		"a pipe for the log":          func(a *armed) { a.pipe(filepath.Join(a.repo.common, "logs/refs/heads/sb/a")) },
		"a pipe for attributes":       func(a *armed) { a.pipe(filepath.Join(a.tree.path, ".gitattributes")) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.repo.patience = 20 * time.Second
			_, err := f.repo.Branch(t.Context(), "sb/user", f.base)
			must(t, err)
			a := &armed{fixture: f, tree: f.add("a"), out: t.TempDir()}
			a.at, err = a.tree.place()
			must(t, err)
			a.evil = git(t, a.tree.path, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit-tree", "-p", "HEAD", "-m", "evil", "HEAD^{tree}")
			write(t, a.out, "canary", "sings")
			above := filepath.Join(filepath.Dir(filepath.Dir(a.tree.path)), "canary.txt")
			must(t, os.WriteFile(above, []byte("sings"), 0o644))
			write(t, a.tree.path, "work.txt", "work")
			refs := func() string {
				return git(t, f.repo.Root(), "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/sb/user", "refs/heads/made", "refs/stash")
			}
			before := refs()
			arm(a)
			// What the box does: any of it may fail, and harm nobody.
			err = f.repo.Add(t.Context(), a.tree.path, "sb/a", f.base)
			if err == nil {
				_, _, err = a.tree.Settle(t.Context(), "work")
			}
			if err == nil {
				err = a.tree.Reset(t.Context(), f.base)
			}
			t.Logf("it ends with %v, and %v", err, f.repo.Remove(t.Context(), a.tree.path))
			if after := refs(); after != before {
				t.Errorf("refs were\n%s\nand are\n%s", before, after)
			}
			holds(t, a.out, "canary", "sings")
			holds(t, filepath.Dir(above), "canary.txt", "sings")
			if entries, err := os.ReadDir(a.out); len(entries) != 1 || err != nil {
				t.Errorf("written elsewhere: %v, %v", entries, err)
			}
		})
	}
}

func (a *armed) pipe(name string) {
	a.t.Helper()
	must(a.t, os.RemoveAll(name))
	must(a.t, os.MkdirAll(filepath.Dir(name), 0o755))
	mkfifo(a.t, name)
}

// climb puts a file that is not in the worktree into its index.
func (a *armed) climb(name, above string) {
	a.t.Helper()
	write(a.t, a.tree.path, name, "sings")
	git(a.t, a.tree.path, "add", name)
	index := filepath.Join(a.at.gitDir, "index")
	data, err := os.ReadFile(index)
	must(a.t, err)
	if len(name) != len(above) || !bytes.Contains(data, []byte(name)) {
		a.t.Fatal("the index is not as it is expected to be")
	}
	data = bytes.Replace(data[:len(data)-sha1.Size], []byte(name), []byte(above), 1)
	sum := sha1.Sum(data)
	must(a.t, os.WriteFile(index, append(data, sum[:]...), 0o644))
	must(a.t, os.RemoveAll(filepath.Join(a.tree.path, strings.Split(name, "/")[0])))
}

// TestInnerRepository sees that the commit that an inner repository is at is settled with
// the rest, and that one that is gone goes.
func TestInnerRepository(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree := f.add("a")
	git(t, tree.path, "init", "--quiet", "inner")
	inner := filepath.Join(tree.path, "inner")
	for _, text := range []string{"first", "second"} {
		git(t, inner, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "--allow-empty", "--message", text)
		write(t, tree.path, "a.txt", text)
		commit, committed, err := tree.Settle(t.Context(), text)
		if !committed || err != nil {
			t.Fatalf("committed: %v, %v", committed, err)
		}
		want := "160000 commit " + git(t, inner, "rev-parse", "HEAD") + "\tinner"
		if got := git(t, tree.path, "ls-tree", commit, "inner"); got != want {
			t.Errorf("settled %q, not %q", got, want)
		}
		if got := git(t, tree.path, "show", commit+":a.txt"); got != text {
			t.Errorf("a.txt is %q", got)
		}
	}
	must(t, os.RemoveAll(inner))
	commit, _, err := tree.Settle(t.Context(), "without")
	must(t, err)
	if got := git(t, tree.path, "ls-tree", commit, "inner"); got != "" {
		t.Errorf("settled %q", got)
	}
}

// TestInnerRepositoryBeyond sees that a repository goes whose directory was replaced.
func TestInnerRepositoryBeyond(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(dir string) error{
		"by a link": func(dir string) error { return os.Symlink("../..", dir) },
		"by a file": func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"by none":   func(string) error { return nil },
	} {
		f := newFixture(t)
		tree := f.add("a")
		dir := filepath.Join(tree.path, "d")
		git(t, tree.path, "init", "--quiet", "d/inner")
		git(t, filepath.Join(dir, "inner"), "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--quiet", "--allow-empty", "--message", "x")
		_, _, err := tree.Settle(t.Context(), "inner")
		must(t, err)
		must(t, os.RemoveAll(dir))
		must(t, replace(dir))
		commit, _, err := tree.Settle(t.Context(), "replaced")
		must(t, err)
		if got := git(t, tree.path, "ls-tree", "-r", commit, "d/"); got != "" {
			t.Errorf("%s: settled %q", name, got)
		}
		if status := git(t, tree.path, "status", "--porcelain"); status != "" {
			t.Errorf("%s: the agent sees %q", name, status)
		}
	}
}

// TestForeignRefs sees that a worktree which names another repository's refs as its own is
// settled on the branch that it has in the right one.
func TestForeignRefs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree, before := f.settled("a", "a.txt", "changed\n")
	at, err := f.repo.link(tree.path)
	must(t, err)
	other := t.TempDir()
	git(t, other, "init", "--quiet", "--bare")
	must(t, os.WriteFile(filepath.Join(at.gitDir, "commondir"), []byte(other+"\n"), 0o600))
	write(t, tree.path, "a.txt", "further\n")
	commit, _, err := tree.Settle(t.Context(), "work")
	must(t, err)
	f.at("sb/a", commit)
	if parent := git(t, f.repo.Root(), "rev-parse", commit+"^"); parent != before {
		t.Errorf("it comes after %s, not %s", parent, before)
	}
}
