package prompt

import (
	_ "embed" // for the template
)

//go:embed question.md
var question string

// Question returns what an expert is asked that is a model and no agent: the template, or the user's own if it is not
// empty, filled in. It does not say how to signal, and has no nonce in it: the signal is made of the answer.
func Question(own string, d Data) (string, error) {
	if own == "" {
		own = question
	}
	return fill("the question to the expert", own, d.quoted())
}
