package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/command"
	"github.com/signalbox-dev/signalbox/internal/config"
)

// On a terminal what doctor says is as wide as that, and aligned.
func TestDoctorFitsTheTerminal(t *testing.T) {
	if command.Terminal().OutTTY {
		t.Skip("the width would be that of this terminal")
	}
	t.Chdir(t.TempDir())
	t.Setenv("PATH", t.TempDir())
	settings := "agents: {a: {adapter: acp, command: [claude-agent-acp]}}\n"
	if err := os.WriteFile(filepath.Join(".", config.File), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, command.Env{OutTTY: true}, "doctor")
	if code != 1 || errs != "" || !strings.Contains(out, "\n                         install -g @agentclientprotocol/claude-agent-acp`\n") {
		t.Errorf("exit code %d, %s\n%s", code, errs, out)
	}
	for line := range strings.Lines(out) {
		if len(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
}
