package toolbox

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// testMode makes the test's binary an MCP server of some kind.
const testMode = "TOOLBOX_TEST_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(testMode); mode != "" {
		serve(mode)
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // what is side by side waits
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// slowly is the time of a server that uses it up: enough for it to start and to answer before, also on a busy machine.
const slowly = 6 * time.Second

// program is the test's binary as a server.
func program(mode string, env ...string) Server {
	s := Server{Command: os.Args[0], Env: map[string]string{testMode: mode, "GORACE": "atexit_sleep_ms=0"}, Timeout: time.Minute}
	for i := 0; i < len(env); i += 2 {
		s.Env[env[i]] = env[i+1]
	}
	return s
}

func serve(mode string) {
	ctx := context.Background()
	switch mode {
	case "crash":
		fmt.Fprintf(os.Stderr, "early\n%s\nno \x1b[31mdatabase\u202e at %s, key %s\n", strings.Repeat("x", 5000), os.Getenv("PLACE"), os.Getenv("API_KEY"))
		os.Exit(4)
	case "hang": // and does not want to end
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "waiting for the moon")
		tell(os.Getenv("TELL"))
		time.Sleep(time.Minute) // should a test not end it
	case "deaf": // answers what comes first, and then reads nothing any more
		answer(bufio.NewReader(os.Stdin), map[string]string{"tools/list": `{"tools":[{"name":"talk","inputSchema":{"type":"object"}}]}`}, "tools/list")
		time.Sleep(time.Minute) // should a test not end it
	case "raw":
		replies := map[string]string{}
		if err := json.Unmarshal([]byte(os.Getenv("REPLIES")), &replies); err != nil {
			panic(err)
		}
		answer(bufio.NewReader(os.Stdin), replies, "")
	case "noise":
		fmt.Println("Listening…\n[1]\n{\"level\":\"info\"}\n{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}} and more")
		fmt.Println(strings.Repeat("noise ", 100_000))
		fallthrough
	default:
		if err := testServer(mode, nil).Run(ctx, &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// answer is a server that says what it is told to, until it has answered the last method.
func answer(in *bufio.Reader, replies map[string]string, last string) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(line, &m); err != nil || m.ID == nil {
			continue
		}
		reply, ok := replies[m.Method]
		switch {
		case ok:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, reply)
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`+"\n", m.ID)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no %s here"}}`+"\n", m.ID, m.Method)
		}
		if m.Method == last {
			return
		}
	}
}

// tell says to a test that something has come to pass.
func tell(address string) {
	c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address)
	if err == nil {
		_ = c.Close()
	}
}

// told returns an address for tell, and a channel that is closed when it was told.
func told(t *testing.T) (address string, done <-chan struct{}) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	ch := make(chan struct{})
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
			close(ch)
		}
	}()
	return l.Addr().String(), ch
}

type testArguments struct {
	Text string `json:"text,omitempty"`
	Tell string `json:"tell,omitempty"`
	Size int    `json:"size,omitempty"`
}

// testServer is a server with tools of many kinds. What waits in them ends when the test is over:
// over HTTP, a server is not always told that nobody waits for it any more.
func testServer(mode string, over <-chan struct{}) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, run func(context.Context, testArguments) ([]mcp.Content, error)) {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "does " + name}, func(ctx context.Context, _ *mcp.CallToolRequest, a testArguments) (*mcp.CallToolResult, any, error) {
			content, err := run(ctx, a)
			return &mcp.CallToolResult{Content: content}, nil, err
		})
	}
	text := func(s string) ([]mcp.Content, error) { return []mcp.Content{&mcp.TextContent{Text: s}}, nil }
	add("echo", func(_ context.Context, a testArguments) ([]mcp.Content, error) { return text(a.Text) })
	add("fail", func(context.Context, testArguments) ([]mcp.Content, error) {
		return nil, fmt.Errorf("the moon is down")
	})
	add("pid", func(context.Context, testArguments) ([]mcp.Content, error) { return text(fmt.Sprint(os.Getpid())) })
	add("env", func(_ context.Context, a testArguments) ([]mcp.Content, error) { return text(os.Getenv(a.Text)) })
	add("huge", func(_ context.Context, a testArguments) ([]mcp.Content, error) {
		return text(strings.Repeat("ä", a.Size/2))
	})
	add("crash", func(context.Context, testArguments) ([]mcp.Content, error) {
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(7)
		return nil, nil
	})
	add("slow", func(ctx context.Context, a testArguments) ([]mcp.Content, error) {
		tell(a.Tell)
		select {
		case <-ctx.Done():
		case <-over:
		}
		return nil, fmt.Errorf("nobody waits")
	})
	add("spawn", func(_ context.Context, a testArguments) ([]mcp.Content, error) {
		child := exec.CommandContext(context.Background(), "sleep", "300")
		if a.Text == "away" {
			child = exec.CommandContext(context.Background(), "setsid", "sleep", "300")
		}
		if err := child.Start(); err != nil {
			return nil, err
		}
		return text(fmt.Sprint(child.Process.Pid))
	})
	add("show", func(context.Context, testArguments) ([]mcp.Content, error) {
		size := int64(3)
		return []mcp.Content{
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("1234")},
			&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("12")},
			&mcp.ResourceLink{URI: "file:///a", Name: "a", MIMEType: "text/plain", Size: &size},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", MIMEType: "text/plain", Text: "text of b"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///c", MIMEType: "x/y", Blob: []byte("123")}},
			&mcp.TextContent{Text: "a\r\nb\rc\x1b[0m\x00\td"},
		}, nil
	})
	s.AddTool(&mcp.Tool{Name: "structured", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}, Content: []mcp.Content{}}, nil
	})
	if mode == "many" {
		for i := range 1000 {
			add(fmt.Sprintf("many%03d", i), func(context.Context, testArguments) ([]mcp.Content, error) { return text("x") })
		}
	}
	return s
}

// opened opens a toolbox and closes it after the test.
func opened(t *testing.T, c Config) *Toolbox {
	t.Helper()
	b, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// with is a configuration of one server.
func with(s Server) Config { return Config{Servers: map[string]Server{"test": s}} }

func call(t *testing.T, b *Toolbox, tool string, a any) Result {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return b.Call(t.Context(), tool, raw)
}

// must calls a tool that has to answer.
func must(t *testing.T, b *Toolbox, tool string, a any) string {
	t.Helper()
	r := call(t, b, tool, a)
	if r.Failed {
		t.Fatalf("%s failed: %s", tool, r.Text)
	}
	return r.Text
}

// ends fails a test in which something does not come to an end. How long it takes is not judged.
func ends(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("it does not end")
	}
}
