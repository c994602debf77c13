package worktree

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// forge writes an index in which files are that the worktree does not have, with times that
// make git read them.
func (a *armed) forge(names ...string) {
	a.t.Helper()
	slices.Sort(names)
	out := binary.BigEndian.AppendUint32([]byte("DIRC"), 2)
	out = binary.BigEndian.AppendUint32(out, uint32(len(names)))
	for _, name := range names {
		entry := make([]byte, 0, 128)
		for _, n := range []uint32{1, 0, 1, 0, 1, 1, 0o100644, 0, 0, 1} {
			entry = binary.BigEndian.AppendUint32(entry, n)
		}
		hash := sha1.Sum([]byte(name))
		entry = append(append(entry, hash[:]...), byte(len(name)>>8), byte(len(name)))
		entry = append(entry, name...)
		out = append(append(out, entry...), make([]byte, 8-len(entry)%8)...)
	}
	sum := sha1.Sum(out)
	must(a.t, os.WriteFile(filepath.Join(a.at.gitDir, "index"), append(out, sum[:]...), 0o644))
}

// TestNothingIsRead sees that no file outside of a worktree gets into git's store, and none
// is changed, whatever index and which files an agent leaves.
func TestNothingIsRead(t *testing.T) {
	t.Parallel()
	const secret = "a secret of the box's\n"
	up := strings.Repeat("../", 2) // to the box's directory from a worktree
	for name, arm := range map[string]func(a *armed, file string){
		"a name that leads up": func(a *armed, _ string) { a.forge(up + "key") },
		"from below":           func(a *armed, _ string) { a.forge("x/../" + up + "key") },
		"an absolute name":     func(a *armed, file string) { a.forge(file) },
		"what git keeps": func(a *armed, _ string) {
			a.link(a.repo.common, filepath.Join(a.tree.path, "g"))
			a.forge("g/key", ".git")
		},
		"a name beyond a link": func(a *armed, _ string) { a.link("../..", filepath.Join(a.tree.path, "d")); a.forge("d/key") },
		"and back": func(a *armed, _ string) {
			a.link("../..", filepath.Join(a.tree.path, "d"))
			a.forge("d/../key", "d/./key")
		},
		"an index that is in pieces": func(a *armed, _ string) { a.forge(up + "key"); git(a.t, a.tree.path, "update-index", "--split-index") },
		"with what is not in git": func(a *armed, _ string) {
			a.forge(up + "key")
			git(a.t, a.tree.path, "update-index", "--force-untracked-cache")
		},
		"with a file monitor": func(a *armed, _ string) { a.forge(up + "key"); git(a.t, a.tree.path, "update-index", "--fsmonitor") },
		"while it merges":     func(a *armed, _ string) { a.forge(up + "key"); a.put("MERGE_HEAD", a.evil+"\n") },
		"while it picks":      func(a *armed, _ string) { a.forge(up + "key"); a.put("CHERRY_PICK_HEAD", a.evil+"\n") },
		"while it rebases":    func(a *armed, _ string) { a.forge(up + "key"); a.put("rebase-merge/onto", a.base) },
		"while it searches":   func(a *armed, _ string) { a.forge(up + "key"); a.put("BISECT_LOG", "") },
		"a commit beyond a link": func(a *armed, _ string) {
			write(a.t, a.tree.path, "d/key", "harmless\n")
			git(a.t, a.tree.path, "add", "--all")
			git(a.t, a.tree.path, "commit", "--quiet", "-m", "d")
			must(a.t, os.RemoveAll(filepath.Join(a.tree.path, "d")))
			a.link("../..", filepath.Join(a.tree.path, "d"))
		},
		"a commit with a name that leads up": func(a *armed, _ string) {
			blob := git(a.t, a.tree.path, "hash-object", "-w", "a.txt")
			raw := filepath.Join(a.t.TempDir(), "tree")
			id, err := hex.DecodeString(blob)
			must(a.t, err)
			must(a.t, os.WriteFile(raw, append([]byte("100644 "+up+"key\x00"), id...), 0o600))
			tree := git(a.t, a.tree.path, "hash-object", "--literally", "-t", "tree", "-w", raw)
			commit := git(a.t, a.tree.path, "commit-tree", "-p", "HEAD", "-m", "up", tree)
			git(a.t, a.tree.path, "update-ref", "HEAD", commit)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			a := &armed{fixture: f, tree: f.add("a"), out: t.TempDir()}
			var err error
			a.at, err = a.tree.place()
			must(t, err)
			a.evil = git(t, a.tree.path, "commit-tree", "-p", "HEAD", "-m", "evil", "HEAD^{tree}")
			dir := filepath.Dir(filepath.Dir(a.tree.path))
			key, inGit := filepath.Join(dir, "key"), filepath.Join(f.repo.common, "key")
			write(t, dir, "key", secret)
			must(t, os.WriteFile(inGit, []byte(secret), 0o600))
			t.Cleanup(func() { must(t, os.Remove(inGit)) })
			write(t, a.tree.path, "work.txt", "work\n")
			arm(a, key)
			commit, _, err := a.tree.Settle(t.Context(), "work")
			t.Logf("settled %s, %v", commit, err)
			if _, err := a.tree.Dirty(t.Context()); err != nil {
				t.Logf("what is changed is not known: %v", err)
			}
			if err == nil {
				if got := git(t, a.tree.path, "show", commit+":work.txt"); got != "work" {
					t.Errorf("work.txt is %q", got)
				}
			}
			must(t, a.tree.Reset(t.Context(), f.base))
			blob := git(t, f.repo.Root(), "hash-object", "--no-filters", key)
			fails(t, f.repo.Root(), "cat-file", "-e", blob)
			holds(t, dir, "key", secret)
			holds(t, f.repo.common, "key", secret)
			if status := git(t, a.tree.path, "status", "--porcelain"); status != "" {
				t.Errorf("the worktree is not as in the commit: %s", status)
			}
			must(t, f.repo.Remove(t.Context(), a.tree.path))
			if _, err := os.Lstat(filepath.Join(f.repo.common, ownDirs)); err == nil {
				t.Error("the box's own part of git is left")
			}
		})
	}
}

