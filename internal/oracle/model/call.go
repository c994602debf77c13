package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Call is a tool that the model wants to be run. Its Arguments are always a JSON object: see
// [Call.Unreadable]. Its ID is one that no other call of the conversation has.
type Call struct {
	ID, Name  string
	Arguments json.RawMessage
}

// unreadable is the key under which arguments are kept that are no JSON object, so that the
// call can be part of the conversation: vendors refuse such arguments there.
const unreadable = "_unreadable"

// maxUnreadable is how much of such arguments is kept, in bytes.
const maxUnreadable = 1 << 10

// Unreadable reports whether the model's arguments were no JSON object, and what they began
// with. A tool must not be run with these; its result says that they can't be read.
func (c Call) Unreadable() (string, bool) {
	var kept map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &kept) != nil || len(kept) != 1 {
		return "", false
	}
	var raw string
	if kept[unreadable] == nil || json.Unmarshal(kept[unreadable], &raw) != nil {
		return "", false
	}
	return raw, true
}

// arguments makes a JSON object out of what a model has sent. Nothing is an object without
// members.
func arguments(raw []byte) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return json.RawMessage("{}")
	case raw[0] == '{' && json.Valid(raw):
		return raw
	}
	return keepUnreadable(raw)
}

func keepUnreadable(raw []byte) json.RawMessage {
	kept, err := json.Marshal(map[string]string{unreadable: bound(string(raw), maxUnreadable)})
	if err != nil {
		return json.RawMessage(`{"` + unreadable + `":""}`)
	}
	return kept
}

// bound shortens text to that many bytes, on a character.
func bound(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}

// sentName is a call's name as it is sent back: models make up names that vendors refuse.
func sentName(name string, tools []Tool) string {
	if slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name }) {
		return name
	}
	name = notInNames.ReplaceAllString(name, "_")
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), 64)]
}

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// parameters is a tool's schema with what vendors insist on: the type and the properties.
func (t Tool) parameters() (map[string]any, error) {
	var read map[string]json.RawMessage
	if len(t.Schema) > 0 {
		if err := json.Unmarshal(t.Schema, &read); err != nil {
			return nil, &Error{Message: fmt.Sprintf("the schema of the tool \"%s\" is no JSON object", safetext.Escape(bound(t.Name, 100)))}
		}
	}
	all := map[string]any{"type": "object", "properties": map[string]any{}}
	for key, value := range read {
		all[key] = value
	}
	return all, nil
}
