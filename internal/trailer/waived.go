package trailer

import (
	"encoding/json"
	"fmt"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
	"github.com/signalbox-dev/signalbox/internal/work"
	"github.com/signalbox-dev/signalbox/ledger"
)

// Waived is what a ledger has of a merge that no auditor has looked at: that the box said so, and, if these were looked at too,
// why the run had no auditor and who passed it as critic.
type Waived struct {
	work.Waived
	Why    delivery.Unaudited // empty if the run's start was not looked at
	Critic string             // who passed it; empty if that was not looked at
}

// unaudited holds a merge that nobody audited against the three events that its waiver names: the run was started without an
// auditor, and the critic was given this commit with this tree, and passed it.
func (p Proven) unaudited(prove func(index int64) (ledger.Proof, error), w *Waived) error {
	var started delivery.Started
	start, err := named(prove, w.Start, delivery.RunStarted, &started)
	if err != nil {
		return err
	}
	if start.ItemSeq != 1 || started.ID != p.Allowed.Run || !started.Settings.Unaudited.Known() {
		return &Fault{Contrary, fmt.Sprintf("event %d says that nobody audits this, and the run %s was not started so by event %d", p.Allowed.Verdict, abbreviated(p.Allowed.Run), w.Start)}
	}
	var shown work.Shown
	given, err := named(prove, w.Shown, work.WorkShown, &shown)
	if err != nil {
		return err
	}
	var said work.Result
	pass, err := named(prove, w.Review, work.AgentSessionCompleted, &said)
	if err != nil {
		return err
	}
	switch {
	case given.Subject != p.Event.Subject || given.Actor != work.BoxActor || shown.Role != agentsig.RoleCritic ||
		shown.Commit != p.Allowed.Commit || shown.Tree != w.Tree:
		return &Fault{Contrary, fmt.Sprintf("event %d says that nobody audits this, and by event %d the critic was not given it", p.Allowed.Verdict, w.Shown)}
	case pass.Subject != given.Subject || pass.Session != given.Session || w.Review <= w.Shown || w.Review >= p.Allowed.Verdict ||
		said.PhaseCompleted != agentsig.PhaseReview || said.NextPhase != agentsig.PhaseReadyForMerge:
		return &Fault{Contrary, fmt.Sprintf("event %d says that nobody audits this, and by event %d the critic did not pass it", p.Allowed.Verdict, w.Review)}
	}
	w.Why, w.Critic = started.Settings.Unaudited, pass.Actor
	return nil
}

// named proves an event of a type, and reads its payload.
func named(prove func(index int64) (ledger.Proof, error), seq uint64, what string, payload any) (ledger.Event, error) {
	proof, err := prove(int64(seq) - 1) //nolint:gosec // what is no sequence is not found
	if err != nil {
		return ledger.Event{}, fmt.Errorf("event %d, which says why nobody audits it: %w", seq, err)
	}
	e, err := ledger.Decode(proof.Event)
	if err == nil && e.Type != what {
		err = &Fault{Contrary, fmt.Sprintf("event %d is %.40q, and not %s", seq, e.Type, what)}
	}
	if err == nil {
		err = json.Unmarshal(e.Payload, payload)
	}
	return e, err
}
