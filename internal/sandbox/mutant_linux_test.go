//go:build amd64 || arm64

package sandbox_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of the rules that keep a command from speaking for the program that runs it, left out,
// is noticed.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package anew for each mutant; not with -short")
	}
	for _, m := range []mutant.Mutant{
		{Name: "what programs keep is not hidden", File: "state.go", Old: "Nested: true, Hidden: s.Own,", New: "Nested: true,"},
		{Name: "signals are let out", File: "landlock_linux.go", Old: " | unix.LANDLOCK_SCOPE_SIGNAL", New: ""},
		{Name: "a nested command has its program's users", File: "bubblewrap_linux.go", Old: `"--unshare-user", `, New: ""},
		{Name: "a nested command is let read all", File: "nest.go", Old: "p.Grants, err = e.grants()", New: `_, err = e.grants(); p.Grants = []grant{{"/", writable}}`},
		{Name: "a shell without its nest is run", File: "nest.go", Old: "if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {", New: "if errors.Is(err, fs.ErrNotExist) {\n\t\treturn nil\n\t}\n\tif false {"},
	} {
		t.Run(m.Name, func(t *testing.T) {
			if err := m.Run(t.Context(), ".", "TestNest"); err != nil {
				t.Error(err)
			}
		})
	}
}
