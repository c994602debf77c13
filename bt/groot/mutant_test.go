package groot_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("^(TestRoundTrip|TestExamples|TestRefused|TestBounds)$", []mutant.Mutant{
		{Name: "retries are attempts", File: "shapes.go", Old: "n.Retries = count - 1", New: "n.Retries = count"},
		{Name: "a parallel may fail when it likes", File: "shapes.go", Old: "if fails != all-need+1 {", New: "if fails < 0 {"},
		{Name: "preconditions are forgotten", File: "read.go", Old: "if strings.HasPrefix(a.name, \"_\") {", New: "if strings.HasPrefix(a.name, \"__\") {"},
		{Name: "a text that looks like a number is one", File: "value.go", Old: "err == nil && again == v {", New: "err == nil && again != nil {"},
		{Name: "files are as deep as they like", File: "xml.go", Old: "|| len(open) == maxDepth", New: "|| len(open) < 0"},
	}))
}
