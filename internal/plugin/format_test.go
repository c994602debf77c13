package plugin_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/access"
	"github.com/signalbox-dev/signalbox/internal/plugin"
)

// Settings of Gemini CLI keep all that they have.
func TestJSON(t *testing.T) {
	w := wanted(plugin.Gemini, false)
	for name, c := range map[string]struct{ before, during string }{
		"other settings": {
			"{\n  \"theme\": \"x\"\n}\n",
			"{\n  \"mcpServers\": {\n    \"signalbox\": {\n      \"command\": \"/opt/box/signalbox\",\n      \"args\": [\n        \"mcp\",\n        \"--name\",\n        \"gemini\",\n        \"--scope\",\n        \"read,operate\"\n      ]\n    }\n  },\n  \"theme\": \"x\"\n}\n",
		},
		"other servers, tabs, CRLF, comments": {
			"// mine\r\n{\r\n\t/* a */ \"mcpServers\": { // b\r\n\t\t\"z\": {\"command\": \"c\"} // d\r\n\t}\r\n}\r\n",
			"",
		},
		"on one line":             {`{"mcpServers":{"b":{"command":"}"}},"a":[1,{"x":"]"}]}`, ""},
		"none":                    {"{}", ""},
		"none, no servers":        {`{"mcpServers": {}}`, ""},
		"a comment alone":         {"{\n  \"mcpServers\": {}, // why\n  \"a\": 1\n}", ""},
		"a byte order mark":       {"\ufeff{\"a\": 1}", ""},
		"escapes":                 {`{"\u006dcpServers": {"a\"}": {}}, "b": "\\"}`, ""},
		"comments at the end":     {"{\n  \"a\": 1 // one\n  // two\n}\n// three", ""},
		"comments in the servers": {"{\n  \"mcpServers\": {\n    // nobody yet\n  }\n}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, ".gemini", "settings.json")
			write(t, path, c.before)
			install(t, root, w)
			during := tree(t, root)[".gemini/settings.json"]
			if c.during != "" && during != c.during {
				t.Errorf("%s", cmp.Diff(c.during, during))
			}
			if strings.Contains(strings.ReplaceAll(during, "\r\n", ""), "\n") && strings.Contains(c.before, "\r\n") {
				t.Errorf("line ends are mixed: %q", during)
			}
			remove(t, root, w)
			if got := tree(t, root); len(got) != 2 || got[".gemini/settings.json"] != c.before {
				t.Errorf("before %q\nafter  %q\n%v", c.before, got[".gemini/settings.json"], keys(got))
			}
		})
	}
}

// What Gemini CLI writes anew, in another order of white space, is ours still.
func TestJSONWrittenAnew(t *testing.T) {
	w := wanted(plugin.Gemini, false)
	root := t.TempDir()
	path := filepath.Join(root, ".gemini", "settings.json")
	install(t, root, w)
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(tree(t, root)[".gemini/settings.json"])); err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(b.String(), `{"mcpServers":{`, `{"mcpServers":{"other":{"command":"x"},`, 1))
	if plan := install(t, root, w); plan.Changed() {
		t.Errorf("%s", describe(plan.Steps))
	}
	remove(t, root, w)
	if diff := cmp.Diff(map[string]string{".gemini/": "", ".gemini/settings.json": `{"mcpServers":{"other":{"command":"x"}}}`}, tree(t, root)); diff != "" {
		t.Error(diff)
	}
}

// The entry goes from wherever the user, or Gemini CLI, has put it, and nothing else does.
func TestJSONMoved(t *testing.T) {
	w := wanted(plugin.Gemini, false)
	for name, c := range map[string]struct{ with, without string }{
		"last":                   {`{"mcpServers": {"a": {}, "b": {},  OURS }, "c": 1}`, `{"mcpServers": {"a": {}, "b": {} }, "c": 1}`},
		"in the middle":          {`{"mcpServers": {"a": {}, OURS, "b": {}}}`, `{"mcpServers": {"a": {}, "b": {}}}`},
		"alone, with a comment":  {"{\"mcpServers\": {\n// keep\nOURS\n}}", "{\"mcpServers\": {\n// keep\n}}"},
		"after a line's comment": {"{\"mcpServers\": { // keep\nOURS, \"b\": {}}}", "{\"mcpServers\": { // keep\n \"b\": {}}}"},
		"before a comment":       {"{\"mcpServers\": {\"a\": {}, OURS // keep\n}}", "{\"mcpServers\": {\"a\": {} // keep\n}}"},
		"a comma after comments": {"{\"mcpServers\": {OURS /* keep */ , \"b\": {}}}", "{\"mcpServers\": { /* keep */  \"b\": {}}}"},
		"on lines of their own":  {"{\n\"mcpServers\": {\n  \"a\": {},\n  OURS\n}\n}", "{\n\"mcpServers\": {\n  \"a\": {}\n}\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, ".gemini", "settings.json")
			install(t, root, w)
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(tree(t, root)[".gemini/settings.json"])); err != nil {
				t.Fatal(err)
			}
			ours := strings.TrimSuffix(strings.TrimPrefix(b.String(), `{"mcpServers":{`), `}}`)
			write(t, path, strings.ReplaceAll(c.with, "OURS", ours))
			remove(t, root, w)
			got := tree(t, root)[".gemini/settings.json"]
			if squeezed(got) != squeezed(c.without) || strings.Count(got, "\n") != strings.Count(c.without, "\n") {
				t.Errorf("want %q\nhave %q", c.without, got)
			}
		})
	}
}

