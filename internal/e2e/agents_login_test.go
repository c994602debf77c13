//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// logOut takes from a program's environment and home what it logs in with.
func (r real) logOut(t *testing.T, env map[string]string) {
	t.Helper()
	for _, name := range []string{"ANTHROPIC_API_KEY", "SCRIPTED_KEY", "GEMINI_API_KEY"} {
		delete(env, name)
	}
	if r.name != "opencode" {
		return
	}
	path := filepath.Join(env["XDG_CONFIG_HOME"], "opencode", "opencode.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `, "apiKey": "dummy"`, "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// loginWorld is one whose agents are all a program, which has a login or not.
func (r real) loginWorld(t *testing.T, url string, login bool, settings string) (w *world, env map[string]string) {
	t.Helper()
	w = newWorld(t, "")
	command, env := r.start(t, url)
	if !login {
		r.logOut(t, env)
	}
	entry, err := json.Marshal(map[string]any{"adapter": r.adapter, "command": command, "env": env})
	if err != nil {
		t.Fatal(err)
	}
	w.write("signalbox.yaml", fmt.Sprintf("agents: {real: %s}\n%s", entry, settings))
	w.git("commit", "-qam", "settings")
	return w, env
}

// asksForLogin fails the test unless a run ends with one question about the login, and nothing else was recorded of it.
func (w *world) asksForLogin(sessions int) {
	w.t.Helper()
	if got := w.signalbox("run", "plan.md"); got.code != 2 {
		w.t.Fatalf("exit code %d:\n%s%s", got.code, got.out, w.story())
	}
	asked, paused, ended := 0, 0, 0
	for _, e := range w.events() {
		switch e.Type {
		case delivery.QuestionAsked:
			asked++
		case delivery.ProviderPaused:
			paused++
		case delivery.SessionEnded:
			ended++
			var end delivery.Ended
			if err := json.Unmarshal(e.Payload, &end); err != nil || end.How != delivery.LoggedOut {
				w.t.Errorf("%v: a session ended as %s", err, e.Payload)
			}
		case "WorkBlocked":
			w.t.Errorf("%s is blocked", e.Work)
		}
	}
	q := payload[delivery.Question](w, delivery.QuestionAsked)
	if asked != 1 || paused != 1 || ended > sessions || q.Cause != delivery.CauseLogin || q.Provider != "real" {
		w.t.Errorf("%d questions, %d pauses, %d sessions: %+v\n%s", asked, paused, ended, q, w.story())
	}
}

// Each program whose login is refused, or that has none, is recognised by what it says itself: its provider is paused, and
// nothing is counted against the task.
func TestAgentLogin(t *testing.T) {
	for i, r := range reals {
		for j, c := range []struct {
			name, task string
			login      bool
		}{{"no login", "T-401", false}, {"401", "T-401", true}, {"403", "T-403", true}} {
			t.Run(r.name+" "+c.name, func(t *testing.T) {
				among(t, (i+j)%3 == 0)
				t.Parallel()
				w, _ := r.loginWorld(t, scripted(t, "login.txt").URL(), c.login, "limits: {answer: 1m}\n")
				w.tasks(c.task)
				w.asksForLogin(1)
			})
		}
	}
}

// Several tasks (five, if all is wanted), and a program that is not logged in: one question. It logs in, "retry" is the answer, and all is delivered.
func TestAgentLoginOnce(t *testing.T) {
	t.Parallel()
	r := reals[slices.IndexFunc(reals, func(r real) bool { return r.name == "claude" })]
	w, env := r.loginWorld(t, scripted(t, "login.txt").URL(), false, "limits: {agents: 5}\n")
	tasks := []string{"T-1", "T-2", "T-3", "T-4", "T-5"}
	if !*all {
		tasks = tasks[:2]
	}
	w.tasks(tasks...)
	w.asksForLogin(len(tasks))
	if said := w.signalbox("status").out; strings.Count(said, "waits for a login of its provider") != len(tasks) {
		t.Errorf("status:\n%s", said)
	}
	login := `{"claudeAiOauth":{"accessToken":"dummy","refreshToken":"dummy","expiresAt":4102444800000,"scopes":["user:inference"],"subscriptionType":"max"}}`
	if err := os.WriteFile(filepath.Join(env["CLAUDE_CONFIG_DIR"], ".credentials.json"), []byte(login), 0o600); err != nil {
		t.Fatal(err)
	}
	w.signalbox("answer", "R1-Q1", "retry")
	w.completed(w.deliver())
	if t.Failed() {
		t.Log(w.story())
	}
}
