package plugin_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/agentreply"
	"github.com/signalbox-dev/signalbox/internal/boxtools"
	"github.com/signalbox-dev/signalbox/internal/plugin"
)

// wanted is what is installed unless a test says otherwise.
func wanted(p plugin.Program, user bool) plugin.Wanted {
	return plugin.Wanted{Program: p, User: user, Command: "/opt/box/signalbox", Scopes: []access.Scope{access.Read, access.Operate}}
}

// everywhere runs a test for each program, in a project and for a user.
func everywhere(t *testing.T, test func(*testing.T, plugin.Wanted)) {
	for _, p := range plugin.Programs() {
		for place, user := range map[string]bool{"project": false, "user": true} {
			t.Run(string(p)+"/"+place, func(t *testing.T) { test(t, wanted(p, user)) })
		}
	}
}

// do plans and carries out.
func do(t *testing.T, root string, w plugin.Wanted, planned func(plugin.Wanted, plugin.Found) (plugin.Plan, error)) (plugin.Plan, error) {
	t.Helper()
	at := plugin.InProject(root, w.Program)
	found, err := plugin.Look(w, at)
	if err != nil {
		return plugin.Plan{}, err
	}
	plan, err := planned(w, found)
	if err != nil {
		return plan, err
	}
	return plan, plan.Do(at)
}

func install(t *testing.T, root string, w plugin.Wanted) plugin.Plan {
	t.Helper()
	plan, err := do(t, root, w, plugin.Install)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func remove(t *testing.T, root string, w plugin.Wanted) plugin.Plan {
	t.Helper()
	plan, err := do(t, root, w, plugin.Remove)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// tree is all that is below a directory; directories end with a slash.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			all[name+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(path)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What is installed is there once, changes nothing the second time, and goes without a trace.
func TestInstallAndRemove(t *testing.T) {
	everywhere(t, func(t *testing.T, w plugin.Wanted) {
		root := t.TempDir()
		if plan := install(t, root, w); !plan.Changed() {
			t.Fatal("nothing was installed")
		}
		first := tree(t, root)
		text := strings.Join(append(values(first), keys(first)...), "\n")
		for _, want := range []string{"/opt/box/signalbox", `"mcp"`, `"--name"`, `"` + string(w.Program) + `"`, `"read,operate"`, "write-plan", "run-and-watch", "answer-inbox", "signal/SKILL.md"} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %s in\n%s", want, text)
			}
		}
		if plan := install(t, root, w); plan.Changed() {
			t.Errorf("the second time: %+v", plan.Steps)
		}
		if diff := cmp.Diff(first, tree(t, root)); diff != "" {
			t.Error(diff)
		}
		remove(t, root, w)
		if left := tree(t, root); len(left) > 0 {
			t.Errorf("left: %v", keys(left))
		}
		if _, err := do(t, root, w, plugin.Remove); !errors.Is(err, plugin.ErrNotInstalled) {
			t.Errorf("removed again: %v", err)
		}
	})
}

func keys(m map[string]string) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

