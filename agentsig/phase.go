package agentsig

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Phase is a phase in the life of a work item.
type Phase string

// The phases.
const (
	PhaseDraft          Phase = "DRAFT"
	PhaseImplementation Phase = "IMPLEMENTATION"
	PhaseCIPending      Phase = "CI_PENDING"
	PhaseReadyForReview Phase = "READY_FOR_REVIEW"
	PhaseReview         Phase = "REVIEW"
	PhaseReadyForMerge  Phase = "READY_FOR_MERGE"
	PhaseCompleted      Phase = "COMPLETED"
	PhaseBlocked        Phase = "BLOCKED"
)

// Phases lists every phase in the order a work item passes them; BLOCKED,
// which can come at any time, is last.
func Phases() []Phase {
	return []Phase{
		PhaseDraft, PhaseImplementation, PhaseCIPending, PhaseReadyForReview, PhaseReview, PhaseReadyForMerge,
		PhaseCompleted, PhaseBlocked,
	}
}

// ExitReason says why a session ends.
type ExitReason string

// The exit reasons.
const (
	ExitCompleted ExitReason = "completed"
	ExitBlocked   ExitReason = "blocked"
	ExitError     ExitReason = "error"
)

// ExitReasons lists every exit reason.
func ExitReasons() []ExitReason { return []ExitReason{ExitCompleted, ExitBlocked, ExitError} }

// Transition is a row of the phase table.
type Transition struct {
	From    Phase
	Reasons []ExitReason
	To      Phase
	ByGate  bool // only the gate may complete it; otherwise the holder of the lease
}

// Transitions returns the phase table. What is not in it is not allowed.
func Transitions() []Transition { return slices.Clone(transitions) }

var transitions = []Transition{
	{From: PhaseDraft, Reasons: []ExitReason{ExitCompleted}, To: PhaseImplementation},
	{From: PhaseImplementation, Reasons: []ExitReason{ExitCompleted}, To: PhaseCIPending},
	{From: PhaseCIPending, Reasons: []ExitReason{ExitCompleted}, To: PhaseReadyForReview, ByGate: true},
	{From: PhaseReadyForReview, Reasons: []ExitReason{ExitCompleted}, To: PhaseReview},
	{From: PhaseReview, Reasons: []ExitReason{ExitCompleted}, To: PhaseReadyForMerge},
	{From: PhaseReadyForMerge, Reasons: []ExitReason{ExitCompleted}, To: PhaseCompleted},
	{From: PhaseDraft, Reasons: []ExitReason{ExitBlocked, ExitError}, To: PhaseBlocked},
	{From: PhaseImplementation, Reasons: []ExitReason{ExitBlocked, ExitError}, To: PhaseBlocked},
	{From: PhaseCIPending, Reasons: []ExitReason{ExitBlocked, ExitError}, To: PhaseBlocked},
	{From: PhaseReadyForReview, Reasons: []ExitReason{ExitBlocked, ExitError}, To: PhaseBlocked},
	{From: PhaseReview, Reasons: []ExitReason{ExitBlocked, ExitError}, To: PhaseBlocked},
	{From: PhaseReadyForMerge, Reasons: []ExitReason{ExitBlocked, ExitError}, To: PhaseBlocked},
	{From: PhaseBlocked, Reasons: []ExitReason{ExitBlocked, ExitError}, To: PhaseBlocked},
}

// What the phase table refuses. [ErrGateOnly] is for an agent's record; the gate
// itself asks [NextPhase].
var (
	ErrPhaseTerminal = errors.New("the work is COMPLETED: nothing follows")
	ErrPhaseBlocked  = errors.New("the work is BLOCKED: an answer or remediation unblocks it, not an exit record")
	ErrGateOnly      = errors.New("only the gate may complete CI_PENDING")
)

// NextPhase looks up what follows when a phase ends for a reason.
// It refuses with [ErrPhaseTerminal] or [ErrPhaseBlocked].
func NextPhase(from Phase, reason ExitReason) (Phase, error) {
	t, err := transitionOf(from, reason)
	return t.To, err
}

// Handover is what the end of a session does to the phase that it held.
type Handover struct {
	From   Phase
	Reason ExitReason
	To     Phase
}

// What keeps a signal from handing over a phase.
var (
	ErrNoHandover = errors.New("the signal hands over no phase")
	ErrWrongPhase = errors.New("the session does not hold this phase")
)

// Handover says what the signal does to the phase that its session holds. It
// follows the phase table, but for signals that send work back. It refuses with
// [ErrNoHandover], [ErrWrongPhase], [ErrGateOnly], or as [NextPhase] does.
func (s Signal) Handover(held Phase) (Handover, error) {
	h := Handover{}
	if e := entryOf(s.Kind); e != nil {
		h = e.handover
	}
	if s.exit != nil {
		h = Handover{From: s.exit.PhaseCompleted, Reason: s.exit.ExitReason}
	}
	if h.Reason == "" {
		return Handover{}, ErrNoHandover
	}
	if s.Kind == KindExpandedSpec && !s.confident() {
		h = Handover{From: PhaseDraft, Reason: ExitBlocked, To: PhaseBlocked} // a person has to look at it first
	}
	if h.From == "" {
		h.From = held
	}
	if h.From != held {
		return Handover{}, fmt.Errorf("%w: it says %s, and holds %s", ErrWrongPhase, quote(string(h.From)), held)
	}
	t, err := transitionOf(held, h.Reason)
	switch {
	case err != nil:
		return Handover{}, err
	case t.ByGate:
		return Handover{}, ErrGateOnly
	case h.To == "":
		h.To = t.To
	}
	return h, nil
}

// confident reports whether an analyst says HIGH or MEDIUM. What is not said is not
// taken for it.
func (s Signal) confident() bool {
	words := strings.Fields(s.Fields().Text("Confidence"))
	return len(words) > 0 && (words[0] == "HIGH" || words[0] == "MEDIUM")
}

func transitionOf(from Phase, reason ExitReason) (Transition, error) {
	for _, t := range transitions {
		if t.From == from && slices.Contains(t.Reasons, reason) {
			return t, nil
		}
	}
	switch {
	case from == PhaseCompleted:
		return Transition{}, ErrPhaseTerminal
	case from == PhaseBlocked && reason == ExitCompleted:
		return Transition{}, ErrPhaseBlocked
	}
	return Transition{}, fmt.Errorf("no phase follows %s with reason %s", quote(string(from)), quote(string(reason)))
}
