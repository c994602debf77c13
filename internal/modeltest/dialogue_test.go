package modeltest_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// Every format tells the same dialogue, streamed or whole.
func TestDialogue(t *testing.T) {
	stops := map[string][2]string{ // with calls, without
		"anthropic": {"tool_use", "end_turn"}, "responses": {"completed", "completed"},
		"chat": {"tool_calls", "stop"}, "gemini": {"STOP", "STOP"},
	}
	file := `{"content":"greet() {\n  echo \"Hello, $1!\"\n}\n","file_path":"/work tree/lib/greet.sh"}`
	usual, set := "100 in, 0 cached, 20 out", "120 in, 100 cached, 34 out"
	want := []said{
		{Text: "I write the function.", Calls: []call{{Tool: "Write", Args: file}}, Usage: usual},
		{Calls: []call{
			{Tool: "Bash", Args: `{"command":"git add -A && git commit -qm G-1","description":"As the script says"}`},
			{Tool: "Read", Args: `{"file_path":"/work tree/lib/greet.sh"}`},
		}, Usage: set},
		{Text: "READY_FOR_REVIEW: G-1\n\nSummary: written", Usage: usual},
		{Calls: []call{{Tool: "Grep", Args: `{"path":"lib","pattern":"greet"}`}}, Usage: usual},
		{Text: "lib/greet.sh\nThat is all.", Usage: usual},
	}
	for _, f := range formats() {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stream=%v", f.name, stream), func(t *testing.T) {
				s := start(t, "greet.script")
				s.Release("release me")
				got := walk(t, s, f, stream,
					said{From: "user", Text: "# G-1: a greeting\nIt says Hello."},
					said{From: "tool", Results: []string{"File created"}},
					said{From: "tool", Results: []string{"", "Hello"}},
					said{From: "user", Text: "Which file is it?"},
					said{From: "tool", Results: []string{"lib/greet.sh"}})
				for i := range want {
					want[i].From, want[i].Stop = "model", stops[f.name][1]
					if len(want[i].Calls) > 0 {
						want[i].Stop = stops[f.name][0]
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("replies (-want +got):\n%s", diff)
				}
				refuseUnexpected(t, s)
			})
		}
	}
}

// walk says all to the server, with the history before it, and returns what it replied. No
// call may have an id that another has.
func walk(t *testing.T, s *modeltest.Server, f format, stream bool, all ...said) []said {
	t.Helper()
	var h, replies []said
	ids := map[string]bool{}
	for _, m := range all {
		h = append(h, m)
		reply := f.ask(t, s, h, []string{"Bash", "Read", "Write"}, stream)
		h = append(h, reply)
		bare := reply
		bare.Calls = nil
		for _, c := range reply.Calls {
			if c.ID != "-" && (c.ID == "" || ids[c.ID]) {
				t.Errorf("a call's id is %q, which is not its own", c.ID)
			}
			ids[c.ID] = true
			bare.Calls = append(bare.Calls, call{Tool: c.Tool, Args: normal(t, c.Args)})
		}
		replies = append(replies, bare)
	}
	return replies
}

