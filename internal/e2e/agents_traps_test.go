//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// A stream that breaks and one that has no line breaks for 20 MiB keep nobody from
// delivering. Scripts review the work.
func TestAgentTraps(t *testing.T) {
	t.Parallel()
	for _, r := range reals {
		if strings.HasPrefix(r.name, "gemini") || r.name == "opencode" {
			continue // they end their turn, or wait in silence, when a stream breaks
		}
		t.Run(r.name, func(t *testing.T) {
			among(t, r.name == "claude" || r.name == "codex-acp")
			t.Parallel()
			server := scripted(t, "traps.txt")
			w := newWorld(t, "")
			w.write("signalbox.yaml", fmt.Sprintf("agents:\n  default: {command: [%[1]s/agent], env: {SCRIPTS: %[1]s}}\n  real: %[2]s\nroles: {developer: {agent: real}}\nlimits: {answer: 2m}\n",
				w.scripts, r.entry(t, server.URL())))
			w.git("commit", "-qam", "settings")
			w.tasks("T-1")
			w.completed(w.deliver())
			if got := w.git("show", "signalbox/R1:greeting.txt"); got != "hello" {
				t.Errorf("merged: %q", got)
			}
		})
	}
}
