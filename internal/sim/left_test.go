package sim_test

import (
	"context"
	"slices"

	"github.com/signalbox-dev/signalbox/internal/api"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/order"
)

// leftovers is what lies in the world of a run. Who removes something has recorded it.
type leftovers struct {
	gone     map[string]bool   // tasks whose worktrees, and sessions whose records, were removed
	said     *delivery.Removed // what is recorded to be removed, and may be
	unmerged bool              // somebody wants it to go even if it is not merged
}

// clean has the operator look at what is left, or remove it.
func (w *world) clean() error {
	w.left.unmerged = w.chance(30)
	q := api.Clean{Remove: w.chance(80), Unmerged: w.left.unmerged}
	before := len(w.left.gone)
	var found api.Cleaned
	err := w.word("clean", func() (err error) {
		found, err = w.conductor.Clean(background, w.actor(), q)
		return err
	})
	w.left.said = nil
	if n := len(w.left.gone) - before; n > 0 {
		w.reached.add("world", "cleaned")
		if !q.Remove || !found.Removed || w.run.Finished == nil {
			return breaks("%d things were removed: %+v", n, q)
		}
	}
	return err
}

// safe reports whether nothing is lost with a task's branch.
func (w *world) safe(task string) bool {
	b := w.branches[task]
	return b == nil || b.same || w.merged[b.commit]
}

// Records are what each session said.
func (w *world) Records(context.Context) (all []order.Record, _ error) {
	for _, id := range w.order {
		p := w.processes[id]
		if w.left.gone[id] {
			continue
		}
		all = append(all, order.Record{Name: id, Subject: p.subject, Bytes: 100, Live: !p.over && !p.killed})
	}
	return all, nil
}

// RunsLeft returns the run.
func (w *world) RunsLeft(context.Context) ([]string, error) { return []string{w.run.ID}, nil }

// Left returns what each task has left. What was never worked on has left nothing.
func (w *world) Left(_ context.Context, r delivery.Run) (all []order.Left, _ error) {
	for _, t := range r.Tasks {
		b := w.branches[t.ID]
		if b == nil || w.left.gone[t.ID] {
			continue
		}
		l := order.Left{Task: t.ID, Worktree: "/worktree/" + t.ID, Branch: "signalbox/" + t.ID, Commit: b.commit}
		if !w.safe(t.ID) {
			l.Unmerged = 1
		}
		all = append(all, l)
	}
	return all, nil
}

// Homes is nothing.
func (*world) Homes(context.Context) int64 { return 0 }

// RemoveRecord removes what a session said.
func (w *world) RemoveRecord(r order.Record) error {
	return w.removed(r.Name, func(said delivery.Removed) bool { return !r.Live && slices.Contains(said.Sessions, r.Name) })
}

// Discard removes what a task has left.
func (w *world) Discard(_ context.Context, _ delivery.Run, l order.Left) error {
	return w.removed(l.Task, func(said delivery.Removed) bool {
		return said.Task == l.Task && said.Branch == l.Branch && said.Commit == l.Commit && said.Worktree && (w.left.unmerged || w.safe(l.Task))
	})
}

// PutAway removes a worktree; nobody wants that here.
func (w *world) PutAway(_ context.Context, _ delivery.Run, l order.Left) error {
	return w.removed(l.Task, func(delivery.Removed) bool { return false })
}

// removed notes that something is gone, if that is recorded.
func (w *world) removed(name string, is func(delivery.Removed) bool) error {
	if said := w.left.said; (said == nil || !is(*said) || w.left.gone[name]) && w.violated == nil {
		w.violated = breaks("%s is removed, and what is recorded is %+v", name, said)
	}
	w.left.gone[name] = true
	return nil
}
