package delivery_test

import (
	"errors"
	"testing"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// A step is recorded once, and a call of a session whose word does not count any more is refused: nobody would have it.
func TestStepped(t *testing.T) {
	s := prepared(t, "T-1")
	session := s.session("T-1").ID
	call := delivery.Stepped{Session: session, Report: 7, Step: delivery.Step{Call: &delivery.ToolCall{Call: 1, Turn: 1, Tool: "look"}}}
	for _, want := range []int{1, 0} {
		if writes, err := s.run.Decide(call, s.now); err != nil || len(writes) != want {
			t.Fatalf("%+v, %v; want %d", writes, err, want)
		}
		s.take(call)
	}
	s.play("say T-1 READY_FOR_REVIEW: T-1")
	call.Report = 8
	result := delivery.Stepped{Session: session, Report: 9, Step: delivery.Step{Result: &delivery.ToolResult{Call: 1, Tool: "look"}}}
	if _, err := s.run.Decide(call, s.now); !errors.Is(err, delivery.ErrSessionOver) {
		t.Errorf("a call of a session that is over: %v", err)
	}
	call.Session, result.Session = "nobody", "nobody"
	if _, err := s.run.Decide(call, s.now); !errors.Is(err, delivery.ErrSessionOver) {
		t.Errorf("a call of nobody's: %v", err)
	}
	if writes, err := s.run.Decide(result, s.now); err != nil || len(writes) != 0 {
		t.Errorf("a result of nobody's: %+v, %v", writes, err)
	}
}

func TestStepCheck(t *testing.T) {
	signal := &delivery.ModelSignal{Turn: 1, Signal: agentsig.KindNeedTurn, Confidence: 1}
	call, result := &delivery.ToolCall{Call: 1, Tool: "look"}, &delivery.ToolResult{Call: 1, Tool: "look"}
	for _, good := range []delivery.Step{{Signal: signal}, {Call: call}, {Result: result}} {
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []delivery.Step{
		{}, {Signal: signal, Call: call}, {Call: call, Result: result},
		{Signal: &delivery.ModelSignal{Turn: 1, Signal: agentsig.KindExpertAdvice}}, {Signal: &delivery.ModelSignal{Signal: agentsig.KindNeedTurn}},
		{Signal: &delivery.ModelSignal{Turn: 1, Signal: agentsig.KindNeedTurn, Confidence: 1.5}},
		{Call: &delivery.ToolCall{Tool: "look"}}, {Call: &delivery.ToolCall{Call: 1}}, {Result: &delivery.ToolResult{Call: 1}},
		{Result: &delivery.ToolResult{Call: 1, Tool: "look", Bytes: -1}},
	} {
		if err := bad.Check(); !errors.Is(err, delivery.ErrBadStep) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
