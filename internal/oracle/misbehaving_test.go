package oracle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// A misbehaviour is a model that does not do what it should, and how that ends.
type misbehaviour struct {
	name     string
	question string // a long one if empty
	script   string
	tree     []string
	requests int
	outcome  Outcome
	text     string
	missing  string // a part of it
	errors   string // a part of what error chunks say, or none if empty
	check    func(t *testing.T, q *query, a Answer, told *story, server *modeltest.Server)
}

// misbehave has every model asked by both providers' forms. However it ends, it ends soon,
// with an answer that says what is missing, and leaves nothing behind.
func misbehave(t *testing.T, all []misbehaviour) {
	for i, m := range all {
		for j, provider := range providers {
			t.Run(m.name+"/"+string(provider), func(t *testing.T) {
				if testing.Short() && (i+j)%len(providers) != 0 {
					t.Skip("it is tried with one provider with -short")
				}
				if testing.Short() && m.requests > 3 {
					t.Skip("it waits before each request that it makes again; not with -short")
				}
				m.try(t, provider)
			})
		}
	}
}

func (m misbehaviour) try(t *testing.T, provider model.Provider) {
	if m.question == "" {
		m.question = longQuestion
	}
	server, over := overSoon(t, script("== it\n"+m.script))
	s := settings(t, server, provider)
	if m.tree != nil {
		s.Tree = hasty(t, m.tree...)
	}
	s.Tools = tools{
		"search": func(string) (string, error) { return "found", nil },
		"break":  func(string) (string, error) { return "", errors.New("out of order") },
		"panic":  func(string) (string, error) { panic("out of its mind") },
		"flood":  func(string) (string, error) { return strings.Repeat("0123456789", 100_000), nil },
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	q, a, told := answered(ctx, t, s, m.question)
	over()
	if a.Outcome != m.outcome || a.Text != m.text || !strings.Contains(a.Missing, m.missing) {
		t.Errorf("%s: %q, missing %q; want %s: %q, missing %q", a.Outcome, a.Text, a.Missing, m.outcome, m.text, m.missing)
	}
	if n := len(server.Requests()); n != m.requests {
		t.Errorf("%d requests, want %d", n, m.requests)
	}
	if got := told.of(Error); !strings.Contains(got, m.errors) || m.errors == "" && got != "" {
		t.Errorf("errors: %q, want %q", got, m.errors)
	}
	for _, text := range []string{a.Missing, told.of(System), told.of(Error)} {
		if strings.ContainsAny(text, "\x1b\x07") {
			t.Errorf("%q has terminal escapes", text)
		}
	}
	if m.check != nil {
		m.check(t, q, a, told, server)
	}
}

// overSoon serves a script and returns what is to be called when the question has ended: no
// request comes after it, and nothing is left running when the test ends.
func overSoon(t *testing.T, text string) (*modeltest.Server, func()) {
	asked := -1
	var server *modeltest.Server
	t.Cleanup(func() {
		goleak.VerifyNone(t)
		if asked >= 0 && len(server.Requests()) != asked {
			t.Errorf("%d requests after the end", len(server.Requests())-asked)
		}
	})
	server = serve(t, text)
	return server, func() { asked = len(server.Requests()) }
}

// calls are replies that call a tool, so many.
func calls(tool string, n int, arguments func(int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "calls: %s %s\nresult:\n", tool, arguments(i))
	}
	return b.String()
}

