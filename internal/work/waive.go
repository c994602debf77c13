package work

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// A run can be started without an auditor. Its tasks say so from their first event on ([Added]), and what the critic has passed
// in one is merged by the critic's word alone: [Waive] records that nobody audits it, on which commit the critic's word is,
// and where in the ledger that word and the run's start are. Work that the critic has not passed, because the operator took it past that, still goes to an
// auditor.

// Reviewed are sequences of the ledger: of the event that says what the critic was given to look at, and of the one with
// which it passed that. Each is 0 if there is none.
type Reviewed struct{ Shown, Passed uint64 }

// Waived is the payload of AuditWaived.
type Waived struct {
	Commit string `json:"commit"` // that the critic has passed
	Tree   string `json:"tree"`   // of the commit
	Start  uint64 `json:"start"`  // the ledger's sequence of RunStarted, which says that there is no auditor
	Shown  uint64 `json:"shown"`  // of WorkShown, which says what the critic was given
	Review uint64 `json:"review"` // of the critic's word
}

// Waiver is that nobody audits the work, and the ledger's sequence of the event that says so.
type Waiver struct {
	Seq uint64
	Waived
}

// Judged reports whether all have spoken who have to: the work waits for its merge.
func (i Item) Judged() bool { return i.Audited || i.Waived != nil }

// ReviewSuffices reports whether work waits for nobody but its merge, because the critic has passed it in a run without an
// auditor, and that is not recorded yet.
func (i Item) ReviewSuffices() bool {
	return i.checkUnaudited() == nil && !i.Judged() && i.NoChange == "" && i.Phase == agentsig.PhaseReadyForMerge && i.Lease == nil
}

// checkUnaudited refuses to do without an auditor, unless the run was started so and the critic has passed what is there.
func (i Item) checkUnaudited() error {
	switch {
	case !i.Unaudited:
		return fmt.Errorf("%s: %w", i.ID, ErrAuditNeeded)
	case i.Reviewed.Passed == 0 || i.Commit == "" || i.Review.Commit != i.Commit:
		return fmt.Errorf("%s at %s: the critic has not passed this: %w", i.ID, i.Commit, ErrNotSeen)
	}
	return nil
}

// checkWaived refuses to merge anything that nobody has audited, but what the critic has passed in a run without an auditor.
func (i Item) checkWaived(commit, tree string) error {
	if err := i.checkUnaudited(); err != nil {
		return err
	}
	if w := i.Waived; commit != w.Commit || tree != w.Tree || commit != i.Review.Commit || tree != i.Review.Tree {
		return fmt.Errorf("the critic was given %s with the tree %s, and %s has the tree %s: %w", i.Review.Commit, i.Review.Tree, commit, tree, ErrNotSeen)
	}
	return nil
}

// Waive says that nobody audits the work, in a run that was started so.
type Waive struct{ Start uint64 } // the ledger's sequence of the event that started the run

// Events implements [Command].
func (Waive) Events() []string { return []string{AuditWaived} }

func (c Waive) decide(i Item) (Event, error) {
	switch {
	case !i.Unaudited:
		return Event{}, fmt.Errorf("%s: %w", i.ID, ErrAuditNeeded)
	case !i.ReviewSuffices():
		return Event{}, fmt.Errorf("%s is in %s: %w", i.ID, i.Phase, ErrNotReviewed)
	}
	return Event{Type: AuditWaived, Actor: BoxActor, Payload: Waived{
		Commit: i.Review.Commit, Tree: i.Review.Tree, Start: c.Start, Shown: i.Reviewed.Shown, Review: i.Reviewed.Passed,
	}}, nil
}
