package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/lua"
)

// library is what a tree's nodes can be made of. The names are those that trees use,
// whatever they put before them.
func (q *query) library() bt.Library {
	signal := []string{keyLastSignal}
	present := []string{keyLastSignal, keyParsed}
	return bt.Library{
		Functions: map[string]bt.Leaf{
			"signals.check_signal":                bt.Func(checkSignal).Using(present, nil),
			"signals.has_signal":                  bt.Func(hasSignal, "signal_type").Using(signal, nil).Checked(oneOf("signal_type", false, kinds())),
			"signals.signal_type_is":              bt.Func(signalTypeIs, "expected_type").Using(signal, nil).Checked(oneOf("expected_type", true, kinds())),
			"signals.signal_confidence_above":     bt.Func(signalConfidenceAbove, "threshold").Using(signal, nil).Checked(numbers("threshold")),
			"signals.consecutive_same_reason_gte": bt.Func(consecutiveSameReasonGte, "count").Using([]string{keySameReason}, nil).Checked(numbers("count")),

			"signal_actions.parse_response_signal": bt.Func(q.parseResponseSignal).
				Using([]string{keyResponse}, []string{keyLastSignal, keyParsed}),
			"signal_actions.update_signal_state": bt.Func(q.updateSignalState).
				Using([]string{keyLastSignal, keyPrevSignal}, []string{keySameReason, keySilent, keySignals}),
			"signal_actions.log_signal": bt.Func(q.logSignal).Using(signal, nil),
			"signal_actions.strip_signal_from_response": bt.Func(q.stripSignalFromResponse).
				Using([]string{keyResponse}, []string{keyContent}),

			"oracle.reset_state": bt.Func(q.resetState).Using(nil, []string{keyResponse, keyContent, keyToolResults,
				keyTurn, keyLastTurn, keyOutcome, keyMissing, keyFallback, keyLastSignal, keyPrevSignal, keySignals, keySameReason, keySilent, keyParsed}),
			"oracle.classify_question": bt.Func(q.classifyQuestion).Using(nil, []string{keyClass}),
			"oracle.compose_prompt":    bt.Func(q.composePrompt, "without").Using([]string{keyClass}, []string{keyPrompt}).Checked(oneOf("without", false, alwaysPrompts)),
			"oracle.build_llm_request": bt.Func(q.buildRequest, "max_turns", "max_tokens").Using(nil, []string{keyTurn, keyLastTurn, keyMissing}).Checked(numbers("max_turns", "max_tokens")),
			"oracle.is_last_turn":      bt.Func(isLastTurn).Using([]string{keyLastTurn}, nil),
			"oracle.has_tool_calls":    bt.Func(q.hasToolCalls),
			"oracle.run_tools":         q.runTools().Using(nil, []string{keyToolResults}),
			"oracle.first_time":        bt.Func(q.firstTime, "what"),
			"oracle.tell":              bt.Func(q.tell, "text"),
			"oracle.finish": bt.Func(q.finish, "outcome", "missing").Using([]string{keyLastSignal, keyMissing}, []string{keyOutcome, keyMissing}).
				Checked(oneOf("outcome", true, []string{string(Answered), string(Partial), string(Stuck), string(Failed)})),
			"oracle.is_finished":   bt.Func(isFinished).Using([]string{keyOutcome}, nil),
			"oracle.loop_detected": bt.Func(q.loopDetected).Using([]string{keyLastSignal, keySameReason}, nil),
			"oracle.noop":          bt.Func(func(*bt.Context) bt.Status { return bt.Success }),

			"fallback.choose": bt.Func(q.chooseFallback).
				Using([]string{keyToolResults, keySilent, keyLastSignal}, []string{keyFallback, keyMissing}),
			"fallback.is": bt.Func(fallbackIs, "verdict").Using([]string{keyFallback}, nil).
				Checked(oneOf("verdict", true, []string{string(escalate), string(takeAnswer), string(takePart), string(giveHint), string(justContinue)})),
		},
		Keys: bt.Schema{
			keyQuestion: "string", keyClass: "string", keyPrompt: "string", keyResponse: "map", keyContent: "string", keyToolResults: "list",
			keyLastSignal: "Signal", keyPrevSignal: "Signal", keySignals: "list", keySameReason: "int", keySilent: "int", keyParsed: "bool",
			keyTurn: "int", keyLastTurn: "bool", keyOutcome: "string", keyMissing: "string", keyFallback: "string",
		},
		Types:  map[string]bt.Type{"Signal": checkSignalType},
		LLM:    q.askModel,
		Tool:   q.callTool,
		Script: lua.Script,
	}
}

// kinds are the types of signals that a model can say.
func kinds() []string {
	var all []string
	for _, e := range agentsig.Vocabulary() {
		if e.Dialect == agentsig.DialectXML {
			all = append(all, string(e.Kind))
		}
	}
	return all
}

// oneOf checks that an argument is one of some words.
func oneOf(name string, needed bool, words []string) func(bt.Args) error {
	return func(args bt.Args) error {
		value, given := args[name]
		if text, ok := value.(string); !given && !needed || ok && slices.Contains(words, text) {
			return nil
		}
		return fmt.Errorf("%s is one of %s", name, strings.Join(words, ", "))
	}
}

// numbers checks that arguments, where they are given, are numbers above 0.
func numbers(names ...string) func(bt.Args) error {
	return func(args bt.Args) error {
		for _, name := range names {
			if _, given := args[name]; given && args.Number(name, 0) <= 0 {
				return fmt.Errorf("%s is a number above 0", name)
			}
		}
		return nil
	}
}
