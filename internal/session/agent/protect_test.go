package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// Which programs are protected from what they run, in which sandbox, and what is advised for
// the others.
func TestProtect(t *testing.T) {
	for _, c := range []struct {
		agent  agent.Config
		kind   sandbox.Kind
		advice string // empty if it is protected
	}{
		{agent.Config{Adapter: agent.AdapterClaude, Command: []string{"claude"}}, sandbox.Landlock, ""},
		{agent.Config{Adapter: agent.AdapterClaude, Command: []string{"claude"}}, sandbox.Bubblewrap, ""},
		{agent.Config{Adapter: agent.AdapterClaude, Command: []string{"claude"}}, sandbox.None, "set a sandbox"},
		{agent.Config{Adapter: agent.AdapterACP, Command: []string{"npx", "-y", "@agentclientprotocol/claude-agent-acp"}}, sandbox.Landlock, ""},
		{agent.Config{Adapter: agent.AdapterCodex, Command: []string{"codex"}}, sandbox.Bubblewrap, ""},
		{agent.Config{Adapter: agent.AdapterCodex, Command: []string{"codex"}}, sandbox.Landlock, "use the sandbox bubblewrap"},
		{agent.Config{Adapter: agent.AdapterACP, Command: []string{"/opt/bin/codex-acp"}}, sandbox.Landlock, "use the sandbox bubblewrap"},
		{agent.Config{Adapter: agent.AdapterACP, Command: []string{"gemini", "--acp"}}, sandbox.Landlock, ""},
		{agent.Config{Adapter: agent.AdapterACP, Command: []string{"opencode", "acp"}}, sandbox.Bubblewrap, ""},
		{agent.Config{Adapter: agent.AdapterACP, Command: []string{"another", "--acp"}}, sandbox.Landlock, "signalbox exec"},
		{agent.Config{Adapter: agent.AdapterACP, Command: []string{"another", "--model", "gemini-2.5-pro"}}, sandbox.Landlock, "signalbox exec"},
		{agent.Config{Adapter: agent.AdapterACP, Command: []string{"node", "/opt/gemini.js", "--acp"}}, sandbox.Landlock, ""},
		{agent.Config{Command: []string{"./agent"}}, sandbox.Landlock, "signalbox exec"},
		{agent.Config{Command: []string{"./claude"}}, sandbox.Landlock, "signalbox exec"}, // by whatever name, it is a plain one
		{agent.Config{Command: []string{"./agent"}, Exec: true}, sandbox.Landlock, ""},
		{agent.Config{Command: []string{"./agent"}, Exec: true}, sandbox.None, "set a sandbox"},
	} {
		err := c.agent.Protect(c.kind)
		switch {
		case c.advice == "" && err != nil:
			t.Errorf("%v in %s: %v", c.agent.Command, c.kind, err)
		case c.advice != "" && (!errors.Is(err, agent.ErrUnprotected) || !strings.Contains(err.Error(), c.advice)):
			t.Errorf("%v in %s: %v, want the advice %q", c.agent.Command, c.kind, err, c.advice)
		}
	}
}
