package qr

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of the drawing, changed, is noticed.
func TestMutants(t *testing.T) {
	const file = "qr.go"
	mutant.All(t, mutant.By("TestReadBack|TestDrawn", []mutant.Mutant{
		{Name: "another field", File: file, Old: "carry*0x1d", New: "carry*0x2d"},
		{Name: "blocks behind each other", File: file, Old: "if i < len(block) {", New: "if i < len(block)-1 {"},
		{Name: "a bit of the format elsewhere", File: file, Old: "c.set(8, i+1, dark)", New: "c.set(8, i, dark)"},
		{Name: "another level", File: file, Old: "^ 0x5412", New: "^ 0x5413"},
		{Name: "the timing pattern is data", File: file, Old: "if right == 6 {", New: "if right == 7 {"},
		{Name: "any mask will do", File: file, Old: "p < least {", New: "p > least {"},
		{Name: "a corner that is covered", File: file, Old: "if x+y == 12 || ", New: "if "},
		{Name: "a version that is not said", File: file, Old: "if number >= 7 {", New: "if number > 7 {"},
		{Name: "a long text's length is short", File: file, Old: "count = 16", New: "count = 8"},
	}))
}
