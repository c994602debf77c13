package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/gittest"
)

// inRepository is a new repository that the test is in, with a home directory beside it.
func inRepository(t *testing.T) (root string) {
	t.Helper()
	root = gittest.New(t)
	t.Chdir(root)
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"} {
		t.Setenv(name, "")
	}
	return root
}

// state is what plugin list says of each place.
func state(t *testing.T) map[string]string {
	t.Helper()
	code, out, errs := run(t, command.Env{}, "plugin", "list", "--json")
	var all []struct{ Program, Place, State string }
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, errs)
	}
	states := map[string]string{}
	for _, i := range all {
		states[i.Program+" "+i.Place] = i.State
	}
	return states
}

// A plugin is shown before it is written, written, listed, and taken away, in a project and for a user.
func TestPlugin(t *testing.T) {
	inRepository(t)
	for _, program := range []string{"claude", "codex", "gemini"} {
		for place, args := range map[string][]string{"project": nil, "user": {"--user"}} {
			t.Run(program+" "+place, func(t *testing.T) {
				do := func(wanted int, args ...string) string {
					t.Helper()
					code, out, errs := run(t, command.Env{}, append([]string{"plugin"}, args...)...)
					if code != wanted {
						t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
					}
					return out + errs
				}
				args := append(args, "--for", program)
				if out := do(0, append([]string{"install", "--dry-run"}, args...)...); !strings.Contains(out, "nothing was changed; this would be done") {
					t.Error(out)
				}
				if got := state(t)[program+" "+place]; got != "not installed" {
					t.Errorf("after a dry run it is %s", got)
				}
				out := do(0, append([]string{"install"}, args...)...)
				for _, want := range []string{"signalbox-plugin.json", "SKILL.md", "mcp --name " + program + " --scope read,operate\n", "Next: start `" + program + "`"} {
					if !strings.Contains(out, want) {
						t.Errorf("there is no %q in\n%s", want, out)
					}
				}
				if out := do(0, append([]string{"install"}, args...)...); !strings.Contains(out, "nothing has to be changed") {
					t.Error(out)
				}
				if got := state(t); got[program+" "+place] != "installed" || len(got) != 6 {
					t.Errorf("%v", got)
				}
				var change struct {
					Changed bool
					Scopes  []string
					Steps   []struct{ Path, Action string }
				}
				out = do(0, append([]string{"install", "--json", "--scope", "read,answer"}, args...)...)
				if err := json.Unmarshal([]byte(out), &change); err != nil || !change.Changed || !slices.Equal(change.Scopes, []string{"read", "answer"}) || len(change.Steps) < 2 {
					t.Errorf("%v: %s", err, out)
				}
				if out := do(0, append([]string{"remove"}, args...)...); !strings.Contains(out, "delete ") {
					t.Error(out)
				}
				if out := do(1, append([]string{"remove"}, args...)...); !strings.Contains(out, "nothing was installed there") {
					t.Error(out)
				}
			})
		}
	}
}

// What was changed by hand is left with an exit code that says so, and is listed until it is gone.
func TestPluginLeftOver(t *testing.T) {
	root := inRepository(t)
	do := func(wanted int, args ...string) string {
		t.Helper()
		code, out, errs := run(t, command.Env{}, append([]string{"plugin"}, args...)...)
		if code != wanted || errs != "" {
			t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
		}
		return out
	}
	do(0, "install", "--for", "codex")
	config := filepath.Join(root, ".codex", "config.toml")
	installed, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(installed), "read,operate", "read,operate,answer", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	do(0, "remove", "--for", "codex", "--dry-run")
	for _, want := range []string{"delete ", "nothing was removed"} {
		out := do(1, "remove", "--for", "codex")
		for _, want := range []string{want, "leave          config.toml: its entry signalbox was changed", "Not all is gone, and Codex may use what is left"} {
			if !strings.Contains(out, want) {
				t.Errorf("there is no %q in\n%s", want, out)
			}
		}
		if got := state(t)["codex project"]; got != "left over" {
			t.Errorf("it is %s", got)
		}
	}
	if out := do(1, "remove", "--for", "codex", "--json"); !strings.Contains(out, `"action":"leave"`) {
		t.Error(out)
	}
	if err := os.WriteFile(config, installed, 0o644); err != nil {
		t.Fatal(err)
	}
	do(0, "remove", "--for", "codex")
	if got := state(t)["codex project"]; got != "not installed" {
		t.Errorf("it is %s", got)
	}
}

