package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/cli"
	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

func TestMain(m *testing.M) {
	testscript.Main(sideBySide{m}, map[string]func(){
		"signalbox": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			os.Exit(cli.Run(ctx, os.Args[1:], command.Terminal()))
		},
	})
}

// sideBySide runs tests with more of them side by side than there are cores: they wait for boxes.
type sideBySide struct{ *testing.M }

func (m sideBySide) Run() int {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "signalbox-cli-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the way of nobody
	installed = dir
	return m.M.Run()
}

// installed is where the documents' tests install the programs: what one of them has linked is not linked again.
var installed string

// TestScripts runs the command line as a user would; the scripts are the manual.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"session":     setSession,
			"setenv":      setEnv,
			"listens":     awaitBox,
			"present":     awaitRunner,
			"gatetoken":   setGateToken,
			"settoken":    setToken,
			"cmpevents":   compareEvents,
			"modelserver": serveModel,
		},
		Condition: sandboxed,
	})
}

// sandboxed reports whether a sandbox can be had here, by its kind.
func sandboxed(kind string) (bool, error) {
	if !slices.Contains(sandbox.Kinds(), sandbox.Kind(kind)) {
		return false, fmt.Errorf("what is %q?", kind)
	}
	return sandbox.Available(sandbox.Kind(kind)) == nil, nil
}

// awaitRunner waits until the box in .signalbox is in contact with a runner.
func awaitRunner(ts *testscript.TestScript, _ bool, args []string) {
	dir := box.Dir(ts.MkAbs(".signalbox"))
	for late := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		at, err := dir.Address()
		ts.Check(err)
		token, err := dir.APIToken()
		ts.Check(err)
		c := api.NewClient(at, token)
		all, err := c.Runners(context.Background())
		c.Close()
		ts.Check(err)
		if slices.ContainsFunc(all, func(r api.Runner) bool { return r.Name == args[0] && r.State == api.RunnerPresent && len(r.Agents) > 0 }) {
			return
		}
		if time.Now().After(late) {
			ts.Fatalf("%s is not present: %+v", args[0], all)
		}
	}
}

// awaitBox waits until a box listens, in .signalbox or in the directory that is named. Commands wait a second for
// a box that was just started; a busy machine may need more.
func awaitBox(ts *testscript.TestScript, _ bool, args []string) {
	dir := box.Dir(ts.MkAbs(append(args, ".signalbox")[0]))
	for late := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		_, err := dir.Address()
		if err == nil {
			return
		}
		if time.Now().After(late) {
			ts.Fatalf("no box listens in %s: %v", dir, err)
		}
	}
}

