package signals

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
)

// Library returns the conditions and actions of these turns, and the types of their keys. It is the
// caller's: other functions can be added.
func (t *Turns) Library() bt.Library {
	last := []string{KeyLast}
	present := []string{KeyLast, KeyParsed}
	return bt.Library{
		Functions: map[string]bt.Leaf{
			"signals.check_signal":                bt.Func(CheckSignal).Using(present, nil),
			"signals.has_signal":                  bt.Func(HasSignal, "signal_type").Using(last, nil).Checked(kind("signal_type", false)),
			"signals.signal_type_is":              bt.Func(TypeIs, "expected_type").Using(last, nil).Checked(kind("expected_type", true)),
			"signals.signal_confidence_above":     bt.Func(ConfidenceAbove, "threshold").Using(last, nil).Checked(number("threshold")),
			"signals.consecutive_same_reason_gte": bt.Func(SameReasonGte, "count").Using([]string{KeySameReason}, nil).Checked(number("count")),

			"signal_actions.parse_response_signal": bt.Func(t.Parse).
				Using([]string{KeyResponse}, []string{KeyLast, KeyParsed}),
			"signal_actions.update_signal_state": bt.Func(t.Update).
				Using([]string{KeyLast, KeyPrevious}, []string{KeySameReason, KeySilent, KeyEmitted}),
			"signal_actions.log_signal": bt.Func(t.Log).Using(last, nil),
			"signal_actions.strip_signal_from_response": bt.Func(t.Strip).
				Using([]string{KeyResponse}, []string{KeyContent}),
			"signal_actions.reset_signal_state": bt.Func(Reset).
				Using(nil, []string{KeyLast, KeyPrevious, KeyEmitted, KeySameReason, KeySilent, KeyParsed}),
		},
		Keys:  Schema(),
		Types: map[string]bt.Type{typeSignal: checkSignal},
	}
}

// typeSignal is the type of a key that holds a signal.
const typeSignal = "Signal"

// checkSignal is that type.
func checkSignal(v any) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%T is no signal", v)
	}
	if kind, _ := s["type"].(string); kind == "" {
		return errors.New("a signal has a type")
	}
	return nil
}

// kind checks that an argument is a type of signals that a model can say.
func kind(name string, needed bool) func(bt.Args) error {
	var all []string
	for _, e := range agentsig.Vocabulary() {
		if e.Dialect == agentsig.DialectXML {
			all = append(all, string(e.Kind))
		}
	}
	return func(args bt.Args) error {
		value, given := args[name]
		if text, ok := value.(string); !given && !needed || ok && slices.Contains(all, text) {
			return nil
		}
		return fmt.Errorf("%s is one of %s", name, strings.Join(all, ", "))
	}
}

// number checks that an argument, if it is given, is a number above 0.
func number(name string) func(bt.Args) error {
	return func(args bt.Args) error {
		if _, given := args[name]; given && args.Number(name, 0) <= 0 {
			return fmt.Errorf("%s is a number above 0", name)
		}
		return nil
	}
}
