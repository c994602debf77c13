package signals

import (
	"strings"
	"unicode"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
)

// The keys of the blackboard. All of them are global: they outlive the subtree that sets them.
const (
	KeyResponse   = "llm_response"            // this turn's reply, a map; content is its text
	KeyContent    = "accumulated_content"     // what was said so far, in all turns
	KeyLast       = "last_signal"             // of this turn's reply; nil if it has none that is valid
	KeyPrevious   = "prev_signal"             // of the reply before
	KeyEmitted    = "signals_emitted"         // all of them
	KeySameReason = "consecutive_same_reason" // need_turn in a row, for the same reason
	KeySilent     = "turns_without_signal"    // in a row
	KeyParsed     = "_signal_parsed_this_turn"
)

// Schema returns the keys with their types, to declare them in a tree.
func Schema() bt.Schema {
	return bt.Schema{
		KeyResponse: "map", KeyContent: "string", KeyLast: typeSignal, KeyPrevious: typeSignal, KeyEmitted: "list",
		KeySameReason: "int", KeySilent: "int", KeyParsed: "bool",
	}
}

// A Board is what holds keys: a [*bt.Blackboard], or the [*bt.Context] of a leaf.
type Board interface{ Get(key string) any }

// State is what is known of signals after a turn.
type State struct {
	// Last is this turn's signal as the blackboard has it: type, confidence, fields, raw_xml,
	// timestamp, and unknown, if it has fields that its type does not have. It is nil if the reply
	// has none that is valid.
	Last       map[string]any `json:"last_signal"`
	SameReason int            `json:"consecutive_same_reason"`
	Silent     int            `json:"turns_without_signal"`
}

// Of returns what a board knows of signals.
func Of(b Board) State {
	s := State{Last: Last(b)}
	s.SameReason, _ = b.Get(KeySameReason).(int)
	s.Silent, _ = b.Get(KeySilent).(int)
	return s
}

// Last returns the signal of this turn's reply, or nil.
func Last(b Board) map[string]any {
	s, _ := b.Get(KeyLast).(map[string]any)
	return s
}

// Text returns a text field of a signal that the blackboard has, or "".
func Text(signal map[string]any, field string) string {
	fields, _ := signal["fields"].(map[string]any)
	text, _ := fields[field].(string)
	return text
}

// Confidence returns a signal's confidence, and false if it has none.
func Confidence(signal map[string]any) (float64, bool) {
	switch n := signal["confidence"].(type) {
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

// Is reports whether a signal is of a type; no signal is of none.
func Is(signal map[string]any, kind agentsig.Kind) bool {
	return signal != nil && signal["type"] == string(kind)
}

// Reset begins a conversation: nothing was signalled, nothing is counted.
func Reset(c *bt.Context) bt.Status {
	for key, value := range map[string]any{
		KeyLast: nil, KeyPrevious: nil, KeyEmitted: []any{}, KeySameReason: 0, KeySilent: 0, KeyParsed: false,
	} {
		c.SetGlobal(key, value)
	}
	return bt.Success
}

// counters are what is counted from turn to turn.
type counters struct{ sameReason, silent int }

// count counts a turn. Signals are nil where a reply had none that is valid.
func (n counters) count(previous, present map[string]any) counters {
	switch {
	case present == nil:
		return counters{sameReason: 1, silent: n.silent + 1}
	case Is(previous, agentsig.KindNeedTurn) && Is(present, agentsig.KindNeedTurn) && plain(Text(previous, "reason")) == plain(Text(present, "reason")):
		return counters{sameReason: n.sameReason + 1}
	}
	return counters{sameReason: 1}
}

// plain makes reasons comparable: without case, blanks and punctuation.
func plain(reason string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsPunct(r) || unicode.IsSymbol(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, reason)
}
