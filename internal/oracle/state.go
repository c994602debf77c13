package oracle

import (
	"strings"
	"unicode"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
)

// The keys of the blackboard. All of them are global: they outlive the subtree that sets
// them.
const (
	keyQuestion    = "question"
	keyClass       = "question_class"
	keyPrompt      = "system_prompt"
	keyResponse    = "llm_response"        // this turn's reply: content, tool_calls
	keyContent     = "accumulated_content" // what was said so far, all turns
	keyToolResults = "tool_results"
	keyLastSignal  = "last_signal" // of this turn's reply; nil if it has none that is valid
	keyPrevSignal  = "prev_signal" // of the reply before
	keySignals     = "signals_emitted"
	keySameReason  = "consecutive_same_reason"
	keySilent      = "turns_without_signal"
	keyParsed      = "_signal_parsed_this_turn"
	keyTurn        = "turn"
	keyLastTurn    = "last_turn" // this turn's reply has to be the answer
	keyOutcome     = "outcome"
	keyMissing     = "missing"
	keyFallback    = "fallback" // what the fallback table says
)

// resetState begins a question.
func (q *query) resetState(c *bt.Context) bt.Status {
	for key, value := range map[string]any{
		keyResponse: nil, keyContent: "", keyToolResults: []any{}, keyTurn: 0, keyLastTurn: false,
		keyOutcome: "", keyMissing: "", keyFallback: "",
		keyLastSignal: nil, keyPrevSignal: nil, keySignals: []any{}, keySameReason: 0, keySilent: 0, keyParsed: false,
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
	case isNeedTurn(previous) && isNeedTurn(present) && sameReason(previous, present):
		return counters{sameReason: n.sameReason + 1}
	}
	return counters{sameReason: 1}
}

func isNeedTurn(s map[string]any) bool { return s != nil && s["type"] == string(agentsig.KindNeedTurn) }

func sameReason(a, b map[string]any) bool {
	return plain(field(a, "reason")) == plain(field(b, "reason"))
}

// field returns a text field of a signal.
func field(s map[string]any, name string) string {
	fields, _ := s["fields"].(map[string]any)
	text, _ := fields[name].(string)
	return text
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
