package oracle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/internal/modeltest"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

const lastTurn = "asked: This is your last turn\n"

// turns are a question and so many turns that each ask for another, for reasons of their own.
func turns(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(map[bool]string{true: asksWhat, false: goesOn}[i == 0])
		fmt.Fprintf(&b, "says: Step %d. {need 0.8: reason %d}\n", i+1, i+1)
	}
	return b.String()
}

// The last turn that the tree allows ends the question, whatever its reply.
func TestLastTurn(t *testing.T) {
	five := []string{"MAX_TURNS = 30", "MAX_TURNS = 5"}
	spent := "the budget of 5 turns is spent"
	events := strings.Repeat(sNeed+" ", 3) + "budget.warning " + sNeed + " budget.exceeded "
	last := func(name, reply string, outcome Outcome, text, missing, signal string) route {
		r := route{name: name, tree: five, script: turns(4) + lastTurn + reply,
			asks: "question go-on go-on go-on last", events: events + signal, outcome: outcome, text: text, missing: missing, signals: 4}
		if signal != "" {
			r.signals++
		}
		return r
	}
	follow(t, []route{
		last("answers", "says: It checks. {enough 0.1}", Answered, "It checks.", "", sEnough),
		last("answers in part", "says: It checks. {part 0.9: who calls it}", Partial, "It checks.", "who calls it; "+spent, sPart),
		last("needs another turn", "says: Step 5. {need 0.9: reason 5}", Partial, "Step 5.", "reason 5; "+spent, sNeed),
		last("is stuck", "says: No. {stuck 0.9: the index is gone}", Partial, "No.", "the index is gone; "+spent, sStuck),
		last("has no signal", "says: It checks.", Partial, "It checks.", spent, ""),
		last("says nothing", "thinks: Hm.", Partial, "Step 4.", spent, ""),
		last("calls a tool that it was not offered", "says: I look.\ncalls: search {}", Partial, "I look.", spent, ""),
		{
			name: "of 30", script: turns(29) + lastTurn + "says: Step 30. {need 0.8: reason 30}",
			asks:    "question" + strings.Repeat(" go-on", 28) + " last",
			events:  strings.Repeat(sNeed+" ", 20) + "budget.warning " + strings.Repeat(sNeed+" ", 9) + "budget.exceeded " + sNeed,
			outcome: Partial, text: "Step 30.", missing: "the budget of 30 turns is spent", signals: 30,
		}, {
			name: "of 1", tree: []string{"MAX_TURNS = 30", "MAX_TURNS = 1"}, script: lastTurn + "says: It checks. {need 0.8: reason 1}",
			asks: "last", events: "budget.warning budget.exceeded " + sNeed, outcome: Partial, text: "It checks.", missing: "the budget of 1 turn is spent", signals: 1,
		},
	})
}

// The tokens that the replies report are a budget as well.
func TestTokens(t *testing.T) {
	limit := []string{"MAX_TOKENS = 400000", "MAX_TOKENS = 1000"}
	use := func(n int) string { return fmt.Sprintf("usage: %d in, %d out\n", n-10, 10) }
	first := asksWhat + "says: A {need 0.8: reason 1}\n"
	second := goesOn + "says: B {need 0.8: reason 2}\n"
	follow(t, []route{
		{
			name: "79 %", tree: limit, script: first + use(790) + goesOn + "says: C {enough 0.9}",
			asks: "question go-on", events: sNeed + " " + sEnough, outcome: Answered, text: "C", signals: 2,
		}, {
			name: "80 %: a warning, once", tree: limit, script: first + use(800) + second + use(100) + goesOn + "says: C {enough 0.9}",
			asks: "question go-on go-on", events: sNeed + " budget.warning " + sNeed + " " + sEnough, outcome: Answered, text: "C", signals: 3,
		}, {
			name: "all: the next turn is the last", tree: limit, script: first + use(600) + second + use(400) + lastTurn + "says: C",
			asks: "question go-on last", events: sNeed + " " + sNeed + " budget.warning budget.exceeded", outcome: Partial, text: "C",
			missing: "the budget of 1000 tokens is spent", signals: 2,
		}, {
			name: "more than all in one reply", tree: limit, script: first + use(5_000_000) + lastTurn + "says: C {enough 0.9}",
			asks: "question last", events: sNeed + " budget.warning budget.exceeded " + sEnough, outcome: Answered, text: "C", signals: 2,
		},
	})
}

