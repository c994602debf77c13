//go:build unix

package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// lives reports whether a process is there, and not only to be waited for.
func lives(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(n, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat("/proc/self")
		return err != nil // there is no /proc to tell
	}
	line, _ := os.ReadFile("/proc/" + pid + "/cmdline") // one that was killed and has given up its memory has none
	return len(line) > 0 && !strings.Contains(string(stat), ") Z ")
}

func TestStdioServer(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-1")
	t.Setenv("ANTHROPIC_API_KEY", "sk-2")
	b := opened(t, with(program("ok", "FLAVOUR", "plum")))
	if got := must(t, b, "echo", testArguments{Text: "hello ä"}); got != "hello ä" {
		t.Errorf("got %q", got)
	}
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
		if got := call(t, b, "env", testArguments{Text: key}).Text; strings.Contains(got, "sk-") {
			t.Errorf("the server gets %s: %s", key, got)
		}
	}
	if got := must(t, b, "env", testArguments{Text: "FLAVOUR"}); got != "plum" {
		t.Errorf("got %q", got)
	}
	if r := call(t, b, "echo", testArguments{Text: "x"}); !slices.Equal(r.Sources, []string{"test"}) {
		t.Errorf("sources are %q", r.Sources)
	}
	if r := call(t, b, "fail", nil); !r.Failed || r.Text != "the moon is down" || r.Sources != nil {
		t.Errorf("%+v", r)
	}
	if got := must(t, b, "structured", nil); got != `{"a":1}` {
		t.Errorf("got %q", got)
	}
	want := "[an image, image/png, 4 bytes: not shown]\n[a sound, audio/wav, 2 bytes: not played]\n[a resource: a file:///a text/plain]\n" +
		"[a resource: file:///b text/plain]\ntext of b\n[a resource: file:///c x/y, 3 bytes: not shown]\na\nb\nc[0m\td"
	if diff := cmp.Diff(want, must(t, b, "show", nil)); diff != "" {
		t.Error(diff)
	}
	if r := b.Call(t.Context(), "echo", []byte(`{"text": 7}`)); !r.Failed || !strings.Contains(r.Text, "text") {
		t.Errorf("wrong arguments: %+v", r)
	}
	for _, a := range []string{`[1]`, `7`, `{"a":`, `{} {}`, `"x"`} {
		if r := b.Call(t.Context(), "echo", []byte(a)); !r.Failed || !strings.Contains(r.Text, "are a JSON object") {
			t.Errorf("%s: %+v", a, r)
		}
	}
	if r := b.Call(t.Context(), "echo", []byte(`{"text":"`+strings.Repeat("x", maxArguments)+`"}`)); !r.Failed {
		t.Error("arguments without bound were sent")
	}
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("ok")))
	for name, want := range map[string]string{
		"ecko":      `there is no tool "ecko": did you mean echo?`,
		"test.echo": `there is no tool "test.echo": did you mean echo?`,
		"\x1b[2J":   `there is no tool "\x1b[2J": there are crash, echo, env, fail, huge, pid, show, slow, spawn, structured`,
	} {
		if r := call(t, b, name, nil); !r.Failed || r.Text != want {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

func TestCloseEndsTheGroup(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("ok")))
	pids := []string{must(t, b, "pid", nil), must(t, b, "spawn", nil)}
	if _, err := exec.LookPath("setsid"); err == nil && runtime.GOOS == "linux" {
		pids = append(pids, must(t, b, "spawn", testArguments{Text: "away"})) // which leaves the group
	}
	for _, pid := range pids {
		if !lives(t, pid) {
			t.Fatalf("%s does not live", pid)
		}
	}
	ends(t, func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, pid := range pids {
		if lives(t, pid) {
			t.Errorf("%s is left", pid)
		}
	}
	if r := call(t, b, "echo", nil); !r.Failed || !strings.Contains(r.Text, "closed") {
		t.Errorf("%+v", r)
	}
}

func TestServerCrashesAtStart(t *testing.T) {
	t.Parallel()
	const key = "sk_very$secret"
	s := program("crash", "API_KEY", key, "PLACE", "pla")
	_, err := Open(t.Context(), Config{Servers: map[string]Server{"good": program("ok"), "bad": s}})
	var failed *ServerError
	if !errors.As(err, &failed) || failed.Server != "bad" {
		t.Fatal(err)
	}
	want := "the MCP server \"bad\" ended with exit code 4 before it answered: run its command by hand to see why, or take it out of the configuration; it printed last:\n" +
		"  no [31mdatabase\\u202e at pla, key [hidden]"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestServerIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), with(Server{Command: "no-such-program"}))
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), `the MCP server "test" can't be started: `) {
		t.Error(err)
	}
}

