package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/internal/oracle/toolbox"
)

// distant is a tool at an HTTP address: one that only reads, and one that changes something.
type distant string

func (d distant) Tools() []toolbox.Tool {
	schema := json.RawMessage(`{"type":"object"}`)
	return []toolbox.Tool{{Name: "look", Schema: schema, ReadOnly: true}, {Name: "order", Schema: schema, Server: "shop"}}
}

func (d distant) Call(ctx context.Context, name string, arguments json.RawMessage) toolbox.Result {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(d)+"/"+name, bytes.NewReader(arguments))
	if err != nil {
		return toolbox.Result{Text: err.Error(), Failed: true}
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return toolbox.Result{Text: err.Error(), Failed: true}
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return toolbox.Result{Text: err.Error(), Failed: true}
	}
	return toolbox.Result{Text: string(text), Sources: []string{name}}
}

// mortal is a file after so many lines of which its process is killed: before the next is
// written, which says that something has begun or what came of it.
type mortal struct {
	*os.File
	lines int
}

func (m *mortal) Write(p []byte) (int, error) {
	if m.lines == 0 {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			return 0, err
		}
		select {} // it is on its way
	}
	m.lines--
	return m.File.Write(p)
}

var kills = flag.Bool("kills", false, "kill a question after every line of its recording, and not after some")

const mortalQuestion = "which of the shelves is empty, and can you order what was on it?"