// Entries that are not ours, and files that can't be read, are refused, and nothing is written.
func TestForeignEntries(t *testing.T) {
	for name, c := range map[string]struct {
		program    plugin.Program
		text, want string
	}{
		"json, another server":    {plugin.Gemini, `{"mcpServers": {"signalbox": {"command": "mine"}}}`, "did not install"},
		"json, a comment in it":   {plugin.Gemini, `{"mcpServers": {"signalbox": {/* mine */ "command": "x"}}}`, "did not install"},
		"json, twice":             {plugin.Gemini, `{"mcpServers": {}, "mcpServers": {}}`, "mcpServers twice"},
		"json, no object":         {plugin.Gemini, `[]`, "it is no object"},
		"json, servers no object": {plugin.Gemini, `{"mcpServers": []}`, "its mcpServers is no object"},
		"json, cut off":           {plugin.Gemini, "{\n\"a\": [1,", "line 2"},
		"json, a comma too many":  {plugin.Gemini, `{"a": 1,}`, "a name is missing"},
		"json, too deep":          {plugin.Gemini, `{"a": ` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, "nested too deep"},
		"json, no end of comment": {plugin.Gemini, `{} /* `, "a comment has no end"},
		"json, more after it":     {plugin.Gemini, `{} {}`, "something follows"},
		"json, empty":             {plugin.Gemini, ``, "it is no object"},
		"toml, another server":    {plugin.Codex, "[mcp_servers.signalbox]\ncommand = 'mine'\n", "did not install"},
		"toml, quoted":            {plugin.Codex, "[ mcp_servers . \"signal\\u0062ox\" ]\ncommand = 'mine'\n", "did not install"},
		"toml, by dots":           {plugin.Codex, "mcp_servers.signalbox.command = 'mine'\n", "did not install"},
		"toml, inline":            {plugin.Codex, "[mcp_servers]\nsignalbox = { command = 'mine' }\n", "did not install"},
		"toml, tables below it":   {plugin.Codex, "[mcp_servers.signalbox.env]\nA = 'b'\n", "did not install"},
		"toml, all inline":        {plugin.Codex, "mcp_servers = { a = { command = 'x' } }\n", "no table can be added"},
		"toml, a list":            {plugin.Codex, "[[mcp_servers]]\n", "no table can be added"},
		"toml, no end":            {plugin.Codex, "a = \"\"\"\n[mcp_servers.signalbox]\n", "a string has no end"},
		"toml, a list, no end":    {plugin.Codex, "a = [ 1,\n", "no end"},
		"toml, two on a line":     {plugin.Codex, "a = 1 b = 'x' c\nd = \"a\" e = 1\n", "line 2"},
		"toml, no value":          {plugin.Codex, "a =\n", "a value is missing"},
		"toml, too deep":          {plugin.Codex, "a = " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "\n", "nested too deep"},
		"toml, not UTF-8":         {plugin.Codex, "a = \"\xff\"\n", "not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			file := map[plugin.Program]string{plugin.Codex: ".codex/config.toml", plugin.Gemini: ".gemini/settings.json"}[c.program]
			write(t, filepath.Join(root, file), c.text)
			before := tree(t, root)
			if _, err := do(t, root, wanted(c.program, false), plugin.Install); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Settings of Codex keep all that they have, and what looks like a table in a string is none.
func TestTOML(t *testing.T) {
	w := wanted(plugin.Codex, false)
	for name, c := range map[string]struct{ before, during string }{
		"other settings": {
			"# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n",
			"# mine\nmodel = \"x\" # why\n\n[mcp_servers.other]\ncommand = \"y\"\n\n# Written by `signalbox plugin install`; `signalbox plugin remove` takes it away.\n[mcp_servers.signalbox]\ncommand = \"/opt/box/signalbox\"\nargs = [\"mcp\", \"--name\", \"codex\", \"--scope\", \"read,operate\"]\n",
		},
		"CRLF":             {"model = \"x\"\r\n[a]\r\nb = [\r\n  1, # one\r\n  2,\r\n]\r\n", ""},
		"strings":          {"a = \"\"\"\n[mcp_servers.signalbox]\n\\\"\"\"\"\"\nb = '''\n[mcp_servers.signalbox]\n'''\nc = '#' # [mcp_servers.signalbox]\nd = \"\\\"#\"\n", ""},
		"lists":            {"a = [ # [x]\n  \"]\", '[', { b = [1], c = \"}\" },\n]\n[[x.\"y.z\"]]\nd = 1979-05-27 07:32:00\n", ""},
		"empty":            {"", ""},
		"a comment":        {"# nothing yet\n", ""},
		"dots elsewhere":   {"mcp_servers.other.command = 'x'\n", ""},
		"one table for it": {"[mcp_servers]\n[mcp_servers.signalboxes]\ncommand = 'x'\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, ".codex", "config.toml"), c.before)
			install(t, root, w)
			during := tree(t, root)[".codex/config.toml"]
			if c.during != "" && during != c.during {
				t.Errorf("%s", cmp.Diff(c.during, during))
			}
			if strings.Contains(c.before, "\r\n") && strings.Contains(strings.ReplaceAll(during, "\r\n", ""), "\n") {
				t.Errorf("line ends are mixed: %q", during)
			}
			other := w
			other.Scopes = []access.Scope{access.Read}
			install(t, root, other)
			install(t, root, w)
			if got := tree(t, root)[".codex/config.toml"]; got != during {
				t.Errorf("there and back: %s", cmp.Diff(during, got))
			}
			remove(t, root, w)
			if got := tree(t, root); len(got) != 2 || got[".codex/config.toml"] != c.before {
				t.Errorf("before %q\nafter  %q\n%v", c.before, got[".codex/config.toml"], keys(got))
			}
		})
	}
}

// What a user, or Codex, adds to the entry is not taken away, and neither is the entry then.
func TestTOMLChanged(t *testing.T) {
	for name, added := range map[string]string{
		"a key":            "startup_timeout_sec = 30\n",
		"a comment, a key": "# slow\nstartup_timeout_sec = 30\n",
		"a table below it": "[mcp_servers.signalbox.tools.start_run]\napproval_mode = \"approve\"\n",
		"a table, later":   "[other]\na = 1\n[mcp_servers.signalbox.env]\nA = \"b\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted(plugin.Codex, false)
			root := t.TempDir()
			install(t, root, w)
			path := filepath.Join(root, ".codex", "config.toml")
			text := tree(t, root)[".codex/config.toml"] + added
			write(t, path, text)
			plan := remove(t, root, w)
			if got := tree(t, root); got[".codex/config.toml"] != text || len(got) != 3 {
				t.Errorf("%v:\n%s", keys(got), got[".codex/config.toml"])
			}
			if !strings.Contains(describe(plan.Steps), "leave config.toml") {
				t.Errorf("%s", describe(plan.Steps))
			}
		})
	}
}

// What follows the entry stays.
func TestTOMLInTheMiddle(t *testing.T) {
	w := wanted(plugin.Codex, false)
	root := t.TempDir()
	install(t, root, w)
	const later = "\n# mine\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n"
	write(t, filepath.Join(root, ".codex", "config.toml"), tree(t, root)[".codex/config.toml"]+later)
	remove(t, root, w)
	if diff := cmp.Diff(map[string]string{".codex/": "", ".codex/config.toml": later}, tree(t, root)); diff != "" {
		t.Error(diff)
	}
}

// A path of this program may have characters that mean something in TOML and JSON.
func TestOddCommand(t *testing.T) {
	w := wanted(plugin.Codex, false)
	w.Command = "/a \"b\"\\c\td/signalbox"
	root := t.TempDir()
	install(t, root, w)
	if got := tree(t, root)[".codex/config.toml"]; !strings.Contains(got, `command = "/a \"b\"\\c\u0009d/signalbox"`) {
		t.Error(got)
	}
	w.Command = "/\xff/signalbox"
	if _, err := do(t, t.TempDir(), w, plugin.Install); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Error(err)
	}
}