func TestModelThatDoesNotAnswer(t *testing.T) {
	different := func(i int) string { return fmt.Sprintf(`{"n": %d}`, i) }
	var looping strings.Builder // every third call is told to be a loop
	for i := range 10 {
		looping.WriteString(map[bool]string{true: asksWhat, false: "asked: ^You have called break\n"}[i == 0])
		looping.WriteString(strings.TrimSuffix(calls("break", 3, func(int) string { return "{}" }), "result:\n"))
	}
	misbehave(t, []misbehaviour{
		{
			name: "loops", script: "asked: .\nsays: A {need 0.9: one more look}",
			requests: 4, outcome: Stuck, text: "A", missing: "one more look",
		}, {
			name: "loops over two reasons", script: strings.Repeat("asked: .\nsays: A {need 0.9: one more look}\nasked: .\nsays: B {need 0.9: another look}\n", 15),
			requests: 30, outcome: Partial, text: "B", missing: "the budget of 30 turns is spent",
		}, {
			name: "loops, doubting", script: "asked: .\nsays: A {need 0.4: one more look}",
			requests: 4, outcome: Stuck, text: "A", missing: "one more look",
		}, {
			name: "loops over what it lacks", script: "asked: .\nsays: A {lack 0.9: it shows at run time}",
			requests: 30, outcome: Partial, text: "A", missing: "it shows at run time; the budget of 30 turns is spent",
		}, {
			name: "is silent", script: "asked: .\nthinks: Hm.",
			requests: 4, outcome: Failed, missing: "the model said nothing in 4 turns",
		}, {
			name: "is silent, short question", question: "What does it do?", script: "asked: .\nthinks: Hm.",
			requests: 4, outcome: Failed, missing: "the model said nothing in 4 turns",
		}, {
			name: "always says stuck", script: "asked: .\nsays: A {stuck 0.9: the index is gone}",
			requests: 2, outcome: Stuck, text: "A", missing: "the model is stuck: the index is gone",
		}, {
			name: "says nothing but stuck", script: "asked: .\nsays: {stuck 0: the index is gone}",
			requests: 2, outcome: Stuck, missing: "the model is stuck: the index is gone",
		}, {
			name: "returns malformed signals", script: "asked: .\nsays: A <signal type=\"need_turn\"><reason></reason></signal> <signal type=done> <signal",
			requests: 2, outcome: Partial, text: "A", missing: "what the model signals about its reply can't be read",
		}, {
			name: "returns nothing but malformed signals", script: "asked: .\nsays: <signal type=\"need_turn\"><reason>never closed",
			requests: 4, outcome: Failed, missing: "the model said nothing in 4 turns",
		}, {
			name: "calls a failing tool for ever", script: asksWhat + calls("break", 29, different) + "calls: break {}\n" + lastTurn + "calls: break {}",
			requests: 30, outcome: Failed, missing: "the model said nothing in 30 turns; the budget of 30 turns is spent",
			check: func(t *testing.T, _ *query, a Answer, told *story, _ *modeltest.Server) {
				if a.ToolCalls != 29 || told.named("tool.call.failed") != 29 || told.named(loop) != 0 {
					t.Errorf("%d calls, events %s", a.ToolCalls, told.names())
				}
			},
		}, {
			name: "makes the same failing call for ever", script: looping.String() + lastTurn + "says: I give up.",
			requests: 30, outcome: Partial, text: "I give up.", missing: "the budget of 30 turns is spent",
			check: func(t *testing.T, _ *query, a Answer, told *story, _ *modeltest.Server) {
				if a.ToolCalls != 29 || told.named(loop) != 9 {
					t.Errorf("%d calls, events %s", a.ToolCalls, told.names())
				}
			},
		},
	})
}

