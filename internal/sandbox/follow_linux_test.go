package sandbox

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(t, os.WriteFile(path, []byte(text), 0o600))
}

// lookAt returns how what a program follows is, by paths from its directory.
func lookAt(t *testing.T, f Followed) Seen {
	t.Helper()
	all, seen := Seen{}, Seen{}
	if unread := f.Look(all); len(unread) > 0 {
		t.Errorf("can't be read: %q", unread)
	}
	for path, digest := range all {
		name, err := filepath.Rel(f.Dir, path)
		check(t, err)
		seen[name] = digest
	}
	return seen
}

// What each program follows is looked at, and not what it writes by itself.
func TestFollowed(t *testing.T) {
	for _, c := range []struct {
		program, dir string
		follows      string
		writes       string
	}{
		{"claude", ".claude", "settings.json settings.local.json CLAUDE.md agents/a.md commands/c.md skills/s/SKILL.md hooks/h rules/r.md output-styles/o.md plugins/p/x.json local/claude",
			".credentials.json projects/p/c.jsonl history.jsonl shell-snapshots/s plugins/store/x"},
		{"codex", ".codex", "config.toml work.config.toml AGENTS.md AGENTS.override.md hooks.json rules/r skills/s/SKILL.md prompts/p.md plugins/p/x",
			"auth.json sessions/s.jsonl history.jsonl state_5.sqlite skills/.system/s/SKILL.md"},
		{"gemini", ".gemini", "settings.json GEMINI.md .env agents/a.md commands/c.toml extensions/e/x hooks/h policies/p.toml skills/s/SKILL.md trustedFolders.json",
			"oauth_creds.json tmp/t installation_id"},
		{"opencode", ".config/opencode", "opencode.json opencode.jsonc AGENTS.md plugin/p.ts agent/a.md tool/t.ts",
			"node_modules/m/x.js package.json bun.lock package-lock.json .gitignore"},
	} {
		home := realDir(t)
		found := FindFollowed([]string{"/bin/" + c.program}, home, func(string) string { return "" }, nil)
		if len(found) != 1 || found[0].Dir != filepath.Join(home, c.dir) {
			t.Fatalf("%s: %v", c.program, found)
		}
		if seen := lookAt(t, found[0]); len(seen) > 0 {
			t.Errorf("%s has seen %v where nothing is", c.program, seen)
		}
		want := strings.Fields(c.follows)
		for _, name := range append(strings.Fields(c.writes), want...) {
			put(t, filepath.Join(found[0].Dir, name), "text")
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(lookAt(t, found[0])))); diff != "" {
			t.Errorf("%s: %s", c.program, diff)
		}
	}
}

