package runview_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed.
func TestMutants(t *testing.T) {
	mutant.All(t, mutant.By("TestPlanOf|TestReport|TestHostileReport|TestCards|TestCostOf", []mutant.Mutant{
		{Name: "what needs a person looks like the rest", File: "runview.go", Old: "case asks:", New: "case asks && false:"},
		{Name: "what nobody sees stays so", File: "runview.go", Old: "return safetext.EscapeLines(fmt.Sprint(s))", New: "return fmt.Sprint(s)"},
		{Name: "what others say is markup", File: "runview.go", Old: "func(s any) string { return safetext.EscapeLines(fmt.Sprint(s)) }", New: "func(s any) template.HTML { return template.HTML(fmt.Sprint(s)) }"},
		{Name: "a table has any number of rows", File: "runview.go", Old: "if i < maxValues {", New: "if i >= 0 {"},
		{Name: "a cost that is not whole looks whole", File: "runview.go", Old: "r := stats.Row{Uncosted: int64(uncosted)}", New: "r := stats.Row{}"},
		{Name: "an answer is told of nobody", File: "report.go", Old: "case e.Type == delivery.PlanAmended, e.Type == delivery.QuestionAnswered, named", New: "case e.Type == delivery.PlanAmended, false && named"},
		{Name: "what is not proven is called proven", File: "report.go", Old: "p.Wrong = append(p.Wrong, e)", New: "_ = e"},
		{Name: "what is not signed yet is called proven", File: "report.go", Old: "p.Pending++", New: "_ = e"},
	}))
}
