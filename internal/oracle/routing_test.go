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

// A route is a conversation and where it leads. Short forms in the script are those of
// the function script.
type route struct {
	name     string
	question string // a long one if empty
	script   string
	tree     []string // replacements in the tree
	faulty   bool     // its signal phase does not always work

	asks    string // what the model was asked, request by request
	events  string
	outcome Outcome
	text    string // of the answer
	missing string // a part of it
	signals int
}

const (
	asksWhat = "asked: ^What does\n"
	goesOn   = "asked: ^Take the turn\n"
	doubts   = "asked: ^You have one more turn\n"
	goOn     = "asked: ^Go on\n"
	another  = "asked: ^Try another way\n"
	lacks    = "asked: ^You can't be given that\n"
	hints    = "asked: ^Your replies carry no valid signal\n"
	looks    = "says: I look.\ncalls: search {\"q\": \"auth\"}\nresult:\n"

	sNeed   = "agent.signal.need_turn"
	sEnough = "agent.signal.context_sufficient"
	sPart   = "agent.signal.partial_answer"
	sStuck  = "agent.signal.stuck"
	sLack   = "agent.signal.need_capability"
	sHand   = "agent.signal.delegation_recommended"
	falls   = "fallback.triggered"
	loop    = "agent.loop.detected"
	called  = "tool.call.started tool.call.succeeded"
	failing = "tool.call.started tool.call.failed"
)

func TestRoutingOfSignals(t *testing.T) {
	follow(t, []route{
		{
			name:   "context_sufficient is the answer, whatever its confidence",
			script: asksWhat + "says: It checks. {enough 0}",
			asks:   "question", events: sEnough, outcome: Answered, text: "It checks.", signals: 1,
		}, {
			name:   "partial_answer is one too, and says what is missing",
			script: asksWhat + "says: It checks. {part 0: who calls it}",
			asks:   "question", events: sPart, outcome: Partial, text: "It checks.", missing: "who calls it", signals: 1,
		}, {
			name:   "need_turn, sure: another turn",
			script: asksWhat + "says: I look. {need 0.8: one more look}\n" + goesOn + "says: It checks. {enough 0.9}",
			asks:   "question go-on", events: sNeed + " " + sEnough, outcome: Answered, text: "It checks.", signals: 2,
		}, {
			name:   "need_turn at 0.5: another turn, and another",
			script: asksWhat + "says: A {need 0.5: one look}\n" + goesOn + "says: B {need 0.5: two looks}\n" + goesOn + "says: C {enough 0.9}",
			asks:   "question go-on go-on", events: sNeed + " " + sNeed + " " + sEnough, outcome: Answered, text: "C", signals: 3,
		}, {
			name:   "need_turn at 0.49: one more",
			script: asksWhat + "says: A {need 0.49: one look}\n" + doubts + "says: B {enough 0.9}",
			asks:   "question doubt", events: sNeed + " " + sEnough, outcome: Answered, text: "B", signals: 2,
		}, {
			name:   "need_turn at 0.3: one more, and only one",
			script: asksWhat + "says: A {need 0.3: one look}\n" + doubts + "says: B {need 0.49: two looks}\n" + goOn + "says: C {enough 0.9}",
			asks:   "question doubt continue", events: sNeed + " " + sNeed + " " + falls + " " + sEnough, outcome: Answered, text: "C", signals: 3,
		}, {
			name: "one more, and only one: a sure turn between does not bring another",
			script: asksWhat + "says: A {need 0.4: one look}\n" + doubts + "says: B {need 0.8: two looks}\n" +
				goesOn + "says: C {need 0.4: three looks}\n" + goOn + "says: D {enough 0.9}",
			asks: "question doubt go-on continue", events: sNeed + " " + sNeed + " " + sNeed + " " + falls + " " + sEnough, outcome: Answered, text: "D", signals: 4,
		}, {
			name: "one more, and only one: a short question is over then", question: "What does it do?",
			script: asksWhat + "says: A {need 0.4: one look}\n" + doubts + "says: B {need 0.4: two looks}",
			asks:   "question doubt", events: sNeed + " " + sNeed + " " + falls, outcome: Partial, text: "B", missing: "the model needs another turn: two looks", signals: 2,
		}, {
			name:   "need_turn below 0.3, something said: what was said",
			script: asksWhat + "says: It checks. {need 0.29: who calls it}",
			asks:   "question", events: sNeed + " " + falls, outcome: Partial, text: "It checks.", missing: "who calls it", signals: 1,
		}, {
			name:   "need_turn below 0.3, nothing said: a hint",
			script: asksWhat + "says: {need 0.29: who calls it}\n" + hints + "says: It checks. {enough 0.9}",
			asks:   "question hint", events: sNeed + " " + falls + " " + sEnough, outcome: Answered, text: "It checks.", signals: 2,
		}, {
			name:   "need_turn below 0.3, never anything said: no answer",
			script: asksWhat + "says: {need 0.1: who calls it}\n" + hints + "says: {need 0.1: who reads it}",
			asks:   "question hint", events: sNeed + " " + falls + " " + sNeed + " " + falls, outcome: Failed, missing: "the model said nothing in 2 turns", signals: 2,
		}, {
			name:   "need_capability: it is told that there is none",
			script: asksWhat + "says: A {lack 0.7: it shows at run time}\n" + lacks + "says: B {enough 0.9}",
			asks:   "question lacking", events: sLack + " " + sEnough, outcome: Answered, text: "B", signals: 2,
		}, {
			name:   "need_capability, half sure: one more turn",
			script: asksWhat + "says: A {lack 0.4: it shows at run time}\n" + doubts + "says: B {enough 0.9}",
			asks:   "question doubt", events: sLack + " " + sEnough, outcome: Answered, text: "B", signals: 2,
		}, {
			name:   "need_capability, unsure: the answer says what it can't",
			script: asksWhat + "says: A {lack 0.2: it shows at run time}",
			asks:   "question", events: sLack + " " + falls, outcome: Partial, text: "A", missing: "run the tests: it shows at run time", signals: 1,
		}, {
			name:   "delegation_recommended: nobody takes over",
			script: asksWhat + "says: A {hand 0.7: hundreds of files}\n" + lacks + "says: B {part 0.9: the handlers}",
			asks:   "question lacking", events: sHand + " " + sPart, outcome: Partial, text: "B", missing: "the handlers", signals: 2,
		},
	})
}