// A program that a command does not name may be run by it if agents may write what it keeps.
func TestFollowedByWrapper(t *testing.T) {
	none := func(string) string { return "" }
	if found := FindFollowed([]string{"agent.sh"}, "/home/ann", none, []string{"/home/ann/go"}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	for _, write := range []string{"/home/ann/.claude", "/home/ann/.claude/projects", "/home/ann"} {
		found := FindFollowed([]string{"agent.sh"}, "/home/ann", none, []string{write})
		if len(found) == 0 || found[0].Dir != "/home/ann/.claude" {
			t.Errorf("%s: found %v", write, found)
		}
	}
}

// Every change shows: of text, mode, kind, one that was put back, what is new and what is gone.
func TestFollowedChanges(t *testing.T) {
	const name = "settings.json"
	for what, change := range map[string]func(t *testing.T, path string){
		"text":     func(t *testing.T, path string) { put(t, path, "{\"hooks\": 1}") },
		"put back": func(t *testing.T, path string) { put(t, path, "evil"); put(t, path, "{}") },
		"mode":     func(t *testing.T, path string) { check(t, os.Chmod(path, 0o700)) },
		"gone":     func(t *testing.T, path string) { check(t, os.Remove(path)) },
		"link": func(t *testing.T, path string) {
			check(t, os.Remove(path))
			check(t, os.Symlink("/etc/passwd", path))
		},
		"pipe": func(t *testing.T, path string) {
			check(t, os.Remove(path))
			check(t, syscall.Mkfifo(path, 0o600))
		},
		"directory": func(t *testing.T, path string) { check(t, os.Remove(path)); put(t, filepath.Join(path, "x"), "{}") },
	} {
		t.Run(what, func(t *testing.T) {
			f := FindFollowed([]string{"claude"}, realDir(t), func(string) string { return "" }, nil)[0]
			put(t, filepath.Join(f.Dir, name), "{}")
			put(t, filepath.Join(f.Dir, "projects/p/c.jsonl"), "a conversation")
			before := lookAt(t, f)
			put(t, filepath.Join(f.Dir, "projects/p/c.jsonl"), "a longer conversation")
			if changed := before.Changed(lookAt(t, f)); len(changed) > 0 {
				t.Errorf("a conversation changes %q", changed)
			}
			change(t, filepath.Join(f.Dir, name))
			if changed := before.Changed(lookAt(t, f)); len(changed) == 0 || changed[0] != name {
				t.Errorf("changed: %q", changed)
			}
		})
	}
}

// A link within the directory is told by what it leads to; one that leads out is not followed.
func TestFollowedLinks(t *testing.T) {
	f := FindFollowed([]string{"claude"}, realDir(t), func(string) string { return "" }, nil)[0]
	out := filepath.Join(realDir(t), "out.json")
	put(t, out, "{}")
	put(t, filepath.Join(f.Dir, "projects/in.json"), "{}")
	check(t, os.Mkdir(filepath.Join(f.Dir, "skills"), 0o700))
	check(t, os.Symlink("projects/in.json", filepath.Join(f.Dir, "settings.json")))
	check(t, os.Symlink(out, filepath.Join(f.Dir, "CLAUDE.md")))
	check(t, os.Symlink("/", filepath.Join(f.Dir, "skills/all")))
	before := lookAt(t, f)
	put(t, filepath.Join(f.Dir, "projects/in.json"), "{1}")
	put(t, out, "{1}")
	if diff := cmp.Diff([]string{"settings.json"}, before.Changed(lookAt(t, f))); diff != "" {
		t.Error(diff)
	}
	if len(before) != 3 {
		t.Errorf("seen: %v", before)
	}
}

// What is too much is said, and is a change if it was not before.
func TestFollowedBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a directory of very many names; not with -short")
	}
	f := FindFollowed([]string{"claude"}, realDir(t), func(string) string { return "" }, nil)[0]
	check(t, os.MkdirAll(filepath.Join(f.Dir, "agents"), 0o700))
	before := lookAt(t, f)
	first := filepath.Join(f.Dir, "agents", "0")
	put(t, first, "")
	for i := range maxFollowed { // names of one file: as many files would take a slow disk half a minute
		check(t, os.Link(first, filepath.Join(f.Dir, "agents", fmt.Sprint(i+1))))
	}
	now := Seen{}
	if unread := f.Look(now); len(unread) != 1 || !strings.Contains(unread[0], "more than") {
		t.Errorf("unread: %q", unread)
	}
	if diff := cmp.Diff([]string{f.Dir}, before.Changed(now)); diff != "" {
		t.Error(diff)
	}
}

// Codex notes which projects are trusted; nothing else can be hidden in the notes.
func TestFollowedNotes(t *testing.T) {
	const config = "model = \"m\"\n\n[model_providers.p]\nbase_url = \"http://a\"\n"
	const says = "says = \"\"\"\nbe good\n[first]\n\"\"\"\n"
	const note = "\n[projects.\"/home/ann/repo\"]\ntrust_level = \"trusted\"\n"
	for what, c := range map[string]struct {
		text    string
		changed bool
	}{
		"at the end":       {config + note, false},
		"twice":            {config + note + note, false},
		"before a table":   {strings.Replace(config, "\n[model", note+"\n[model", 1), false},
		"more in it":       {config + note + "base_url = \"http://evil\"\n", true},
		"taking a key":     {strings.Replace(config, "base_url", note[1:]+"base_url", 1), true},
		"in a text":        {strings.Replace(says, "be good\n", "be good"+note, 1) + config, true},
		"untrusted":        {config + strings.Replace(note, "trusted", "untrusted", 1), true},
		"another setting":  {config + note + "\n[hooks]\nx = 1\n", true},
		"a changed server": {strings.Replace(config, "http://a", "http://b", 1) + note, true},
	} {
		f := FindFollowed([]string{"codex"}, realDir(t), func(string) string { return "" }, nil)[0]
		was := config
		if strings.HasPrefix(c.text, "says") {
			was = says + config
		}
		put(t, filepath.Join(f.Dir, "config.toml"), was)
		before := lookAt(t, f)
		put(t, filepath.Join(f.Dir, "config.toml"), c.text)
		if changed := before.Changed(lookAt(t, f)); (len(changed) > 0) != c.changed {
			t.Errorf("%s: changed: %q", what, changed)
		}
	}
}
