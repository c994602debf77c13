package modeltest

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"
)

// gemini is the Gemini API. The model and whether to stream are in the path.
type gemini struct{}

func (gemini) name() string { return "gemini" }

func (gemini) read(body []byte, a *ask) error {
	type part struct {
		Text             string
		Thought          bool
		FunctionResponse *struct{ Response json.RawMessage }
	}
	var in struct {
		SystemInstruction struct{ Parts json.RawMessage }
		Tools             []struct {
			FunctionDeclarations []struct{ Name string }
		}
		Contents []struct {
			Role  string
			Parts []part
		}
		GenerationConfig struct {
			ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
			ResponseSchema     json.RawMessage `json:"responseSchema"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	a.schema = in.GenerationConfig.ResponseJSONSchema
	if a.schema == nil {
		a.schema = in.GenerationConfig.ResponseSchema
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			a.tools = append(a.tools, tool{name: f.Name})
		}
	}
	a.instruct(textsOf(in.SystemInstruction.Parts)...)
	for _, c := range in.Contents {
		if c.Role == "model" {
			a.reply()
			continue
		}
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				a.result(functionResult(p.FunctionResponse.Response))
			} else if p.Text != "" {
				a.hear(p.Text)
			}
		}
	}
	return nil
}

// functionResult is the text of a result. It is an object that a program may fill as it
// likes; output and error are usual.
func functionResult(raw json.RawMessage) string {
	var usual struct{ Output, Error *string }
	_ = json.Unmarshal(raw, &usual) // what is not usual stays as it is
	switch {
	case usual.Output != nil:
		return *usual.Output
	case usual.Error != nil:
		return *usual.Error
	}
	return string(raw)
}

func (w gemini) whole(r said) any {
	var parts []any
	if text := r.reasonings(); text != "" {
		parts = append(parts, w.thought(text))
	}
	if text := r.texts(); text != "" {
		parts = append(parts, object{"text": text})
	}
	for _, c := range r.contents {
		if c.tool != "" {
			parts = append(parts, w.functionCall(c))
		}
	}
	return w.chunk(r, "STOP", parts...)
}

func (gemini) thought(text string) object { return object{"text": text, "thought": true} }

func (gemini) functionCall(c content) object {
	return object{"functionCall": object{"name": c.tool, "args": json.RawMessage(c.text)}}
}

func (gemini) chunk(r said, finish string, parts ...any) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	return object{
		"responseId": r.id, "modelVersion": r.model, "candidates": []any{candidate},
		"usageMetadata": object{
			"promptTokenCount": r.usage.in, "cachedContentTokenCount": r.usage.cached,
			"candidatesTokenCount": r.usage.out, "totalTokenCount": r.usage.in + r.usage.out,
		},
	}
}

func (w gemini) stream(e *events, r said) writer { return geminiStream{w, e, r} }

type geminiStream struct {
	gemini
	e *events
	r said
}

// begin sends nothing: the first thing said is the beginning.
func (geminiStream) begin() {}

func (s geminiStream) text(i int, pieces iter.Seq[string]) {
	if s.r.follows(i, content.says) {
		s.e.send("", s.chunk(s.r, "", object{"text": "\n"}))
	}
	for p := range pieces {
		s.e.send("", s.chunk(s.r, "", object{"text": p}))
	}
}

func (s geminiStream) reasoning(_ int, pieces iter.Seq[string]) {
	for p := range pieces {
		s.e.send("", s.chunk(s.r, "", s.thought(p)))
	}
}

// call comes in one piece: the format knows no parts of arguments.
func (s geminiStream) call(i int, _ iter.Seq[string]) {
	s.e.send("", s.chunk(s.r, "", s.functionCall(s.r.contents[i])))
}

func (s geminiStream) end() {
	s.e.send("", s.chunk(s.r, "STOP", object{"text": ""}))
}

func (gemini) failure(status int, message string) any {
	names := map[int]string{
		401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
		500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}
	name := names[status]
	if name == "" {
		name = "INVALID_ARGUMENT"
	}
	return object{"error": object{"code": status, "message": message, "status": name}}
}

// limit is what a day's quota looks like when it is used up.
func (gemini) limit(now, until time.Time) (failure, any) {
	delay := seconds(now, until) + "s"
	return failure{status: http.StatusTooManyRequests}, object{"error": object{
		"code": http.StatusTooManyRequests, "status": "RESOURCE_EXHAUSTED",
		"message": fmt.Sprintf("You exceeded your current quota, please check your plan and billing details. Please retry in %s.", delay),
		"details": []any{
			object{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []any{object{
				"quotaMetric":     "generativelanguage.googleapis.com/generate_content_free_tier_requests",
				"quotaId":         "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
				"quotaDimensions": object{"location": "global"}, "quotaValue": "50",
			}}},
			object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
		},
	}}
}
