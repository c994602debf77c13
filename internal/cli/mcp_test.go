package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/mcpserver/mcptest"
)

// toolRepo is a checkout with a plan whose agent asks a question first.
func toolRepo(t *testing.T) string {
	t.Helper()
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("whole deliveries, by agents in process groups")
	}
	repo := gittest.New(t)
	for name, text := range map[string]string{
		"signalbox.yaml": "agents: {scripted: {command: [./agent]}}\nchecks: [{name: tests, command: echo it is checked}]\naudit: never\nredact: ['ACME-[0-9]{8}']\n",
		"plan.md":        "# One thing\n\n#### Task T-1: A file\n\n**Work**: Write it.\n",
		"agent": `#!/bin/sh
prompt=$(cat)
run=$(printf '%s\n' "$prompt" | sed -n 's/^\(run=[^ ]*\) belongs to this session.*/\1/p')
case $SIGNALBOX_ROLE.$prompt in
developer*"blue"*) echo It says ACME-12345678 and sbt_$(printf %064d 0) there; echo done >$SIGNALBOX_TASK.txt; echo READY_FOR_REVIEW: $SIGNALBOX_TASK $run ;;
developer*) echo SEEKING_DIVINE_CLARIFICATION $run; echo Question: which colour? ;;
critic*) echo REVIEW_PASSED: $SIGNALBOX_TASK $run ;;
esac
`,
	} {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Git(t, repo, "add", "-A")
	gittest.Git(t, repo, "commit", "-qm", "a plan")
	return repo
}

