package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/conversation"
)

// What a client says of a conversation goes to its own address, with a key.
func TestConversation(t *testing.T) {
	var got map[string]any
	var path, key string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, key, got = r.Method+" "+r.URL.EscapedPath(), r.Header.Get(api.KeyHeader), nil
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, `{"id":"Q-00001","subject":"S","event":"e","work":"Q-00001","sequence":7}`)
	})
	check := func(wantPath string, want map[string]any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" || path != wantPath || key == "" {
			t.Errorf("%s with the key %q: %v %s", path, key, err, diff)
		}
	}
	begun, err := c.Ask(t.Context(), api.NewKey(), api.Ask{Question: "why?", Class: "code", Provider: "p", Model: "m", Continues: "Q-00000", UserID: "ann", ProjectID: "silver"})
	check("POST /v1/conversations", map[string]any{
		"question": "why?", "class": "code", "provider": "p", "model": "m", "continues": "Q-00000", "user_id": "ann", "project_id": "silver",
	}, err)
	if want := (api.Conversation{ID: "Q-00001", Subject: "S"}); begun != want {
		t.Errorf("%+v", begun)
	}
	r := agentsig.Reflection{
		Type: agentsig.KindNeedTurn, Confidence: 0.5, Defaulted: true, Fields: agentsig.Fields{{Name: "reason", Value: "more"}, {Name: "expected_turns", Value: 2}},
		RawXML: "<signal/>", Timestamp: time.Unix(0, 0).UTC(),
	}
	recorded, err := c.Signalled(t.Context(), api.NewKey(), "Q/1", api.NewSignalled(3, r))
	check("POST /v1/conversations/Q%2F1/signals", map[string]any{
		"turn": 3.0, "type": "need_turn", "confidence": 0.5, "defaulted": true, "raw_xml": "<signal/>", "at": "1970-01-01T00:00:00Z",
		"fields": []any{map[string]any{"name": "reason", "value": "more"}, map[string]any{"name": "expected_turns", "value": 2.0}},
	}, err)
	if want := (api.Recorded{Event: "e", Work: "Q-00001", Sequence: 7}); recorded != want {
		t.Errorf("%+v", recorded)
	}
	_, err = c.CallDecided(t.Context(), api.NewKey(), "Q-00001", api.CallDecided{Call: 1, Turn: 2, Tool: "write", Server: "notes", Arguments: "{}", Allowed: true, By: conversation.ByPerson})
	check("POST /v1/conversations/Q-00001/calls", map[string]any{
		"call": 1.0, "turn": 2.0, "tool": "write", "server": "notes", "arguments": "{}", "allowed": true, "by": "person"}, err)
	_, err = c.CallEnded(t.Context(), api.NewKey(), "Q-00001", api.CallEnded{Call: 1, Outcome: conversation.CallDone, Bytes: 5})
	check("POST /v1/conversations/Q-00001/results", map[string]any{"call": 1.0, "outcome": "done", "bytes": 5.0}, err)
	text := ""
	_, err = c.Answered(t.Context(), api.NewKey(), "Q-00001", api.Answered{Outcome: conversation.OutcomePartial, Turns: 3, Signals: 1, TokensIn: 10, TokensOut: 20, Missing: "tests", Text: &text})
	check("POST /v1/conversations/Q-00001/end", map[string]any{
		"outcome": "partial", "turns": 3.0, "signals": 1.0, "tokens_in": 10.0, "tokens_out": 20.0, "missing": "tests", "text": "",
	}, err)
}
