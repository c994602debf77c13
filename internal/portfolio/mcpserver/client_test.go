package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/internal/portfolio/mcpserver"
)

var update = flag.Bool("update", false, "rewrite testdata")

// connectStdio starts a server as a process of its own.
func connectStdio(t *testing.T) *mcp.ClientSession {
	t.Helper()
	return connect(t, &mcp.CommandTransport{Command: program(t), TerminateDuration: time.Minute})
}

// program is this test's binary as a server. Its input's end ends it.
func program(t *testing.T) *exec.Cmd {
	command := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	command.Env = append(os.Environ(), "MCPSERVER_TEST_DIR="+t.TempDir(), "GORACE=atexit_sleep_ms=0")
	return command
}

// connectHTTP starts a server on a port of its own.
func connectHTTP(t *testing.T) *mcp.ClientSession {
	t.Helper()
	return connectTo(t, listen(t, &fake{dir: t.TempDir()}, mcpserver.Options{Files: true}))
}

func connectTo(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client})
}

func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

// listen starts a server and stops it after the test.
func listen(t *testing.T, f *fake, o mcpserver.Options) string {
	t.Helper()
	url, stop := start(t, f, o)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return url
}

func start(t *testing.T, f *fake, o mcpserver.Options) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	announced, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- mcpserver.New(f, "1.2.3", o).ListenAndServe(ctx, "127.0.0.1:0", func(url string) { announced <- url })
	}()
	select {
	case url = <-announced:
	case err := <-ended:
		t.Fatal(err)
	}
	return url, func() error {
		cancel()
		return <-ended
	}
}

// on runs a test over both transports.
func on(t *testing.T, test func(*testing.T, *mcp.ClientSession)) {
	t.Run("stdio", func(t *testing.T) { test(t, connectStdio(t)) })
	t.Run("http", func(t *testing.T) { test(t, connectHTTP(t)) })
}

type arguments = map[string]any

// call returns the structured body, after checking that the text says the same.
func call(t *testing.T, session *mcp.ClientSession, tool string, a any) (body map[string]any, result *mcp.CallToolResult) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		t.Fatal(err)
	}
	body, ok := result.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("structured content is %T", result.StructuredContent)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	var same map[string]any
	if err := json.Unmarshal([]byte(text), &same); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(body, same); diff != "" {
		t.Errorf("the text is not the structured content (-structured +text):\n%s", diff)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil || compact.String() != text {
		t.Errorf("the text is not compact: %s", text)
	}
	return body, result
}

func TestServerSaysWhatItIs(t *testing.T) {
	on(t, func(t *testing.T, session *mcp.ClientSession) {
		hello := session.InitializeResult()
		if hello.ServerInfo.Name != "portfolio" || hello.ServerInfo.Version != "1.2.3" {
			t.Errorf("server is %+v", hello.ServerInfo)
		}
		if n := strings.Count(hello.Instructions, ". ") + 1; n != 2 {
			t.Errorf("%d sentences of instructions", n)
		}
		if c := hello.Capabilities; c.Tools == nil || c.Resources == nil || c.Resources.ListChanged || c.Prompts != nil {
			t.Errorf("capabilities are %+v", c)
		}
	})
}

