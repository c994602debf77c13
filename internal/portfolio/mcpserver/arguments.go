package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/portfolio"
	"github.com/signalbox-dev/signalbox/safetext"
)

// arguments are what a call was given, read by the tool's schema. Each method reads one argument;
// one that is missing or null has its default. What is wrong is kept, and all of it is said
// at once, so that an agent can mend it in one go.
type arguments struct {
	schema schema
	values map[string]json.RawMessage
	wrong  []string
}

func readArguments(raw json.RawMessage, s schema) *arguments {
	a := &arguments{schema: s}
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	if json.Unmarshal(raw, &a.values) != nil {
		a.say("the arguments are a JSON object, not %s", shown(raw))
		return a
	}
	maps.DeleteFunc(a.values, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	a.sayUnknown()
	for _, name := range s.Required {
		if _, given := a.values[name]; !given {
			a.say("the argument %s is missing", name)
		}
	}
	return a
}

// sayUnknown names the arguments that the tool does not have, a few of them at most: there is no
// limit to what an agent makes up.
func (a *arguments) sayUnknown() {
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
	if len(unknown) > 0 {
		a.say("there is no argument %s, only %s", enumerated(unknown, "or"), enumerated(slices.Sorted(maps.Keys(a.schema.Properties)), "and"))
	}
}

func (a *arguments) say(format string, of ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, of...))
}

// problem is all that is wrong with the arguments, or nil.
func (a *arguments) problem() error {
	if len(a.wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(a.wrong, "; "))
}

func (a *arguments) text(name string) (s string) {
	raw, given := a.values[name]
	if given && json.Unmarshal(raw, &s) != nil {
		a.say("%s is a string, not %s", name, shown(raw))
	}
	return s
}

// choice is one of the values that the schema allows. What is wrong reads as the default, so that
// the error has a format to come in.
func (a *arguments) choice(name string) string {
	allowed := a.schema.Properties[name]
	raw, given := a.values[name]
	if !given {
		return allowed.Default
	}
	var s string
	if json.Unmarshal(raw, &s) != nil || !slices.Contains(allowed.Enum, s) {
		a.say("%s is %s, not %s", name, enumerated(allowed.Enum, "or"), shown(raw))
		return allowed.Default
	}
	return s
}

func (a *arguments) date(name string) portfolio.Date {
	raw, given := a.values[name]
	if !given {
		return portfolio.Date{}
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		a.say("%s is a string such as \"2026-01-31\", not %s", name, shown(raw))
		return portfolio.Date{}
	}
	day, err := portfolio.ParseDate(s)
	if err != nil {
		a.say("%s: %v", name, err)
	}
	return day
}

// number reads the digits as they were sent, so that nothing is rounded on the way.
func (a *arguments) number(name string) *portfolio.Decimal {
	raw, given := a.values[name]
	if !given {
		return nil
	}
	if c := raw[0]; c != '-' && (c < '0' || c > '9') {
		a.say("%s is a number, not %s", name, shown(raw))
		return nil
	}
	n, err := portfolio.ParseDecimal(string(raw))
	if err != nil {
		a.say("%s is a number in plain digits, such as 1250.5: %v", name, err)
		return nil
	}
	allowed := a.schema.Properties[name]
	if allowed.ExclusiveMinimum != nil && n.Cmp(portfolio.NewDecimal(int64(*allowed.ExclusiveMinimum), 0)) <= 0 {
		a.say("%s is more than %d, not %s", name, *allowed.ExclusiveMinimum, n)
		return nil
	}
	if allowed.Minimum != nil && n.Cmp(portfolio.NewDecimal(int64(*allowed.Minimum), 0)) < 0 {
		a.say("%s is at least %d, not %s", name, *allowed.Minimum, n)
		return nil
	}
	return &n
}

// shown is the beginning of a value, safe to print.
func shown(raw json.RawMessage) string {
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
