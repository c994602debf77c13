package api_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults of a client, put in on purpose, is noticed by the test beside it.
func TestClientMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestFollowGoesOn", Mutant: mutant.Mutant{Name: "a client that was disconnected gives up", File: "client.go",
			Old: "if !again || !met || ctx.Err() != nil {", New: "if again || !met || ctx.Err() != nil {"}},
		{By: "TestFollowGoesOn", Mutant: mutant.Mutant{Name: "a client that comes back begins anew", File: "client.go",
			Old: "after, refused = e.Sequence, f(e)", New: "refused = f(e)"}},
		{By: "TestFollowEnds", Mutant: mutant.Mutant{Name: "a box that was never there is waited for", File: "client.go",
			Old: "if !again || !met || ctx.Err() != nil {", New: "if !again || !met && false || ctx.Err() != nil {"}},
		{By: "TestPlanIsNotEscapedAsHTML", Mutant: mutant.Mutant{Name: "a plan is escaped as HTML", File: "client.go",
			Old: "e.SetEscapeHTML(false)", New: "e.SetEscapeHTML(true)"}},
	})
}
