package sim_test

import (
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// operate is a word of the operator's, sensible or not.
func (w *world) operate() error {
	task := "T-9"
	if w.chance(90) {
		task = pick(w, w.plan).Task
	}
	var in delivery.Input
	switch n := w.rand.IntN(100); {
	case n < 3, n < 45 && len(w.run.Questions) > 0:
		in = w.someAnswer()
	case n < 55:
		told := delivery.Tell{Task: task, Text: "mind the gap"}
		if s := w.run.SessionOf(task); s != nil && w.chance(50) {
			told.Session = s.ID
		}
		in = told
	case n < 62:
		in = delivery.Hold{Reason: "lunch"}
	case n < 80 && (w.run.Paused || n < 64):
		in = delivery.Resume{}
	case n < 80:
		in = w.someAnswer()
	case n < 84:
		in = delivery.Cancel{Task: task, Reason: "not needed"}
	case n < 85:
		in = delivery.Cancel{Reason: "all of it"}
	case n < 92:
		in = delivery.Retry{Task: task, Text: "once more"}
	default:
		return w.override(task)
	}
	w.tell("     the operator: %T%+v", in, in)
	_, err := w.take(in)
	return err
}

// someAnswer answers a question, or something that is none.
func (w *world) someAnswer() delivery.Answer {
	if len(w.run.Questions) == 0 || w.chance(3) {
		return delivery.Answer{Question: "R1-Q99", Text: "yes"}
	}
	q := pick(w, w.run.Questions)
	if open := w.run.Open(); len(open) > 0 && w.chance(80) {
		q = pick(w, open)
	}
	a := delivery.Answer{Question: q.ID}
	switch n := w.rand.IntN(10); {
	case n < 5 && len(q.Choices) > 0:
		a.Choice = pick(w, q.Choices)
	case n < 6 && len(q.Choices) > 0:
		a.Text = strings.ToUpper(pick(w, q.Choices))
	case n < 7:
		a.Choice = "perhaps"
	case n < 8:
	default:
		a.Text = "use the blue one"
	}
	return a
}

func (w *world) override(task string) error {
	t := w.run.Task(task)
	if t == nil || !w.run.Live() {
		return nil
	}
	e, err := work.Decide(t.Item, work.Override{Phase: pick(w, agentsig.Phases()), Reason: "by hand"})
	if err != nil {
		return nil //nolint:nilerr // the same phase: the operator looks again
	}
	return w.append(t.Item.Subject, e)
}

// answerAll is a person who answers everything, so that work can go on.
func (w *world) answerAll() (bool, error) {
	if w.run.Paused {
		_, err := w.take(delivery.Resume{})
		return true, err
	}
	open := w.run.Open()
	for _, q := range open {
		a := delivery.Answer{Question: q.ID, Text: "go on"}
		switch {
		case q.Cause == delivery.CauseRole:
			a = delivery.Answer{Question: q.ID, Choice: delivery.ChooseCancel}
		case q.Cause == delivery.CauseBudget:
			a = delivery.Answer{Question: q.ID, Choice: delivery.ChooseContinue}
		case slices.Contains(q.Choices, delivery.ChooseHealthy) && (w.unplayed(agentsig.RoleRemediation) || w.unplayed(agentsig.RoleHealthAuditor) || w.unplayed(agentsig.RoleCritic)):
			w.broken = false // somebody repaired it by hand
			a = delivery.Answer{Question: q.ID, Choice: delivery.ChooseHealthy}
		case q.Cause == delivery.CauseObstacles:
			w.broken = false
		}
		if _, err := w.take(a); err != nil {
			return true, err
		}
	}
	return len(open) > 0, nil
}

func (w *world) unplayed(role agentsig.Role) bool { return w.run.Settings.Roles[role].Agent == "" }

// epilogue says a few words more, after the end.
func (w *world) epilogue() {
	if w.run.Finished == nil {
		return
	}
	for _, in := range []delivery.Input{
		delivery.Hold{}, delivery.Resume{}, delivery.Cancel{}, delivery.Cancel{Task: "T-1"}, delivery.Retry{Task: "T-1"}, delivery.Tell{Task: "T-1"},
	} {
		_, err := w.run.Decide(in, w.now)
		if err != nil {
			w.reached.add("refused", reason(err))
		}
	}
}