func TestModelThatCanNotBeReached(t *testing.T) {
	refused := func(status int, message string) misbehaviour {
		return misbehaviour{
			name: fmt.Sprint(status, " always: one request, and no other"), script: fmt.Sprintf("asked: .\nfails: %d %s", status, message),
			requests: 1, outcome: Failed, missing: message, errors: fmt.Sprintf("answers %d", status),
		}
	}
	misbehave(t, []misbehaviour{
		{
			name: "breaks the stream always", script: asksWhat + "says: Half of it\nbreaks:",
			requests: 4, outcome: Failed, missing: "the reply", errors: "try again later",
			check: func(t *testing.T, _ *query, _ Answer, told *story, _ *modeltest.Server) {
				if got := told.text(); got != "Half of it" {
					t.Errorf("shown: %q", got)
				}
				if got := strings.Count(told.of(Error), "try again later"); got != 4 {
					t.Errorf("the person is told of %d failures: %q", got, told.of(Error))
				}
				if got := told.of(System); !strings.HasPrefix(got, "Trying again in 10ms (1 of 3).Trying again in 20ms (2 of 3).Trying again in 40ms (3 of 3).There is no answer") {
					t.Errorf("the person is told %q", got)
				}
			},
		}, {
			name: "breaks the stream in a signal", script: asksWhat + "says: Half <signal type=\"need_turn\"><reas\nbreaks:\nsays: It checks. {enough 0.9}",
			requests: 2, outcome: Answered, text: "It checks.", errors: "the reply",
		}, {
			name: "breaks the stream once", script: asksWhat + "says: It che\nbreaks:\nsays: It checks. {enough 0.9}",
			requests: 2, outcome: Answered, text: "It checks.", errors: "the reply",
			check: func(t *testing.T, q *query, a Answer, told *story, _ *modeltest.Server) {
				if got := told.text(); strings.TrimSpace(got) != "It che\n\nIt checks." {
					t.Errorf("shown: %q", got)
				}
				if a.Turns != 1 || a.TokensIn != 100 || q.board.Get(keyContent) != "It checks." {
					t.Errorf("%+v, accumulated %q", a, q.board.Get(keyContent))
				}
			},
		}, {
			name: "breaks the stream in a later turn", script: asksWhat + "says: A {need 0.9: one look}\n" + goesOn + "says: It che\nbreaks:",
			requests: 5, outcome: Partial, text: "A", missing: "the reply", errors: "the reply",
		}, {
			name: "breaks the stream in a call", script: asksWhat + "calls: search {\"q\": \"auth\"}\nbreaks:\nsays: It checks. {enough 0.9}",
			requests: 2, outcome: Answered, text: "It checks.", errors: "the reply",
			check: func(t *testing.T, _ *query, a Answer, _ *story, _ *modeltest.Server) {
				if a.ToolCalls != 0 {
					t.Errorf("%d calls", a.ToolCalls)
				}
			},
		}, {
			name: "stalls always", script: asksWhat + "says: Half of it\nstalls:", tree: []string{"timeout = 50,", "timeout = 0.1,"},
			requests: 4, outcome: Failed, missing: "the model's reply has not come to its end in time", errors: "in time",
			check: func(t *testing.T, _ *query, _ Answer, told *story, _ *modeltest.Server) {
				if got := strings.Count(told.of(Error), "in time"); got != 4 || !strings.Contains(told.of(System), "(3 of 3)") {
					t.Errorf("the person is told %d times: %q, and %q", got, told.of(Error), told.of(System))
				}
			},
		}, {
			name: "stalls once", script: asksWhat + "says: It che\nstalls:\nsays: It checks. {enough 0.9}", tree: []string{"timeout = 50,", "timeout = 1,"},
			requests: 2, outcome: Answered, text: "It checks.", errors: "in time",
		}, {
			name:     "answers 429, then 500, then fine",
			script:   asksWhat + "fails: 429 slow down\n  Retry-After-Ms: 200\nfails: 500 oops\nsays: It checks. {enough 0.9}",
			requests: 3, outcome: Answered, text: "It checks.", errors: "answers 500: oops",
			check: func(t *testing.T, _ *query, a Answer, told *story, server *modeltest.Server) {
				r := server.Requests()
				if pause := r[1].At.Sub(r[0].At); pause < 200*time.Millisecond {
					t.Errorf("asked again after %v", pause)
				}
				if !strings.Contains(told.of(Error), "answers 429: slow down") || a.Turns != 1 {
					t.Errorf("%d turns, errors %q", a.Turns, told.of(Error))
				}
			},
		}, {
			name: "wants to be left alone for longer than anybody waits", script: asksWhat + "fails: 429 slow down\n  Retry-After: 5400",
			requests: 1, outcome: Failed, missing: "left alone for 1h30m0s", errors: "ask again then",
			check: func(t *testing.T, _ *query, _ Answer, told *story, _ *modeltest.Server) {
				if strings.Contains(told.of(System), "Trying again") {
					t.Errorf("the person is told %q", told.of(System))
				}
			},
		}, {
			name: "is busy always", script: asksWhat + "fails: 529 overloaded",
			requests: 4, outcome: Failed, missing: "answers 529: overloaded", errors: "529",
		},
		refused(400, "no such parameter"), refused(401, "no such key"), refused(403, "not for you"), refused(404, "no such model"), refused(422, "can't read that"),
		{
			name: "refuses a later turn", script: asksWhat + "says: A {need 0.9: one look}\n" + goesOn + "fails: 401 the key is spent",
			requests: 2, outcome: Partial, text: "A", missing: "the key is spent", errors: "401",
		},
	})
}

