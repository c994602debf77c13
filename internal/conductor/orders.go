package conductor

import (
	"context"

	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// carryOut has a command of the run carried out: by the box itself, or by the runner.
func (d *decider) carryOut(ctx context.Context, cmd delivery.Command) error {
	o := order.Order{Command: cmd}
	d.ledger.WithRun(d.subject, func(r *delivery.Run) {
		o.Run, o.Reviews = r.Copy(), cmd.Session != nil && r.Reviews(cmd.Session)
	})
	if cmd.Do != delivery.DoPrompt && cmd.Do != delivery.DoEnd { // a session can be ended whatever became of the plan
		var err error
		if o.Plan, err = d.planOf(o.Run); err != nil {
			return err
		}
	}
	if cmd.Do == delivery.DoAddTask {
		return d.addTask(o.Run, o.Plan, cmd.N)
	}
	err := d.runner.CarryOut(ctx, o)
	if cmd.Session != nil {
		d.forgetEnded(cmd.Session.ID)
	}
	return err
}

// planOf returns the plan of the run, as it was handed in.
func (d *decider) planOf(r delivery.Run) (plan.Plan, error) {
	d.planning.Lock()
	defer d.planning.Unlock()
	if d.plan != nil {
		return *d.plan, nil
	}
	text, err := d.ledger.Blob(r.Plan.SHA256)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Parse(text)
	if err == nil {
		d.plan = &p
	}
	return p, err
}

// addTask adds the item of a plan's task.
func (d *decider) addTask(r delivery.Run, p plan.Plan, n int) error {
	if n >= len(p.Tasks) {
		return nil
	}
	t := p.Tasks[n]
	id := order.ItemID(r.ID, t.ID)
	if i, err := d.ledger.ItemNamed(id); err == nil && i.Run == r.Subject && i.Task == t.ID {
		return nil // a box that was killed has added it
	}
	phase, _ := first(d.all.config)
	return d.ledger.AddItem(work.Add{
		ID: id, Title: t.Title, Phase: phase, Actor: work.OperatorActor, Run: r.Subject, Task: t.ID, BlockedBy: t.BlockedBy,
		Key: r.Subject + "/" + t.ID,
	})
}

// forgetEnded forgets what there was to say to a session, if it has ended. Whoever says something
// to a session calls it afterwards: the session may have ended, and been forgotten, just before.
func (d *decider) forgetEnded(session string) {
	if !d.knows(session) {
		d.all.mail.Forget(session)
	}
}