// signalbox is the program, in a checkout: this test's binary under a name of its own, which sessions are started by too.
func signalbox(t *testing.T, repo string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("signalbox")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil || filepath.Base(program) != "signalbox" {
		t.Fatalf("the program is %q: %v", program, err) // under another name the box would start these tests as its sessions
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Dir = repo
	return cmd
}

// byStdio is how a client speaks to a server that ends when the client leaves, also if a busy machine takes its time for that.
func byStdio(server *exec.Cmd) mcp.Transport {
	return &mcp.CommandTransport{Command: server, TerminateDuration: time.Minute}
}

// toolReply is an answer in agent format.
type toolReply struct {
	Status   string
	Snapshot map[string]any
	Flags    []struct{ Flag string }
}

func (r toolReply) flagged(name string) bool {
	return slices.ContainsFunc(r.Flags, func(f struct{ Flag string }) bool { return f.Flag == name })
}

func callTool(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) (r toolReply) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if err := json.Unmarshal([]byte(result.Content[0].(*mcp.TextContent).Text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func wantFlag(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any, flag string) toolReply {
	t.Helper()
	r := callTool(t, session, tool, arguments)
	if !r.flagged(flag) {
		t.Errorf("%s %v has not the flag %s: %+v", tool, arguments, flag, r)
	}
	return r
}

// waitFor calls wait_run until it says this.
func waitFor(t *testing.T, session *mcp.ClientSession, flag string) toolReply {
	t.Helper()
	arguments := map[string]any{"run": "R1"}
	for range 20 {
		r := callTool(t, session, "wait_run", arguments)
		if r.flagged(flag) {
			return r
		}
		arguments["since"] = r.Snapshot["sequence"]
	}
	t.Fatalf("%s is never flagged", flag)
	panic("unreachable")
}

// A plan is delivered by the tools alone, in a process that is the box until its client leaves. The person answers.
func TestToolsOverStdio(t *testing.T) {
	t.Parallel()
	repo := toolRepo(t)
	server := signalbox(t, repo, "mcp")
	var said bytes.Buffer
	server.Stderr = &said
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), byStdio(server), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantFlag(t, session, "list_runs", nil, "no_runs")
	wantFlag(t, session, "get_run", nil, "not_found")
	wantFlag(t, session, "check_plan", map[string]any{"path": "plan.md"}, "plan_ok")
	wantFlag(t, session, "check_plan", map[string]any{"path": "../plan.md"}, "invalid")
	wantFlag(t, session, "check_plan", map[string]any{"path": ".git/config"}, "invalid")
	if _, err := os.Stat(filepath.Join(repo, ".signalbox")); err == nil {
		t.Error("a box was made, and nothing was started")
	}
	wantFlag(t, session, "start_run", map[string]any{"path": "plan.md"}, "done")
	asked := waitFor(t, session, "question_waiting")
	wantFlag(t, session, "answer_question", map[string]any{"question": "R1-Q1", "answer": "blue"}, "unauthorized")
	wantFlag(t, session, "explain_wait", map[string]any{"work": "T-1"}, "question_waiting")
	if out, err := signalbox(t, repo, "answer", "R1-Q1", "it is blue").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s; %+v", err, out, asked)
	}
	waitFor(t, session, "run_finished")
	if r := callTool(t, session, "get_diff", map[string]any{"work": "R1.T-1"}); !strings.Contains(r.Snapshot["quoted_text"].(string), "+done") {
		t.Errorf("%+v", r)
	}
	if r := callTool(t, session, "get_log", map[string]any{"work": "R1.T-1"}); !strings.Contains(r.Snapshot["quoted_text"].(string), "READY_FOR_REVIEW") {
		t.Errorf("%+v", r)
	}
	if r := callTool(t, session, "get_log", map[string]any{"work": "R1.T-1", "offset": 0}); !strings.Contains(r.Snapshot["quoted_text"].(string), "It says [redacted:listed] and [redacted:listed] there") {
		t.Errorf("a client is told secrets that an agent has printed: %+v", r)
	}
	wantFlag(t, session, "get_task", map[string]any{"work": "T-1"}, "task_completed")
	wantFlag(t, session, "prove_event", map[string]any{"sequence": 1}, "proven")
	for uri, want := range map[string]string{"signalbox://runs/R1/plan": "**Work**: Write it.", "signalbox://tasks/R1.T-1/diff": "+done", "signalbox://tasks/R1.T-1/log": "READY_FOR_REVIEW"} {
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(read.Contents[0].Text, want) {
			t.Errorf("%s: %v, %v", uri, read, err)
		}
	}
	if err := session.Close(); err != nil {
		t.Errorf("%v\n%s", err, &said)
	}
	if !strings.Contains(said.String(), "stopped; agents are ended") {
		t.Errorf("it said %q", &said)
	}
	recordedBy(t, repo, "client:mcp", "operator") // the person answered
}

// A client that was killed reads no answer. What it has started is ended all the same.
func TestToolsOfAKilledClient(t *testing.T) {
	t.Parallel()
	server := signalbox(t, toolRepo(t), "mcp")
	var said bytes.Buffer
	server.Stderr = &said
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ask := func(message string) {
		t.Helper()
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	answers := bufio.NewScanner(out)
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"start_run","arguments":{"path":"plan.md"}}}`)
	for answers.Scan() && !strings.Contains(answers.Text(), "delivers the plan") {
	}
	if answers.Err() != nil || !strings.Contains(answers.Text(), "delivers the plan") {
		t.Fatalf("%q, %v, %s", answers.Text(), answers.Err(), &said)
	}
	ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait_run","arguments":{"seconds":1}}}`)
	if err := errors.Join(out.Close(), in.Close()); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it may say that nobody reads
	if !strings.Contains(said.String(), "stopped; agents are ended") {
		t.Errorf("%v, and it said %q", server.ProcessState, &said)
	}
}

// Everything on standard output is the protocol, of the version that the client speaks, and every request is answered though the input
// ends at once.
func TestToolsPiped(t *testing.T) {
	t.Parallel()
	repo := toolRepo(t)
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		server := signalbox(t, repo, "mcp", "--json")
		server.Stdin = strings.NewReader(strings.Join([]string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"check_plan","arguments":{"path":"plan.md"}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get_diff","arguments":{"work":"T-1"}}}`,
			`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`,
			`{"jsonrpc":"2.0","id":6,"method":"no/such/method"}`,
		}, "\n") + "\n")
		out, err := server.Output()
		if err != nil {
			t.Errorf("%s: %v", version, err)
		}
		answered := map[int]bool{}
		for line := range bytes.Lines(out) {
			var m struct {
				Version string `json:"jsonrpc"`
				ID      int
			}
			if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
				t.Errorf("%s: not the protocol: %q", version, line)
			}
			answered[m.ID] = true
		}
		if len(answered) != 6 || !bytes.Contains(out, []byte(`"protocolVersion":"`+version+`"`)) {
			t.Errorf("%s: %d answers:\n%s", version, len(answered), out)
		}
	}
}

