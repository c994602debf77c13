package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// The same replies and the same time give the same run: ticks, chunks, events, byte for
// byte, whoever the provider is.
func TestDeterminism(t *testing.T) {
	text := script("== it\n" + asksWhat + looks +
		"says: I look on.\ncalls: break {\"n\": 1}\ncalls: search {\"q\": \"b\"}\ncalls: search {\"q\": \"c\"}\nresult:\n" +
		"says: A {need 0.9: one look}\n" + goesOn + "says: Hm.\n" + goOn + "says: B {need 0.4: two looks}\n" + doubts +
		"says: C {stuck 0.9: the index is gone}\n" + another + "says: <signal>\n" + goOn + "says: D {lack 0.9: three looks}\n" + lacks + "says: E {part 0.9: the rest}")
	var first string
	for i := range 4 {
		provider := providers[i%2]
		run := tells(t, text, provider)
		if first == "" {
			first = run
		}
		if diff := cmp.Diff(first, run); diff != "" {
			t.Fatalf("run %d, %s (-first +now):\n%s", i+1, provider, diff)
		}
	}
	for _, want := range []string{"tick 1 at 0s\n", "llm_call ask-model SUCCESS", "action run-tools RUNNING", "chunk {\"type\":\"done\"", "event {\"event\":\"fallback.triggered\""} {
		if !strings.Contains(first, want) {
			t.Errorf("the run has no %q:\n%s", want, first)
		}
	}
}

// tells is all that a run tells.
func tells(t *testing.T, text string, provider model.Provider) string {
	s := settings(t, serve(t, text), provider)
	s.Tools = tools{
		"search": func(string) (string, error) { return "found", nil },
		"break":  func(string) (string, error) { return "", errors.New("out of order") },
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s.Clock = func() time.Time { return at }
	var trace, chunks, events strings.Builder
	s.Trace = func(text []byte) { trace.Write(text) }
	line := func(b *strings.Builder, kind string, v any) {
		out, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(b, "%s %s\n", kind, out)
	}
	s.Subscribe = func(e Event) { line(&events, "event", e) }
	o, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Ask(context.Background(), longQuestion, func(c Chunk) { line(&chunks, "chunk", c) }); err != nil {
		t.Fatal(err)
	}
	return trace.String() + chunks.String() + events.String()
}
