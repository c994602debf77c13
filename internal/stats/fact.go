package stats

import (
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/delivery"
)

// Fact is something that an event says: of an agent a [Turn], a [NearMiss], a [FalseClaim], a [Rework], [Spent] or [Over]; of
// a run or of work a [Signal], a [Merge], a [Pause] or an [Answer].
type Fact any

// By is the agent that a fact is about.
type By struct {
	Run     string // its subject
	Session string
	Role    agentsig.Role
	Agent   string
	Model   string // empty until the session is over, and after it if the agent's program does not tell
	Over    bool   // the session is
}

func (b By) by() By { return b }

// agents is what facts of agents are.
type agents interface{ by() By }

// Turn is an agent's turn that has ended.
type Turn struct {
	By
	Outcome Outcome
	Took    time.Duration // negative if it is not known when it began
}

// Outcome is how a turn ended: as below, or as its session did ([delivery.How]).
type Outcome string

// The outcomes of turns whose agents went on.
const (
	Signalled Outcome = "signal"    // with one signal that counts
	Unknown   Outcome = "unknown"   // with none
	Ambiguous Outcome = "ambiguous" // with more than one
	Progress  Outcome = "progress"  // with a report of progress, as it was asked for
	NoAnswer  Outcome = "no_answer" // it was asked for its progress, and did not answer in time
	Late      Outcome = "late"      // with a signal, after its work was given to another
	Otherwise Outcome = "other"     // as a version says that this one does not know
)

// NearMiss is something that was nearly a signal.
type NearMiss struct {
	By
	Reason agentsig.Reason
}

// FalseClaim is an agent's claim that its work is done, which the gate refused.
type FalseClaim struct{ By }

// Rework is work of an agent that the gate or a reviewer sent back.
type Rework struct{ By }

// Spent is what a session has used since the last time.
type Spent struct {
	By
	Usage delivery.Usage
}

// Over is the end of a session.
type Over struct {
	By
	Used delivery.Usage // in all
}

// Signal is what somebody said in a signal's form, an agent or who works by hand, and what came of it.
type Signal struct {
	Kind    agentsig.Kind
	Outcome Use
}

// Use is what came of a signal.
type Use string

// The uses.
const (
	Accepted Use = "accepted" // it was acted upon
	Noted    Use = "noted"    // it ends nothing, and was recorded
	TooLate  Use = "late"     // the work had been given to another
	Refused  Use = "refused"  // it was in another's name, or asked for what there is not
	Unread   Use = "unread"   // there was none that counts, and the agent was asked again
	GivenUp  Use = "gave_up"  // there was none that counts, once too often
)

// Merge is a merge that was made or not.
type Merge struct{ Result MergeResult }

// MergeResult is what became of a merge.
type MergeResult string

// What can become of a merge.
const (
	Merged      MergeResult = "merged"
	MergeFailed MergeResult = "failed"   // it could not be merged as it was
	Declined    MergeResult = "declined" // a person did not approve it
)

// Pause is for how much longer a provider is paused than it was.
type Pause struct{ For time.Duration }

// Answer is the answer to a question of a run.
type Answer struct{ Waited time.Duration }
