//go:build linux

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// host is a program that can be given the box as a tool: how it lists what it has, and what a person does so that it looks
// at a project.
type host struct {
	real
	trust  func(t *testing.T, home, root string)
	lists  map[string][]string // commands, and what they have to print in a project and for a user
	prefix string              // of the tools' names
	says   []string            // arguments with which it takes what a person says, and may use the tools
	goesOn []string            // the same, in the conversation that was the last
}

// skills are the names that the skills have where no plugin is around them.
var skills = []string{"write-plan", "run-and-watch", "answer-inbox", "signal"}

var hosts = []host{
	{reals[1], trustInClaude, map[string][]string{
		"plugin list":              {"signalbox@skills-dir", "loaded"},
		"plugin details signalbox": append([]string{"Skills (4)", "MCP servers (1)  signalbox"}, skills...),
		"mcp list":                 {"plugin:signalbox:signalbox: ", "mcp --name claude --scope read,operate"},
	}, "mcp__plugin_signalbox_signalbox__", claudeSays, append([]string{"--continue"}, claudeSays...)},
	{reals[3], trustInCodex, map[string][]string{
		"mcp list":                 {"signalbox", "mcp --name codex --scope read,operate", "enabled"},
		"debug prompt-input hello": {"signalbox-write-plan: Write a plan", "signalbox-run-and-watch: ", "signalbox-answer-inbox: ", "signalbox-signal: "},
	}, "mcp__signalbox/", append([]string{"exec"}, codexSays...), append([]string{"exec", "resume", "--last"}, codexSays...)},
	{reals[4], func(*testing.T, string, string) {}, map[string][]string{
		"mcp list":    {"signalbox", "mcp --name gemini --scope read,operate"},
		"skills list": {"write-plan [Enabled]", "run-and-watch [Enabled]", "answer-inbox [Enabled]", "signal [Enabled]"},
	}, "mcp_signalbox_", geminiSays, append([]string{"-r", "latest"}, geminiSays...)},
}

var (
	claudeSays = []string{"--allowedTools=mcp__plugin_signalbox_signalbox", "-p"}
	codexSays  = []string{"--skip-git-repo-check", "-c", `mcp_servers.signalbox.default_tools_approval_mode="approve"`}
	geminiSays = []string{"-m", "gemini-2.5-pro", "--approval-mode=yolo", "-p"}
)

