package config_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/internal/config"
)

// programs makes a directory with scripts by name, and puts it first in PATH.
func programs(t *testing.T, scripts map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}

func TestExamine(t *testing.T) {
	bin := programs(t, map[string]string{
		"claude":           "echo '2.1.400 (Claude Code)'",
		"codex":            "echo warning: 1 thing; echo codex-cli 0.165.12",
		"gemini":           "cat; echo 0.61.0-nightly",
		"opencode":         "echo $KEY 1.18.4",
		"codex-acp":        "echo \"error: unexpected argument '--version' found in 1.0\" >&2; exit 2",
		"claude-agent-acp": "echo 0.99.0",
		"node":             "echo ${NODE:-v20.20.2}",
		"copilot":          `printf '\033[1m0.0.1 \302\233%0100d\n' 7`,
		"loud":             "head -c 100000 /dev/zero | tr '\\0' x; echo; echo 1.2",
		"agent":            "touch worked; echo 1.2",
		"outer":            "echo 1.2 $CLAUDECODE $SIGNALBOX_TASK $#$1",
	})
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("SIGNALBOX_TASK", "R")
	acp := config.AdapterACP
	for name, c := range map[string]struct {
		agent    config.Agent
		version  string
		warnings []string
	}{
		"newer":                {config.Agent{Adapter: config.AdapterClaude, Command: []string{"claude"}}, "2.1.400 (Claude Code)", nil},
		"plain, but known":     {config.Agent{Adapter: config.AdapterPlain, Command: []string{"claude", "-p"}}, "2.1.400 (Claude Code)", nil},
		"older":                {config.Agent{Adapter: config.AdapterCodex, Command: []string{"codex"}}, "codex-cli 0.165.12", []string{"version 0.165.12 is older than 0.166.0, which was tried: update it"}},
		"the same":             {config.Agent{Adapter: acp, Command: []string{"gemini", "--acp"}}, "0.61.0-nightly", nil},
		"with variables":       {config.Agent{Adapter: acp, Command: []string{"opencode", "acp"}, Env: map[string]string{"KEY": "a"}}, "a 1.18.4", []string{"version 1.18.4 is older than 1.18.33, which was tried: update it"}},
		"says nothing":         {config.Agent{Adapter: acp, Command: []string{"codex-acp"}}, "", nil},
		"old Node":             {config.Agent{Adapter: acp, Command: []string{"claude-agent-acp"}}, "0.99.0", []string{"it is made for Node 22 or later, and `node --version` says v20.20.2: update Node"}},
		"Node":                 {config.Agent{Adapter: acp, Command: []string{"claude-agent-acp"}, Env: map[string]string{"NODE": "v22.0.0"}}, "0.99.0", nil},
		"no Node":              {config.Agent{Adapter: acp, Command: []string{"claude-agent-acp"}, Env: map[string]string{"NODE": " "}}, "0.99.0", []string{"it is made for Node 22 or later, and `node --version` says nothing: update Node"}},
		"hostile":              {config.Agent{Adapter: acp, Command: []string{"copilot", "--acp"}}, `\x1b[1m0.0.1 \u009b` + strings.Repeat("0", 60-len(`\x1b[1m0.0.1 \u009b`)), nil},
		"not a bridge":         {config.Agent{Adapter: acp, Command: []string{"claude"}}, "2.1.400 (Claude Code)", []string{"claude does not speak the Agent Client Protocol: use adapter: claude, or the bridge (docs/agents.md)"}},
		"loud":                 {config.Agent{Adapter: acp, Command: []string{"loud"}}, "", nil},
		"without what is ours": {config.Agent{Adapter: acp, Command: []string{"outer", "x"}}, "1.2 1--version", nil},
		"plain and unknown":    {config.Agent{Adapter: config.AdapterPlain, Command: []string{"./agent"}}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.agent.Examine(t.Context(), bin)
			want := config.Program{Path: filepath.Join(bin, c.agent.Command[0]), Version: c.version, Warnings: c.warnings}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(bin, "worked")); err == nil {
		t.Error("a plain program was asked for its version, and took it for work")
	}
}

// A program that hangs after it told its version is ended, with what it started.
func TestExamineEnds(t *testing.T) {
	bin := programs(t, map[string]string{"hang": "exec 3>fifo; echo 1.2; echo ready >&3; sleep 300 & wait"})
	fifo := filepath.Join(bin, "fifo")
	if out, err := exec.CommandContext(t.Context(), "mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("there are no named pipes: %v %s", err, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type result struct {
		config.Program
		error
	}
	done := make(chan result, 1)
	go func() {
		p, err := config.Agent{Adapter: config.AdapterACP, Command: []string{"hang"}}.Examine(ctx, bin)
		done <- result{p, err}
	}()
	file, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := bufio.NewReader(file)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	cancel()
	select {
	case got := <-done:
		if got.Version != "1.2" || got.error != nil {
			t.Errorf("it is %+v", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("it is still waited for")
	}
	if err := file.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("something is left that has the pipe open: %q, %v", rest, err)
	}
}

func TestFindAdvises(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for program, want := range map[string]string{
		"claude":           "claude is not there, or can't be run; `npm install -g @anthropic-ai/claude-code` installs it",
		"claude-agent-acp": "claude-agent-acp is not there, or can't be run; `npm install -g @agentclientprotocol/claude-agent-acp` installs it",
		"codex":            "codex is not there, or can't be run; `npm install -g @openai/codex` installs it",
		"codex-acp":        "codex-acp is not there, or can't be run; `npm install -g @zed-industries/codex-acp` installs it",
		"gemini":           "gemini is not there, or can't be run; `npm install -g @google/gemini-cli` installs it",
		"opencode":         "opencode is not there, or can't be run; `npm install -g opencode-ai` installs it",
		"copilot":          "copilot is not there, or can't be run; `npm install -g @github/copilot` installs it",
		"agent":            "agent is not there, or can't be run",
		"/none/claude":     "/none/claude is not there, or can't be run",
	} {
		if _, err := (config.Agent{Command: []string{program}}).Find(t.TempDir()); err == nil || err.Error() != want {
			t.Errorf("%s: %v", program, err)
		}
	}
}
