package agent_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// structured are the adapters whose programs tell what is what.
var structured = []string{agent.AdapterACP, agent.AdapterClaude, agent.AdapterCodex}

// acpOutput is what an agent prints that answers a prompt, asks for permission and uses
// a tool.
const acpOutput = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":[{"id":"k","type":"env_var","vars":[{"name":"KEY"}]}]}}
{"jsonrpc":"2.0","id":2,"result":{"sessionId":"c-1","modes":{"currentModeId":"a","availableModes":[{"id":"read-only"}]}}}
{"jsonrpc":"2.0","id":3,"result":{}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"hello"}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"make","kind":"execute","status":"pending"}}}
{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"content","content":{"type":"text","text":"made"}},{"type":"diff","path":"a"}],"rawOutput":{"formatted_output":"made"}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"usage_update","used":7,"cost":{"amount":1,"currency":"USD"},"_meta":{"_claude/rateLimit":{"resetsAt":1}}}}}
{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":2}}}
{"jsonrpc":"2.0","id":5,"error":{"code":-32000,"message":"m","data":{"details":"d"}}}
`

// However the output is cut, the same comes of it.
func TestHear(t *testing.T) {
	for adapter, outputs := range recorded(t) {
		for _, output := range outputs {
			want := agent.Hear(adapter, nil, output, len(output))
			if want.Turns == 0 {
				t.Errorf("%s: no turn is ended by %s", adapter, output)
			}
			for _, size := range []int{1, 7, 4096} {
				if diff := cmp.Diff(want, agent.Hear(adapter, nil, output, size)); diff != "" {
					t.Errorf("%s by %d: %s", adapter, size, diff)
				}
			}
		}
	}
	if got := agent.Hear(agent.AdapterACP, nil, []byte(acpOutput), 100); got.Voice != "hello\n" || got.Turns != 1 || got.Sent != 5 {
		t.Errorf("%+v", got)
	}
}

// A tool is told of once, by its best title, in the order in which things are done, and before what is said next.
func TestToolOnce(t *testing.T) {
	tell := func(update string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"update":{` + update + `}}}` + "\n"
	}
	call := func(id, status, title string) string {
		return tell(`"sessionUpdate":"tool_call_update","toolCallId":"` + id + `","kind":"execute","status":"` + status + `","title":"` + title + `"`)
	}
	begun, _, _ := strings.Cut(acpOutput, `{"jsonrpc":"2.0","id":0`)
	say := tell(`"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"so"}`)
	for name, c := range map[string]struct{ told, want string }{
		"a title that comes later": {call("a", "pending", "Terminal") + call("a", "pending", "make") + call("a", "completed", "make all"), "[execute make]\n"},
		"two at once": {call("a", "pending", "Terminal") + call("b", "pending", "Terminal") + call("a", "in_progress", "make") + call("b", "in_progress", "test") +
			call("a", "completed", "") + call("b", "failed", ""), "[execute make]\n[execute test]\n[it failed]\n"},
		"one that begins at once":   {call("a", "in_progress", "make") + say, "[execute make]\nso"},
		"one that waits":            {call("a", "pending", "make") + say + call("a", "completed", "make it"), "[execute make]\nso\n"},
		"nothing but its end":       {call("a", "completed", "make"), "[execute make]\n"},
		"one that says no title":    {call("a", "pending", "") + say, "[execute]\nso"},
		"many that never go on":     {strings.Repeat(call("a", "pending", "make"), 3), "[execute make]\n"},
		"one that is never ended":   {call("a", "pending", "make"), ""},
		"one whose turn ends first": {begun + `{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}` + "\n", "hello\n[execute make]\n"},
	} {
		if got := agent.Hear(agent.AdapterACP, []agent.Permission{agent.Execute}, []byte(c.told), 1000); got.Text != c.want {
			t.Errorf("%s: %q; want %q", name, got.Text, c.want)
		}
	}
}

// recorded returns what real programs have printed, and the agent above.
func recorded(t testing.TB) map[string][][]byte {
	t.Helper()
	all := map[string][][]byte{agent.AdapterACP: {[]byte(acpOutput)}}
	for _, adapter := range structured[1:] {
		names, err := filepath.Glob(filepath.Join("testdata", adapter, "*.jsonl"))
		if err != nil || len(names) == 0 {
			t.Fatalf("nothing was recorded of %s: %v", adapter, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[adapter] = append(all[adapter], data)
		}
	}
	return all
}

// Whatever a program prints, hearing it ends, and no more comes of it than a few times as
// much as it has printed.
func FuzzHear(f *testing.F) {
	for _, outputs := range recorded(f) {
		for _, output := range outputs {
			f.Add(output)
			for line := range bytes.Lines(output) {
				f.Add(line)
			}
		}
	}
	f.Add([]byte(strings.Repeat(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a"}]}}`+"\n", 300)))
	f.Fuzz(func(t *testing.T, output []byte) {
		for _, adapter := range structured {
			got := agent.Hear(adapter, nil, output, 1000)
			lines := bytes.Count(output, []byte("\n")) + 1
			if most := 20*len(output) + 500*lines; got.Bytes > most || got.Events > most || len(got.Voice) > 6*len(output)+lines {
				t.Errorf("%s: %d bytes and %d events of %d bytes", adapter, got.Bytes, got.Events, len(output))
			}
		}
	})
}

// What Claude Code has told of its calls is not lost if its result tells nothing, or less; and what it tells is not counted twice.
func TestClaudeUsed(t *testing.T) {
	call := func(id string, input, output int) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":"%s","model":"m","content":"x","usage":{"input_tokens":%d,"output_tokens":%d}}}`+"\n", id, input, output)
	}
	const over = `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["it broke"]`
	for name, c := range map[string]struct {
		result string
		want   delivery.Usage
	}{
		"nothing": {over + "}", delivery.Usage{InputTokens: 120, OutputTokens: 9}},
		"less":    {over + `,"usage":{"input_tokens":20,"output_tokens":50},"total_cost_usd":1}`, delivery.Usage{InputTokens: 120, OutputTokens: 50, CostUSD: 1}},
		"more":    {over + `,"usage":{"input_tokens":200,"output_tokens":50}}`, delivery.Usage{InputTokens: 200, OutputTokens: 50}},
		"twice":   {over + "}\n" + over + "}", delivery.Usage{InputTokens: 120, OutputTokens: 9}},
	} {
		output := call("a", 100, 4) + call("a", 100, 4) + call("b", 20, 5) + c.result + "\n"
		if got := agent.Hear(agent.AdapterClaude, nil, []byte(output), 1000).Used; got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
