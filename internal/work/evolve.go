package work

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Fold takes the next event of the item, decoded from stored, which has the
// ledger's sequence seq. It refuses one that does not continue the item's chain,
// or that [Evolve] does not know.
func Fold(i Item, seq uint64, e ledger.Event, stored []byte) (Item, error) {
	tip, err := i.Tip.Next(e, stored)
	if err != nil {
		return i, err
	}
	next, err := Evolve(i, seq, e)
	if err != nil {
		return i, err
	}
	next.Tip = tip
	return next, nil
}

// Evolve returns the item after an event. It checks nothing that [Decide] has
// decided: an event is a fact.
func Evolve(i Item, seq uint64, e ledger.Event) (Item, error) {
	i.Reach(seq, e.Key)
	switch e.Type {
	case WorkAdded:
		p, err := payload[Added](e)
		i.Subject, i.ID, i.Title, i.Run, i.Task, i.Branch, i.Unaudited = e.Subject, p.ID, p.Title, p.Run, p.Task, p.Branch, p.Unaudited
		if p.Asked != "" {
			i.Said.Asked = seq
		}
		return i.to(p.Phase), err
	case LeaseGranted, ReviewStarted:
		p, err := payload[Granted](e)
		return i.granted(e, p, err)
	case WorkTaken:
		p, err := payload[Taken](e)
		i.Commit, i.NoChange, i.ByHand = "", "", false // the gate speaks anew
		i = i.unseen()
		return i.granted(e, p.Granted, err)
	case AgentSessionCompleted:
		p, err := payload[outcome](e)
		i.Said = i.said(seq, p)
		if err == nil && i.Run == "" {
			i, err = i.ended(e, seq, p)
		}
		i.Completed = i.Granted
		if i.Phase == agentsig.PhaseReview && p.NextPhase == agentsig.PhaseReadyForMerge && i.Review.Session == e.Session {
			i.Reviewed.Passed = seq
		}
		i = i.to(p.NextPhase)
		i.Audited = p.Audited
		return i, err
	case LeaseReleased, LeaseExpired:
		return i.to(i.Phase), nil
	case GatePassed, GateFailed:
		p, err := payload[Gate](e)
		i.Commit, i.ByHand = p.Commit, false
		i = i.unseen()
		i.NoChange, i.Claim = p.NoChange, ""
		if e.Type == GateFailed {
			i.Said.Findings = seq
		}
		return i.to(p.NextPhase), err
	case WorkBlocked:
		p, err := payload[Blocked](e)
		i = i.to(p.NextPhase)
		if p.Waits != nil {
			i.Asked++
			i.Wait = &Wait{ID: p.Waits.ID, Role: p.Waits.Role, Cause: p.Waits.Cause, Text: p.Reason, Seq: seq, At: e.Time}
		}
		return i, err
	case WorkUnblocked:
		p, err := payload[Unblocked](e)
		return i.to(p.NextPhase), err
	case WorkMerged, MergeFailed:
		p, err := payload[Merge](e)
		if e.Type == MergeFailed {
			i.Said.Findings = seq
		}
		return i.to(p.NextPhase), err
	case WorkUnchanged:
		p, err := payload[Unchanged](e)
		return i.to(p.NextPhase), err
	case WorkOverridden:
		p, err := payload[Overridden](e)
		i.Commit, i.ByHand = "", true // what the gate saw may not be what is there by now
		i = i.unseen()
		i.NoChange, i.Claim, i.Count, i.Wait = "", "", Count{}, nil
		return i.to(p.NextPhase), err
	case QuestionAnswered:
		p, err := payload[Answered](e)
		if i.Wait != nil {
			i = i.replied(e.Actor, cmp.Or(p.Text, p.Choice))
		}
		i.Count = Count{} // a person has looked at it
		return i.to(p.NextPhase), err
	case UnknownRecovery:
		i.Count.Unknown++
		return i, nil
	case SignalFailure:
		i.Count.Unknown, i.Format = 0, true
		return i.to(i.Phase), nil
	case MergeAllowed:
		p, err := payload[Allowed](e)
		i.Allowed = &Permit{seq, p}
		return i, err
	case MergeProposed:
		p, err := payload[Proposed](e)
		i.Proposal = &Proposal{Seq: seq, Proposed: p}
		return i, err
	case MergeApproved:
		if i.Proposal != nil {
			approved := *i.Proposal
			approved.Approved = seq
			i.Proposal = &approved
		}
		return i, nil
	case AuditWaived:
		p, err := payload[Waived](e)
		i.Waived = &Waiver{seq, p}
		return i, err
	case WorkShown:
		p, err := payload[Shown](e)
		i.Commit = p.Commit
		if p.Role == agentsig.RoleCritic {
			i.Review, i.Reviewed = Seen{e.Session, p.Commit, p.Tree, p.Base}, Reviewed{Shown: seq}
		} else {
			i.Audit = Seen{e.Session, p.Commit, p.Tree, p.Base}
		}
		return i, err
	case SignalRecorded, LateResultRecorded:
		return i, nil
	}
	return i, fmt.Errorf("event %d of %s is of the type %q, which this version does not know", e.ItemSeq, e.Subject, e.Type)
}

