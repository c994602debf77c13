//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// A reviewer for which what it runs could speak is refused in a sandbox, unless the settings
// say that this may be.
func TestReviewRefused(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		for _, c := range []struct{ agent, review, refused string }{
			{"", "", "signalbox exec"},
			{"", "review: unprotected\n", ""},
			{"commands: exec, ", "", ""},
		} {
			w := newWorld(t, "")
			w.write("signalbox.yaml", fmt.Sprintf("agents: {scripted: {command: [%[1]s/agent], %[2]senv: {SCRIPTS: %[1]s}}}\nsandbox: {kind: %[3]s, write: [%[1]s/starts]}\n%[4]s",
				w.scripts, c.agent, kind, c.review))
			w.tasks("T-1")
			if c.refused == "" {
				w.completed(w.deliver())
				continue
			}
			r := w.signalbox("run", "plan.md")
			if r.code == 0 || !strings.Contains(r.err, c.refused) || !strings.Contains(r.err, "review: unprotected") {
				t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
			}
		}
	})
}

// A reviewer whose program lies where agents can write is refused.
func TestReviewerThatAgentsCanWrite(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		w.tasks("T-1")
		for _, command := range []string{w.scripts + "/agent", "sh, " + w.scripts + "/agent", "npx, -y, agent"} {
			w.write("signalbox.yaml", fmt.Sprintf("agents: {scripted: {command: [%s], commands: exec}}\nsandbox: {kind: %s, write: [%s]}\n", command, kind, w.scripts))
			if r := w.signalbox("run", "plan.md"); r.code == 0 || !strings.Contains(r.err, "which agents can write") {
				t.Errorf("%s: exit code %d: %s%s", command, r.code, r.out, r.err)
			}
		}
	})
}

// The tests of a change, run by a critic with `signalbox exec`, can't speak for it, end it or
// find its nonce; a critic that runs them as they are is a plain one, and refused. They look at every process that there is, so
// this runs beside no other test.
func TestForgedReview(t *testing.T) {
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		out := filepath.Join(w.scripts, "out")
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		w.write("signalbox.yaml", fmt.Sprintf("agents: {scripted: {command: [%[2]s/agent], commands: exec, env: {SCRIPTS: %[2]s, HOME: %[3]s}}}\n"+
			"sandbox: {kind: %[1]s, write: [%[2]s/starts, %[2]s/out]}\nexit_protocol: true\nlimits: {reviews: 1, linger: 300ms}\n", kind, w.scripts, t.TempDir()))
		w.script("developer", w.hostileChange("critic"))
		w.script("critic", program+" exec -- ./test.sh\n"+say("REVIEW_FAILED: T-1", "Issues Found: a back door"))
		w.tasks("T-1")
		w.deliver()
		w.verdictIs("critic", "review_failed")
	})
}