func TestBudgetEvents(t *testing.T) {
	server := serve(t, script("== route\n"+turns(4)+lastTurn+"says: C\n"))
	s := settings(t, server, model.OpenAI)
	s.Tree = hasty(t, "MAX_TURNS = 30", "MAX_TURNS = 5", "MAX_TOKENS = 400000", "MAX_TOKENS = 500")
	_, told := answerTo(t, s, longQuestion)
	var got []string
	for _, e := range told.events {
		if strings.HasPrefix(e.Name, "budget.") {
			fields, err := json.Marshal(e.Fields)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("turn %d: %s %s", e.Turn, e.Name, fields))
		}
	}
	want := []string{
		`turn 4: budget.warning {"kind":"turns","of":5,"used":4}`,
		`turn 5: budget.warning {"kind":"tokens","of":500,"used":480}`,
		`turn 5: budget.exceeded {"kind":"turns","tokens":480,"turns":5}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// wiretap keeps the requests that go through it.
type wiretap struct {
	mu     sync.Mutex
	bodies []map[string]any
}

func (w *wiretap) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var read map[string]any
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.bodies = append(w.bodies, read)
	w.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// tapped is a client whose requests are kept.
func tapped(t testing.TB, server *modeltest.Server, provider model.Provider) (model.Client, *wiretap) {
	t.Helper()
	tap := &wiretap{}
	base := server.URL()
	if provider == model.OpenAI {
		base += "/v1"
	}
	client, err := model.New(model.Settings{Provider: provider, BaseURL: base, HTTP: &http.Client{Transport: tap}})
	if err != nil {
		t.Fatal(err)
	}
	return client, tap
}

// Every request but the last offers the tools.
func TestLastTurnOffersNoTools(t *testing.T) {
	for _, provider := range providers {
		t.Run(string(provider), func(t *testing.T) {
			server := serve(t, script("== route\n"+asksWhat+looks+"says: A {need 0.8: reason 1}\n"+lastTurn+"says: It checks. {enough 0.9}"))
			s := settings(t, server, provider)
			s.Tree = hasty(t, "MAX_TURNS = 30", "MAX_TURNS = 3")
			s.Tools = tools{"search": func(string) (string, error) { return "found", nil }, "break": nil}
			var tap *wiretap
			s.Client, tap = tapped(t, server, provider)
			if a, _ := answerTo(t, s, longQuestion); a.Outcome != Answered || a.Turns != 3 {
				t.Errorf("%+v", a)
			}
			var offered []string
			for _, body := range tap.bodies {
				list, _ := body["tools"].([]any)
				may := "may call"
				if choice, _ := body["tool_choice"].(map[string]any); choice["type"] == "none" || len(list) == 0 {
					may = "may not call"
				}
				offered = append(offered, fmt.Sprint(may, " ", len(list)))
			}
			want := []string{"may call 2", "may call 2", "may not call 0"}
			if provider == model.Anthropic {
				want[2] = "may not call 1" // a conversation with calls has to have tools
			}
			if diff := cmp.Diff(want, offered); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The same call three times within six is a loop: the person and the model are told.
func TestToolLoop(t *testing.T) {
	call := func(arguments ...string) string {
		text := asksWhat
		for _, a := range arguments {
			text += "calls: search " + a + "\nresult:\n"
		}
		return text
	}
	n := func(i int) string { return fmt.Sprintf(`{"n": %d}`, i) }
	const same, turned = `{"q": "auth", "max": 3}`, `{"max": 3, "q": "auth"}`
	warned := "asked: ^You have called search with the same arguments 3 times\n"
	answers := "says: It checks. {enough 0.9}"
	follow(t, []route{
		{
			name: "three in a row", script: strings.TrimSuffix(call(same, same, same), "result:\n") + warned + answers,
			asks: "question question question loop", events: called + " " + called + " " + called + " " + loop + " " + sEnough,
			outcome: Answered, text: "It checks.", signals: 1,
		}, {
			name: "three in six, in another order", script: strings.TrimSuffix(call(same, n(1), turned, n(2), n(3), `{"q":"auth",  "max":3}`), "result:\n") + warned + answers,
			asks: "question question question question question question loop", events: strings.Repeat(called+" ", 6) + loop + " " + sEnough,
			outcome: Answered, text: "It checks.", signals: 1,
		}, {
			name: "three in seven", script: call(same, n(1), same, n(2), n(3), n(4), same) + answers,
			asks: strings.TrimSpace(strings.Repeat("question ", 8)), events: strings.Repeat(called+" ", 7) + sEnough,
			outcome: Answered, text: "It checks.", signals: 1,
		}, {
			name: "two", script: call(same, same) + answers,
			asks: "question question question", events: strings.Repeat(called+" ", 2) + sEnough,
			outcome: Answered, text: "It checks.", signals: 1,
		}, {
			name: "numbers that differ in their last digit", script: call(`{"n": 90071992547409921}`, `{"n": 90071992547409922}`, `{"n": 90071992547409923}`) + answers,
			asks: "question question question question", events: strings.Repeat(called+" ", 3) + sEnough,
			outcome: Answered, text: "It checks.", signals: 1,
		}, {
			name: "three in one reply", script: asksWhat + "calls: search {}\ncalls: search {}\ncalls: search {}\n" + warned + answers,
			asks: "question loop", events: strings.Repeat("tool.call.started ", 3) + strings.Repeat("tool.call.succeeded ", 3) + loop + " " + sEnough,
			outcome: Answered, text: "It checks.", signals: 1,
		}, {
			name: "then three more", script: asksWhat + "calls: search {}\ncalls: search {}\ncalls: search {}\n" + warned +
				"calls: search {}\nresult:\ncalls: search {}\nresult:\ncalls: search {}\n" + warned + answers,
			asks:    "question loop loop loop loop",
			events:  strings.Repeat("tool.call.started ", 3) + strings.Repeat("tool.call.succeeded ", 3) + loop + " " + strings.Repeat(called+" ", 3) + loop + " " + sEnough,
			outcome: Answered, text: "It checks.", signals: 1,
		},
	})
}

// What the person sees of a tool loop, and what is in the event.
func TestToolLoopIsTold(t *testing.T) {
	for _, provider := range providers {
		server := serve(t, script("== route\n"+asksWhat+"calls: break {}\ncalls: break {}\ncalls: break {}\nasked: ^You have called break\nsays: It checks. {enough 0.9}"))
		s := settings(t, server, provider)
		s.Tools = tools{"break": func(string) (string, error) { return "", errors.New("out of order") }}
		_, _, told := answered(context.Background(), t, s, longQuestion)
		if !strings.Contains(told.of(System), "The model calls break with the same arguments over and over") {
			t.Errorf("system: %q", told.of(System))
		}
		for _, e := range told.events {
			if e.Name == loop && (e.Fields["kind"] != "tool" || e.Fields["tool"] != "break") {
				t.Errorf("the event has %v", e.Fields)
			}
		}
	}
}
