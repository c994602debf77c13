package oracle

import (
	"strings"
	"testing"
)

// Each row of the fallback table, its edges, and that the first one that fits decides.
func TestFallback(t *testing.T) {
	long := strings.Repeat("é", shortQuestion+1)
	short := strings.Repeat("é", shortQuestion)
	much := strings.Repeat("é", muchContent+1)
	for _, c := range []struct {
		name string
		s    situation
		want verdict
	}{
		{"3 results, all failed", situation{question: long, toolResults: 3, toolsFailed: 3}, escalate},
		{"4 results, 3 failed", situation{question: long, toolResults: 4, toolsFailed: 3}, escalate},
		{"10 results, 7 failed: not more than 70 %", situation{question: long, toolResults: 10, toolsFailed: 7}, justContinue},
		{"2 results, both failed", situation{question: long, toolResults: 2, toolsFailed: 2}, justContinue},
		{"failing tools come first", situation{question: short, content: much, silent: 5, toolResults: 3, toolsFailed: 3}, escalate},

		{"a plain reply", situation{question: long, content: "Hello!", reply: "Hello!", silent: 1}, takeAnswer},
		{"a plain reply, after tools", situation{question: long, content: "Hello!", reply: "Hello!", silent: 4, toolResults: 3}, takeAnswer},
		{"a plain reply, nearly a signal", situation{question: long, content: "Hello!", reply: "Hello!", silent: 1, tried: true}, giveHint},
		{"a plain reply of one that signals", situation{question: long, content: "Hello!", reply: "Hello!", silent: 1, tried: true, can: true}, justContinue},
		{"a plain reply, nearly a signal once more", situation{question: long, content: "Hello!", reply: "Hello!", silent: 2, tried: true, garbled: true, asked: true}, takePart},
		{"a plain reply, asked", situation{question: long, content: "Hello!", reply: "Hello!", silent: 2, tried: true, can: true, asked: true}, takeAnswer},
		{"a plain reply of one that signals, short question", situation{question: short, content: "Hello!", reply: "Hello!", silent: 1, tried: true, can: true}, takeAnswer},
		{"failing tools come before a plain reply", situation{question: long, content: "Well", reply: "Well", toolResults: 3, toolsFailed: 3}, escalate},
		{"a signal is no plain reply", situation{question: long, content: "Well", reply: "Well", signal: "x", confidence: 0.5}, justContinue},

		{"much content, nothing said now, 2 silent turns", situation{question: long, content: much, silent: 2}, takePart},
		{"much content, nothing said now, 1 silent turn", situation{question: long, content: much, silent: 1}, justContinue},
		{"500 characters, nothing said now, 2 silent turns", situation{question: long, content: much[2:], silent: 2}, justContinue},

		{"short question, no tool", situation{question: short, content: "Hello!", silent: 1}, takeAnswer},
		{"short question, no tool, stuck", situation{question: short, content: "Perhaps.", signal: "stuck", stuck: true, confidence: 0.9}, escalate},
		{"short question, no tool, unsure", situation{question: short, content: "Perhaps.", signal: "x", confidence: 0.9}, takePart},
		{"short question, a tool", situation{question: short, content: "Hello!", silent: 1, toolResults: 1}, justContinue},
		{"a longer question", situation{question: long, content: "Hello!", silent: 1}, justContinue},
		{"short question, nothing said", situation{question: short, silent: 1}, justContinue},

		{"3 silent turns", situation{question: long, content: "Well", silent: 3}, giveHint},
		{"3 silent turns, hinted", situation{question: long, content: "Well", silent: 3, hinted: true}, takePart},
		{"2 silent turns", situation{question: long, content: "Well", silent: 2}, justContinue},

		{"not confident, content", situation{question: long, content: "Well", signal: "x", confidence: 0.29}, takePart},
		{"not confident, nothing said", situation{question: long, signal: "x", confidence: 0.29}, giveHint},
		{"not confident, nothing said, hinted", situation{question: long, signal: "x", confidence: 0.29, hinted: true}, takePart},
		{"confidence of 0.3", situation{question: long, content: "Well", signal: "x", confidence: 0.3}, justContinue},
		{"nothing fits", situation{question: long, silent: 1}, justContinue},
	} {
		got := fallback(c.s)
		if got.verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, got.verdict, c.want)
		}
		if (got.verdict == takePart || got.verdict == escalate) != (got.missing != "") {
			t.Errorf("%s: %s says %q is missing", c.name, got.verdict, got.missing)
		}
	}
}
