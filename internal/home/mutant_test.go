package home

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestHomeMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	for _, m := range []struct {
		name, file, before, after, test string
	}{
		{"a copy is another name for the same file", "copy.go",
			"return copyFile(from, to, info)", `return os.Link(from.Name()+"/"+info.Name(), to.Name()+"/"+info.Name())`, "TestCopy$"},
		{"a copy has no bounds", "copy.go",
			"return errTooLarge", "return nil", "TestCopyEnds"},
		{"removing descends", "remove.go",
			`err = r.empty(".")`, "_, err = r, os.RemoveAll(dir)", "TestDeep"},
		{"a base has the user's secrets", "store.go",
			"err := takeUp(h.Path)", "var err error", "TestSettings"},
		{"what agents can write is a setting", "settings.go",
			"|| sandbox.InAny(name, u.Agents) || sandbox", "|| false && sandbox.InAny(name, u.Agents) || false && sandbox", "TestSettings"},
		{"modules that agents can write are a source", "user.go",
			"&& !sandbox.InAny(at, u.Agents)", "", "TestEnvironmentWhereAgentsWrite"},
		{"programs are run from where agents can write", "user.go",
			"shut := append(u.Caches(), u.Agents...)", "shut := u.Caches()", "TestEnvironmentWhereAgentsWrite"},
		{"a variable in other letters still counts", "user.go",
			"strings.EqualFold(a, b)", "false", "TestEnvironment"},
		{"a base grows for ever", "store.go",
			"s.now().Sub(began.ModTime()) < maxAge", "began != nil", "TestSeed"},
		{"what was interrupted is begun with", "store.go",
			"err := errors.Join(os.MkdirAll(s.dir, 0o700), s.discard(filepath.Base(h.Path)), os.Mkdir(h.Path, 0o700))", "err := os.MkdirAll(h.Path, 0o700)", "TestStoreAfterKill"},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			(mutant.Mutant{Name: m.name, File: m.file, Old: m.before, New: m.after}).Check(t, ".", m.test)
		})
	}
}
