package ledger_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed by the tests named with it.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	const edge = "^TestEdge|^TestReadEdge"
	for _, m := range []struct {
		noticed string
		mutant.Mutant
	}{
		{edge, mutant.Mutant{Name: "an edge's root is not compared", File: "edge.go", Old: "root != c.Root {", New: "root != c.Root && false {"}},
		{edge, mutant.Mutant{Name: "a tile of the edge may be short", File: "edge.go", Old: "if err == nil && len(tile) != width*hashSize {", New: "if false {"}},
		{edge, mutant.Mutant{Name: "a level of the edge is left out", File: "edge.go", Old: "if width == 0 {", New: "if width == 0 || level == 1 {"}},
		{edge, mutant.Mutant{Name: "clones share their tiles", File: "edge.go", Old: "clone.levels[level] = slices.Clone(tile)", New: "clone.levels[level] = tile"}},
		{edge, mutant.Mutant{Name: "a full tile is overwritten by the next", File: "edge.go", Old: "append(slices.Clip(e.levels[level]), hash[:]...)", New: "append(e.levels[level], hash[:]...)"}},
		{edge, mutant.Mutant{Name: "a partial tile is overwritten by the next", File: "edge.go", Old: "len(tile)/hashSize), slices.Clone(tile))", New: "len(tile)/hashSize), tile)"}},
		{edge, mutant.Mutant{Name: "an event is taken although its tile was not kept", File: "edge.go", Old: "index/TileWidth, TileWidth), tile); err != nil {\n", New: "index/TileWidth, TileWidth), tile); err != nil {\n\t\t\t\te.size++\n"}},
		{edge, mutant.Mutant{Name: "a partial tile of the same width is written again", File: "edge.go", Old: "if len(tile) == 0 || n == older>>(tileHeight*level) {", New: "if len(tile) == 0 {"}},
	} {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			if err := m.Run(t.Context(), ".", m.noticed); err != nil {
				t.Error(err)
			}
		})
	}
}