// TestAskMortal is not a test of its own: it is the process that TestAskKilled kills.
func TestAskMortal(t *testing.T) {
	where := os.Getenv("SIGNALBOX_TEST_MORTAL")
	if where == "" {
		t.Skip("TestAskKilled runs it")
	}
	lines, err := strconv.Atoi(os.Getenv("SIGNALBOX_TEST_LINES"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(where, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer http.DefaultClient.CloseIdleConnections()
	s := settingsAt(t, os.Getenv("SIGNALBOX_TEST_MODEL"), model.OpenAI)
	s.Tools = distant(os.Getenv("SIGNALBOX_TEST_TOOLS"))
	s.Approve = AllowListed([]string{"order"}, nil)
	s.Record, s.AskedWith = &mortal{file, lines}, map[string]any{"model": "scripted"}
	o, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	var told story
	answer, err := o.Ask(t.Context(), mortalQuestion, told.chunk)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(map[string]any{"answer": answer, "shown": told.text()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(where+".answer", out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// shop is where the tools are. It counts what it is asked.
type shop struct {
	mu    sync.Mutex
	calls map[string]int
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[r.URL.Path]++
	fmt.Fprint(w, map[string]string{"/look": "shelf 3 is empty", "/order": "ordered"}[r.URL.Path])
}

func (s *shop) take() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = map[string]int{}
	return calls
}

// life runs a process, and reports whether it came to an answer.
func (k *killing) life(t *testing.T, file string, lines int) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestAskMortal$", "-test.v")
	cmd.Env = append(os.Environ(), "SIGNALBOX_TEST_MORTAL="+file, "SIGNALBOX_TEST_LINES="+strconv.Itoa(lines),
		"SIGNALBOX_TEST_MODEL="+k.model, "SIGNALBOX_TEST_TOOLS="+k.tools)
	out, err := cmd.CombinedOutput()
	if _, answered := os.Stat(file + ".answer"); answered == nil {
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return true
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() == 1 {
		t.Fatalf("it was not killed: %v\n%s", err, out)
	}
	return false
}

type killing struct{ model, tools string }

// shopping is a model that looks, orders and answers, going by what it was told last. It
// speaks Chat Completions, and says the same whenever it is asked the same.
func shopping(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	say := func(text, tool, arguments string) {
		w.Header().Set("Content-Type", "text/event-stream")
		delta := map[string]any{"content": text}
		reason := "stop"
		if tool != "" {
			reason = "tool_calls"
			delta["tool_calls"] = []any{map[string]any{"index": 0, "id": "call_" + tool, "type": "function", "function": map[string]any{"name": tool, "arguments": arguments}}}
		}
		for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": reason}} {
			data, _ := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "choices": []any{choice}})
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
	var request struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &request) != nil {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	results := 0
	for _, m := range request.Messages {
		if m.Role == "tool" {
			results++
		}
	}
	const turn = `<signal type="need_turn"><reason>there is %s</reason><confidence>0.9</confidence></signal>`
	switch results {
	case 0:
		say("I look. "+fmt.Sprintf(turn, "a shelf to look at"), "look", `{"shelf":3}`)
	case 1:
		say("Shelf 3 it is. "+fmt.Sprintf(turn, "something to order"), "order", `{"what":"tea"}`)
	default:
		say(`Shelf 3 was empty; tea is on its way. <signal type="context_sufficient"><confidence>0.95</confidence></signal>`, "", "")
	}
}

// TestAskKilled kills the process of a question after each line of its recording in turn, and
// goes on with it: the answer is the same. A tool that only reads may be called again; one that
// changes something is called once, or the model is told that it may have been carried out.
func TestAskKilled(t *testing.T) {
	tools := &shop{calls: map[string]int{}}
	toolServer, modelServer := httptest.NewServer(tools), httptest.NewServer(http.HandlerFunc(shopping))
	defer toolServer.Close()
	defer modelServer.Close()
	k := &killing{modelServer.URL, toolServer.URL}
	whole := filepath.Join(t.TempDir(), "whole")
	if !k.life(t, whole, 1<<30) {
		t.Fatal("it was killed")
	}
	if calls := tools.take(); calls["/look"] != 1 || calls["/order"] != 1 {
		t.Fatalf("%v", calls)
	}
	lines := strings.SplitAfter(contentOf(t, whole), "\n")
	killed, told := 0, 0
	for at := range len(lines) - 1 {
		if !*kills && at%30 != 0 && (!strings.Contains(lines[at], "run-tools") || !strings.Contains(lines[at], "RUNNING")) {
			continue
		}
		killed++
		file := filepath.Join(t.TempDir(), "recording")
		if k.life(t, file, at) {
			t.Fatalf("it was not killed after line %d", at)
		}
		if !k.life(t, file, 1<<30) {
			t.Fatalf("after line %d it was killed twice", at)
		}
		calls, got := tools.take(), contentOf(t, file)
		unknown := strings.Contains(got, "It may have been carried out")
		if unknown {
			told++
		}
		if d := cmp.Diff(answerOf(t, whole, unknown), answerOf(t, file, unknown)); d != "" {
			t.Errorf("after line %d (-whole +resumed)\n%s", at, d)
		}
		if calls["/order"] != 1 && (calls["/order"] != 0 || !unknown) || calls["/look"] < 1 || calls["/look"] > 2 {
			t.Errorf("after line %d: %v, and the model was told: %v", at, calls, unknown)
		}
	}
	t.Logf("killed at %d of %d lines; told %d times that a call may have been carried out", killed, len(lines)-1, told)
	if told == 0 {
		t.Error("the model was never told")
	}
}

// answerOf is what a process answered and showed. A model that was told otherwise has read
// more, and has no source.
func answerOf(t *testing.T, file string, told bool) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(contentOf(t, file+".answer")), &all); err != nil {
		t.Fatal(err)
	}
	if answer, _ := all["answer"].(map[string]any); told {
		delete(answer, "tokens_in")
		delete(answer, "sources")
	}
	return all
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestToolsGivenUp has a tree whose time-out gives up a tool call: the model is told.
func TestToolsGivenUp(t *testing.T) {
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- string(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.Contains(string(body), "given up") {
			r.Body = io.NopCloser(strings.NewReader(`{"messages":[{"role":"tool"},{"role":"tool"}]}`))
		}
		shopping(w, r)
	}))
	defer server.Close()
	s := settingsAt(t, server.URL, model.OpenAI)
	s.Tools = patient{}
	s.Approve = AllowListed([]string{"look"}, nil)
	s.Tree = giveUp(s.Tree)
	o, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	var told story
	answer, err := o.Ask(t.Context(), mortalQuestion, told.chunk)
	if err != nil || answer.Outcome != Answered {
		t.Fatalf("%+v, %v", answer, err)
	}
	<-asked
	if second := <-asked; !strings.Contains(second, "may have been carried out") {
		t.Error(second)
	}
}

// patient is a tool that takes as long as it is let.
type patient struct{}

func (patient) Tools() []toolbox.Tool {
	return []toolbox.Tool{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}}
}

func (patient) Call(ctx context.Context, _ string, _ json.RawMessage) toolbox.Result {
	<-ctx.Done()
	return toolbox.Result{Text: "it ended", Failed: true}
}

// giveUp puts a short time-out around the tools of a tree.
func giveUp(t bt.Tree) bt.Tree {
	var replace func(*bt.Node) *bt.Node
	replace = func(n *bt.Node) *bt.Node {
		for i := range n.Children {
			n.Children[i] = replace(n.Children[i])
		}
		if strings.HasSuffix(n.Fn, "run_tools") {
			return bt.AlwaysSucceed(bt.Timeout(50*time.Millisecond, n))
		}
		return n
	}
	t.Root = replace(t.Root)
	for i := range t.Subtrees {
		t.Subtrees[i].Root = replace(t.Subtrees[i].Root)
	}
	return t
}
