package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

// The types of events on a conversation.
const (
	TypeStarted     = "ConversationStarted"
	TypeSignalled   = "ConversationSignalled"
	TypeCallDecided = "ConversationCallDecided" // a call that changes something, before it is made
	TypeCallEnded   = "ConversationCallEnded"   // one that was allowed
	TypeEnded       = "ConversationEnded"       // or given up, as its outcome says
)

// Types lists every type of event on a conversation.
func Types() []string {
	return []string{TypeStarted, TypeSignalled, TypeCallDecided, TypeCallEnded, TypeEnded}
}

// Outcome is how a conversation ended.
type Outcome string

// The outcomes.
const (
	OutcomeAnswered  Outcome = "answered"
	OutcomePartial   Outcome = "partial" // a part was answered
	OutcomeStuck     Outcome = "stuck"   // the model could not go on
	OutcomeFailed    Outcome = "failed"  // there is no answer, through no doing of the model
	OutcomeCancelled Outcome = "cancelled"
)

// Asked is the payload of TypeStarted.
type Asked struct {
	ID       string       `json:"id"`
	Question string       `json:"question"`         // its beginning, if it is stored
	Stored   *ledger.Blob `json:"stored,omitempty"` // the whole question, if it is too long for an event
	Class    string       `json:"class"`
	Provider string       `json:"provider"`
	Model    string       `json:"model"`

	Continues string `json:"continues,omitempty"`  // the conversation that it goes on from
	UserID    string `json:"user_id,omitempty"`    // who asks, as they call themselves
	ProjectID string `json:"project_id,omitempty"` // what it is about, as they call it
}

// Signalled is the payload of TypeSignalled.
type Signalled struct {
	Turn       int           `json:"turn"` // from 1
	Type       agentsig.Kind `json:"type"`
	Confidence float64       `json:"confidence"`
	Defaulted  bool          `json:"defaulted,omitempty"` // no confidence could be read
	Fields     []work.Field  `json:"fields,omitempty"`    // what is too long is in the XML alone
	RawXML     string        `json:"raw_xml,omitempty"`
	Stored     *ledger.Blob  `json:"stored,omitempty"` // the XML, if it is too long for an event
	At         time.Time     `json:"at"`
}

// DecidedBy is whose word allowed or refused a call.
type DecidedBy string

// Whose word it can be.
const (
	ByPerson  DecidedBy = "person"  // who was asked
	ByEarlier DecidedBy = "earlier" // a person, who has allowed the tool for the whole question
	ByList    DecidedBy = "list"    // the tools that were allowed before the question
	ByNobody  DecidedBy = "nobody"  // there was none to ask, so it was refused
)

// Decided is the payload of TypeCallDecided.
type Decided struct {
	Call      int          `json:"call"` // its number in the conversation, from 1
	Turn      int          `json:"turn"`
	Tool      string       `json:"tool"`
	Server    string       `json:"server,omitempty"`
	Arguments string       `json:"arguments"`        // JSON; empty if it is stored
	Stored    *ledger.Blob `json:"stored,omitempty"` // the arguments, if they are too long for an event
	Allowed   bool         `json:"allowed"`
	By        DecidedBy    `json:"by"`
	Reason    string       `json:"reason,omitempty"` // of a refusal
}

// CallOutcome is what came of a call that was allowed.
type CallOutcome string

// The outcomes of a call.
const (
	CallDone    CallOutcome = "done"
	CallFailed  CallOutcome = "failed"
	CallUnknown CallOutcome = "unknown" // it was not answered, and may have been carried out
)

// CallResult is the payload of TypeCallEnded.
type CallResult struct {
	Call    int         `json:"call"` // the number that it was allowed by
	Outcome CallOutcome `json:"outcome"`
	Bytes   int         `json:"bytes"` // of its result
}

// Answered is the payload of TypeEnded.
type Answered struct {
	Outcome   Outcome `json:"outcome"`
	Turns     int     `json:"turns"`
	Signals   int     `json:"signals"`
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	Missing   string  `json:"missing,omitempty"` // from the answer

	Text   *string      `json:"text,omitempty"`   // the answer, or its beginning if it is stored; nil if it was not told
	Stored *ledger.Blob `json:"stored,omitempty"` // the answer, if it is too long for an event
	Cut    bool         `json:"cut,omitempty"`    // it was longer
}

// maxWords bounds a sentence, in characters.
const maxWords = 160

// Words says in a short sentence what an event on the conversation with this name is.
// What people and models wrote is cut to one line, and escaped.
func Words(name string, e ledger.Event) string {
	sentence, err := sentence(e)
	if err != nil {
		sentence = e.Type + " that can't be read"
	}
	words := []rune(safetext.Escape(name + ": " + sentence))
	if len(words) > maxWords {
		return string(words[:maxWords-1]) + "…"
	}
	return string(words)
}

func sentence(e ledger.Event) (string, error) {
	switch e.Type {
	case TypeStarted:
		var p Asked
		err := json.Unmarshal(e.Payload, &p)
		return because("asked", p.Question), err
	case TypeSignalled:
		var p Signalled
		err := json.Unmarshal(e.Payload, &p)
		return because(fmt.Sprintf("signalled %s (%.2g)", p.Type, p.Confidence), p.reason()), err
	case TypeCallDecided:
		var p Decided
		err := json.Unmarshal(e.Payload, &p)
		return because(p.words(), p.Reason), err
	case TypeCallEnded:
		var p CallResult
		err := json.Unmarshal(e.Payload, &p)
		return fmt.Sprintf("call %d %s", p.Call, cmp.Or(callEnds[p.Outcome], string(p.Outcome))), err
	case TypeEnded:
		var p Answered
		err := json.Unmarshal(e.Payload, &p)
		turns := "turns"
		if p.Turns == 1 {
			turns = "turn"
		}
		return because(fmt.Sprintf("%s after %d %s", cmp.Or(ends[p.Outcome], p.Outcome), p.Turns, turns), p.Missing), err
	}
	return e.Type, nil
}

// ends are the outcomes that say too little by themselves.
var ends = map[Outcome]Outcome{OutcomePartial: "answered in part", OutcomeFailed: "failed without an answer"}

// callEnds are the outcomes of calls in words.
var callEnds = map[CallOutcome]string{CallDone: "was carried out", CallUnknown: "was not answered, and may have been carried out"}

// words says what was decided, and by whom.
func (d Decided) words() string {
	verdict := "refused"
	if d.Allowed {
		verdict = "allowed"
	}
	tool := d.Tool
	if d.Server != "" {
		tool += " of " + d.Server
	}
	by := map[DecidedBy]string{ByPerson: "by a person", ByEarlier: "by a person earlier", ByList: "by the list of allowed tools", ByNobody: "since nobody could be asked"}[d.By]
	return fmt.Sprintf("call %d, %s, was %s %s", d.Call, tool, verdict, cmp.Or(by, string(d.By)))
}

// reason is the field that says most about the signal.
func (s Signalled) reason() string {
	said := work.Said{Fields: s.Fields}
	return cmp.Or(said.Field("blocker"), said.Field("capability"), said.Field("missing"), said.Field("reason"))
}

// because adds the first line of a text to a sentence, if there is one.
func because(sentence, text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if text == "" {
		return sentence
	}
	return sentence + ": " + text
}
