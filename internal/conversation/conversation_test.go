package conversation_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/conversation"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
	"github.com/signalbox-dev/signalbox/safetext"
)

const subject = "01JD0000000000000000000001"

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// do decides a command on the conversation and records the event, as the ledger would.
func do(t *testing.T, c conversation.Conversation, command conversation.Command) conversation.Conversation {
	t.Helper()
	decided, err := conversation.Decide(c, command)
	if err != nil {
		t.Fatalf("%#v: %v", command, err)
	}
	if got := command.Events(); !cmp.Equal(got, []string{decided.Type}) {
		t.Errorf("%#v leads to %s, and says %q", command, decided.Type, got)
	}
	e, stored := record(t, c, decided)
	next, err := conversation.Fold(c, c.Seq+1, e, stored)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func record(t *testing.T, c conversation.Conversation, decided work.Event) (ledger.Event, []byte) {
	t.Helper()
	payload, err := json.Marshal(decided.Payload)
	if err != nil {
		t.Fatal(err)
	}
	e := ledger.Event{
		Format: ledger.Format, Epoch: 1, Subject: subject, ItemSeq: c.Tip.ItemSeq + 1, Prev: c.Tip.Sum,
		Type: decided.Type, Actor: decided.Actor, Key: decided.Key, Time: noon, Payload: payload,
	}
	stored, err := e.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return e, stored
}

func ask(question string) conversation.Ask {
	return conversation.Ask{Actor: work.OperatorActor, Asked: conversation.Asked{ID: "Q-00001", Question: question, Class: "code", Provider: "p", Model: "m"}, Key: "ask"}
}

// signal is a valid signal, changed.
func signal(change func(*conversation.Signal)) conversation.Signal {
	s := conversation.Signal{Signalled: conversation.Signalled{
		Turn: 1, Type: agentsig.KindNeedTurn, Confidence: 0.8, RawXML: "<signal/>", At: noon,
		Fields: []work.Field{{Name: "reason", Value: "to read more"}, {Name: "expected_turns", Value: 2}, {Name: "list", Value: []string{"a"}}},
	}}
	if change != nil {
		change(&s)
	}
	return s
}

// decided is the first call, allowed by a person, changed.
func decided(change func(*conversation.DecideCall)) conversation.DecideCall {
	d := conversation.DecideCall{Actor: work.OperatorActor, Decided: conversation.Decided{
		Call: 1, Turn: 1, Tool: "write_note", Server: "notes", Arguments: `{"text":"x"}`, Allowed: true, By: conversation.ByPerson,
	}}
	if change != nil {
		change(&d)
	}
	return d
}

func ended(call int, outcome conversation.CallOutcome) conversation.EndCall {
	return conversation.EndCall{CallResult: conversation.CallResult{Call: call, Outcome: outcome, Bytes: 3}}
}

func answer(change func(*conversation.Answer)) conversation.Answer {
	a := conversation.Answer{Answered: conversation.Answered{Outcome: conversation.OutcomeAnswered, Turns: 2, Signals: 1, TokensIn: 100, TokensOut: 20}}
	if change != nil {
		change(&a)
	}
	return a
}

func TestConversation(t *testing.T) {
	c := do(t, conversation.Conversation{}, ask("why?"))
	if c.ID != "Q-00001" || c.Subject != subject || c.Ended() {
		t.Fatalf("asked: %+v", c)
	}
	c = do(t, c, signal(func(s *conversation.Signal) { s.Key = "first" }))
	c = do(t, c, signal(nil))
	if c.Signals != 2 || c.Seq != 3 || c.Ended() || !cmp.Equal(c.Recorded("first"), []uint64{2}) || c.Recorded("second") != nil {
		t.Fatalf("signalled: %+v", c)
	}
	for _, outcome := range []conversation.Outcome{
		conversation.OutcomeAnswered, conversation.OutcomePartial, conversation.OutcomeStuck, conversation.OutcomeFailed, conversation.OutcomeCancelled,
	} {
		over := do(t, c, answer(func(a *conversation.Answer) { a.Outcome = outcome }))
		if !over.Ended() || over.Outcome != outcome || over.Signals != 2 {
			t.Errorf("ended: %+v", over)
		}
		for _, late := range []conversation.Command{signal(nil), decided(nil), ended(1, conversation.CallDone), answer(nil)} {
			if e, err := conversation.Decide(over, late); !errors.Is(err, conversation.ErrEnded) || e.Type != "" {
				t.Errorf("%s, then %T: %+v, %v", outcome, late, e, err)
			}
		}
	}
}

// Calls are decided in their order; those that were allowed end, each once.
func TestCalls(t *testing.T) {
	c := do(t, conversation.Conversation{}, ask("why?"))
	c = do(t, c, decided(nil))
	c = do(t, c, decided(func(d *conversation.DecideCall) { d.Call, d.Allowed, d.By = 2, false, conversation.ByNobody }))
	c = do(t, c, decided(func(d *conversation.DecideCall) { d.Call, d.By = 3, conversation.ByEarlier }))
	c = do(t, c, decided(func(d *conversation.DecideCall) { d.Call, d.Allowed, d.By = 4, false, conversation.ByPerson }))
	c = do(t, c, decided(func(d *conversation.DecideCall) { d.Call, d.By = 5, conversation.ByList }))
	if c.Calls != 5 || c.Running != 3 {
		t.Fatalf("decided: %+v", c)
	}
	c = do(t, c, ended(5, conversation.CallUnknown))
	c = do(t, c, ended(1, conversation.CallDone))
	c = do(t, c, ended(3, conversation.CallFailed))
	if c.Running != 0 {
		t.Fatalf("ended: %+v", c)
	}
	if e, err := conversation.Decide(c, ended(5, conversation.CallDone)); !errors.Is(err, conversation.ErrBadCall) {
		t.Errorf("%+v, %v", e, err)
	}
	for by, actor := range map[conversation.DecidedBy]string{conversation.ByPerson: work.OperatorActor, conversation.ByNobody: conversation.OracleActor} {
		e, err := conversation.Decide(c, decided(func(d *conversation.DecideCall) { d.Call, d.Allowed, d.By = 6, false, by }))
		if err != nil || e.Actor != actor {
			t.Errorf("refused by %s: %+v, %v", by, e, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	var none conversation.Conversation
	open := do(t, none, ask("why?"))
	allowed := do(t, open, decided(nil))
	named := func(change func(*conversation.Ask)) conversation.Ask {
		a := ask("why?")
		change(&a)
		return a
	}
	for _, c := range []struct {
		name string
		of   conversation.Conversation
		do   conversation.Command
		want error
	}{
		{"asked twice", open, ask("why?"), conversation.ErrExists},
		{"a signal of nothing", none, signal(nil), conversation.ErrNoConversation},
		{"an end of nothing", none, answer(nil), conversation.ErrNoConversation},
		{"bad id", none, named(func(a *conversation.Ask) { a.ID = "../x" }), work.ErrBadID},
		{"no question", none, ask(" \n"), conversation.ErrEmptyQuestion},
		{"long question", none, ask(strings.Repeat("a", 128<<10+1)), work.ErrTooLong},
		{"long class", none, named(func(a *conversation.Ask) { a.Class = strings.Repeat("a", 257) }), work.ErrTooLong},
		{"long provider", none, named(func(a *conversation.Ask) { a.Provider = strings.Repeat("a", 257) }), work.ErrTooLong},
		{"long model", none, named(func(a *conversation.Ask) { a.Model = strings.Repeat("a", 257) }), work.ErrTooLong},
		{"turn 0", open, signal(func(s *conversation.Signal) { s.Turn = 0 }), conversation.ErrBadTurn},
		{"unknown type", open, signal(func(s *conversation.Signal) { s.Type = "happy" }), conversation.ErrBadType},
		{"a signal of an agent", open, signal(func(s *conversation.Signal) { s.Type = agentsig.KindReviewPassed }), conversation.ErrBadType},
		{"too sure", open, signal(func(s *conversation.Signal) { s.Confidence = 1.01 }), conversation.ErrBadConfidence},
		{"less than unsure", open, signal(func(s *conversation.Signal) { s.Confidence = -0.01 }), conversation.ErrBadConfidence},
		{"no number", open, signal(func(s *conversation.Signal) { s.Confidence = math.NaN() }), conversation.ErrBadConfidence},
		{"no time", open, signal(func(s *conversation.Signal) { s.At = time.Time{} }), conversation.ErrBadTime},
		{"a time that can't be written", open, signal(func(s *conversation.Signal) { s.At = noon.AddDate(8000, 0, 0) }), conversation.ErrBadTime},
		{"a field with members", open, signal(func(s *conversation.Signal) { s.Fields[0].Value = map[string]any{"blob": "x"} }), conversation.ErrBadField},
		{"a field that is empty", open, signal(func(s *conversation.Signal) { s.Fields[0].Value = nil }), conversation.ErrBadField},
		{"a fraction", open, signal(func(s *conversation.Signal) { s.Fields[0].Value = 0.5 }), conversation.ErrBadField},
		{"no outcome", open, answer(func(a *conversation.Answer) { a.Outcome = "" }), conversation.ErrBadOutcome},
		{"unknown outcome", open, answer(func(a *conversation.Answer) { a.Outcome = "won" }), conversation.ErrBadOutcome},
		{"a call of nothing", none, decided(nil), conversation.ErrNoConversation},
		{"a call out of order", open, decided(func(d *conversation.DecideCall) { d.Call = 2 }), conversation.ErrBadCall},
		{"a call again", allowed, decided(nil), conversation.ErrBadCall},
		{"a call in no turn", open, decided(func(d *conversation.DecideCall) { d.Turn = 0 }), conversation.ErrBadTurn},
		{"a call of no tool", open, decided(func(d *conversation.DecideCall) { d.Tool = "" }), conversation.ErrBadCall},
		{"a call of a long tool", open, decided(func(d *conversation.DecideCall) { d.Tool = strings.Repeat("a", 257) }), work.ErrTooLong},
		{"a call of a long server", open, decided(func(d *conversation.DecideCall) { d.Server = strings.Repeat("a", 257) }), work.ErrTooLong},
		{"allowed by nobody", open, decided(func(d *conversation.DecideCall) { d.By = conversation.ByNobody }), conversation.ErrBadDecision},
		{"allowed by the model", open, decided(func(d *conversation.DecideCall) { d.By = "model" }), conversation.ErrBadDecision},
		{"an end of a call of nothing", none, ended(1, conversation.CallDone), conversation.ErrNoConversation},
		{"an end of no call", open, ended(1, conversation.CallDone), conversation.ErrBadCall},
		{"an end of the call 0", allowed, ended(0, conversation.CallDone), conversation.ErrBadCall},
		{"an end of the next call", allowed, ended(2, conversation.CallDone), conversation.ErrBadCall},
		{"a call that ends well", allowed, ended(1, "well"), conversation.ErrBadCallOutcome},
		{"a result of less than nothing", allowed, conversation.EndCall{CallResult: conversation.CallResult{Call: 1, Outcome: conversation.CallDone, Bytes: -1}}, conversation.ErrBadCount},
		{"turns", open, answer(func(a *conversation.Answer) { a.Turns = -1 }), conversation.ErrBadCount},
		{"signals", open, answer(func(a *conversation.Answer) { a.Signals = -1 }), conversation.ErrBadCount},
		{"tokens in", open, answer(func(a *conversation.Answer) { a.TokensIn = -1 }), conversation.ErrBadCount},
		{"tokens out", open, answer(func(a *conversation.Answer) { a.TokensOut = -1 }), conversation.ErrBadCount},
	} {
		t.Run(c.name, func(t *testing.T) {
			if e, err := conversation.Decide(c.of, c.do); !errors.Is(err, c.want) || e.Type != "" {
				t.Errorf("%+v, %v, want %v", e, err, c.want)
			}
		})
	}
}

// What the ledger has is folded only in its order, and only if it can be read.
func TestFoldRefuses(t *testing.T) {
	c := do(t, conversation.Conversation{}, ask("why?"))
	next, err := conversation.Decide(c, signal(nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*work.Event, *conversation.Conversation){
		"an event of an unknown type": func(e *work.Event, _ *conversation.Conversation) { e.Type = "model_laughed" },
		"an event that can't be read": func(e *work.Event, _ *conversation.Conversation) {
			e.Type, e.Payload = conversation.TypeEnded, 1
		},
		"a beginning that can't be read":    func(e *work.Event, _ *conversation.Conversation) { e.Type, e.Payload = conversation.TypeStarted, 1 },
		"a decision that can't be read":     func(e *work.Event, _ *conversation.Conversation) { e.Type, e.Payload = conversation.TypeCallDecided, 1 },
		"an event that follows another":     func(_ *work.Event, c *conversation.Conversation) { c.Tip.Sum[0] ^= 1 },
		"an event that is not next to come": func(_ *work.Event, c *conversation.Conversation) { c.Tip.ItemSeq++ },
	} {
		e, before := next, c
		change(&e, &before)
		event, stored := record(t, before, e)
		if after, err := conversation.Fold(c, 2, event, stored); err == nil || after != c {
			t.Errorf("%s is folded: %+v", name, after)
		}
	}
}

func TestWords(t *testing.T) {
	said := map[string]bool{}
	for _, c := range []struct {
		kind    string
		payload any
		want    string
	}{
		{conversation.TypeStarted, conversation.Asked{Question: "\n why \x1b[31mred?\nmore"}, `Q-00001: asked: why \x1b[31mred?`},
		{conversation.TypeSignalled, signal(nil).Signalled, "Q-00001: signalled need_turn (0.8): to read more"},
		{conversation.TypeSignalled, conversation.Signalled{Type: agentsig.KindStuck, Confidence: 0.25, Fields: []work.Field{{Name: "blocker", Value: "no files"}}}, "Q-00001: signalled stuck (0.25): no files"},
		{conversation.TypeSignalled, conversation.Signalled{Type: agentsig.KindContextSufficient, Confidence: 1}, "Q-00001: signalled context_sufficient (1)"},
		{conversation.TypeSignalled, conversation.Signalled{Type: agentsig.KindNeedCapability, Confidence: 0.5, Fields: []work.Field{{Name: "capability", Value: "the web"}, {Name: "reason", Value: "old"}}}, "Q-00001: signalled need_capability (0.5): the web"},
		{conversation.TypeCallDecided, decided(nil).Decided, "Q-00001: call 1, write_note of notes, was allowed by a person"},
		{conversation.TypeCallDecided, conversation.Decided{Call: 2, Tool: "rm\u202e", By: conversation.ByNobody, Reason: "there is no terminal"}, `Q-00001: call 2, rm\u202e, was refused since nobody could be asked: there is no terminal`},
		{conversation.TypeCallDecided, conversation.Decided{Call: 3, Tool: "a", Allowed: true, By: conversation.ByEarlier}, "Q-00001: call 3, a, was allowed by a person earlier"},
		{conversation.TypeCallDecided, conversation.Decided{Call: 4, Tool: "a", Allowed: true, By: conversation.ByList}, "Q-00001: call 4, a, was allowed by the list of allowed tools"},
		{conversation.TypeCallEnded, ended(1, conversation.CallDone).CallResult, "Q-00001: call 1 was carried out"},
		{conversation.TypeCallEnded, ended(1, conversation.CallFailed).CallResult, "Q-00001: call 1 failed"},
		{conversation.TypeCallEnded, ended(1, conversation.CallUnknown).CallResult, "Q-00001: call 1 was not answered, and may have been carried out"},
		{conversation.TypeEnded, answer(nil).Answered, "Q-00001: answered after 2 turns"},
		{conversation.TypeEnded, conversation.Answered{Outcome: conversation.OutcomePartial, Turns: 1, Missing: "the rest"}, "Q-00001: answered in part after 1 turn: the rest"},
		{conversation.TypeEnded, conversation.Answered{Outcome: conversation.OutcomeCancelled}, "Q-00001: cancelled after 0 turns"},
		{conversation.TypeEnded, 1, "Q-00001: ConversationEnded that can't be read"},
		{"model_laughed", 1, "Q-00001: model_laughed"},
	} {
		said[c.kind] = true
		data, err := json.Marshal(c.payload)
		if err != nil {
			t.Fatal(err)
		}
		if got := conversation.Words("Q-00001", ledger.Event{Type: c.kind, Payload: data}); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	for _, kind := range conversation.Types() {
		if !said[kind] {
			t.Errorf("%s has no words", kind)
		}
	}
	hostile := strings.Repeat("é\x1b[2J\u202e", 1000)
	data, err := json.Marshal(conversation.Asked{Question: hostile})
	if err != nil {
		t.Fatal(err)
	}
	got := conversation.Words("Q-00001", ledger.Event{Type: conversation.TypeStarted, Payload: data})
	if n := utf8.RuneCountInString(got); n != 160 || safetext.Escape(got) != got {
		t.Errorf("%d characters: %q", n, got)
	}
}
