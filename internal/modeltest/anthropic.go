package modeltest

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"time"
)

// anthropic is the Messages API.
type anthropic struct{}

func (anthropic) name() string { return "anthropic" }

func (anthropic) read(body []byte, a *ask) error {
	var in struct {
		Model    string
		Stream   bool
		System   json.RawMessage
		Tools    []struct{ Name string }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		OutputConfig struct {
			Format struct{ Schema json.RawMessage }
		} `json:"output_config"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	a.model, a.stream, a.schema = in.Model, in.Stream, in.OutputConfig.Format.Schema
	for _, t := range in.Tools {
		a.tools = append(a.tools, tool{name: t.Name})
	}
	a.instruct(textsOf(in.System)...)
	for _, m := range in.Messages {
		switch m.Role {
		case "assistant":
			a.reply()
		case "user":
			readAnthropicUser(m.Content, a)
		default:
			a.instruct(textsOf(m.Content)...)
		}
	}
	return nil
}

func readAnthropicUser(raw json.RawMessage, a *ask) {
	var blocks []struct {
		Type    string
		Text    string
		Content json.RawMessage
	}
	if json.Unmarshal(raw, &blocks) != nil {
		a.hear(textOf(raw))
	}
	for _, b := range blocks {
		switch b.Type {
		case "tool_result":
			a.result(textOf(b.Content))
		case "text":
			a.hear(b.Text)
		}
	}
}

func (anthropic) usage(u usage) object {
	return object{
		"input_tokens":                u.in - u.cached,
		"cache_creation_input_tokens": 0,
		"cache_read_input_tokens":     u.cached,
		"output_tokens":               u.out,
		"service_tier":                "standard",
	}
}

func (anthropic) stop(r said) string {
	if r.calls() {
		return "tool_use"
	}
	return "end_turn"
}

func (w anthropic) whole(r said) any {
	contents := []any{}
	for _, c := range r.contents {
		contents = append(contents, w.block(c, c.text))
	}
	return w.message(r, contents, w.stop(r), r.usage)
}

func (w anthropic) message(r said, contents []any, stop any, u usage) object {
	return object{
		"id": "msg_" + r.id, "type": "message", "role": "assistant", "model": r.model,
		"content": contents, "stop_reason": stop, "stop_sequence": nil, "usage": w.usage(u),
	}
}

func (anthropic) block(c content, text string) object {
	if c.thinks {
		signature := ""
		if text != "" {
			signature = scriptedSignature
		}
		return object{"type": "thinking", "thinking": text, "signature": signature}
	}
	if c.tool == "" {
		return object{"type": "text", "text": text}
	}
	input := json.RawMessage("{}")
	if text != "" {
		input = json.RawMessage(text)
	}
	return object{"type": "tool_use", "id": "toolu_" + c.id, "name": c.tool, "input": input}
}

// scriptedSignature stands for what the vendor seals a reasoning with.
const scriptedSignature = "c2NyaXB0ZWQ="

func (w anthropic) stream(e *events, r said) writer { return anthropicStream{w, e, r} }

type anthropicStream struct {
	anthropic
	e *events
	r said
}

func (s anthropicStream) begin() {
	u := s.r.usage
	u.out = 1
	s.e.send("message_start", object{"type": "message_start", "message": s.message(s.r, []any{}, nil, u)})
	s.e.send("ping", object{"type": "ping"})
}

func (s anthropicStream) text(i int, pieces iter.Seq[string]) {
	s.block(i, pieces, "text_delta", "text")
}

func (s anthropicStream) reasoning(i int, pieces iter.Seq[string]) {
	s.block(i, pieces, "thinking_delta", "thinking")
}

func (s anthropicStream) call(i int, pieces iter.Seq[string]) {
	s.block(i, pieces, "input_json_delta", "partial_json")
}

func (s anthropicStream) block(i int, pieces iter.Seq[string], kind, field string) {
	delta := func(kind, field, value string) {
		s.e.send("content_block_delta", object{"type": "content_block_delta", "index": i,
			"delta": object{"type": kind, field: value}})
	}
	s.e.send("content_block_start", object{"type": "content_block_start", "index": i,
		"content_block": s.anthropic.block(s.r.contents[i], "")})
	for p := range pieces {
		delta(kind, field, p)
	}
	if s.r.contents[i].thinks {
		delta("signature_delta", "signature", scriptedSignature)
	}
	s.e.send("content_block_stop", object{"type": "content_block_stop", "index": i})
}

func (s anthropicStream) end() {
	s.e.send("message_delta", object{"type": "message_delta",
		"delta": object{"stop_reason": s.stop(s.r), "stop_sequence": nil},
		"usage": s.usage(s.r.usage)})
	s.e.send("message_stop", object{"type": "message_stop"})
}

func (anthropic) failure(status int, message string) any {
	kinds := map[int]string{
		401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
	}
	kind := kinds[status]
	switch {
	case kind != "":
	case status >= 500:
		kind = "api_error"
	default:
		kind = "invalid_request_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

// limit is what a subscription's limit looks like: Claude Code reads the headers.
func (w anthropic) limit(now, until time.Time) (failure, any) {
	reset := strconv.FormatInt(until.Unix(), 10)
	f := failure{status: http.StatusTooManyRequests, header: http.Header{}}
	f.header.Set("Retry-After", seconds(now, until))
	f.header.Set("Anthropic-Ratelimit-Unified-Status", "rejected")
	f.header.Set("Anthropic-Ratelimit-Unified-Reset", reset)
	f.header.Set("Anthropic-Ratelimit-Unified-Representative-Claim", "five_hour")
	f.header.Set("Anthropic-Ratelimit-Unified-5h-Status", "rejected")
	f.header.Set("Anthropic-Ratelimit-Unified-5h-Reset", reset)
	f.header.Set("Anthropic-Ratelimit-Unified-5h-Utilization", "1.0")
	f.header.Set("Anthropic-Ratelimit-Unified-Overage-Status", "rejected")
	f.header.Set("Anthropic-Ratelimit-Unified-Overage-Disabled-Reason", "org_level_disabled")
	return f, w.failure(f.status, "This request would exceed your account's rate limit. Please try again later.")
}

func seconds(now, until time.Time) string {
	return fmt.Sprint(max(0, int(until.Sub(now).Round(time.Second).Seconds())))
}
