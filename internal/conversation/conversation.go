// Package conversation is one question put to a model, and what the model signalled
// until it was answered. It is pure, in the manner of package work: [Decide] takes a
// conversation and a command and gives the event to record, [Evolve] takes a
// conversation and an event and gives the conversation after it.
//
// Nobody holds a conversation and nothing waits for it: it is a record. What was said
// is in the events; the state has what is needed to record the next one.
package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Limits of what is said, in bytes.
const (
	maxQuestion = 128 << 10
	MaxAnswer   = 128 << 10
	maxName     = 256 // of a class, a provider, a model, a user, a project, a tool, a server
)

// Actors of the events, besides the operator or a client, who asks.
const (
	ModelActor  = "model"  // it signals
	OracleActor = "oracle" // it ends the conversation
)

// Why a command is refused.
var (
	ErrExists         = errors.New("there is a conversation with this id already")
	ErrNoConversation = errors.New("there is no such question")
	ErrEnded          = errors.New("the conversation has ended")
	ErrEmptyQuestion  = errors.New("the question is empty")
	ErrBadTurn        = errors.New("turns are counted from 1")
	ErrBadType        = errors.New("there is no such signal of a model about its own turn")
	ErrBadConfidence  = errors.New("a confidence is from 0 to 1")
	ErrBadField       = errors.New("a signal's field is a text, a whole number or a list of texts")
	ErrBadTime        = errors.New("a signal has the time at which it was said")
	ErrBadOutcome     = errors.New("a conversation ends answered, partial, stuck, failed or cancelled")
	ErrBadCount       = errors.New("a count is not negative")
	ErrBadCall        = errors.New("calls are decided one after the other, and end once, if they were allowed")
	ErrBadDecision    = errors.New("a call is allowed or refused by person, earlier or list, and refused by nobody")
	ErrBadCallOutcome = errors.New("a call ends done, failed or unknown")
	ErrOpen           = errors.New("it has not ended")
	ErrNoAnswer       = errors.New("its answer is not in the ledger")
	ErrOthers         = errors.New("it is another user's, or of another project")
)

// Conversation is the fold of its events. The zero Conversation is one that was not
// begun yet.
type Conversation struct {
	work.Chain
	ID      string // its name for people
	Signals int    // that were recorded
	Calls   int    // that were decided
	Running int    // of them, allowed and not ended yet
	Outcome Outcome
}

// Exists reports whether the question was asked.
func (c Conversation) Exists() bool { return c.ID != "" }

// Ended reports whether the conversation is over.
func (c Conversation) Ended() bool { return c.Outcome != "" }

// Command is what happened as the model's side tells it: Ask, Signal, DecideCall, EndCall or
// Answer.
type Command interface {
	// Events returns the types of events that it can lead to.
	Events() []string
	decide(Conversation) (work.Event, error)
}

// Decide says which event a command leads to, or why it is refused. The event holds
// only as long as nothing else happens to the conversation.
func Decide(c Conversation, do Command) (work.Event, error) {
	_, isAsk := do.(Ask)
	switch {
	case isAsk && c.Exists():
		return work.Event{}, ErrExists
	case !isAsk && !c.Exists():
		return work.Event{}, ErrNoConversation
	case c.Ended():
		return work.Event{}, fmt.Errorf("%s: %w (%s)", c.ID, ErrEnded, c.Outcome)
	}
	return do.decide(c)
}

// Ask begins the conversation.
type Ask struct {
	Asked
	Actor string // who asks
	Key   string
}

// Events implements [Command].
func (Ask) Events() []string { return []string{TypeStarted} }

func (c Ask) decide(Conversation) (work.Event, error) {
	switch {
	case !agentsig.ValidID(c.ID):
		return work.Event{}, work.ErrBadID
	case strings.TrimSpace(c.Question) == "":
		return work.Event{}, ErrEmptyQuestion
	case len(c.Question) > maxQuestion:
		return work.Event{}, fmt.Errorf("the question has %d bytes of %d: %w", len(c.Question), maxQuestion, work.ErrTooLong)
	}
	for _, name := range []string{c.Class, c.Provider, c.Model, c.UserID, c.ProjectID} {
		if len(name) > maxName {
			return work.Event{}, fmt.Errorf("the name %.40q has %d bytes of %d: %w", name, len(name), maxName, work.ErrTooLong)
		}
	}
	return work.Event{Type: TypeStarted, Actor: c.Actor, Key: c.Key, Payload: c.Asked}, nil
}

// Signal records what the model said about its own turn.
type Signal struct {
	Signalled
	Key string
}

// Events implements [Command].
func (Signal) Events() []string { return []string{TypeSignalled} }

func (c Signal) decide(Conversation) (work.Event, error) {
	entry, known := agentsig.Lookup(c.Type)
	year := c.At.Year()
	switch {
	case c.Turn < 1:
		return work.Event{}, ErrBadTurn
	case !known || entry.Dialect != agentsig.DialectXML:
		return work.Event{}, fmt.Errorf("%w: %.40q", ErrBadType, c.Type)
	case !(c.Confidence >= 0 && c.Confidence <= 1): // which also refuses what is no number
		return work.Event{}, ErrBadConfidence
	case year <= 1 || year > 9999: // none, or none that can be written
		return work.Event{}, ErrBadTime
	}
	for _, f := range c.Fields {
		switch f.Value.(type) {
		case string, int, []string:
		default:
			return work.Event{}, fmt.Errorf("%.40q: %w", f.Name, ErrBadField)
		}
	}
	return work.Event{Type: TypeSignalled, Actor: ModelActor, Key: c.Key, Payload: c.Signalled}, nil
}

