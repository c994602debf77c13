package agentsig

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Signal returns the exit record as a signal.
func (e ExitSignal) Signal() Signal { return Signal{Kind: KindExit, exit: &e} }

// Signal returns the reflection as a signal.
func (r Reflection) Signal() Signal { return Signal{Kind: r.Type, reflection: &r} }

// Wire writes the signal in its dialect, as an agent would say it. What a
// scanner reads from it is the same signal; where that can't be, because a
// field does not fit the dialect, it returns an error. A name of the project's own
// is left out: the signal is written by its kind's.
func (s Signal) Wire() (string, error) {
	e := entryOf(s.Kind)
	if e == nil {
		return "", fmt.Errorf("there is no signal %s", quote(string(s.Kind)))
	}
	var text string
	var hosts []string
	switch e.Dialect {
	case DialectLine:
		text = s.lineText(e)
	case DialectXML:
		if s.reflection == nil {
			return "", fmt.Errorf("a %s signal is written from a Reflection", s.Kind)
		}
		text = s.reflection.xml(s.Run)
	case DialectExit:
		if s.exit == nil {
			return "", fmt.Errorf("an exit record is written from an ExitSignal")
		}
		data, err := s.exit.JSON()
		if err != nil {
			return "", err
		}
		text = string(data) + "\n"
		if s.Run != "" {
			text = exitLinePrefix + s.Run + "\n" + text
		}
		if u, err := url.Parse(s.exit.PRURL); err == nil {
			hosts = []string{u.Hostname()}
		}
	}
	return text, s.readsBack(text, hosts)
}

// readsBack checks that a scanner reads exactly this signal from the text.
func (s Signal) readsBack(text string, hosts []string) error {
	var read []Signal
	var why error
	scanText(text, Options{Nonce: s.Run, Hosts: hosts}, func(f Finding) {
		if f.Outcome == Accepted {
			read = append(read, f.Signal)
		} else if why == nil {
			why = f.Err
		}
	})
	switch {
	case len(read) == 0 && why != nil:
		return fmt.Errorf("the %s signal can't be written: %w", s.Kind, why)
	case len(read) != 1 || !s.equal(read[0]):
		return fmt.Errorf("the %s signal can't be written so that it reads the same", s.Kind)
	}
	return nil
}

// equal reports whether both say the same, however they were written.
func (s Signal) equal(t Signal) bool {
	if s.Kind != t.Kind || s.Subject != t.Subject || s.Run != t.Run || s.Note != t.Note || s.Payload != t.Payload {
		return false
	}
	if s.reflection != nil && t.reflection != nil {
		a, b := s.reflection, t.reflection
		for _, f := range a.Fields {
			if _, ok := b.Fields.Get(f.Name); !ok && !reflect.ValueOf(f.Value).IsZero() {
				return false
			}
		}
		for _, name := range a.Unknown {
			before, _ := a.Fields.Get(name)
			if after, _ := b.Fields.Get(name); !reflect.DeepEqual(before, after) {
				return false
			}
		}
		return slices.Equal(a.Unknown, b.Unknown) && reflect.DeepEqual(a.View(), b.View()) && a.Confidence == b.Confidence && a.Defaulted == b.Defaulted
	}
	return reflect.DeepEqual(s.Fields(), t.Fields())
}

func (s Signal) lineText(e *Entry) string {
	var b strings.Builder
	b.WriteString(e.Wire)
	if e.Argument != NoArgument {
		b.WriteString(": " + s.Subject)
	}
	if s.Run != "" {
		b.WriteString(" run=" + s.Run)
	}
	if s.Note != "" {
		b.WriteString(" " + s.Note)
	}
	b.WriteString("\n" + s.Payload)
	return b.String()
}

// Payload writes fields as the "Key: value" lines below a line signal.
func (f Fields) Payload() string {
	var b strings.Builder
	for _, x := range f {
		switch v := x.Value.(type) {
		case []string:
			b.WriteString(x.Name + ":\n")
			for _, item := range v {
				b.WriteString("- " + item + "\n")
			}
		default:
			fmt.Fprintf(&b, "%s: %v\n", x.Name, v)
		}
	}
	return b.String()
}

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;")

func (r Reflection) xml(run string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<signal type="%s"`, r.Type)
	if run != "" {
		fmt.Fprintf(&b, ` run="%s"`, xmlEscaper.Replace(run))
	}
	b.WriteString(">\n")
	for _, f := range r.Fields {
		if f.Value == 0 {
			continue // the same as not to say it
		}
		var text string
		switch v := f.Value.(type) {
		case []string:
			data, err := json.Marshal(v)
			if err != nil { // a []string always can be
				continue
			}
			text = string(data)
		default:
			text = fmt.Sprint(v)
		}
		fmt.Fprintf(&b, "  <%s>%s</%s>\n", f.Name, xmlEscaper.Replace(text), f.Name)
	}
	if !r.Defaulted {
		fmt.Fprintf(&b, "  <confidence>%s</confidence>\n", strconv.FormatFloat(r.Confidence, 'g', -1, 64))
	}
	b.WriteString("</signal>\n")
	return b.String()
}

// ParsedSignal is what [ParseSignal] returns: a signal's kind, its task, the
// action that handles it and the text it was found in.
type ParsedSignal struct {
	Signal    Kind   `json:"signal"`
	TaskID    string `json:"task_id,omitempty"`
	Handler   Action `json:"handler"`
	RawOutput string `json:"raw_output"`
}

// ParseSignal finds the one line signal in an agent's output. Output without
// one, or with two that differ, is unknown. It is for callers that want no
// more than that; [Scan] tells why.
func ParseSignal(output string) ParsedSignal {
	var v verdict
	scanText(output, Options{}, func(f Finding) {
		if f.Outcome == Accepted && f.Dialect == DialectLine {
			v.add(f.Signal)
		}
	})
	r := v.result()
	if !r.OK() {
		return ParsedSignal{Signal: KindUnknown, Handler: RequestClarification, RawOutput: output}
	}
	return ParsedSignal{Signal: r.Kind, TaskID: r.Signal.Subject, Handler: r.Action, RawOutput: output}
}
