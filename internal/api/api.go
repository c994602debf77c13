// Package api is what a box and its clients say to each other over HTTP: the
// requests, the answers, and the client. docs/openapi.yaml describes the same for
// other languages.
package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/agentsig"
	"github.com/signalbox-dev/signalbox/internal/work"
)

// KeyHeader carries a request's idempotency key: a request of the same kind with the same
// key is carried out once, and answered alike. The key is remembered for a day if the request
// added something, and for 20 times [Patience] if it changed an item or a conversation.
const KeyHeader = "Idempotency-Key"

// MaxOutput is how much of an agent's output one request may carry, in bytes.
const MaxOutput = 16 << 20

// MaxKey is the longest idempotency key, in bytes.
const MaxKey = 128

// AddWork asks for a work item.
type AddWork struct {
	ID    string         `json:"id,omitempty"`    // made up if empty
	Title string         `json:"title"`           //
	Asked string         `json:"asked,omitempty"` // what is to be done, in whole sentences
	Phase agentsig.Phase `json:"phase,omitempty"` // DRAFT if empty
	// Branch is the one of the box's repository that the work is done on: the box can run the checks on it.
	Branch string `json:"branch,omitempty"`
}

// Work is a work item.
type Work struct {
	ID          string         `json:"id"`
	Title       string         `json:"title"`
	Phase       agentsig.Phase `json:"phase"`
	BlockedFrom agentsig.Phase `json:"blocked_from,omitempty"`
	Holder      *Holder        `json:"holder,omitempty"`
	Branch      string         `json:"branch,omitempty"`     // that it is done on
	Commit      string         `json:"commit,omitempty"`     // that the gate spoke of last: the branch may have moved since
	BoxChecks   bool           `json:"box_checks,omitempty"` // the box runs the checks on its branch now, or will: nobody has to report them
	Waits       *Question      `json:"waits,omitempty"`      // what it waits for, if it is BLOCKED
	Answers     []Reply        `json:"answers,omitempty"`    // what came of such questions, the latest last
	NoChange    string         `json:"no_change,omitempty"`  // nothing was changed, and this is why, as the developer claims; once it is COMPLETED, as the critic agreed
	Subject     string         `json:"subject"`              // its name in the ledger
	Events      uint64         `json:"events"`               // how many it has there
	Sequence    uint64         `json:"sequence"`             // of the last one
	Handoff                    // not in a list
}

// Handoff is what the next one on a work item has to know: what is asked for, and what those before said. A claim is what who
// worked on it says, and nobody has checked it. Findings are from when it was sent back last; a claim with a greater sequence
// says that they are answered.
type Handoff struct {
	Asked    string          `json:"asked,omitempty"`
	Claim    *work.Statement `json:"claim,omitempty"`
	Findings *work.Statement `json:"findings,omitempty"`
	PRURL    string          `json:"pr_url,omitempty"`   // the last that anybody named
	Evidence *work.Evidence  `json:"evidence,omitempty"` // that the claim names
}

// Holder is who holds a work item.
type Holder struct {
	Session   string        `json:"session"`
	Actor     string        `json:"actor"`
	Role      agentsig.Role `json:"role,omitempty"`
	ExpiresAt time.Time     `json:"expires_at,omitzero"` // of a lease that runs out, where that is known: at the box that leads
}

// Claim asks for something to work on.
type Claim struct {
	Work  string         `json:"work,omitempty"`  // this item, or any
	Phase agentsig.Phase `json:"phase,omitempty"` // in this phase, or any that the role may hold
	Role  agentsig.Role  `json:"role,omitempty"`
	Actor string         `json:"actor"`
	TTLMS int64          `json:"ttl_ms,omitempty"` // how long the lease lasts without renewal; 10 minutes if 0
	Wait  bool           `json:"wait,omitempty"`   // until there is something
}

// Grant is a lease.
type Grant struct {
	Session   string         `json:"session"`
	Work      string         `json:"work"`
	Phase     agentsig.Phase `json:"phase"`
	Token     work.Token     `json:"token"`
	ExpiresAt time.Time      `json:"expires_at"`
	Title     string         `json:"title"`
	Branch    string         `json:"branch,omitempty"` // that the work is done on
	Commit    string         `json:"commit,omitempty"` // that the gate spoke of last: what a critic or an auditor is to look at
	Handoff                  // not if it is renewed

	Waits    *Question `json:"waits,omitempty"`     // what an expert, or who repairs the environment, is to help with
	Answers  []Reply   `json:"answers,omitempty"`   // what came of questions that were asked about this work, the latest last
	NoChange string    `json:"no_change,omitempty"` // what a critic is to judge: why nothing was changed, as the developer claims
	Format   string    `json:"format,omitempty"`    // how to signal, if the last agent on this work did not keep to it
}

// Reply is what came of a question: an answer, advice, or how a repair went.
type Reply struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	From     string `json:"from"` // operator, expert or health_auditor
	Text     string `json:"text"`
}

// Emitted says what became of an agent's output. If it was not accepted, Error
// says why, and Hint what to do about it if the error does not.
type Emitted struct {
	Accepted       bool                `json:"accepted"`
	Event          string              `json:"event,omitempty"`
	Work           string              `json:"work,omitempty"`
	PhaseCompleted agentsig.Phase      `json:"phase_completed,omitempty"`
	ExitReason     agentsig.ExitReason `json:"exit_reason,omitempty"`
	NextPhase      agentsig.Phase      `json:"next_phase,omitempty"`
	Sequence       uint64              `json:"sequence,omitempty"`
	Error          string              `json:"error,omitempty"`
	Hint           string              `json:"hint,omitempty"`
	NearMisses     []NearMiss          `json:"near_misses,omitempty"`
	Attempt        int                 `json:"attempt,omitempty"` // how many outputs in a row had no signal that counts
	Ask            string              `json:"ask,omitempty"`     // what to ask the agent next
}