// trustInClaude says that the directory is trusted, and the server that a project brings along approved, as its dialogs do.
func trustInClaude(t *testing.T, home, root string) {
	t.Helper()
	settings, err := json.Marshal(map[string]any{"hasCompletedOnboarding": true, "projects": map[string]any{root: map[string]any{"hasTrustDialogAccepted": true}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{".claude.json": settings, "settings.json": []byte(`{"enabledMcpjsonServers": ["plugin:signalbox:signalbox"]}`)} {
		if err := os.WriteFile(filepath.Join(home, ".claude", name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// trustInCodex says that the directory is trusted, as its dialog does.
func trustInCodex(t *testing.T, home, root string) {
	t.Helper()
	path := filepath.Join(home, ".codex", "config.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, fmt.Appendf(text, "\n[projects.%q]\ntrust_level = \"trusted\"\n", root), 0o600); err != nil {
		t.Fatal(err)
	}
}

// seat is a program with a home directory of its own, in a world's repository.
type seat struct {
	host
	w       *world
	program string
	env     []string
	home    string
}

func (h host) sit(t *testing.T, w *world, url string) seat {
	t.Helper()
	command, env := h.start(t, url)
	h.trust(t, env["HOME"], w.dir)
	s := seat{host: h, w: w, program: command[0], env: os.Environ(), home: env["HOME"]}
	for name, value := range env {
		s.env = append(s.env, name+"="+value)
	}
	return s
}

// runs runs a command as the person who has this home, and returns what it prints. What it waits for can take a minute by itself.
func (s seat) runs(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wholeDelivery)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.w.dir, s.env, time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return string(out)
}

// After plugin install each program has the tool server and the skills, in a project and for a user, and after plugin remove
// its settings are what they were.
func TestPluginInRealPrograms(t *testing.T) {
	for i, h := range hosts {
		for place, args := range map[string][]string{"project": nil, "user": {"--user"}} {
			t.Run(h.name+"/"+place, func(t *testing.T) {
				among(t, place == "project" == (i%2 == 0))
				t.Parallel()
				w := newWorld(t, "")
				s := h.sit(t, w, "http://127.0.0.1:9")
				before := s.settings(t)
				for command := range h.lists {
					if command != "plugin details signalbox" { // it fails if there is none
						if out := s.runs(t, s.program, strings.Fields(command)...); strings.Contains(out, "signalbox@") || strings.Contains(out, "mcp --name") || strings.Contains(out, "write-plan") {
							t.Errorf("%s has it before it is installed:\n%s", command, out)
						}
					}
				}
				args := append(args, "--for", strings.TrimSuffix(h.name, "-acp"))
				s.runs(t, program, append([]string{"plugin", "install"}, args...)...)
				for command, wants := range h.lists {
					out := strings.Join(strings.Fields(s.runs(t, s.program, strings.Fields(command)...)), " ")
					if command == "mcp list" && h.name != "codex" { // which does not try
						wants = append(slices.Clone(wants), "Connected")
					}
					for _, want := range wants {
						if !strings.Contains(out, strings.Join(strings.Fields(want), " ")) {
							t.Errorf("%s has no %q:\n%s", command, want, out)
						}
					}
				}
				s.runs(t, program, append([]string{"plugin", "remove"}, args...)...)
				if after := s.settings(t); after != before {
					t.Errorf("the settings were\n%s\nand are\n%s", before, after)
				}
				if left := w.git("status", "--short", "--ignored"); left != "" {
					t.Errorf("left in the repository: %s", left)
				}
			})
		}
	}
}

// settings are what plugin install can change in the home directory.
func (s seat) settings(t *testing.T) string {
	t.Helper()
	text := ""
	for _, name := range []string{".claude/skills", ".codex/config.toml", ".codex/signalbox-plugin.json", ".gemini/settings.json", ".gemini/extensions/signalbox"} {
		data, err := os.ReadFile(filepath.Join(s.home, name))
		if err == nil {
			text += name + ":\n" + string(data)
		} else if _, err := os.Stat(filepath.Join(s.home, name)); err == nil {
			text += name + " is there\n"
		}
	}
	return text
}

// From inside each program: a plan is checked, started and waited for; its question is brought to the person, and answered on
// their word; the run finishes. Both are recorded as the program's, and no tool is called more often than that takes.
func TestDeliverFromInside(t *testing.T) {
	for _, h := range hosts {
		t.Run(h.name, func(t *testing.T) {
			among(t, h.name == "codex") // Claude Code delivers from inside below
			t.Parallel()
			h.installed(t)
			server, s := h.ready(t)
			w := s.w
			n := w.up()
			ended := w.heldUntilIdle(server)
			if out := s.runs(t, s.program, append(slices.Clone(h.says), "Deliver plan.md with Signalbox")...); !strings.Contains(out, "What shall I answer?") {
				t.Fatalf("the person is not asked:\n%s", out)
			}
			if out := s.runs(t, s.program, append(slices.Clone(h.goesOn), "My answer is blue")...); !strings.Contains(out, "merged to signalbox/R1") {
				t.Fatalf("it does not end:\n%s", out)
			}
			<-ended
			n.stop()
			w.recordedAs("client:" + h.name)
			idle := idleWaits(server)
			if len(idle) == 0 {
				t.Error("no wait has ended in which nothing happened")
			}
			for _, held := range idle {
				if held < 40*time.Second {
					t.Errorf("a wait in which nothing happened was answered after %v", held)
				}
			}
			if n := toolResults(server); n != 6 {
				t.Errorf("tools gave %d results, and not 6", n)
			}
		})
	}
}

const asksColour = "echo SEEKING_DIVINE_CLARIFICATION $run\necho Question: Which colour?\n"

// ready installs the plugin with all scopes, with a model that does what tools.txt says and a plan whose task asks something.
func (h host) ready(t *testing.T) (*modeltest.Server, seat) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "agents", "tools.txt"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := modeltest.Parse("tools.txt", strings.ReplaceAll(string(text), "TOOL_", h.prefix))
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, script)
	w := newWorld(t, "")
	w.script("T-1.developer.1", asksColour)
	w.tasks("T-1")
	w.git("add", "-A")
	w.git("commit", "-qm", "a plan")
	s := h.sit(t, w, server.URL())
	s.runs(t, program, "plugin", "install", "--user", "--for", h.name, "--scope", "read,operate,answer")
	return server, s
}

// recordedAs fails the test unless the run was started, and its question answered, by this actor, and the run has finished.
func (w *world) recordedAs(actor string) {
	w.t.Helper()
	by := map[string]string{}
	for _, e := range w.events() {
		by[e.Type] = e.Actor
	}
	for _, kind := range []string{delivery.RunStarted, delivery.QuestionAnswered} {
		if by[kind] != actor {
			w.t.Errorf("%s is recorded as %q's, and not as %q's", kind, by[kind], actor)
		}
	}
	if by[delivery.RunFinished] == "" {
		w.t.Errorf("the run has not finished:\n%s", w.story())
	}
}

// heldUntilIdle has the developer ask only when a wait of the person's agent has ended in which nothing happened. What it
// returns is closed when nothing watches for that any more.
func (w *world) heldUntilIdle(server *modeltest.Server) <-chan struct{} {
	w.t.Helper()
	waited := filepath.Join(w.scripts, "waited")
	w.script("T-1.developer.1", "until [ -e "+waited+" ]; do sleep 0.1; done\n"+asksColour)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		often := time.NewTicker(100 * time.Millisecond)
		defer often.Stop()
		for len(idleWaits(server)) == 0 {
			select {
			case <-often.C:
			case <-w.t.Context().Done():
				return
			}
		}
		if err := os.WriteFile(waited, nil, 0o600); err != nil {
			w.t.Error(err)
		}
	}()
	return ended
}

// idleWaits returns how long each wait was held open in which nothing happened.
func idleWaits(server *modeltest.Server) (held []time.Duration) {
	var before time.Time
	for _, r := range server.Requests() {
		if r.Side {
			continue
		}
		if slices.ContainsFunc(r.Results, isIdle) {
			held = append(held, r.At.Sub(before))
		}
		before = r.At
	}
	return held
}

// isIdle reports whether a result is that of a wait in which nothing happened.
func isIdle(result string) bool {
	return strings.Contains(result, "run_running") && !strings.Contains(result, "question_waiting") && !didSomething.MatchString(result)
}

// didSomething matches the flag of a reply to a command, also in a text of JSON in JSON.
var didSomething = regexp.MustCompile(`"flag\\*":\\*"done\\*"`)

// toolResults counts what tools have given the model, but for waits in which nothing happened.
func toolResults(server *modeltest.Server) (n int) {
	for _, r := range server.Requests() {
		if !r.Side {
			n += len(r.Results)
		}
	}
	return n - len(idleWaits(server))
}

// The same without a box beside it: Claude Code stays, as it does in a terminal, and the box that start_run starts stays with it.
func TestDeliverFromInsideAlone(t *testing.T) {
	t.Parallel()
	h := hosts[0]
	h.installed(t)
	server, s := h.ready(t)
	ctx, cancel := context.WithTimeout(t.Context(), wholeDelivery)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, append([]string{"--input-format=stream-json", "--output-format=stream-json", "--verbose"}, claudeSays...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.w.dir, s.env, time.Minute
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	for _, turn := range []struct{ person, want string }{
		{"Deliver plan.md with Signalbox", "What shall I answer?"},
		{"My answer is blue", "merged to signalbox/R1"},
	} {
		if _, err := fmt.Fprintf(in, `{"type":"user","message":{"role":"user","content":%q}}`+"\n", turn.person); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := said.ReadString('\n')
			if err != nil {
				t.Fatalf("it ended before it said %q: %v", turn.want, err)
			}
			var event struct{ Type, Result string }
			if json.Unmarshal([]byte(line), &event) == nil && event.Type == "result" {
				if !strings.Contains(event.Result, turn.want) {
					t.Fatalf("it said %s", line)
				}
				break
			}
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, said); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	s.w.recordedAs("client:claude")
	if n := toolResults(server); n != 6 {
		t.Errorf("tools gave %d results, and not 6", n)
	}
}

// The same, but Claude Code is left while the question is open, and the box goes with it. When the person is back, it goes on.
func TestDeliverFromInsideLeft(t *testing.T) {
	t.Parallel()
	h := hosts[0]
	h.installed(t)
	server, s := h.ready(t)
	if out := s.runs(t, s.program, append(slices.Clone(h.says), "Deliver plan.md, I have to leave")...); !strings.Contains(out, "What shall I answer?") {
		t.Fatalf("the person is not asked:\n%s", out)
	}
	if out := s.runs(t, s.program, append(slices.Clone(h.goesOn), "I am back, and my answer is blue")...); !strings.Contains(out, "merged to signalbox/R1") {
		t.Fatalf("it does not end:\n%s", out)
	}
	s.w.recordedAs("client:claude")
	if n := toolResults(server); n != 7 {
		t.Errorf("tools gave %d results, and not 7", n)
	}
}

// The box's tool server and the portfolio's are in one session of Claude Code, both with all of their tools.
func TestBothToolServers(t *testing.T) {
	t.Parallel()
	h := hosts[0]
	h.installed(t)
	portfolio := filepath.Join(t.TempDir(), "portfolio")
	if out, err := exec.CommandContext(t.Context(), "go", "run", "-exec", "cp", "../../cmd/portfolio", portfolio).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	script, err := modeltest.Parse("both", "== both\nasked: Hello\nsays: I look at both.\n"+
		"calls: "+h.prefix+"list_runs {}\ncalls: mcp__portfolio__check_exit_signals {}\nresult: no_runs\nsays: Seen.\n")
	if err != nil {
		t.Fatal(err)
	}
	server := serve(t, script)
	w := newWorld(t, "")
	s := h.sit(t, w, server.URL())
	s.runs(t, program, "plugin", "install", "--user", "--for", h.name)
	samples, err := filepath.Abs(filepath.Join("..", "..", "examples", "portfolio"))
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "db")
	s.runs(t, portfolio, "accounts", "import", "--db", db, filepath.Join(samples, "accounts.yaml"))
	s.runs(t, portfolio, "import", "--db", db, filepath.Join(samples, "schwab.csv"))
	config := fmt.Sprintf(`--mcp-config={"mcpServers": {"portfolio": {"command": %q, "args": ["mcp", "--db", %q]}}}`, portfolio, db)
	out := s.runs(t, s.program, "--output-format=stream-json", "--verbose", config, "--allowedTools=mcp__plugin_signalbox_signalbox,mcp__portfolio", "-p", "Hello")
	var first struct{ Tools []string }
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"subtype":"init"`) {
			if err := json.Unmarshal([]byte(line), &first); err != nil {
				t.Fatal(err)
			}
		}
	}
	names := map[string]int{}
	servers := map[string]int{}
	for _, tool := range first.Tools {
		if parts := strings.Split(tool, "__"); len(parts) == 3 {
			servers[parts[1]]++
			names[parts[2]]++
		}
	}
	if servers["plugin_signalbox_signalbox"] != 15 || servers["portfolio"] != 4 {
		t.Errorf("the tools of both: %v\n%.2000s", servers, out)
	}
	for name, n := range names {
		if n > 1 {
			t.Errorf("%d tools are called %s", n, name)
		}
	}
	if n := toolResults(server); n != 2 {
		t.Errorf("tools gave %d results, and not 2", n)
	}
}
