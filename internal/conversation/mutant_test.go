package conversation_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of a conversation, dropped, is noticed.
func TestMutants(t *testing.T) {
	const file = "conversation.go"
	mutant.All(t, mutant.By("TestConversation|TestCalls|TestRefusals|TestFoldRefuses|TestContinuable|TestBounds", []mutant.Mutant{
		{Name: "a conversation is begun twice", File: file, Old: "case isAsk && c.Exists():", New: "case false:"},
		{Name: "what was not begun goes on", File: file, Old: "case !isAsk && !c.Exists():", New: "case false:"},
		{Name: "what has ended goes on", File: file, Old: "case c.Ended():", New: "case false:"},
		{Name: "an end is forgotten", File: file, Old: "c.Outcome = p.Outcome", New: "_ = p"},
		{Name: "signals are not counted", File: file, Old: "c.Signals++", New: ""},
		{Name: "keys are forgotten", File: file, Old: "c.Reach(seq, e.Key)", New: "c.Reach(seq, \"\")"},
		{Name: "a confidence that is no number counts", File: file, Old: "!(c.Confidence >= 0 && c.Confidence <= 1)", New: "c.Confidence < 0 || c.Confidence > 1"},
		{Name: "an agent's signals are a model's", File: file, Old: " || entry.Dialect != agentsig.DialectXML", New: " || entry.Dialect == \"\""},
		{Name: "the chain is not followed", File: file, Old: "tip, err := c.Tip.Next(e, stored)", New: "tip, err := c.Tip, error(nil)"},
		{Name: "a call is decided twice", File: file, Old: "case c.Call != now.Calls+1:", New: "case c.Call < now.Calls:"},
		{Name: "nobody allows a call", File: file, Old: "if c.Allowed {\n\t\t\treturn work.Event{}, ErrBadDecision", New: "if false {\n\t\t\treturn work.Event{}, ErrBadDecision"},
		{Name: "anybody allows a call", File: file, Old: "return work.Event{}, fmt.Errorf(\"%w, not by %.40q\", ErrBadDecision, c.By)", New: ""},
		{Name: "a call ends that nobody allowed", File: file, Old: " || now.Running == 0:", New: ":"},
		{Name: "what was refused is under way", File: file, Old: "if p.Allowed {", New: "if true {"},
		{Name: "another user's is gone on from", File: "exchange.go", Old: "x.UserID != user || ", New: ""},
		{Name: "another project's is gone on from", File: "exchange.go", Old: " || x.ProjectID != project", New: ""},
		{Name: "what is open is gone on from", File: "exchange.go", Old: "case x.Outcome == \"\":", New: "case false:"},
		{Name: "what has no answer is gone on from", File: "exchange.go", Old: "case x.Answer == nil:", New: "case false:"},
		{Name: "an answer has no bound", File: file, Old: "c.Text != nil && len(*c.Text) > MaxAnswer", New: "false"},
		{Name: "nobody's refusal is the operator's", File: file, Old: "actor = OracleActor", New: "actor = c.Actor"},
	}))
}
