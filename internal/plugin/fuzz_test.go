package plugin_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/plugin"
)

// thereAndBack installs in memory and removes it again, and returns what the file has after each. Nothing else may be left.
func thereAndBack(t *testing.T, w plugin.Wanted, name, text string) (there, back string, refused bool) {
	t.Helper()
	files := map[string][]byte{name: []byte(text)}
	plan, err := plugin.Install(w, plugin.In(maps.Clone(files)))
	if err != nil {
		return "", "", true
	}
	plan.In(files)
	there = string(files[name])
	if again, err := plugin.Install(w, plugin.In(files)); err != nil || again.Changed() {
		t.Fatalf("%q became %q, and then: %v, %v", text, there, describe(again.Steps), err)
	}
	if plan, err = plugin.Remove(w, plugin.In(maps.Clone(files))); err != nil {
		t.Fatalf("%q became %q, and then: %v", text, there, err)
	}
	plan.In(files)
	if len(files) != 1 {
		t.Fatalf("%q: left are %d files", text, len(files))
	}
	return there, string(files[name]), false
}

// Whatever the settings have, they have it with our entry and after it: the same members, in the same order.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, "{ // x\n \"mcpServers\": {\n \"b\": {} /* y */ , \"c\": [] } }", `{"mcpServers":{"signalbox":1}}`, `{"mcpServers":{"b":1}}`, "{\r\n}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		there, back, refused := thereAndBack(t, wanted(plugin.Gemini, false), "settings.json", text)
		if refused {
			return
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(there)) {
			t.Fatalf("%q became %q", text, there)
		}
		if squeezed(back) != squeezed(text) {
			t.Errorf("%q became %q, then %q", text, there, back)
		}
	})
}

// squeezed is a text without white space.
func squeezed(s string) string { return strings.Join(strings.Fields(s), "") }

// Whatever Codex's settings have, they are the same after an installation was removed, but for the end of the last line.
func FuzzTOML(f *testing.F) {
	for _, seed := range []string{"", "a = 1", "[a]\nb = '''\n'''\n", "a = [\n{ b = \"\" }\n]\r\n\r\n", "# x", "[mcp_servers.a]\nb.\"c\" = 1 # d\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		there, back, refused := thereAndBack(t, wanted(plugin.Codex, false), "config.toml", text)
		if refused {
			return
		}
		if !strings.HasPrefix(there, text) {
			t.Fatalf("%q became %q", text, there)
		}
		if strings.TrimRight(back, "\r\n") != strings.TrimRight(text, "\r\n") {
			t.Errorf("%q became %q", text, back)
		}
	})
}
