package conversation_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of a conversation, dropped, is noticed.
func TestMutants(t *testing.T) {
	const file = "conversation.go"
	mutant.All(t, mutant.By("TestConversation|TestRefusals|TestFoldRefuses", []mutant.Mutant{
		{Name: "a conversation is begun twice", File: file, Old: "case isAsk && c.Exists():", New: "case false:"},
		{Name: "what was not begun goes on", File: file, Old: "case !isAsk && !c.Exists():", New: "case false:"},
		{Name: "what has ended goes on", File: file, Old: "case c.Ended():", New: "case false:"},
		{Name: "an end is forgotten", File: file, Old: "c.Outcome = p.Outcome", New: "_ = p"},
		{Name: "signals are not counted", File: file, Old: "c.Signals++", New: ""},
		{Name: "keys are forgotten", File: file, Old: "c.Reach(seq, e.Key)", New: "c.Reach(seq, \"\")"},
		{Name: "a confidence that is no number counts", File: file, Old: "!(c.Confidence >= 0 && c.Confidence <= 1)", New: "c.Confidence < 0 || c.Confidence > 1"},
		{Name: "an agent's signals are a model's", File: file, Old: " || entry.Dialect != agentsig.DialectXML", New: " || entry.Dialect == \"\""},
		{Name: "the chain is not followed", File: file, Old: "tip, err := c.Tip.Next(e, stored)", New: "tip, err := c.Tip, error(nil)"},
	}))
}
