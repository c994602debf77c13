package oracle

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// speak serves replies in a provider's form as they stand, one after the other, the last one
// for ever.
func speak(t *testing.T, provider model.Provider, replies ...string) Settings {
	t.Helper()
	asked := make(chan int, 1)
	asked <- 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := <-asked
		asked <- n + 1
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, replies[min(n, len(replies)-1)])
	}))
	t.Cleanup(server.Close)
	return settingsAt(t, server.URL, provider)
}

// said is a reply that says something and ends for a reason.
func said(provider model.Provider, text, ends string) string {
	if provider == model.OpenAI {
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"content":%q}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":%q}]}

data: [DONE]

`, text, ends)
	}
	return events(`{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, text),
		`{"type":"content_block_stop","index":0}`,
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":5}}`, ends),
		`{"type":"message_stop"}`)
}

// callsWith is a reply that calls search with arguments as they stand.
func callsWith(provider model.Provider, arguments string) string {
	if provider == model.OpenAI {
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"search","arguments":%q}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`, arguments)
	}
	return events(`{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"search","input":{}}}`,
		fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}`, arguments),
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`)
}

// events are Anthropic's, which have their type twice.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		kind, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, d)
	}
	return b.String()
}

// A tool does not get arguments that are no JSON object: the model is told.
func TestUnreadableArguments(t *testing.T) {
	for _, provider := range providers {
		t.Run(string(provider), func(t *testing.T) {
			s := speak(t, provider, callsWith(provider, `{"q": "au`), said(provider, "It checks. "+enough, "stop"))
			s.Tools = tools{"search": func(arguments string) (string, error) {
				t.Errorf("search is called with %s", arguments)
				return "", nil
			}}
			a, told := answerTo(t, s, longQuestion)
			if a.Outcome != Answered || told.named("tool.call.failed") != 1 {
				t.Errorf("%+v, events %s", a, told.names())
			}
			if got := told.of(ToolResult); !strings.Contains(got, `no JSON object, but "{\"q\": \"au"`) {
				t.Errorf("the result is %q", got)
			}
		})
	}
}

// A reply that was cut off is no whole answer.
func TestReplyCutOff(t *testing.T) {
	for provider, ends := range map[model.Provider]string{model.OpenAI: "length", model.Anthropic: "max_tokens"} {
		t.Run(string(provider), func(t *testing.T) {
			a, _ := answerTo(t, speak(t, provider, said(provider, "It checks a tok", ends)), "What does it do?")
			if a.Outcome != Partial || a.Text != "It checks a tok" || !strings.Contains(a.Missing, "cut off at its limit of tokens") {
				t.Errorf("%+v", a)
			}
		})
	}
}
