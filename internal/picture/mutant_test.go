package picture_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of how something is placed, dropped, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestDraw|TestDrawOrder|TestCritical|TestDrawMany|TestLay|TestMeasure", []mutant.Mutant{
		{Name: "a circle is followed", File: "graph.go", Old: "!ok || state[on] == 1 ||", New: "!ok ||"},
		{Name: "what is over is on the chain", File: "graph.go", Old: "\t\tif tasks[i].Over {\n\t\t\tcontinue\n\t\t}\n", New: ""},
		{Name: "lines that follow are drawn", File: "graph.go", Old: "if !implied {", New: "if !implied || true {"},
		{Name: "a column takes any number", File: "graph.go", Old: "top, nodes, x = margin, 0, x+nodeWidth+nodeGap", New: "top, nodes = margin, 0"},
		{Name: "any number of tasks is drawn", File: "graph.go", Old: "if len(drawn) > maxNodes || len(drawn) == 0 {", New: "if len(drawn) == 0 {"},
		{Name: "tasks stand where they begin", File: "graph.go", Old: "layer[i] = max(layer[i], layer[w]+1)", New: "layer[i] = max(layer[i], layer[w])"},
		{Name: "any number of rows", File: "chart.go", Old: "t := Timeline{Left: max(0, len(order)-maxRows)}", New: "t := Timeline{}"},
		{Name: "what lies outside is drawn outside", File: "chart.go", Old: "return min(100, max(0, 100*float64(x.Sub(from))/float64(whole)))", New: "return 100 * float64(x.Sub(from)) / float64(whole)"},
		{Name: "a small amount is not seen", File: "chart.go", Old: "width = min(100, max(leastWidth, 100*a.Value/whole))", New: "width = min(100, 100*a.Value/whole)"},
		{Name: "a part is wider than the whole", File: "chart.go", Old: "width = min(100, max(leastWidth, 100*a.Value/whole))", New: "width = max(leastWidth, 100*a.Value/whole)"},
	}))
}