// What is sent is pinned byte by byte.
func TestTranscripts(t *testing.T) {
	const script = `
== a
asked: ^G-1
thinks: Erst grüßen, dann schreiben.
says: Grüße, ich schreibe die Funktion.
says: Now.
runs: true
writes: a
  b
usage: 7 in, 3 cached, 2 out
pieces: 20
`
	for _, f := range formats() {
		for _, stream := range []bool{true, false} {
			name := f.name + ".whole.txt"
			if stream {
				name = f.name + ".stream.txt"
			}
			t.Run(name, func(t *testing.T) {
				s := start(t, script)
				body := f.body([]said{{From: "user", Text: "G-1"}}, []string{"shell_command"}, stream)
				if f.name == "responses" {
					body["tools"] = append(body["tools"].([]obj), obj{"type": "custom", "name": "apply_patch"})
				} else {
					body = f.body([]said{{From: "user", Text: "G-1"}}, []string{"Bash", "Write"}, stream)
				}
				resp := post(t, s.URL()+f.path(stream), body)
				defer resp.Body.Close()
				raw, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				got := fmt.Sprintf("%s\n%s\n\n%s\n", resp.Status, resp.Header.Get("Content-Type"), strings.TrimSpace(string(raw)))
				golden(t, name, got)
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

// A reply depends on the history alone, so many can be in the same conversation.
func TestDialoguesAtOnce(t *testing.T) {
	s := start(t, "greet.script")
	s.Release("release me")
	for i := range 8 {
		f := formats()[i%4]
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			got := walk(t, s, f, i < 4,
				said{From: "user", Text: "# G-1: Hello"},
				said{From: "tool", Results: []string{"File created"}},
				said{From: "tool", Results: []string{"", "Hello"}})
			if want := "READY_FOR_REVIEW: G-1\n\nSummary: written"; got[2].Text != want {
				t.Errorf("%s: said %q, want %q", f.name, got[2].Text, want)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	const environment = "Environment:\n  Working directory: /work tree\n"
	began := time.Now()
	s := start(t, "greet.script")
	walk(t, s, chatClient(), true,
		said{From: "user", Text: "# G-1: Hello"},
		said{From: "tool", Results: []string{"File created"}},
		said{From: "tool", Results: []string{"", "Hello"}})
	want := []modeltest.Request{
		{Wire: "chat", Path: "POST /v1/chat/completions", Model: "m", Prompt: "# G-1: Hello",
			System: environment, Messages: 1, Conversation: "the developer of G-1", Turn: 1, Reply: 1},
		{Wire: "chat", Path: "POST /v1/chat/completions", Model: "m", Prompt: "# G-1: Hello", Results: []string{"File created"},
			System: environment, Messages: 3, Conversation: "the developer of G-1", Turn: 1, Reply: 2},
		{Wire: "chat", Path: "POST /v1/chat/completions", Model: "m", Prompt: "# G-1: Hello", Results: []string{"", "Hello"},
			System: environment, Messages: 6, Conversation: "the developer of G-1", Turn: 1, Reply: 3},
	}
	got := s.Requests()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(time.Time{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	last := began
	for i, r := range got {
		if r.At.Before(last) || r.Done.Before(r.At) {
			t.Errorf("request %d came at %v and was done at %v; before that it was %v", i, r.At, r.Done, last)
		}
		last = r.Done
	}
}

// What programs look up before they ask is answered and expected.
func TestProbes(t *testing.T) {
	s := start(t, "greet.script")
	for _, c := range []struct {
		method, path string
		status       int
		has          string
	}{
		{"GET", "/v1/models", 200, `"data":[{`},
		{"GET", "/v1beta/models", 200, `"models":[{`},
		{"HEAD", "/", 200, ""},
		{"GET", "/favicon.ico", 404, ""},
		{"POST", "/v1/messages/count_tokens", 200, `{"input_tokens":100}`},
		{"POST", "/v1beta/models/m:countTokens", 200, `{"totalTokens":100}`},
	} {
		status, body := probe(t, c.method, s.URL()+c.path)
		if status != c.status || !strings.Contains(body, c.has) {
			t.Errorf("%s %s: %d %s, want %d with %s", c.method, c.path, status, body, c.status, c.has)
		}
	}
	refuseUnexpected(t, s)
}

func probe(t *testing.T, method, url string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// Codex may try a websocket first. It is told to ask by POST.
func TestNoWebsocket(t *testing.T) {
	s := start(t, "greet.script")
	status, _ := probe(t, "GET", s.URL()+"/v1/responses", "Upgrade", "websocket", "Connection", "Upgrade")
	if status != http.StatusUpgradeRequired {
		t.Errorf("status %d, want 426", status)
	}
}

// What a program has kept of a reply that was cut does not count as one.
func TestCutReplyIsAskedForAgain(t *testing.T) {
	for _, f := range formats() {
		s := start(t, "greet.script")
		h := []said{
			{From: "user", Text: "# G-1: Hello"}, {From: "model", Text: "I wri"},
			{From: "model", Text: "I write.", Calls: []call{{"1", "Write", "{}"}}}, {From: "tool", Results: []string{"file"}},
			{From: "model", Text: "Now I"},
		}
		f.ask(t, s, h[:2], []string{"Write"}, true)
		f.ask(t, s, h, []string{"Bash", "Read"}, true)
		var replies []int
		for _, r := range s.Requests() {
			replies = append(replies, r.Reply)
		}
		if diff := cmp.Diff([]int{1, 2}, replies); diff != "" {
			t.Errorf("%s: replies (-want +got):\n%s", f.name, diff)
		}
	}
}
