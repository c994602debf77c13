package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/cli"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// console is a terminal at which a test sits: what is on its screen can be waited for.
type console struct {
	t      *testing.T
	in     *io.PipeWriter
	mu     sync.Mutex
	screen bytes.Buffer
	seen   int
	more   chan struct{} // has one if something was written
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default:
	}
	return c.screen.Write(p)
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.screen.String()
}

// await waits until a text is on the screen behind what was awaited before.
func (c *console) await(want string) {
	c.t.Helper()
	limit := time.After(time.Minute)
	for {
		c.mu.Lock()
		at := strings.Index(c.screen.String()[c.seen:], want)
		if at >= 0 {
			c.seen += at + len(want)
		}
		c.mu.Unlock()
		if at >= 0 {
			return
		}
		select {
		case <-c.more:
		case <-limit:
			c.t.Fatalf("there is no %q on the screen behind what was there:\n%s", want, c.text())
		}
	}
}

func (c *console) enter(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// sit runs a command at a terminal.
func sit(t *testing.T, args ...string) (*console, <-chan int) {
	t.Helper()
	return sitUntil(t.Context(), t, command.Signals{}, args...)
}

// sitUntil runs a command at a terminal until a context ends.
func sitUntil(ctx context.Context, t *testing.T, signals command.Signals, args ...string) (*console, <-chan int) {
	t.Helper()
	r, w := io.Pipe()
	c := &console{t: t, in: w, more: make(chan struct{}, 1)}
	t.Cleanup(func() { _ = w.Close() })
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(ctx, args, command.Env{In: r, Out: c, Err: c, InTTY: true, OutTTY: true, Signals: signals})
	}()
	return c, code
}

// scripted starts a model that says what the script tells it to.
func scripted(t *testing.T, text string) *modeltest.Server {
	t.Helper()
	script, err := modeltest.Parse("script", text)
	if err != nil {
		t.Fatal(err)
	}
	model, err := modeltest.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range model.Unexpected() {
			t.Errorf("unexpected request: %s", r.Problem)
		}
		_ = model.Close()
	})
	return model
}

// A person at a terminal sees what a tool would be given, and decides.
func TestAskApproval(t *testing.T) {
	t.Chdir(t.TempDir())
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, "signalbox"); err != nil {
		t.Skip(err)
	}
	const tools = `{"mcpServers": {"box": {"command": "./signalbox", "args": ["mcp", "--scope", "read,operate"]}}, "builtin": {"code": {"enabled": false}}}`
	if err := os.WriteFile("tools.json", []byte(tools), 0o600); err != nil {
		t.Fatal(err)
	}
	model := scripted(t, strings.ReplaceAll(`
== cancel
asked: ^cancel the run
says: I cancel it.
calls: cancel {"id": "R9BIDI"}
result: refused: the person does not allow this call of cancel, and says: R8
says: I cancel the other.
calls: cancel {"id": "R8"}
result: R8
says:
  There is none.
  <signal type="context_sufficient"><sources_found>0</sources_found></signal>
`, "BIDI", "\u202e"))
	c, code := sit(t, "ask", "--base-url", model.URL()+"/v1", "--model", "m", "--tools", "tools.json", "cancel the run")
	c.await("The model wants to call cancel of the MCP server box, which may change something:\n  id: \"R9\\u202e\"\n")
	c.await("Allow cancel? [y]es, [N]o, [a]lways in this question: ")
	c.enter("no, R8 is meant")
	c.await("  id: \"R8\"\n")
	c.await("Allow cancel? ")
	c.enter("yes")
	c.await("There is none.")
	if got := <-code; got != 0 {
		t.Errorf("exit %d\n%s", got, c.text())
	}
	_, out, _ := run(t, command.Env{In: strings.NewReader("")}, "events")
	for _, want := range []string{"call 1, cancel of box, was refused by a person: the person does not", "call 2, cancel of box, was allowed by a person", "call 2 failed"} {
		if !strings.Contains(out, want) {
			t.Errorf("the events lack %q:\n%s", want, out)
		}
	}
}
