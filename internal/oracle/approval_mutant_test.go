package oracle

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each rule of approval, dropped, is noticed.
func TestApprovalMutants(t *testing.T) {
	const file = "approval.go"
	mutant.All(t, mutant.By("^TestApproved|^TestRefused$|^TestAllowed|^TestApproval|^TestArgumentsTwice$|^TestAwaitApproval$", []mutant.Mutant{
		{Name: "every tool only reads", File: file, Old: "|| i < 0 || tools[i].ReadOnly {", New: "|| i < 0 || true {"},
		{Name: "a tool that only reads is asked for", File: file, Old: "|| i < 0 || tools[i].ReadOnly {", New: "|| i < 0 {"},
		{Name: "a call is made before it is recorded", File: file, Old: "err = q.recordNow(entry)", New: "q.record(entry)"},
		{Name: "what is not recorded is done", File: file, Old: "case err != nil:\n\t\tv.refused", New: "case false:\n\t\tv.refused"},
		{Name: "a refusal is no refusal", File: file, Old: "case !d.Allowed:", New: "case false:"},
		{Name: "nobody can allow", File: file, Old: `if d.By == "" || d.By == ByNobody {`, New: "if false {"},
		{Name: "always is for every tool", File: file, Old: "case q.always[p.Tool.Name]:", New: "case len(q.always) > 0:"},
		{Name: "always is for once", File: file, Old: "case q.always[p.Tool.Name]:", New: "case false:"},
		{Name: "whoever allows once allows always", File: file, Old: "q.always[p.Tool.Name] || d.Always", New: "d.Allowed"},
		{Name: "a lost call has failed", File: file, Old: "if r.Unknown {", New: "if false {"},
		{Name: "a name that is there twice is asked about", File: file, Old: "return ruling{refused: err.Error()}", New: "arguments = call.Arguments"},
		{Name: "a tree without the node is not asked", File: "tools.go", Old: "rulings = q.decide(ctx, turn, calls, alive)", New: "rulings = make([]ruling, len(calls))"},
		{Name: "who is asked stalls the tree", File: file, Old: "defer keepAlive(alive)() // a person takes their time", New: ""},
	}))
}