func TestServerHangsAtStart(t *testing.T) {
	t.Parallel() // it waits
	address, started := told(t)
	s := program("hang", "TELL", address)
	s.Timeout = slowly
	ends(t, func() {
		_, err := Open(t.Context(), with(s))
		if err == nil || !strings.Contains(err.Error(), "did not answer within 6s") || !strings.Contains(err.Error(), "waiting for the moon") {
			t.Error(err)
		}
	})
	<-started
	if testing.Short() {
		t.Skip("a server that does not want to end is waited for once with -short")
	}
	// The caller's end is another reason.
	address, started = told(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	ends(t, func() {
		_, err := Open(ctx, with(program("hang", "TELL", address)))
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestServerCrashesInACall(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("ok")))
	before := must(t, b, "pid", nil)
	r := call(t, b, "crash", nil)
	want := "the MCP server \"test\" ended with exit code 7 during the call, so it is not known whether the tool has done its work: " +
		"run its command by hand to see why, or take it out of the configuration; it printed last:\n  out of cheese"
	if !r.Failed || r.Text != want {
		t.Errorf("%+v", r)
	}
	if after := must(t, b, "pid", nil); after == before {
		t.Error("the next call did not start the server anew")
	}
}

func TestServerGoneBetweenCalls(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("ok")))
	pid, err := strconv.Atoi(must(t, b, "pid", nil))
	if err != nil {
		t.Fatal(err)
	}
	gone := b.servers[0].current.gone
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-gone
	var all sync.WaitGroup
	pids := make([]string, 8)
	for i := range pids {
		all.Go(func() { pids[i] = call(t, b, "pid", nil).Text })
	}
	all.Wait()
	if len(slices.Compact(pids)) != 1 || pids[0] == strconv.Itoa(pid) {
		t.Errorf("calls after the end went to %q", pids)
	}
}

func TestNoiseOnOutput(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("noise")))
	if got := must(t, b, "echo", testArguments{Text: "hello"}); got != "hello" {
		t.Errorf("got %q", got)
	}
}

func TestHugeResult(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("ok")))
	got := must(t, b, "huge", testArguments{Size: 1 << 20})
	text, note, _ := strings.Cut(got, "\n")
	if len(got) > maxResult || len(got) < maxResult-200 || !utf8.ValidString(got) || note != fmt.Sprintf("[%d bytes more were left out]", 1<<20-len(text)) {
		t.Errorf("%d bytes, %q", len(got), note)
	}
	if testing.Short() {
		t.Skip("a message of more than 16 MiB; not with -short")
	}
	r := call(t, b, "huge", testArguments{Size: maxMessage + 10})
	if !r.Failed || !strings.Contains(r.Text, "sent a message of more than 16 MiB during the call") {
		t.Errorf("%+.300v", r)
	}
	if got := must(t, b, "echo", testArguments{Text: "again"}); got != "again" {
		t.Errorf("got %q", got)
	}
}

func TestSlowTool(t *testing.T) {
	t.Parallel() // it waits
	s := program("ok")
	s.Timeout = slowly
	b := opened(t, with(s))
	ends(t, func() {
		if r := call(t, b, "slow", testArguments{}); !r.Failed || r.Text != `the tool "slow" of the MCP server "test" did not answer within its time of 6s` {
			t.Errorf("%+v", r)
		}
	})
	if got := must(t, b, "echo", testArguments{Text: "x"}); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestCancelledCall(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("ok")))
	address, started := told(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	ends(t, func() {
		if r := b.Call(ctx, "slow", []byte(`{"tell":"`+address+`"}`)); !r.Failed || r.Text != `the call of "slow" was cancelled: context canceled` {
			t.Errorf("%+v", r)
		}
	})
	if got := must(t, b, "echo", testArguments{Text: "x"}); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestCloseCancelsCalls(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("ok")))
	address, started := told(t)
	results := make(chan Result, 1)
	go func() { results <- call(t, b, "slow", testArguments{Tell: address}) }()
	<-started
	ends(t, func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if r := <-results; !r.Failed || !strings.Contains(r.Text, "the toolbox is closed") {
		t.Errorf("%+v", r)
	}
}