// NearMiss is something that was nearly a signal.
type NearMiss struct {
	Line   int             `json:"line"`
	Kind   agentsig.Kind   `json:"kind"`
	Reason agentsig.Reason `json:"reason"`
	Hint   string          `json:"hint"`
}

// Report is the gate's word on an item in CI_PENDING.
type Report struct {
	Commit string `json:"commit"`
	Result string `json:"result"` // pass or fail
}

// Override is the operator's.
type Override struct {
	Phase  agentsig.Phase `json:"phase"`
	Reason string         `json:"reason"`
}

// Recorded says where in the ledger something was recorded.
type Recorded struct {
	Event    string         `json:"event"`
	Work     string         `json:"work"`            // the item, or the conversation
	Phase    agentsig.Phase `json:"phase,omitempty"` // after it; a conversation has none
	Sequence uint64         `json:"sequence"`
}

// Event is an event of the ledger.
type Event struct {
	Sequence uint64          `json:"sequence"`
	Work     string          `json:"work"`  // the item, the run or the conversation
	Event    json.RawMessage `json:"event"` // as stored
}

// NextEvents comes last if events were asked for up to a limit, and there are more.
type NextEvents struct {
	Next uint64 `json:"next"` // the sequence to go on after
}

// Status is what a box says of itself.
type Status struct {
	Version  string       `json:"version"`
	Events   uint64       `json:"events"`
	Items    int          `json:"items"`
	Leases   int          `json:"leases"`
	Waiting  int          `json:"waiting"` // claims that wait
	Exit     bool         `json:"exit_protocol"`
	Verifier string       `json:"verifier_key"`
	Box      BoxStatus    `json:"box"`
	Ledger   LedgerStatus `json:"ledger"`
	ToCheck  *ToCheck     `json:"to_check,omitempty"` // work that nobody reports the checks of: the box runs them
	Settings *Settings    `json:"settings,omitempty"` // that the box goes by
	Messages *Messages    `json:"messages,omitempty"` // to people; left out if nobody is told
	Cluster  *InCluster   `json:"cluster,omitempty"`  // left out if the box stands alone
}

// Messages says what the people whom the settings name were not told yet.
type Messages struct {
	Undelivered int       `json:"undelivered"`     // messages that are still to be told, in one way or another
	Since       time.Time `json:"since,omitzero"`  // when what the oldest of them tells of happened
	Error       string    `json:"error,omitempty"` // why a try to tell the oldest failed
	Dropped     int       `json:"dropped"`         // messages that were given up, of all the box's life
}

// Settings are those that a box was started with. It goes by them until it stops, whatever becomes of the file.
type Settings struct {
	File   string    `json:"file"`   // where they were read
	Digest string    `json:"digest"` // of what they say, and not of how it is written
	Since  time.Time `json:"since"`  // when the box was started
}

// ToCheck is the work that the box runs the checks on by itself, one item after the other.
type ToCheck struct {
	Work   string `json:"work"`   // that it checks, or checks next
	Branch string `json:"branch"` // of that
	More   int    `json:"more"`   // how many items wait besides
}

// BoxStatus says whether a box records what happens.
type BoxStatus struct {
	Writable bool   `json:"writable"`
	Reason   string `json:"reason"`            // why not; empty if it does
	Runners  string `json:"runners,omitempty"` // why none of the runners that it knows reaches it; empty if they do, or there are none
}

// LedgerStatus says how much is in the ledger, and how much of it was verified.
type LedgerStatus struct {
	Events        uint64    `json:"events"`
	Signed        uint64    `json:"signed"`                  // events that the latest checkpoint covers
	Scrubbed      uint64    `json:"scrubbed"`                // events that were verified since the latest round began
	ScrubbedSince time.Time `json:"scrubbed_since,omitzero"` // when that was
}

// Problem is how a refused request is answered. Over HTTP it is a [ProblemDetails].
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"error"`
}

// ProblemDetails is a problem as RFC 9457 has it, for programs that know no box.
type ProblemDetails struct {
	Type   string `json:"type"`  // ends in the code, with hyphens
	Title  string `json:"title"` // of the status
	Status int    `json:"status"`
	Detail string `json:"detail"` // the same as error
	Problem
}

// Details returns the problem as it is answered with a status.
func (p Problem) Details(status int) ProblemDetails {
	return ProblemDetails{
		Type: "urn:signalbox:problem:" + strings.ReplaceAll(p.Code, "_", "-"), Title: http.StatusText(status), Status: status,
		Detail: p.Message, Problem: p,
	}
}

func (p *Problem) Error() string { return p.Message }

// Codes of problems that a client may want to tell apart.
const (
	CodeNothing      = "nothing_to_claim"
	CodeHeld         = "held"
	CodeNotFound     = "not_found"
	CodeConflict     = "conflict"
	CodeInvalid      = "invalid"
	CodeUnauthorized = "unauthorized" // there is no token, or it is nobody's
	CodeForbidden    = "forbidden"    // whose it is may not ask for this
	CodeBusy         = "busy"
	CodeStopping     = "stopping"
	CodeCannotWrite  = "cannot_write"    // the box's log failed, and the box stops
	CodeUnknown      = "unknown_outcome" // ask again with the same key
	CodeNoLeader     = "no_leader"       // of the cluster that the box is in; ask again with the same key
	CodeInternal     = "internal"
)

// CodeFailed is for what went wrong at the client, CodeUsage for what was typed wrong.
const (
	CodeFailed = "failed"
	CodeUsage  = "usage"
)
