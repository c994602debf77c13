package toolbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// written is a configuration's file.
func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoad(t *testing.T) {
	t.Setenv("TOKEN", "very-secret")
	file := written(t, "\ufeff"+`{
		"mcpServers": {
			"portfolio": {"type": "stdio", "command": "portfolio", "args": ["mcp", "--key=${TOKEN}", "$TOKEN"], "env": {"A": "b", "E": "", "T": "<${TOKEN}${TOKEN}>"}, "cwd": "sub", "timeout": "90s"},
			"local": {"command": "./bin/x", "transport": "stdio"},
			"notes": {"url": "http://127.0.0.1:8000/mcp?k=${TOKEN}", "type": "streamable-http", "headers": {"Authorization": "Bearer ${NOT_SET_AT_ALL:-none}"}}
		},
		"builtin": {"code": {"root": ".."}, "web": {"enabled": true, "hosts": ["Go.dev", "localhost:8080", "::1", "[::1]:80"]}}
	}`)
	dir := filepath.Dir(file)
	got, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Servers: map[string]Server{
			"portfolio": {Command: "portfolio", Args: []string{"mcp", "--key=very-secret", "$TOKEN"}, Env: map[string]string{"A": "b", "E": "", "T": "<very-secretvery-secret>"},
				Dir: filepath.Join(dir, "sub"), Timeout: 90 * time.Second},
			"local": {Command: filepath.Join(dir, "bin", "x")},
			"notes": {URL: "http://127.0.0.1:8000/mcp?k=very-secret", Headers: map[string]string{"Authorization": "Bearer none"}},
		},
		Root: filepath.Dir(dir),
		Web:  Web{Enabled: true, Hosts: []string{"go.dev", "localhost:8080", "::1", "[::1]:80"}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Server{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string][]string{"portfolio": {"<very-secretvery-secret>", "very-secret"}, "notes": {"k=very-secret", "Bearer none", "very-secret", "none"}} {
		for _, secret := range want {
			if !strings.Contains("|"+strings.Join(got.Servers[name].hidden(), "|")+"|", "|"+secret+"|") {
				t.Errorf("%s: %q is not hidden, only %q", name, secret, got.Servers[name].hidden())
			}
		}
	}
}

func TestLoadDefaults(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	if all := filepath.VolumeName(dir) + string(filepath.Separator); Default(all).Root != all { // nothing is above it
		t.Errorf("%+v", Default(all))
	}
	if err := os.Mkdir(filepath.Join(dir, "a", ".git"), 0o700); err != nil { // empty: no repository
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: elsewhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Default(inner); got.Root != dir || got.Web.Enabled || len(got.Servers) > 0 {
		t.Errorf("%+v, want %s", got, dir)
	}
	t.Chdir(inner)
	for text, want := range map[string]string{`{}`: dir, `{"mcpServers":{},"builtin":{}}`: dir, `{"builtin":{"code":{"enabled":false}}}`: "", `{"builtin":{"code":{"enabled":true}}}`: dir} {
		if got, err := Load(written(t, text)); err != nil || got.Root != want || got.Web.Enabled {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	const keys = "args, command, cwd, env, headers, timeout, transport, type, url"
	server := func(s string) string { return `{"mcpServers":{"x":` + s + `}}` }
	for text, want := range map[string]string{
		"":                                     "line 1 is not JSON: unexpected end of JSON input",
		"{\n\"mcpServers\": {\n,}}":            "line 3 is not JSON: invalid character ',' looking for beginning of object key string",
		`[]`:                                   "it is a JSON object, {…}",
		`{"servers":{}}`:                       "servers: there is no such key, only mcpServers, builtin",
		`{"builtin":{},"builtin":{}}`:          "builtin: the key is there twice",
		`{"mcpServers":[]}`:                    "mcpServers: it is a JSON object, {…}",
		`{"mcpServers":null}`:                  "mcpServers: it is a JSON object, {…}",
		server(`{"comand":"a","command":"a"}`): "mcpServers.x.comand: there is no such key, only " + keys,
		server(`{}`):                           `mcpServers.x: the server has neither "command", for a program, nor "url", for an address`,
		server(`{"command":"a","url":"http://a"}`):                        `mcpServers.x: the server has both "command" and "url": leave one out`,
		server(`{"command":7}`):                                           "mcpServers.x.command: it is a text, in quotes\nmcpServers.x: the server has neither \"command\", for a program, nor \"url\", for an address",
		server(`{"command":"a","args":"mcp"}`):                            "mcpServers.x.args: it is a JSON list, […]",
		server(`{"command":"a","args":["b",7]}`):                          "mcpServers.x.args[1]: it is a text, in quotes",
		server(`{"command":"a","env":{"K":"secret","K2":7}}`):             "mcpServers.x.env.K2: it is a text, in quotes",
		server(`{"command":"a","env":{"K=":"secret"}}`):                   "mcpServers.x.env.K=: no environment variable has this name",
		server(`{"command":"a","env":{"K":"secret${NOT_SET_AT_ALL}"}}`):   "mcpServers.x.env.K: the environment variable NOT_SET_AT_ALL is not set: set it, or write ${NOT_SET_AT_ALL:-text} with a text to use instead",
		server(`{"command":"a","args":["${input:key}"]}`):                 `mcpServers.x.args[0]: "${input:key}" is not ${NAME} or ${NAME:-text} with the name of an environment variable`,
		server(`{"command":"a","args":["${HOME"]}`):                       `mcpServers.x.args[0]: "${HOME" is not ${NAME} or ${NAME:-text} with the name of an environment variable`,
		server(`{"command":"a","headers":{"A":"secret"}}`):                "mcpServers.x.headers: they are for an address, and this server is a program",
		server(`{"url":"http://a","headers":{"A b":"secret"}}`):           "mcpServers.x.headers.A b: no header has this name",
		server(`{"url":"http://a","headers":{"A":"secret\r\nB:c"}}`):      "mcpServers.x.headers.A: the value has a line break or a zero byte, which no header may have",
		server(`{"url":"ftp://a"}`):                                       "mcpServers.x.url: it is not an address that begins with http:// or https://",
		server(`{"url":"http://a","args":["b"]}`):                         `mcpServers.x: "args", "env" and "cwd" are for a program, and this server is an address`,
		server(`{"url":"http://a","type":"stdio"}`):                       `mcpServers.x.type: "stdio" does not fit: "command" goes with stdio, "url" with http`,
		server(`{"command":"a","transport":"http"}`):                      `mcpServers.x.transport: "http" does not fit: "command" goes with stdio, "url" with http`,
		server(`{"url":"http://a","type":"sse"}`):                         `mcpServers.x.type: the transport sse is not supported: give the server's address for streamable HTTP, often one that ends in /mcp, and write "http"`,
		server(`{"url":"http://a","type":"\u001b[2J"}`):                   `mcpServers.x.type: it is stdio or http, not "\x1b[2J"`,
		server(`{"command":"a","timeout":60}`):                            "mcpServers.x.timeout: it is a text, in quotes\nmcpServers.x.timeout: it is a text such as \"60s\" or \"5m\", more than 0 and at most 1h",
		server(`{"command":"a","timeout":"2h"}`):                          `mcpServers.x.timeout: it is a text such as "60s" or "5m", more than 0 and at most 1h`,
		`{"mcpServers":{"":{"command":"a"}}}`:                             "mcpServers.: a server's name has 1 to 64 characters",
		`{"builtin":{"web":{"hosts":["go.dev"]}}}`:                        `builtin.web: hosts are listed, and fetching is off: write "enabled": true, or leave them out`,
		`{"builtin":{"web":{"enabled":1}}}`:                               "builtin.web.enabled: it is true or false",
		`{"builtin":{"web":{"enabled":true,"hosts":["https://go.dev"]}}}`: `builtin.web.hosts[0]: "https://go.dev" is not a host: write a name such as go.dev, or one with a port such as localhost:8080`,
		`{"builtin":{"web":{"enabled":true,"hosts":["*.go.dev"]}}}`:       `builtin.web.hosts[0]: "*.go.dev" is not a host: write a name such as go.dev, or one with a port such as localhost:8080`,
	} {
		file := written(t, text)
		_, err := Load(file)
		if err == nil {
			t.Errorf("%s was read", text)
			continue
		}
		want = file + ": " + strings.ReplaceAll(want, "\n", "\n"+file+": ")
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("a secret shows: %v", err)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Error(err)
	}
	if _, err := Load(written(t, strings.Repeat(" ", maxConfig+1))); err == nil || !strings.Contains(err.Error(), "it is no configuration") {
		t.Error(err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"x":{"command":"a","args":["${HOME}"],"env":{"A":"b"}}},"builtin":{"web":{"enabled":true,"hosts":["a"]}}}`))
	f.Add([]byte(`{"mcpServers":{"x":{"url":"http://a","headers":{"A":"b"},"timeout":"1s"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := reader{file: "f", dir: "/d", lookup: func(string) (string, bool) { return "", false }}
		c := r.config(data)
		if len(r.errs) > 0 {
			return
		}
		for name, s := range c.Servers {
			if (s.Command == "") == (s.URL == "") {
				t.Errorf("%q is %+v", name, s)
			}
		}
	})
}
