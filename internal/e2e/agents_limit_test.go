//go:build linux

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Claude Code meets its usage limit: its provider pauses until the time that it was told,
// nothing is counted against the task, and Codex goes on with another one.
func TestAgentLimit(t *testing.T) {
	t.Parallel()
	server := scripted(t, "limit.txt")
	w := newWorld(t, "")
	var claude, codex real
	for _, r := range reals {
		switch r.name {
		case "claude":
			claude = r
		case "codex-acp":
			codex = r
		}
	}
	// Only who has logged in, and not with a key, is told when the limit ends.
	login := strings.Replace(claude.entry(t, server.URL()), `"ANTHROPIC_API_KEY":"dummy"`, `"CLAUDE_CODE_OAUTH_TOKEN":"dummy"`, 1)
	w.write("signalbox.yaml", fmt.Sprintf("agents:\n  default: %s\n  claude: %s\nroles: {developer: {agent: claude}}\nanalyst: true\nlimits: {answer: 2m}\n", codex.entry(t, server.URL()), login))
	w.git("commit", "-qam", "settings")
	w.tasks("T-1", "T-2")
	began := time.Now()
	run := w.start("run", "plan.md")
	w.until("the provider is paused", func() bool { return strings.Contains(run.out.String(), "claude has reached its limit") })
	if p := payload[delivery.Pause](w, delivery.ProviderPaused); p.Provider != "claude" || p.Until.Sub(began) < 89*time.Minute || time.Until(p.Until) > 91*time.Minute {
		t.Errorf("paused: %+v", p)
	}
	server.Release("the limit")
	w.until("the other provider goes on", func() bool { return strings.Contains(run.out.String(), "T-2: specified") })
	run.interrupt()
	for _, what := range []string{"WorkBlocked", delivery.QuestionAsked} {
		if slices.Contains(append(w.types("T-1"), w.types("R1")...), what) {
			t.Errorf("there is a %s:\n%s", what, w.story())
		}
	}
	if started := strings.Count(strings.Join(w.types("T-1"), " "), "LeaseGranted"); started != 2 {
		t.Errorf("%d sessions on T-1:\n%s", started, w.story())
	}
	if said := w.signalbox("status"); !strings.Contains(said.out, "claude has reached its limit") {
		t.Errorf("status:\n%s", said.out)
	}
}
