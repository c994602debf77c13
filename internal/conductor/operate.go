package conductor

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/box"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/safetext"
)

// say hands an operator's word to a run, and returns the run after it.
func (c *Conductor) say(ctx context.Context, subject string, in delivery.Input) (api.Run, error) {
	d := c.decider(subject)
	switch {
	case !c.live(subject):
		return api.Run{}, c.finished(subject)
	case d == nil && c.runner == nil:
		return api.Run{}, errNoDelivery
	case d == nil:
		return api.Run{}, box.ErrStopping
	}
	if err := d.handIn(ctx, in); err != nil {
		if errors.Is(err, box.ErrStopping) && !c.live(subject) {
			err = c.finished(subject) // not the box
		}
		return api.Run{}, err
	}
	return c.ledger.ShowRun(subject)
}

// finished refuses a word to a run that has ended.
func (c *Conductor) finished(subject string) error {
	id := ""
	c.ledger.WithRun(subject, func(r *delivery.Run) { id = r.ID })
	return fmt.Errorf("%s: %w", safetext.Escape(id), delivery.ErrFinished)
}

// OnRun is an operator's word on a run: pause, resume or cancel.
func (c *Conductor) OnRun(ctx context.Context, actor, id, verb string, m api.Message) (api.Run, error) {
	subject, err := c.ledger.RunNamed(id)
	if err != nil {
		return api.Run{}, err
	}
	reason := c.ledger.Redact(m.Text)
	switch verb {
	case "pause":
		return c.say(ctx, subject, delivery.Hold{Actor: actor, Reason: reason})
	case "resume":
		if err := c.acceptFollowed(subject); err != nil {
			return api.Run{}, err
		}
		return c.say(ctx, subject, delivery.Resume{Actor: actor, Reason: reason})
	}
	return c.say(ctx, subject, delivery.Cancel{Actor: actor, Reason: reason})
}

// OnTask is an operator's word on a task: cancel or retry.
func (c *Conductor) OnTask(ctx context.Context, actor, id, verb string, m api.Message) (api.Run, error) {
	subject, task, err := c.ledger.TaskNamed(id)
	if err != nil {
		return api.Run{}, err
	}
	text := c.ledger.Redact(m.Text)
	if verb == "retry" {
		return c.say(ctx, subject, delivery.Retry{Actor: actor, Task: task, Text: text})
	}
	return c.say(ctx, subject, delivery.Cancel{Actor: actor, Task: task, Reason: text})
}

// Tell gives a message to the agent on a task, if it can be told, or to the next.
func (c *Conductor) Tell(ctx context.Context, actor, id string, m api.Message, key string) (api.Told, error) {
	subject, task, err := c.ledger.TaskNamed(id)
	if err != nil {
		return api.Told{}, err
	}
	text := c.ledger.Redact(m.Text)
	if text == "" {
		return api.Told{}, errNoMessage
	}
	key = cmp.Or(key, rand.Text())
	var agent string
	v := api.Told{}
	before := false
	c.ledger.WithRun(subject, func(r *delivery.Run) {
		v.Work = order.ItemID(r.ID, task)
		if agent, before = r.ToldBy(key); before {
			return
		}
		if s := r.SessionOf(task); s != nil && s.Over == "" {
			agent = s.ID
		}
	})
	if before {
		v.Now = agent != ""
		return v, nil
	}
	switch {
	case agent == "":
		v.Why = "nobody works on it now"
	case !c.mail.InTouch(agent):
		v.Why = "the agent on it is not in touch with the box now"
	default:
		v.Now = c.ask(ctx, agent, api.SessionCommand{ID: "tell/" + key, Kind: api.CommandTell, Text: delivery.Worded(actor, text)})
		if !v.Now {
			v.Why = "the one who works on it takes no messages meanwhile"
		}
	}
	if !v.Now {
		agent = ""
	}
	if _, err := c.say(ctx, subject, delivery.Tell{Actor: actor, Task: task, Session: agent, Text: text, Key: key}); err != nil {
		return api.Told{}, err
	}
	return v, nil
}

// ask sends a tell to a session, and reports whether its agent was told. If nobody knows, because the
// session has the message and does not answer, it says no: then the next agent is told as well.
func (c *Conductor) ask(ctx context.Context, session string, tell api.SessionCommand) (told bool) {
	answer := c.mail.Ask(session, tell)
	patience, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	select {
	case told = <-answer:
		return told
	case <-patience.Done():
	}
	c.mail.TakeBack(session, tell.ID)
	select {
	case told = <-answer: // just before
		return told
	default:
		return false
	}
}

// tellPatience is for how long an agent is waited for to take a message.
const tellPatience = 5 * time.Second

// Answer answers a question.
func (c *Conductor) Answer(ctx context.Context, actor, id string, a api.Answer) (api.Question, error) {
	q, subject, ok := c.ledger.Question(id)
	if !ok {
		return q, fmt.Errorf("%w: %s", delivery.ErrNoQuestion, safetext.Escape(id))
	}
	_, err := c.say(ctx, subject, delivery.Answer{Actor: actor, Question: id, Choice: a.Choice, Text: c.ledger.Redact(a.Text)})
	return q, err
}

// acceptFollowed takes what a run was paused for as the operator's will, who resumes it.
func (c *Conductor) acceptFollowed(subject string) error {
	distrust := false
	c.ledger.WithRun(subject, func(r *delivery.Run) { distrust = r.Distrust != "" })
	if !distrust || c.runner == nil {
		return nil
	}
	return c.at(c.homeOf(subject)).AcceptFollowed()
}
