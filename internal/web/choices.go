package web

import (
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// choice is an answer that means something, by what it does.
type choice struct {
	Value string
	Label string
	Does  string // in a sentence
	Asks  bool   // it can't be taken back, so it takes a second click
}

// choicesOf are the answers to a question that mean something.
func choicesOf(q api.Question) (all []choice) {
	for _, value := range q.Choices {
		all = append(all, choiceOf(q, value))
	}
	return all
}

func choiceOf(q api.Question, value string) choice {
	what := q.Task
	if what == "" {
		what = "it"
	}
	c := choice{Value: value, Label: value}
	switch value {
	case delivery.ChooseCancel:
		c.Label, c.Asks = "Give up "+what+" (and what depends on it)", true
		c.Does = "Nobody works on " + what + " any more, nor on what depends on it. What was done so far stays on its branch. What you typed is recorded as the reason."
	case delivery.ChooseHalt:
		c.Label, c.Asks = "End the run", true
		c.Does = "Its agents end, and what is left is not done. What is merged stays. What you typed is recorded as the reason."
	case delivery.ChooseHealthy:
		c.Label, c.Asks = "Declare the environment healthy", true
		c.Does = "Work goes on, and every task of the run passes the checks that fail now, whatever they say."
	case delivery.ChooseRetry:
		switch q.Cause {
		case delivery.CauseLogin:
			c.Label, c.Does = "Start agents again", "agents of that provider are started again."
		case delivery.CauseRemediation:
			c.Label, c.Does = "Try the repair again", "an agent tries some more rounds to repair the environment. It is told what you typed."
		default:
			c.Label, c.Does = "Try "+what+" again", "what went wrong so far is forgotten, and the next agent goes on with it. It is told what you typed."
		}
	case delivery.ChooseContinue:
		c.Label, c.Does = "Go on with as much again", "the run may use as much again before you are asked."
		if q.Task != "" {
			c.Label, c.Does = "Go on without that budget", "that budget does not count for "+what+" any more."
		}
	case delivery.ChooseRaise:
		c.Label, c.Does = "Allow as much again", "it may use as much again before you are asked."
	case delivery.ChooseAccept:
		c.Label, c.Does = "Accept the repair", "it is merged."
	}
	return c
}
