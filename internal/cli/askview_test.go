package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/oracle"
)

// Where the answer goes into a pipe and remarks to a terminal, the answer does nothing to the terminal that it may
// come to later, and a remark does not stand behind what a tee has printed of it. A refused call is no call.
func TestAskThroughAPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	const tools = `{"mcpServers": {"box": {"command": "./signalbox", "args": ["mcp", "--scope", "read,operate"]}}, "builtin": {"code": {"enabled": false}}}`
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, "signalbox"); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile("tools.json", []byte(tools), 0o600); err != nil {
		t.Fatal(err)
	}
	model := scripted(t, strings.ReplaceAll(`
== cancel
asked: ^cancel the run
says: I cancel it.ESC[2J
calls: cancel {"id": "R9"}
says:
  I may not.
  <signal type="context_sufficient"><sources_found>0</sources_found></signal>
`, "ESC", "\x1b"))
	env := command.Env{In: strings.NewReader(""), ErrTTY: true, ErrColor: true}
	code, out, errs := run(t, env, "ask", "--base-url", model.URL()+"/v1", "--model", "m", "--tools", "tools.json", "cancel the run")
	if code != 0 || out != "I cancel it.\\x1b[2J\nI may not.\n" {
		t.Errorf("exit %d\n%q\n%s", code, out, errs)
	}
	if !strings.HasPrefix(errs, "\n\x1b[33mcancel changes something") || !strings.Contains(errs, "answered in 2 turns, 0 tool calls (1 refused), ") {
		t.Errorf("%q", errs)
	}
	env.ErrColor, env.ErrTTY, env.OutTTY, env.Color = false, false, true, true
	if _, out, errs := run(t, env, "ask", "--base-url", model.URL()+"/v1", "--model", "m", "--tools", "tools.json", "cancel the run"); strings.Contains(errs, "\x1b") || strings.HasPrefix(errs, "\n") {
		t.Errorf("in a file: %q\n%s", errs, out)
	}
}

// Whoever waits is told of each failure, also of the same again, and for how long it is waited.
func TestAskTellsOfAttempts(t *testing.T) {
	t.Chdir(t.TempDir())
	source, _ := oracle.Tree(oracle.TreeName)
	if err := os.WriteFile("tree.lua", []byte(strings.Replace(string(source), "backoff = 2", "backoff = 0.01", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	model := scripted(t, `
== busy
asked: ^hello
fails: 503 warming up
fails: 503 warming up
says: Hello!
`)
	code, out, errs := run(t, command.Env{In: strings.NewReader("")}, "ask", "--base-url", model.URL()+"/v1", "--model", "m", "--tree", "tree.lua", "hello")
	const fails = "openai answers 503: warming up (try again later)\n"
	if want := fails + "Trying again in 10ms (1 of 3).\n" + fails + "Trying again in 20ms (2 of 3).\nanswered, "; code != 0 || out != "Hello!\n" || !strings.HasPrefix(errs, want) {
		t.Errorf("exit %d\n%s\n%s", code, out, errs)
	}
}
