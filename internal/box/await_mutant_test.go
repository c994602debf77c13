package box

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestAwaitMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestStartBesideRequests", Mutant: mutant.Mutant{Name: "a box does not wait for one that is there for a request", File: "places.go",
			Old: "context.WithTimeout(ctx, o.Patience)", New: "context.WithTimeout(ctx, 0)"}},
		{By: "TestStartBesideRequests", Mutant: mutant.Mutant{Name: "a request does not make way for a box that is to stay", File: "places.go",
			Old: "if held {", New: "if held && false {"}},
		{By: "TestStartGivesUp", Mutant: mutant.Mutant{Name: "a box waits although it is cancelled", File: "places.go",
			Old: "if ctx.Err() != nil {\n\t\t\t\treturn nil, ctx.Err()", New: "if false {\n\t\t\t\treturn nil, ctx.Err()"}},
	})
}