// granted gives the item to who an event says, if the event could be read.
func (i Item) granted(e ledger.Event, p Granted, err error) (Item, error) {
	var t Token
	if err == nil {
		err = t.UnmarshalText([]byte(e.Lease))
	}
	i = i.to(p.Phase)
	i.Lease = &Lease{Token: t, Actor: e.Actor, Role: p.Role, Agent: p.Agent, TTL: time.Duration(p.TTLMS) * time.Millisecond, Key: e.Key, Runner: p.Runner}
	i.Granted = t.Counter
	return i, err
}

// outcome is what a [Result] does to its item. What was said beside it is not read for that: it is
// most of the payload.
type outcome struct {
	NextPhase agentsig.Phase `json:"next_phase"`
	Audited   bool           `json:"audited"`
	PRURL     string         `json:"pr_url"`
	Signal    agentsig.Kind  `json:"signal"`
	Waits     *Waits         `json:"waits"`
	Body      string         `json:"body"`
	NoChange  string         `json:"no_change"`
}

// said notes what kind of word it is that ends a session. The item is as it was before.
func (i Item) said(seq uint64, p outcome) Latest {
	s := i.Said
	if p.PRURL != "" {
		s.PullRequest = seq
	}
	switch {
	case i.Phase == agentsig.PhaseDraft || i.Phase == agentsig.PhaseImplementation:
		s.Claim = seq
	case p.NextPhase == agentsig.PhaseImplementation && i.Phase != agentsig.PhaseBlocked: // who helps sends nothing back
		s.Findings = seq
	}
	return s
}

// unseen forgets what reviewers were given to look at.
func (i Item) unseen() Item {
	i.Review, i.Reviewed, i.Audit = Seen{}, Reviewed{}, Seen{}
	return i
}

// to moves the item to a phase and ends its lease.
func (i Item) to(phase agentsig.Phase) Item {
	if i.Lease != nil {
		i.Past, i.Lease = i.Lease, nil
	}
	if phase != i.Phase {
		i.Audited, i.Waived = false, nil
	}
	if !i.Judged() {
		i.Allowed, i.Proposal = nil, nil
	}
	switch {
	case phase != agentsig.PhaseBlocked:
		i.BlockedFrom, i.Wait = "", nil
	case i.Phase != agentsig.PhaseBlocked:
		i.BlockedFrom = i.Phase
	}
	if phase != i.Phase {
		i.Entered = i.Seq
	}
	i.Phase = phase
	return i
}

func payload[P any](e ledger.Event) (P, error) {
	var p P
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return p, fmt.Errorf("the payload of %s, event %d of %s: %w", e.Type, e.ItemSeq, e.Subject, err)
	}
	return p, nil
}
