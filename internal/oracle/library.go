package oracle

import (
	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/lua"
)

// library is what a tree's nodes can be made of. The names are those that trees use,
// whatever they put before them.
func (q *query) library() bt.Library {
	signal := []string{keyLastSignal}
	return bt.Library{
		Functions: map[string]bt.Leaf{
			"signals.check_signal":                bt.Func(checkSignal).Using(signal, nil),
			"signals.has_signal":                  bt.Func(hasSignal, "signal_type").Using(signal, nil),
			"signals.signal_type_is":              bt.Func(signalTypeIs, "expected_type").Using(signal, nil),
			"signals.signal_confidence_above":     bt.Func(signalConfidenceAbove, "threshold").Using(signal, nil),
			"signals.consecutive_same_reason_gte": bt.Func(consecutiveSameReasonGte, "count").Using([]string{keySameReason}, nil),

			"signal_actions.parse_response_signal": bt.Func(q.parseResponseSignal).
				Using([]string{keyResponse}, []string{keyLastSignal, keyParsed}),
			"signal_actions.update_signal_state": bt.Func(q.updateSignalState).
				Using([]string{keyLastSignal, keyPrevSignal}, []string{keySameReason, keySilent, keySignals}),
			"signal_actions.log_signal": bt.Func(q.logSignal).Using(signal, nil),
			"signal_actions.strip_signal_from_response": bt.Func(q.stripSignalFromResponse).
				Using([]string{keyResponse}, []string{keyContent}),

			"oracle.reset_state": bt.Func(q.resetState).Using(nil, []string{keyResponse, keyContent, keyToolResults,
				keyTurn, keyLastTurn, keyOutcome, keyMissing, keyFallback, keyLastSignal, keyPrevSignal, keySignals, keySameReason, keySilent, keyParsed}),
			"oracle.classify_question": bt.Func(q.classifyQuestion).Using([]string{keyQuestion}, []string{keyClass}),
			"oracle.compose_prompt":    bt.Func(q.composePrompt).Using([]string{keyClass}, []string{keyPrompt}),
			"oracle.build_llm_request": bt.Func(q.buildRequest, "max_turns", "max_tokens").Using([]string{keyTurn}, []string{keyTurn, keyLastTurn}),
			"oracle.is_last_turn":      bt.Func(isLastTurn).Using([]string{keyLastTurn}, nil),
			"oracle.has_tool_calls":    bt.Func(q.hasToolCalls),
			"oracle.run_tools":         q.runTools().Using(nil, []string{keyToolResults}),
			"oracle.first_time":        bt.Func(q.firstTime, "what"),
			"oracle.tell":              bt.Func(q.tell, "text").Using(signal, nil),
			"oracle.finish":            bt.Func(q.finish, "outcome", "missing").Using(signal, []string{keyOutcome, keyMissing}),
			"oracle.is_finished":       bt.Func(isFinished).Using([]string{keyOutcome}, nil),
			"oracle.loop_detected":     bt.Func(q.loopDetected).Using([]string{keySameReason}, nil),
			"oracle.noop":              bt.Func(func(*bt.Context) bt.Status { return bt.Success }),

			"fallback.choose": bt.Func(q.chooseFallback).
				Using([]string{keyQuestion, keyContent, keyToolResults, keySilent, keyLastSignal}, []string{keyFallback, keyMissing}),
			"fallback.is": bt.Func(fallbackIs, "verdict").Using([]string{keyFallback}, nil),
		},
		Types:  map[string]bt.Type{"Signal": checkSignalType},
		LLM:    q.askModel,
		Tool:   q.callTool,
		Script: lua.Script,
	}
}
