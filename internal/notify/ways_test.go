package notify

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
)

var message = Message{ID: "msg_1", Kind: config.KindQuestion, Run: "R1", Task: "T-1", Text: "R1 T-1: which one?", Question: &api.Question{ID: "R1-Q1", Run: "R1", Task: "T-1", Text: "which\x00one?\nthis"}}

// one returns a teller for one try.
func one(o Options) *Teller {
	o.Now, o.Logger = time.Now, slog.New(slog.DiscardHandler)
	return New(nil, o)
}

// A webhook gets a message as JSON, with its id and the time, signed with a secret if there is one, and a new signature in each try.
func TestWebhook(t *testing.T) {
	t.Parallel()
	var body []byte
	var head http.Header
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		head = r.Header
	}))
	defer hook.Close()
	secret, err := Secret("whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef")))
	if err != nil {
		t.Fatal(err)
	}
	for _, signed := range []bool{true, false} {
		o := Options{Notify: config.Notify{Webhook: hook.URL + "/secret"}}
		if signed {
			o.Secret = secret
		}
		if err := one(o).webhook(t.Context(), message); err != nil {
			t.Fatal(err)
		}
		var got Message
		if err := json.Unmarshal(body, &got); err != nil || got.ID != message.ID || got.Question.ID != "R1-Q1" {
			t.Errorf("it was told %s, %v", body, err)
		}
		if head.Get("Webhook-Id") != "msg_1" || head.Get("Idempotency-Key") != "msg_1" || head.Get("Content-Type") != "application/json" {
			t.Errorf("with %v", head)
		}
		mac := hmac.New(sha256.New, []byte("0123456789abcdef"))
		fmt.Fprintf(mac, "msg_1.%s.%s", head.Get("Webhook-Timestamp"), body)
		want := ""
		if signed {
			want = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		}
		if head.Get("Webhook-Signature") != want {
			t.Errorf("the signature is %q; want %q", head.Get("Webhook-Signature"), want)
		}
	}
}

// A secret is as long as it has to be, and what is wrong with one does not tell it.
func TestSecret(t *testing.T) {
	for value, want := range map[string]string{
		"0123456789abcdef": "", "short": "it has 5 bytes", "": "it has 0 bytes", "whsec_MDEyMzQ1Njc4OWFiY2RlZg==": "", "whsec_MDEy": "it has 3 bytes",
		"whsec_!!!!": "what follows whsec_ is no base64",
	} {
		secret, err := Secret(value)
		if (want == "") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), want) || err == nil && string(secret) != "0123456789abcdef" {
			t.Errorf("%q: %q, %v", value, secret, err)
		}
	}
}

// raw serves connections as a test says.
func raw(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					serve(c)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/secret"
}

