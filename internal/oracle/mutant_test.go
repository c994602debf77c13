package oracle

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule about attempts at a reply, dropped, is noticed.
func TestAttemptMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestRetelling$|^TestModelThatCanNotBeReached$", []mutant.Mutant{
		{Name: "nobody is told of another attempt", File: "oracle.go", Old: "options.Trace, options.Again = q.traced, q.again", New: "options.Trace = q.traced"},
		{Name: "what broke off is told again", File: "oracle.go", Old: "&retelling{before: q.told.soFar()}", New: "&retelling{}"},
		{Name: "a line goes on in its middle", File: "retelling.go", Old: "return now[strings.LastIndexByte(r.before, '\\n')+1:]", New: "return now[len(r.before):]"},
		{Name: "a shorter reply is not shown", File: "retelling.go", Old: "if r.shown || r.now.Len() == len(r.before) {", New: "if true {"},
		{Name: "a provider is waited for, however long", File: "model/error.go", Old: "e.Temporary = e.RetryAfter <= patience", New: ""},
	}))
}

// Each rule about replies without a signal, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestFallback$|^TestRoutingWithoutSignal$|^TestRoutingOfStuck$|^TestRefused|^TestReact$|^TestSignalChunks$", []mutant.Mutant{
		{Name: "a plain reply is never the answer", File: "fallback.go", Old: "case s.plain() && (!s.tried || s.asked):", New: "case s.plain() && s.asked:"},
		{Name: "who is asked is asked again", File: "fallback.go", Old: "case s.plain() && (!s.tried || s.asked):", New: "case s.plain() && !s.tried:"},
		{Name: "who can signal gets the hint", File: "fallback.go", Old: "case s.plain() && s.can:", New: "case s.plain() && !s.tried:"},
		{Name: "stuck is an answer in part", File: "fallback.go", Old: `s.content != "" && s.stuck:`, New: `s.content != "" && s.stuck && false:`},
		{Name: "refused calls have failed", File: "turn.go", Old: `if result["refused"] == true {`, New: "if false {"},
		{Name: "the last word is the answer", File: "turn.go", Old: "d.verdict == takeAnswer && len(q.asked) > len(q.said):", New: "false:"},
		{Name: "what is no valid signal is none", File: "turn.go", Old: "h.tried = h.tried || f.Dialect == agentsig.DialectXML\n", New: "\n"},
		{Name: "unsignalled is not said", File: "oracle.go", Old: "a.Unsignalled = a.Outcome == Answered && q.board.Get(keyLastSignal) == nil", New: "a.Unsignalled = false"},
		{Name: "signals are always taught", File: "prompt.go", Old: "if name != without {", New: "if name != without || true {"},
		{Name: "the last turn asks everybody for a signal", File: "turn.go", Old: "if q.taught {", New: "if true {"},
	}))
}
