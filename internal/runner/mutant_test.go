package runner_test

import (
	"testing"

	"github.com/signalbox-dev/signalbox/internal/mutant"
)

// Each of these faults is noticed by the test that it names.
func TestMutants(t *testing.T) {
	mutant.All(t, []mutant.Noticed{
		{By: "^TestUnprotected$", Mutant: mutant.Mutant{Name: "a role outside of the sandbox is not told of", File: "protect.go",
			Old: "if set.Sandbox == sandbox.None {", New: "if false {"}},
		{By: "^TestUnprotected$", Mutant: mutant.Mutant{Name: "checks outside of the sandbox are not told of", File: "protect.go",
			Old: "&& c.Sandbox.Checks != config.Off", New: ""}},
		{By: "^TestFinishedLeavesNothing$", Mutant: mutant.Mutant{Name: "where the branch of a run that ended was is kept", File: "ended.go",
			Old: "delete(x.branches, r.Branch)\n", New: ""}},
		{By: "^TestFinishedLeavesNothing$", Mutant: mutant.Mutant{Name: "a look after a run's end keeps where its branch is", File: "verify.go",
			Old: "x.mu.Lock()\n\ti := x.branches[branch]\n\tx.mu.Unlock()\n", New: "i := x.integration(branch)\n"}},
		{By: "^TestFinishedTooEarly$", Mutant: mutant.Mutant{Name: "what was not tried to take away is forgotten", File: "ended.go",
			Old: "case ctx.Err() != nil: // the next box goes on with it\n", New: "case ctx.Err() != nil:\n\t\tx.Unmark(r.Subject)\n"}},
		{By: "^TestTurnsEnd$", Mutant: mutant.Mutant{Name: "any report ends a turn", File: "supervise.go",
			Old: "if x.turns[session].prompt == prompt {", New: "if _, ok := x.turns[session]; ok {"}},
		{By: "^TestGateOrder$", Mutant: mutant.Mutant{Name: "what failed before is the change's fault", File: "verify.go",
			Old: "if len(before.failed) == len(failed.failed) {", New: "if false {"}},
		{By: "^TestGateOrder$", Mutant: mutant.Mutant{Name: "what an agent left is not committed", File: "verify.go",
			Old: "commit, _, err := tree.Settle(ctx, message)", New: "commit, err := tree.Head(ctx)\n\t_ = message"}},
		{By: "^TestMergeRefused$", Mutant: mutant.Mutant{Name: "a merge that fails the checks is made", File: "verify.go",
			Old: "err = fmt.Errorf(\"%w:\\n%s\", errChecks, result.output)", New: "_ = errChecks"}},
		{By: "^TestMergeRefused$", Mutant: mutant.Mutant{Name: "what nobody looked at is merged", File: "review.go",
			Old: "_, err = i.CheckMerge(i.Commit, tree)", New: "_ = i.CheckMerge"}},
		{By: "^TestMergeRefused$", Mutant: mutant.Mutant{Name: "a merge need not be allowed", File: "allow.go",
			Old: "return \"\", errNotAllowed", New: "return title, nil"}},
		{By: "^TestMergeOrder$", Mutant: mutant.Mutant{Name: "a merge that was made is made again", File: "verify.go",
			Old: "Allowed: before(*allowed),", New: "Allowed: before(nil),"}},
		{By: "^TestMergeOrder$", Mutant: mutant.Mutant{Name: "a merge carries no proof", File: "allow.go",
			Old: "return trailer.Message(title, proof)", New: "_ = proof\n\t\t_ = trailer.Message\n\t\treturn title, nil"}},
		{By: "^TestReviewRoom$", Mutant: mutant.Mutant{Name: "a reviewer looks at the developer's worktree", File: "runner.go",
			Old: "if o.Reviews {", New: "if false {"}},
		{By: "^TestReviewRoom$", Mutant: mutant.Mutant{Name: "it is not told what a reviewer is given", File: "review.go",
			Old: "return in, x.tell(ctx, o, delivery.Shown{Session: s.ID, Commit: in.commit, Tree: tree, Base: base})", New: "_ = tree\n\treturn in, nil"}},
		{By: "^TestReviewRoom$", Mutant: mutant.Mutant{Name: "a reviewer's worktree stays", File: "supervise.go",
			Old: "\tx.leaveReview(session)\n\tx.mail", New: "\tx.mail"}},
		{By: "^TestDistrust$", Mutant: mutant.Mutant{Name: "a reviewer is started although what it follows was changed", File: "followed.go",
			Old: "\treturn errDistrust\n", New: "\treturn nil\n"}},
		{By: "^TestConfine$", Mutant: mutant.Mutant{Name: "a reviewer can write the worktree", File: "confine.go",
			Old: "if slices.Contains(role.Allow, config.AllowEdit) {\n\t\tp.Write", New: "if true {\n\t\tp.Write"}},
		{By: "^TestShell$", Mutant: mutant.Mutant{Name: "checks see what agents' programs keep", File: "confine.go",
			Old: "err = x.hideCaches(p)", New: "err = nil"}},
		{By: "^TestStartOrder$", Mutant: mutant.Mutant{Name: "what a dead session had to report is lost", File: "supervise.go",
			Old: "return x.conductor.Report(ctx, s.ID, r)", New: "return nil"}},
		{By: "^TestRepairOrders$", Mutant: mutant.Mutant{Name: "a repair is taken for nothing", File: "remediate.go",
			Old: "err != nil || base == commit {", New: "err != nil || base != commit {"}},
		{By: "^TestLook$", Mutant: mutant.Mutant{Name: "nobody looks at the run's branch", File: "supervise.go",
			Old: "append(x.touched.look(ctx), x.astray(ctx, branch)...)", New: "x.touched.look(ctx)"}},
		{By: "^TestNotify$", Mutant: mutant.Mutant{Name: "the webhook's address is told", File: "notify.go",
			Old: "req.URL.Hostname(), failed.Err)", New: "req.URL, failed.Err)"}},
		{By: "^TestCatchUp$", Mutant: mutant.Mutant{Name: "what remediation left half done is thrown away", File: "runner.go",
			Old: "if dirty, err := t.Dirty(ctx); err != nil || len(dirty) > 0 {", New: "if _, err := t.Dirty(ctx); err != nil {"}},
		{By: "^TestFree$", Mutant: mutant.Mutant{Name: "names that are taken are free", File: "start.go",
			Old: "return !taken, err", New: "return taken || true, err"}},
		{By: "^TestBaselineOrder$", Mutant: mutant.Mutant{Name: "the first checks do not run", File: "verify.go",
			Old: "\t\terr = x.baselineRun(ctx, o, &in.Baseline)", New: "\t\terr = nil"}},
		{By: "^TestNoSuchOrder$", Mutant: mutant.Mutant{Name: "what was cut off is told as trouble", File: "verify.go",
			Old: "\tif ctx.Err() != nil {\n\t\treturn ctx.Err()\n\t}\n\tif err != nil {\n\t\tin.Trouble = x.redact(\"the checks could", New: "\tif err != nil {\n\t\tin.Trouble = x.redact(\"the checks could"}},
	})
}