// TestSettleBelievesFiles sees that what is in the files is settled, whatever the agent's index
// says of them.
func TestSettleBelievesFiles(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string][]string{
		"skipped":           {"update-index", "--skip-worktree", "a.txt"},
		"assumed":           {"update-index", "--assume-unchanged", "a.txt"},
		"taken out":         {"rm", "--quiet", "--cached", "a.txt"},
		"to be added":       {"add", "--intent-to-add", "--all"},
		"all left out":      {"read-tree", "--empty"},
		"an index's pieces": {"update-index", "--split-index", "--skip-worktree", "a.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			tree := f.add("a")
			git(t, tree.path, hide...)
			write(t, tree.path, "a.txt", "changed\n")
			must(t, os.Chmod(filepath.Join(tree.path, ".gitignore"), 0o755))
			must(t, os.Rename(filepath.Join(tree.path, "ü \n-b.txt"), filepath.Join(tree.path, "renamed")))
			write(t, tree.path, "ignored/x", "x")
			commit, committed, err := tree.Settle(t.Context(), "work")
			if must(t, err); !committed {
				t.Error("nothing was committed")
			}
			got := git(t, tree.path, "-c", "core.quotePath=false", "diff", "--raw", "--abbrev=1", "--no-renames", f.base, commit)
			if n := strings.Count(got, "\n") + 1; n != 4 || !strings.Contains(got, ":100644 100755") || git(t, tree.path, "show", commit+":a.txt") != "changed" {
				t.Errorf("settled:\n%s", got)
			}
			if status := git(t, tree.path, "status", "--porcelain"); status != "" {
				t.Errorf("the agent sees %q", status)
			}
			holds(t, tree.path, "ignored/x", "x")
		})
	}
}

