package oracle

import (
	"errors"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
	"github.com/signalbox-dev/signalbox/safetext"
)

// The bounds of what a model is given of a conversation.
const (
	maxBefore      = 20       // questions
	maxBeforeBytes = 64 << 10 // of them and their answers
	maxBeforeText  = 16 << 10 // of one of these texts
)

// Talk is what a question is part of: who asks, about what, and what was said before it.
type Talk struct {
	User, Project string
	Continues     string    // the question that it goes on from, by its name in the ledger
	Before        []Earlier // what the model is given of it and of those before, the oldest first
	Left          bool      // there is more that the model is not given
}

// Earlier is a question that was asked before, and its answer without signals.
type Earlier struct {
	Question, Answer string
	Cut              bool // one of them is only its beginning
}

// Exchange is an earlier question as it was recorded.
type Exchange struct {
	Question, Answer string
	Continues        string // the one before it; empty if it was the first
	Cut              bool   // the answer is only its beginning
}

// ErrNotKept says of an earlier question that what was said is not kept any longer.
var ErrNotKept = errors.New("what was said is not kept any longer")

// Goes returns the talk of a question that goes on from another, by its name. What came before that
// is looked up, as far as a model is given it: however long a conversation is, it takes no more than
// a few looks.
func (t Talk) Goes(name string, from Exchange, look func(name string) (Exchange, error)) (Talk, error) {
	t.Continues, t.Before, t.Left = name, nil, false
	for bytes := 0; ; {
		e := earlier(from)
		bytes += len(e.Question) + len(e.Answer)
		if len(t.Before) == maxBefore || bytes > maxBeforeBytes {
			t.Left = true
			break
		}
		t.Before = append(t.Before, e)
		if from.Continues == "" {
			break
		}
		var err error
		from, err = look(from.Continues)
		if errors.Is(err, ErrNotKept) {
			t.Left = true
			break
		}
		if err != nil {
			return t, err
		}
	}
	slices.Reverse(t.Before)
	return t, nil
}

// earlier bounds an exchange. A signal in an answer was for its own turn: the model does not see it
// again, whoever wrote it.
func earlier(x Exchange) Earlier {
	said := listen(func(string) {})
	said.write(x.Answer)
	said.close()
	question, whole := safetext.Prefix(strings.TrimSpace(x.Question), maxBeforeText)
	answer, all := safetext.Prefix(strings.TrimSpace(said.clean.String()), maxBeforeText)
	return Earlier{Question: question, Answer: answer, Cut: x.Cut || !whole || !all}
}

// What is said of what is left out.
const (
	tellLeft  = "(What was asked and answered before this is left out.)\n\n"
	tellCut   = "\n\n(What was asked or answered here was longer, and is cut.)"
	toldLeft  = "The conversation is longer than a model is given: it gets the latest part, and is told so."
	toldTexts = "What was asked or answered before is longer than a model is given: it gets the beginning, and is told so."
)

// messages are what the model is given before its first turn.
func (t Talk) messages(question string) []model.Message {
	var all []model.Message
	for i, e := range t.Before {
		asked := e.Question
		if i == 0 && t.Left {
			asked = tellLeft + asked
		}
		answer := e.Answer
		if e.Cut {
			answer += tellCut
		}
		all = append(all, model.Message{Role: model.User, Text: asked}, model.Message{Role: model.Assistant, Text: answer})
	}
	return append(all, model.Message{Role: model.User, Text: question})
}

// left says to the person what the model is not given; nothing if that is nothing.
func (t Talk) left() string {
	var all []string
	if t.Left {
		all = append(all, toldLeft)
	}
	if slices.ContainsFunc(t.Before, func(e Earlier) bool { return e.Cut }) {
		all = append(all, toldTexts)
	}
	return strings.Join(all, " ")
}

// put sets the keys of a blackboard, as trees and recordings have a talk.
func (t Talk) put(values map[string]any) {
	for key, text := range map[string]string{keyUser: t.User, keyProject: t.Project, keyContinues: t.Continues} {
		if text != "" {
			values[key] = text
		}
	}
	if t.Continues == "" {
		return
	}
	history := make([]any, len(t.Before))
	for i, e := range t.Before {
		history[i] = map[string]any{"question": e.Question, "answer": e.Answer, "cut": e.Cut}
	}
	values[keyHistory], values[keyHistoryLeft] = history, t.Left
}

// talkOf reads what put has set.
func talkOf(values map[string]any) Talk {
	var t Talk
	for key, to := range map[string]*string{keyUser: &t.User, keyProject: &t.Project, keyContinues: &t.Continues} {
		*to, _ = values[key].(string)
	}
	t.Left, _ = values[keyHistoryLeft].(bool)
	history, _ := values[keyHistory].([]any)
	for _, v := range history {
		fields, _ := v.(map[string]any)
		var e Earlier
		e.Question, _ = fields["question"].(string)
		e.Answer, _ = fields["answer"].(string)
		e.Cut, _ = fields["cut"].(bool)
		t.Before = append(t.Before, e)
	}
	return t
}
