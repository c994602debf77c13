package box

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, by which a git that hangs would hold a box's directory, is noticed by the test beside it.
func TestHangingMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestStopStart", Mutant: mutant.Mutant{Name: "a look outlives the start", File: "operate.go",
			Old: "b.lookAgain(ctx, patience)", New: "b.lookAgain(b.ctx, patience)"}},
		{By: "TestStopStart", Mutant: mutant.Mutant{Name: "a start that was stopped goes on", File: "operate.go",
			Old: "return notes, ctx.Err()", New: "return notes, nil"}},
		{By: "TestLookHangs", Mutant: mutant.Mutant{Name: "a look takes as long as it takes", File: "operate.go",
			Old: "context.WithTimeout(ctx, patience)", New: "context.WithCancel(ctx)"}},
		{By: "TestGitHangs", Mutant: mutant.Mutant{Name: "a repository is opened for as long as it takes", File: "operate.go",
			Old: "context.WithTimeoutCause(ctx, patience,", New: "context.WithTimeoutCause(ctx, time.Hour,"}},
	})
}
