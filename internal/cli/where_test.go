package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// In a worktree of a box's it is that box, whatever an agent has left there.
func TestLocateInWorktree(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(root, boxDir, "worktrees", "R1", "T-1")
	for _, dir := range []string{filepath.Join(tree, "sub"), filepath.Join(tree, boxDir, "worktrees", "R1", "T-1", ".git"), filepath.Join(tree, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string]string{
		tree: root, filepath.Join(tree, "sub"): root, filepath.Join(tree, boxDir, "worktrees", "R1", "T-1"): root, filepath.Join(root, boxDir): "..",
	} {
		t.Chdir(at)
		for _, given := range []bool{false, true} {
			a := &app{dir: "given"}
			a.locate(given)
			if dir := filepath.Join(want, boxDir); !given && a.dir != dir || given && a.dir != "given" || a.home != want && !given {
				t.Errorf("in %s, given %v: %s, beside %s", at, given, a.dir, a.home)
			}
		}
	}
}
