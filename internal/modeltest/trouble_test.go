package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

// answer is all that came back for a request. The error is that of a body that was cut.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

// say asks for the reply to a prompt.
func say(t *testing.T, s *modeltest.Server, f format, stream bool, prompt string) answer {
	t.Helper()
	resp := post(t, s.URL()+f.path(stream), f.body([]said{{From: "user", Text: prompt}}, []string{"Bash"}, stream))
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body), err}
}

// A failure comes as often as the script says, then what follows it.
func TestRecovers(t *testing.T) {
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			s := start(t, "trouble.script")
			for range 2 {
				got := say(t, s, f, true, "overloaded")
				if got.status != 529 || !strings.Contains(got.body, `"message":"Overloaded"`) {
					t.Errorf("%d %s, want 529 with its message", got.status, got.body)
				}
			}
			if say(t, s, f, true, "overloaded").err == nil {
				t.Error("the third reply is not cut")
			}
			reply := f.ask(t, s, []said{{From: "user", Text: "overloaded"}}, []string{"Bash"}, true)
			if reply.Text != "I was cut off, and this is all." {
				t.Errorf("the fourth says %q", reply.Text)
			}
			refuseUnexpected(t, s)
		})
	}
}

// A reply that breaks has what was said before, and no end.
func TestBreaks(t *testing.T) {
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			s := start(t, "trouble.script")
			got := say(t, s, f, true, "cut")
			if got.err == nil {
				t.Error("the stream has an end")
			}
			if !strings.Contains(got.body, "This sentence has no") {
				t.Errorf("the stream lacks what was said: %s", got.body)
			}
			for _, end := range []string{"content_block_stop", "message_stop", "output_text.done", "response.completed", `"finish_reason":"stop"`, "STOP"} {
				if strings.Contains(got.body, end) {
					t.Errorf("the stream has %s: %s", end, got.body)
				}
			}
		})
		t.Run(f.name+"/whole", func(t *testing.T) {
			s := start(t, "trouble.script")
			got := say(t, s, f, false, "cut")
			if got.err == nil || got.body == "" || json.Valid([]byte(got.body)) {
				t.Errorf("got %q (%v), want a part of a reply and an error", got.body, got.err)
			}
		})
	}
}

// A stream that stalls ends with the client or the server, whichever goes first.
func TestStalls(t *testing.T) {
	s := start(t, "trouble.script")
	f := anthropicClient()
	ctx, cancel := context.WithCancel(t.Context())
	raw, _ := json.Marshal(f.body([]said{{From: "user", Text: "stall"}}, []string{"Bash"}, true))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+f.path(true), strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	leaving, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer leaving.Body.Close()
	staying := post(t, s.URL()+f.path(true), f.body([]said{{From: "user", Text: "stall"}}, []string{"Bash"}, true))
	defer staying.Body.Close()
	for _, resp := range []*http.Response{leaving, staying} {
		readUntil(t, resp.Body, "fall silent")
	}
	end := rest(staying.Body)
	cancel()
	others(t, s)
	select {
	case got := <-end:
		t.Errorf("the stream has ended by itself, with %q", got)
	default:
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := <-end; strings.Contains(got, "message_stop") {
		t.Errorf("the stream was not cut: %q", got)
	}
}

// rest gives what is still to come, once the stream is over.
func rest(r io.Reader) <-chan string {
	all := make(chan string, 1)
	go func() {
		raw, _ := io.ReadAll(r)
		all <- string(raw)
	}()
	return all
}

// others keeps the server busy, so that what it should not do has had time to happen.
func others(t *testing.T, s *modeltest.Server) {
	t.Helper()
	for range 20 {
		probe(t, http.MethodGet, s.URL()+"/v1/models")
	}
}

// readUntil reads until the text has come, split as it may be.
func readUntil(t *testing.T, r io.Reader, text string) {
	t.Helper()
	var got strings.Builder
	b := make([]byte, 1)
	for !strings.Contains(got.String(), text) {
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatalf("%v after %q", err, got.String())
		}
		got.Write(b)
	}
}