func values(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// Another scope, or another path of the program, replaces what was installed.
func TestInstallAgainWithAnotherScope(t *testing.T) {
	everywhere(t, func(t *testing.T, w plugin.Wanted) {
		root := t.TempDir()
		install(t, root, w)
		w.Scopes = append(w.Scopes, access.Answer)
		plan := install(t, root, w)
		if !plan.Changed() {
			t.Fatal("nothing has changed")
		}
		text := strings.Join(values(tree(t, root)), "\n")
		if !strings.Contains(text, `"read,operate,answer"`) || strings.Contains(text, `"read,operate"`) {
			t.Errorf("the scopes:\n%s", text)
		}
		remove(t, root, w)
		if left := tree(t, root); len(left) > 0 {
			t.Errorf("left: %v", keys(left))
		}
	})
}

// An installation that is cut off after any step can be done again, and can be removed.
func TestCutOff(t *testing.T) {
	everywhere(t, func(t *testing.T, w plugin.Wanted) {
		later := w
		later.Scopes = []access.Scope{access.Read}
		for _, again := range []bool{false, true} {
			for n := 0; ; n++ {
				root := t.TempDir()
				install(t, root, w)
				at := plugin.InProject(root, w.Program)
				found, err := plugin.Look(later, at)
				if err != nil {
					t.Fatal(err)
				}
				plan, err := plugin.Install(later, found)
				if err != nil {
					t.Fatal(err)
				}
				if n == len(plan.Steps) {
					break
				}
				plan.Steps = plan.Steps[:n]
				if err := plan.Do(at); err != nil {
					t.Fatal(err)
				}
				if again {
					install(t, root, later)
				}
				for _, s := range remove(t, root, later).Steps {
					if s.Action == plugin.Leave {
						t.Errorf("after %d steps: %+v", n, s)
					}
				}
				if left := tree(t, root); len(left) > 0 {
					t.Errorf("after %d steps: left: %v", n, keys(left))
				}
			}
		}
	})
}

// A file that is not ours, or was changed, is not written over. For one that is not ours nothing is written, and neither if
// the server was changed; but a changed skill is kept, and all else is installed.
func TestForeignFiles(t *testing.T) {
	everywhere(t, func(t *testing.T, w plugin.Wanted) {
		root := t.TempDir()
		install(t, root, w)
		installed := tree(t, root)
		remove(t, root, w)
		for name, text := range installed {
			if strings.HasSuffix(name, "/") || strings.HasSuffix(name, "config.toml") || strings.HasSuffix(name, "settings.json") {
				continue
			}
			root := t.TempDir()
			write(t, filepath.Join(root, name), "mine\n")
			before := tree(t, root)
			_, err := do(t, root, w, plugin.Install)
			var refused *plugin.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "move it away") {
				t.Errorf("%s: %v", name, err)
			}
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if strings.HasSuffix(name, "signalbox-plugin.json") {
				continue
			}
			root = t.TempDir()
			install(t, root, w)
			write(t, filepath.Join(root, name), text+"mine\n")
			w := w
			w.Command = "/elsewhere/signalbox"
			w.Scopes = []access.Scope{access.Read}
			before = tree(t, root)
			plan, err := do(t, root, w, plugin.Install)
			if strings.HasSuffix(name, ".mcp.json") || strings.HasSuffix(name, "gemini-extension.json") {
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), "was changed since") {
					t.Errorf("%s, changed: %v", name, err)
				}
				if diff := cmp.Diff(before, tree(t, root)); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			} else {
				kept(t, root, w, name[strings.Index(name, "/")+1:], plan, err)
			}
			left := remove(t, root, w).Steps
			if got := tree(t, root); got[name] != text+"mine\n" {
				t.Errorf("%s was changed, and is gone: %v", name, keys(got))
			} else if len(values(got))-strings.Count(strings.Join(keys(got), "\n")+"\n", "/\n") != 2 { // the file, and the manifest
				t.Errorf("besides %s is left: %v", name, keys(got))
			}
			if !strings.Contains(describe(left), "leave "+name[strings.Index(name, "/")+1:]) {
				t.Errorf("%s is left, and nobody says so: %s", name, describe(left))
			}
		}
	})
}

// kept checks that a changed file was kept while the rest was installed, and that this can be done again.
func kept(t *testing.T, root string, w plugin.Wanted, name string, plan plugin.Plan, err error) {
	t.Helper()
	if err != nil || !plan.Changed() || !strings.Contains(describe(plan.Steps), "leave "+name+" it was changed since it was installed, and is kept") {
		t.Errorf("%s, changed: %v, %s", name, err, describe(plan.Steps))
	}
	found, err := plugin.Look(w, plugin.InProject(root, w.Program))
	if err != nil {
		t.Fatal(err)
	}
	if s, err := plugin.Inspect(w, found); err != nil || s.State != plugin.Changed || !slices.Equal(s.Scopes, w.Scopes) {
		t.Errorf("%s, changed: %+v, %v", name, s, err)
	}
	if again, err := plugin.Install(w, found); err != nil || again.Changed() || !again.Leaves() {
		t.Errorf("%s, changed, again: %v, %s", name, err, describe(again.Steps))
	}
}

