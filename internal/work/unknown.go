package work

import "github.com/signalbox-dev/signalbox/agentsig"

// Unread says that an output of the session that holds an item has no signal that counts.
type Unread struct {
	Token   Token
	Unknown Unknown // what was said, and what was nearly a signal
	Limit   int     // how many in a row are one too many
	Key     string
}

// Events implements [Command].
func (Unread) Events() []string { return []string{UnknownRecovery, SignalFailure} }

func (c Unread) decide(i Item) (Event, error) {
	if err := i.checkHolder(c.Token); err != nil {
		return Event{}, err
	}
	u := c.Unknown
	u.TaskID, u.AgentID, u.Attempt = i.ID, i.Session(), i.Count.Unknown+1
	what, u := u.Step(c.Limit)
	return Event{Type: what, Actor: BoxActor, Session: i.Session(), Token: c.Token, Key: c.Key, Payload: u}, nil
}

// Unknown is the payload of unknown_signal_recovery and agent_signal_failure.
type Unknown struct {
	TaskID        string     `json:"task_id"`
	AgentID       string     `json:"agent_id"`
	Attempt       int        `json:"attempt,omitempty"`
	OutputPreview string     `json:"output_preview"`
	Reason        string     `json:"reason,omitempty"`
	Level         string     `json:"level,omitempty"` // warning for the first, error for the second
	Turn          int        `json:"turn,omitempty"`  // of a run's session
	Ambiguous     bool       `json:"ambiguous,omitempty"`
	Progress      bool       `json:"progress,omitempty"` // it reported progress, and nothing else
	NearMisses    []NearMiss `json:"near_misses,omitempty"`
}

// NearMiss is something that was nearly a signal.
type NearMiss struct {
	Line   int             `json:"line"`
	Kind   agentsig.Kind   `json:"kind"`
	Reason agentsig.Reason `json:"reason"`
}

// unknownReason is the reason of agent_signal_failure, and [UnknownContext] what the next agent is told, as the
// signals' reference has them.
const (
	unknownReason  = "3_consecutive_unknown_signals"
	UnknownContext = "Agent produced 3 unrecognized signals. Re-dispatching with explicit format requirements."
)

// Step is the ladder for output without a signal that counts: before the limit the agent is asked, at the limit it is
// given up. It returns the type of the event, and what that says.
func (u Unknown) Step(limit int) (string, Unknown) {
	if u.Attempt >= limit {
		return SignalFailure, Unknown{
			TaskID: u.TaskID, AgentID: u.AgentID, Turn: u.Turn, Reason: unknownReason,
			OutputPreview: u.OutputPreview, NearMisses: u.NearMisses, Ambiguous: u.Ambiguous,
		}
	}
	u.Level = "warning"
	if u.Attempt > 1 {
		u.Level = "error"
	}
	return UnknownRecovery, u
}