// A server that reads nothing does not hold up a call that is longer than the pipe.
func TestDeafServer(t *testing.T) {
	t.Parallel() // it waits
	s := program("deaf")
	s.Timeout = slowly
	b := opened(t, with(s))
	ends(t, func() {
		if r := call(t, b, "talk", testArguments{Text: strings.Repeat("x", 200_000)}); !r.Failed || !strings.Contains(r.Text, "within its time of 6s") {
			t.Errorf("%+v", r)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestManyTools(t *testing.T) {
	t.Parallel()
	b := opened(t, Config{Root: t.TempDir(), Servers: map[string]Server{"large": program("many"), "small": program("ok")}})
	tools := b.Tools()
	small := 0
	for _, tool := range tools {
		if tool.Server == "small" {
			small++
		}
	}
	if len(tools) > maxTools || len(tools) < maxTools-1 || small != 10 {
		t.Errorf("%d tools, %d of the small server", len(tools), small)
	}
	want := []string{`the MCP server "large" has 1010 tools of which 187 are used: there may be 200 in all`}
	if diff := cmp.Diff(want, b.Warnings()); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSortedFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the tools are not sorted")
	}
}

// raw is a server that lists tools as the text says.
func raw(tools string, more ...string) Server {
	replies := map[string]string{"tools/list": `{"tools":[` + tools + `]}`}
	for i := 0; i < len(more); i += 2 {
		replies[more[i]] = more[i+1]
	}
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(replies)) {
		b.WriteString([]string{"{", ","}[min(i, 1)] + strconv.Quote(name) + ":" + strconv.Quote(replies[name]))
	}
	return program("raw", "REPLIES", b.String()+"}")
}

func TestHostileTools(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 30)
	b := opened(t, Config{Root: t.TempDir(), Servers: map[string]Server{
		"a": raw(`{"name":"search"},{"name":"read_file"},{"name":"fetch_web"},{"name":"x y"},{"name":"x/y"},{"name":"x y"},null,{"name":""},{"name":"` + long + `"},{"name":"` + long + `2"}`),
		"b.1": raw(`{"name":"search","description":"` + strings.Repeat("ä", 3000) + `","inputSchema":{"properties":{"q":{"type":"string"}}}},` +
			`{"name":"s1","inputSchema":7},{"name":"s2","inputSchema":{"type":"string"}},{"name":"s3","inputSchema":{"type":"object","properties":[]}},` +
			`{"name":"s4","inputSchema":{"x":"` + strings.Repeat("x", maxSchema) + `"}},{"name":"\u001b[2J"}`),
	}})
	got := map[string]string{}
	for _, tool := range b.Tools() {
		if tool.Server != "" {
			got[tool.Name] = tool.Server + " " + string(tool.Schema)
		}
		if n := utf8.RuneCountInString(tool.Description); n > maxDescription {
			t.Errorf("%s has %d characters of description", tool.Name, n)
		}
	}
	object := ` {"type":"object"}`
	want := map[string]string{
		"_": "a" + object, "search": "a" + object, "a_read_file": "a" + object, "a_fetch_web": "a" + object, "x_y": "a" + object, "a_x_y": "a" + object,
		long[:64]: "a" + object, "a_" + long[:62]: "a" + object,
		"b_1_search": `b.1 {"properties":{"q":{"type":"string"}},"type":"object"}`, "__2J": "b.1" + object,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantWarnings := []string{
		`the MCP server "a": it has two tools "x y", of which the first is used`,
		`the MCP server "b.1": its tool "s1" is left out, for the schema of its arguments is no JSON object`,
		`the MCP server "b.1": its tool "s2" is left out, for the schema of its arguments is not that of an object`,
		`the MCP server "b.1": its tool "s3" is left out, for the schema of its arguments has properties that are no JSON object`,
		`the MCP server "b.1": its tool "s4" is left out, for the schema of its arguments has more than 32768 bytes`,
	}
	if diff := cmp.Diff(wantWarnings, b.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestHostileAnswers(t *testing.T) {
	t.Parallel() // it waits
	for _, answer := range []string{
		`null`, `7`, `[]`, `{}`, `{"content":null}`, `{"content":[null]}`, `{"content":[{"type":"resource"}]}`, `{"content":[{"type":"image"}]}`,
		`{"content":[{"type":"nonsense"}]}`, `{"content":[{"type":"text","text":7}]}`, `{"structuredContent":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`,
		`{"structuredContent":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, `{"content":[{"type":"tool_use","name":"x"}]}`, `{"resultType":"input_required"}`,
	} {
		t.Run(fmt.Sprintf("%.60s", answer), func(t *testing.T) {
			t.Parallel()
			s := raw(`{"name":"x"}`, "tools/call", answer)
			if len(answer) > 10_000 {
				s.Timeout = slowly // of an answer that is nested too deep nothing is heard
			}
			b := opened(t, with(s))
			ends(t, func() {
				if r := call(t, b, "x", nil); r.Text == "" {
					t.Errorf("%+v", r)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestEndlessPages(t *testing.T) {
	t.Parallel()
	b := opened(t, with(raw("", "tools/list", `{"tools":[],"nextCursor":"on"}`)))
	if len(b.Tools()) > 0 || len(b.Warnings()) != 1 {
		t.Errorf("%v %v", b.Tools(), b.Warnings())
	}
}

func TestServerWithoutTools(t *testing.T) {
	t.Parallel()
	b := opened(t, with(program("raw", "REPLIES", "{}")))
	if want := []string{`the MCP server "test": it has no tools`}; !slices.Equal(b.Warnings(), want) {
		t.Errorf("%q", b.Warnings())
	}
}

// The program that the example uses is asked as users' configurations ask it.
func TestPortfolio(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	run := func(name string, args ...string) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "PORTFOLIO_DB="+filepath.Join(dir, "portfolio.db"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	run("go", "run", "-exec", "cp", "../../../cmd/portfolio", filepath.Join(dir, "portfolio")) // go run keeps what it has linked
	file := filepath.Join(dir, "tools.json")
	text := `{"mcpServers": {"portfolio": {"command": "./portfolio", "args": ["mcp"], "env": {"PORTFOLIO_DB": "${TEST_PORTFOLIO_DB}"}, "cwd": "."}}, "builtin": {"code": {"enabled": false}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEST_PORTFOLIO_DB", filepath.Join(dir, "portfolio.db"))
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "there is no database at [hidden]") {
		t.Errorf("without a database: %v", err)
	}
	run(filepath.Join(dir, "portfolio"), "accounts", "import", "../../../examples/portfolio/accounts.yaml")
	b := opened(t, c)
	var names []string
	for _, tool := range b.Tools() {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"check_exit_signals", "list_gains", "list_positions", "suggest_tax_loss_harvest"}, names); diff != "" {
		t.Error(diff)
	}
	if text := must(t, b, "suggest_tax_loss_harvest", nil); !strings.Contains(text, `"status":"success"`) {
		t.Error(text)
	}
	if r := call(t, b, "check_exit_signals", map[string]any{"tickr": "SLV"}); !r.Failed || !strings.Contains(r.Text, "there is no argument") {
		t.Errorf("%+v", r)
	}
}

// What is no file is not waited for.
func TestReadPipe(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": "x"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := opened(t, Config{Root: dir})
	ends(t, func() {
		if r := call(t, b, nameRead, object{"path": "pipe"}); !r.Failed || !strings.Contains(r.Text, "neither a file nor a directory") {
			t.Errorf("%+v", r)
		}
		if got := must(t, b, nameSearch, object{"query": "x"}); got != "a:1: x" {
			t.Errorf("got %q", got)
		}
	})
}