// A skill that was kept is replaced once it is as it was.
func TestKeptPutBack(t *testing.T) {
	everywhere(t, func(t *testing.T, w plugin.Wanted) {
		root := t.TempDir()
		install(t, root, w)
		first := tree(t, root)
		for name, text := range first {
			if filepath.Base(name) == "SKILL.md" {
				write(t, filepath.Join(root, name), text+"mine\n")
			}
		}
		narrow := w
		narrow.Scopes = []access.Scope{access.Read}
		install(t, root, narrow)
		for name, text := range first {
			if filepath.Base(name) == "SKILL.md" {
				write(t, filepath.Join(root, name), text)
			}
		}
		install(t, root, w)
		if diff := cmp.Diff(first, tree(t, root)); diff != "" {
			t.Error(diff)
		}
		remove(t, root, narrow)
		if left := tree(t, root); len(left) > 0 {
			t.Errorf("left: %v", keys(left))
		}
	})
}

// What a removal leaves is known for as long as it is there: it is told, left again, and goes once it is as it was.
func TestLeftOver(t *testing.T) {
	everywhere(t, func(t *testing.T, w plugin.Wanted) {
		all := t.TempDir()
		install(t, all, w)
		for name, text := range tree(t, all) {
			if strings.HasSuffix(name, "/") || strings.HasSuffix(name, "signalbox-plugin.json") {
				continue
			}
			root := t.TempDir()
			install(t, root, w)
			is := func(want plugin.State) {
				t.Helper()
				found, err := plugin.Look(w, plugin.InProject(root, w.Program))
				if err != nil {
					t.Fatal(err)
				}
				if s, err := plugin.Inspect(w, found); err != nil || s.State != want || (s.Why == "") != (want == plugin.Installed || want == plugin.NotInstalled) {
					t.Errorf("%s: want %s, have %+v, %v", name, want, s, err)
				}
			}
			is(plugin.Installed)
			changed := strings.NewReplacer("read,operate", "read,answer", "name: ", "name: my-", `"version": "`, `"version": "0`).Replace(text)
			write(t, filepath.Join(root, name), changed)
			is(plugin.Changed)
			if plan := remove(t, root, w); !plan.Leaves() || !plan.Changed() {
				t.Errorf("%s is left: %s", name, describe(plan.Steps))
			}
			is(plugin.LeftOver)
			left := tree(t, root)
			if plan := remove(t, root, w); !plan.Leaves() || plan.Changed() {
				t.Errorf("%s is left again: %s", name, describe(plan.Steps))
			}
			if diff := cmp.Diff(left, tree(t, root)); diff != "" || left[name] != changed {
				t.Errorf("%s is left again: %s", name, diff)
			}
			write(t, filepath.Join(root, name), text)
			is(plugin.LeftOver)
			if plan := remove(t, root, w); plan.Leaves() || !plan.Changed() {
				t.Errorf("%s is as it was: %s", name, describe(plan.Steps))
			}
			is(plugin.NotInstalled)
			if left := tree(t, root); len(left) > 0 {
				t.Errorf("%s is as it was; left: %v", name, keys(left))
			}
		}
	})
}

