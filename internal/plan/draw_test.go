package plan_test

import (
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/internal/plan"
)

// A drawing is laid out by the columns that safetext counts: a syllable in three letters takes two, as does one in a single letter.
func TestDrawColumns(t *testing.T) {
	draw := func(title string) string {
		p := plan.Plan{Tasks: []plan.Task{{ID: "A", Title: "first one"}, {ID: "B", Title: title, BlockedBy: []string{"A"}}}}
		return p.Draw(80)
	}
	const one, three = "\ud55c", "\u1112\u1161\u11ab"
	if got, want := strings.ReplaceAll(draw(three), three, one), draw(one); got != want {
		t.Errorf("drawn as\n%swant\n%s", got, want)
	}
}
