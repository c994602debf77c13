package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// After a command of the change's own has run in a worktree, it is the commit's again, whatever
// was done to its files and to its link; what git does not track, and files that are as they
// were, are left alone.
func TestRestore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tree, _ := f.settled("work", "app.sh", "evil\n")
	write(t, tree.path, "src/a", "deep\n")
	write(t, tree.path, "id.txt", "$Id$\n")
	write(t, tree.path, "sub/.gitattributes", "x binary\n")
	commit, _, err := tree.Settle(t.Context(), "more")
	must(t, err)
	must(t, f.exchange.Take(t.Context(), commit, "R1"))
	path := filepath.Join(f.dir, "review")
	must(t, f.exchange.AddDetached(t.Context(), path, commit))
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(filepath.Join(path, "a.txt"), old, old))
	before, err := os.Stat(filepath.Join(path, "a.txt"))
	must(t, err)

	// Another repository in the place of this one, with another file.
	link := filepath.Join(path, ".git")
	must(t, os.Remove(link))
	git(t, path, "init", "--quiet", ".")
	write(t, path, "app.sh", "good\n")
	// A directory that lies elsewhere, a pipe in a file's place, and attributes by which a file is the same.
	elsewhere := t.TempDir()
	write(t, elsewhere, "a", "else\n")
	write(t, elsewhere, ".gitattributes", "mine\n")
	must(t, os.RemoveAll(filepath.Join(path, "src")))
	must(t, os.Symlink(elsewhere, filepath.Join(path, "src")))
	must(t, os.Remove(filepath.Join(path, "ü \n-b.txt")))
	mkfifo(t, filepath.Join(path, "ü \n-b.txt"))
	write(t, path, ".gitattributes", "id.txt ident\napp.sh -diff\n")
	write(t, path, "id.txt", "$Id: somebody looked at this $\n")
	write(t, path, "sub/.gitattributes", "* -diff\n")
	write(t, path, "ignored/built", "built\n")

	must(t, f.exchange.Restore(t.Context(), path, commit))
	for name, want := range map[string]string{"app.sh": "evil\n", "src/a": "deep\n", "id.txt": "$Id$\n", "ü \n-b.txt": "odd\n", "sub/.gitattributes": "x binary\n", "ignored/built": "built\n"} {
		if got, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(got) != want {
			t.Errorf("%q is %q: %v", name, got, err)
		}
	}
	if got := git(t, path, "status", "--porcelain"); got != "" {
		t.Errorf("git sees %q", got)
	}
	if got := git(t, path, "rev-parse", "HEAD"); got != commit {
		t.Errorf("git is at %s", got)
	}
	if got := git(t, path, "rev-parse", "--path-format=absolute", "--git-common-dir"); got != f.exchange.Common() {
		t.Errorf("git uses %s", got)
	}
	if got := git(t, path, "diff", f.base, commit); !strings.Contains(got, "+evil") {
		t.Errorf("git shows %s", got)
	}
	if after, err := os.Stat(filepath.Join(path, "a.txt")); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("a file that was not changed is written anew: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(elsewhere, ".gitattributes")); err != nil || string(got) != "mine\n" {
		t.Errorf("outside of the worktree there is %q: %v", got, err)
	}
	is(t, f.exchange.Restore(t.Context(), filepath.Join(f.dir, "none"), commit), ErrNotWorktree)
}
