package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

const chatHello = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`

const messagesHello = `event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`

func hello(p model.Provider) string {
	return map[model.Provider]string{model.OpenAI: chatHello, model.Anthropic: messagesHello}[p]
}

// A stream that ends anywhere before its end mark is no reply, but another attempt may be.
func TestEndsEarly(t *testing.T) {
	marks := map[model.Provider]string{model.OpenAI: `"finish_reason":"stop"}]}` + "\n\n", model.Anthropic: `{"type":"message_stop"}` + "\n\n"}
	both(t, func(t *testing.T, p model.Provider) {
		whole := hello(p)
		end := strings.Index(whole, marks[p]) + len(marks[p])
		var sent atomic.Int64
		c := client(t, p, raw(t, func(w http.ResponseWriter, r *http.Request) { stream(whole[:sent.Load()])(w, r) }))
		for at := range len(whole) + 1 {
			sent.Store(int64(at))
			reply, err := c.Reply(t.Context(), question("go"), model.Sink{})
			if at >= end {
				if err != nil || reply.Text != "Hello" {
					t.Errorf("at %d: %q, %v", at, reply.Text, err)
				}
				continue
			}
			if err == nil {
				t.Fatalf("at %d: no error, but %q", at, reply.Text)
			}
			if e := failed(t, c, question("go")); !e.Temporary {
				t.Errorf("at %d: not temporary: %v", at, e)
			}
		}
	})
}

// A server that does not hang up after the end is not waited for.
func TestStaysOpen(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		url := raw(t, func(w http.ResponseWriter, r *http.Request) {
			stream(hello(p))(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		reply, err := client(t, p, url).Reply(t.Context(), question("go"), model.Sink{})
		if err != nil || reply.Text != "Hello" {
			t.Errorf("%q, %v", reply.Text, err)
		}
	})
}

// What is no stream of events is told as such, and is not asked for again.
func TestNoStream(t *testing.T) {
	for _, c := range []struct{ kind, encoding, body, want string }{
		{"text/html; charset=utf-8", "", "<html>Please log in\x1b[0m</html>", `it answers with text/html that is no stream of events; is the base URL that of an API? It begins: <html>Please log in\x1b[0m</html>`},
		{"application/json", "", `{"models": []}`, `it answers with application/json that is no stream of events; is the base URL that of an API? It begins: {"models": []}`},
		{"application/json", "", `{"error": "no such model"}`, "the reply ends with an error: no such model"},
		{"text/html", "", strings.Repeat("x", 115) + "secret-key-0001", "it answers with text/html that is no stream of events; is the base URL that of an API? It begins: " + strings.Repeat("x", 115) + "[key]"},
		{"text/plain", "", "Ollama is running", "it answers with something that is no stream of events; is the base URL that of an API? It begins: Ollama is running"},
		{"text/event-stream", "", "\x00\x01\xff\xfe\n\n\x7f", `it answers with something that is no stream of events; is the base URL that of an API? It begins: \x00\x01\xff\xfe\n\n\x7f`},
		{"text/event-stream", "gzip", "\x1f\x8b", "the reply is compressed, which was not asked for (gzip); is there a proxy in between?"},
	} {
		both(t, func(t *testing.T, p model.Provider) {
			url := raw(t, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); got != "identity" {
					t.Errorf("the request accepts %q", got)
				}
				w.Header().Set("Content-Type", c.kind)
				if c.encoding != "" {
					w.Header().Set("Content-Encoding", c.encoding)
				}
				_, _ = w.Write([]byte(c.body))
			})
			e := failed(t, client(t, p, url), question("go"))
			if e.Temporary || e.Error() != string(p)+": "+c.want {
				t.Errorf("temporary=%v\n%s\nwant\n%s", e.Temporary, e, string(p)+": "+c.want)
			}
		})
	}
}

// An event that can't be read is an error that stays.
func TestGarbledEvent(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		e := failed(t, client(t, p, raw(t, stream("event: message_start\ndata: {garbled\n\n"))), question("go"))
		if e.Temporary || !strings.Contains(e.Error(), "the reply can't be read") {
			t.Errorf("the error is %v", e)
		}
	})
}

// An error within the stream is told with its words; whether it passes, by its kind.
func TestErrorEvent(t *testing.T) {
	for _, c := range []struct {
		event     string
		status    int
		temporary bool
		message   string
	}{
		{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, 0, true, ": the reply ends with an error: Overloaded (try again later)"},
		{`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, 0, true, ": the reply ends with an error: slow (try again later)"},
		{`{"type":"error","error":{"type":"api_error","message":"oh"}}`, 0, true, ": the reply ends with an error: oh (try again later)"},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, 0, false, ": the reply ends with an error: no"},
		{`{"error":{"message":"Upstream","code":502}}`, 502, true, " answers 502: the reply ends with an error: Upstream (try again later)"},
		{`{"error":{"message":"secret-key-0001 is bad","code":401}}`, 401, false, " answers 401: the reply ends with an error: [key] is bad (check the key)"},
		{`{"error":{"message":"spent","type":"insufficient_quota","code":429}}`, 429, false, " answers 429: the reply ends with an error: spent (check the plan and its billing)"},
		{`{"error":{"message":"spent","type":"server_error","code":"rate_limit_exceeded"}}`, 0, true, ": the reply ends with an error: spent (try again later)"},
		{`{"error":"out of memory"}`, 0, false, ": the reply ends with an error: out of memory"},
		{`{"error":{"x":[]}}`, 0, false, `: the reply ends with an error: {"error":{"x":[]}}`},
	} {
		both(t, func(t *testing.T, p model.Provider) {
			begin, _, _ := strings.Cut(hello(p), "\n\n")
			e := failed(t, client(t, p, raw(t, stream(begin+"\n\nevent: error\ndata: "+c.event+"\n\n"))), question("go"))
			if e.Status != c.status || e.Temporary != c.temporary || e.Error() != string(p)+c.message {
				t.Errorf("%s:\n%s, temporary=%v, want\n%s", c.event, e, e.Temporary, string(p)+c.message)
			}
		})
	}
}

