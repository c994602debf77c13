package evidence

import (
	"slices"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// Work is what the ledger says of a task's work, for whoever wants to see what it changes.
type Work struct {
	Item work.Item
	Onto string // the commit that it is merged with; empty if that is not allowed yet
}

// Work returns what the events so far say of the work.
func (f *Fold) Work() Work { return f.work }

// Take takes the task's next event.
func (w *Work) Take(e Happened) (err error) {
	if w.Item, err = work.Evolve(w.Item, e.Sequence, e.Event); err != nil {
		return err
	}
	if w.Item.Allowed != nil {
		w.Onto = w.Item.Allowed.Onto
	}
	if w.Item.Phase == agentsig.PhaseImplementation {
		w.Onto = "" // that merge was not made
	}
	return nil
}

// Settled reports whether what counts of the work is its commit, which the gate has passed, and not what lies in its worktree.
func (w Work) Settled() bool {
	phase := w.Item.Phase
	if phase == agentsig.PhaseBlocked {
		phase = w.Item.BlockedFrom
	}
	return slices.Contains([]agentsig.Phase{
		agentsig.PhaseReadyForReview, agentsig.PhaseReview, agentsig.PhaseReadyForMerge, agentsig.PhaseCompleted,
	}, phase)
}