// Whatever answers at the webhook's address: it is asked once, and nothing else is; no more is read than says whether it took the
// message; it has so much time; and what is said of it does not name the address, and is safe to print.
func TestHostileWebhook(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another address is asked") }))
	defer elsewhere.Close()
	if webhooks.Transport.(*http.Transport).Proxy != nil {
		t.Error("a proxy is asked")
	}
	forever := func(c net.Conn, text string) {
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
	wait := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) } // until the other side ends it
	for name, hook := range map[string]struct {
		serve func(net.Conn)
		want  string // empty if it is told
	}{
		"never answers": {wait, "127.0.0.1: it took longer than"},
		"answers byte by byte": {func(c net.Conn) {
			for i := 0; ; i++ {
				if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "[min(i, 18):min(i+1, 19)]+strings.Repeat("x", max(0, min(1, i-18)))); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}, "127.0.0.1: it took longer than"},
		"a head without end": {func(c net.Conn) { forever(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<10)) }, "127.0.0.1: "},
		"a body without end": {func(c net.Conn) { forever(c, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 1<<10)) }, ""},
		"a body that is slow": {func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")
			wait(c)
		}, ""},
		"hints without end": {func(c net.Conn) { forever(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") }, "127.0.0.1: "},
		"redirects to metadata": {func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 307 x\r\nLocation: http://169.254.169.254/latest\r\n\r\n")
		}, "127.0.0.1 answered 307 Temporary Redirect"},
		"redirects elsewhere": {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 302 x\r\nLocation: "+elsewhere.URL+"\r\n\r\n") }, "127.0.0.1 answered 302 Found"},
		"a hostile reason":    {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 500 \x1b]0;owned\x07\r\n\r\n") }, "127.0.0.1 answered 500 Internal Server Error"},
		"no HTTP":             {func(c net.Conn) { _, _ = io.WriteString(c, "\x1b[31mSSH-2.0\r\n\r\n") }, "127.0.0.1: "},
		"hangs up":            {func(net.Conn) {}, "127.0.0.1: "},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			teller := one(Options{Notify: config.Notify{Webhook: raw(t, hook.serve)}})
			teller.patient = 20 * time.Second
			if strings.Contains(hook.want, "longer") {
				teller.patient = 200 * time.Millisecond
			}
			err := teller.webhook(t.Context(), message)
			if (err == nil) != (hook.want == "") || err != nil && !strings.HasPrefix(err.Error(), hook.want) {
				t.Fatalf("%v; want %q", err, hook.want)
			}
			if err != nil && (strings.Contains(err.Error(), "/secret") || strings.ContainsRune(err.Error(), 0x1b)) {
				t.Errorf("it says %q", err)
			}
		})
	}
	if err := one(Options{Notify: config.Notify{Webhook: "http://127.0.0.1:1/secret"}}).webhook(t.Context(), message); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody is there: %v", err)
	}
}

// A command has the message in its environment and as JSON on its standard input. One that reads nothing is told as well; one that
// hangs, floods or starts others is ended with them.
func TestCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("commands are run in process groups, which this system does not have")
	}
	t.Parallel()
	dir := t.TempDir()
	tell := func(patient time.Duration, line string) error {
		teller := one(Options{Notify: config.Notify{Command: line}, Dir: dir})
		teller.patient = patient
		return teller.command(t.Context(), message)
	}
	if err := tell(time.Minute, `printf '%s|' "$MESSAGE_ID" "$MESSAGE_KIND" "$MESSAGE_RUN" "$MESSAGE_TASK" "$MESSAGE_TEXT" "$QUESTION_ID" "$QUESTION_TEXT" >env; cat >in`); err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if want := "msg_1|question|R1|T-1|R1 T-1: which one?|R1-Q1|which\\x00one?\nthis|"; err != nil || string(env) != want {
		t.Errorf("its environment: %q, %v; want %q", env, err, want)
	}
	var got Message
	if in, err := os.ReadFile(filepath.Join(dir, "in")); err != nil || json.Unmarshal(in, &got) != nil || got.ID != "msg_1" || in[len(in)-1] != '\n' {
		t.Errorf("its input: %q, %v", in, err)
	}
	if err := tell(time.Minute, "exec <&-; true"); err != nil {
		t.Errorf("one that reads nothing: %v", err)
	}
	if err := tell(time.Minute, "printf '\\033[31mno'; exit 3"); err == nil || !strings.HasPrefix(err.Error(), `exit code 3: \x1b[31mno`) {
		t.Errorf("one that fails: %v", err)
	}
	var pid []byte
	for patient := time.Second; len(pid) == 0; patient *= 2 { // until it has come that far
		if err := tell(patient, "sleep 1000 & echo $! >pid; yes"); err == nil || len(err.Error()) > 2*maxText || !strings.Contains(err.Error(), "ended after "+patient.String()) {
			t.Fatalf("one that hangs and floods: %v", err)
		}
		pid, _ = os.ReadFile(filepath.Join(dir, "pid"))
	}
	if runtime.GOOS == "linux" && alive(strings.TrimSpace(string(pid))) {
		t.Errorf("what it started is there still: %s", pid)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := one(Options{Notify: config.Notify{Command: "touch ran"}, Dir: dir}).command(ctx, message); err == nil {
		t.Error("it runs after the end")
	}
}

func alive(pid string) bool {
	status, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(status), ") Z ")
}