func TestRoutingOfToolCalls(t *testing.T) {
	follow(t, []route{
		{
			name:   "before context_sufficient",
			script: asksWhat + "says: I look. {enough 0.9}\ncalls: search {}\nresult: found\nsays: It checks. {enough 0.9}",
			asks:   "question question", events: sEnough + " " + called + " " + sEnough, outcome: Answered, text: "It checks.", signals: 2,
		}, {
			name:   "before partial_answer",
			script: asksWhat + "says: I look. {part 0.9: nearly all}\ncalls: search {}\nresult: found\nsays: It checks. {enough 0.9}",
			asks:   "question question", events: sPart + " " + called + " " + sEnough, outcome: Answered, text: "It checks.", signals: 2,
		}, {
			name: "before stuck, which is not counted",
			script: asksWhat + "says: I look. {stuck 0.9: the index is gone}\ncalls: search {}\nresult: found\n" +
				"says: A {stuck 0.9: the index is gone}\n" + another + "says: B {stuck 0.9: the index is still gone}",
			asks: "question question stuck", events: sStuck + " " + called + " " + sStuck + " " + falls + " " + sStuck,
			outcome: Stuck, text: "B", missing: "the index is still gone", signals: 3,
		}, {
			name: "before need_turn, whose reason counts",
			script: asksWhat + "says: A {need 0.8: one look}\ncalls: search {\"n\": 1}\nresult:\nsays: B {need 0.8: one look}\ncalls: search {\"n\": 2}\nresult:\n" +
				"says: C {need 0.8: one look}\n" + another + "says: D {enough 0.9}",
			asks: "question question question stuck", events: sNeed + " " + called + " " + sNeed + " " + called + " " + sNeed + " " + loop + " " + falls + " " + sEnough,
			outcome: Answered, text: "D", signals: 4,
		}, {
			name:   "without a signal: silent turns are counted, and nothing falls back",
			script: asksWhat + strings.Repeat(looks, 1) + "says: I look on.\ncalls: search {\"q\": \"b\"}\nresult:\nsays: And on.\ncalls: search {\"q\": \"c\"}\nresult:\nsays: It checks. {enough 0.9}",
			asks:   "question question question question", events: called + " " + called + " " + called + " " + sEnough, outcome: Answered, text: "It checks.", signals: 1,
		}, {
			name:   "of a tool that there is not",
			script: asksWhat + "calls: dig {}\nresult: there is no tool dig\nsays: It checks. {enough 0.9}",
			asks:   "question question", events: failing + " " + sEnough, outcome: Answered, text: "It checks.", signals: 1,
		},
	})
}

