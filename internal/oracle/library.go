package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/lua"
	"github.com/signalbox-dev/signalbox/bt/signals"
)

// library is what a tree's nodes can be made of. The names are those that trees use,
// whatever they put before them.
func (q *query) library() bt.Library { return restored(q.leaves()) }

func (q *query) leaves() bt.Library {
	library := q.turns.Library()
	maps.Copy(library.Functions, q.functions())
	maps.Copy(library.Keys, bt.Schema{
		keyQuestion: "string", keyClass: "string", keyPrompt: "string", keyToolResults: "list",
		keyTurn: "int", keyLastTurn: "bool", keyOutcome: "string", keyMissing: "string", keyFallback: "string",
	})
	library.LLM, library.Tool, library.Script = q.askModel, q.callTool, lua.Script
	return library
}

// functions are those of the oracle alone.
func (q *query) functions() map[string]bt.Leaf {
	reset := append(slices.Collect(maps.Keys(signals.Schema())), keyToolResults, keyTurn, keyLastTurn, keyOutcome, keyMissing, keyFallback)
	return map[string]bt.Leaf{
		"oracle.reset_state":       bt.Func(q.resetState).Using(nil, reset),
		"oracle.classify_question": bt.Func(q.classifyQuestion).Using(nil, []string{keyClass}),
		"oracle.compose_prompt":    bt.Func(q.composePrompt, "without").Using([]string{keyClass}, []string{keyPrompt}).Checked(oneOf("without", false, alwaysPrompts)),
		"oracle.build_llm_request": bt.Func(q.buildRequest, "max_turns", "max_tokens").Using(nil, []string{keyTurn, keyLastTurn, keyMissing}).Checked(numbers("max_turns", "max_tokens")),
		"oracle.is_last_turn":      bt.Func(isLastTurn).Using([]string{keyLastTurn}, nil),
		"oracle.has_tool_calls":    bt.Func(q.hasToolCalls),
		"oracle.await_approval":    q.awaitApproval(),
		"oracle.run_tools":         q.runTools().Using(nil, []string{keyToolResults}),
		"oracle.first_time":        bt.Func(q.firstTime, "what"),
		"oracle.tell":              bt.Func(q.tell, "text"),
		"oracle.finish": bt.Func(q.finish, "outcome", "missing").Using([]string{keyLastSignal, keyMissing}, []string{keyOutcome, keyMissing}).
			Checked(oneOf("outcome", true, []string{string(Answered), string(Partial), string(Stuck), string(Failed)})),
		"oracle.is_finished":   bt.Func(isFinished).Using([]string{keyOutcome}, nil),
		"oracle.loop_detected": bt.Func(q.loopDetected).Using([]string{keyLastSignal, signals.KeySameReason}, nil),
		"oracle.noop":          bt.Func(func(*bt.Context) bt.Status { return bt.Success }),

		"fallback.choose": bt.Func(q.chooseFallback).
			Using([]string{keyToolResults, signals.KeySilent, keyLastSignal}, []string{keyFallback, keyMissing}),
		"fallback.is": bt.Func(fallbackIs, "verdict").Using([]string{keyFallback}, nil).
			Checked(oneOf("verdict", true, []string{string(escalate), string(takeAnswer), string(takePart), string(giveHint), string(justContinue)})),
	}
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