// Whose token is not for it starts no box, which would bring on what was started before.
func TestToolsStartNoBoxWithoutTheRight(t *testing.T) {
	t.Parallel()
	repo := toolRepo(t)
	ask := func(token string) string {
		t.Helper()
		server := signalbox(t, repo, "mcp")
		server.Env = append(os.Environ(), "SIGNALBOX_TOKEN="+token)
		server.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"start_run","arguments":{"path":"plan.md"}}}
`)
		out, err := server.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if out := ask(""); !strings.Contains(out, "delivers the plan") {
		t.Fatal(out)
	}
	token, err := signalbox(t, repo, "token", "create", "--name", "looks", "--scope", "read").Output()
	log := filepath.Join(repo, ".signalbox", "box.log") // which only a box that goes on writes
	if err = errors.Join(err, os.Remove(log)); err != nil {
		t.Fatal(err)
	}
	if out := ask(strings.TrimSpace(string(token))); !strings.Contains(out, `"flag":"unauthorized"`) {
		t.Error(out)
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("a box was started")
	}
}

// Without a box, tools that look open it for the request, and nobody waits for a run that nobody brings on.
func TestToolsWithoutABox(t *testing.T) {
	t.Parallel()
	repo := toolRepo(t)
	if out, err := signalbox(t, repo, "run", "plan.md").CombinedOutput(); !strings.Contains(string(out), "R1-Q1") {
		t.Fatalf("%v: %s", err, out)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), byStdio(signalbox(t, repo, "mcp", "--scope", "read,operate,answer", "--name", "claude")), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantFlag(t, session, "get_run", nil, "question_waiting")
	wantFlag(t, session, "get_run", nil, "run_stopped")
	wantFlag(t, session, "wait_run", nil, "run_stopped")
	wantFlag(t, session, "check_plan", map[string]any{"path": "none.md"}, "not_found")
	wantFlag(t, session, "check_plan", map[string]any{"path": "../plan.md"}, "invalid")
	wantFlag(t, session, "check_plan", map[string]any{"path": "/etc/passwd"}, "invalid")
	wantFlag(t, session, "answer_question", map[string]any{"question": "R1-Q1", "answer": "blue, I say"}, "done")
	wantFlag(t, session, "cancel", map[string]any{"id": "R1"}, "done")
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	recordedBy(t, repo, "client:claude")
}

// Where no agents are named, a plan can't be delivered, and the person is asked to set that up.
func TestToolsNotSetUp(t *testing.T) {
	t.Parallel()
	repo := toolRepo(t)
	if err := os.Remove(filepath.Join(repo, config.File)); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), byStdio(signalbox(t, repo, "mcp")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"check_plan", "start_run"} {
		wantFlag(t, session, tool, map[string]any{"path": "plan.md"}, "not_set_up")
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// recordedBy wants events of each of these.
func recordedBy(t *testing.T, repo string, actors ...string) {
	t.Helper()
	events, err := signalbox(t, repo, "events", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, actor := range actors {
		if !bytes.Contains(events, []byte(`"actor":"`+actor+`"`)) {
			t.Errorf("nothing is recorded as done by %s:\n%s", actor, events)
		}
	}
}

// A box offers the tools over HTTP, to clients with a token, and to no page of another site.
func TestToolsOverHTTP(t *testing.T) {
	t.Parallel()
	repo := toolRepo(t)
	up := signalbox(t, repo, "up")
	up.Env = append(os.Environ(), "SIGNALBOX_TOKEN=another's") // what others ask the box is not asked with it
	listens := &awaited{text: "listening", seen: make(chan struct{})}
	up.Stdout, up.Stderr = listens, listens
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(os.Interrupt)
		if err := up.Wait(); err != nil {
			t.Error(err)
		}
		if said := listens.all.String(); strings.Contains(said, "level=INFO") && strings.Contains(said, "session") {
			t.Errorf("the box tells of each request:\n%s", said)
		}
	})
	<-listens.seen
	out, err := signalbox(t, repo, "mcp", "--http", "--json").Output()
	var where struct{ URL string }
	if err != nil || json.Unmarshal(out, &where) != nil || !strings.HasSuffix(where.URL, "/mcp") {
		t.Fatalf("%s, %v", out, err)
	}
	token := func(scopes string) string {
		t.Helper()
		out, err := signalbox(t, repo, "token", "create", "--name", "by-"+strings.ReplaceAll(scopes, ",", "-"), "--scope", scopes, "--json").Output()
		var made struct{ Token string }
		if err != nil || json.Unmarshal(out, &made) != nil || made.Token == "" {
			t.Fatalf("%s, %v", out, err)
		}
		return made.Token
	}
	connected := func(token string) *mcp.ClientSession {
		t.Helper()
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: where.URL, HTTPClient: &http.Client{Transport: withToken{token, transport}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		return session
	}
	operator := connected(token("read,operate"))
	wantFlag(t, operator, "start_run", map[string]any{"path": "plan.md"}, "done")
	waitFor(t, operator, "question_waiting")
	reader := connected(token("read"))
	wantFlag(t, reader, "get_run", nil, "question_waiting")
	wantFlag(t, reader, "check_plan", map[string]any{"path": "plan.md"}, "plan_running")
	wantFlag(t, reader, "get_log", map[string]any{"work": "T-1"}, "text_end")
	wantFlag(t, reader, "pause", nil, "unauthorized")
	wantFlag(t, operator, "answer_question", map[string]any{"question": "R1-Q1", "answer": "blue"}, "unauthorized")
	byToken := signalbox(t, repo, "mcp")
	byToken.Env = append(os.Environ(), "SIGNALBOX_TOKEN="+token("operate"))
	alone, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), byStdio(byToken), nil)
	if err != nil {
		t.Fatal(err)
	}
	wantFlag(t, alone, "pause", map[string]any{"run": "R1"}, "done")
	wantFlag(t, alone, "pause", map[string]any{"run": "R1", "resume": true}, "done")
	if err := alone.Close(); err != nil {
		t.Error(err)
	}
	wantFlag(t, connected(token("answer")), "answer_question", map[string]any{"question": "R1-Q1", "answer": "it is blue"}, "done")
	waitFor(t, operator, "run_finished")
	for name, change := range map[string]func(*http.Request){
		"no token":       func(*http.Request) {},
		"a wrong token":  func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") },
		"a foreign page": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"another name":   func(r *http.Request) { r.Host = "evil.example" },
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, where.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if strings.HasPrefix(name, "a foreign") || name == "another name" {
			r.Header.Set("Authorization", "Bearer "+apiToken(t, repo))
		}
		change(r)
		r.Close = true
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", name, response.StatusCode)
		}
	}
	recordedBy(t, repo, "client:by-read-operate", "client:by-answer", "client:by-operate")
}

func apiToken(t *testing.T, repo string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repo, ".signalbox", "api.token"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// withToken sends a token with each request.
type withToken struct {
	token string
	http.RoundTripper
}

func (b withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// awaited closes seen when a text was written.
type awaited struct {
	all  bytes.Buffer // not embedded: everything comes by Write
	text string
	seen chan struct{}
	done bool
}

func (a *awaited) Write(p []byte) (int, error) {
	n, err := a.all.Write(p)
	if !a.done && strings.Contains(a.all.String(), a.text) {
		a.done = true
		close(a.seen)
	}
	return n, err
}

func TestToolsUsage(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	for want, args := range map[string][]string{
		"--scope everything: it takes read, operate and answer, at least one": {"mcp", "--scope", "everything"},
		"--scope metrics: it takes read, operate and answer":                  {"mcp", "--scope", "metrics"},
		"a name has":        {"mcp", "--name", "Ann B"},
		"no box is running": {"mcp", "--http"},
	} {
		out, err := signalbox(t, repo, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}

// TestToolsInspector asks by a client that is not of the same making, over standard input and output.
func TestToolsInspector(t *testing.T) {
	t.Parallel()
	repo := toolRepo(t)
	program := signalbox(t, repo).Path
	inspector := mcptest.NewInspector(t, repo, program, "mcp")
	type answer struct {
		Tools             []struct{ Name string }
		StructuredContent toolReply
		Contents          []struct{ Text string }
	}
	ask := func(method string, arguments ...string) answer {
		t.Helper()
		return mcptest.Ask[answer](t, inspector, method, arguments...)
	}
	if n := len(ask("tools/list").Tools); n != 15 {
		t.Errorf("%d tools", n)
	}
	if r := ask("tools/call", "--tool-name", "check_plan", "--tool-arg", "path=plan.md").StructuredContent; !r.flagged("plan_ok") {
		t.Errorf("%+v", r)
	}
	if read := ask("resources/read", "--uri", "signalbox://schema"); len(read.Contents) != 1 || !strings.Contains(read.Contents[0].Text, "$schema") {
		t.Errorf("%+v", read)
	}
}