// setSession takes the session that a claim printed into $SESSION.
func setSession(ts *testscript.TestScript, _ bool, args []string) {
	var claim struct {
		Session string `json:"session"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &claim))
	ts.Setenv("SESSION", claim.Session)
}

// setEnv sets the variable that a file has as NAME=value.
func setEnv(ts *testscript.TestScript, _ bool, args []string) {
	name, value, _ := strings.Cut(strings.TrimSpace(ts.ReadFile(args[0])), "=")
	ts.Setenv(name, value)
}

// serveModel starts a model that says what a script tells it to, and takes its address
// into $MODEL.
func serveModel(ts *testscript.TestScript, _ bool, args []string) {
	script, err := modeltest.Parse(args[0], ts.ReadFile(args[0]))
	ts.Check(err)
	server, err := modeltest.Start(script)
	ts.Check(err)
	ts.Setenv("MODEL", server.URL())
	ts.Defer(func() {
		for _, r := range server.Unexpected() {
			ts.Logf("the model was asked for what its script does not have: %s", r.Problem)
		}
		_ = server.Close() // nothing is lost with it
	})
}

// setGateToken does what a person does: it reads the token from the directory.
func setGateToken(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("SIGNALBOX_GATE_TOKEN", strings.TrimSpace(ts.ReadFile(".signalbox/gate.token")))
}

// setToken takes a client's token from a file.
func setToken(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv("SIGNALBOX_TOKEN", strings.TrimSpace(ts.ReadFile(args[0])))
}

// compareEvents compares two listings of events, of which the first has times.
func compareEvents(ts *testscript.TestScript, _ bool, args []string) {
	times := regexp.MustCompile(`  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	got, want := times.ReplaceAllString(ts.ReadFile(args[0]), ""), ts.ReadFile(args[1])
	if got != want {
		ts.Fatalf("the events are\n%s\nand should be\n%s", got, want)
	}
}

// run runs the command line in this process.
func run(t *testing.T, env command.Env, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env.Out, env.Err = &stdout, &stderr
	code = cli.Run(t.Context(), args, env)
	return code, stdout.String(), stderr.String()
}

// A finding has to appear while the agent still runs.
func TestScanIsLive(t *testing.T) {
	in, agent := io.Pipe()
	out, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(t.Context(), []string{"scan", "--json"}, command.Env{In: in, Out: w, Err: io.Discard})
		_ = w.Close()
	}()
	say := func(s string) {
		if _, err := io.WriteString(agent, s); err != nil {
			t.Error(err)
		}
	}
	lines := make(chan string)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := out.Read(buf)
			if err != nil {
				close(lines)
				return
			}
			lines <- string(buf[:n])
		}
	}()
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-lines:
			if !strings.Contains(got, want) {
				t.Fatalf("got %q, want %q in it", got, want)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("nothing appeared, want %q", want)
		}
	}
	say("> READY_FOR_REVIEW: T-1\n")
	expect(`"reason":"quoted"`)
	say("READY_FOR_REVIEW: T-1\nSummary: done\n") // and then silence
	expect(`"fields":{"Summary":"done"}`)
	say("<signal type=\"need_turn\"><reason>one more look</reason>\n</signal>")
	expect(`"kind":"need_turn"`)
	_ = agent.Close()
	expect(`"verdict":"signal"`)
	if c := <-code; c != 0 {
		t.Errorf("exit code %d", c)
	}
}

// Whatever an agent says, a terminal shows it and does nothing else.
func TestTerminalIsSafe(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;title\x07 \u202egnp.exe \u200b \x9b31m caf\xe9 \u009b31m\r\n" +
		"READY_FOR_REVIEW: T-1 \x1b[31mred\r\n" +
		"Sum\x1bmary: x\r\nSummary: \x1b[31m\u202e\u009b\r\n" +
		"FILE CONFLICT: a\x1b[2Jb\r\n" +
		`{"protocol":"\u001b[2J\u202e"}` + "\r\n" +
		`{"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"DRAFT","exit_reason":"completed","notes":"\u001b[2J\u009b\u202e"}` + "\n" +
		"<signal type=\"\x1b[2J\">x</signal>\n<signal type=\"need_turn\"><reason>\x1b[2J\u202eabc\x7f</reason></signal>\n"
	for _, args := range [][]string{{"scan"}, {"scan", "--json"}, {"scan", "--text"}} {
		_, out, errs := run(t, command.Env{In: strings.NewReader(hostile), OutTTY: true}, args...)
		if out == "" {
			t.Errorf("%v printed nothing", args)
		}
		for _, r := range out + errs {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x200b || r == 0xfffd && args[len(args)-1] == "--text" {
				t.Errorf("%v let %q through:\n%s", args, r, out)
				break
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, agent := io.Pipe()
	defer agent.Close()
	code := make(chan int, 1)
	go func() { code <- cli.Run(ctx, []string{"scan"}, command.Env{In: in, Out: io.Discard, Err: io.Discard}) }()
	if _, err := io.WriteString(agent, "hello\n"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if c := <-code; c != 130 {
		t.Errorf("exit code %d, want 130", c)
	}
}

func TestOutputThatFails(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	var stderr bytes.Buffer
	code := cli.Run(t.Context(), []string{"scan"}, command.Env{In: strings.NewReader("READY_FOR_REVIEW: T-1\n"), Out: w, Err: &stderr})
	if code != 1 || !strings.Contains(stderr.String(), "closed pipe") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
