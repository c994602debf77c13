package home

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestHomeMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestCopy$", Mutant: mutant.Mutant{Name: "a copy is another name for the same file", File: "copy.go",
			Old: "return copyFile(from, to, info)", New: `return os.Link(from.Name()+"/"+info.Name(), to.Name()+"/"+info.Name())`}},
		{By: "TestCopyEnds", Mutant: mutant.Mutant{Name: "a copy has no bounds", File: "copy.go",
			Old: "return errTooLarge", New: "return nil"}},
		{By: "TestDeep", Mutant: mutant.Mutant{Name: "removing descends", File: "remove.go",
			Old: `err = r.empty(".")`, New: "_, err = r, os.RemoveAll(dir)"}},
		{By: "TestSettings", Mutant: mutant.Mutant{Name: "a base has the user's secrets", File: "store.go",
			Old: "err := takeUp(h.Path)", New: "var err error"}},
		{By: "TestSettings", Mutant: mutant.Mutant{Name: "what agents can write is a setting", File: "settings.go",
			Old: "|| sandbox.InAny(name, u.Agents) || sandbox", New: "|| false && sandbox.InAny(name, u.Agents) || false && sandbox"}},
		{By: "TestEnvironmentWhereAgentsWrite", Mutant: mutant.Mutant{Name: "modules that agents can write are a source", File: "user.go",
			Old: "&& !sandbox.InAny(at, u.Agents)", New: ""}},
		{By: "TestEnvironmentWhereAgentsWrite", Mutant: mutant.Mutant{Name: "programs are run from where agents can write", File: "user.go",
			Old: "shut := append(u.Caches(), u.Agents...)", New: "shut := u.Caches()"}},
		{By: "TestEnvironment", Mutant: mutant.Mutant{Name: "a variable in other letters still counts", File: "user.go",
			Old: "strings.EqualFold(a, b)", New: "false"}},
		{By: "TestSeed", Mutant: mutant.Mutant{Name: "a base grows for ever", File: "store.go",
			Old: "s.now().Sub(began.ModTime()) < maxAge", New: "began != nil"}},
		{By: "TestStoreAfterKill", Mutant: mutant.Mutant{Name: "what was interrupted is begun with", File: "store.go",
			Old: "err := errors.Join(os.MkdirAll(s.dir, 0o700), s.discard(filepath.Base(h.Path)), os.Mkdir(h.Path, 0o700))", New: "err := os.MkdirAll(h.Path, 0o700)"}},
	})
}
