package worktree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is concealed is not in the worktree, git tells of nothing, and the commit has it. Links
// are not followed.
func TestConceal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kept := t.TempDir()
	write(t, kept, "plugin.ts", "theirs")
	tree := f.add("a")
	write(t, tree.path, ".tool/plugin/a b.ts", "evil")
	write(t, tree.path, "tool.json", "{}")
	must(t, os.Symlink(kept, filepath.Join(tree.path, "tool.jsonc")))
	commit, _, err := tree.Settle(t.Context(), "settings")
	must(t, err)
	path := f.path("review")
	must(t, f.repo.AddDetached(t.Context(), path, commit))
	write(t, path, ".tool/made", "by the setup")
	for range 2 { // a box that was killed does it again
		gone, err := f.repo.Conceal(t.Context(), path, []string{".tool", "tool.json", "tool.jsonc", "tool.toml"})
		must(t, err)
		if diff := cmp.Diff([]string{".tool", "tool.json", "tool.jsonc"}, gone); diff != "" {
			t.Error(diff)
		}
		for _, name := range []string{".tool", "tool.json", "tool.jsonc"} {
			if _, err := os.Lstat(filepath.Join(path, name)); !os.IsNotExist(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if status := git(t, path, "status", "--porcelain"); status != "" {
			t.Errorf("git tells: %s", status)
		}
		if text := git(t, path, "show", "HEAD:tool.json"); text != "{}" {
			t.Errorf("the commit has %q", text)
		}
		write(t, path, ".tool/made", "again")
		write(t, path, "tool.json", "{}")
		write(t, path, "tool.jsonc", "{}")
	}
	holds(t, kept, "plugin.ts", "theirs")
}
