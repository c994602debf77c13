package oracle

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/bt/lua"
	"github.com/signalbox-dev/signalbox/bt/signals"
)

// The tree that the document of the signals shows is one of ours: its functions are found, by the paths that it gives them.
func TestTreeOfTheSource(t *testing.T) {
	source, err := os.ReadFile("../../bt/lua/testdata/good/source.lua")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := lua.Load(t.Context(), "source.lua", source)
	if err != nil {
		t.Fatal(err)
	}
	for key, kind := range (&query{}).library().Keys { // which it leaves to what is there already
		if _, declared := tree.Blackboard[key]; !declared {
			tree.Blackboard[key] = kind
		}
	}
	if _, err := Compile(tree); err != nil {
		t.Error(err)
	}
}

// sourceKeys are what has to be added to the source's blackboard, where it says "existing fields".
const sourceKeys = `        turn = "int", last_turn = "bool", llm_response = "map", prev_signal = "Signal",
        accumulated_content = "string", _signal_parsed_this_turn = "bool", outcome = "string", missing = "string",
`

// sourceRoot is the tree's root that the source leaves out.
const sourceRoot = `    root = BT.sequence({
        BT.subtree("agent-turn"),
        BT.action("end", { fn = "oracle.finish", args = { outcome = "answered" } }),
    }),
`

// The document's Lua, letter by letter, is a tree with what docs/oracle.md says to add, and it answers.
func TestSnippetsOfTheSource(t *testing.T) {
	page, err := os.ReadFile("../../docs/oracle.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, added := range []string{sourceKeys, sourceRoot} {
		if !strings.Contains(string(page), added) {
			t.Errorf("docs/oracle.md does not say to add\n%s", added)
		}
	}
	read := func(name string) string {
		text, err := os.ReadFile("testdata/source/" + name + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const existing = "    -- ... existing fields ...\n"
	board := read("blackboard")
	if strings.Count(board, existing) != 1 {
		t.Fatalf("no place for further keys in\n%s", board)
	}
	board = strings.Replace(board, existing, sourceKeys, 1)
	for name, text := range map[string]string{
		"agent-turn": read("agent-turn") + "\nBT.tree(\"mine\", {\n" + board + sourceRoot + "})\n",
		"signal-phase": `
BT.subtree("agent-turn", { root = BT.sequence({
    BT.action("build-llm-request", { fn = "oracle.build_llm_request" }),
    BT.llm_call({}),
` + read("signal-phase") + "}) })\nBT.tree(\"mine\", {\n" + board + sourceRoot + "})\n",
	} {
		tree, err := lua.Load(t.Context(), name, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		for _, provider := range providers {
			s := settings(t, serve(t, script("== route\n"+asksWhat+"says: It checks. {enough 0.9}")), provider)
			s.Tree = tree
			if a, told := answerTo(t, s, longQuestion); a.Outcome != Answered || a.Text != "It checks." || a.Signals != 1 || told.named(sEnough) != 1 {
				t.Errorf("%s: %+v, events %s", name, a, told.names())
			}
		}
	}
}

// The tree that is used declares what is known of signals, with the types that the document gives.
func TestTreeDeclaresSignalState(t *testing.T) {
	source, err := os.ReadFile("trees/" + TreeName + ".lua")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := lua.Load(t.Context(), TreeName, source)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		keyLastSignal: "Signal", "signals_emitted": "list", "consecutive_same_reason": "int", "turns_without_signal": "int", signals.KeyParsed: "bool",
	}
	got := map[string]string{}
	for key := range want {
		got[key] = tree.Blackboard[key]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
