package agentsig

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
)

// Signal is one signal, whatever dialect it was written in.
type Signal struct {
	Kind    Kind
	Name    string // the project's own name that it was said by; empty if it was said by its kind's
	Subject string // the task, request, name or path that the signal is about; empty where it has none
	Run     string // the nonce it carries, if any
	Note    string // what follows the id on the line of a line signal
	Payload string // the text below a line signal, until the next signal or the end; 64 KiB at most

	exit       *ExitSignal
	reflection *Reflection
}

// Dialect returns the dialect that the signal's kind belongs to.
func (s Signal) Dialect() Dialect {
	if e := entryOf(s.Kind); e != nil {
		return e.Dialect
	}
	return ""
}

// Terminal reports whether the signal ends a session or a turn.
func (s Signal) Terminal() bool {
	e := entryOf(s.Kind)
	return e != nil && e.Terminal
}

// Action returns what is to be done next.
func (s Signal) Action() Action {
	if s.exit != nil && s.exit.ExitReason != ExitCompleted {
		return "MARK_WORK_BLOCKED"
	}
	if e := entryOf(s.Kind); e != nil {
		return e.Action
	}
	return RequestClarification
}

// Exit returns the exit record that the signal is, and false for other kinds.
func (s Signal) Exit() (ExitSignal, bool) {
	if s.exit == nil {
		return ExitSignal{}, false
	}
	return *s.exit, true
}

// Reflection returns the self-reflection signal that the signal is, and false
// for other kinds.
func (s Signal) Reflection() (Reflection, bool) {
	if s.reflection == nil {
		return Reflection{}, false
	}
	return *s.reflection, true
}

// Fields returns what the signal carries: the payload's "Key: value" lines,
// the child elements of an XML signal with its confidence, or the members of
// an exit record.
func (s Signal) Fields() Fields {
	switch {
	case s.exit != nil:
		return s.exit.fields()
	case s.reflection != nil:
		return s.reflection.allFields()
	}
	return payloadFields(s.Payload)
}

// same reports whether saying both is saying one thing: the same signal again,
// or a line signal and the exit record that means the same.
func (s Signal) same(t Signal) bool {
	switch {
	case s.exit != nil && t.exit != nil:
		return *s.exit == *t.exit
	case s.exit != nil:
		return t.means(s.exit)
	case t.exit != nil:
		return s.means(t.exit)
	}
	return s.Kind == t.Kind && s.Subject == t.Subject
}

func (s Signal) means(x *ExitSignal) bool {
	e := entryOf(s.Kind)
	if e == nil || e.handover.From != x.PhaseCompleted || e.handover.To != "" {
		return false
	}
	return (e.handover.Reason == ExitCompleted) == (x.ExitReason == ExitCompleted)
}

// Field is one named value of a signal. Value is a string, a []string, an int
// or a float64.
type Field struct {
	Name  string
	Value any
}

// Fields are the values of a signal, in the order they came.
type Fields []Field

// Get returns the value of a field, and false if there is none of that name.
func (f Fields) Get(name string) (any, bool) {
	for _, x := range f {
		if x.Name == name {
			return x.Value, true
		}
	}
	return nil, false
}

// Text returns a field's text, or "" if there is no such field or it is no text.
func (f Fields) Text(name string) string {
	v, _ := f.Get(name)
	s, _ := v.(string)
	return s
}

// List returns a field's list. A text is a list of one.
func (f Fields) List(name string) []string {
	v, _ := f.Get(name)
	switch v := v.(type) {
	case []string:
		return v
	case string:
		return []string{v}
	}
	return nil
}

func (f Fields) number(name string) int {
	v, _ := f.Get(name)
	n, _ := v.(int)
	return n
}

