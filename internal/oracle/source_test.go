package oracle

import (
	"os"
	"testing"

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
