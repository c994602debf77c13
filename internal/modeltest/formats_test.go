package modeltest_test

import (
	"encoding/json"
	"strings"
)

func anthropicClient() format {
	return format{
		name: "anthropic",
		path: func(bool) string { return "/v1/messages?beta=true" },
		body: func(h []said, tools []string, stream bool) obj {
			out := obj{"model": "m", "stream": stream, "max_tokens": 100, "tools": named(tools, ""),
				"system": []obj{{"type": "text", "text": "# Environment\n - Primary working directory: /work tree\n"}}}
			var messages []obj
			var open []call
			for _, m := range h {
				var blocks []obj
				switch m.From {
				case "user":
					blocks = []obj{{"type": "text", "text": "<system-reminder>\n# G-9: not this\n</system-reminder>"}, {"type": "text", "text": m.Text}}
				case "model":
					blocks = append(blocks, obj{"type": "text", "text": m.Text})
					for _, c := range m.Calls {
						blocks = append(blocks, obj{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": json.RawMessage(c.Args)})
					}
					open = m.Calls
				case "tool":
					for i, r := range m.Results {
						blocks = append(blocks, obj{"type": "tool_result", "tool_use_id": open[i].ID, "content": r})
					}
				}
				messages = append(messages, obj{"role": role(m.From, "assistant", "user"), "content": blocks})
			}
			out["messages"] = messages
			return out
		},
		read: func(sent []obj, stream bool) said {
			out := said{From: "model"}
			if !stream {
				for _, b := range list(sent[0], "content") {
					if str(b, "type") == "text" {
						out.Text = joined(out.Text, str(b, "text"))
					} else {
						raw, _ := json.Marshal(get(b, "input"))
						out.Calls = append(out.Calls, call{str(b, "id"), str(b, "name"), string(raw)})
					}
				}
				out.Stop, out.Usage = str(sent[0], "stop_reason"), anthropicUsage(get(sent[0], "usage"))
				return out
			}
			for _, e := range sent {
				switch str(e, "type") {
				case "content_block_start":
					if str(e, "content_block", "type") == "tool_use" {
						out.Calls = append(out.Calls, call{str(e, "content_block", "id"), str(e, "content_block", "name"), ""})
					} else if out.Text != "" {
						out.Text += "\n"
					}
				case "content_block_delta":
					out.Text += str(e, "delta", "text")
					if n := len(out.Calls); n > 0 {
						out.Calls[n-1].Args += str(e, "delta", "partial_json")
					}
				case "message_delta":
					out.Stop, out.Usage = str(e, "delta", "stop_reason"), anthropicUsage(get(e, "usage"))
				}
			}
			return out
		},
	}
}

func anthropicUsage(u any) string {
	fresh, _ := get(u, "input_tokens").(float64)
	cached, _ := get(u, "cache_read_input_tokens").(float64)
	return tokens(fresh+cached, cached, get(u, "output_tokens"))
}

func responsesClient() format {
	return format{
		name: "responses",
		path: func(bool) string { return "/v1/responses" },
		body: func(h []said, tools []string, stream bool) obj {
			items := []obj{{"type": "message", "role": "user", "content": []obj{{"type": "input_text", "text": "<environment_context>\n  <cwd>/work tree</cwd>\n</environment_context>"}}}}
			var open []call
			for _, m := range h {
				switch m.From {
				case "user":
					items = append(items, obj{"type": "message", "role": "user", "content": []obj{{"type": "input_text", "text": m.Text}}})
				case "model":
					items = append(items, obj{"type": "message", "role": "assistant", "content": []obj{{"type": "output_text", "text": m.Text}}})
					for _, c := range m.Calls {
						items = append(items, obj{"type": "function_call", "call_id": c.ID, "name": c.Tool, "arguments": c.Args})
					}
					open = m.Calls
				case "tool":
					for i, r := range m.Results {
						items = append(items, obj{"type": "function_call_output", "call_id": open[i].ID, "output": r})
					}
				}
			}
			return obj{"model": "m", "stream": stream, "input": items, "tools": named(tools, "")}
		},
		read: func(sent []obj, stream bool) said {
			out := said{From: "model"}
			last := sent[len(sent)-1]
			whole := any(last)
			if stream {
				out.Stop = str(last, "type")
				whole = last["response"]
				var deltas string
				for _, e := range sent {
					if str(e, "type") == "response.output_text.delta" {
						deltas += str(e, "delta")
					}
				}
				out.Text = "deltas " + deltas
			}
			var text string
			for _, item := range list(whole, "output") {
				if str(item, "type") == "message" {
					text = joined(text, str(item, "content", 0, "text"))
				} else {
					out.Calls = append(out.Calls, call{str(item, "call_id"), str(item, "name"), str(item, "arguments")})
				}
			}
			// The pieces must add up to what the end repeats.
			if !stream || strings.ReplaceAll(text, "\n", "") == strings.ReplaceAll(strings.TrimPrefix(out.Text, "deltas "), "\n", "") {
				out.Text = text
			}
			out.Stop = str(whole, "status")
			out.Usage = tokens(get(whole, "usage", "input_tokens"), get(whole, "usage", "input_tokens_details", "cached_tokens"), get(whole, "usage", "output_tokens"))
			return out
		},
	}
}

func chatClient() format {
	return format{
		name: "chat",
		path: func(bool) string { return "/v1/chat/completions" },
		body: func(h []said, tools []string, stream bool) obj {
			messages := []obj{{"role": "system", "content": "Environment:\n  Working directory: /work tree\n"}}
			var open []call
			for _, m := range h {
				switch m.From {
				case "user":
					messages = append(messages, obj{"role": "user", "content": m.Text})
				case "model":
					var calls []obj
					for _, c := range m.Calls {
						calls = append(calls, obj{"id": c.ID, "type": "function", "function": obj{"name": c.Tool, "arguments": c.Args}})
					}
					messages = append(messages, obj{"role": "assistant", "content": m.Text, "tool_calls": calls})
					open = m.Calls
				case "tool":
					for i, r := range m.Results {
						messages = append(messages, obj{"role": "tool", "tool_call_id": open[i].ID, "content": r})
					}
				}
			}
			return obj{"model": "m", "stream": stream, "stream_options": obj{"include_usage": true}, "messages": messages, "tools": named(tools, "function")}
		},
		read: func(sent []obj, stream bool) said {
			out := said{From: "model"}
			for _, e := range sent {
				if u := get(e, "usage"); u != nil {
					out.Usage = tokens(get(u, "prompt_tokens"), get(u, "prompt_tokens_details", "cached_tokens"), get(u, "completion_tokens"))
				}
				choice := get(e, "choices", 0)
				said := get(choice, "message")
				if stream {
					said = get(choice, "delta")
				}
				out.Text += str(said, "content")
				for _, c := range list(said, "tool_calls") {
					if id := str(c, "id"); id != "" {
						out.Calls = append(out.Calls, call{id, str(c, "function", "name"), ""})
					}
					out.Calls[len(out.Calls)-1].Args += str(c, "function", "arguments")
				}
				if stop := str(choice, "finish_reason"); stop != "" {
					out.Stop = stop
				}
			}
			return out
		},
	}
}

func geminiClient() format {
	return format{
		name: "gemini",
		path: func(stream bool) string {
			if stream {
				return "/v1beta/models/m:streamGenerateContent?alt=sse"
			}
			return "/v1beta/models/m:generateContent"
		},
		body: func(h []said, tools []string, _ bool) obj {
			contents := []obj{{"role": "user", "parts": []obj{{"text": "<session_context>\n- **Workspace Directories:**\n  - /work tree\n</session_context>"}}}}
			var open []call
			for _, m := range h {
				var parts []obj
				if m.Text != "" {
					parts = append(parts, obj{"text": m.Text})
				}
				for _, c := range m.Calls {
					parts = append(parts, obj{"functionCall": obj{"name": c.Tool, "args": json.RawMessage(c.Args)}})
				}
				for i, r := range m.Results {
					parts = append(parts, obj{"functionResponse": obj{"name": open[i].Tool, "response": obj{"output": r}}})
				}
				open = m.Calls
				contents = append(contents, obj{"role": role(m.From, "model", "user"), "parts": parts})
			}
			return obj{"contents": contents, "tools": []obj{{"functionDeclarations": named(tools, "")}}}
		},
		read: func(sent []obj, _ bool) said {
			out := said{From: "model"}
			for _, e := range sent {
				for _, p := range list(e, "candidates", 0, "content", "parts") {
					out.Text += str(p, "text")
					if f := get(p, "functionCall"); f != nil {
						raw, _ := json.Marshal(get(f, "args"))
						out.Calls = append(out.Calls, call{"-", str(f, "name"), string(raw)})
					}
				}
				if stop := str(e, "candidates", 0, "finishReason"); stop != "" {
					out.Stop = stop
				}
				u := get(e, "usageMetadata")
				out.Usage = tokens(get(u, "promptTokenCount"), get(u, "cachedContentTokenCount"), get(u, "candidatesTokenCount"))
			}
			return out
		},
	}
}

func role(from, model, others string) string {
	if from == "model" {
		return model
	}
	return others
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// named is a list of tools. With a kind, each lies in an object of that name.
func named(tools []string, kind string) []obj {
	out := []obj{}
	for _, name := range tools {
		t := obj{"name": name, "type": "function"}
		if kind != "" {
			t = obj{"type": kind, kind: obj{"name": name}}
		}
		out = append(out, t)
	}
	return out
}
