package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/internal/portfolio/mcpserver"
)

// connectPipes serves over stdio in this process, where the test can see into the tools.
func connectPipes(t *testing.T, f *fake) *mcp.ClientSession {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.New(f, "1", mcpserver.Options{Files: true}).ServeStdio(context.Background(), fromClient, toClient)
		_ = toClient.Close()
	}()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return connect(t, &mcp.IOTransport{Reader: leaving{fromServer}, Writer: toServer})
}

// leaving is a client's end of a pipe that is read to its end when the client has closed it: the answer to a call that was cancelled may
// be on its way then, and the server is not to fail for that.
type leaving struct{ *io.PipeReader }

func (l leaving) Close() error {
	go func() { _, _ = io.Copy(io.Discard, l.PipeReader) }() // it ends when the server closes its end
	return nil
}

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func message(id int, method, params string) string {
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": json.RawMessage(params)})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestStandardOutput pipes a session into the program, as a shell would, with calls that make it
// log. Every call has to be answered, though the input ends at once.
func TestStandardOutput(t *testing.T) {
	command := program(t)
	command.Stdin = strings.NewReader(strings.Join([]string{
		initialize, initialized,
		message(2, "tools/list", `{}`),
		message(3, "tools/call", `{"name":"check_exit_signals","arguments":{"ticker":"PANIC"}}`),
		message(4, "tools/call", `{"name":"check_exit_signals","arguments":{"ticker":"VTI","output":"file"}}`),
		message(5, "resources/read", `{"uri":"file:///etc/passwd"}`),
		message(6, "no/such/method", `{}`),
	}, "\n") + "\n")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	stdout, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	answered := map[float64]bool{}
	lines := bufio.NewScanner(bytes.NewReader(stdout))
	for lines.Scan() {
		var m map[string]any
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m["jsonrpc"] != "2.0" {
			t.Errorf("not the protocol: %q", lines.Text())
			continue
		}
		id, _ := m["id"].(float64)
		answered[id] = true
	}
	if diff := cmp.Diff(map[float64]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true}, answered); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if !bytes.HasSuffix(stdout, []byte("}\n")) {
		t.Errorf("it ends in %q", stdout[max(0, len(stdout)-20):])
	}
	if !strings.Contains(stderr.String(), "a tool panicked") || strings.Contains(stderr.String(), "\x1b") {
		t.Errorf("the log is %q", &stderr)
	}
	if bytes.Contains(stdout, []byte("secret")) {
		t.Error("the client was told what the panic said")
	}
}

func TestStdioRefusesWhatIsNoMessage(t *testing.T) {
	for name, input := range map[string]string{
		"no JSON":      "hello\n",
		"half a line":  initialize + "\n" + `{"jsonrpc":`,
		"no message":   `{"some":"object"}` + "\n",
		"a long line":  `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2<<20) + `"}` + "\n",
		"deep nesting": strings.Repeat("[", 1<<19) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := mcpserver.New(&fake{}, "1", mcpserver.Options{}).ServeStdio(t.Context(), io.NopCloser(strings.NewReader(input)), &out)
			if err == nil || !strings.Contains(err.Error(), "one line of JSON of at most 1 MB") {
				t.Errorf("error is %v", err)
			}
			if name == "half a line" && !strings.Contains(out.String(), `"serverInfo"`) {
				t.Errorf("what came before was not answered: %q", &out)
			}
		})
	}
}

func TestStdioStops(t *testing.T) {
	f := &fake{waiting: make(chan struct{}), ended: make(chan error, 1)}
	in, toServer := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- mcpserver.New(f, "1", mcpserver.Options{}).ServeStdio(ctx, in, io.Discard) }()
	for _, m := range []string{initialize, initialized, message(2, "tools/call", `{"name":"check_exit_signals","arguments":{"ticker":"WAIT"}}`)} {
		if _, err := io.WriteString(toServer, m+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-f.waiting
	cancel()
	if err := <-served; err != nil {
		t.Errorf("a stop is no error: %v", err)
	}
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the tool was told %v", err)
	}
	if _, err := io.WriteString(toServer, "x"); err == nil {
		t.Error("the input is still open")
	}
}
