package oracle

import (
	"fmt"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/internal/english"
)

// verdict is what is done about a reply that says nothing that can be acted upon.
type verdict string

const (
	escalate     verdict = "escalate"       // end, and tell the person that the tools fail
	takeAnswer   verdict = "answer"         // the reply is the answer
	takePart     verdict = "answer_partial" // what was said is the answer, and something is missing
	giveHint     verdict = "hint"           // ask again, and say what a reply has to have
	justContinue verdict = "continue"       // another turn
)

// What the table calls a short question and much content, in characters.
const (
	shortQuestion = 100
	muchContent   = 500
)

// situation is what the fallback table looks at.
type situation struct {
	question    string
	content     string // what was said so far
	reply       string // what was said in this turn
	toolResults int
	toolsFailed int
	silent      int     // turns without a valid signal, in a row
	signal      string  // what this turn's signal says, if there is one
	confidence  float64 // of that signal
	stuck       bool    // it says that the model can't go on
	can         bool    // the model has said a valid signal in this question
	tried       bool    // it has, or what was nearly one
	garbled     bool    // this turn's reply has what was nearly one, and none
	asked       bool    // it was asked for a signal that a reply lacked
	hinted      bool    // a hint was given already
}

// plain reports whether the reply says something and nothing about itself.
func (s situation) plain() bool { return s.signal == "" && s.reply != "" }

// decision is what the table says.
type decision struct {
	verdict verdict
	missing string // from what is taken as the answer
	all     bool   // all that was said is the answer, and not the last reply alone
	ask     bool   // this reply may be the answer: the model is asked for the signal that it lacks
}

// fallback is the table: the first row that fits decides.
func fallback(s situation) decision {
	unclear := fmt.Sprintf("the model did not say in %s whether it has answered", english.Count(max(s.silent, 1), "turn"))
	longer := func(text string, n int) bool { return utf8.RuneCountInString(text) > n }
	hint := decision{verdict: giveHint}
	if s.hinted {
		hint = decision{verdict: takePart, missing: unclear}
	}
	switch {
	case s.toolResults >= 3 && 10*s.toolsFailed > 7*s.toolResults:
		return decision{verdict: escalate, missing: fmt.Sprintf("%d of %d tool calls failed", s.toolsFailed, s.toolResults)}
	case s.plain() && s.garbled && s.asked: // it may have said that there is more to come
		return decision{verdict: takePart, missing: "what the model signals about its reply can't be read"}
	case s.plain() && (!s.tried || s.asked):
		return decision{verdict: takeAnswer}
	case !longer(s.question, shortQuestion) && s.toolResults == 0 && s.content != "" && s.signal == "":
		return decision{verdict: takeAnswer}
	case !longer(s.question, shortQuestion) && s.toolResults == 0 && s.content != "" && s.stuck:
		return decision{verdict: escalate, missing: s.signal}
	case !longer(s.question, shortQuestion) && s.toolResults == 0 && s.content != "":
		return decision{verdict: takePart, missing: s.signal}
	case s.plain() && s.can:
		return decision{verdict: justContinue, ask: true}
	case s.plain():
		return decision{verdict: giveHint, ask: true}
	case longer(s.content, muchContent) && s.silent >= 2:
		return decision{verdict: takePart, missing: unclear, all: true}
	case s.silent >= 3:
		return hint
	case s.signal != "" && s.confidence < 0.3 && s.content != "":
		return decision{verdict: takePart, missing: s.signal}
	case s.signal != "" && s.confidence < 0.3:
		return hint
	}
	return decision{verdict: justContinue}
}
