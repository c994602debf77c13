package delivery

import (
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/english"
)

// Step is what the model of an expert did that asks one: exactly one of its parts is there.
type Step struct {
	Signal *ModelSignal `json:"signal,omitempty"`
	Call   *ToolCall    `json:"call,omitempty"`
	Result *ToolResult  `json:"result,omitempty"`
}

// ModelSignal is what a model says of its own turn.
type ModelSignal struct {
	Turn       int           `json:"turn"` // of the model, from 1
	Signal     agentsig.Kind `json:"signal"`
	Confidence float64       `json:"confidence"`
	Text       string        `json:"text,omitempty"` // its fields, a line each
}

// ToolCall is a tool that is about to be called: it is not before this is recorded.
type ToolCall struct {
	Call      int    `json:"call"` // from 1, in the order of the session's
	Turn      int    `json:"turn"` // of the model
	Tool      string `json:"tool"`
	Arguments string `json:"arguments,omitempty"` // JSON, or its beginning
	Changes   bool   `json:"changes,omitempty"`   // its server does not say that it changes nothing
}

// ToolResult is what came of a call.
type ToolResult struct {
	Call   int    `json:"call"`
	Tool   string `json:"tool"`
	Failed bool   `json:"failed,omitempty"`
	Text   string `json:"text,omitempty"` // why it failed
	Bytes  int    `json:"bytes"`          // of what it gave
	SHA256 string `json:"sha256,omitempty"`
}

// ErrBadStep refuses a step that no model can have done.
var ErrBadStep = errors.New("a step is one signal of a model, one call of a tool or its result")

// ErrSessionOver refuses a call of a session whose word does not count any more: it would not be recorded.
var ErrSessionOver = errors.New("the session is over, and calls nothing any more")

// Check says whether the step has its form.
func (s Step) Check() error {
	parts := 0
	bad := false
	if m := s.Signal; m != nil {
		parts++
		entry, known := agentsig.Lookup(m.Signal)
		bad = !known || entry.Dialect != agentsig.DialectXML || m.Turn < 1 || !(m.Confidence >= 0 && m.Confidence <= 1)
	}
	if c := s.Call; c != nil {
		parts++
		bad = bad || c.Call < 1 || c.Turn < 0 || c.Tool == "" || len(c.Tool) > maxName
	}
	if c := s.Result; c != nil {
		parts++
		bad = bad || c.Call < 1 || c.Bytes < 0 || c.Tool == "" || len(c.Tool) > maxName || len(c.SHA256) > maxName
	}
	if bad || parts != 1 {
		return ErrBadStep
	}
	return nil
}

// Map returns the step with its texts put through a function.
func (s Step) Map(text func(string) string) Step {
	switch {
	case s.Signal != nil:
		m := *s.Signal
		m.Text = text(m.Text)
		s.Signal = &m
	case s.Call != nil:
		c := *s.Call
		c.Tool, c.Arguments = text(c.Tool), text(c.Arguments)
		s.Call = &c
	case s.Result != nil:
		c := *s.Result
		c.Tool, c.Text = text(c.Tool), text(c.Text)
		s.Result = &c
	}
	return s
}

// About is whom a step belongs to.
type About struct {
	Report  int    `json:"report"`
	Task    string `json:"task,omitempty"`
	Request string `json:"request,omitempty"` // that the expert is to answer
}

// Signalled is the payload of ModelSignalled.
type Signalled struct {
	About
	ModelSignal
}

// Called is the payload of ToolCalled.
type Called struct {
	About
	ToolCall
}

// Returned is the payload of ToolReturned.
type Returned struct {
	About
	ToolResult
}

// Stepped says what the model of a session's expert did.
type Stepped struct {
	Session string
	Report  int
	Step    Step
}

func (in Stepped) decide(r *Run, _ time.Time) ([]Write, error) {
	s := r.Sessions[in.Session]
	switch {
	case in.Step.Call != nil && (s == nil || s.Over != ""):
		return nil, ErrSessionOver
	case s == nil || in.Report <= s.Noted:
		return nil, nil
	}
	if err := in.Step.Check(); err != nil {
		return nil, err
	}
	about, step := About{in.Report, s.Task, s.Request}, in.Step.Map(cut)
	switch {
	case step.Signal != nil:
		return []Write{r.event(ModelSignalled, s.ID, Signalled{about, *step.Signal})}, nil
	case step.Call != nil:
		return []Write{r.event(ToolCalled, s.ID, Called{about, *step.Call})}, nil
	}
	return []Write{r.event(ToolReturned, s.ID, Returned{about, *step.Result})}, nil
}

// stepped notes that a step is recorded.
func (r *Run) stepped(session string, about About) {
	if s := r.Sessions[session]; s != nil {
		s.Noted = about.Report
	}
}

// asker is whose model it is, in words.
func (a About) asker() string { return orSome(a.Request, "the model") }

func (p Called) words() string {
	sentence := fmt.Sprintf("%s calls %s", p.asker(), p.Tool)
	if p.Changes {
		sentence += ", which may change something"
	}
	return because(sentence, p.Arguments)
}

func (p Returned) words() string {
	if p.Failed {
		return because(fmt.Sprintf("%s: %s failed", p.asker(), p.Tool), p.Text)
	}
	return fmt.Sprintf("%s: %s gave %s", p.asker(), p.Tool, english.Count(p.Bytes, "byte"))
}