func TestRoutingOfStuck(t *testing.T) {
	reasons := []string{"one look more", "One look - more!", "ONE  LOOK\tMORE", "“one look more”"}
	same := func(n int) string {
		text := asksWhat + "says: A {need 0.8: " + reasons[0] + "}\n"
		for _, r := range reasons[1:n] {
			text += goesOn + "says: A {need 0.8: " + r + "}\n"
		}
		return text
	}
	follow(t, []route{
		{
			name:   "stuck: another way, and the end if there is none",
			script: asksWhat + "says: A {stuck 0.9: the index is gone}\n" + another + "says: B {stuck 0.9: the disk is gone}",
			asks:   "question stuck", events: sStuck + " " + falls + " " + sStuck, outcome: Stuck, text: "B", missing: "the model is stuck: the disk is gone", signals: 2,
		}, {
			name:   "stuck: another way, and it leads on",
			script: asksWhat + "says: A {stuck 0.9: the index is gone}\n" + another + "says: B {need 0.9: the vault}\n" + goesOn + "says: C {enough 0.9}",
			asks:   "question stuck go-on", events: sStuck + " " + falls + " " + sNeed + " " + sEnough, outcome: Answered, text: "C", signals: 3,
		}, {
			name:   "stuck, other turns between: still the second time",
			script: asksWhat + "says: A {stuck 0.9: the index is gone}\n" + another + "says: B {need 0.9: the vault}\n" + goesOn + "says: C {stuck 0.9: the vault is shut}",
			asks:   "question stuck go-on", events: sStuck + " " + falls + " " + sNeed + " " + sStuck, outcome: Stuck, text: "C", missing: "the vault is shut", signals: 3,
		}, {
			name: "stuck at a short question: it is stuck", question: "What does it do?",
			script: asksWhat + "says: A {stuck 0.9: the index is gone}",
			asks:   "question", events: sStuck + " " + falls, outcome: Stuck, text: "A", missing: "the model is stuck: the index is gone", signals: 1,
		}, {
			name: "stuck at a short question, unsure: it is stuck", question: "What does it do?",
			script: asksWhat + "says: A {stuck 0.1: the index is gone}",
			asks:   "question", events: sStuck + " " + falls, outcome: Stuck, text: "A", missing: "the model is stuck: the index is gone", signals: 1,
		}, {
			name: "stuck at a short question, nothing said: another way", question: "What does it do?",
			script: asksWhat + "says: {stuck 0.9: the index is gone}\n" + another + "says: {stuck 0.9: the index is gone}",
			asks:   "question stuck", events: sStuck + " " + falls + " " + sStuck, outcome: Stuck, missing: "the index is gone", signals: 2,
		}, {
			name:   "stuck, unsure: what was said",
			script: asksWhat + "says: A {stuck 0.2: the index is gone}",
			asks:   "question", events: sStuck + " " + falls, outcome: Partial, text: "A", missing: "the index is gone", signals: 1,
		}, {
			name:   "the same reason three times is stuck, and a fourth time the end",
			script: same(3) + another + "says: A {need 0.8: " + reasons[3] + "}",
			asks:   "question go-on go-on stuck", events: sNeed + " " + sNeed + " " + sNeed + " " + loop + " " + falls + " " + sNeed + " " + loop,
			outcome: Stuck, text: "A", missing: "one look more", signals: 4,
		}, {
			name:   "the same reason three times, then another one: it goes on",
			script: same(3) + another + "says: B {need 0.8: the vault}\n" + goesOn + "says: C {enough 0.9}",
			asks:   "question go-on go-on stuck go-on", events: sNeed + " " + sNeed + " " + sNeed + " " + loop + " " + falls + " " + sNeed + " " + sEnough,
			outcome: Answered, text: "C", signals: 5,
		}, {
			name:   "the same reason twice is nothing",
			script: same(2) + goesOn + "says: B {need 0.8: the vault}\n" + goesOn + "says: C {need 0.8: one look more}\n" + goesOn + "says: D {enough 0.9}",
			asks:   "question go-on go-on go-on go-on", events: sNeed + " " + sNeed + " " + sNeed + " " + sNeed + " " + sEnough,
			outcome: Answered, text: "D", signals: 5,
		}, {
			name:   "the same reason three times, a silent turn between: nothing",
			script: same(2) + goesOn + "says: Hm.\n" + goOn + "says: B {need 0.8: one look more}\n" + goesOn + "says: C {enough 0.9}",
			asks:   "question go-on go-on continue go-on", events: sNeed + " " + sNeed + " " + falls + " " + sNeed + " " + sEnough,
			outcome: Answered, text: "C", signals: 4,
		},
	})
}

