package descriptors

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule, dropped, is noticed by the test named with it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestWaitOut$", Mutant: mutant.Mutant{Name: "a shortage is not waited out", File: "descriptors.go", Old: "if !Short(err) {", New: "if true {"}},
		{By: "TestWaitOut$", Mutant: mutant.Mutant{Name: "a failed sync is tried again", File: "descriptors.go", Old: `of.Op != "sync" && `, New: ""}},
		{By: "TestForConnections", Mutant: mutant.Mutant{Name: "connections get every descriptor", File: "descriptors.go", Old: "return limit - min(limit/2, mostKept)", New: "return limit"}},
	})
}