// An event without an end stops at the limit of one event.
func TestEndlessEvent(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		url := raw(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			line := []byte("data: " + strings.Repeat("x", 1<<16) + "\n")
			for range 600 {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		})
		e := failed(t, client(t, p, url), question("go"))
		if e.Temporary || !strings.Contains(e.Error(), "an event that is larger than 16 MiB") {
			t.Errorf("the error is %v", e)
		}
	})
}

// An error's body is not read without end either.
func TestEndlessRefusal(t *testing.T) {
	both(t, func(t *testing.T, p model.Provider) {
		stopped := make(chan bool, 1)
		url := raw(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			var err error
			for i := 0; i < 600 && err == nil; i++ {
				_, err = w.Write(make([]byte, 1<<16))
			}
			stopped <- err != nil
		})
		if e := failed(t, client(t, p, url), question("go")); e.Status != 500 || len(e.Error()) > 4000 {
			t.Errorf("status %d, %d bytes", e.Status, len(e.Error()))
		}
		if !<-stopped {
			t.Error("all of it was read")
		}
	})
}

// chunks is a Chat Completions stream of deltas.
func chunks(finish string, deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		fmt.Fprintf(&b, ": a remark\n\ndata: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
	}
	fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
	return b.String()
}

// Servers differ in how they send what Chat Completions does not say, or says otherwise.
func TestChatDialects(t *testing.T) {
	type call struct{ ID, Name, Arguments string }
	for _, c := range []struct {
		name            string
		stream          string
		text, reasoning string
		calls           []call
		cut             bool
	}{
		{name: "reasoning_content", stream: chunks("stop", `{"reasoning_content":"Hm","content":null}`, `{"content":"A"}`), text: "A", reasoning: "Hm"},
		{name: "reasoning", stream: chunks("stop", `{"reasoning":"H","content":""}`, `{"reasoning":"m"}`, `{"content":"A"}`), text: "A", reasoning: "Hm"},
		{name: "both", stream: chunks("stop", `{"reasoning":"Hm","reasoning_content":"Hm"}`), reasoning: "Hm"},
		{name: "reasoning that is no text", stream: chunks("stop", `{"reasoning":{"a":1},"content":"A"}`), text: "A"},
		{name: "a refusal", stream: chunks("stop", `{"refusal":"No."}`), text: "No."},
		{name: "cut", stream: chunks("length", `{"content":"A"}`), text: "A", cut: true},
		{name: "two calls with one index", stream: chunks("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]}`),
			calls: []call{{"a", "f", `{"x":1}`}, {"b", "f", `{"x":2}`}}},
		{name: "two calls without index and id", stream: chunks("stop",
			`{"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{}"}}]}`),
			calls: []call{{"call_2", "f", `{}`}, {"call_3", "g", `{}`}}},
		{name: "an id that was used", stream: chunks("tool_calls",
			`{"tool_calls":[{"index":0,"id":"used","function":{"name":"f","arguments":"{}"}}]}`),
			calls: []call{{"call_2", "f", `{}`}}},
		{name: "a name in every piece", stream: chunks("tool_calls",
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}`),
			calls: []call{{"a", "f", `{"x":1}`}}},
		{name: "calls by turns", stream: chunks("tool_calls",
			`{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}},{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":":2}"}},{"index":0,"function":{"arguments":":1}"}}]}`),
			calls: []call{{"b", "g", `{"y":2}`}, {"a", "f", `{"x":1}`}}},
		{name: "no arguments", stream: chunks("tool_calls", `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}`),
			calls: []call{{"a", "f", `{}`}}},
		{name: "arguments that are no object", stream: chunks("tool_calls", `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"[1]"}}]}`),
			calls: []call{{"a", "f", `{"_unreadable":"[1]"}`}}},
		{name: "arguments that are cut", stream: chunks("length", `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"é"}}]}`),
			calls: []call{{"a", "f", `{"_unreadable":"{\"x\":\"é"}`}}, cut: true},
		{name: "arguments that did not come", stream: chunks("length", `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}`),
			calls: []call{{"a", "f", `{"_unreadable":""}`}}, cut: true},
		{name: "a second choice", stream: strings.Replace(chunks("stop", `{"content":"A"}`), `{"index":0,"delta":{"content":"A"}}`,
			`{"index":1,"delta":{"content":"B"},"finish_reason":"stop"},{"index":0,"delta":{"content":"A"}}`, 1), text: "A"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := question("go")
			r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "used", Name: "f"}}})
			reply, err := client(t, model.OpenAI, raw(t, stream(c.stream))).Reply(t.Context(), r, model.Sink{})
			if err != nil {
				t.Fatal(err)
			}
			var calls []call
			for _, c := range reply.Calls {
				calls = append(calls, call{c.ID, c.Name, string(c.Arguments)})
			}
			if diff := cmp.Diff([]any{c.text, c.reasoning, c.calls, c.cut}, []any{reply.Text, reply.Reasoning, calls, reply.Cut}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What the vendor's filter stops is no reply.
func TestWithheld(t *testing.T) {
	withheld := map[model.Provider]string{
		model.OpenAI:    strings.Replace(chatHello, `"stop"`, `"content_filter"`, 1),
		model.Anthropic: strings.Replace(messagesHello, `"end_turn"`, `"refusal"`, 1),
	}
	both(t, func(t *testing.T, p model.Provider) {
		if e := failed(t, client(t, p, raw(t, stream(withheld[p]))), question("go")); e.Temporary || !strings.Contains(e.Error(), "withheld") {
			t.Errorf("the error is %v", e)
		}
	})
}

func TestMessagesDialects(t *testing.T) {
	cut := strings.Replace(messagesHello, `"end_turn"`, `"max_tokens"`, 1)
	reply, err := client(t, model.Anthropic, raw(t, stream(cut))).Reply(t.Context(), question("go"), model.Sink{})
	if err != nil || !reply.Cut || reply.Text != "Hello" {
		t.Errorf("at the limit: %+v, %v", reply, err)
	}
	whole := strings.Replace(messagesHello, `{"type":"text","text":""}`, `{"type":"tool_use","id":"a","name":"f","input":{"x": 1}}`, 1)
	reply, err = client(t, model.Anthropic, raw(t, stream(whole))).Reply(t.Context(), question("go"), model.Sink{})
	if err != nil || len(reply.Calls) != 1 || string(reply.Calls[0].Arguments) != `{"x": 1}` {
		t.Errorf("arguments in the beginning of a call: %+v, %v", reply, err)
	}
	two := strings.Replace(messagesHello, "event: message_delta", `event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":"World"}}

event: something_new
data: {"type":"something_new"}

event: message_delta`, 1)
	reply, err = client(t, model.Anthropic, raw(t, stream(two))).Reply(t.Context(), question("go"), model.Sink{})
	if err != nil || reply.Text != "Hello\nWorld" || (reply.Usage != model.Usage{In: 3, Out: 2}) {
		t.Errorf("two texts: %+v, %v", reply, err)
	}
}

// Without a server's count it is a quarter of the characters.
func TestEstimatedUsage(t *testing.T) {
	r := question("1234567é")
	r.System = "1234"
	r.Tools = []model.Tool{{Name: "12", Description: "34"}}
	reply, err := client(t, model.OpenAI, raw(t, stream(chatHello))).Reply(t.Context(), r, model.Sink{})
	if want := (model.Usage{In: 4, Out: 2}); err != nil || reply.Usage != want {
		t.Errorf("%+v, %v; want %+v", reply.Usage, err, want)
	}
}