func TestRoutingWithoutSignal(t *testing.T) {
	much := strings.Repeat("It checks a token. ", 30)
	fails := "calls: break {\"n\": 1}\ncalls: break {\"n\": 2}\ncalls: break {\"n\": 3}\n"
	bad := "tool.call.started tool.call.started tool.call.started tool.call.failed tool.call.failed tool.call.failed "
	follow(t, []route{
		{
			name:   "tools that fail: the end, and it says so",
			script: asksWhat + fails + "result: out of order\nsays: It seems to check.",
			asks:   "question question", events: bad + falls, outcome: Stuck, text: "It seems to check.", missing: "3 of 3 tool calls failed",
		}, {
			name:   "tools of which 70 % fail",
			script: asksWhat + fails + "calls: search {}\nresult:\nsays: It seems to check.",
			asks:   "question question", outcome: Stuck, text: "It seems to check.", missing: "3 of 4 tool calls failed",
			events: strings.Repeat("tool.call.started ", 4) + strings.Repeat("tool.call.failed ", 3) + "tool.call.succeeded " + falls,
		}, {
			name:   "a long question, no tool: the reply is the answer",
			script: asksWhat + "says: It checks.",
			asks:   "question", events: falls, outcome: Answered, text: "It checks.",
		}, {
			name:   "a long question, after tools: the reply is the answer",
			script: asksWhat + looks + "says: I look on.\ncalls: search {\"q\": \"b\"}\nresult:\nsays: " + much,
			asks:   "question question question", events: called + " " + called + " " + falls, outcome: Answered, text: strings.TrimSpace(much),
		}, {
			name: "a short question, no tool: the reply is the answer", question: "What does it do?",
			script: asksWhat + "says: It checks.",
			asks:   "question", events: falls, outcome: Answered, text: "It checks.",
		}, {
			name: "a short question, after a tool: the reply is the answer", question: "What does it do?",
			script: asksWhat + looks + "says: It checks.",
			asks:   "question question", events: called + " " + falls, outcome: Answered, text: "It checks.",
		}, {
			name:   "a model that has signalled is asked once, and says what it is",
			script: asksWhat + "says: A {need 0.8: one look}\n" + goesOn + "says: B\n" + goOn + "says: C {enough 0.9}",
			asks:   "question go-on continue", events: sNeed + " " + falls + " " + sEnough, outcome: Answered, text: "C", signals: 2,
		}, {
			name:   "a model that has signalled is asked once, and only once: the longer reply is the answer",
			script: asksWhat + "says: I look. {need 0.8: one look}\n" + goesOn + "says: " + much + "\n" + goOn + "says: That was all.",
			asks:   "question go-on continue", events: sNeed + " " + falls + " " + falls, outcome: Answered, text: strings.TrimSpace(much), signals: 1,
		}, {
			name:   "asked once, and only once: it says all again",
			script: asksWhat + "says: I look. {need 0.8: one look}\n" + goesOn + "says: It checks.\n" + goOn + "says: As I said, it checks.",
			asks:   "question go-on continue", events: sNeed + " " + falls + " " + falls, outcome: Answered, text: "As I said, it checks.", signals: 1,
		}, {
			name: "asked once, and only once: also if signals came between",
			script: asksWhat + "says: A {need 0.8: one look}\n" + goesOn + "says: Hm.\n" + goOn + "says: B {need 0.8: two looks}\n" +
				goesOn + "says: It checks.",
			asks: "question go-on continue go-on", events: sNeed + " " + falls + " " + sNeed + " " + falls, outcome: Answered, text: "It checks.", signals: 2,
		}, {
			name: "a model that has signalled in tool calls is asked too",
			script: asksWhat + "says: A {need 0.8: one look}\ncalls: search {}\nresult:\nsays: It checks.\n" +
				goOn + "says: It does. {part 0.8: who calls it}",
			asks: "question question continue", events: sNeed + " " + called + " " + falls + " " + sPart, outcome: Partial, text: "It does.", missing: "who calls it", signals: 2,
		}, {
			name:   "what is no valid signal: a hint, and it helps",
			script: asksWhat + "says: A <signal type=\"done\"></signal>\n" + hints + "says: B {enough 0.9}",
			asks:   "question hint", events: falls + " " + sEnough, outcome: Answered, text: "B", signals: 1,
		}, {
			name:   "what is no valid signal: a hint, and it does not help",
			script: asksWhat + "says: A <signal type=\"done\"></signal>\n" + hints + "says: B B <signal type=\"done\"></signal>",
			asks:   "question hint", events: falls + " " + falls, outcome: Partial, text: "B B", missing: "can't be read",
		}, {
			name:   "much said beside tool calls, and nothing in the end: all of it",
			script: asksWhat + "says: " + much + "\ncalls: search {\"q\": \"a\"}\nresult:\nsays: And " + much + "\ncalls: search {\"q\": \"b\"}\nresult:\nthinks: Hm.",
			asks:   "question question question", events: called + " " + called + " " + falls, outcome: Partial,
			text: strings.TrimSpace(much) + "\n\nAnd " + strings.TrimSpace(much), missing: "did not say in 3 turns",
		}, {
			name:   "three empty replies: a hint, once",
			script: asksWhat + "thinks: A\n" + goOn + "thinks: B\n" + goOn + "thinks: C\n" + hints + "thinks: D",
			asks:   "question continue continue hint", events: falls + " " + falls + " " + falls + " " + falls, outcome: Failed, missing: "the model said nothing in 4 turns",
		}, {
			name:   "three empty replies: a hint, and it helps",
			script: asksWhat + "thinks: A\n" + goOn + "thinks: B\n" + goOn + "thinks: C\n" + hints + "says: D {enough 0.9}",
			asks:   "question continue continue hint", events: falls + " " + falls + " " + falls + " " + sEnough, outcome: Answered, text: "D", signals: 1,
		}, {
			name: "three empty replies again, later in the question: no second hint",
			script: asksWhat + "thinks: A\n" + goOn + "thinks: B\n" + goOn + "thinks: C\n" + hints + "says: D {need 0.8: one look}\n" +
				goesOn + "thinks: E\n" + goOn + "thinks: F\n" + goOn + "thinks: G",
			asks: "question continue continue hint go-on continue continue", outcome: Partial, text: "D", missing: "did not say in 3 turns", signals: 1,
			events: falls + " " + falls + " " + falls + " " + sNeed + " " + falls + " " + falls + " " + falls,
		},
	})
}

