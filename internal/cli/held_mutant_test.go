package cli

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, in how commands hold what they print, is noticed by the test beside it.
func TestHeldMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestPrintsWithoutTheBox", Mutant: mutant.Mutant{Name: "a list is printed while the box is open", File: "list.go",
			Old: "held.Items = append(held.Items, page...)\n\t\t\t\treturn nil", New: "return rows(page)"}},
		{By: "TestPrintsWithoutTheBox", Mutant: mutant.Mutant{Name: "events are printed while the box is open", File: "events.go",
			Old: "return holdEvents(ctx, c, id, after, limit, room) })",
			New: "h, err := holdEvents(ctx, c, id, after, limit, room)\n\t\t\tfor _, e := range h.events {\n\t\t\t\t_ = a.event(e)\n\t\t\t}\n\t\t\treturn h, err\n\t\t})"}},
		{By: "TestEventsInParts", Mutant: mutant.Mutant{Name: "the first part is all", File: "events.go",
			Old: "if !held.cut {", New: "if held.next >= 0 {"}},
		{By: "TestEventsInParts", Mutant: mutant.Mutant{Name: "each part has the limit", File: "events.go",
			Old: "limit -= len(held.events)\n", New: "limit -= 0\n"}},
		{By: "TestEventsInParts", Mutant: mutant.Mutant{Name: "the last event that is wanted ends a part", File: "events.go",
			Old: "room <= 0 && len(held.events) != limit {", New: "room <= 0 {"}},
	})
}