// TestUnsolved sees which indexes say that files are in conflict, in each of git's forms.
func TestUnsolved(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "3", "4"} {
		f := newFixture(t)
		tree := f.conflicting()
		at, err := tree.place()
		must(t, err)
		fails(t, tree.path, "merge", "--quiet", "sb/other")
		write(t, tree.path, "longer/name/of/a/file", "x")
		git(t, tree.path, "add", "--intent-to-add", "longer") // a flag of version 3
		git(t, tree.path, "update-index", "--index-version", version)
		if !unsolved(at) {
			t.Errorf("version %s: no conflict was found", version)
		}
		git(t, tree.path, "add", "--all")
		git(t, tree.path, "update-index", "--index-version", version)
		if unsolved(at) {
			t.Errorf("version %s: a conflict was found", version)
		}
		data, err := os.ReadFile(filepath.Join(at.gitDir, "index"))
		must(t, err)
		for n := range 200 {
			if found, err := conflictsIn(bufio.NewReader(bytes.NewReader(data[:n])), sha1Size); found || err == nil {
				t.Fatalf("the first %d bytes of an index are one: %v", n, found)
			}
		}
	}
}

// TestSettleUndoesMerge sees that a merge with conflicts leaves nothing, and what the agent
// changed besides stays.
func TestSettleUndoesMerge(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"merge", "cherry-pick"} {
		f := newFixture(t)
		other := f.add("other")
		write(t, other.path, "a.txt", "theirs\n")
		write(t, other.path, "dir/theirs.txt", "theirs\n")
		must(t, os.Remove(filepath.Join(other.path, "ü \n-b.txt")))
		_, _, err := other.Settle(t.Context(), "other")
		must(t, err)
		tree, _ := f.settled("a", "a.txt", "ours\n")
		write(t, tree.path, "b.txt", "second\n")
		head, _, err := tree.Settle(t.Context(), "second")
		must(t, err)
		fails(t, tree.path, operation, "sb/other")
		write(t, tree.path, "b.txt", "further\n")
		commit, committed, err := tree.Settle(t.Context(), "third")
		if must(t, err); !committed {
			t.Error("nothing was committed")
		}
		if got := git(t, tree.path, "diff", "--name-only", head, commit); got != "b.txt" {
			t.Errorf("%s: changed are %q", operation, got)
		}
		if got := git(t, tree.path, "rev-list", "--parents", "-1", commit); got != commit+" "+head {
			t.Errorf("%s: its parents are %s", operation, got)
		}
		holds(t, tree.path, "dir/theirs.txt", nil)
		holds(t, tree.path, "ü \n-b.txt", "odd\n")
	}
}

// TestSparseCheckout sees that a worktree has all files although the user's checkout has not, and
// that none of them is settled as deleted.
func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	config := filepath.Join(f.repo.common, "config")
	before, err := os.ReadFile(config)
	must(t, err)
	t.Cleanup(func() {
		must(t, os.WriteFile(config, before, 0o644))
		must(t, os.Remove(filepath.Join(f.repo.common, "info", "sparse-checkout")))
	})
	git(t, f.repo.Root(), "config", "core.sparseCheckout", "true")
	write(t, f.repo.common, "info/sparse-checkout", "/a.txt\n")
	tree := f.add("a")
	holds(t, tree.path, "ü \n-b.txt", "odd\n")
	write(t, tree.path, "a.txt", "changed\n")
	commit, _, err := tree.Settle(t.Context(), "work")
	must(t, err)
	if got := git(t, tree.path, "diff", "--name-only", f.base, commit); got != "a.txt" {
		t.Errorf("changed are %q", got)
	}
}

// TestOwnIndexKeepsTimes sees that git need not read every file to know which are changed, also
// after the agent committed: it would take files for changed that it would write differently today.
func TestOwnIndexKeepsTimes(t *testing.T) {
	f := newFixture(t)
	tree := f.add("a")
	at, err := tree.place()
	must(t, err)
	write(t, tree.path, "a.txt", "changed\n")
	git(t, tree.path, "commit", "--quiet", "--all", "-m", "the agent's")
	if dirty, err := tree.Dirty(t.Context()); len(dirty) > 0 || err != nil {
		t.Errorf("dirty: %q, %v", dirty, err)
	}
	t.Setenv("GIT_INDEX_FILE", filepath.Join(f.repo.apart(at).gitDir, "index"))
	for name, known := range map[string]bool{".gitignore": true, "a.txt": false} {
		got := git(t, tree.path, "ls-files", "--debug", name)
		if strings.Contains(got, "ctime: 0:0") == known || !strings.Contains(got, "ctime: ") {
			t.Errorf("git has %s of %s", got, name)
		}
	}
}
