//go:build unix

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository has two worktrees, as far as git's own files go.
func repository(t *testing.T) (common, tree string) {
	t.Helper()
	top := realDir(t)
	common = filepath.Join(top, ".git")
	for _, name := range []string{"t1", "t2"} {
		check(t, os.MkdirAll(filepath.Join(common, "worktrees", name), 0o700))
		check(t, os.MkdirAll(filepath.Join(top, name), 0o700))
		check(t, os.WriteFile(filepath.Join(top, name, ".git"), []byte("gitdir: "+filepath.Join(common, "worktrees", name)+"\n"), 0o600))
		check(t, os.WriteFile(filepath.Join(common, "worktrees", name, "gitdir"), []byte(filepath.Join(top, name, ".git")+"\n"), 0o600))
	}
	check(t, os.WriteFile(filepath.Join(common, "config"), []byte("[core]\n\tbare = false\n"), 0o600))
	return common, filepath.Join(top, "t1")
}

func TestGitPaths(t *testing.T) {
	common, tree := repository(t)
	write, read, err := GitPaths(common, tree, "tasks/r/t1")
	check(t, err)
	in := func(name string) string { return filepath.Join(common, name) }
	if diff := cmp.Diff([]string{in("worktrees/t1"), in("objects"), in("refs/heads/tasks/r"), in("logs/refs/heads/tasks/r")}, write); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{common, in("objects/pack"), in("objects/info")}, read); diff != "" {
		t.Error(diff)
	}
	for _, dir := range append(write, read...) {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("%s was not made: %v", dir, err)
		}
	}
	if made, err := os.ReadDir(in("objects")); err != nil || len(made) != 258 {
		t.Errorf("objects has %d directories: %v", len(made), err)
	}
}

// A relative link, which newer versions of git can make, is followed from where it is.
func TestGitPathsRelative(t *testing.T) {
	common, tree := repository(t)
	check(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: ../.git/worktrees/t1\n"), 0o600))
	check(t, os.WriteFile(filepath.Join(common, "worktrees", "t1", "gitdir"), []byte("../../../t1/.git\n"), 0o600))
	write, _, err := GitPaths(common, tree, "tasks/r/t1")
	check(t, err)
	if write[0] != filepath.Join(common, "worktrees", "t1") {
		t.Errorf("got %s", write[0])
	}
}

// Whatever an agent has made of its worktree, the next one is given nothing more for it.
func TestGitPathsRefused(t *testing.T) {
	write := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	instead := func(f func(string) error) func(string) error {
		return func(path string) error { return errors.Join(os.RemoveAll(path), f(path)) }
	}
	link := func(path string) error {
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(filepath.Dir(filepath.Dir(path)), path))
	}
	for _, c := range []struct {
		name, path string // from the directory that all is in
		do         func(path string) error
		branch     string
		want       string
	}{
		{"another's", "t1/.git", write("gitdir: ../.git/worktrees/t2\n"), "tasks/t1", "is not a worktree"},
		{"a directory of the user's", "t1/.git", write("gitdir: /etc\n"), "tasks/t1", "is not a worktree"},
		{"the one above", "t1/.git", write("gitdir: ..\n"), "tasks/t1", "is not a worktree"},
		{"no link", "t1/.git", write("?"), "tasks/t1", "is not a worktree"},
		{"a pipe", "t1/.git", instead(func(path string) error { return syscall.Mkfifo(path, 0o600) }), "tasks/t1", "is not a file"},
		{"a way elsewhere", ".git/worktrees/t1/gitdir", write("/etc/.git\n"), "tasks/t1", "is not a worktree"},
		{"a registration that is a link", ".git/worktrees/t1", instead(link), "tasks/t1", "is not a worktree"},
		{"a ref's directory that is a link", ".git/refs/heads/tasks/t1", link, "tasks/t1/work", "remove the link"},
		{"packs elsewhere", ".git/objects/pack", instead(link), "tasks/t1", "objects/pack are elsewhere"},
		{"settings by worktree", ".git/config", write("[extensions]\n\tworktreeConfig = true\n"), "tasks/t1", "extensions.worktreeConfig"},
		{"one table of refs", ".git/config", write("[extensions]\n\trefStorage = reftable\n"), "tasks/t1", "extensions.refStorage"},
		{"a branch among all", "t1/x", write(""), "main", "all others are beside it"},
		{"a branch that leads out", "t1/x", write(""), "../../hooks/x", "all others are beside it"},
		{"a branch that leads around", "t1/x", write(""), "tasks/../main", "all others are beside it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			common, tree := repository(t)
			check(t, c.do(filepath.Join(filepath.Dir(tree), c.path)))
			if got, _, err := GitPaths(common, tree, c.branch); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestState(t *testing.T) {
	home, moved := realDir(t), realDir(t)
	check(t, os.Mkdir(filepath.Join(home, ".codex"), 0o700))
	getenv := func(env map[string]string) func(string) string { return func(name string) string { return env[name] } }
	for _, c := range []struct {
		command string
		env     map[string]string
		want    []string // that it may write
		others  []string
	}{
		{"sh", nil, []string{"~/.cache", "~/.local/state", "~/.npm"}, []string{"~/.codex"}},
		{"/opt/bin/claude-agent-acp", nil, []string{"~/.cache", "~/.local/state", "~/.npm", "~/.claude"}, []string{"~/.codex"}},
		{"sh", map[string]string{"CODEX_HOME": moved, "XDG_CACHE_HOME": moved + "/c", "XDG_STATE_HOME": "relative"},
			[]string{moved + "/c", "~/.local/state", "~/.npm"}, []string{"~/.claude", moved}},
		{"opencode", map[string]string{"XDG_DATA_HOME": moved},
			[]string{"~/.cache", "~/.local/state", "~/.npm", "~/.config/opencode", moved + "/opencode"}, []string{"~/.claude", "~/.codex"}},
	} {
		state, err := FindState([]string{c.command}, home, getenv(c.env))
		got := slices.Concat(state.Shared, state.Own)
		check(t, err)
		for _, want := range [][]string{c.want, c.others} {
			for i := range want {
				want[i] = strings.Replace(want[i], "~", home, 1)
			}
		}
		if diff := cmp.Diff(c.want, got) + cmp.Diff(c.others, state.Others); diff != "" {
			t.Errorf("%s: %s", c.command, diff)
		}
		for _, dir := range append(state.Own, state.Others...) {
			if hidden := state.Nested(Landlock).Hidden; !slices.Contains(hidden, dir) {
				t.Errorf("%s: commands see %s", c.command, dir)
			}
		}
		for _, dir := range got {
			if _, err := os.Stat(dir); err != nil {
				t.Error(err)
			}
		}
	}
}
