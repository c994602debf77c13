package sim_test

import (
	"context"
	"errors"
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/config"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// played are the roles that a person may play.
func played(r *config.Roles) []*config.Role {
	return []*config.Role{&r.Developer, &r.Critic, &r.Auditor, &r.Expert}
}

// partsRefused are the reasons why a person's word on a task may be refused, besides those for any word.
var partsRefused = []error{
	delivery.ErrNoReview, delivery.ErrOtherNow, delivery.ErrNotTaken, delivery.ErrEnding, delivery.ErrDropped, delivery.ErrBlocker, work.ErrAudited,
}

// part is a person's word on a task, which may be refused.
func (w *world) part(what string, do func() error) error {
	return w.word(what, func() error {
		err := do()
		if slices.ContainsFunc(partsRefused, func(why error) bool { return errors.Is(err, why) }) {
			w.reached.add("world", "person refused")
			return nil
		}
		return err
	})
}

// take has the person take a task over. Who worked on it may have left something.
func (w *world) take(task string) error {
	return w.part("take "+task, func() error {
		_, err := w.conductor.Take(background, w.actor(), order.ItemID(w.run.ID, task))
		return err
	})
}

// give has the person hand in a task, or give it back. They have worked on it if they have it.
func (w *world) give(task string) error {
	back := !w.calm && w.chance(30)
	if t := w.run.Task(task); t != nil && t.Item.Lease.ByPerson() && !back && w.branches[task] != nil {
		*w.branches[task] = branch{commit: w.commit(), good: w.calm || w.chance(70)}
	}
	key := w.key("give")
	return w.part("give "+task, func() error {
		_, err := w.conductor.Give(background, w.actor(), order.ItemID(w.run.ID, task), api.Give{Back: back, Text: "look here"}, key)
		return err
	})
}

// review has the person say what they think of a task that they are shown. They may be shown it a while before.
func (w *world) review(task string) error {
	id := order.ItemID(w.run.ID, task)
	seen, err := w.conductor.Sight(background, id)
	late := err == nil && !w.calm && w.chance(10)
	if late {
		w.reached.add("world", "person late")
		seen.Commit = "0ddba11"
	}
	v := api.Verdict{Role: seen.Role, Commit: seen.Commit, Tree: seen.Tree, Base: seen.Base, Accept: w.calm || w.chance(60)}
	if !v.Accept {
		v.Comments = []string{pick(w, []string{"main.go:1: why?", "main.go:2: why?"})}
	}
	key := w.key("review")
	return w.part("review "+task, func() error {
		_, err := w.conductor.Review(background, w.actor(), id, v, key)
		if late && err == nil {
			return breaks("a verdict on %s counts, and that is not what is there", seen.Commit)
		}
		return err
	})
}

// playPart has the person say something about a task, most often what they are awaited for.
func (w *world) playPart(task string) error {
	var part delivery.Part
	for _, t := range w.run.Tasks {
		if p, _ := w.run.Awaited(t); p != "" && w.chance(70) {
			task, part = t.ID, p
		}
	}
	if part == "" {
		part = pick(w, []delivery.Part{delivery.PartReview, delivery.PartTake, delivery.PartTake, delivery.PartGive})
	}
	return w.plays(part, task)
}

func (w *world) plays(part delivery.Part, task string) error {
	switch part {
	case delivery.PartReview:
		return w.review(task)
	case delivery.PartTake:
		return w.take(task)
	}
	return w.give(task)
}

// playParts has the person play all parts that they are awaited for.
func (w *world) playParts() (played bool, err error) {
	for _, t := range slices.Clone(w.run.Tasks) {
		if part, _ := w.run.Awaited(t); part != "" {
			if err := w.plays(part, t.ID); err != nil {
				return true, err
			}
			played = true
		}
	}
	return played, nil
}

// Sight is what a person is shown of a task.
func (w *world) Sight(_ context.Context, r delivery.Run, task string) (work.Seen, error) {
	commit := r.Task(task).Item.Commit
	if commit == "" { // the operator led it past the gate
		commit = w.branches[task].commit
	}
	return work.Seen{Commit: commit, Tree: treeOf(commit), Base: baseOf(commit)}, nil
}

// Room is where a person works on a task.
func (w *world) Room(context.Context, delivery.Run, string) (string, error) { return "/worktree", nil }

// Commit is what a person hands in.
func (w *world) Commit(_ context.Context, _ delivery.Run, task string) (string, int, error) {
	return w.branches[task].commit, 1, nil
}

// taken is a task that a person takes over: nobody else works on it from then on, and all of it is judged anew.
func (j *judge) taken(t *taskFacts, e ledger.Event) error {
	switch {
	case !work.ByOperator(e.Actor):
		return breaks("%s is taken by %s", t.id, e.Actor)
	case j.stopping || j.dead(t):
		return breaks("%s is taken, and nobody goes on with it", t.id)
	case t.audited:
		return breaks("%s is taken, and may be merged already", t.id)
	case t.person != "" && t.phase == agentsig.PhaseImplementation:
		return breaks("%s is taken twice", t.id)
	}
	if err := j.unblocked(t); err != nil {
		return err
	}
	j.takeBack(t)
	j.over(j.live[t.holder])
	t.looked()
	t.talk.spoilt = true
	t.phase, t.holder, t.person, t.byHand, t.anew = agentsig.PhaseImplementation, e.Session, agentsig.RoleDeveloper, false, false
	t.writers = append(t.writers, e.Session)
	t.written, t.reviewed, t.allowed, t.seen, t.claim, t.same, t.passed = true, false, "", nil, false, false, 0
	return nil
}

// personGranted is a person who begins to play a role.
func (j *judge) personGranted(t *taskFacts, e ledger.Event, p work.Granted) error {
	switch {
	case !work.ByOperator(e.Actor):
		return breaks("the person who is %s is %s", p.Role, e.Actor)
	case j.set.Settings.Roles[p.Role].Agent != delivery.Person:
		return breaks("a person is %s, and %q plays that", p.Role, j.set.Settings.Roles[p.Role].Agent)
	case p.Role != agentsig.RoleCritic && p.Role != agentsig.RoleAuditor:
		return breaks("a person is %s without taking anything", p.Role)
	case j.stopping:
		return breaks("a start while the run is being ended")
	}
	if err := j.startOn(t, e); err != nil {
		return err
	}
	t.phase, t.holder, t.person, t.conflict = p.Phase, e.Session, p.Role, nil
	return nil
}

// awaits reports whether a person is awaited on a task.
func (w *world) awaits(t *delivery.Task) bool {
	part, _ := w.run.Awaited(t)
	return part != ""
}