// What is in a reply beside one good signal, or instead of it.
func TestRoutingOfBadSignals(t *testing.T) {
	silent := func(name, reply string) route {
		return route{name: name, question: "What does it do?", script: asksWhat + "says: It checks. " + reply,
			asks: "question", events: falls, outcome: Answered, text: "It checks."}
	}
	follow(t, []route{
		{
			name:   "two signals: the first counts",
			script: asksWhat + "says: A {need 0.8: one look} and {enough 0.9}\n" + goesOn + "says: B {part 0.8: the rest} {stuck 0.9: no way out}",
			asks:   "question go-on", events: sNeed + " " + sPart, outcome: Partial, text: "B", missing: "the rest", signals: 2,
		}, {
			name:   "two signals: the first that is valid",
			script: asksWhat + "says: A <signal type=\"need_turn\"><reason>x</reason></signal> {enough 0.9}",
			asks:   "question", events: sEnough, outcome: Answered, text: "A", signals: 1,
		}, {
			name:   "no confidence: 0.5, another turn",
			script: asksWhat + "says: A <signal type=\"need_turn\"><reason>one look</reason></signal>\n" + goesOn + "says: B {enough 0.9}",
			asks:   "question go-on", events: sNeed + " " + sEnough, outcome: Answered, text: "B", signals: 2,
		}, {
			name:   "a reason of three characters",
			script: asksWhat + "says: A {need 0.8: API}\n" + goesOn + "says: B {enough 0.9}",
			asks:   "question go-on", events: sNeed + " " + sEnough, outcome: Answered, text: "B", signals: 2,
		}, {
			name: "only mentioned, in a fence", question: "What does it do?",
			script: asksWhat + "says:\n  Write\n  ```\n  {need 0.8: one look}\n  ```\n  and {enough 0.9}",
			asks:   "question", events: sEnough, outcome: Answered, signals: 1,
			text: "Write\n```\n" + need("one look", 0.8) + "\n```\nand",
		},
		silent("unclosed", `<signal type="need_turn"><reason>one more look`),
		silent("unclosed tag", `<signal type="need_turn`),
		silent("unknown type", `<signal type="done"><reason>one more look</reason></signal>`),
		silent("no type", `<signal><reason>one more look</reason></signal>`),
		silent("no reason", `<signal type="need_turn"><confidence>0.8</confidence></signal>`),
		silent("too short a reason", `<signal type="need_turn"><reason>go</reason></signal>`),
		silent("nothing attempted", `<signal type="stuck"><blocker>the index is gone</blocker></signal>`),
		silent("no more than an end", `</signal>`),
	})
}

