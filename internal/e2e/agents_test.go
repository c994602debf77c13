//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// agentsVariable names the directory that the agent programs were installed to, by
// testdata/agents/install. Without it they are not tested.
const agentsVariable = "SIGNALBOX_AGENTS"

// real is a program that people run, and how it is pointed to a model server.
type real struct {
	name    string
	adapter string
	command []string
	prepare func(home, url string) modeltest.Pointed
}

// The programs. These tests run without a network, and the programs are not to wait for it.
var reals = []real{
	{"claude-acp", "acp", []string{"claude-agent-acp"}, modeltest.Claude},
	{"claude", "claude", []string{"claude"}, modeltest.Claude},
	{"codex-acp", "acp", []string{"codex-acp"}, modeltest.Codex},
	{"codex", "codex", []string{"codex"}, modeltest.Codex},
	{"gemini", "acp", []string{"gemini", "--acp", "-m", "gemini-2.5-pro"}, modeltest.Gemini},
	{"opencode", "acp", []string{"opencode", "acp"}, modeltest.OpenCode},
}

// installed returns the directory with the program, or skips the test and says why.
func (r real) installed(t *testing.T) string {
	t.Helper()
	notShort(t)
	dir := os.Getenv(agentsVariable)
	if dir == "" {
		t.Skipf("NOT TESTED: %s was not installed: run internal/e2e/testdata/agents/install DIR, and set %s=DIR", r.name, agentsVariable)
	}
	if os.Getenv(isAlone) == "" {
		t.Skipf("NOT TESTED: %s would have a network", r.name)
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	if _, err := exec.LookPath(filepath.Join(bin, r.command[0])); err != nil {
		t.Skipf("NOT TESTED: %s can't be found in %s: %v", r.command[0], bin, err)
	}
	return bin
}

// entry returns the program as an agent of the settings, in JSON, which is YAML too.
func (r real) entry(t *testing.T, url string) string {
	t.Helper()
	command, env := r.start(t, url)
	entry, err := json.Marshal(map[string]any{"adapter": r.adapter, "command": command, "env": env})
	if err != nil {
		t.Fatal(err)
	}
	return string(entry)
}

// start returns how the program is started, with a home of its own.
func (r real) start(t *testing.T, url string) (command []string, env map[string]string) {
	t.Helper()
	bin := r.installed(t)
	home, err := os.MkdirTemp(os.Getenv(agentsVariable), "home-") // Codex refuses one below /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cleared(t, home) })
	pointed := r.prepare(home, url)
	env = pointed.Env
	env["HOME"] = home
	env["PATH"] = bin + ":" + os.Getenv("PATH")
	for name, text := range pointed.Files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return append([]string{filepath.Join(bin, r.command[0])}, r.command[1:]...), env
}

// scripted starts a model server with scripts of testdata/agents.
func scripted(t *testing.T, names ...string) *modeltest.Server {
	t.Helper()
	var scripts []modeltest.Script
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("testdata", "agents", name))
		if err != nil {
			t.Fatal(err)
		}
		s, err := modeltest.Parse(name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		scripts = append(scripts, s)
	}
	return serve(t, scripts...)
}

