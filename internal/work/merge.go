package work

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/agentsig"
)

// Allow says which merge of the judged commit is about to be made. If one was proposed to a person, it is the one that
// they have approved.
type Allow struct{ Allowed }

// Events implements [Command].
func (Allow) Events() []string { return []string{MergeAllowed} }

func (c Allow) decide(i Item) (Event, error) {
	if err := i.checkAllowed(c.Allowed); err != nil {
		return Event{}, err
	}
	if asked := i.Proposal != nil || c.Approval != 0; asked && !i.Proposal.Approves(c.Allowed) {
		return Event{}, fmt.Errorf("%s: %w", i.ID, ErrNotApproved)
	}
	return Event{Type: MergeAllowed, Actor: BoxActor, Payload: c.Allowed}, nil
}

// checkAllowed refuses a merge of something else than what was judged, or one that does not say whether it was audited.
func (i Item) checkAllowed(a Allowed) error {
	if !validCommit(a.Onto) || !validCommit(a.Tree) {
		return ErrBadCommit
	}
	if a.Task != i.Task {
		return fmt.Errorf("%s is the task %s and not %s: %w", i.ID, i.Task, a.Task, ErrNoItem)
	}
	if err := i.mayMerge(a.Commit); err != nil {
		return err
	}
	if w := i.Waived; a.Unaudited != (w != nil) || w != nil && (a.Verdict != w.Seq || i.checkWaived(a.Commit, w.Tree) != nil) {
		return fmt.Errorf("%s at %s: %w", i.ID, a.Commit, ErrAuditNeeded)
	}
	return i.CheckBase(a.Base)
}

// Merged says that the judged commit is merged, which completes the work.
type Merged struct {
	Commit, Tree string // what was judged
	Result       string // the merge
	Key          string
}

// Events implements [Command].
func (Merged) Events() []string { return []string{WorkMerged} }

// MayMerge reports whether a merge of a commit was allowed, or is not needed: reviewers saw that
// nothing was changed.
func (i Item) MayMerge(commit string) bool {
	return i.Allowed != nil && i.Allowed.Commit == commit || commit != "" && i.Base() == commit
}

func (c Merged) decide(i Item) (Event, error) {
	m := Merge{Commit: c.Commit, Tree: c.Tree, Base: i.Base(), Result: c.Result, NextPhase: agentsig.PhaseCompleted, Unaudited: i.Waived != nil}
	e, err := i.merge(WorkMerged, m, c.Key)
	if err != nil {
		return e, err
	}
	if m.Unseen, err = i.CheckMerge(c.Commit, c.Tree); err != nil {
		return Event{}, fmt.Errorf("%s: %w", i.ID, err)
	}
	if !i.MayMerge(c.Commit) {
		return Event{}, fmt.Errorf("%s at %s: %w", i.ID, c.Commit, ErrNotAllowed)
	}
	e.Payload = m
	return e, nil
}

// Unmerged says that the judged commit can't be merged as it is, or that a person does not approve the merge that was
// proposed: it goes back to be worked on.
type Unmerged struct {
	Actor          string // the person; empty if it is the box that can't merge it
	Commit, Reason string
	Key            string
}

// Events implements [Command].
func (Unmerged) Events() []string { return []string{MergeFailed} }

func (c Unmerged) decide(i Item) (Event, error) {
	e, err := i.merge(MergeFailed, Merge{Commit: c.Commit, NextPhase: agentsig.PhaseImplementation, Reason: c.Reason}, c.Key)
	if err != nil || c.Actor == "" {
		return e, err
	}
	if i.Proposal == nil || i.Proposal.Approved != 0 {
		return Event{}, fmt.Errorf("%s: %w", i.ID, ErrNotProposed)
	}
	e.Actor = c.Actor
	return e, nil
}

// mayMerge refuses a commit that is not the judged one.
func (i Item) mayMerge(commit string) error {
	switch {
	case !validCommit(commit):
		return ErrBadCommit
	case !i.Judged() || i.Commit != "" && commit != i.Commit:
		return fmt.Errorf("%s at %s: %w", i.ID, commit, ErrNotAudited)
	}
	return nil
}

func (i Item) merge(what string, m Merge, key string) (Event, error) {
	if err := i.mayMerge(m.Commit); err != nil {
		return Event{}, err
	}
	return Event{Type: what, Actor: BoxActor, Key: key, Payload: m}, nil
}
