package delivery

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// A run has an auditor, who looks at every task after the critic, unless its start says that it has none. That is decided
// once, by what the operator said and by how the plan was handed in, and recorded in RunStarted: an amended plan, an agent or settings that
// were changed later do not touch it.

// Unaudited is why a run has no auditor; empty if it has one.
type Unaudited string

// The reasons.
const (
	UnauditedSentence Unaudited = "sentence" // the plan is one sentence, and nobody asked for an auditor
	UnauditedSettings Unaudited = "settings" // by the settings
	UnauditedRequest  Unaudited = "request"  // by what the run was started with
)

var unauditedWords = map[Unaudited]string{
	UnauditedSentence: "the plan is one sentence",
	UnauditedSettings: "the settings say `audit: never`",
	UnauditedRequest:  "it was started with `--audit never`",
}

// Known reports whether it is a reason. Anything else is none: the run has an auditor.
func (u Unaudited) Known() bool { return unauditedWords[u] != "" }

// Reason says why in words; nothing if there is an auditor.
func (u Unaudited) Reason() string { return unauditedWords[u] }

// Words say to a person that there is no auditor, why, and how to have one who did not ask for none; nothing if there is one.
func (u Unaudited) Words() string {
	switch {
	case !u.Known():
		return ""
	case u == UnauditedSentence:
		return "no auditor: " + u.Reason() + "; `audit: always` or `run --audit always` asks for one"
	}
	return "no auditor: " + u.Reason()
}

// Audits reports whether the run has an auditor.
func (r *Run) Audits() bool { return !r.Settings.Unaudited.Known() }

// reviewSuffices reports whether a task is to be merged on the critic's word alone, and that is not recorded yet.
func (r *Run) reviewSuffices(t *Task) bool { return !r.Audits() && t.Item.ReviewSuffices() }

// checkWaived refuses a task that says that nobody audits it, if the run says that somebody does.
func (r *Run) checkWaived(t *Task) error {
	if t.Item.Waived != nil && (r.Audits() || t.Item.Waived.Start != r.First) {
		return fmt.Errorf("%s: %w", t.ID, work.ErrAuditNeeded)
	}
	return nil
}

// lastWord is what a task that waits for its merge, or did, has passed last.
func (t *Task) lastWord() string {
	if t.Item.Unaudited && t.Item.Reviewed.Passed != 0 && t.Item.Audit == (work.Seen{}) {
		return "review"
	}
	return "audit"
}

// Unaudited reports whether a task was merged, or is about to be, and no auditor has looked at it, because the run has none.
func (r *Run) Unaudited(t *Task) bool {
	return !r.Audits() && !t.Item.Unchanged() && t.lastWord() == "review" && (t.Item.Judged() || t.Item.Phase == agentsig.PhaseCompleted)
}
