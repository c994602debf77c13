//go:build unix

package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/notify"
)

// hook is a webhook that refuses messages for a while, or takes them.
type hook struct {
	*httptest.Server
	mu      sync.Mutex
	refuses bool
	tries   int
	heads   []http.Header
	taken   []notify.Message
}

func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var m notify.Message
		if err != nil || json.Unmarshal(body, &m) != nil {
			t.Errorf("it is told %q, %v", body, err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.tries++
		if h.refuses {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		h.heads, h.taken = append(h.heads, r.Header), append(h.taken, m)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) set(refuses bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refuses = refuses
}

// told returns the kinds and texts of what it has taken.
func (h *hook) told() (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.taken {
		all = append(all, string(m.Kind)+" "+m.Text)
	}
	return all
}

func (h *hook) tried() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tries
}

// The end of a run is told before the command that delivers it ends, signed; and no agent, check or command of the run has the
// secret, nor does the ledger.
func TestMessages(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	const secret = "a secret of 32 bytes, for a hook"
	w := newWorld(t, "checks: [{name: there, command: 'env >\"$SCRIPTS_OUT/check\"'}]\nnotify: {webhook: '"+h.URL+"/x', secret_env: HOOK_SECRET, command: 'env >\"$SCRIPTS_OUT/command\"; cat >>\"$SCRIPTS_OUT/messages\"'}\n")
	out := t.TempDir()
	w.env = []string{"HOOK_SECRET=" + secret, "SCRIPTS_OUT=" + out}
	w.script("developer", "env >'"+out+"/developer'\necho \"$HOOK_SECRET\" >$name.txt\necho '"+secret+"'\ngit add -A && git commit -qm $task\necho READY_FOR_REVIEW: $task $run\n")
	w.tasks("T-1")
	w.completed(w.deliver())
	if told := h.told(); !slices.Equal(told, []string{"finished R1: the run has ended: completed, 1 completed, 0 left"}) {
		t.Fatalf("told %q", told)
	}
	if m, head := h.taken[0], h.heads[0]; m.Title != "A plan" || m.Link != "" || head.Get("Webhook-Signature") == "" || head.Get("Webhook-Id") != m.ID {
		t.Errorf("told %+v with %v", m, head)
	}
	var m notify.Message
	if text, err := os.ReadFile(filepath.Join(out, "messages")); err != nil || json.Unmarshal(text, &m) != nil || m.ID != h.taken[0].ID || !strings.Contains(m.Link, ".localhost:") || !strings.HasSuffix(m.Link, "/run?id=R1") {
		t.Errorf("the command was told %q, %v", text, err)
	}
	for _, who := range []string{"developer", "check", "command"} {
		if env, err := os.ReadFile(filepath.Join(out, who)); err != nil || !strings.Contains(string(env), "SCRIPTS_OUT=") || strings.Contains(string(env), secret) || strings.Contains(string(env), "HOOK_SECRET") {
			t.Errorf("the environment of %s: %v\n%s", who, err, env)
		}
	}
	if story := w.story(); strings.Contains(story, secret) {
		t.Errorf("the ledger has it:\n%s", story)
	}
	w.env = []string{"SCRIPTS_OUT=" + out}
	if r := w.signalbox("up"); r.code != 1 || !strings.Contains(r.err, "names the environment variable HOOK_SECRET, which is not set") {
		t.Errorf("without the secret: exit code %d\n%s", r.code, r.err)
	}
}

// What could not be told is said by status; a box that is killed meanwhile and started again tells it, once, and nothing that was
// told before.
func TestMessagesAfterAKill(t *testing.T) {
	t.Parallel()
	h := hand{newWorld(t, "")}
	hook := newHook(t)
	h.write("signalbox.yaml", "notify: {webhook: '"+hook.URL+"'}\n")
	n := h.up()
	ask := func(id, text string) {
		h.must("work", "add", "--id", id, "--title", "x", "--phase", "IMPLEMENTATION")
		h.emit(h.claim("developer"), "SEEKING_DIVINE_CLARIFICATION\nQuestion: "+text)
	}
	ask("T-1", "which API?")
	h.until("somebody is told", func() bool { return len(hook.told()) == 1 })
	hook.set(true)
	ask("T-2", "and \x1b[31mwhich\x1b[0m port?")
	h.until("somebody could not be told", func() bool { return hook.tried() == 2 })
	var s struct{ Messages api.Messages }
	h.until("status says so", func() bool {
		h.decode(h.must("status", "--json"), &s)
		return s.Messages.Error != ""
	})
	if s.Messages.Undelivered != 1 || s.Messages.Error != "webhook: 127.0.0.1 answered 503 Service Unavailable" || s.Messages.Since.IsZero() {
		t.Errorf("status --json: %+v", s.Messages)
	}
	if text := h.must("status"); !strings.Contains(text, "1 message could not be delivered, since ") {
		t.Errorf("status:\n%s", text)
	}
	n.kill()
	hook.set(false)
	for range 2 {
		n = h.up()
		h.until("all is told", func() bool {
			h.decode(h.must("status", "--json"), &s)
			return len(hook.told()) == 2 && s.Messages.Undelivered == 0
		})
		n.stop()
	}
	if told := hook.told(); !slices.Equal(told, []string{"question T-1: which API?", `question T-2: and \x1b[31mwhich\x1b[0m port?`}) {
		t.Errorf("told %q", told)
	}
}
