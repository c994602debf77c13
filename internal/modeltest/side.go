package modeltest

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
)

// agentProgram matches the user agents of programs that ask things on their own account.
var agentProgram = regexp.MustCompile(`^(claude-cli|codex|GeminiCLI|opencode)`)

// ownPrompt matches prompts that a program makes up itself, with tools at hand.
var ownPrompt = regexp.MustCompile(`^\[SUGGESTION MODE: `)

// isSide reports whether a request is a program's own affair: a title, a choice of model,
// what the user might say next. What the user has asked comes with tools.
func isSide(userAgent, prompt string, a *ask) bool {
	return agentProgram.MatchString(userAgent) && (len(a.tools) == 0 || ownPrompt.MatchString(prompt))
}

// sideAnswer says as little as is allowed.
func sideAnswer(a *ask) string {
	var schema jsonSchema
	if len(a.schema) == 0 || json.Unmarshal(a.schema, &schema) != nil {
		return "Scripted"
	}
	return string(encode(schema.least()))
}

type jsonSchema struct {
	Type       any
	Enum       []any
	Properties map[string]jsonSchema
	Minimum    float64
}

// least is a small value that a schema allows: of several, the first.
func (s jsonSchema) least() any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.Type {
	case "object", "OBJECT":
		out := object{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			out[name] = s.Properties[name].least()
		}
		return out
	case "array", "ARRAY":
		return []any{}
	case "boolean", "BOOLEAN":
		return false
	case "number", "integer", "NUMBER", "INTEGER":
		return s.Minimum
	}
	return "Scripted"
}
