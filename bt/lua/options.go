package lua

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/bt"
)

// options are a constructor's settings. What nobody takes is unknown.
type options struct {
	*constructor
	fields map[string]any
	taken  []string
}

func (o *options) take(name string) any {
	o.taken = append(o.taken, name)
	return o.fields[name]
}

func (o *options) has(name string) bool { return o.fields[name] != nil }

// done says which settings there are not.
func (o *options) done() {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		if !slices.Contains(o.taken, name) {
			slices.Sort(o.taken)
			o.wrong("BT.%s has no setting %q: it has %s", o.word, name, strings.Join(o.taken, ", "))
		}
	}
}

// as takes a setting of a type; one that is not there is the type's zero.
func as[T any](o *options, name, what string) T {
	var none T
	switch v := o.take(name).(type) {
	case nil:
		return none
	case T:
		return v
	default:
		o.wrong("%s is %s, and not %s", name, what, kindOf(v))
		return none
	}
}

func (o *options) text(name string) string { return as[string](o, name, "a text") }

func (o *options) flag(name string) bool { return as[bool](o, name, "true or false") }

// needed takes a text that must be there.
func (o *options) needed(name, what string) string {
	v := o.text(name)
	if v == "" && (!o.has(name) || o.fields[name] == "") {
		o.wrong("it needs %s, %s", name, what)
	}
	return v
}

// whole takes a whole number from 0.
func (o *options) whole(name string) int {
	v := o.take(name)
	n, ok := v.(int)
	if x, isFloat := v.(float64); isFloat && x == float64(int(x)) {
		n, ok = int(x), true
	}
	switch {
	case v == nil:
		return 0
	case !ok || n < 0 || n > 1e9:
		o.wrong("%s is a whole number from 0, and not %s", name, kindOf(v))
		return 0
	}
	return n
}

// seconds takes a time of more than 0.
func (o *options) seconds(name string) time.Duration {
	v := o.take(name)
	x, ok := v.(float64)
	if n, isInt := v.(int); isInt {
		x, ok = float64(n), true
	}
	switch {
	case v == nil:
		return 0
	case !ok:
		o.wrong("%s is a number of seconds, and not %s", name, kindOf(v))
	case x <= 0 || x > maxTime.Seconds():
		o.wrong("%s is a time of more than 0 and at most %d seconds, and not %v", name, int(maxTime.Seconds()), x)
	default:
		return max(time.Duration(x*float64(time.Second)), 1)
	}
	return 0
}

// money takes an amount of more than 0, in millionths.
func (o *options) money(name string) int64 {
	const unit, most = 1e6, 1e9
	v := o.take(name)
	x, ok := v.(float64)
	if n, isInt := v.(int); isInt {
		x, ok = float64(n), true
	}
	switch {
	case v == nil:
		return 0
	case !ok || x <= 0 || x > most:
		o.wrong("%s is a number of more than 0 and at most %d, and not %s", name, int(most), kindOf(v))
		return 0
	}
	return max(int64(math.Round(x*unit)), 1)
}

// texts takes a list of texts.
func (o *options) texts(name string) []string {
	var all []string
	for i, v := range as[[]any](o, name, "a list") {
		text, ok := v.(string)
		if !ok {
			o.wrong("%s: element %d is a text, and not %s", name, i+1, kindOf(v))
			continue
		}
		all = append(all, text)
	}
	return all
}

// args takes values by name.
func (o *options) args(name string) map[string]any {
	if list, ok := o.fields[name].([]any); ok && len(list) == 0 {
		o.take(name)
		return nil
	}
	return as[map[string]any](o, name, "a table of named values")
}

// names takes texts by name.
func (o *options) names(name string) map[string]string {
	values := o.args(name)
	if len(values) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[key].(string)
		if !ok {
			o.wrong("%s: %s is a text, and not %s", name, key, kindOf(values[key]))
		}
		all[key] = text
	}
	return all
}

// kindOf says what a value is, in words.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case bool:
		return fmt.Sprint(v)
	case int, float64:
		return fmt.Sprintf("the number %v", v)
	case string:
		return fmt.Sprintf("the text %.40q", v)
	case []any:
		return "a list"
	case *bt.Node:
		return "a node"
	case *bt.Case:
		return "a case of a switch"
	case *bt.Tree:
		return "a tree"
	case *bt.Subtree:
		return "what defines a subtree; BT.subtree with its name alone uses it"
	}
	return "a table"
}
