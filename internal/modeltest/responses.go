package modeltest

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"
)

// responses is OpenAI's Responses API.
type responses struct{}

func (responses) name() string { return "responses" }

func (responses) read(body []byte, a *ask) error {
	var in struct {
		Model        string
		Stream       bool
		Instructions string
		Input        json.RawMessage
		Tools        []struct{ Type, Name string }
		Text         struct {
			Format struct{ Schema json.RawMessage }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	a.model, a.stream, a.schema = in.Model, in.Stream, in.Text.Format.Schema
	a.instruct(in.Instructions)
	for _, t := range in.Tools {
		if t.Type == "function" || t.Type == "custom" {
			a.tools = append(a.tools, tool{name: t.Name, custom: t.Type == "custom"})
		}
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil {
		a.hear(text)
		return nil
	}
	var items []struct {
		Type, Role string
		Content    json.RawMessage
		Output     json.RawMessage
	}
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return err
	}
	for _, item := range items {
		switch {
		case item.Type == "function_call_output", item.Type == "custom_tool_call_output":
			a.result(textOf(item.Output))
		case item.Type == "function_call", item.Type == "custom_tool_call", item.Role == "assistant":
			a.reply()
		case item.Role == "user":
			for _, t := range textsOf(item.Content) {
				a.hear(t)
			}
		default:
			a.instruct(textsOf(item.Content)...)
		}
	}
	return nil
}

func (w responses) whole(r said) any {
	items := []any{}
	for _, c := range r.contents {
		items = append(items, w.item(c, "completed"))
	}
	return w.response(r, "completed", items)
}

func (responses) response(r said, status string, items []any) object {
	out := object{
		"id": "resp_" + r.id, "object": "response", "created_at": 0, "status": status,
		"model": r.model, "output": items, "error": nil, "incomplete_details": nil,
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "usage": nil,
	}
	if status == "completed" {
		out["usage"] = object{
			"input_tokens":          r.usage.in,
			"input_tokens_details":  object{"cached_tokens": r.usage.cached},
			"output_tokens":         r.usage.out,
			"output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens":          r.usage.in + r.usage.out,
		}
	}
	return out
}

// item is a content as an item of the output. One that has only begun is empty.
func (w responses) item(c content, status string) object {
	text := c.text
	if status == "in_progress" {
		text = ""
	}
	switch {
	case c.thinks:
		parts := []any{}
		if status == "completed" {
			parts = append(parts, w.summary(text))
		}
		return object{"type": "reasoning", "id": "rs_" + c.id, "summary": parts}
	case c.tool == "":
		parts := []any{}
		if status == "completed" {
			parts = append(parts, w.part(text))
		}
		return object{"type": "message", "id": "msg_" + c.id, "role": "assistant", "status": status, "content": parts}
	case c.custom:
		return object{"type": "custom_tool_call", "id": "ctc_" + c.id, "call_id": "call_" + c.id,
			"name": c.tool, "input": text, "status": status}
	}
	call := object{"type": "function_call", "id": "fc_" + c.id, "call_id": "call_" + c.id,
		"name": c.tool, "arguments": text, "status": status}
	if space, name, ok := strings.Cut(c.tool, "/"); ok {
		call["namespace"], call["name"] = space, name
	}
	return call
}

func (responses) part(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

func (responses) summary(text string) object {
	return object{"type": "summary_text", "text": text}
}

func (w responses) stream(e *events, r said) writer {
	return &responsesStream{responses: w, e: e, r: r}
}

type responsesStream struct {
	responses
	e    *events
	r    said
	sent int
}

func (s *responsesStream) send(kind string, data object) {
	data["type"], data["sequence_number"] = kind, s.sent
	s.sent++
	s.e.send(kind, data)
}

func (s *responsesStream) begin() {
	s.send("response.created", object{"response": s.response(s.r, "in_progress", []any{})})
	s.send("response.in_progress", object{"response": s.response(s.r, "in_progress", []any{})})
}

// item sends a content between the events that begin and end its item.
func (s *responsesStream) item(i int, send func(c content, item object)) {
	c := s.r.contents[i]
	done := s.responses.item(c, "completed")
	s.send("response.output_item.added", object{"output_index": i, "item": s.responses.item(c, "in_progress")})
	send(c, done)
	s.send("response.output_item.done", object{"output_index": i, "item": done})
}

func (s *responsesStream) reasoning(i int, pieces iter.Seq[string]) {
	s.item(i, func(c content, item object) {
		at := func(data object) object {
			data["item_id"], data["output_index"], data["summary_index"] = item["id"], i, 0
			return data
		}
		s.send("response.reasoning_summary_part.added", at(object{"part": s.summary("")}))
		for p := range pieces {
			s.send("response.reasoning_summary_text.delta", at(object{"delta": p}))
		}
		s.send("response.reasoning_summary_text.done", at(object{"text": c.text}))
		s.send("response.reasoning_summary_part.done", at(object{"part": s.summary(c.text)}))
	})
}

func (s *responsesStream) text(i int, pieces iter.Seq[string]) {
	s.item(i, func(c content, item object) {
		at := func(data object) object {
			data["item_id"], data["output_index"], data["content_index"] = item["id"], i, 0
			return data
		}
		s.send("response.content_part.added", at(object{"part": s.part("")}))
		for p := range pieces {
			s.send("response.output_text.delta", at(object{"delta": p, "logprobs": []any{}}))
		}
		s.send("response.output_text.done", at(object{"text": c.text, "logprobs": []any{}}))
		s.send("response.content_part.done", at(object{"part": s.part(c.text)}))
	})
}

func (s *responsesStream) call(i int, pieces iter.Seq[string]) {
	s.item(i, func(c content, item object) {
		kind, field := "response.function_call_arguments", "arguments"
		if c.custom {
			kind, field = "response.custom_tool_call_input", "input"
		}
		for p := range pieces {
			s.send(kind+".delta", object{"item_id": item["id"], "output_index": i, "delta": p})
		}
		s.send(kind+".done", object{"item_id": item["id"], "output_index": i, field: c.text, "name": c.tool})
	})
}

func (s *responsesStream) end() {
	s.send("response.completed", object{"response": s.whole(s.r)})
}

func (responses) failure(status int, message string) any { return openAIFailure(status, message) }

// limit is what Codex knows as the end of what a plan includes.
func (responses) limit(now, until time.Time) (failure, any) {
	return failure{status: http.StatusTooManyRequests}, object{"error": object{
		"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
		"resets_at": until.Unix(), "resets_in_seconds": json.Number(seconds(now, until)),
	}}
}

func openAIFailure(status int, message string) any {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

// openAILimit is what OpenAI says when nothing more may be used for a while.
func openAILimit(now, until time.Time) (failure, any) {
	f := failure{status: http.StatusTooManyRequests, header: http.Header{}}
	f.header.Set("Retry-After", seconds(now, until))
	return f, openAIFailure(f.status, fmt.Sprintf("Rate limit reached. Please try again in %ss.", seconds(now, until)))
}
