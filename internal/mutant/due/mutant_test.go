package main

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these lets a package pass whose faults were not all noticed as it is now.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestHash", Mutant: mutant.Mutant{Name: "what an import imports does not count", File: "hash.go",
			Old: "\t\tnames = append(names, p.Imports...)\n", New: ""}},
		{By: "TestHash", Mutant: mutant.Mutant{Name: "a path that a test names does not count", File: "hash.go",
			Old: "found = append(found, matches...)", New: "_ = matches"}},
		{By: "TestHash", Mutant: mutant.Mutant{Name: "testdata does not count", File: "hash.go",
			Old: `filepath.Join(p.Dir, "testdata")`, New: `filepath.Join(p.Dir, "none")`}},
		{By: "TestDue", Mutant: mutant.Mutant{Name: "a package that passed once is never due again", File: "main.go",
			Old: "!all && before[p] == hash", New: `!all && before[p] != ""`}},
		{By: "TestNotPassed/not_put_in", Mutant: mutant.Mutant{Name: "a fault that was not put in passes", File: "main.go",
			Old: `[]byte("--- SKIP")`, New: `[]byte("--- NONE")`}},
		{By: "TestNotPassed/changed", Mutant: mutant.Mutant{Name: "what changed meanwhile passes", File: "main.go",
			Old: "if after != hash {", New: "if after != hash && false {"}},
	})
}
