package sim_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// operate is a word of the operator's, sensible or not.
func (w *world) operate() error {
	task := "T-9"
	if w.chance(90) {
		task = pick(w, w.plan.Tasks).ID
	}
	if len(w.run.Added) > 0 && w.chance(30) {
		task = pick(w, w.run.Added)
	}
	switch n := w.rand.IntN(100); {
	case n < 50 && slices.ContainsFunc(w.run.Tasks, w.awaits):
		return w.playPart(task)
	case n < 3, n < 45 && len(w.run.Questions) > 0:
		return w.answer(w.someAnswer())
	case n < 55:
		return w.tellAgent(task)
	case n < 62:
		return w.onRun("pause", "lunch")
	case n < 80 && (w.run.Paused || n < 64):
		return w.onRun("resume", "")
	case n < 80:
		return w.answer(w.someAnswer())
	case n < 84:
		return w.onTask(task, "cancel", "not needed")
	case n < 85:
		return w.onRun("cancel", "all of it")
	case n < 86:
		return w.clean()
	case n < 89:
		return w.onTask(task, "retry", "once more")
	case n < 92:
		return w.amend()
	case n < 97:
		return w.playPart(task)
	}
	return w.override(task)
}

// word has the operator say something, and looks how it is taken: it may be refused by the rules.
func (w *world) word(what string, do func() error) error {
	w.tell("     the operator: %s", what)
	w.excused = false
	err := do()
	if settled := w.wait(); settled != nil {
		return settled
	}
	switch why := reason(err); {
	case why != "":
		w.reached.add("refused", why)
	case err != nil && !w.excused:
		return breaks("%s is refused: %T", what, err)
	}
	return nil
}

func (w *world) onRun(verb, text string) error {
	return w.word(verb, func() error {
		_, err := w.conductor.OnRun(background, w.actor(), w.run.ID, verb, api.Message{Text: text})
		return err
	})
}

func (w *world) onTask(task, verb, text string) error {
	if verb == "retry" {
		w.record.said[delivery.TaskRetried]++
	}
	return w.word(verb+" "+task, func() error {
		_, err := w.conductor.OnTask(background, w.actor(), order.ItemID(w.run.ID, task), verb, api.Message{Text: text})
		return err
	})
}

func (w *world) answer(a delivery.Answer) error {
	return w.word(fmt.Sprintf("%+v", a), func() error {
		_, err := w.conductor.Answer(background, w.actor(), a.Question, api.Answer{Choice: a.Choice, Text: a.Text})
		return err
	})
}

// actor is who speaks: the operator, or now and then a client of theirs.
func (w *world) actor() string {
	if w.spoke++; w.spoke%3 != 0 {
		return work.OperatorActor
	}
	w.reached.add("world", "a client's word")
	return work.ClientPrefix + "mcp"
}

// key is the key of something that the operator says.
func (w *world) key(what string) string {
	w.told++
	return fmt.Sprintf("%s-%d", what, w.told)
}

// tellAgent gives a message to an agent that is in touch, which takes it, refuses it or does not answer, or to the
// next one. A client that got no answer says it again.
func (w *world) tellAgent(task string) error {
	key := w.key("tell")
	for again := true; again; again = !w.calm && w.chance(20) {
		var agent string
		if s := w.run.SessionOf(task); s != nil && w.conductor.Mail().InTouch(s.ID) {
			agent = s.ID
		}
		how := w.rand.IntN(3)
		err := w.word("tell "+task, func() error {
			said := make(chan error, 1)
			go func() {
				_, err := w.conductor.Tell(background, w.actor(), order.ItemID(w.run.ID, task), api.Message{Text: "mind the gap"}, key)
				said <- err
			}()
			synctest.Wait()
			if agent != "" && how < 2 {
				w.reached.add("world", "agent told")
				w.conductor.Mail().Answered(agent, "tell/"+key, how == 0)
			}
			return <-said
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// someAnswer answers a question, or something that is none.
func (w *world) someAnswer() delivery.Answer {
	if len(w.run.Questions) == 0 || w.chance(3) {
		return delivery.Answer{Actor: work.OperatorActor, Question: w.run.ID + "-Q99", Text: "yes"}
	}
	q := pick(w, w.run.Questions)
	if open := w.run.Open(); len(open) > 0 && w.chance(80) {
		q = pick(w, open)
	}
	a := delivery.Answer{Actor: work.OperatorActor, Question: q.ID}
	switch n := w.rand.IntN(10); {
	case n < 3 && slices.Contains(q.Choices, delivery.ChooseHealthy):
		a.Choice = delivery.ChooseHealthy
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
	phase := pick(w, agentsig.Phases())
	if t == nil || !w.run.Live() || t.Item.Phase == phase {
		return nil
	}
	return w.byHand(t.Item.Subject, work.Override{Actor: w.actor(), Phase: phase, Reason: "by hand"})
}

// answerAll is a person who answers everything, so that work can go on.
func (w *world) answerAll() (bool, error) {
	if w.run.Paused {
		return true, w.onRun("resume", "")
	}
	open := slices.Clone(w.run.Open())
	for _, q := range open {
		a := delivery.Answer{Actor: work.OperatorActor, Question: q.ID, Text: "go on"}
		switch {
		case q.Cause == delivery.CauseRole:
			a = delivery.Answer{Actor: work.OperatorActor, Question: q.ID, Choice: delivery.ChooseCancel}
		case q.Cause == delivery.CauseBudget:
			a = delivery.Answer{Actor: work.OperatorActor, Question: q.ID, Choice: delivery.ChooseContinue}
		case slices.Contains(q.Choices, delivery.ChooseHealthy) && (w.unplayed(agentsig.RoleRemediation) || w.unplayed(agentsig.RoleHealthAuditor) || w.unplayed(agentsig.RoleCritic)):
			w.broken = false // somebody repaired it by hand
			a = delivery.Answer{Actor: work.OperatorActor, Question: q.ID, Choice: delivery.ChooseHealthy}
		case slices.Contains(q.Choices, delivery.ChooseAccept):
			a = delivery.Answer{Actor: work.OperatorActor, Question: q.ID, Choice: delivery.ChooseAccept}
		case q.Cause == delivery.CauseObstacles:
			w.broken = false
		}
		if err := w.answer(a); err != nil {
			return true, err
		}
	}
	played, err := w.playParts()
	return played || len(open) > 0, err
}

func (w *world) unplayed(role agentsig.Role) bool { return w.run.Settings.Roles[role].Agent == "" }

// epilogue says a few words more, after the end, and looks what is left.
func (w *world) epilogue() error {
	if w.run.Finished == nil {
		return nil
	}
	if w.marked[w.subject] {
		return breaks("the run has ended, and what it left is not taken away")
	}
	if err := w.conductor.HandIn(background, w.subject, delivery.Hold{Actor: work.OperatorActor}); !errors.Is(err, box.ErrStopping) {
		return breaks("the run has ended, and somebody still decides for it: %w", err)
	}
	for _, verb := range []string{"pause", "resume", "cancel"} {
		if err := w.onRun(verb, ""); err != nil {
			return err
		}
	}
	for _, verb := range []string{"cancel", "retry"} {
		if err := w.onTask("T-1", verb, ""); err != nil {
			return err
		}
	}
	if err := w.tellAgent("T-1"); err != nil {
		return err
	}
	return w.clean()
}
