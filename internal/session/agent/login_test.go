package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/session/agent"
)

// How programs and providers say that a login or a key is missing or not good.
func TestLoginWords(t *testing.T) {
	for _, text := range []string{
		"Not logged in · Please run /login", "Failed to authenticate. API Error: 403 You do not have access", "Invalid API key · Fix external API key",
		`401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, "403 Your organization has been disabled",
		"OAuth token has expired. Please log in again", "x-api-key header is required",
		"unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:4010/v1/responses", "Missing environment variable: `OPENAI_API_KEY`.",
		"Internal error: Missing environment variable: `SCRIPTED_KEY`.", "You didn't provide an API key. You need to provide your API key in an Authorization header",
		"Incorrect API key provided: sk-…", `{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}`, `{"error":{"code":403,"message":"You do not have access","status":"PERMISSION_DENIED"}}`,
		"API key not valid. Please pass a valid API key.", "API Key not found. Please pass a valid API key.", "Gemini API key is missing or not configured.",
		"Failed to authenticate with authorization code: invalid_grant", "Internal error: invalid x-api-key", `Internal error {"service":"session","errorName":"ProviderAuthError"}`,
		"OpenAI API key is missing. Pass it using the 'apiKey' parameter", "No auth credentials found", "Authentication required",
	} {
		if !agent.RefusesLogin(text) {
			t.Errorf("%q is a login that is refused", text)
		}
	}
	for _, text := range []string{
		"", "Internal error", "Credit balance is too low", "429 rate limit", "529 Overloaded", "exit status 1: line 4011", "prompt is too long: 401 tokens over", "0 prompt is too long: 403 tokens",
		"TypeError: x is not a function at f (/lib/cli.js:401:13)", "Missing environment variable: `EDITOR`.", "Cannot connect to API: Unable to connect", "No conversation found with session ID: x",
		"the context window is full", "Reached max turns (5)", "permission denied: /etc/shadow", "the login page has a bug", "author is missing",
	} {
		if agent.RefusesLogin(text) {
			t.Errorf("%q is no login that is refused", text)
		}
	}
}

func retried(attempt, status int) string {
	return fmt.Sprintf(`{"type":"system","subtype":"api_retry","attempt":%d,"max_retries":10,"error_status":%d}`, attempt, status)
}

func bridged(message string) string {
	return `{"jsonrpc":"2.0","method":"_claude/sdkMessage","params":{"message":` + message + `}}`
}

// lure is what a hostile agent says, or has its tools print.
const lure = "401 Unauthorized: authentication_error: Not logged in · Please run /login"

// A login that is refused is told by the program itself, and by nothing that an agent says or a tool gives.
func TestLoginRefused(t *testing.T) {
	begun := strings.Join(strings.SplitAfter(acpOutput, "\n")[:3], "")
	said := func(text string) string {
		return `{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"` + text + `"}]}}`
	}
	chunk := `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"` + lure + `"}}}}`
	tool := `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"` + lure + `","kind":"execute","status":"failed","content":[{"type":"content","content":{"type":"text","text":"` + lure + `"}}]}}}`
	synthetic := func(text string) string {
		return bridged(`{"type":"assistant","parent_tool_use_id":null,"message":{"model":"<synthetic>","content":[{"type":"text","text":"` + text + `"}]}}`)
	}
	const bridge = "Claude Code's bridge"
	answer := func(failed string) string { return `{"jsonrpc":"2.0","id":4,"error":{` + failed + `}}` }
	for _, c := range []struct {
		name, adapter string
		lines         []string
		want          bool
	}{
		{"a key that is refused and tried again", agent.AdapterClaude, []string{retried(1, 401), retried(2, 401), retried(3, 401)}, true},
		{"a token that is renewed", agent.AdapterClaude, []string{retried(1, 401), retried(2, 401), said("hello")}, false},
		{"two requests with old tokens", agent.AdapterClaude, []string{retried(1, 401), retried(2, 401), said("hello"), retried(1, 401), retried(2, 401)}, false},
		{"a server that is overloaded", agent.AdapterClaude, []string{retried(1, 529), retried(2, 529), retried(3, 529), retried(4, 529)}, false},
		{"not in a row", agent.AdapterClaude, []string{retried(1, 401), retried(2, 401), retried(3, 529), retried(4, 403)}, false},
		{"no login", agent.AdapterClaude, []string{`{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"Not logged in · Please run /login"}]}}`,
			`{"type":"result","subtype":"success","is_error":true,"result":"Not logged in · Please run /login"}`}, true},
		{"a status", agent.AdapterClaude, []string{said("hello"), `{"type":"result","subtype":"success","is_error":true,"api_error_status":403,"result":"hello"}`}, true},
		{"a model that says so", agent.AdapterClaude, []string{said(lure), `{"type":"result","subtype":"success","is_error":true,"result":"` + lure + `"}`}, false},
		{"a model that says so, and another error", agent.AdapterClaude, []string{said(lure), `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["it broke"]}`}, false},
		{"a hook or a tool server that says so", agent.AdapterClaude, []string{`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["` + lure + `"]}`}, false},
		{"a status, and no words", agent.AdapterClaude, []string{`{"type":"result","subtype":"error_during_execution","is_error":true,"api_error_status":401,"errors":["it broke"]}`}, true},
		{"a tool that prints so", agent.AdapterClaude, []string{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"` + lure + `"}]}}`,
			`{"type":"result","subtype":"success","is_error":true,"result":"it broke"}`}, false},
		{"a tool that prints what the program would", agent.AdapterClaude, []string{`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":` +
			fmt.Sprintf("%q", retried(3, 401)+"\n"+retried(4, 401)+"\n"+retried(5, 401)) + `}]}}`, `{"type":"result","subtype":"success","is_error":true,"result":"it broke"}`}, false},

		{"a status", agent.AdapterCodex, []string{`{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}`}, true},
		{"no key", agent.AdapterCodex, []string{"{\"type\":\"turn.failed\",\"error\":{\"message\":\"Missing environment variable: `A_KEY`.\"}}"}, true},
		{"an error that passes", agent.AdapterCodex, []string{`{"type":"error","message":"Reconnecting... 1/5 (unexpected status 401 Unauthorized)"}`, `{"type":"turn.completed"}`}, false},
		{"a model and a tool that say so", agent.AdapterCodex, []string{`{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"` + lure + `"}}`,
			`{"type":"item.completed","item":{"id":"t","type":"command_execution","command":"make","aggregated_output":"` + lure + `","status":"failed"}}`,
			`{"type":"turn.failed","error":{"message":"stream disconnected before completion"}}`}, false},

		{"the protocol's code", agent.AdapterACP, []string{answer(`"code":-32000,"message":"no"`)}, true},
		{"the provider's status as code", agent.AdapterACP, []string{answer(`"code":403,"message":"You do not have access"`)}, true},
		{"words", agent.AdapterACP, []string{answer(`"code":-32603,"message":"Internal error: invalid x-api-key"`)}, true},
		{"another code", agent.AdapterACP, []string{answer(`"code":-32603,"message":"Internal error"`)}, false},
		{"a key that is refused and tried again", agent.AdapterACP, []string{bridged(retried(1, 401)), bridged(retried(2, 401)), bridged(retried(3, 401))}, true},
		{"a token that is renewed", agent.AdapterACP, []string{bridged(retried(1, 401)), bridged(retried(2, 401)), answer(`"code":1,"message":"no"`)}, false},
		{"something else of Claude Code", agent.AdapterACP, []string{bridged(`{"type":"result","result":"` + lure + `"}`), answer(`"code":1,"message":"no"`)}, false},
		{"a model whose words are an error", agent.AdapterACP, []string{chunk, answer(`"code":-32603,"message":"Internal error: ` + lure + `"`)}, false},
		{"a model that has said so before", agent.AdapterACP, []string{chunk, answer(`"code":-32603,"message":"Internal error: invalid x-api-key"`)}, true},
		{"the code, whatever was said", agent.AdapterACP, []string{chunk, answer(`"code":-32000,"message":"Authentication required"`)}, true},
		{"words in the data alone", agent.AdapterACP, []string{chunk, answer(`"code":-32603,"message":"","data":{"details":"invalid x-api-key"}`)}, true},
		{"a model and a tool that say so", agent.AdapterACP, []string{chunk, tool, answer(`"code":-32603,"message":"Internal error"`)}, false},
		{"no login", bridge, []string{synthetic("Not logged in · Please run /login"), answer(`"code":-32000,"message":"Authentication required"`)}, true},
		{"no login, and the bridge says no more", bridge, []string{answer(`"code":-32000,"message":"Authentication required"`)}, true},
		{"a status", bridge, []string{synthetic(lure), chunk, answer(`"code":-32603,"message":"Internal error: ` + lure + `"`)}, true},
		{"a login that is refused in mid-turn", bridge, []string{bridged(said("hello")), chunk, synthetic("Please run /login"), answer(`"code":-32000,"message":"Authentication required"`)}, true},
		{"a model that says so", bridge, []string{bridged(said(lure)), chunk, answer(`"code":-32000,"message":"Authentication required"`)}, false},
		{"a model whose words are an error", bridge, []string{bridged(said(lure)), chunk, answer(`"code":-32603,"message":"Internal error: ` + lure + `"`)}, false},
		{"a hook or a tool server that says so", bridge, []string{answer(`"code":-32603,"message":"Internal error: ` + lure + `"`)}, false},
		{"an agent of the agent's that met it", bridge, []string{bridged(said(lure)), bridged(`{"type":"assistant","parent_tool_use_id":"t","message":{"model":"<synthetic>"}}`),
			answer(`"code":-32000,"message":"Authentication required"`)}, false},
	} {
		output := strings.Join(c.lines, "\n") + "\n"
		switch c.adapter {
		case agent.AdapterACP:
			output = begun + output
		case bridge:
			c.adapter, output = agent.AdapterACP, strings.Replace(begun, `"agentCapabilities":{`, `"agentCapabilities":{"_meta":{"claudeCode":{"promptQueueing":true}},`, 1)+output
		}
		if got := agent.Hear(c.adapter, nil, []byte(output), 1000); got.Refused != c.want || got.Limited {
			t.Errorf("%s, %s: %+v", c.adapter, c.name, got)
		}
	}
	for _, adapter := range structured[1:] {
		for _, output := range recorded(t)[adapter] {
			want := strings.Contains(string(output), "401")
			if got := agent.Hear(adapter, nil, output, 1000); got.Refused != want {
				t.Errorf("%s: %+v of %s", adapter, got, output)
			}
		}
	}
}
