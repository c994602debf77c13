package oracle

import (
	"fmt"
	"unicode/utf8"
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
	toolResults int
	toolsFailed int
	silent      int     // turns without a valid signal, in a row
	signal      string  // what this turn's signal says, if there is one
	confidence  float64 // of that signal
	hinted      bool    // a hint was given already
}

// count puts a number of things into words.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// fallback is the table: the first row that fits decides. The text says what is missing
// from what is taken as the answer.
func fallback(s situation) (verdict, string) {
	unclear := fmt.Sprintf("the model did not say in %s whether it has answered", count(max(s.silent, 1), "turn"))
	longer := func(text string, n int) bool { return utf8.RuneCountInString(text) > n }
	hint := func() (verdict, string) {
		if s.hinted {
			return takePart, unclear
		}
		return giveHint, ""
	}
	switch {
	case s.toolResults >= 3 && 10*s.toolsFailed > 7*s.toolResults:
		return escalate, fmt.Sprintf("%d of %d tool calls failed", s.toolsFailed, s.toolResults)
	case longer(s.content, muchContent) && s.silent >= 2:
		return takePart, unclear
	case !longer(s.question, shortQuestion) && s.toolResults == 0 && s.content != "" && s.signal == "":
		return takeAnswer, ""
	case !longer(s.question, shortQuestion) && s.toolResults == 0 && s.content != "":
		return takePart, s.signal
	case s.silent >= 3:
		return hint()
	case s.signal != "" && s.confidence < 0.3 && s.content != "":
		return takePart, s.signal
	case s.signal != "" && s.confidence < 0.3:
		return hint()
	}
	return justContinue, ""
}
