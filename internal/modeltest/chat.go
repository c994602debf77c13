package modeltest

import (
	"encoding/json"
	"iter"
	"time"
)

// chat is OpenAI's Chat Completions API.
type chat struct{}

func (chat) name() string { return "chat" }

func (chat) read(body []byte, a *ask) error {
	var in struct {
		Model         string
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Tools []struct {
			Function struct{ Name string }
		}
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		ResponseFormat struct {
			JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	a.model, a.stream, a.usage = in.Model, in.Stream, in.StreamOptions.IncludeUsage
	a.schema = in.ResponseFormat.JSONSchema.Schema
	for _, t := range in.Tools {
		a.tools = append(a.tools, tool{name: t.Function.Name})
	}
	for _, m := range in.Messages {
		switch m.Role {
		case "user":
			for _, t := range textsOf(m.Content) {
				a.hear(t)
			}
		case "assistant":
			a.reply()
		case "tool":
			a.result(textOf(m.Content))
		default:
			a.instruct(textsOf(m.Content)...)
		}
	}
	return nil
}

func (w chat) whole(r said) any {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	if text := r.texts(); text != "" {
		message["content"] = text
	}
	if text := r.reasonings(); text != "" {
		message["reasoning_content"] = text
	}
	var calls []any
	for _, c := range r.contents {
		if c.tool != "" {
			calls = append(calls, object{"id": "call_" + c.id, "type": "function",
				"function": object{"name": c.tool, "arguments": c.text}})
		}
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	out := w.completion(r, "chat.completion")
	out["choices"] = []any{object{"index": 0, "message": message, "logprobs": nil, "finish_reason": w.finish(r)}}
	out["usage"] = w.usage(r.usage)
	return out
}

func (chat) completion(r said, kind string) object {
	return object{"id": "chatcmpl-" + r.id, "object": kind, "created": 0, "model": r.model}
}

func (chat) finish(r said) string {
	if r.calls() {
		return "tool_calls"
	}
	return "stop"
}

func (chat) usage(u usage) object {
	return object{
		"prompt_tokens": u.in, "completion_tokens": u.out, "total_tokens": u.in + u.out,
		"prompt_tokens_details":     object{"cached_tokens": u.cached},
		"completion_tokens_details": object{"reasoning_tokens": 0},
	}
}

func (w chat) stream(e *events, r said) writer { return &chatStream{chat: w, e: e, r: r} }

type chatStream struct {
	chat
	e     *events
	r     said
	calls int
}

func (s *chatStream) send(delta object, finish any) {
	chunk := s.completion(s.r, "chat.completion.chunk")
	chunk["choices"] = []any{object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}
	if s.r.tell {
		chunk["usage"] = nil
	}
	s.e.send("", chunk)
}

func (s *chatStream) begin() {
	s.send(object{"role": "assistant", "content": ""}, nil)
}

func (s *chatStream) text(i int, pieces iter.Seq[string]) {
	s.field("content", s.r.follows(i, content.says), pieces)
}

// reasoning has the field that servers of open models use: OpenAI's own shows none.
func (s *chatStream) reasoning(i int, pieces iter.Seq[string]) {
	s.field("reasoning_content", s.r.follows(i, func(c content) bool { return c.thinks }), pieces)
}

func (s *chatStream) field(name string, follows bool, pieces iter.Seq[string]) {
	if follows {
		s.send(object{name: "\n"}, nil)
	}
	for p := range pieces {
		s.send(object{name: p}, nil)
	}
}

func (s *chatStream) call(i int, pieces iter.Seq[string]) {
	c := s.r.contents[i]
	send := func(call object) {
		call["index"] = s.calls
		s.send(object{"tool_calls": []any{call}}, nil)
	}
	send(object{"id": "call_" + c.id, "type": "function", "function": object{"name": c.tool, "arguments": ""}})
	for p := range pieces {
		send(object{"function": object{"arguments": p}})
	}
	s.calls++
}

func (s *chatStream) end() {
	s.send(object{}, s.finish(s.r))
	if s.r.tell {
		last := s.completion(s.r, "chat.completion.chunk")
		last["choices"], last["usage"] = []any{}, s.usage(s.r.usage)
		s.e.send("", last)
	}
	s.e.send("", "[DONE]")
}

func (chat) failure(status int, message string) any { return openAIFailure(status, message) }

func (chat) limit(now, until time.Time) (failure, any) { return openAILimit(now, until) }
