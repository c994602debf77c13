package oracle

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/bt/signals"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// A tool fails, the model says need_turn, tries another, and answers. Right after the
// need_turn turn the signal is parsed, kept and stripped, and the failure recorded.
func TestToolFailureTriggersNeedTurnSignal(t *testing.T) {
	for _, provider := range providers {
		t.Run(string(provider), func(t *testing.T) { toolFailure(t, provider) })
	}
}

func toolFailure(t *testing.T, provider model.Provider) {
	server := serve(t, `
== auth
asked: ^What does the auth function do
says: Let me search for that function.
calls: search_code {"query": "auth function"}
result: Index not ready
says:
  The search encountered an error. Let me try a different approach.

  <signal type="need_turn">
    <reason>search_code failed, trying vault search instead</reason>
    <confidence>0.8</confidence>
  </signal>
pieces: 1

asked: ^Take the turn you asked for
waits: third
says: I look into the vault.
calls: search_vault {"query": "auth"}
result: auth checks a token
says:
  It checks a token.
  `+enough+`
`)
	s := settings(t, server, provider)
	s.Tools = tools{
		"search_code":  func(string) (string, error) { return "", errors.New("Index not ready") },
		"search_vault": func(string) (string, error) { return "auth checks a token", nil },
	}
	var told story
	s.Subscribe = told.event
	o, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	q, err := o.begin("What does the auth function do?", told.chunk)
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan Answer, 1)
	go func() {
		a, err := q.run(context.Background())
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}()
	<-server.Reached("third")

	last, _ := q.board.Get("last_signal").(map[string]any)
	if last["type"] != "need_turn" || !strings.Contains(signals.Text(last, "reason"), "search_code failed") {
		t.Errorf("last_signal is %v", last)
	}
	for _, key := range []string{"type", "confidence", "fields", "raw_xml", "timestamp"} {
		if last[key] == nil {
			t.Errorf("last_signal has no %s", key)
		}
	}
	emitted, _ := q.board.Get("signals_emitted").([]any)
	if len(emitted) != 1 || emitted[0].(map[string]any)["type"] != "need_turn" {
		t.Errorf("signals_emitted is %v", emitted)
	}
	if content, _ := q.board.Get("accumulated_content").(string); strings.Contains(content, "<signal") ||
		content != "Let me search for that function.\n\nThe search encountered an error. Let me try a different approach." {
		t.Errorf("accumulated_content is %q", content)
	}
	results, _ := q.board.Get("tool_results").([]any)
	if len(results) != 1 || results[0].(map[string]any)["success"] != false {
		t.Errorf("tool_results is %v", results)
	}

	server.Release("third")
	a := <-answered
	want := Answer{Outcome: Answered, Text: "It checks a token.", Class: "code", Turns: 4, Signals: 2, ToolCalls: 2,
		TokensIn: a.TokensIn, TokensOut: a.TokensOut, Sources: []string{"search_vault"}}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	for name, n := range map[string]int{
		"agent.signal.need_turn": 1, "agent.signal.context_sufficient": 1,
		"tool.call.started": 2, "tool.call.failed": 1, "tool.call.succeeded": 1, "fallback.triggered": 0,
	} {
		if got := told.named(name); got != n {
			t.Errorf("%d events %s, want %d", got, name, n)
		}
	}
}
