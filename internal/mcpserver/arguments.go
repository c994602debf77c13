package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/safetext"
)

// Arguments are what a call was given, read by the tool's schema. Each method reads one argument;
// one that is missing or null has its default. What is wrong is kept, and all of it is said
// at once, so that an agent can mend it in one go.
type Arguments struct {
	schema Schema
	values map[string]json.RawMessage
	wrong  []string
}

// ReadArguments reads what a call was given. Methods read one argument each, and [Arguments.Problem] tells what is wrong.
func ReadArguments(raw json.RawMessage, s Schema) *Arguments {
	a := &Arguments{schema: s}
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	if json.Unmarshal(raw, &a.values) != nil {
		a.Say("the arguments are a JSON object, not %s", Shown(raw))
		return a
	}
	maps.DeleteFunc(a.values, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	a.sayUnknown()
	for _, name := range s.Required {
		if _, given := a.values[name]; !given {
			a.Say("the argument %s is missing", name)
		}
	}
	return a
}

// sayUnknown names the arguments that the tool does not have, a few of them at most: there is no
// limit to what an agent makes up.
func (a *Arguments) sayUnknown() {
	const most = 3
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(a.values)) {
		if _, known := a.schema.Properties[name]; !known {
			unknown = append(unknown, fmt.Sprintf("%.40q", name))
		}
	}
	if more := len(unknown) - most; more > 0 {
		unknown = append(unknown[:most], fmt.Sprintf("%d more", more))
	}
	switch {
	case len(unknown) == 0:
	case len(a.schema.Properties) == 0:
		a.Say("there is no argument %s: it takes none", enumerated(unknown, "or"))
	default:
		a.Say("there is no argument %s, only %s", enumerated(unknown, "or"), enumerated(slices.Sorted(maps.Keys(a.schema.Properties)), "and"))
	}
}

// Say keeps something that is wrong with the arguments.
func (a *Arguments) Say(format string, of ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, of...))
}

// Problem is all that is wrong with the arguments, or nil.
func (a *Arguments) Problem() error {
	if len(a.wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(a.wrong, "; "))
}

// Value is an argument as it was sent; false if it is missing or null.
func (a *Arguments) Value(name string) (json.RawMessage, bool) {
	raw, given := a.values[name]
	return raw, given
}

// Property is what the schema says of an argument.
func (a *Arguments) Property(name string) Property { return a.schema.Properties[name] }

// Text is a string; empty if it is missing.
func (a *Arguments) Text(name string) (s string) {
	raw, given := a.values[name]
	if given && json.Unmarshal(raw, &s) != nil {
		a.Say("%s is a string, not %s", name, Shown(raw))
	}
	return s
}

// Integer is a whole number; the one that is given here if it is missing.
func (a *Arguments) Integer(name string, missing int64) int64 {
	raw, given := a.values[name]
	if !given {
		return missing
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	allowed := a.schema.Properties[name]
	switch {
	case err != nil:
		a.Say("%s is a whole number, not %s", name, Shown(raw))
	case allowed.Minimum != nil && n < int64(*allowed.Minimum):
		a.Say("%s is at least %d, not %d", name, *allowed.Minimum, n)
	case allowed.Maximum != nil && n > int64(*allowed.Maximum):
		a.Say("%s is at most %d, not %d", name, *allowed.Maximum, n)
	default:
		return n
	}
	return missing
}

// Flag is true or false; false if it is missing.
func (a *Arguments) Flag(name string) (on bool) {
	raw, given := a.values[name]
	if given && json.Unmarshal(raw, &on) != nil {
		a.Say("%s is true or false, not %s", name, Shown(raw))
	}
	return on
}

// Choice is one of the values that the schema allows. What is wrong reads as the default, so that
// the error has a format to come in.
func (a *Arguments) Choice(name string) string {
	allowed := a.schema.Properties[name]
	raw, given := a.values[name]
	if !given {
		return allowed.Default
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || !slices.Contains(allowed.Enum, s) {
		a.Say("%s is %s, not %s", name, enumerated(allowed.Enum, "or"), Shown(raw))
		return allowed.Default
	}
	return s
}

// Shown is the beginning of a value, safe to print.
func Shown(raw json.RawMessage) string {
	const most = 40
	if len(raw) > most {
		return safetext.Escape(string(raw[:most])) + "…"
	}
	return safetext.Escape(string(raw))
}

// enumerated is the names in a sentence: a, b and c. There is at least one.
func enumerated(names []string, conjunction string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}