// The scopes of a server are told if it is written as an installation writes it, whoever wrote it; else they are not.
func TestScopes(t *testing.T) {
	everywhere(t, func(t *testing.T, w plugin.Wanted) {
		all := t.TempDir()
		w.Scopes = []access.Scope{access.Read, access.Answer}
		w.Command = `/a "b"\c/signalbox`
		install(t, all, w)
		inspect := func(root string) plugin.Status {
			t.Helper()
			found, err := plugin.Look(w, plugin.InProject(root, w.Program))
			if err != nil {
				t.Fatal(err)
			}
			s, err := plugin.Inspect(plugin.Wanted{Program: w.Program, User: w.User}, found)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if s := inspect(all); s.State != plugin.Installed || !slices.Equal(s.Scopes, w.Scopes) {
			t.Errorf("%+v", s)
		}
		name := map[bool]string{false: ".gemini/settings.json", true: ".gemini/extensions/signalbox/gemini-extension.json"}[w.User]
		switch w.Program {
		case plugin.Claude:
			name = ".claude/skills/signalbox/.mcp.json"
		case plugin.Codex:
			name = ".codex/config.toml"
		}
		text := tree(t, all)[name]
		root := t.TempDir()
		write(t, filepath.Join(root, name), text)
		if s := inspect(root); s.State != plugin.Foreign || !slices.Equal(s.Scopes, w.Scopes) || !strings.Contains(s.Why, "did not write") {
			t.Errorf("of a stranger: %+v", s)
		}
		for _, c := range [][2]string{
			{"read,answer", "read,write"},
			{"read,answer", ""},
			{`"--scope"`, `"--scopes"`},
			{`"--name"`, `"--scope"`},
			{`"args"`, `"ARGS"`},
			{"args = ", "args=[\"mcp\"]#args = "},
		} {
			changed := strings.Replace(text, c[0], c[1], 1)
			if changed == text {
				continue
			}
			write(t, filepath.Join(root, name), changed)
			if s := inspect(root); s.State != plugin.Foreign || s.Scopes != nil {
				t.Errorf("%s: %+v", c[1], s)
			}
		}
		if s := inspect(t.TempDir()); s.State != plugin.NotInstalled || s.Scopes != nil {
			t.Errorf("nothing is there: %+v", s)
		}
	})
}

// What a removal left and a person then deleted is known no more.
func TestLeftOverDeleted(t *testing.T) {
	w := wanted(plugin.Codex, false)
	root := t.TempDir()
	install(t, root, w)
	config := filepath.Join(root, ".codex", "config.toml")
	write(t, config, strings.Replace(tree(t, root)[".codex/config.toml"], "read,operate", "read,answer", 1))
	remove(t, root, w)
	write(t, config, "")
	remove(t, root, w)
	if diff := cmp.Diff(map[string]string{".codex/": "", ".codex/config.toml": ""}, tree(t, root)); diff != "" {
		t.Error(diff)
	}
}

func describe(steps []plugin.Step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(string(s.Action) + " " + s.Path + " " + s.Why + "\n")
	}
	return b.String()
}

// Skills are short, and say who they are and when to use them.
func TestSkills(t *testing.T) {
	for _, w := range []plugin.Wanted{wanted(plugin.Claude, false), wanted(plugin.Codex, false), wanted(plugin.Gemini, true)} {
		root := t.TempDir()
		install(t, root, w)
		n := 0
		for name, text := range tree(t, root) {
			if filepath.Base(name) != "SKILL.md" {
				continue
			}
			n++
			_, rest, _ := strings.Cut(text, "---\n")
			head, body, found := strings.Cut(rest, "---\n")
			if !found || !strings.HasPrefix(head, "name: "+filepath.Base(filepath.Dir(name))+"\ndescription: ") || strings.Count(head, "\n") != 2 {
				t.Errorf("%s: head: %s", name, head)
			}
			if length := utf8.RuneCountInString(body); length > 1500 {
				t.Errorf("%s has %d characters", name, length)
			}
		}
		if n != 4 {
			t.Errorf("%s: %d skills", w.Program, n)
		}
	}
}

