package notify

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/config"
)

// The receiver in examples/webhook takes what a teller sends, each message once, and nothing that is forged, changed, old, or not
// signed.
func TestReceiver(t *testing.T) {
	t.Parallel()
	const secret = "a secret of more than 16 bytes"
	program := filepath.Join(t.TempDir(), "webhook")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../examples/webhook").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	receiver := exec.CommandContext(t.Context(), program, "-listen", "127.0.0.1:0")
	receiver.Env = append(os.Environ(), "HOOK_SECRET="+secret)
	errs, err := receiver.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := receiver.StdoutPipe()
	if err == nil {
		err = receiver.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = receiver.Process.Kill() // it never ends by itself
		_ = receiver.Wait()
	}()
	line, err := bufio.NewReader(errs).ReadString('\n')
	_, address, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("it says %q, %v", line, err)
	}
	teller := one(Options{Notify: config.Notify{Webhook: address}, Secret: []byte(secret)})
	for _, text := range []string{"first", "first", "\x1b[31msecond\nforged: yes"} {
		m := message
		m.ID, m.Text = "msg_"+strconv.Itoa(len(text)), text
		if err := teller.webhook(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := one(Options{Notify: config.Notify{Webhook: address}}).webhook(t.Context(), message); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("not signed: %v", err)
	}
	now, body := strconv.FormatInt(time.Now().Unix(), 10), `{"kind":"failed","text":"forged"}`
	old := strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
	for name, try := range map[string]struct{ id, timestamp, signature, body string }{
		"another secret": {"msg_3", now, sign([]byte("another secret of some bytes"), "msg_3", now, []byte(body)), body},
		"another id":     {"msg_4", now, sign([]byte(secret), "msg_3", now, []byte(body)), body},
		"another time":   {"msg_3", now, sign([]byte(secret), "msg_3", old, []byte(body)), body},
		"old":            {"msg_3", old, sign([]byte(secret), "msg_3", old, []byte(body)), body},
		"changed":        {"msg_3", now, sign([]byte(secret), "msg_3", now, []byte(body)), strings.Replace(body, "forged", "other!", 1)},
		"no signature":   {"msg_3", now, "", body},
		"too long":       {"msg_3", now, "", strings.Repeat("x", 1<<20)},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(try.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(idHeader, try.id)
		req.Header.Set(timestampHeader, try.timestamp)
		req.Header.Set(signatureHeader, try.signature)
		resp, err := webhooks.Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		if err == nil && resp.StatusCode < 400 || err != nil && try.body == body {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
	if err := receiver.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	printed, err := io.ReadAll(out)
	if want := "question: \"first\"\nquestion: \"\\x1b[31msecond\\nforged: yes\"\n"; err != nil || string(printed) != want {
		t.Errorf("it printed %q, %v; want %q", printed, err, want)
	}
}
