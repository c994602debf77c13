package oracle

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signalbox-dev/signalbox/bt/lua"
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
		keyLastSignal: "Signal", "signals_emitted": "list", "consecutive_same_reason": "int", "turns_without_signal": "int", keyParsed: "bool",
	}
	got := map[string]string{}
	for key := range want {
		got[key] = tree.Blackboard[key]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
