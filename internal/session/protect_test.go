package session_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/session"
)

// Which programs are protected from what they run, in which sandbox, and what is advised for
// the others.
func TestProtect(t *testing.T) {
	for _, c := range []struct {
		agent  session.Agent
		kind   sandbox.Kind
		advice string // empty if it is protected
	}{
		{session.Agent{Adapter: session.AdapterClaude, Command: []string{"claude"}}, sandbox.Landlock, ""},
		{session.Agent{Adapter: session.AdapterClaude, Command: []string{"claude"}}, sandbox.Bubblewrap, ""},
		{session.Agent{Adapter: session.AdapterClaude, Command: []string{"claude"}}, sandbox.None, "set a sandbox"},
		{session.Agent{Adapter: session.AdapterACP, Command: []string{"npx", "-y", "@agentclientprotocol/claude-agent-acp"}}, sandbox.Landlock, ""},
		{session.Agent{Adapter: session.AdapterCodex, Command: []string{"codex"}}, sandbox.Bubblewrap, ""},
		{session.Agent{Adapter: session.AdapterCodex, Command: []string{"codex"}}, sandbox.Landlock, "use the sandbox bubblewrap"},
		{session.Agent{Adapter: session.AdapterACP, Command: []string{"/opt/bin/codex-acp"}}, sandbox.Landlock, "use the sandbox bubblewrap"},
		{session.Agent{Adapter: session.AdapterACP, Command: []string{"gemini", "--acp"}}, sandbox.Landlock, ""},
		{session.Agent{Adapter: session.AdapterACP, Command: []string{"opencode", "acp"}}, sandbox.Bubblewrap, ""},
		{session.Agent{Adapter: session.AdapterACP, Command: []string{"another", "--acp"}}, sandbox.Landlock, "signalbox exec"},
		{session.Agent{Adapter: session.AdapterACP, Command: []string{"another", "--model", "gemini-2.5-pro"}}, sandbox.Landlock, "signalbox exec"},
		{session.Agent{Adapter: session.AdapterACP, Command: []string{"node", "/opt/gemini.js", "--acp"}}, sandbox.Landlock, ""},
		{session.Agent{Command: []string{"./agent"}}, sandbox.Landlock, "signalbox exec"},
		{session.Agent{Command: []string{"./claude"}}, sandbox.Landlock, "signalbox exec"}, // by whatever name, it is a plain one
		{session.Agent{Command: []string{"./agent"}, Exec: true}, sandbox.Landlock, ""},
		{session.Agent{Command: []string{"./agent"}, Exec: true}, sandbox.None, "set a sandbox"},
	} {
		err := session.Protect(c.agent, c.kind)
		switch {
		case c.advice == "" && err != nil:
			t.Errorf("%v in %s: %v", c.agent.Command, c.kind, err)
		case c.advice != "" && (!errors.Is(err, session.ErrUnprotected) || !strings.Contains(err.Error(), c.advice)):
			t.Errorf("%v in %s: %v, want the advice %q", c.agent.Command, c.kind, err, c.advice)
		}
	}
}
