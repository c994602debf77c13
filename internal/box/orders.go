package box

import (
	"context"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/runner"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// results is where a runner hands in what came of its orders.
type results struct{ box *Box }

// Tell hands an input to who conducts the run.
func (r results) Tell(ctx context.Context, run string, in delivery.Input) error {
	c := r.box.conductor(run)
	if c == nil {
		return ErrStopping
	}
	if end, ok := in.(delivery.End); ok {
		end.Detail = r.box.short(end.Detail)
		in = end
	}
	return c.tell(ctx, in)
}

// Permit records which merge is about to be made, signs the ledger up to there and proves it. What is not allowed
// has no number.
func (r results) Permit(ctx context.Context, run string, merge delivery.MergeChecked) (work.Permit, ledger.Proof, error) {
	if err := r.Tell(ctx, run, merge); err != nil {
		return work.Permit{}, ledger.Proof{}, err
	}
	var allowed *work.Permit
	r.box.state.withRun(run, func(run *delivery.Run) { allowed = run.Permitted(merge.Command) })
	if allowed == nil {
		return work.Permit{}, ledger.Proof{}, nil
	}
	proof, err := r.box.prove(allowed.Seq)
	return *allowed, proof, err
}

// Report takes what a dead session has left, and answers as a client is answered.
func (r results) Report(ctx context.Context, session string, report api.SessionReport) error {
	return asAnswered(r.box.SessionReport(ctx, session, report))
}

// Renew lets the lease of a session go on.
func (r results) Renew(session string) {
	if subject, token, err := work.ParseSession(session); err == nil {
		_, _ = r.box.state.renew(subject, token) // one that has ended is dealt with elsewhere
	}
}

// conductor returns who conducts a run, or nil.
func (b *Box) conductor(run string) *conductor {
	b.conducting.Lock()
	defer b.conducting.Unlock()
	return b.conductors[run]
}

// carryOut has a command of the run carried out: by the box itself, or by the runner.
func (c *conductor) carryOut(ctx context.Context, cmd delivery.Command) error {
	o := runner.Order{Command: cmd}
	c.box.state.withRun(c.subject, func(r *delivery.Run) {
		o.Run, o.Reviews = r.Copy(), cmd.Session != nil && r.Reviews(cmd.Session)
	})
	if cmd.Do != delivery.DoPrompt && cmd.Do != delivery.DoEnd { // a session can be ended whatever became of the plan
		var err error
		if o.Plan, err = c.planOf(o.Run); err != nil {
			return err
		}
	}
	if cmd.Do == delivery.DoAddTask {
		return c.addTask(o.Run, o.Plan, cmd.N)
	}
	err := c.box.runner.CarryOut(ctx, o)
	if cmd.Session != nil {
		c.forgetEnded(cmd.Session.ID)
	}
	return err
}

// planOf returns the plan of the run, as it was handed in.
func (c *conductor) planOf(r delivery.Run) (plan.Plan, error) {
	c.planning.Lock()
	defer c.planning.Unlock()
	if c.plan != nil {
		return *c.plan, nil
	}
	text, err := c.box.archive.Blob(r.Plan.SHA256)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Parse(text)
	if err == nil {
		c.plan = &p
	}
	return p, err
}

// addTask adds the item of a plan's task.
func (c *conductor) addTask(r delivery.Run, p plan.Plan, n int) error {
	if n >= len(p.Tasks) {
		return nil
	}
	t := p.Tasks[n]
	id := runner.ItemID(r.ID, t.ID)
	if i, err := c.box.state.exact(id); err == nil && i.Run == r.Subject && i.Task == t.ID {
		return nil // a box that was killed has added it
	}
	phase, _ := c.box.first()
	_, err := c.box.add(work.Add{
		ID: id, Title: t.Title, Phase: phase, Actor: work.OperatorActor, Run: r.Subject, Task: t.ID, BlockedBy: t.BlockedBy,
		Key: r.Subject + "/" + t.ID,
	})
	return err
}

// forgetEnded forgets what there was to say to a session, if it has ended. Whoever says something
// to a session calls it afterwards: the session may have ended, and been forgotten, just before.
func (c *conductor) forgetEnded(session string) {
	if !c.knows(session) {
		c.box.mail.Forget(session)
	}
}
