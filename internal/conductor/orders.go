package conductor

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// carryOut has a command of the run carried out: by the box itself, or by the runner.
func (d *decider) carryOut(ctx context.Context, cmd delivery.Command) error {
	o := order.Order{Command: cmd}
	d.ledger.WithRun(d.subject, func(r *delivery.Run) {
		if cmd.Session == nil || cmd.Session.Task == "" { // what is judged, merged or repaired is held against the work of others
			o.Run = r.Copy()
		} else {
			o.Run = r.CopyFor(cmd.Session.Task)
		}
		o.Reviews = cmd.Session != nil && r.Reviews(cmd.Session)
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
	if cmd.Do == delivery.DoStart {
		o.Token = d.ledger.SessionToken(cmd.Session.ID)
		var err error
		if o.Plan, err = d.withTask(o.Plan, o.Run.Task(cmd.Session.Task)); err != nil {
			return err
		}
		if o.Claim, err = d.claimOn(o.Run.Task(cmd.Session.Task)); err != nil {
			return err
		}
	}
	err := d.runner.CarryOut(ctx, o)
	if cmd.Session != nil {
		d.forgetEnded(cmd.Session.ID)
	}
	return err
}

// claimOn returns the last word of who worked on a task: that it is ready, or an exit record. All else that can be said is told
// as a brief; nil if it is none of those.
func (d *decider) claimOn(t *delivery.Task) (*work.Statement, error) {
	if t == nil || t.Item.Said.Claim == 0 {
		return nil, nil
	}
	e, err := d.ledger.Event(t.Item.Said.Claim)
	if err != nil {
		return nil, err
	}
	s, err := work.StatementOf(t.Item.Said.Claim, e)
	if err != nil || s.Signal != agentsig.KindReadyForReview && s.Signal != agentsig.KindExit {
		return nil, err
	}
	return &s, nil
}

// planOf returns the plan of the run as it was handed in last, with the ids that its tasks have in the run.
func (d *decider) planOf(r delivery.Run) (plan.Plan, error) {
	d.planning.Lock()
	defer d.planning.Unlock()
	if d.plan != nil && d.planned == r.Digest {
		return *d.plan, nil
	}
	p, err := readPlan(d.ledger, r.Plan, r.Renamed)
	if err == nil {
		d.plan, d.planned = &p, r.Digest
	}
	return p, err
}

// withTask returns the plan with a task in it that an amendment has taken out, as it was when it was added: the operator may
// have it done all the same, and who was to be started on it may be about to end.
func (d *decider) withTask(p plan.Plan, t *delivery.Task) (plan.Plan, error) {
	if t == nil || slices.ContainsFunc(p.Tasks, func(one plan.Task) bool { return one.ID == t.ID }) {
		return p, nil
	}
	gone := plan.Task{ID: t.ID, Title: t.Item.Title, BlockedBy: t.BlockedBy}
	if t.Item.Said.Asked != 0 {
		e, err := d.ledger.Event(t.Item.Said.Asked)
		if err != nil {
			return p, err
		}
		var added work.Added
		if err := json.Unmarshal(e.Payload, &added); err != nil {
			return p, err
		}
		gone.Work = added.Asked
	}
	p.Tasks = append(slices.Clone(p.Tasks), gone)
	return p, nil
}

// addTask adds the item of a plan's task.
func (d *decider) addTask(r delivery.Run, p plan.Plan, n int) error {
	if came := n - (r.Started.Tasks - len(r.Added)); came >= 0 && came < len(r.Added) { // with an amendment
		n = slices.IndexFunc(p.Tasks, func(t plan.Task) bool { return t.ID == r.Added[came] })
	}
	if n < 0 || n >= len(p.Tasks) {
		return nil
	}
	t := p.Tasks[n]
	id := order.ItemID(r.ID, t.ID)
	if i, err := d.ledger.ItemNamed(id); err == nil && i.Run == r.Subject && i.Task == t.ID {
		return nil // a box that was killed has added it
	}
	beside, err := json.Marshal([]any{t.Title, t.BlockedBy})
	if err != nil {
		return err
	}
	phase, _ := first(d.all.config)
	return d.ledger.AddItem(work.Add{
		ID: id, Title: t.Title, Asked: delivery.TaskText(t.Work, t.Criteria, ledger.MaxPayload-1<<10-len(beside)), Phase: phase, Actor: cmp.Or(r.By, work.OperatorActor), Run: r.Subject, Task: t.ID, BlockedBy: t.BlockedBy,
		Unaudited: !r.Audits(),
		Key:       r.Subject + "/" + t.ID,
	})
}

// forgetEnded forgets what there was to say to a session, if it has ended. Whoever says something
// to a session calls it afterwards: the session may have ended, and been forgotten, just before.
func (d *decider) forgetEnded(session string) {
	if !d.knows(session) {
		d.all.mail.Forget(session)
	}
}
