//go:build amd64 || arm64

package sandbox_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of the rules that keep a command from speaking for the program that runs it, left out,
// is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestNest", []mutant.Mutant{
		{Name: "what programs keep is not hidden", File: "state.go", Old: "Nested: true, Hidden: s.Kept(),", New: "Nested: true,"},
		{Name: "signals are let out", File: "landlock_linux.go", Old: " | unix.LANDLOCK_SCOPE_SIGNAL", New: ""},
		{Name: "a nested command has its program's users", File: "bubblewrap_linux.go", Old: `"--unshare-user", `, New: ""},
		{Name: "a nested command is let read all", File: "nest.go", Old: "p.Grants, err = e.grants()", New: `_, err = e.grants(); p.Grants = []grant{{"/", writable}}`},
		{Name: "a shell without its nest is run", File: "nest.go", Old: "if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {", New: "if errors.Is(err, fs.ErrNotExist) {\n\t\treturn nil\n\t}\n\tif false {"},
		{Name: "a command has its program's variables", File: "enter_linux.go", Old: " || slices.Contains(p.Unset, name)", New: ""},
		{Name: "a shell knows its nest by a variable alone", File: "nest.go", Old: "nest = filepath.Dir(dir) // the", New: "// the"},
	}))
	mutant.All(t, mutant.By("TestFollowed|TestState", []mutant.Mutant{
		{Name: "an agent may write what all programs keep", File: "state.go", Old: "s.Others = append(s.Others, dir)", New: "s.Own = append(s.Own, dir)"},
		{Name: "hooks are not looked at", File: "state.go", Old: `"skills", "hooks", "rules", "output-styles"`, New: `"skills", "rules", "output-styles"`},
		{Name: "what was put back was not changed", File: "follow_linux.go", Old: "return s.Ctim.Nano()", New: "_ = s"},
		{Name: "what is new is no change", File: "follow.go", Old: "if _, ok := s[path]; !ok {", New: "if false {"},
		{Name: "too many files are passed over", File: "follow.go", Old: "l.trouble(\".\", err)\n\t}\n\tmaps", New: "_ = err\n\t}\n\tmaps"},
		{Name: "a note may hold more", File: "follow.go", Old: `trust_level = "trusted")+\n+(\[|$)`, New: `trust_level = "trusted")+\n+()`},
	}))
}
