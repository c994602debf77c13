package oracle

import (
	"github.com/signalbox-dev/signalbox/bt"
	"github.com/signalbox-dev/signalbox/bt/signals"
)

// The keys of the blackboard. All of them are global: they outlive the subtree that sets
// them. Those of signals are package signals' own.
const (
	keyQuestion    = "question"
	keyUser        = "user_id"      // these are there if they are known
	keyProject     = "project_id"   //
	keyContinues   = "continues"    //
	keyHistory     = "history"      // question, answer and cut of each that came before
	keyHistoryLeft = "history_left" // there is more than these
	keyAskedWith   = "_asked_with"  // of a question that is recorded
	keyClass       = "question_class"
	keyPrompt      = "system_prompt"
	keyResponse    = signals.KeyResponse // with tool_calls beside the content
	keyContent     = signals.KeyContent
	keyToolResults = "tool_results"
	keyLastSignal  = signals.KeyLast
	keyTurn        = "turn"
	keyLastTurn    = "last_turn" // this turn's reply has to be the answer
	keyOutcome     = "outcome"
	keyMissing     = "missing"
	keyFallback    = "fallback" // what the fallback table says
)

// resetState begins a question.
func (q *query) resetState(c *bt.Context) bt.Status {
	for key, value := range map[string]any{
		keyResponse: nil, keyContent: "", keyToolResults: []any{}, keyTurn: 0, keyLastTurn: false,
		keyOutcome: "", keyMissing: "", keyFallback: "",
	} {
		c.SetGlobal(key, value)
	}
	return signals.Reset(c)
}

func status(ok bool) bt.Status {
	if ok {
		return bt.Success
	}
	return bt.Failure
}

// toldTurn tells of a turn's signal, or that there is none; subscribers and the ledger are told of
// the signal alone.
func (q *query) toldTurn(t signals.Turn) {
	q.emit(Chunk{Type: Signal, Turn: q.turn, State: &t.State})
	if t.Signal == nil {
		return
	}
	q.event("agent.signal."+string(t.Signal.Type), map[string]any{"confidence": t.Signal.Confidence, "fields": t.Last["fields"]})
	q.signals++
	q.record(Signalled{Turn: q.turn, Signal: *t.Signal})
}
