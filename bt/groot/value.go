package groot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
)

// Key returns the key of a blackboard that an argument names in braces, as "{goal}".
func Key(argument string) (key string, ok bool) {
	if len(argument) < 3 || argument[0] != '{' || argument[len(argument)-1] != '}' {
		return "", false
	}
	return argument[1 : len(argument)-1], true
}

// sameName reports whether an attribute's value is BehaviorTree.CPP's short form for the key that has the
// attribute's own name.
func sameName(value string) bool { return value == "{=}" || value == "=" }

// keyOf returns the key that an attribute names, also by the short form.
func keyOf(a attribute) (key string, ok bool) {
	if sameName(a.value) {
		return a.name, true
	}
	return Key(a.value)
}

// noKey says why a key called "=" can't be written.
const noKey = `a key can't be called "=" in a file: that stands for the attribute's name`

// inJSON is what stands before a value in JSON.
const inJSON = "json:"

// port is an argument's name that can be an attribute's.
var port = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// valueOf reads an attribute.
func valueOf(text string) (any, error) {
	switch {
	case strings.HasPrefix(text, inJSON):
		return bt.ParseValue([]byte(text[len(inJSON):]))
	case text == "true" || text == "false":
		return text == "true", nil
	case text != "" && (text[0] == '-' || '0' <= text[0] && text[0] <= '9'):
		if v, err := bt.ParseValue([]byte(text)); err == nil {
			return v, nil
		}
	}
	return text, nil
}

// textOf writes a value so that valueOf reads it.
func textOf(v any) (string, error) {
	if text, ok := v.(string); ok && storable(text) && !sameName(text) {
		if again, err := valueOf(text); err == nil && again == v {
			return text, nil
		}
	}
	data, err := bt.FormatValue(v)
	if err != nil {
		return "", err
	}
	switch v.(type) {
	case bool, int, float64:
		return string(data), nil
	}
	return inJSON + string(data), nil
}

// fields reads and writes the attributes of a node. When it writes, the values are those
// of the node; when it reads, the node's become those of the attributes.
type fields struct {
	element  *element
	reads    bool
	problem  error
	declared []string
}

func (f *fields) fail(name, format string, args ...any) {
	if f.problem == nil {
		f.problem = fmt.Errorf("%s of <%s>: %s", name, f.element.name, fmt.Sprintf(format, args...))
	}
}

// text is a field that may be missing.
func (f *fields) text(name string, value *string) {
	f.declared = append(f.declared, name)
	if f.reads {
		*value, _ = f.element.take(name)
	} else if *value != "" {
		f.element.set(name, *value)
	}
}

// key is a field with a key of the blackboard.
func (f *fields) key(name string, value *string) {
	braced := ""
	if *value != "" {
		braced = "{" + *value + "}"
	}
	if sameName(braced) {
		f.fail(name, noKey)
	}
	if f.text(name, &braced); f.reads && braced != "" {
		var ok bool
		if *value, ok = keyOf(attribute{name, braced}); !ok {
			f.fail(name, "%.80q is no key of a blackboard in braces", braced)
		}
	}
}

// number is a field that is 0 if it is missing.
func (f *fields) number(name string, value *int) {
	text := ""
	if *value != 0 {
		text = strconv.Itoa(*value)
	}
	if f.text(name, &text); f.reads && text != "" {
		var err error
		if *value, err = strconv.Atoi(text); err != nil {
			f.fail(name, "%.80q is no whole number", text)
		}
	}
}

func (f *fields) duration(name string, value *time.Duration) {
	text := ""
	if *value != 0 {
		text = value.String()
	}
	if f.text(name, &text); f.reads && text != "" {
		var err error
		if *value, err = time.ParseDuration(text); err != nil {
			f.fail(name, "%.80q is no duration such as 1m30s", text)
		}
	}
}

// msec is a duration in whole milliseconds, which has to be there.
func (f *fields) msec(name string, value *time.Duration) {
	n := int(value.Milliseconds())
	if f.number(name, &n); f.reads {
		if n <= 0 || int64(n) > math.MaxInt64/int64(time.Millisecond) {
			f.fail(name, "there is no time of more than 0")
		}
		*value = time.Duration(n) * time.Millisecond
	}
}

func (f *fields) flag(name string, value *bool) {
	text := ""
	if *value {
		text = "true"
	}
	if f.text(name, &text); f.reads {
		*value = text == "true"
		if text != "" && text != "true" && text != "false" {
			f.fail(name, "%.80q is neither true nor false", text)
		}
	}
}

func (f *fields) status(name string, value *bt.Status) {
	text := value.String()
	if f.text(name, &text); f.reads {
		if err := value.UnmarshalText([]byte(text)); err != nil {
			f.fail(name, "%v", err)
		}
	}
}

// json is a field with a value in JSON.
func (f *fields) json(name string, value any, empty bool) {
	text := ""
	if !empty && !f.reads {
		data, err := json.Marshal(value)
		if err != nil || bytes.Contains(data, []byte(noUTF8)) {
			f.fail(name, "it can't be written: %v", err)
		}
		text = string(data)
	}
	if f.text(name, &text); f.reads && text != "" {
		if err := json.Unmarshal([]byte(text), value); err != nil {
			f.fail(name, "%v", err)
		}
	}
}

// noUTF8 is what JSON has in place of bytes that are no UTF-8.
const noUTF8 = `\ufffd`

// value is a field with a value of a blackboard.
func (f *fields) value(name string, v *any) {
	text, err := "", error(nil)
	if !f.reads {
		text, err = textOf(*v)
		f.element.set(name, text)
	} else {
		text, _ = f.element.take(name)
		*v, err = valueOf(text)
	}
	if err != nil {
		f.fail(name, "%v", err)
	}
}

// values is a field with several of them, in JSON.
func (f *fields) values(name string, values *[]any) {
	all := any(*values)
	if f.value(name, &all); f.reads {
		list, ok := all.([]any)
		if !ok {
			f.fail(name, "it is no list in JSON")
		}
		*values = list
	}
	f.declared = append(f.declared, name)
}

// args is a field with bound arguments.
func (f *fields) args(name string, args *bt.Args) {
	text := ""
	if len(*args) > 0 && !f.reads {
		data, err := bt.FormatValue(map[string]any(*args))
		if err != nil {
			f.fail(name, "%v", err)
		}
		text = string(data)
	}
	if f.text(name, &text); f.reads && text != "" {
		v, err := bt.ParseValue([]byte(text))
		values, ok := v.(map[string]any)
		if err != nil || !ok {
			f.fail(name, "%.80q is no object in JSON", text)
		}
		*args = values
	}
}
