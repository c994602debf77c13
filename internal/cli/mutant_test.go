package cli_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

func TestMutants(t *testing.T) {
	const export = "^TestExportReplacesNothing$"
	mutant.All(t, []mutant.Noticed{
		{By: "^TestCheckpointProvesNoFiles$", Mutant: mutant.Mutant{Name: "a checkpoint's check says nothing of the events", File: "ledger.go", Old: "left := []string{notRead, ", New: "left := []string{"}},
		{By: "^TestDiffView$", Mutant: mutant.Mutant{Name: "a diff acts upon the terminal", File: "diffview.go", Old: "text := safetext.EscapeLines(string(v.line[:n]))", New: "text := safetext.EscapeLines(\"\") + string(v.line[:n])"}},
		{By: "^TestDiffView$", Mutant: mutant.Mutant{Name: "a removed line counts as a header", File: "diffview.go", Old: "if v.old > 0 || v.new > 0 {", New: "if v.old > 1 || v.new > 1 {"}},
		{By: "^TestTaskState$", Mutant: mutant.Mutant{Name: "a developer's word is a review", File: "diff.go", Old: "judged := before.Lease != nil && delivery.Reviewer(before.Lease.Role)", New: "judged := before.Lease != nil && delivery.Reviewer(\"critic\")"}},
		{By: export, Mutant: mutant.Mutant{Name: "an export that failed stays", File: "ledger.go", Old: "err = errors.Join(err, s.Close())", New: "_ = s"}},
	})
}