// TestDefinitions pins what agents are told of the tools. A change of it is a change of the
// contract: rewrite the file with -update and look at the difference.
func TestDefinitions(t *testing.T) {
	const file = "testdata/tools.json"
	defined := func(o mcpserver.Options) *mcp.ListToolsResult {
		list, err := connectTo(t, listen(t, &fake{}, o)).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	list := defined(mcpserver.Options{})
	got, err := json.MarshalIndent(list.Tools, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the definitions changed (-was +is):\n%s", diff)
	}
	if list.CacheScope != "private" && list.CacheScope != "" { // older protocols have none
		t.Errorf("cache scope is %q", list.CacheScope)
	}
	writing := defined(mcpserver.Options{Files: true})
	for i, tool := range writing.Tools {
		if tool.Annotations.ReadOnlyHint || !list.Tools[i].Annotations.ReadOnlyHint {
			t.Errorf("%s is read-only: %t where files are allowed, %t where not", tool.Name, tool.Annotations.ReadOnlyHint, list.Tools[i].Annotations.ReadOnlyHint)
		}
		tool.Annotations.ReadOnlyHint = true
	}
	if diff := cmp.Diff(list.Tools, writing.Tools); diff != "" {
		t.Errorf("a directory for files changes more than what is told of writing:\n%s", diff)
	}
}

// A server without a directory writes nothing, and says how it could.
func TestFilesAreOff(t *testing.T) {
	f := &fake{dir: t.TempDir()}
	session := connectTo(t, listen(t, f, mcpserver.Options{}))
	const why = "output=file is off: this server writes no files; start it as `portfolio mcp --logs DIR` to allow it there, or ask for format=full"
	for _, tool := range []string{"check_exit_signals", "suggest_tax_loss_harvest", "list_positions", "list_gains"} {
		body, result := call(t, session, tool, arguments{"output": "file"})
		if diff := cmp.Diff(map[string]any{"status": "error", "error": why}, body); diff != "" || !result.IsError {
			t.Errorf("%s: %s", tool, diff)
		}
		body, result = call(t, session, tool, arguments{"output": "file", "format": "agent"})
		if flags, _ := body["flags"].([]any); !result.IsError || body["format"] != "agent" || len(flags) != 1 {
			t.Errorf("%s: %v", tool, body)
		}
	}
	if files, err := os.ReadDir(f.dir); err != nil || len(files) > 0 || len(f.calls) > 0 {
		t.Errorf("%v, %v, calls %v", files, err, f.calls)
	}
	body, _ := call(t, session, "suggest_tax_loss_harvest", arguments{"account_id": "big", "format": "full"})
	if note, _ := body["note"].(string); !strings.HasSuffix(note, "Ask for one account for less; a server that is started with --logs DIR can write the rest to a file.") {
		t.Errorf("%v", body["note"])
	}
}

func TestListArguments(t *testing.T) {
	session := connectPipes(t, &fake{})
	body, _ := call(t, session, "list_gains", arguments{"year": 2025, "symbol": "SLV", "account_id": "a", "as_of": "2025-12-31", "format": "agent"})
	want := map[string]any{"status": "success", "what": "gains", "symbol": "SLV", "account_id": "a", "as_of": "2025-12-31", "year": 2025.0, "asked": "agent"}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	for arguments, want := range map[string]string{
		`{"year":99}`:     "year is at least 1900, not 99",
		`{"year":"2025"}`: `year is a whole number, not "2025"`,
		`{"ticker":"A"}`:  `there is no argument "ticker", only account_id, as_of, format, output, symbol and year`,
	} {
		if body, result := call(t, session, "list_gains", json.RawMessage(arguments)); !result.IsError || body["error"] != want {
			t.Errorf("%s: %v", arguments, body)
		}
	}
	body, result := call(t, session, "list_gains", arguments{"year": 1, "format": "agent"})
	agentError(t, body, result, "gains_error", "Listing gains failed: year is at least 1900, not 1")
	body, result = call(t, session, "list_positions", arguments{"as_of": 1, "format": "agent"})
	agentError(t, body, result, "positions_error", `Listing positions failed: as_of is a string such as "2026-01-31", not 1`)
}

func TestDefinitionsAreShort(t *testing.T) {
	url := listen(t, &fake{}, mcpserver.Options{})
	_, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	const most = 1200 * 4 // tokens of four characters
	if n := len(answer.Result); n < 500 || n > most {
		t.Errorf("the definitions have %d characters, of at most %d", n, most)
	}
}

func TestFormatsAndOutputs(t *testing.T) {
	type choice struct {
		Enum    []string
		Default string
	}
	want := map[string]map[string]choice{
		"check_exit_signals": {
			"format": {[]string{"summary", "full", "agent"}, "summary"},
			"output": {[]string{"inline", "file"}, "inline"},
		},
		"suggest_tax_loss_harvest": {
			"format": {[]string{"full", "summary", "report", "agent"}, "summary"},
			"output": {[]string{"inline", "file"}, "inline"},
		},
		"list_positions": {
			"format": {[]string{"summary", "full", "agent"}, "summary"},
			"output": {[]string{"inline", "file"}, "inline"},
		},
		"list_gains": {
			"format": {[]string{"summary", "full", "agent"}, "summary"},
			"output": {[]string{"inline", "file"}, "inline"},
		},
	}
	list, err := connectHTTP(t).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]choice{}
	for _, tool := range list.Tools {
		data, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema struct{ Properties map[string]choice }
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatal(err)
		}
		got[tool.Name] = map[string]choice{"format": schema.Properties["format"], "output": schema.Properties["output"]}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEveryFormat(t *testing.T) {
	on(t, func(t *testing.T, session *mcp.ClientSession) {
		for tool, formats := range map[string][]string{
			"check_exit_signals":       {"", "summary", "full", "agent"},
			"suggest_tax_loss_harvest": {"", "full", "summary", "report", "agent"},
			"list_positions":           {"", "full", "summary", "agent"},
			"list_gains":               {"", "full", "summary", "agent"},
		} {
			for _, format := range formats {
				a, want := arguments{"ticker": "VTI"}, "summary"
				if tool != "check_exit_signals" {
					a = arguments{}
				}
				if format != "" {
					a["format"], want = format, format
				}
				body, result := call(t, session, tool, a)
				if result.IsError || body["asked"] != want || len(result.Content) != 1 {
					t.Errorf("%s %q: error %v, %d contents, %v", tool, format, result.IsError, len(result.Content), body)
				}
			}
		}
	})
}

func TestArgumentsArrive(t *testing.T) {
	on(t, func(t *testing.T, session *mcp.ClientSession) {
		body, _ := call(t, session, "check_exit_signals", json.RawMessage(
			`{"ticker":"BRK.B","shares":12345678901234567890.125,"account_id":"ira-1","as_of":"2024-02-29","format":null}`))
		want := map[string]any{
			"status": "success", "ticker": "BRK.B", "shares": "12345678901234567890.125", "account_id": "ira-1",
			"as_of": "2024-02-29", "asked": "summary", "text": `<a href="x">&</a>`,
		}
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		body, _ = call(t, session, "suggest_tax_loss_harvest", json.RawMessage(`{"min_loss":0,"sort_by":"ticker"}`))
		want = map[string]any{"status": "success", "min_loss": "0", "sort_by": "ticker", "account_id": "", "as_of": "", "asked": "summary"}
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		body, _ = call(t, session, "suggest_tax_loss_harvest", nil)
		want["min_loss"], want["sort_by"] = nil, "loss"
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWrongArguments(t *testing.T) {
	session := connectPipes(t, &fake{}) // over HTTP the client refuses some of these itself
	const names = "account_id, as_of, format, output, shares and ticker"
	for _, c := range []struct{ arguments, want string }{
		{`{"ticker":7}`, "ticker is a string, not 7"},
		{`{"ticker":"A","tickr":"B"}`, `there is no argument "tickr", only ` + names},
		{`{"ticker":"A","Ticker":"B"}`, `there is no argument "Ticker", only ` + names},
		{`{"ticker":"A","shares":"10"}`, `shares is a number, not "10"`},
		{`{"ticker":"A","shares":true}`, `shares is a number, not true`},
		{`{"ticker":"A","shares":-5}`, "shares is more than 0, not -5"},
		{`{"ticker":"A","shares":0}`, "shares is more than 0, not 0"},
		{`{"ticker":"A","shares":1e400}`, `shares is a number in plain digits, such as 1250.5: "1e400" is not a number`},
		{`{"ticker":"A","shares":"NaN"}`, `shares is a number, not "NaN"`},
		{`{"ticker":"A","as_of":"2025-02-29"}`, `as_of: "2025-02-29" is no day of the calendar`},
		{`{"ticker":"A","as_of":"tomorrow"}`, `as_of: "tomorrow" is no date; write it as YYYY-MM-DD`},
		{`{"ticker":"A","as_of":20250101}`, `as_of is a string such as "2026-01-31", not 20250101`},
		{`{"ticker":"A","format":"report"}`, `format is summary, full or agent, not "report"`},
		{`{"ticker":"A","format":["full"]}`, `format is summary, full or agent, not ["full"]`},
		{`{"ticker":"A","output":"\u202epipe"}`, `output is inline or file, not "\u202epipe"`},
		{"{\"ticker\":\"A\",\"output\":\"\u202epipe\"}", `output is inline or file, not "\u202epipe"`},
		{`{"shares":-1,"output":1,"x":{}}`, `there is no argument "x", only ` + names +
			"; shares is more than 0, not -1; output is inline or file, not 1"},
		{`[1]`, "the arguments are a JSON object, not [1]"},
		{`{"ticker":"A","account_id":["` + strings.Repeat("y", 1000) + `"]}`, `account_id is a string, not ["` + strings.Repeat("y", 38) + "…"},
	} {
		body, result := call(t, session, "check_exit_signals", json.RawMessage(c.arguments))
		want := map[string]any{"status": "error", "error": c.want}
		if diff := cmp.Diff(want, body); diff != "" || !result.IsError {
			t.Errorf("%.80s: error %v (-want +got):\n%s", c.arguments, result.IsError, diff)
		}
	}
	body, result := call(t, session, "suggest_tax_loss_harvest", arguments{"min_loss": -1, "sort_by": "size", "format": "agent"})
	agentError(t, body, result, "harvest_error",
		`Tax harvest analysis failed: min_loss is at least 0, not -1; sort_by is loss, ticker, date or term, not "size"`)

	many := arguments{"ticker": "A"}
	for i := range 1000 {
		many[fmt.Sprintf("x%03d%0100d", i, 0)] = i
	}
	body, _ = call(t, session, "check_exit_signals", many)
	zeros := strings.Repeat("0", 36)
	want := fmt.Sprintf(`there is no argument "x000%s", "x001%s", "x002%s" or 997 more, only %s`, zeros, zeros, zeros, names)
	if body["error"] != want {
		t.Errorf("error is %v, want %s", body["error"], want)
	}
}

// agentError checks that an error came in the agent format.
func agentError(t *testing.T, body map[string]any, result *mcp.CallToolResult, flag, verdict string) {
	t.Helper()
	got := map[string]any{"failed": result.IsError, "status": body["status"], "format": body["format"], "flags": body["flags"], "file_path": body["file_path"]}
	want := map[string]any{
		"failed": true, "status": "error", "format": "agent", "file_path": nil,
		"flags": []any{map[string]any{"flag": flag, "severity": "error", "message": verdict}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("an error has the format that was asked for (-want +got):\n%s", diff)
	}
	if snapshot, ok := body["snapshot"].(map[string]any); !ok || snapshot["verdict"] != verdict {
		t.Errorf("the snapshot is %v", body["snapshot"])
	}
}

func TestFailures(t *testing.T) {
	const fault = "the program has a fault and could not finish this call; its log says more"
	on(t, func(t *testing.T, session *mcp.ClientSession) {
		for _, c := range []struct {
			arguments arguments
			want      map[string]any
		}{
			{arguments{"ticker": "FAIL"}, map[string]any{"status": "error", "error": "no prices for FAIL"}},
			{arguments{"ticker": "PANIC"}, map[string]any{"status": "error", "error": fault}},
			{arguments{"ticker": "NAN"}, map[string]any{"status": "error", "error": "the result can't be written as JSON: json: unsupported value: NaN"}},
			{arguments{"ticker": "LIST"}, map[string]any{"status": "error", "error": "the result is no JSON object with a status: the program has a fault"}},
			{arguments{"ticker": "BARE"}, map[string]any{"status": "error", "error": "the result is no JSON object with a status: the program has a fault"}},
		} {
			body, result := call(t, session, "check_exit_signals", c.arguments)
			if diff := cmp.Diff(c.want, body); diff != "" || !result.IsError {
				t.Errorf("%v: error %v (-want +got):\n%s", c.arguments, result.IsError, diff)
			}
		}
		body, result := call(t, session, "check_exit_signals", arguments{"ticker": "PANIC", "format": "agent"})
		agentError(t, body, result, "signal_error", "Exit signal check failed for PANIC: "+fault)
		if body, result := call(t, session, "check_exit_signals", arguments{"ticker": "GONE"}); !result.IsError {
			t.Errorf("a link to no file: %v", body)
		}
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "sell_everything"}); err == nil {
			t.Error("an unknown tool was called")
		}
	})
}

func TestFile(t *testing.T) {
	on(t, func(t *testing.T, session *mcp.ClientSession) {
		body, result := call(t, session, "check_exit_signals", arguments{"ticker": "VTI", "output": "file"})
		path := body["file_path"].(string)
		if len(result.Content) != 2 {
			t.Fatalf("%d contents", len(result.Content))
		}
		link := result.Content[1].(*mcp.ResourceLink)
		u, err := url.Parse(link.URI)
		if err != nil || u.Scheme != "file" || !strings.HasSuffix(filepath.FromSlash(u.Path), path) {
			t.Errorf("the link of %s is %s", path, link.URI)
		}
		if link.Name != filepath.Base(path) || link.MIMEType != "application/json" || link.Size == nil || *link.Size != 17 {
			t.Errorf("the link is %+v", link)
		}
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI})
		if err != nil {
			t.Fatal(err)
		}
		want := []*mcp.ResourceContents{{URI: link.URI, MIMEType: "application/json", Text: `{"full":"result"}`}}
		if diff := cmp.Diff(want, read.Contents); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		list, err := session.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != link.URI || list.Resources[0].Size != 17 {
			t.Errorf("the list is %+v, %v", list, err)
		}
	})
}

func TestLargeResults(t *testing.T) {
	f := &fake{dir: t.TempDir()}
	session := connectTo(t, listen(t, f, mcpserver.Options{Files: true}))
	body, result := call(t, session, "suggest_tax_loss_harvest", arguments{"account_id": "big", "format": "full"})
	note := "The full result is 41 KB, over the 40 KB that are answered inline; this is the summary. Call again with output=file for the rest."
	if body["note"] != note || body["asked"] != "summary" || body["candidates"] != nil || result.IsError || len(result.Content) != 1 {
		t.Errorf("%.200v", body)
	}
	if diff := cmp.Diff([]string{"full inline", "summary inline"}, f.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if files, err := os.ReadDir(f.dir); err != nil || len(files) > 0 {
		t.Errorf("written without being asked: %v, %v", files, err)
	}
	f.calls = nil
	body, result = call(t, session, "suggest_tax_loss_harvest", arguments{"account_id": "big", "format": "full", "output": "file"})
	note = "The full result is 41 KB, over the 40 KB that are answered inline; this is the summary. The rest is in the file."
	if body["note"] != note || body["asked"] != "summary" || len(result.Content) != 2 || !filepath.IsAbs(body["file_path"].(string)) {
		t.Errorf("%.200v", body)
	}
	if diff := cmp.Diff([]string{"full file", "summary inline"}, f.calls); diff != "" {
		t.Errorf("one file is written (-want +got):\n%s", diff)
	}
	body, result = call(t, session, "suggest_tax_loss_harvest", arguments{"account_id": "big on a full disk", "format": "full", "output": "file"})
	note = "The full result is 41 KB, over the 40 KB that are answered inline; this is the summary. The file with the rest could not be written."
	if body["note"] != note || body["file_error"] != "no space left" || len(result.Content) != 1 {
		t.Errorf("%.200v", body)
	}
}

func TestClientCancels(t *testing.T) {
	for name, connection := range map[string]func(*testing.T, *fake) *mcp.ClientSession{
		"stdio": connectPipes,
		"http": func(t *testing.T, f *fake) *mcp.ClientSession {
			return connectTo(t, listen(t, f, mcpserver.Options{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{waiting: make(chan struct{}), ended: make(chan error, 1)}
			session := connection(t, f)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			go func() {
				<-f.waiting
				cancel()
			}()
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "check_exit_signals", Arguments: arguments{"ticker": "WAIT"}}); err == nil {
				t.Error("a cancelled call was answered")
			}
			if err := <-f.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the tool was told %v", err)
			}
			if _, result := call(t, session, "check_exit_signals", arguments{"ticker": "VTI"}); result.IsError {
				t.Error("the server is of no use after a cancelled call")
			}
		})
	}
}
