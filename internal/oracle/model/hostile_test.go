package model_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// Whatever comes, it is an *Error, or a reply whose calls have ids of their own and arguments
// that are objects, and which can be part of the next request. The streams are damaged at
// random, the same way in each run: fuzzing would take minutes to build the vendors'
// libraries.
func TestHostileStreams(t *testing.T) {
	whole := []string{
		chatHello, messagesHello,
		chunks("tool_calls", `{"reasoning":"Hm","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}]}`),
		strings.Replace(messagesHello, `{"type":"text","text":""}`, `{"type":"tool_use","id":"a","name":"f","input":{"x":[1]}}`, 1),
		strings.Replace(messagesHello, `{"type":"text_delta","text":"Hello"}`, `{"type":"thinking_delta","thinking":"Hm"}`, 1),
	}
	parts := []string{"null", "{}", "[]", `""`, "0", "-1", "1e999", `"\ud800"`, "\n\n", "data: ", "event: error\n", "[DONE]", `"index":`, `"error":`, "\x00", "{", "}", `"`, ",", strings.Repeat("[", 20000)}
	random := rand.New(rand.NewPCG(7, 7))
	for range 1500 {
		body := whole[random.IntN(len(whole))]
		for range 1 + random.IntN(4) {
			at := random.IntN(len(body) + 1)
			end := min(len(body), at+random.IntN(12))
			insert := ""
			if random.IntN(3) > 0 {
				insert = parts[random.IntN(len(parts))]
			}
			body = body[:at] + insert + body[end:]
		}
		for _, p := range []model.Provider{model.OpenAI, model.Anthropic} {
			hostile(t, p, body)
		}
	}
}

func hostile(t *testing.T, p model.Provider, body string) {
	t.Helper()
	var sent []byte
	c, err := model.New(model.Settings{Provider: p, Key: "k", HTTP: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		sent, _ = io.ReadAll(r.Body)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	r := question("go")
	reply, err := c.Reply(t.Context(), r, model.Sink{})
	if err != nil {
		if e := (*model.Error)(nil); !errors.As(err, &e) || e.Provider != p || e.Message == "" {
			t.Fatalf("%T: %v after %q", err, err, body)
		}
		return
	}
	ids := map[string]bool{}
	for _, call := range reply.Calls {
		if !json.Valid(call.Arguments) || !bytes.HasPrefix(call.Arguments, []byte("{")) || call.ID == "" || ids[call.ID] {
			t.Fatalf("a call is %+v, %s, after %q", call, call.Arguments, body)
		}
		ids[call.ID] = true
	}
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: reply.Text, Calls: reply.Calls})
	if _, err := c.Reply(t.Context(), r, model.Sink{}); err != nil || !json.Valid(sent) {
		t.Fatalf("then %v, sent %s, after %q", err, sent, body)
	}
}
