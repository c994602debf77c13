//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/sandbox"
)

// asked is what doctor says of an agent that it asked.
type asked struct {
	Name, State, Text, Agent, Role, Outcome string
	Usage                                   struct {
		Input int64 `json:"input_tokens"`
	}
}

// doctorDeep runs `doctor --deep`, and returns what it says of the agents that it asked. Nothing is left of it.
func (w *world) doctorDeep() map[string]asked {
	w.t.Helper()
	before := w.git("status", "--porcelain", "--ignored")
	got := w.signalbox("doctor", "--deep", "--json")
	var all []asked
	if err := json.Unmarshal([]byte(got.out), &all); err != nil {
		w.t.Fatalf("%v: exit code %d\n%s%s", err, got.code, got.out, got.err)
	}
	if !strings.Contains(got.err, "costs tokens") {
		w.t.Errorf("it does not say what it costs: %s", got.err)
	}
	if after := w.git("status", "--porcelain", "--ignored"); after != before {
		w.t.Errorf("it has left something: %s", after)
	}
	answers := map[string]asked{}
	for _, a := range all {
		if a.Name == "answer" {
			answers[a.Agent] = a
		}
	}
	return answers
}

// Each real program is asked for one word, as a session would run it; in a sandbox, and with no login.
func TestDoctorDeep(t *testing.T) {
	kinds := []sandbox.Kind{sandbox.None}
	for _, kind := range sandbox.Kinds()[1:] {
		if sandbox.Available(kind) == nil {
			kinds = append(kinds, kind)
		}
	}
	for i, r := range reals {
		kind := kinds[i%len(kinds)]
		t.Run(fmt.Sprintf("%s in %s", r.name, kind), func(t *testing.T) {
			among(t, i < len(kinds)) // each sandbox; OpenCode waits a minute for a network
			t.Parallel()
			settings := fmt.Sprintf("sandbox: {kind: %s}\nreview: unprotected\n", kind)
			w, _ := r.loginWorld(t, scripted(t, "doctor.txt").URL(), true, settings)
			if a := w.doctorDeep()["real"]; a.Outcome != "answered" || a.State != "ok" || !strings.Contains(a.Text, "ready") || a.Usage.Input == 0 {
				t.Errorf("%+v", a)
			}
			w, _ = r.loginWorld(t, scripted(t, "doctor-refused.txt").URL(), false, settings)
			if a := w.doctorDeep()["real"]; a.Outcome != "not_logged_in" || a.State != "missing" || !strings.Contains(a.Text, "log in with the program") {
				t.Errorf("%+v", a)
			}
		})
	}
}

// What is said of agents that answer, don't, fail, or run for ever until a person presses Ctrl-C: then nothing is left running.
func TestDoctorDeepWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	const names = "good out bad quiet"
	settings := fmt.Sprintf(`agents:
  good: {command: [sh, -c, 'cat >prompt; echo "I look."; echo ready']}
  out: {command: [sh, -c, 'echo "no key" >&2; exit 77']}
  bad: {command: [sh, -c, 'echo "not logged in: 401 Unauthorized" >&2; exit 3'], env: {SCRIPTS: %[1]s}}
  quiet: {command: [sh, -c, 'cat >/dev/null']}
  stuck: {command: [sh, -c, 'echo $$ >%[1]s/started; setsid sleep 300 & sleep 300'], env: {SCRIPTS: %[1]s}}
roles: {developer: {agent: good}, critic: {agent: out}, auditor: {agent: bad}, analyst: {agent: quiet}, expert: {agent: good}, remediation: {agent: good}, health_auditor: {agent: good}}
`, w.scripts)
	w.write("signalbox.yaml", settings)
	answers := w.doctorDeep()
	for name, want := range map[string]string{
		"good":  "answered",
		"out":   "not_logged_in",
		"bad":   "failed", // a plain command's words count for nothing
		"quiet": "no_answer",
	} {
		if got := answers[name]; got.Outcome != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(answers) != len(strings.Fields(names)) {
		t.Errorf("asked: %v", answers)
	}
	if text := answers["bad"].Text; !strings.Contains(text, "exit status 3: not logged in: 401 Unauthorized") {
		t.Errorf("its last words are not in %q", text)
	}
	w.write("signalbox.yaml", strings.Replace(settings, "developer: {agent: good}", "developer: {agent: stuck}", 1))
	doctor := w.start("doctor", "--deep")
	w.until("the agent is started", func() bool { _, err := os.Stat(filepath.Join(w.scripts, "started")); return err == nil })
	if got := doctor.interrupt(); got.code != 130 {
		t.Errorf("exit code %d:\n%s%s", got.code, got.out, got.err)
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	if found, _ := filepath.Glob(filepath.Join(w.dir, ".signalbox-try-*")); len(found) > 0 {
		t.Errorf("left behind: %v", found)
	}
}

// In a sandbox an agent that is asked sees as little of a box as in a run: its archive may lie elsewhere.
func TestDoctorDeepConfined(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w := newWorld(t, "")
		archive := filepath.Join(w.dir, "elsewhere")
		settings := "sandbox: {kind: %s, write: [%s/starts]}\narchive: {dir: %s}\n"
		w.settings(settings, kind, w.scripts, archive)
		w.tasks("T-1")
		w.completed(w.deliver())
		if _, err := os.Stat(filepath.Join(archive, "checkpoint")); err != nil {
			t.Fatal(err)
		}
		nosy := fmt.Sprintf("cat %s/checkpoint && exit 3; cat %s/.signalbox/api.token && exit 3; cat README.md >/dev/null && echo ready", archive, w.dir)
		w.write("signalbox.yaml", fmt.Sprintf("agents: {nosy: {command: [sh, -c, '%s']}}\n", nosy)+fmt.Sprintf(settings, kind, w.scripts, archive))
		if a := w.doctorDeep()["nosy"]; a.Outcome != "answered" {
			t.Errorf("%+v", a)
		}
	})
}
