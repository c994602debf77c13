package service

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults, put in on purpose, is noticed by the test beside it.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "TestStopStart", Mutant: mutant.Mutant{Name: "a look outlives the start", File: "../conductor/conductor.go",
			Old: "c.lookAgain(ctx, patience)", New: "c.lookAgain(c.group.Context(), patience)"}},
		{By: "TestStopStart", Mutant: mutant.Mutant{Name: "a start that was stopped goes on", File: "../conductor/conductor.go",
			Old: "if err := ctx.Err(); err != nil {\n\t\treturn err\n\t}\n\tmarked", New: "marked"}},
		{By: "TestGitHangs", Mutant: mutant.Mutant{Name: "a repository is opened for as long as it takes", File: "service.go",
			Old: "opening, cancel := patient(ctx, patience)\n\t\tdefer", New: "opening, cancel := patient(ctx, time.Hour)\n\t\tdefer"}},
		{By: "TestEndedRunIsTidiedUp", Mutant: mutant.Mutant{Name: "every start tidies up after every run", File: "../runner/ended.go",
			Old: "default:\n\t\tx.Unmark(r.Subject)", New: "default:"}},
		{By: "TestEndedRunIsTidiedUp", Mutant: mutant.Mutant{Name: "what could not be taken away is forgotten", File: "../runner/ended.go",
			Old: "\tcase err != nil:\n\t\tx.logger.Warn(", New: "\tcase err != nil:\n\t\tx.Unmark(r.Subject)\n\t\tx.logger.Warn("}},
		{By: "TestRunsWithoutMarks", Mutant: mutant.Mutant{Name: "runs of a version before get no marks", File: "../runner/ended.go",
			Old: "err = errors.Join(err, x.mark(subject))", New: "_ = subject"}},
		{By: "TestGatesAreNotTheUsers", Mutant: mutant.Mutant{Name: "where a version before ran checks stays the user's", File: "../runner/runner.go",
			Old: "if err := repo.Disown(ctx, x.gatesDir()); err != nil {", New: "if err := error(nil); err != nil {"}},
		{By: "TestNoRunWithoutMark", Mutant: mutant.Mutant{Name: "a run is recorded without a mark", File: "../runner/start.go",
			Old: "return x.mark(subject)", New: "_ = x.mark(subject)\n\treturn nil"}},
	})
}
