package oracle

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/bt/lua"
	"github.com/signalbox-dev/signalbox/internal/oracle/model"
)

// own are settings with a tree of one's own: what stands between the braces of its root.
func own(t *testing.T, script, root string) Settings {
	t.Helper()
	s := settings(t, serve(t, script), model.OpenAI)
	tree, err := lua.Load(context.Background(), "own.lua", []byte(`
local function finish(outcome) return BT.action("finish", { fn = "oracle.finish", args = { outcome = outcome } }) end
BT.tree("own", {
  blackboard = {
    turn = "int", last_turn = "bool", llm_response = "map", last_signal = "Signal", prev_signal = "Signal", tool_results = "list",
    _signal_parsed_this_turn = "bool", outcome = "string", missing = "string", found = "string",
  },
  root = `+root+`,
})`))
	if err != nil {
		t.Fatal(err)
	}
	s.Tree = tree
	return s
}

const chatter = "== hello\nasked: ^hello\nsays: Hello!\ncalls: look {}\nresult:\nsays: Hello again!\n"

// The budget holds for a tree that does not ask about it.
func TestBudgetOfAnyTree(t *testing.T) {
	server := serve(t, "== hello\nasked: ^hello\nsays: Hello!\n")
	s := own(t, "== unused\nasked: x\nsays: x\n", `BT.loop(BT.always_succeed(BT.llm_call({})), { times = 100 })`)
	s.Client = settings(t, server, model.OpenAI).Client
	a, _ := answerTo(t, s, "hello")
	if n := len(server.Requests()); n != defaultTurns || a.Turns != defaultTurns || !strings.Contains(a.Missing, "the budget of 30 turns is spent") {
		t.Errorf("%d requests, %+v", n, a)
	}
}

// A budget in a tree counts the tokens of requests and replies.
func TestBudgetNode(t *testing.T) {
	server := serve(t, "== hello\nasked: ^hello\nsays: Hello!\n")
	s := own(t, "== unused\nasked: x\nsays: x\n", `BT.budget(BT.loop(BT.always_succeed(BT.llm_call({})), { times = 20 }), { tokens = 500 })`)
	s.Client = settings(t, server, model.OpenAI).Client
	a, _ := answerTo(t, s, "hello")
	if n, used := len(server.Requests()), a.TokensIn+a.TokensOut; n < 2 || n >= 20 || used <= 500 || used-used/n > 500 {
		t.Errorf("%d requests took %d tokens", n, used)
	}
}

// A script can set any outcome; only those that there are count, and nothing of it acts on
// a terminal.
func TestOutcomeOfScript(t *testing.T) {
	s := own(t, chatter, `BT.script("end", { source = [[bb.set_global("outcome", "\27]0;x\7") return true]] })`)
	a, told := answerTo(t, s, "hello")
	if a.Outcome != Failed || !strings.Contains(a.Missing, "which is no outcome") || strings.Contains(told.of(System), "\x1b") {
		t.Errorf("%+v", a)
	}
}

// A reply's calls are run once, and a tool node is a call like any other.
func TestToolsOfAnyTree(t *testing.T) {
	run := `BT.action("run", { fn = "oracle.run_tools" })`
	s := own(t, chatter, `BT.sequence({
    BT.llm_call({}), `+run+`, BT.always_succeed(`+run+`),
    BT.tool("search", { tool = "look", args = { n = 1 }, result = "found" }),
    BT.llm_call({}), finish("answered") })`)
	calls := 0
	s.Tools = tools{"look": func(string) (string, error) { calls++; return "something", nil }}
	a, told := answerTo(t, s, "hello")
	want := Answer{Outcome: Answered, Unsignalled: true, Text: "Hello again!", Class: "conversational", Turns: 2, ToolCalls: 2, TokensIn: 200, TokensOut: 40, Sources: []string{"look"}}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	if calls != 2 || told.named("tool.call.started") != 2 || told.named("tool.call.succeeded") != 2 {
		t.Errorf("%d calls, events %+v", calls, told.events)
	}
}

// Why a tree ended without an answer is said.
func TestReasonOfTree(t *testing.T) {
	s := own(t, chatter, `BT.script("think", { source = [[return bb.gett("x")]] })`)
	a, _ := answerTo(t, s, "hello")
	if a.Outcome != Failed || !strings.Contains(a.Missing, "own/think: ") || !strings.Contains(a.Missing, "bb.gett") {
		t.Errorf("%+v", a)
	}
}
