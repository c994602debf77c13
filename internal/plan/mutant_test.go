package plan_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule for what issues become, dropped, is noticed.
func TestMutants(t *testing.T) {
	const all = "^Test(FromIssues|IssueWaits|IssuesInACircle|LongIssue)$|^FuzzFromIssues$"
	mutant.All(t, mutant.By(all, []mutant.Mutant{
		{Name: "an issue's text closes its own fence", File: "issues.go", Old: "longest(body, '~')+1", New: "0"},
		{Name: "an issue's text moves the terminal", File: "issues.go", Old: "safetext.Prefix(safetext.EscapeLines(body), maxIssueText)", New: "safetext.Prefix(body, maxIssueText)"},
		{Name: "an issue's title moves the terminal", File: "issues.go", Old: "safetext.Escape(strings.Join(strings.Fields(text), \" \"))", New: "strings.Join(strings.Fields(text), \" \")"},
		{Name: "an issue's text has any length", File: "issues.go", Old: "body, first := safetext.Prefix(body, maxIssueText)\n\tbody, second := safetext.Prefix(safetext.EscapeLines(body), maxIssueText)", New: "body, first := body, true\n\tbody, second := safetext.EscapeLines(body), true"},
		{Name: "accents make a title too long", File: "issues.go", Old: "len(text) <= maxTitle {", New: "len(text) <= 2*MaxText {"},
		{Name: "circles stay", File: "issues.go", Old: "group[place[id]] == group[i]", New: "group[place[id]] == -1"},
		{Name: "an issue waits for what is not there", File: "issues.go", Old: "case !chosen:\n", New: "case !chosen:\n\t\t\t\tt.BlockedBy = append(t.BlockedBy, \"GH-0\")\n"},
		{Name: "an example in code is waited for", File: "issues.go", Old: "case opens:\n\t\t\tin = f", New: "case opens:\n\t\t\t_ = f"},
	}))
}
