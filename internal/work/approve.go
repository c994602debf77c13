package work

import (
	"cmp"
	"fmt"
)

// Proposed is the payload of MergeProposed: a merge as in [Allowed], which a person is asked about. The item's state of it,
// with the answer, is a [Proposal].
type Proposed struct {
	Allowed
	Checked string `json:"checked"` // the commit that the checks ran on; the merge has the same parents and tree, and a message of its own
}

// Approved is the payload of MergeApproved: what the person was shown who has said yes. Who says no has the work sent back,
// which is another event.
type Approved struct {
	Proposal uint64 `json:"proposal"` // the ledger's sequence of MergeProposed
	Commit   string `json:"commit"`
	Onto     string `json:"onto"`
	Tree     string `json:"tree"`
}

// Proposal is the state that an item has of a merge that was proposed to a person: the payload of MergeProposed, and the
// ledger's sequences of that event and of the answer.
type Proposal struct {
	Seq uint64 // the ledger's sequence of the event that says so
	Proposed
	Approved uint64 // and of the person's word; 0 while it is open
}

// Approves reports whether a person has approved exactly this merge.
func (p *Proposal) Approves(a Allowed) bool {
	if p == nil || p.Approved == 0 || a.Approval != p.Approved {
		return false
	}
	a.Approval = 0
	return a == p.Allowed
}

// Latest is the ledger's sequence of the last event on the proposal.
func (p *Proposal) Latest() uint64 { return cmp.Or(p.Approved, p.Seq) }

// Propose asks a person about a merge of the judged commit. No merge is allowed then but the one that they approve.
type Propose struct{ Proposed }

// Events implements [Command].
func (Propose) Events() []string { return []string{MergeProposed} }

func (c Propose) decide(i Item) (Event, error) {
	if err := i.checkAllowed(c.Allowed); err != nil {
		return Event{}, err
	}
	if !validCommit(c.Checked) {
		return Event{}, ErrBadCommit
	}
	return Event{Type: MergeProposed, Actor: BoxActor, Payload: c.Proposed}, nil
}

// Approve is a person's word for the merge that was proposed: this commit, onto that one, with this tree.
type Approve struct {
	Actor              string
	Commit, Onto, Tree string
	Key                string
}

// Events implements [Command].
func (Approve) Events() []string { return []string{MergeApproved} }

func (c Approve) decide(i Item) (Event, error) {
	switch p := i.Proposal; {
	case !validActor(c.Actor):
		return Event{}, ErrBadActor
	case p == nil || p.Approved != 0:
		return Event{}, fmt.Errorf("%s: %w", i.ID, ErrNotProposed)
	case c.Commit != p.Commit || c.Onto != p.Onto || c.Tree != p.Tree:
		return Event{}, fmt.Errorf("%s: %w", i.ID, ErrOtherMerge)
	}
	return Event{
		Type: MergeApproved, Actor: c.Actor, Key: c.Key, Payload: Approved{i.Proposal.Seq, c.Commit, c.Onto, c.Tree},
	}, nil
}