// A skill that was changed does not stand in the way of narrower scopes, and is named.
func TestPluginKeepsSkill(t *testing.T) {
	root := inRepository(t)
	do := func() string {
		t.Helper()
		code, out, errs := run(t, command.Env{}, "plugin", "install", "--for", "codex", "--scope", "read")
		if code != 0 {
			t.Fatalf("exit code %d: %s%s", code, out, errs)
		}
		return out
	}
	if code, out, errs := run(t, command.Env{}, "plugin", "install", "--for", "codex"); code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	skill := filepath.Join(root, ".codex", "skills", "signalbox-signal", "SKILL.md")
	if err := os.WriteFile(skill, []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"replace entry  config.toml", "nothing has to be changed"} {
		if out := do(); !strings.Contains(out, want) || !strings.Contains(out, "SKILL.md: it was changed since it was installed, and is kept") {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	if data, err := os.ReadFile(skill); err != nil || string(data) != "mine\n" {
		t.Errorf("%v: %q", err, data)
	}
}

// Scopes are listed, and who installs is told if the other place has others, and which of the two counts.
func TestPluginScopes(t *testing.T) {
	for program, prevails := range map[string]string{"claude": "it starts yours", "codex": "it starts that of the repository", "gemini": "it starts that of the repository"} {
		t.Run(program, func(t *testing.T) {
			inRepository(t)
			do := func(args ...string) string {
				t.Helper()
				code, out, errs := run(t, command.Env{}, append([]string{"plugin"}, args...)...)
				if code != 0 {
					t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
				}
				return strings.Join(strings.Fields(out), " ")
			}
			if out := do("install", "--for", program, "--user", "--scope", "read"); strings.Contains(out, "Warning") {
				t.Error(out)
			}
			if out := do("install", "--for", program); !strings.Contains(out, "too, with --scope read; of the two "+prevails) {
				t.Error(out)
			}
			if out := do("install", "--for", program, "--user", "--scope", "read", "--json"); !strings.Contains(out, `"warning":"`) {
				t.Error(out)
			}
			out := do("list")
			for _, want := range []string{program + " project installed read,operate /", program + " user installed read /", "user not installed - /"} {
				if !strings.Contains(out, want) {
					t.Errorf("there is no %q in\n%s", want, out)
				}
			}
			if out := do("install", "--for", program, "--scope", "read"); strings.Contains(out, "Warning") {
				t.Error(out)
			}
		})
	}
}

// The server is started by name only if the name leads to this program.
func TestPluginCommand(t *testing.T) {
	root := inRepository(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	installed := func() string {
		t.Helper()
		if code, out, errs := run(t, command.Env{}, "plugin", "install", "--for", "claude"); code != 0 {
			t.Fatalf("%s%s", out, errs)
		}
		data, err := os.ReadFile(filepath.Join(root, ".claude", "skills", "signalbox", ".mcp.json"))
		if err != nil {
			t.Fatal(err)
		}
		var file struct {
			Servers map[string]struct{ Command string } `json:"mcpServers"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		return file.Servers["signalbox"].Command
	}
	if got := installed(); got != self {
		t.Errorf("it is not on the PATH: %s", got)
	}
	git := os.Getenv("PATH")
	t.Setenv("PATH", filepath.Dir(self)+string(os.PathListSeparator)+git)
	if got := installed(); got != filepath.Base(self) {
		t.Errorf("it is on the PATH: %s", got)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, filepath.Base(self)), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", other+string(os.PathListSeparator)+os.Getenv("PATH"))
	if got := installed(); got != self {
		t.Errorf("another program has its name: %s", got)
	}
}

// What is wrong is said, with what to do.
func TestPluginRefuses(t *testing.T) {
	root := inRepository(t)
	if err := os.MkdirAll(filepath.Join(root, ".codex"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".codex", "config.toml"), []byte("[mcp_servers.signalbox]\ncommand = 'mine'\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"install", 2, `"for" not set`},
		{"install --for cursor", 2, "give one of claude, codex, gemini"},
		{"install --for claude --scope metrics", 2, "--scope metrics: it takes read, operate and answer, at least one"},
		{"install --for claude --scope read,write", 2, "--scope read,write: it takes read, operate and answer, at least one"},
		{"install --for claude --scope read,read", 2, "each once"},
		{"install --for claude --scope=", 2, "at least one, each once"},
		{"install --for codex", 1, "nothing was installed: config.toml: it has an entry signalbox that signalbox did not install"},
		{"remove --for gemini", 1, "signalbox plugin list"},
	} {
		code, out, errs := run(t, command.Env{}, append([]string{"plugin"}, strings.Fields(c.args)...)...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d: %s%s", c.args, code, out, errs)
		}
	}
	t.Chdir(t.TempDir())
	if code, _, errs := run(t, command.Env{}, "plugin", "install", "--for", "claude"); code != 1 || !strings.Contains(errs, "--user") {
		t.Errorf("outside of a repository: %d, %s", code, errs)
	}
	if got := state(t); len(got) != 3 {
		t.Errorf("outside of a repository: %v", got)
	}
}