func TestModelThatSaysTooMuch(t *testing.T) {
	many := func(n int) string { return strings.Repeat("calls: search {}\n", n) }
	misbehave(t, []misbehaviour{
		{
			name: "a reply of 20 MiB", script: asksWhat + "floods: 20MiB",
			requests: 1, outcome: Failed, missing: "larger than 8 MiB", errors: "8 MiB",
		}, {
			name: "a reply of 4 MiB", script: asksWhat + "says: {part 0.9: the rest}\nfloods: 4MiB", question: "What does it do?",
			requests: 1, outcome: Partial, text: modelFlood(4 << 20), missing: "the rest",
		}, {
			name: "200 calls in one reply", script: asksWhat + many(200),
			requests: 1, outcome: Failed, missing: "more than 128 calls", errors: "128 calls",
		}, {
			name: "128 calls in one reply", script: asksWhat + many(128) + "asked: ^You have called search\nsays: It checks. {enough 0.9}",
			requests: 2, outcome: Answered, text: "It checks.",
			check: func(t *testing.T, _ *query, a Answer, told *story, _ *modeltest.Server) {
				if a.ToolCalls != 128 || told.named(loop) != 1 {
					t.Errorf("%d calls, %d loops", a.ToolCalls, told.named(loop))
				}
			},
		}, {
			name: "results of 1 MB", script: asksWhat + "calls: flood {\"n\": 1}\ncalls: flood {\"n\": 2}\nresult: 0123456789\ncalls: flood {\"n\": 3}\nresult: 0123456789\nsays: It checks. {enough 0.9}",
			requests: 3, outcome: Answered, text: "It checks.",
			check: func(t *testing.T, q *query, _ Answer, told *story, server *modeltest.Server) {
				for _, c := range told.chunks {
					if len(c.Text) > 2*maxPreview {
						t.Errorf("a chunk %s has %d bytes", c.Type, len(c.Text))
					}
				}
				results, _ := q.board.Get(keyToolResults).([]any)
				for _, r := range results {
					if text, _ := r.(map[string]any)["result"].(string); len(results) != 3 || len(text) > 2*maxPreview {
						t.Errorf("%d results, one of %d bytes", len(results), len(text))
					}
				}
			},
		}, {
			name: "a tool that panics", script: asksWhat + "calls: panic {}\ncalls: search {}\nresult: broke down\nsays: It checks. {enough 0.9}",
			requests: 2, outcome: Answered, text: "It checks.",
			check: func(t *testing.T, _ *query, _ Answer, told *story, _ *modeltest.Server) {
				if told.named("tool.call.failed") != 1 || told.named("tool.call.succeeded") != 1 {
					t.Errorf("events %s", told.names())
				}
			},
		}, {
			name: "names of tools with escapes", script: asksWhat + strings.Repeat("calls: \x1b[31mdig\x07 {}\n", 3) + "asked: ^You have called\nsays: A {stuck 0.1: the tools are gone}",
			requests: 2, outcome: Stuck, text: "A", missing: "the tools are gone; 3 of 3 tool calls failed",
			check: func(t *testing.T, _ *query, _ Answer, told *story, _ *modeltest.Server) {
				if !strings.Contains(told.of(System), `The model calls \x1b[31mdig\x07 with`) {
					t.Errorf("system: %q", told.of(System))
				}
			},
		}, {
			name: "signals with escapes", script: "asked: .\nsays: A {stuck 0.9: gone\x1b[2J\x07 away}",
			requests: 2, outcome: Stuck, text: "A", missing: `gone\x1b[2J\x07 away`,
		},
	})
}

// modelFlood is what a scripted model floods with, without the blank at its end.
func modelFlood(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%d ", i)
	}
	return strings.TrimSpace(b.String()[:size])
}
