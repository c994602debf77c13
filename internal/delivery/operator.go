package delivery

import (
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/safetext"
)

var (
	taskChoices        = []string{ChooseRetry, ChooseCancel}
	remediationChoices = []string{ChooseRetry, ChooseHealthy, ChooseHalt}
	repairChoices      = []string{ChooseAccept, ChooseRetry, ChooseHalt}
	budgetChoices      = []string{ChooseContinue, ChooseHalt}
	loginChoices       = []string{ChooseRetry, ChooseHalt}
	taskBudgetChoices  = []string{ChooseRaise, ChooseContinue, ChooseCancel}
)

// Answer is a person's answer to a question, or a client's.
type Answer struct{ Actor, Question, Choice, Text string }

func (in Answer) decide(r *Run, _ time.Time) ([]Write, error) {
	q := r.question(in.Question)
	if q == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoQuestion, safetext.Escape(in.Question))
	}
	choice, text, err := work.Choose(q.Choices, in.Choice, in.Text)
	switch {
	case err == nil && q.Answer != nil && q.Answer.Choice == choice && q.Answer.Text == text:
		return nil, nil
	case q.Answer != nil:
		return nil, fmt.Errorf("%s: %w", q.ID, ErrAnswered)
	case !r.Live():
		return nil, ErrFinished
	case err != nil:
		return nil, err
	case choice == "" && q.Cause == CauseBudget: // words could mean either
		return nil, fmt.Errorf("%w: %s has %s", ErrNoAnswer, q.ID, strings.Join(q.Choices, ", "))
	}
	return []Write{r.operator(in.Actor, QuestionAnswered, "", Answered{q.ID, choice, text, q.Task})}, nil
}

// operator makes an event of what the operator has decided, or a client of theirs.
func (r *Run) operator(actor, what, session string, payload any) Write {
	w := r.event(what, session, payload)
	w.Event.Actor = actor
	return w
}

// Worded is what an agent is told of what the operator or a client says: also whose word it is, if it is a client's.
func Worded(actor, text string) string {
	if client, ok := strings.CutPrefix(actor, work.ClientPrefix); ok {
		return "The client " + client + " says:\n" + text
	}
	return text
}

// Tell is a message of the operator's to whoever works on a task. Session is the
// one that was told; if there is none, the next agent is. The same key again is the
// same message.
type Tell struct{ Actor, Task, Session, Text, Key string }

func (in Tell) decide(r *Run, _ time.Time) ([]Write, error) {
	if err := r.checkTask(in.Task); err != nil {
		return nil, err
	}
	if _, ok := r.ToldBy(in.Key); ok {
		return nil, nil
	}
	return []Write{r.operator(in.Actor, MessageTold, in.Session, Message{in.Task, cut(in.Text), in.Key})}, nil
}

// ToldBy returns which session a message with this key has reached, empty if none,
// and whether there was one lately.
func (r *Run) ToldBy(key string) (session string, ok bool) {
	for _, t := range r.Told {
		if t.Key == key && key != "" {
			return t.Session, true
		}
	}
	return "", false
}

// Hold stops new starts.
type Hold struct{ Actor, Reason string }

func (in Hold) decide(r *Run, _ time.Time) ([]Write, error) {
	if !r.Live() {
		return nil, ErrFinished
	}
	if r.Paused {
		return nil, nil
	}
	return []Write{r.operator(in.Actor, RunPaused, "", Reason{cut(in.Reason)})}, nil
}

// Resume ends a [Hold], or a pause for [Distrust].
type Resume struct{ Actor, Reason string }

func (in Resume) decide(r *Run, _ time.Time) ([]Write, error) {
	if !r.Live() {
		return nil, ErrFinished
	}
	if !r.Paused {
		return nil, nil
	}
	return []Write{r.operator(in.Actor, RunResumed, "", Reason{cut(in.Reason)})}, nil
}

// Cancel gives up a task, or without one the whole run.
type Cancel struct{ Actor, Task, Reason string }

func (in Cancel) decide(r *Run, _ time.Time) ([]Write, error) {
	if in.Task == "" {
		if !r.Live() {
			return nil, ErrFinished
		}
		if r.Stopping != "" {
			return nil, nil
		}
		return []Write{r.operator(in.Actor, RunCancelled, "", Reason{cut(in.Reason)})}, nil
	}
	if err := r.checkTask(in.Task); err != nil {
		return nil, err
	}
	if r.Task(in.Task).Cancelled {
		return nil, nil
	}
	return []Write{r.operator(in.Actor, TaskCancelled, "", OnTask{in.Task, cut(in.Reason)})}, nil
}

// Retry forgets what went wrong with a task and tries it again, with a message for
// the next agent if there is one.
type Retry struct{ Actor, Task, Text string }

func (in Retry) decide(r *Run, _ time.Time) ([]Write, error) {
	if err := r.checkTask(in.Task); err != nil {
		return nil, err
	}
	return []Write{r.operator(in.Actor, TaskRetried, "", OnTask{in.Task, cut(in.Text)})}, nil
}

func (r *Run) checkTask(id string) error {
	t := r.Task(id)
	switch {
	case !r.Live():
		return ErrFinished
	case t == nil:
		return fmt.Errorf("%w: %s", ErrNoTask, safetext.Escape(id))
	case t.Item.Phase == agentsig.PhaseCompleted:
		return fmt.Errorf("%s: %w", id, ErrTaskOver)
	}
	return nil
}
