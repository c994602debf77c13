package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeftRefs sees that the user's git works after a run, whatever an agent leaves beside its
// branch, and that nothing of it is left then.
func TestLeftRefs(t *testing.T) {
	t.Parallel()
	const dir, own = "refs/heads/sb/R1/T-1/", "sb/R1/T-1/work"
	missing := strings.Repeat("1234", 10)
	for name, leave := range map[string]func(f *fixture, tree *Tree){
		"refs of nothing": func(f *fixture, _ *Tree) {
			for name, text := range map[string]string{
				"missing": missing + "\n", "garbage": "garbage\n", "empty": "", "in/deep": missing + "\n", "work.lock": "", "bad..name": f.base + "\n",
				"link": "ref: refs/heads/none\n", "user": "ref: refs/heads/main\n",
			} {
				write(f.t, f.repo.common, dir+name, text)
				write(f.t, f.repo.common, "logs/"+dir+name, text)
			}
			write(f.t, f.repo.common, "logs/"+dir+"work", strings.Repeat(missing+" "+missing+" A <a@example.org> 1 +0000\tx\n", 2))
		},
		"its branch locked": func(f *fixture, _ *Tree) { write(f.t, f.repo.common, dir+"work.lock", "") },
		"its branch broken": func(f *fixture, _ *Tree) { write(f.t, f.repo.common, dir+"work", "garbage\n") },
		"its branch of nothing": func(f *fixture, _ *Tree) {
			write(f.t, f.repo.common, dir+"work", missing+"\n")
		},
		"its branch a directory": func(f *fixture, _ *Tree) {
			must(f.t, os.Remove(filepath.Join(f.repo.common, dir+"work")))
			write(f.t, f.repo.common, dir+"work/side", f.base+"\n")
		},
		"a branch whose history is gone": func(f *fixture, tree *Tree) {
			raw := filepath.Join(f.t.TempDir(), "commit")
			who := "A <a@example.org> 1 +0000"
			must(f.t, os.WriteFile(raw, []byte("tree "+git(f.t, tree.path, "rev-parse", "HEAD^{tree}")+"\nparent "+missing+"\nauthor "+who+"\ncommitter "+who+"\n\nx\n"), 0o600))
			write(f.t, f.repo.common, dir+"side", git(f.t, tree.path, "hash-object", "-t", "commit", "-w", raw)+"\n")
		},
	} {
		for _, done := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, done: %t", name, done), func(t *testing.T) {
				f := newFixture(t)
				path := f.path("T-1")
				must(t, f.repo.Add(t.Context(), path, own, f.base))
				tree := f.repo.Tree(path)
				write(t, tree.path, "a.txt", "first\n")
				_, _, err := tree.Settle(t.Context(), "first")
				must(t, err)
				leave(f, tree)
				write(t, tree.path, "b.txt", "work\n")
				must(t, f.repo.Add(t.Context(), path, own, f.base))
				commit, _, err := tree.Settle(t.Context(), "work")
				must(t, err)
				f.at(own, commit)
				if got := git(t, tree.path, "diff", "--name-only", f.base, commit); got != "a.txt\nb.txt" {
					t.Errorf("changed are %q", got)
				}
				into := "sb/run/other"
				git(t, f.repo.Root(), "branch", into, f.base)
				if done {
					git(t, f.repo.Root(), "update-ref", ref(into), commit)
					must(t, f.repo.Remove(t.Context(), path))
					must(t, f.repo.DeleteMerged(t.Context(), own, into))
				}
				must(t, f.repo.Tidy(t.Context(), own, into, done))
				if !done {
					f.at(own, commit)
				} else if _, err := os.Lstat(filepath.Join(f.repo.common, "refs/heads/sb/R1")); err == nil {
					t.Error("the directory is left")
				}
				if _, err := os.Lstat(filepath.Join(f.repo.common, "logs/refs/heads/sb/R1")); err == nil {
					t.Error("the directory of logs is left")
				}
				clone := filepath.Join(t.TempDir(), "clone")
				git(t, f.repo.Root(), "clone", "--quiet", "--no-local", ".", clone)
				git(t, clone, "fetch", "--quiet", "origin")
				git(t, f.repo.Root(), "log", "--branches", "--oneline")
				git(t, f.repo.Root(), "fsck")
				git(t, f.repo.Root(), "repack", "-a", "-d", "-q", "-n") // the part of gc that reads all
			})
		}
	}
}

// TestLinkedObjects sees that links of the user's among git's objects stay, and others go.
func TestLinkedObjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	git(t, f.repo.Root(), "repack", "-a", "-d", "-q", "-n")
	objects := filepath.Join(f.repo.common, "objects")
	disk := t.TempDir()
	for _, name := range []string{"pack", "info"} {
		must(t, os.CopyFS(filepath.Join(disk, name), os.DirFS(filepath.Join(objects, name))))
		must(t, os.RemoveAll(filepath.Join(objects, name)))
		must(t, os.Symlink(filepath.Join(disk, name), filepath.Join(objects, name)))
	}
	must(t, os.RemoveAll(filepath.Join(objects, "ab")))
	must(t, os.Symlink(disk, filepath.Join(objects, "ab")))
	_, commit := f.settled("a", "a.txt", "changed\n")
	f.at("sb/a", commit)
	git(t, f.repo.Root(), "fsck")
	for name, stays := range map[string]bool{"pack": true, "info": true, "ab": false} {
		info, err := os.Lstat(filepath.Join(objects, name))
		if is := err == nil && info.Mode()&os.ModeSymlink != 0; is != stays {
			t.Errorf("%s is a link: %v", name, is)
		}
	}
}
