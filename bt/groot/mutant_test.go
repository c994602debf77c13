package groot_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^(TestRoundTrip|TestExamples|TestPortsInferred|TestRefused|TestBounds)$", []mutant.Mutant{
		{Name: "retries are attempts", File: "shapes.go", Old: "n.Retries = count - 1", New: "n.Retries = count"},
		{Name: "a parallel may fail when it likes", File: "shapes.go", Old: "if fails != all-need+1 {", New: "if fails < 0 {"},
		{Name: "preconditions are forgotten", File: "read.go", Old: "if strings.HasPrefix(a.name, \"_\") {", New: "if strings.HasPrefix(a.name, \"__\") {"},
		{Name: "a text that looks like a number is one", File: "value.go", Old: "err == nil && again == v {", New: "err == nil && again != nil {"},
		{Name: "ports of a subtree have to be declared", File: "read.go", Old: "|| declared[id] ||", New: "|| true ||"},
		{Name: "declared ports are added to", File: "read.go", Old: "|| declared[id] ||", New: "||"},
		{Name: "the short form is a text", File: "value.go", Old: "bool { return value == \"{=}\" || value == \"=\" }", New: "bool { return value == \"==\" }"},
		{Name: "a text is written as the short form", File: "value.go", Old: "storable(text) && !sameName(text) {", New: "storable(text) {"},
		{Name: "files are as deep as they like", File: "xml.go", Old: "|| len(open) == maxDepth", New: "|| len(open) < 0"},
	}))
	mutant.All(t, mutant.By("^(TestRoundTrip|TestNotWritten)$", []mutant.Mutant{
		{Name: "a tree has any name", File: "write.go", Old: "if seen[e.at] {", New: "if seen[e.at] && false {"},
		{Name: "a function is both", File: "write.go", Old: "both && e.name == action {", New: "both && e.name == \"\" {"},
		{Name: "what has no children is written", File: "write.go", Old: "|| n.Kind == bt.KindParallel) && childless(n) {", New: "|| n.Kind == bt.KindParallel) && false {"},
		{Name: "a port is declared as another", File: "write.go", Old: "bt.Out: \"output_port\"", New: "bt.Out: \"outport\""},
	}))
}
