//go:build unix

package adviser

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of what an expert may call, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestRefused$", Mutant: mutant.Mutant{Name: "what changes something needs no leave", File: "tools.go", Old: "if changes && !slices.Contains(t.allow, name) {", New: "if false {"}},
		{By: "^TestUnrecorded$", Mutant: mutant.Mutant{Name: "a call that is not recorded is made", File: "tools.go", Old: "\t\tif !ok {", New: "\t\tif !ok && false {"}},
		{By: "^TestUnrecorded$", Mutant: mutant.Mutant{Name: "any word will do", File: "tools.go", Old: "if word := a.waiting[w.Call]; word != nil {", New: "if word := a.waiting[a.calls]; word != nil {"}},
		{By: "^TestDone$", Mutant: mutant.Mutant{Name: "a key that is refused is a question without an answer", File: "adviser.go", Old: "d.Refused = trouble.Status == http.StatusUnauthorized", New: "d.Refused = false"}},
	})
}
