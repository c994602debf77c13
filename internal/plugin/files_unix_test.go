//go:build unix

package plugin_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/plugin"
)

// Links, pipes, directories, read-only and endless files stand in the way, and are left alone.
func TestHostileFiles(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "file"), "{}")
	for name, c := range map[string]struct {
		make func(t *testing.T, root string)
		want string
	}{
		"the directory is a link": {func(t *testing.T, root string) { link(t, outside, filepath.Join(root, ".gemini")) }, "no directory"},
		"a directory is a link": {func(t *testing.T, root string) {
			link(t, outside, filepath.Join(root, ".gemini", "skills"))
		}, "no directory"},
		"the settings are a link": {func(t *testing.T, root string) {
			link(t, filepath.Join(outside, "file"), filepath.Join(root, ".gemini", "settings.json"))
		}, "no regular file"},
		"the manifest is a link": {func(t *testing.T, root string) {
			link(t, filepath.Join(outside, "file"), filepath.Join(root, ".gemini", "signalbox-plugin.json"))
		}, "no regular file"},
		"a link to nothing": {func(t *testing.T, root string) {
			link(t, filepath.Join(outside, "none"), filepath.Join(root, ".gemini", "skills", "signalbox-signal", "SKILL.md"))
		}, "no regular file"},
		"a pipe": {func(t *testing.T, root string) {
			write(t, filepath.Join(root, ".gemini", "x"), "")
			if err := syscall.Mkfifo(filepath.Join(root, ".gemini", "settings.json"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "no regular file"},
		"a directory": {func(t *testing.T, root string) {
			write(t, filepath.Join(root, ".gemini", "settings.json", "x"), "")
		}, "no regular file"},
		"a file for a directory": {func(t *testing.T, root string) { write(t, filepath.Join(root, ".gemini"), "") }, "no directory"},
		"read-only": {func(t *testing.T, root string) {
			path := filepath.Join(root, ".gemini", "settings.json")
			write(t, path, "{}")
			if err := os.Chmod(path, 0o444); err != nil {
				t.Fatal(err)
			}
		}, "read-only"},
		"a file with a hole of a terabyte": {func(t *testing.T, root string) {
			path := filepath.Join(root, ".gemini", "settings.json")
			write(t, path, "{}")
			if err := os.Truncate(path, 1<<40); err != nil {
				t.Skip(err)
			}
		}, "more than 4194304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			c.make(t, root)
			if _, err := do(t, root, wanted(plugin.Gemini, false), plugin.Install); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.Join(root, ".gemini")) {
				t.Errorf("%v", err)
			}
			names, err := os.ReadDir(outside)
			if err != nil || len(names) != 1 {
				t.Errorf("outside: %v, %v", names, err)
			}
		})
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// A file that was changed after the plan was made is not written over.
func TestChangedMeanwhile(t *testing.T) {
	root := t.TempDir()
	w := wanted(plugin.Gemini, false)
	at := plugin.InProject(root, w.Program)
	path := filepath.Join(root, ".gemini", "settings.json")
	write(t, path, "{}")
	found, err := plugin.Look(w, at)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := plugin.Install(w, found)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, `{"theme": "new"}`)
	if err := plan.Do(at); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("%v", err)
	}
	if got := tree(t, root)[".gemini/settings.json"]; got != `{"theme": "new"}` {
		t.Error(got)
	}
	install(t, root, w) // which goes on where that stopped
	remove(t, root, w)
	if got := tree(t, root); got[".gemini/settings.json"] != `{"theme": "new"}` || len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// A file of the user's keeps its mode; one that a link of the user's own leads to is changed in its place.
func TestModes(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, "dotfiles", "config.toml"), "a = 1\n")
	if err := os.Chmod(filepath.Join(home, "dotfiles", "config.toml"), 0o640); err != nil {
		t.Fatal(err)
	}
	link(t, "dotfiles", filepath.Join(home, ".codex"))
	w := wanted(plugin.Codex, true)
	at, err := plugin.OfUser(w.Program, home, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	found, err := plugin.Look(w, at)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := plugin.Install(w, found)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Do(at); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(home, "dotfiles", "config.toml"))
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, err := os.ReadFile(filepath.Join(home, "dotfiles", "config.toml")); err != nil || !strings.Contains(string(got), "[mcp_servers.signalbox]") {
		t.Errorf("%s, %v", got, err)
	}
}
