//go:build unix

package box

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// What is lost on the way from one agent to the next is noticed.
func TestHandoffMutants(t *testing.T) {
	mutant.All(t, mutant.By("^TestSaidComesToTheNext$|^TestLeftOutURL$|^TestHostileEvidence$", []mutant.Mutant{
		{Name: "a claim does not come to the next", File: "handoff.go", Old: "b.statement(i.Said.Claim)", New: "b.statement(0)"},
		{Name: "findings do not come to the next", File: "handoff.go", Old: "b.statement(i.Said.Findings)", New: "b.statement(0)"},
		{Name: "nobody hears what is asked for", File: "handoff.go", Old: "return p.Asked, err", New: "return \"\", err"},
		{Name: "evidence keeps its secrets", File: "handoff.go", Old: "b.archive.PutBlob(b.redact.Bytes(data))", New: "b.archive.PutBlob(data)"},
		{Name: "evidence that is not there is not told", File: "handoff.go", Old: "return &work.Kept{Problem: \"it is not there\"}, nil", New: "return &work.Kept{}, nil"},
		{Name: "what was left out is not told", File: "emit.go", Old: "if f.LeftOut != nil {", New: "if false {"},
	}))
}