// Skills name tools and flags that there are.
func TestSkillsAreTrue(t *testing.T) {
	flags := map[string]bool{}
	for _, f := range agentreply.Table() {
		flags[f.Name] = true
	}
	tools := boxtools.Reference()
	root := t.TempDir()
	install(t, root, wanted(plugin.Claude, false))
	named := 0
	for name, text := range tree(t, root) {
		if filepath.Base(name) != "SKILL.md" {
			continue
		}
		for _, match := range regexp.MustCompile("`([a-z]+_[a-z_]+)`").FindAllStringSubmatch(text, -1) {
			if match[1] == "quoted_" {
				continue
			}
			named++
			if !flags[match[1]] && !strings.Contains(tools, "| `"+match[1]+"` |") {
				t.Errorf("%s: there is no tool or flag %s", name, match[1])
			}
		}
	}
	if named < 15 {
		t.Errorf("only %d tools and flags are named", named)
	}
}

// A manifest can come from a stranger's repository: it leads nowhere else, and takes nothing away that is not ours.
func TestHostileManifest(t *testing.T) {
	w := wanted(plugin.Codex, false)
	for name, manifest := range map[string]string{
		"another directory":  `{"format": 1, "files": {"../victim": ["HASH"]}, "directories": []}`,
		"hidden in a path":   `{"format": 1, "files": {"skills/signalbox-x/../../../victim": ["HASH"]}, "directories": []}`,
		"a file of the user": `{"format": 1, "files": {"auth.json": ["HASH"]}, "directories": []}`,
		"another entry":      `{"format": 1, "files": {}, "entry": {"path": "auth.json", "sha256": [], "made_file": true, "made_parent": true}, "directories": []}`,
		"directories":        `{"format": 1, "files": {}, "directories": ["../other"]}`,
		"a directory beside": `{"format": 1, "files": {}, "directories": ["sessions"]}`,
		"a newer format":     `{"format": 2, "files": {}, "directories": []}`,
		"no JSON":            `rm -rf`,
		"something after it": `{"format": 1, "files": {}, "directories": []} {}`,
		"keys nobody knows":  `{"format": 1, "files": {}, "directories": [], "run": "x"}`,
		"a path of Windows":  `{"format": 1, "files": {"skills/signalbox-x\\..\\..\\victim": ["HASH"]}, "directories": []}`,
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "victim"), "")
			write(t, filepath.Join(root, ".codex", "auth.json"), "")
			if err := os.MkdirAll(filepath.Join(root, ".codex", "sessions"), 0o755); err != nil {
				t.Fatal(err)
			}
			const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
			write(t, filepath.Join(root, ".codex", "signalbox-plugin.json"), strings.ReplaceAll(manifest, "HASH", empty))
			before := tree(t, root)
			for _, planned := range []func(plugin.Wanted, plugin.Found) (plugin.Plan, error){plugin.Install, plugin.Remove} {
				if _, err := do(t, root, w, planned); err == nil || !strings.Contains(err.Error(), "signalbox-plugin.json: it is no list of installed files") {
					t.Errorf("%v", err)
				}
			}
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Where the user's own directories are.
func TestOfUser(t *testing.T) {
	home := t.TempDir()
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, c := range []struct {
		program        plugin.Program
		name, is, want string
	}{
		{plugin.Claude, "", "", ".claude"},
		{plugin.Codex, "", "", ".codex"},
		{plugin.Gemini, "", "", ".gemini"},
		{plugin.Claude, "CLAUDE_CONFIG_DIR", filepath.Join(home, "a"), "a"},
		{plugin.Codex, "CODEX_HOME", filepath.Join(home, "b"), "b"},
		{plugin.Gemini, "GEMINI_CLI_HOME", filepath.Join(home, "c"), "c/.gemini"},
	} {
		clear(env)
		env[c.name] = c.is
		at, err := plugin.OfUser(c.program, home, func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		if got, want := at.Dir(), filepath.Join(home, c.want); got != want && got != filepath.Join(real, c.want) {
			t.Errorf("%s with %s: %s", c.program, c.name, got)
		}
	}
}
