package work

import (
	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/ledger"
)

// The types of events on a work item.
const (
	WorkAdded             = "WorkAdded"
	LeaseGranted          = "LeaseGranted"
	ReviewStarted         = "ReviewStarted" // a grant to a critic, which enters REVIEW
	AgentSessionCompleted = "AgentSessionCompleted"
	LeaseReleased         = "LeaseReleased"
	LeaseExpired          = "LeaseExpired"
	GatePassed            = "GatePassed"
	GateFailed            = "GateFailed"
	WorkOverridden        = "WorkOverridden"
	SignalRecorded        = "SignalRecorded"     // a signal that ends nothing
	LateResultRecorded    = "LateResultRecorded" // from a session whose lease was taken
)

// Types lists every type of event on a work item.
func Types() []string {
	return []string{
		WorkAdded, LeaseGranted, ReviewStarted, AgentSessionCompleted, LeaseReleased, LeaseExpired,
		GatePassed, GateFailed, WorkOverridden, SignalRecorded, LateResultRecorded,
	}
}

// Event is what is to be recorded about an item. The ledger adds its order, its
// time and the chain.
type Event struct {
	Type    string
	Actor   string
	Session string
	Token   Token // zero where no lease is concerned
	Key     string
	Payload any // of the types below
}

// Added is the payload of WorkAdded.
type Added struct {
	ID    string         `json:"id"`
	Title string         `json:"title"`
	Phase agentsig.Phase `json:"phase"`
}

// Granted is the payload of LeaseGranted and ReviewStarted.
type Granted struct {
	Phase agentsig.Phase `json:"phase"` // that the session holds
	Role  agentsig.Role  `json:"role,omitempty"`
	TTLMS int64          `json:"ttl_ms"`
}

// Result is the payload of AgentSessionCompleted and LateResultRecorded: the
// exit record's event, and where it was said.
type Result struct {
	agentsig.AgentSessionCompleted
	Said
}

// Signalled is the payload of SignalRecorded.
type Signalled struct {
	Said
}

// Said is what an agent said, and where in its transcript.
type Said struct {
	Signal     agentsig.Kind `json:"signal"`
	Subject    string        `json:"subject,omitempty"`
	Note       string        `json:"note,omitempty"`
	Fields     []Field       `json:"fields,omitempty"` // what the signal carries
	Offset     int64         `json:"offset"`
	Length     int64         `json:"length"`
	SHA256     ledger.Hash   `json:"sha256"`
	Transcript Transcript    `json:"transcript"`
	Shortened  bool          `json:"shortened,omitempty"` // what was too long is in the transcript alone
}

// Field is a named value of a signal. The names are the agent's, so they stand
// beside the values and are no members of the payload.
type Field struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Transcript is a session's whole output, without its secrets: in place if it is
// short, as a blob otherwise.
type Transcript struct {
	Text string       `json:"text,omitempty"`
	Blob *ledger.Blob `json:"stored,omitempty"`
}

// Ended is the payload of LeaseReleased and LeaseExpired.
type Ended struct {
	Phase agentsig.Phase `json:"phase"` // which stays
}

// Gate is the payload of GatePassed and GateFailed.
type Gate struct {
	Commit    string         `json:"commit"`
	NextPhase agentsig.Phase `json:"next_phase"`
}

// Overridden is the payload of WorkOverridden.
type Overridden struct {
	From      agentsig.Phase `json:"from"`
	NextPhase agentsig.Phase `json:"next_phase"`
	Reason    string         `json:"reason"`
}
