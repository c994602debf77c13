package toolbox

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	for _, c := range []struct{ arguments, want, wrong string }{
		{``, `{}`, ""},
		{`null`, `{}`, ""},
		{` {"a": {"b": 1}, "c": {"b": [{"b": 2}, {"b": "b"}]}, "b": "b"} `, `{"a": {"b": 1}, "c": {"b": [{"b": 2}, {"b": "b"}]}, "b": "b"}`, ""},
		{`{"n": 1e999999, "m": [[["a"], "a"], "a"]}`, `{"n": 1e999999, "m": [[["a"], "a"], "a"]}`, ""},
		{`{"Path": 1, "path": 2}`, `{"Path": 1, "path": 2}`, ""},
		{`[1]`, "", "are a JSON object"},
		{`{"a": }`, "", "are a JSON object"},
		{`{} {}`, "", "are a JSON object"},
		{`{"path": "a", "path": "b"}`, "", `have the name "path" twice`},
		{`{"path": "a", "p\u0061th": "b"}`, "", `have the name "path" twice`},
		{`{"x": [1, {"y": {"z": [], "z": {}}}]}`, "", `have the name "z" twice`},
		{`{"x": {"a": 1}, "y": "x", "x": 2}`, "", `have the name "x" twice`},
		{`{"a\u202e": 1, "a\u202e": 2}`, "", `have the name "a\u202e" twice`},
		{`{"a": "` + strings.Repeat("x", maxArguments) + `"}`, "", "call it with less"},
	} {
		got, err := Arguments("note", json.RawMessage(c.arguments))
		switch {
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%.80s: %v, want %s", c.arguments, err, c.wrong)
		case c.wrong == "" && (err != nil || string(got) != c.want):
			t.Errorf("%.80s: %s, %v", c.arguments, got, err)
		}
	}
}

// A tool is one that changes nothing if it is built in, or if its server says so and nothing else.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	const list = `{"tools":[
		{"name":"silent","inputSchema":{"type":"object"}},
		{"name":"empty","inputSchema":{"type":"object"},"annotations":{}},
		{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
		{"name":"reads-mildly","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false}},
		{"name":"contradicts","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":true}},
		{"name":"destroys","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}},
		{"name":"adds","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":false}},
		{"name":"read_file","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}]}`
	replies, err := json.Marshal(map[string]string{"tools/list": strings.ReplaceAll(list, "\n", "")})
	if err != nil {
		t.Fatal(err)
	}
	c := with(program("raw", "REPLIES", string(replies)))
	c.Root, c.Web.Enabled = t.TempDir(), true
	want := map[string]bool{
		"silent": false, "empty": false, "reads": true, "reads-mildly": true, "contradicts": false, "destroys": false, "adds": false, "test_read_file": false,
		nameRead: true, nameSearch: true, nameFetch: true,
	}
	tools := opened(t, c).Tools()
	if len(tools) != len(want) {
		t.Errorf("%d tools of %d", len(tools), len(want))
	}
	for _, tool := range tools {
		if expected, ok := want[tool.Name]; !ok || tool.ReadOnly != expected {
			t.Errorf("%s: read-only is %t", tool.Name, tool.ReadOnly)
		}
	}
}

// What was sent and not answered may have done its work; what was answered, or never sent, has a known end.
func TestUnknown(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("ok")))
	address, begun := told(t)
	given, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	go func() {
		<-begun
		giveUp()
	}()
	if r := b.Call(given, "slow", json.RawMessage(`{"tell": "`+address+`"}`)); !r.Failed || !r.Unknown {
		t.Errorf("a call that was given up: %+v", r)
	}
	for _, c := range []struct {
		tool      string
		arguments string
		unknown   bool
	}{
		{"fail", `{}`, false},
		{"echo", `{"text": "a", "text": "b"}`, false},
		{"nothing", `{}`, false},
		{"crash", `{}`, true},
	} {
		if r := b.Call(t.Context(), c.tool, json.RawMessage(c.arguments)); !r.Failed || r.Unknown != c.unknown {
			t.Errorf("%s: %+v", c.tool, r)
		}
	}
	if r := call(t, b, "echo", testArguments{Text: "well"}); r.Failed || r.Unknown {
		t.Errorf("%+v", r)
	}
	if err := b.Has("echo"); err != nil {
		t.Error(err)
	}
	if err := b.Has("ecko"); err == nil || !strings.Contains(err.Error(), "did you mean echo?") {
		t.Error(err)
	}
}