// follow goes through conversations, with both providers.
func follow(t *testing.T, routes []route) {
	for i, r := range routes {
		for j, provider := range providers {
			t.Run(r.name+"/"+string(provider), func(t *testing.T) {
				if testing.Short() && (i+j)%len(providers) != 0 {
					t.Skip("it is followed with one provider with -short")
				}
				r.follow(t, provider)
			})
		}
	}
}

func (r route) follow(t *testing.T, provider model.Provider) {
	if r.question == "" {
		r.question = longQuestion
	}
	server := serve(t, script("== route\n"+r.script))
	s := settings(t, server, provider)
	if r.tree != nil {
		s.Tree = hasty(t, r.tree...)
	}
	s.Tools = tools{
		"search": func(string) (string, error) { return "found", nil },
		"break":  func(string) (string, error) { return "", errors.New("out of order") },
	}
	q, a, told := answered(context.Background(), t, s, r.question)
	if a.Outcome != r.outcome || !strings.Contains(a.Missing, r.missing) {
		t.Errorf("%s, %q is missing; want %s, %q", a.Outcome, a.Missing, r.outcome, r.missing)
	}
	if a.Text != r.text {
		t.Errorf("the answer is %q, want %q", a.Text, r.text)
	}
	if want := r.outcome == Answered && !strings.HasSuffix(r.events, sEnough); a.Unsignalled != want && !r.faulty {
		t.Errorf("unsignalled is %v, want %v", a.Unsignalled, want)
	}
	if diff := cmp.Diff(r.asks, asks(server, r.question)); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(strings.Fields(r.events), strings.Fields(told.names())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if n := len(server.Requests()); a.Turns != n {
		t.Errorf("%d turns, and %d requests", a.Turns, n)
	}
	kept, _ := q.board.Get(signals.KeyEmitted).([]any)
	if a.Signals != r.signals || len(kept) != r.signals && !r.faulty {
		t.Errorf("%d signals, %d kept, want %d", a.Signals, len(kept), r.signals)
	}
	if all, _ := q.board.Get(keyContent).(string); signals.Stripped(all) != all && !r.faulty {
		t.Errorf("accumulated_content has a signal: %q", all)
	}
}