// A reply that waits has sent what comes before, and goes on when it is released.
func TestWaits(t *testing.T) {
	s := start(t, "== a\nasked: .\nsays: before\nwaits: me\nsays: after\n")
	select {
	case <-s.Reached("me"):
		t.Fatal("nothing was asked yet")
	default:
	}
	resp := post(t, s.URL()+"/v1/chat/completions", chatClient().body([]said{{From: "user", Text: "go"}}, nil, true))
	defer resp.Body.Close()
	readUntil(t, resp.Body, "before")
	<-s.Reached("me")
	end := rest(resp.Body)
	others(t, s)
	select {
	case got := <-end:
		t.Errorf("it did not wait: %q", got)
	default:
	}
	s.Release("me")
	s.Release("me")
	if got := <-end; !strings.Contains(got, "after") || !strings.Contains(got, "[DONE]") {
		t.Errorf("then it says %q", got)
	}
	if reply := chatClient().ask(t, s, []said{{From: "user", Text: "go"}}, nil, false); reply.Text != "before\nafter" {
		t.Errorf("once released, it says %q", reply.Text)
	}
}

func TestOwnFailure(t *testing.T) {
	s := start(t, "trouble.script")
	a := say(t, s, chatClient(), true, "teapot")
	got := []any{a.status, a.header.Get("X-Vessel"), a.header.Get("Content-Type"), a.body}
	if diff := cmp.Diff([]any{418, "teapot", "text/plain", "I am a\nteapot."}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A usage limit names the time of its end as each vendor does; the conversation goes on
// after it, whether or not the program remembers the prompt that was not answered.
func TestLimits(t *testing.T) {
	end := time.Date(2030, 1, 2, 15, 4, 5, 0, time.UTC)
	ends := map[string]func(h http.Header, body obj) string{
		"anthropic": func(h http.Header, _ obj) string { return h.Get("Anthropic-Ratelimit-Unified-Reset") },
		"responses": func(_ http.Header, body obj) string {
			if str(body, "error", "type") != "usage_limit_reached" {
				return str(body, "error", "type")
			}
			return fmt.Sprintf("%.0f", get(body, "error", "resets_at"))
		},
		"chat": func(h http.Header, _ obj) string { return after(h.Get("Retry-After")) },
		"gemini": func(_ http.Header, body obj) string {
			return after(strings.TrimSuffix(str(body, "error", "details", 1, "retryDelay"), "s"))
		},
	}
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			s := start(t, "trouble.script")
			a := say(t, s, f, true, "limit")
			var body obj
			if err := json.Unmarshal([]byte(a.body), &body); err != nil {
				t.Fatal(err)
			}
			got, _ := strconv.ParseInt(ends[f.name](a.header, body), 10, 64)
			if off := got - end.Unix(); a.status != 429 || off < -60 || off > 60 {
				t.Errorf("status %d, resets at %d: want 429 and %d; %s", a.status, got, end.Unix(), a.body)
			}
			for _, h := range [][]said{
				{{From: "user", Text: "limit"}, {From: "user", Text: "go on"}},
				{{From: "user", Text: "go on"}},
				{{From: "user", Text: "go on"}, {From: "user", Text: "go on"}},
			} {
				if reply := f.ask(t, s, h, []string{"Bash"}, true); reply.Text != "I am back." {
					t.Errorf("then it says %q", reply.Text)
				}
			}
		})
	}
}

// after is a Unix time so many seconds from now.
func after(seconds string) string {
	n, _ := strconv.ParseInt(seconds, 10, 64)
	return strconv.FormatInt(time.Now().Unix()+n, 10)
}

func TestFloods(t *testing.T) {
	for _, f := range formats() {
		for _, stream := range []bool{true, false} {
			s := start(t, "trouble.script")
			reply := f.ask(t, s, []said{{From: "user", Text: "flood"}}, []string{"Bash"}, stream)
			if len(reply.Text) != 1<<20 || strings.Contains(reply.Text, "\n") {
				t.Errorf("%s, stream=%v: %d bytes, want one line of 1 MiB", f.name, stream, len(reply.Text))
			}
		}
	}
}
