package runner

import (
	"context"
	"errors"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// repaired commits what remediation left in its worktree and returns what that is, or nil
// if the run's branch has it already, or work goes on without it.
func (x *Runner) repaired(ctx context.Context, r delivery.Run) (*delivery.Repair, error) {
	if r.Remediation.Stage != delivery.StageVerify || r.Remediation.Dropped {
		return nil, nil
	}
	commit, err := x.settled(ctx, r, remediationTree, "repair of the environment")
	if err != nil {
		return nil, err
	}
	merged, err := x.repo.Merged(ctx, commit, r.Branch)
	if err == nil && !merged {
		err = x.exchange.Take(ctx, commit, r.ID)
	}
	if err != nil {
		return nil, err
	}
	base, err := x.begins(ctx, r, remediationTree, commit)
	if err != nil || base == commit { // what the branch has is not to be merged
		return nil, err
	}
	changes, err := x.exchange.Changes(ctx, base, commit)
	if err != nil {
		return nil, err
	}
	repair := &delivery.Repair{Commit: commit, Base: base, Files: changes.Files}
	for _, name := range changes.Names {
		repair.Names = append(repair.Names, x.redact(name))
	}
	return repair, nil
}

// checkRepair is the gate on what was committed for a repair.
func (x *Runner) checkRepair(ctx context.Context, o order.Order, repair *delivery.Repair) error {
	r := o.Run
	log, err := openLog(x.gateLogs(), r.Subject)
	if err != nil {
		return err
	}
	result, err := x.check(ctx, repair.Commit, trial{run: r.ID, checks: x.checks(o.Plan), log: log})
	repair.Checks, repair.Output = result.checks, result.output
	return errors.Join(err, log.Close())
}

// mergeRepair merges the repair that a critic has passed, and no other commit.
func (x *Runner) mergeRepair(ctx context.Context, o order.Order) error {
	in, allowed := delivery.RepairMergeRan{Command: o.ID, Commit: o.Repair.Commit}, o.Run.Remediation.Allowed
	err := transient(ctx, func() error {
		err := x.mergeRepairRun(ctx, o, &allowed, &in)
		var conflict *worktree.ConflictError
		if errors.As(err, &conflict) || errors.Is(err, errChecks) || BadWork(err) {
			in.Failed = x.redact(err.Error())
			return nil
		}
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		in.Failed = x.redact("the merge could not be made: " + err.Error())
	}
	return x.tell(ctx, o, in)
}

// mergeRepairRun makes the merge, if the checks pass on the result or a person has
// declared that they need not.
func (x *Runner) mergeRepairRun(ctx context.Context, o order.Order, allowed **work.Permit, in *delivery.RepairMergeRan) (err error) {
	r, base := o.Run, o.Repair.Base
	if err := x.exchange.Take(ctx, in.Commit, r.ID); err != nil {
		return err
	}
	ran, title := false, "Merge the repair of the environment"
	in.Result, err = x.advance(ctx, o, "", worktree.Merge{
		Branch: r.Branch, Commit: in.Commit, Base: base, Allowed: before(*allowed),
		Message: title, Seal: x.allow(o, title, base, allowed),
		Check: func(ctx context.Context, dir, commit string) error {
			ran = true
			result, err := x.checkIn(ctx, dir, commit, trial{run: r.ID, checks: x.checks(o.Plan)})
			in.Checks, in.Output = result.checks, result.output
			if err == nil && !result.tolerate(r.Tolerated).passed() && !r.Remediation.Declared {
				err = errChecks
			}
			return err
		},
	})
	if err != nil || ran {
		return err
	}
	result, err := x.check(ctx, in.Result, trial{run: r.ID, checks: x.checks(o.Plan)}) // a box that was killed has merged it
	in.Checks, in.Output = result.checks, result.output
	return err
}

// repairOf returns the repair that a session is to review, or nil.
func repairOf(r delivery.Run, s delivery.Session) *delivery.Repair {
	if repair := r.Remediation.Repair; s.Role == agentsig.RoleCritic && repair != nil && repair.Commit == s.Commit {
		return repair
	}
	return nil
}
