package box

import (
	"context"
	"errors"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/worktree"
)

// repaired commits what remediation left in its worktree and returns what that is, or nil
// if the run's branch has it already, or work goes on without it.
func (d *deliverer) repaired(ctx context.Context, r delivery.Run) (*delivery.Repair, error) {
	if r.Remediation.Stage != delivery.StageVerify || r.Remediation.Dropped {
		return nil, nil
	}
	commit, err := d.settled(ctx, r, remediationTree, "repair of the environment")
	if err != nil {
		return nil, err
	}
	merged, err := d.repo.Merged(ctx, commit, r.Branch)
	if err == nil && !merged {
		err = d.exchange.Take(ctx, commit, r.ID)
	}
	if err != nil {
		return nil, err
	}
	base, err := d.begins(ctx, r, remediationTree, commit)
	if err != nil || base == commit { // what the branch has is not to be merged
		return nil, err
	}
	changes, err := d.exchange.Changes(ctx, base, commit)
	if err != nil {
		return nil, err
	}
	repair := &delivery.Repair{Commit: commit, Base: base, Files: changes.Files}
	for _, name := range changes.Names {
		repair.Names = append(repair.Names, d.box.redact.Text(name))
	}
	return repair, nil
}

// checkRepair is the gate on what was committed for a repair.
func (d *deliverer) checkRepair(ctx context.Context, r delivery.Run, repair *delivery.Repair) error {
	p, err := d.planOf(r)
	if err != nil {
		return err
	}
	log, err := d.openLog(r.Subject)
	if err != nil {
		return err
	}
	result, err := d.check(ctx, repair.Commit, trial{run: r.ID, checks: d.checks(p), log: log})
	repair.Checks, repair.Output = result.checks, result.output
	return errors.Join(err, log.Close())
}

// mergeRepair merges the repair that a critic has passed, and no other commit.
func (d *deliverer) mergeRepair(ctx context.Context, c *conductor, id string, repair delivery.Repair) error {
	r := d.run(c)
	in := delivery.RepairMergeRan{Command: id, Commit: repair.Commit}
	err := transient(ctx, func() error {
		err := d.mergeRepairRun(ctx, c, r, repair.Base, &in)
		var conflict *worktree.ConflictError
		if errors.As(err, &conflict) || errors.Is(err, errChecks) || badWork(err) {
			in.Failed = d.box.redact.Text(err.Error())
			return nil
		}
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		in.Failed = d.box.redact.Text("the merge could not be made: " + err.Error())
	}
	return c.tell(ctx, in)
}

// mergeRepairRun makes the merge, if the checks pass on the result or a person has
// declared that they need not.
func (d *deliverer) mergeRepairRun(ctx context.Context, c *conductor, r delivery.Run, base string, in *delivery.RepairMergeRan) error {
	p, err := d.planOf(r)
	if err != nil {
		return err
	}
	if err := d.exchange.Take(ctx, in.Commit, r.ID); err != nil {
		return err
	}
	ran, title, permit := false, "Merge the repair of the environment", d.ofRepair(c)
	in.Result, err = d.advance(ctx, c, "", worktree.Merge{
		Branch: r.Branch, Commit: in.Commit, Base: base, Allowed: before(permit),
		Message: title, Seal: d.allow(c, in.Command, title, base, permit),
		Check: func(ctx context.Context, dir, commit string) error {
			ran = true
			result, err := d.checkIn(ctx, dir, commit, trial{run: r.ID, checks: d.checks(p)})
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
	result, err := d.check(ctx, in.Result, trial{run: r.ID, checks: d.checks(p)}) // a box that was killed has merged it
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