// DecideCall records whether a call that changes something is made. It comes before the call.
type DecideCall struct {
	Decided
	Actor string // who tells it, and whose word it is unless nobody was asked
	Key   string
}

// Events implements [Command].
func (DecideCall) Events() []string { return []string{TypeCallDecided} }

func (c DecideCall) decide(now Conversation) (work.Event, error) {
	switch {
	case c.Call != now.Calls+1:
		return work.Event{}, fmt.Errorf("call %d, after %d: %w", c.Call, now.Calls, ErrBadCall)
	case c.Turn < 1:
		return work.Event{}, ErrBadTurn
	case c.Tool == "":
		return work.Event{}, fmt.Errorf("a call without a tool: %w", ErrBadCall)
	}
	actor := c.Actor
	switch c.By {
	case ByPerson, ByEarlier, ByList:
	case ByNobody:
		if c.Allowed {
			return work.Event{}, ErrBadDecision
		}
		actor = OracleActor
	default:
		return work.Event{}, fmt.Errorf("%w, not by %.40q", ErrBadDecision, c.By)
	}
	for _, name := range []string{c.Tool, c.Server} {
		if len(name) > maxName {
			return work.Event{}, fmt.Errorf("the name %.40q has %d bytes of %d: %w", name, len(name), maxName, work.ErrTooLong)
		}
	}
	return work.Event{Type: TypeCallDecided, Actor: actor, Key: c.Key, Payload: c.Decided}, nil
}

// EndCall records what came of a call that was allowed.
type EndCall struct {
	CallResult
	Key string
}

// Events implements [Command].
func (EndCall) Events() []string { return []string{TypeCallEnded} }

func (c EndCall) decide(now Conversation) (work.Event, error) {
	switch c.Outcome {
	case CallDone, CallFailed, CallUnknown:
	default:
		return work.Event{}, fmt.Errorf("%w, not %.40q", ErrBadCallOutcome, c.Outcome)
	}
	switch {
	case c.Call < 1 || c.Call > now.Calls || now.Running == 0:
		return work.Event{}, fmt.Errorf("call %d of %d, of which %d are under way: %w", c.Call, now.Calls, now.Running, ErrBadCall)
	case c.Bytes < 0:
		return work.Event{}, ErrBadCount
	}
	return work.Event{Type: TypeCallEnded, Actor: OracleActor, Key: c.Key, Payload: c.CallResult}, nil
}

// Answer ends the conversation, with an answer or without one.
type Answer struct {
	Answered
	Key string
}

// Events implements [Command].
func (Answer) Events() []string { return []string{TypeEnded} }

func (c Answer) decide(Conversation) (work.Event, error) {
	switch c.Outcome {
	case OutcomeAnswered, OutcomePartial, OutcomeStuck, OutcomeFailed, OutcomeCancelled:
	default:
		return work.Event{}, fmt.Errorf("%w, not %.40q", ErrBadOutcome, c.Outcome)
	}
	if c.Text != nil && len(*c.Text) > MaxAnswer {
		return work.Event{}, fmt.Errorf("the answer has %d bytes of %d: %w", len(*c.Text), MaxAnswer, work.ErrTooLong)
	}
	if c.Turns < 0 || c.Signals < 0 || c.TokensIn < 0 || c.TokensOut < 0 {
		return work.Event{}, ErrBadCount
	}
	return work.Event{Type: TypeEnded, Actor: OracleActor, Key: c.Key, Payload: c.Answered}, nil
}

// Fold takes the next event of the conversation, decoded from stored, which has the
// ledger's sequence seq. It refuses one that does not continue the conversation's
// chain, or that [Evolve] does not know.
func Fold(c Conversation, seq uint64, e ledger.Event, stored []byte) (Conversation, error) {
	tip, err := c.Tip.Next(e, stored)
	if err != nil {
		return c, err
	}
	next, err := Evolve(c, seq, e)
	if err != nil {
		return c, err
	}
	next.Tip = tip
	return next, nil
}

// Evolve returns the conversation after an event. It checks nothing that [Decide] has
// decided: an event is a fact.
func Evolve(c Conversation, seq uint64, e ledger.Event) (Conversation, error) {
	c.Reach(seq, e.Key)
	var err error
	switch e.Type {
	case TypeStarted:
		var p Asked
		err = json.Unmarshal(e.Payload, &p)
		c.Subject, c.ID = e.Subject, p.ID
	case TypeSignalled:
		c.Signals++
	case TypeCallDecided:
		var p Decided
		err = json.Unmarshal(e.Payload, &p)
		c.Calls++
		if p.Allowed {
			c.Running++
		}
	case TypeCallEnded:
		c.Running--
	case TypeEnded:
		var p Answered
		err = json.Unmarshal(e.Payload, &p)
		c.Outcome = p.Outcome
	default:
		return c, fmt.Errorf("event %d of %s is of the type %q, which this version does not know", e.ItemSeq, e.Subject, e.Type)
	}
	if err != nil {
		return c, fmt.Errorf("the payload of %s, event %d of %s: %w", e.Type, e.ItemSeq, e.Subject, err)
	}
	return c, nil
}