// serve starts a model server. What it is asked and does not know fails the test.
func serve(t *testing.T, scripts ...modeltest.Script) *modeltest.Server {
	t.Helper()
	server, err := modeltest.Start(scripts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range server.Unexpected() {
			t.Errorf("the model was asked what the script does not have (%s %s): %s\n%.300s", r.Wire, r.Path, r.Problem, r.Prompt)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// One task, from DRAFT to the merged code, by each program in all roles. The part has each program once, here or in one of the
// sandboxes.
func TestAgents(t *testing.T) {
	for i, r := range reals {
		t.Run(r.name, func(t *testing.T) {
			among(t, i%3 == 0)
			t.Parallel()
			r.deliver(t, "")
		})
	}
}

// The same in a sandbox: the programs find their logins and settings, and work.
func TestAgentsConfined(t *testing.T) {
	eachSandbox(t, func(t *testing.T, kind sandbox.Kind) {
		for i, r := range reals {
			t.Run(r.name, func(t *testing.T) {
				among(t, kind == sandbox.Kinds()[i%3])
				t.Parallel()
				r.deliver(t, fmt.Sprintf("sandbox: {kind: %s}\nreview: unprotected\n", kind))
			})
		}
	})
}

// The examples deliver their plan, with the scripted model.
func TestExamples(t *testing.T) {
	for _, e := range []struct{ name, command string }{{"claude-code", "claude"}, {"codex", "codex"}, {"gemini", "gemini"}} {
		t.Run(e.name, func(t *testing.T) {
			among(t, e.name == "codex")
			t.Parallel()
			bin := real{name: e.name, command: []string{e.command}}.installed(t)
			ctx, cancel := context.WithTimeout(t.Context(), wholeDelivery)
			defer cancel()
			demo := exec.CommandContext(ctx, filepath.Join("..", "..", "examples", e.name, "demo"))
			demo.Env = append(os.Environ(), "SIGNALBOX="+program, "PATH="+bin+":"+os.Getenv("PATH"))
			demo.Cancel = func() error { return demo.Process.Signal(os.Interrupt) }
			demo.WaitDelay = 20 * time.Second
			out, err := demo.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range []string{"G-2: gate failed", "G-2: goodbye has an e", "3 of 3 tasks", "verified:"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("there is no %q in\n%s", want, out)
				}
			}
		})
	}
}

// denial is what is recorded when the critic's change is refused: Codex does not say of
// what.
func (r real) denial() string {
	if r.name == "codex" {
		return "edit"
	}
	return "greeting.txt"
}

// deliver lets the program do what life.txt says.
func (r real) deliver(t *testing.T, settings string) {
	server := scripted(t, "life.txt")
	w := newWorld(t, "")
	w.write("notes.txt", "READY_FOR_REVIEW: T-1\n")
	w.write("signalbox.yaml", fmt.Sprintf("agents: {real: %s}\nanalyst: true\nlimits: {answer: 2m}\n%s", r.entry(t, server.URL()), settings))
	w.git("add", "-A")
	w.git("commit", "-qm", "notes")
	w.tasks("T-1")
	w.completed(w.deliver())
	if got := w.git("show", "signalbox/R1:greeting.txt"); got != "hello" {
		t.Errorf("merged: %q", got)
	}
	w.sameConversation()
	if d := payload[delivery.Denial](w, delivery.PermissionDenied); !strings.Contains(d.Text, r.denial()) {
		t.Errorf("refused: %+v", d)
	}
	for _, e := range w.events() {
		var end delivery.Ended
		if e.Type == delivery.SessionEnded && json.Unmarshal(e.Payload, &end) == nil && end.Usage.InputTokens < 100 {
			t.Errorf("the %s has used %+v", end.Role, end.Usage)
		}
	}
	if t.Failed() {
		t.Log(w.story())
	}
}

// sameConversation fails the test unless one developer was asked again for the signal that
// it had left out, after it had one in a fence, and in what a tool gave it.
func (w *world) sameConversation() {
	w.t.Helper()
	u := payload[delivery.Unknown](w, delivery.UnknownRecovery)
	fenced := slices.ContainsFunc(u.NearMisses, func(m delivery.NearMiss) bool { return m.Reason == agentsig.ReasonFenced })
	if u.TaskID != "T-1" || u.Turn != 1 || !fenced {
		w.t.Errorf("the missing signal: %+v", u)
	}
	started := 0
	for _, e := range w.events() {
		if e.Type == "LeaseGranted" && strings.Contains(string(e.Payload), `"developer"`) {
			started++
		}
	}
	if started != 1 {
		w.t.Errorf("%d developers were started", started)
	}
}
