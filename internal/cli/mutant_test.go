package cli_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

func TestMutants(t *testing.T) {
	const export = "^TestExportReplacesNothing$"
	mutant.All(t, []mutant.Noticed{
		{By: "^TestCheckpointProvesNoFiles$", Mutant: mutant.Mutant{Name: "a checkpoint's check says nothing of the events", File: "ledger.go", Old: "left := []string{notRead, ", New: "left := []string{"}},
		{By: export, Mutant: mutant.Mutant{Name: "an export that failed stays", File: "ledger.go", Old: "err = errors.Join(err, s.Close())", New: "_ = s"}},
	})
}
