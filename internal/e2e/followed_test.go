//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/sandbox"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// programWorld makes a world in which developers and reviewers are run by scripts with names of
// programs, which keep their settings in a home directory of the world's own.
func programWorld(t *testing.T, kind sandbox.Kind, developer, reviewer string) (w *world, settings string) {
	t.Helper()
	w = newWorld(t, "")
	home := t.TempDir()
	settings = filepath.Join(home, ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.script("claude", agent)
	entry := func(name string) string {
		return fmt.Sprintf("{command: [%s], commands: exec, env: {SCRIPTS: %s, HOME: %s}}", filepath.Join(w.scripts, name), w.scripts, home)
	}
	w.write("signalbox.yaml", fmt.Sprintf(`agents:
  developing: %s
  default: %s
roles: {developer: {agent: developing}}
sandbox: {kind: %s, network: off, write: [%s/starts]}
`, entry(developer), entry(reviewer), kind, w.scripts))
	w.git("commit", "-qam", "settings")
	w.tasks("T-1")
	return w, settings
}

// plant writes a hook into the settings of the program that reviews.
const plant = `if echo '{"hooks": {}}' >"$HOME/.claude/settings.json"; then echo planted; else echo kept out; fi` + "\n"

// A reviewer is not started that would follow what a developer wrote. The run is paused, says why,
// and goes on when the operator has looked.
func TestPlantedSettings(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w, settings := programWorld(t, kind, "claude", "claude")
		w.script("developer", plant+honest["developer"])
		r := w.deliver()
		if r.State != api.RunWaiting || !strings.Contains(r.Distrust, settings) || w.has("T-1.critic.1") {
			t.Fatalf("the run is %s: %s\n%s", r.State, r.Distrust, w.story())
		}
		if shown := w.signalbox("run", "plan.md"); !strings.Contains(strings.Join(strings.Fields(shown.out), ""), settings) || !strings.Contains(shown.out, "signalbox pause --resume R1") {
			t.Errorf("it does not say why:\n%s%s", shown.out, shown.err)
		}
		for _, e := range w.events() {
			if e.Type == delivery.RunPaused && (e.Actor != work.BoxActor || !strings.Contains(string(e.Payload), settings)) {
				t.Errorf("it is recorded as %s: %s", e.Actor, e.Payload)
			}
		}
		w.must("pause", "--resume")
		w.completed(w.deliver())
		if n := strings.Count(strings.Join(w.types("R1"), " "), delivery.RunPaused); n != 1 {
			t.Errorf("it was paused %d times:\n%s", n, w.story())
		}
		for _, e := range w.events() {
			var end delivery.Ended
			if e.Type == delivery.SessionEnded && json.Unmarshal(e.Payload, &end) == nil && end.How != delivery.Done && end.How != delivery.Stopped {
				t.Errorf("somebody is blamed: %s", e.Payload)
			}
		}
	})
}

// A developer of another program can't write what the reviewers' program keeps.
func TestSettingsOfOthers(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w, settings := programWorld(t, kind, "agent", "claude")
		w.script("developer", plant+honest["developer"])
		w.completed(w.deliver())
		if text, err := os.ReadFile(settings); err != nil || string(text) != "{}\n" {
			t.Errorf("the settings are %q, %v", text, err)
		}
		if said := w.signalbox("logs", "T-1"); !strings.Contains(said.out, "kept out") {
			t.Errorf("logs:\n%s", said.out)
		}
	})
}

// What is changed while a reviewer runs makes its word void, also if it is put back in between.
func TestPlantedBesideReviewer(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w, settings := programWorld(t, kind, "claude", "claude")
		w.script("T-1.critic.1", `cp "$HOME/.claude/settings.json" "$HOME/.claude/kept"`+"\n"+plant+`cat "$HOME/.claude/kept" >"$HOME/.claude/settings.json"`+"\n"+honest["critic"])
		r := w.deliver()
		if r.State != api.RunWaiting || !strings.Contains(r.Distrust, settings) || w.has("T-1.auditor.1") {
			t.Fatalf("the run is %s: %s\n%s", r.State, r.Distrust, w.story())
		}
		w.must("pause", "--resume")
		w.completed(w.deliver())
		if !w.has("T-1.critic.2") {
			t.Errorf("no other critic was started:\n%s", w.story())
		}
	})
}

// What agents changed when nobody reviewed any more is told in the next run.
func TestPlantedForNextRun(t *testing.T) {
	t.Parallel()
	sandboxes(t, func(t *testing.T, kind sandbox.Kind) {
		w, settings := programWorld(t, kind, "claude", "claude")
		w.script("T-1.developer.1", plant+"echo TASK_INCOMPLETE: $task $run\n")
		r := w.deliver()
		w.must("cancel", "--run", r.ID)
		w.tasks("T-2")
		r = w.deliver()
		if r.ID != "R2" || r.State != api.RunWaiting || !strings.Contains(r.Distrust, settings) || w.has("T-2.critic.1") {
			t.Fatalf("the run %s is %s: %s\n%s", r.ID, r.State, r.Distrust, w.story())
		}
	})
}