// MarshalJSON writes the fields as an object, in their order.
func (f Fields) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range f {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(x.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(x.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Span says where something stands in a transcript, so that a record of it can
// be held against the transcript later.
type Span struct {
	Offset int64             // in bytes, from the start of all that was written to the scanner
	Length int64             // in bytes
	SHA256 [sha256.Size]byte // of those bytes
	Line   int               // the line it starts on, from 1
}

// Outcome says what a finding is.
type Outcome string

// The outcomes.
const (
	// Accepted is a signal that counts.
	Accepted Outcome = "signal"
	// NearMiss is what would be a signal but for one rule; see [Reason].
	NearMiss Outcome = "near_miss"
	// Rejected is a record that was addressed to the listener and is refused:
	// an invalid exit record, or a signal with a wrong nonce.
	Rejected Outcome = "rejected"
)

// Finding is a signal, or something that was nearly one.
type Finding struct {
	Outcome Outcome
	Dialect Dialect
	Signal  Signal // of a near miss or a rejection only as much as could be read
	Reason  Reason // empty for a signal
	Err     error  // why it does not count; nil for a signal
	LeftOut error  // of a signal: which field of an exit record does not count, and why; the record stands without it
	Span    Span   // of the signal itself, without its payload
}

// Reason is the rule that a near miss or a rejection broke.
type Reason string

// The reasons. [Reason.Hint] says what to do about each.
const (
	ReasonFenced        Reason = "fenced"
	ReasonQuoted        Reason = "quoted"
	ReasonIndented      Reason = "indented"
	ReasonBold          Reason = "bold"
	ReasonInlineCode    Reason = "inline_code"
	ReasonMidLine       Reason = "mid_line"
	ReasonDelegation    Reason = "delegation_prompt"
	ReasonInsideSignal  Reason = "inside_signal"
	ReasonToolText      Reason = "tool_text"
	ReasonEchoedPrompt  Reason = "echoed_prompt"
	ReasonCase          Reason = "case"
	ReasonANSI          Reason = "ansi"
	ReasonLookAlike     Reason = "look_alike"
	ReasonInvisible     Reason = "invisible"
	ReasonMalformed     Reason = "malformed"
	ReasonMissingID     Reason = "missing_id"
	ReasonBadID         Reason = "bad_id"
	ReasonWrongID       Reason = "wrong_id"
	ReasonWrongRole     Reason = "wrong_role"
	ReasonExtraText     Reason = "extra_text"
	ReasonTooLong       Reason = "too_long"
	ReasonMissingNonce  Reason = "missing_nonce"
	ReasonWrongNonce    Reason = "wrong_nonce"
	ReasonUnclosed      Reason = "unclosed"
	ReasonUnopened      Reason = "unopened"
	ReasonUnknownType   Reason = "unknown_type"
	ReasonInvalidField  Reason = "invalid_field"
	ReasonNested        Reason = "nested"
	ReasonFurtherSignal Reason = "further_signal"
	ReasonInvalidRecord Reason = "invalid_record"
	ReasonMissingRecord Reason = "missing_record"
	ReasonWrongPhase    Reason = "wrong_phase"
)

// Reasons lists every reason.
func Reasons() []Reason {
	all := make([]Reason, len(reasons))
	for i, r := range reasons {
		all[i] = r.reason
	}
	return all
}

// Hint says in words, for a person or an agent, what was wrong and what to do.
func (r Reason) Hint() string {
	for _, x := range reasons {
		if x.reason == r {
			return x.hint
		}
	}
	return string(r)
}

var reasons = []struct {
	reason Reason
	hint   string
}{
	{ReasonFenced, "it stands inside a code fence; write it outside, at the start of a line"},
	{ReasonQuoted, "it stands in a block quote; write it without the >"},
	{ReasonIndented, "it is indented; start it at the first column"},
	{ReasonBold, "it is set in bold or italics; write it without * and _"},
	{ReasonInlineCode, "it stands in inline code; write it without backticks"},
	{ReasonMidLine, "something stands before it on its line; a signal starts its line"},
	{ReasonDelegation, "it stands inside a delegation prompt; write it after " + delegationEnd},
	{ReasonInsideSignal, "it stands inside another signal; write it before or after that one"},
	{ReasonToolText, "it stands in a tool's result; only what the agent itself says counts"},
	{ReasonEchoedPrompt, "it stands in the echoed prompt; only what the agent itself says counts"},
	{ReasonCase, "upper and lower case matter; write it exactly as in the instructions"},
	{ReasonANSI, "it contains terminal escapes; write plain text"},
	{ReasonLookAlike, "it contains look-alike characters; write plain ASCII"},
	{ReasonInvisible, "it contains invisible characters; write plain ASCII"},
	{ReasonMalformed, "it is not written in the exact form"},
	{ReasonMissingID, "the id is missing; put it on the same line, after the colon"},
	{ReasonBadID, "the id is not one; " + idForm},
	{ReasonWrongID, "it names another id than the one this agent was assigned"},
	{ReasonWrongRole, "this role may not say it"},
	{ReasonExtraText, "nothing may follow it on its line; details go on the lines below"},
	{ReasonTooLong, "it is too long"},
	{ReasonMissingNonce, "it lacks this session's run=<nonce>; an exit record has it on the line directly before, EXIT: run=<nonce>"},
	{ReasonWrongNonce, "it carries another session's nonce"},
	{ReasonUnclosed, "the tag is not closed; end it with </signal>"},
	{ReasonUnopened, "the closing tag has no <signal> before it"},
	{ReasonUnknownType, "there is no signal of this type"},
	{ReasonInvalidField, "a required field is missing or has the wrong size"},
	{ReasonNested, "another <signal> opens inside it; close the first one"},
	{ReasonFurtherSignal, "a reply has one signal, and the first one counts"},
	{ReasonInvalidRecord, "it is not a valid exit record"},
	{ReasonMissingRecord, "no exit record stands directly below it; start the record at the first column of the next line"},
	{ReasonWrongPhase, "the session does not hold this phase"},
}
