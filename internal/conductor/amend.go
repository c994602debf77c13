package conductor

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/plan"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

var errAnotherVersion = errors.New("another version of this plan is being delivered: say whether it is to be amended (--amend), or this one to be delivered beside it (--beside)")

var errNothingToAmend = errors.New("no run that has not ended delivers this plan, so there is nothing to amend: without --amend all of it is delivered anew")

// planPath is what a plan's path is recorded as: where it lies in the checkout, if it does.
func planPath(root, path string) string {
	if rel, err := filepath.Rel(root, path); path != "" && err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// amends returns the latest run that goes on and delivers another version of a plan, and what this one would make of it;
// nil if there is none. A plan is known by its title and its path.
func (c *Conductor) amends(p examined, text []byte) (subject string, a *api.Amendment, err error) {
	if p.path == "" {
		return "", nil, nil
	}
	for _, live := range c.ledger.LiveRuns() {
		c.ledger.WithRun(live, func(r *delivery.Run) {
			if r.Path == p.path && r.Title == titleOf(p.plan) && r.Stopping == "" {
				subject = live
			}
		})
	}
	if subject == "" {
		return "", nil, nil
	}
	in, r, err := c.amendment(subject, p.plan, text)
	if err != nil || in.Digest == r.Digest {
		return "", nil, err
	}
	said, err := r.Amendment(in)
	if err != nil {
		return "", nil, err
	}
	a = &api.Amendment{
		Run: r.ID, New: append([]string{}, said.Added...), Changed: append([]string{}, said.Changed...), Gone: append([]string{}, said.Gone...),
		Renamed: said.Renamed,
	}
	for _, t := range r.Tasks {
		if t.Item.Phase == agentsig.PhaseCompleted {
			a.Done++
		}
	}
	return subject, a, nil
}

// amendment compares a plan with that of a run.
func (c *Conductor) amendment(subject string, p plan.Plan, text []byte) (in delivery.Amend, r delivery.Run, err error) {
	c.ledger.WithRun(subject, func(run *delivery.Run) { r = run.Copy() })
	before, err := c.ledger.Blob(r.Plan.SHA256)
	if err != nil {
		return in, r, err
	}
	old, err := plan.Parse(before)
	if err != nil {
		return in, r, err
	}
	change := plan.Compare(old, p)
	return delivery.Amend{
		Digest: digest(text), Title: titleOf(p), Checks: len(checkNames(c.config, p)),
		New: change.New, Changed: change.Changed, Gone: change.Gone, BlockedBy: p.Blockers(),
	}, r, nil
}

// amend has a run go on with another version of its plan.
func (c *Conductor) amend(ctx context.Context, actor, subject string, p examined, text []byte) (api.Run, error) {
	in, _, err := c.amendment(subject, p.plan, text)
	if err != nil {
		return api.Run{}, err
	}
	if in.Plan, err = c.ledger.PutBlob(text); err != nil {
		return api.Run{}, err
	}
	in.Actor = actor
	return c.say(ctx, subject, in)
}

// AskedNow returns a work item with the title and the text that its run's plan has for it now. What was asked when it was
// added stays in the ledger, and is what is asked if no plan has the task any more.
func (c *Conductor) AskedNow(w api.Work) (api.Work, error) {
	var now ledger.Blob
	var names map[string]string
	task := ""
	c.ledger.WithRun(c.ledger.RunOf(w.Subject), func(run *delivery.Run) {
		if i := slices.IndexFunc(run.Tasks, func(t *delivery.Task) bool { return t.Item.Subject == w.Subject }); i >= 0 && run.Amended > 0 {
			task, now, names = run.Tasks[i].ID, run.Plan, maps.Clone(run.Renamed)
		}
	})
	if task == "" {
		return w, nil
	}
	p, err := readPlan(c.ledger, now, names)
	if err != nil {
		return w, err
	}
	for _, t := range p.Tasks {
		if t.ID == task {
			w.Title, w.Asked = t.Title, delivery.TaskText(t.Work, t.Criteria, work.MaxAsked)
		}
	}
	return w, nil
}

// readPlan reads a plan, with the ids that its tasks have in the run.
func readPlan(l Deciding, kept ledger.Blob, names map[string]string) (plan.Plan, error) {
	text, err := l.Blob(kept.SHA256)
	if err != nil {
		return plan.Plan{}, err
	}
	p, err := plan.Parse(text)
	return p.Renamed(names), err
}
